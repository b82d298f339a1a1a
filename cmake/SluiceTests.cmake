# Tests, examples, benchmarks and fuzz targets: one folder each, and a file that is there is built
# (see sluice_add_layer for why). Every ctest test has one of the labels unit, property, fuzz,
# example, interop, house, install. The unit tests of layers that have threads are `unit-threaded`, which
# a filter finds by either half; two labels in a list do not survive gtest_discover_tests.
include_guard(GLOBAL)

# Qpid Proton-C, another implementation, is a judge in tests and the yardstick in benchmarks.
find_package(Proton)

# A program of our own: warnings, C++20, and the folder of its kind as the place of the file.
function(sluice_add_program target)
    cmake_parse_arguments(PARSE_ARGV 1 program "" "NAME;FOLDER" "SOURCES;LIBRARIES")
    add_executable(${target} ${program_SOURCES})
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        OUTPUT_NAME ${program_NAME}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${program_FOLDER})
    target_compile_features(${target} PRIVATE cxx_std_20)
    target_link_libraries(${target} PRIVATE ${program_LIBRARIES})
    sluice_set_warnings(${target})
endfunction()

# Links Proton when it is there and says so by SLUICE_HAVE_PROTON.
function(sluice_link_proton target)
    if(TARGET Proton::core)
        target_link_libraries(${target} PRIVATE Proton::core)
        target_compile_definitions(${target} PRIVATE SLUICE_HAVE_PROTON=1)
    endif()
endfunction()

# ---- unit tests: tests/<layer>/**_test.cpp ------------------------------------------------------

