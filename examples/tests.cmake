# The examples of channels, which start a node of their own. Other examples that are run stand in
# tests/house/tests.cmake and interop/tests.cmake.
foreach(name IN ITEMS select produce_consume work_queue graceful_drain load_shedding pipeline)
    if(TARGET example_channel_${name})
        add_test(NAME example.channel_${name} COMMAND example_channel_${name})
        set_tests_properties(example.channel_${name} PROPERTIES LABELS example TIMEOUT 60)
    endif()
endforeach()
if(TARGET example_channel_produce_consume)
    set_tests_properties(example.channel_produce_consume PROPERTIES
        PASS_REGULAR_EXPRESSION "send 5 waits: the channel is full.*sent 8")
endif()
if(TARGET example_channel_select)
    set_tests_properties(example.channel_select PROPERTIES PASS_REGULAR_EXPRESSION
        "nobody has ordered yet.*order 1 is done.*order 2 is done.*order 3 is done.*closed")
endif()
if(TARGET example_channel_work_queue)
    set_tests_properties(example.channel_work_queue PROPERTIES
        PASS_REGULAR_EXPRESSION "second worker does job 1, paint .tries before: 1.*all done, 0 left")
endif()
