# How a layer of the library becomes a target, and how all of them are installed.
#
#   sluice_add_layer(<name> [DEPENDS <layer>...] [PACKAGES <package>...] [LIBRARIES <target>...])
#
# makes the target sluice_<name> (alias sluice::<name>) of src/<name>/**.cpp and
# include/sluice/<name>/**.hpp; codec has the headers directly in include/sluice/ as well.
# DEPENDS names layers below it: one that does not exist (yet) is left out. PACKAGES are found here
# and by whoever finds the installed package; LIBRARIES are the targets that come from them.
#
#   sluice_finish_layers()
#
# makes sluice::sluice of all layers, and the rules for install and find_package(sluice).
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set_property(GLOBAL PROPERTY SLUICE_LAYERS "")

# The warnings are ours alone: PRIVATE, so that a user's own flags decide about the user's code.
function(sluice_set_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion)
    # g++ 12 takes `"text" + std::string` for an overlapping copy once it optimises (GCC bug 105651, mended in 13).
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
    if(SLUICE_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()

function(sluice_add_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 layer "" "" "DEPENDS;PACKAGES;LIBRARIES")

    # Globbing, because the tree is the list: there is one .cpp per header, at the same place below
    # src/ as the header has below include/sluice/, and a file that is there is meant to be built.
    # CONFIGURE_DEPENDS makes each build look again, so that a new file is never forgotten.
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/sluice/${name}/*.hpp)
    if(NOT sources)
        return()
    endif()
    if(name STREQUAL "codec")
        file(GLOB root_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/sluice/*.hpp)
        list(APPEND headers ${root_headers})
    endif()

    foreach(package IN LISTS layer_PACKAGES)
        separate_arguments(arguments UNIX_COMMAND "${package}")
        find_package(${arguments} REQUIRED)
    endforeach()

    set(target sluice_${name})
    add_library(${target} ${sources})
    add_library(sluice::${name} ALIAS ${target})
    target_sources(${target} PUBLIC
        FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
    # Headers that only the layer's own sources see.
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_features(${target} PUBLIC cxx_std_20)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        EXPORT_NAME ${name}
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    # The hot path: inlining is worth its size here. The engine's runs through several of its files: as one unit the
    # compiler sees it whole.
    if(name MATCHES "^(codec|engine)$" AND CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo)$")
        target_compile_options(${target} PRIVATE -O3)
        if(name STREQUAL "engine")
            set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
        endif()
    endif()
    sluice_set_warnings(${target})
    if(SLUICE_FUZZ)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()

    set(depends "")
    foreach(dependency IN LISTS layer_DEPENDS)
        if(TARGET sluice_${dependency})
            target_link_libraries(${target} PUBLIC sluice_${dependency})
            list(APPEND depends ${dependency})
        endif()
    endforeach()
    target_link_libraries(${target} PUBLIC ${layer_LIBRARIES})

    set_property(GLOBAL APPEND PROPERTY SLUICE_LAYERS ${name})
    set_property(GLOBAL PROPERTY SLUICE_PACKAGES_${name} "${layer_PACKAGES}")
    set_property(GLOBAL PROPERTY SLUICE_DEPENDS_${name} "${depends}")
endfunction()

function(sluice_finish_layers)
    get_property(layers GLOBAL PROPERTY SLUICE_LAYERS)
    if(NOT layers)
        message(WARNING "no layer has a source file below ${PROJECT_SOURCE_DIR}/src")
        return()
    endif()

    add_library(sluice_sluice INTERFACE)
    add_library(sluice::sluice ALIAS sluice_sluice)
    set_target_properties(sluice_sluice PROPERTIES EXPORT_NAME sluice)
    list(TRANSFORM layers PREPEND sluice_ OUTPUT_VARIABLE targets)
    target_link_libraries(sluice_sluice INTERFACE ${targets})

    # What the installed package has to know: its layers, what each needs, and where that is found.
    set(SLUICE_CONFIG_TABLE "set(_sluice_layers ${layers})\n")
    foreach(layer IN LISTS layers)
        get_property(packages GLOBAL PROPERTY SLUICE_PACKAGES_${layer})
        get_property(depends GLOBAL PROPERTY SLUICE_DEPENDS_${layer})
        list(TRANSFORM packages REPLACE "(.+)" "\"\\1\"")
        list(JOIN packages " " packages)
        list(JOIN depends " " depends)
        string(APPEND SLUICE_CONFIG_TABLE
            "set(_sluice_${layer}_packages ${packages})\n"
            "set(_sluice_${layer}_depends ${depends})\n")
    endforeach()

    set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
    configure_package_config_file(
        ${PROJECT_SOURCE_DIR}/cmake/sluiceConfig.cmake.in
        ${PROJECT_BINARY_DIR}/sluiceConfig.cmake
        INSTALL_DESTINATION ${config_dir}
        NO_SET_AND_CHECK_MACRO)
    # Before 1.0 a minor version may change the interface.
    write_basic_package_version_file(
        ${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake
        COMPATIBILITY SameMinorVersion)
    install(FILES
        ${PROJECT_BINARY_DIR}/sluiceConfig.cmake
        ${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT sluice)

    # One export file per layer, so that a component is imported without the packages of the others.
    foreach(layer IN LISTS layers)
        install(TARGETS sluice_${layer} EXPORT sluice_${layer} COMPONENT sluice
            FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
        install(EXPORT sluice_${layer} NAMESPACE sluice:: FILE sluice-${layer}.cmake
            DESTINATION ${config_dir} COMPONENT sluice)
    endforeach()
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sluice COMPONENT sluice)
endfunction()