set(threaded_layers net client dispatch node channel test)
get_property(layers GLOBAL PROPERTY SLUICE_LAYERS)
set(tested_layers "")
if(SLUICE_TESTS)
    set(candidates ${layers})
    if(TARGET sluice_tools)
        list(APPEND candidates tools)
    endif()
    foreach(layer IN LISTS candidates)
        file(GLOB_RECURSE sources CONFIGURE_DEPENDS
            ${PROJECT_SOURCE_DIR}/tests/${layer}/*_test.cpp)
        if(sources AND (NOT SLUICE_TEST_LAYERS OR layer IN_LIST SLUICE_TEST_LAYERS))
            list(APPEND tested_layers ${layer})
        endif()
    endforeach()
endif()
if(tested_layers)
    sluice_need(GTest SLUICE_TESTS libgtest-dev)
    include(GoogleTest)
endif()
foreach(layer IN LISTS tested_layers)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${layer}/*.cpp)
    list(APPEND sources ${PROJECT_SOURCE_DIR}/tests/support/tsan_suppressions.cpp)
    set(target sluice_${layer}_tests)
    sluice_add_program(${target} NAME ${target} FOLDER tests SOURCES ${sources}
        LIBRARIES sluice_${layer} GTest::gtest_main GTest::gmock)
    if(TARGET sluice_audit)
        target_link_libraries(${target} PRIVATE sluice_audit)  # an oracle for whoever wants one
    endif()
    if(layer MATCHES "^(dispatch|channel)$" AND TARGET sluice_node)
        target_link_libraries(${target} PRIVATE sluice_node)  # the peer
    endif()
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    if(layer STREQUAL "node")
        target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)  # the hub of channels
    endif()
    sluice_link_proton(${target})
    set(labels unit)
    if(layer IN_LIST threaded_layers)
        set(labels unit-threaded)
    endif()
    # Found before the run and not after the link: a test program that cannot start fails its tests,
    # not the build of all others. Tests run in the source folder, so that one which holds a file of
    # the project against the code needs no absolute path, which would defeat ccache.
    gtest_discover_tests(${target}
        TEST_PREFIX ${layer}.
        DISCOVERY_MODE PRE_TEST
        DISCOVERY_TIMEOUT 60
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        PROPERTIES LABELS ${labels} TIMEOUT 120)
endforeach()

# ---- property tests: proptests/*.cpp ------------------------------------------------------------

if(SLUICE_PROPTESTS AND layers)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/proptests/*.cpp)
    if(sources)
        sluice_need(GTest SLUICE_PROPTESTS libgtest-dev)
        sluice_need(rapidcheck SLUICE_PROPTESTS librapidcheck-dev)
        include(GoogleTest)
        sluice_add_program(sluice_proptests NAME sluice_proptests FOLDER proptests
            SOURCES ${sources}
            LIBRARIES sluice_sluice rapidcheck rapidcheck_gtest GTest::gtest_main GTest::gmock)
        target_include_directories(sluice_proptests PRIVATE
            ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/proptests ${PROJECT_SOURCE_DIR}/src)
        sluice_link_proton(sluice_proptests)
        set(SLUICE_RC_PARAMS "max_success=100" CACHE STRING
            "RC_PARAMS of the property tests when ctest runs them")
        gtest_discover_tests(sluice_proptests
            TEST_PREFIX property.
            DISCOVERY_MODE PRE_TEST
            DISCOVERY_TIMEOUT 60
            WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
            PROPERTIES LABELS property TIMEOUT 600 ENVIRONMENT "RC_PARAMS=${SLUICE_RC_PARAMS}")
    endif()
endif()

# ---- fuzz targets: fuzz/*.cpp -------------------------------------------------------------------

if(SLUICE_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR
            "SLUICE_FUZZ needs clang, for libFuzzer is part of it; this is ${CMAKE_CXX_COMPILER}. "
            "Use the preset asan, or turn SLUICE_FUZZ off.")
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cpp)
    foreach(source IN LISTS sources)
        cmake_path(GET source STEM name)
        sluice_add_program(fuzz_${name} NAME ${name} FOLDER fuzz SOURCES ${source}
            LIBRARIES sluice_sluice)
        target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
        target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        add_test(NAME fuzz.${name}
            COMMAND ${PROJECT_SOURCE_DIR}/cmake/run-fuzzer $<TARGET_FILE:fuzz_${name}>
                ${PROJECT_SOURCE_DIR}/fuzz ${PROJECT_BINARY_DIR}/fuzz/run/${name})
        set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 7200)
    endforeach()
endif()

# ---- examples, benchmarks, interop: one program per file ----------------------------------------

if(SLUICE_EXAMPLES AND layers)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp)
    foreach(source IN LISTS sources)
        cmake_path(GET source STEM name)
        sluice_add_program(example_${name} NAME ${name} FOLDER examples SOURCES ${source}
            LIBRARIES sluice_sluice)
    endforeach()
    include(${PROJECT_SOURCE_DIR}/examples/tests.cmake OPTIONAL)
endif()

if(SLUICE_BENCH AND layers)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
    if(sources)
        sluice_need(benchmark SLUICE_BENCH libbenchmark-dev)
    endif()
    foreach(source IN LISTS sources)
        cmake_path(GET source STEM name)
        sluice_add_program(bench_${name} NAME ${name} FOLDER bench SOURCES ${source}
            LIBRARIES sluice_sluice benchmark::benchmark)
        sluice_link_proton(bench_${name})
        if(name STREQUAL "socket_bench" AND TARGET Proton::cpp)
            target_link_libraries(bench_${name} PRIVATE Proton::cpp)
            target_compile_definitions(bench_${name} PRIVATE SLUICE_HAVE_PROTON_CPP=1)
        endif()
    endforeach()
endif()

# sluice_add_interop_test(<name> [BROKER <broker>] [TIMEOUT <seconds>]
#                         COMMAND <program of interop/ or examples/, or any command> [argument...])
# A ctest test with the labels interop and, with BROKER, the broker's name. It then runs below
# interop/with-broker, which starts that broker for it, replaces {port} and the like in the arguments
# and gives the same as BROKER_PORT and so on. {program:<name>} in an argument is the path of that
# program. These tests run one at a time, for they measure throughput. The project's own stand in
# interop/tests.cmake.
function(sluice_add_interop_test name)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "BROKER;TIMEOUT" "COMMAND")
    if(NOT test_TIMEOUT)
        set(test_TIMEOUT 120)
    endif()
    list(GET test_COMMAND 0 program)
    foreach(kind IN ITEMS interop example)
        if(TARGET ${kind}_${program})
            list(POP_FRONT test_COMMAND)
            list(PREPEND test_COMMAND $<TARGET_FILE:${kind}_${program}>)
        endif()
    endforeach()
    list(TRANSFORM test_COMMAND REPLACE "{program:([a-z0-9_]+)}" "$<TARGET_FILE:interop_\\1>")
    set(labels interop)
    set(ctest_timeout ${test_TIMEOUT})
    if(test_BROKER)
        list(APPEND labels ${test_BROKER})
        list(PREPEND test_COMMAND
            ${PROJECT_SOURCE_DIR}/interop/with-broker ${test_BROKER} --timeout ${test_TIMEOUT} --)
        # The wrapper gives up first, since it has a broker to stop; starting one takes time too.
        math(EXPR ctest_timeout "${test_TIMEOUT} + 120")
    endif()
    add_test(NAME interop.${name} COMMAND ${test_COMMAND})
    set_tests_properties(interop.${name} PROPERTIES
        LABELS "${labels}" TIMEOUT ${ctest_timeout} RUN_SERIAL ON)
endfunction()

if(SLUICE_INTEROP AND layers)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/interop/*.cpp)
    if(sources)
        sluice_need(fmt SLUICE_INTEROP libfmt-dev)
        sluice_need(CLI11 SLUICE_INTEROP libcli11-dev)
    endif()
    foreach(source IN LISTS sources)
        cmake_path(GET source STEM name)
        sluice_add_program(interop_${name} NAME ${name} FOLDER interop SOURCES ${source}
            LIBRARIES sluice_sluice fmt::fmt CLI11::CLI11)
        sluice_link_proton(interop_${name})
    endforeach()
    include(${PROJECT_SOURCE_DIR}/interop/tests.cmake OPTIONAL)
endif()

# ---- the house: layer rules, install ------------------------------------------------------------

if(SLUICE_TESTS)
    include(${PROJECT_SOURCE_DIR}/tests/house/tests.cmake OPTIONAL)
endif()
