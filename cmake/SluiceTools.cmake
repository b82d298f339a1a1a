# The `sluice` command: tools/*.cpp, one file for each subcommand, over src/tools/, which is a library
# of the command and its tests alone and is not installed.
include_guard(GLOBAL)
include(SluiceLayer)

sluice_need(fmt SLUICE_TOOLS libfmt-dev)
sluice_need(CLI11 SLUICE_TOOLS libcli11-dev)
sluice_need(Pcap SLUICE_TOOLS libpcap-dev)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/tools/*.cpp)
add_library(sluice_tools STATIC ${sources})
target_include_directories(sluice_tools PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(sluice_tools PUBLIC
    sluice_client sluice_node sluice_channel Boost::headers Threads::Threads fmt::fmt CLI11::CLI11 Pcap::pcap)
target_compile_features(sluice_tools PUBLIC cxx_std_20)
set_target_properties(sluice_tools PROPERTIES CXX_EXTENSIONS OFF)
sluice_set_warnings(sluice_tools)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.cpp)
add_executable(sluice_command ${sources})
target_link_libraries(sluice_command PRIVATE sluice_tools)
target_compile_definitions(sluice_command PRIVATE SLUICE_VERSION="${PROJECT_VERSION}")
set_target_properties(sluice_command PROPERTIES
    CXX_EXTENSIONS OFF
    OUTPUT_NAME sluice
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools)
sluice_set_warnings(sluice_command)

install(TARGETS sluice_command COMPONENT tools RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/tools/completion/sluice.bash
    COMPONENT tools DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sluice)
