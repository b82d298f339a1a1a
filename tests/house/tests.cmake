# Tests of the project itself: its layer rules, its scripts, its installed package.

find_package(Python3 COMPONENTS Interpreter REQUIRED)
set(house ${PROJECT_SOURCE_DIR}/tests/house)

add_test(NAME house.tidy COMMAND Python3::Interpreter -B ${house}/tidy.py ${PROJECT_SOURCE_DIR})
add_test(NAME house.tidy_finds_each_breach
    COMMAND Python3::Interpreter -B -m unittest tidy_test WORKING_DIRECTORY ${house})
add_test(NAME house.sum_of_results
    COMMAND Python3::Interpreter -B -m unittest sum_results_test WORKING_DIRECTORY ${house})
add_test(NAME house.mutants_apply
    COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tests/mutants/run.py --check)
add_test(NAME house.mutants_say_when_they_do_not
    COMMAND Python3::Interpreter -B -m unittest run_test
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tests/mutants)
set_tests_properties(house.tidy house.tidy_finds_each_breach house.sum_of_results
    house.mutants_apply house.mutants_say_when_they_do_not
    PROPERTIES LABELS house TIMEOUT 60)

# The specification of the state machines is what the engine's tables say.
if(TARGET sluice_engine AND SLUICE_TESTS)
    sluice_add_program(state_machines NAME state_machines FOLDER house SOURCES ${house}/state_machines.cpp
        LIBRARIES sluice_engine)
    add_test(NAME house.state_machines COMMAND state_machines --check ${PROJECT_SOURCE_DIR}/docs)
    set_tests_properties(house.state_machines PROPERTIES LABELS house TIMEOUT 60)
endif()

# An external project of the smallest kind is built against the installed package.
get_property(layers GLOBAL PROPERTY SLUICE_LAYERS)
if(layers)
    list(JOIN layers "," components)
    add_test(NAME house.install_consumer
        COMMAND ${house}/install_consumer ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${components}
            ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_FLAGS})
    set_tests_properties(house.install_consumer PROPERTIES LABELS install TIMEOUT 300)
endif()
