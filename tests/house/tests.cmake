# Tests of the project itself: its layer rules, its scripts, its installed package.

find_package(Python3 COMPONENTS Interpreter REQUIRED)
set(house ${PROJECT_SOURCE_DIR}/tests/house)

add_test(NAME house.tidy COMMAND Python3::Interpreter -B ${house}/tidy.py ${PROJECT_SOURCE_DIR})
add_test(NAME house.tidy_finds_each_breach
    COMMAND Python3::Interpreter -B -m unittest tidy_test WORKING_DIRECTORY ${house})
add_test(NAME house.bounds COMMAND Python3::Interpreter -B ${house}/bounds.py ${PROJECT_SOURCE_DIR})
add_test(NAME house.bounds_finds_each_breach
    COMMAND Python3::Interpreter -B -m unittest bounds_test WORKING_DIRECTORY ${house})
add_test(NAME house.sum_of_results
    COMMAND Python3::Interpreter -B -m unittest sum_results_test WORKING_DIRECTORY ${house})
add_test(NAME house.mutants_apply
    COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tests/mutants/run.py --check)
add_test(NAME house.mutants_say_when_they_do_not
    COMMAND Python3::Interpreter -B -m unittest run_test
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tests/mutants)
set_tests_properties(house.tidy house.tidy_finds_each_breach house.bounds
    house.bounds_finds_each_breach house.sum_of_results
    house.mutants_apply house.mutants_say_when_they_do_not
    PROPERTIES LABELS house TIMEOUT 60)

# The specification of the state machines is what the engine's tables say.
if(TARGET sluice_engine AND SLUICE_TESTS)
    sluice_add_program(state_machines NAME state_machines FOLDER house SOURCES ${house}/state_machines.cpp
        LIBRARIES sluice_engine)
    add_test(NAME house.state_machines COMMAND state_machines --check ${PROJECT_SOURCE_DIR}/docs)
    set_tests_properties(house.state_machines PROPERTIES LABELS house TIMEOUT 60)
endif()

# C++ in README and docs is what lies in examples/. All of them are compiled; these are run, each with a node of its own,
# `sluice node` or a broker.
add_test(NAME house.snippets COMMAND Python3::Interpreter -B ${house}/snippets.py ${PROJECT_SOURCE_DIR})
add_test(NAME house.snippets_finds_each_fault
    COMMAND Python3::Interpreter -B -m unittest snippets_test WORKING_DIRECTORY ${house})
set_tests_properties(house.snippets house.snippets_finds_each_fault PROPERTIES LABELS house TIMEOUT 60)
if(TARGET example_guides)
    add_test(NAME example.guides COMMAND example_guides)
    add_test(NAME example.prometheus
        COMMAND Python3::Interpreter -B ${house}/prometheus.py $<TARGET_FILE:example_prometheus>)
    set_tests_properties(example.guides example.prometheus PROPERTIES LABELS example TIMEOUT 60)
endif()
if(TARGET example_poll_loop AND TARGET sluice_command)
    sluice_add_interop_test(example.poll_loop BROKER sluice COMMAND poll_loop 127.0.0.1 {port} q 2000)
    set_tests_properties(interop.example.poll_loop PROPERTIES ENVIRONMENT SLUICE=$<TARGET_FILE:sluice_command>)
endif()

# Both columns of docs/guides/proton.md.
find_path(SLUICE_PROTON_CPP_INCLUDE_DIR proton/container.hpp)
find_library(SLUICE_PROTON_CPP_LIBRARY qpid-proton-cpp)
mark_as_advanced(SLUICE_PROTON_CPP_INCLUDE_DIR SLUICE_PROTON_CPP_LIBRARY)
if(TARGET example_from_proton AND SLUICE_PROTON_CPP_INCLUDE_DIR AND SLUICE_PROTON_CPP_LIBRARY)
    add_executable(example_proton_idioms ${PROJECT_SOURCE_DIR}/examples/proton/idioms.cpp)
    target_compile_features(example_proton_idioms PRIVATE cxx_std_20)
    target_include_directories(example_proton_idioms SYSTEM PRIVATE ${SLUICE_PROTON_CPP_INCLUDE_DIR})
    target_link_libraries(example_proton_idioms PRIVATE ${SLUICE_PROTON_CPP_LIBRARY})
    if(TARGET sluice_command)
        foreach(name IN ITEMS from_proton proton_idioms)
            sluice_add_interop_test(example.${name} BROKER sluice COMMAND ${name} 127.0.0.1:{port})
            set_tests_properties(interop.example.${name} PROPERTIES
                ENVIRONMENT SLUICE=$<TARGET_FILE:sluice_command> PASS_REGULAR_EXPRESSION "hello")
        endforeach()
    endif()
endif()
# What brokers offer beyond queues.
if(TARGET example_broker_features)
    sluice_add_interop_test(example.broker_features.artemis BROKER artemis
        COMMAND broker_features "amqp://guest:guest@127.0.0.1:{port}" news q)
    sluice_add_interop_test(example.broker_features.broker-j BROKER broker-j
        COMMAND broker_features "amqp://guest:guest@127.0.0.1:{port}" amq.topic q)
endif()

# The API reference has no fault: ./dev api writes it.
find_program(SLUICE_DOXYGEN doxygen)
mark_as_advanced(SLUICE_DOXYGEN)
if(SLUICE_DOXYGEN)
    file(MAKE_DIRECTORY ${PROJECT_SOURCE_DIR}/build)
    add_test(NAME house.api COMMAND ${SLUICE_DOXYGEN} Doxyfile WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(house.api PROPERTIES LABELS house TIMEOUT 120)
endif()

# An external project of the smallest kind is built against the installed package.
get_property(layers GLOBAL PROPERTY SLUICE_LAYERS)
if(layers)
    list(JOIN layers "," components)
    add_test(NAME house.install_consumer
        COMMAND ${house}/install_consumer ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${components}
            ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_FLAGS})
    add_test(NAME house.subdirectory_consumer
        COMMAND ${house}/subdirectory_consumer/run ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR}
            ${PROJECT_BINARY_DIR}/house/subdirectory ${CMAKE_CXX_COMPILER})
    set_tests_properties(house.install_consumer house.subdirectory_consumer
        PROPERTIES LABELS install TIMEOUT 600)
    # CPack asks the one what a package depends on, and the other what is a program.
    find_program(SLUICE_DPKG_SHLIBDEPS dpkg-shlibdeps)
    find_program(SLUICE_FILE file)
    mark_as_advanced(SLUICE_DPKG_SHLIBDEPS SLUICE_FILE)
    if(TARGET sluice_shared AND TARGET sluice_command AND SLUICE_DPKG_SHLIBDEPS AND SLUICE_FILE)
        add_test(NAME house.packages
            COMMAND ${house}/packages ${CMAKE_COMMAND} ${CMAKE_CPACK_COMMAND} ${PROJECT_BINARY_DIR}
                ${CMAKE_CXX_COMPILER})
        set_tests_properties(house.packages PROPERTIES LABELS install TIMEOUT 600)
    endif()
endif()
