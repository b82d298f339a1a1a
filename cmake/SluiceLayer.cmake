# How a layer of the library becomes a target, and how all of them are installed.
#
#   sluice_add_layer(<name> [DEPENDS <layer>...] [PACKAGES <package>...] [LIBRARIES <target>...])
#
# makes the static library sluice_<name> of src/<name>/**.cpp and include/sluice/<name>/**.hpp; codec
# has the headers directly in include/sluice/ as well. DEPENDS names layers below it: one that does
# not exist (yet) is left out. PACKAGES are found here and by whoever finds the installed package;
# LIBRARIES are the targets that come from them.
#
#   sluice_finish_layers()
#
# makes libsluice.so of the same objects, if SLUICE_SHARED (which BUILD_SHARED_LIBS turns on), and
# sluice::sluice of all layers. sluice::<name> is what users link: the layer's archive, or, with
# BUILD_SHARED_LIBS, the shared library and what the layer's headers need.
#
#   sluice_need(<package> <option> <Debian's package>)
#
# finds what an option needs, or says what to install.
#
# cmake/SluiceInstall.cmake installs all that.
include_guard(GLOBAL)

set_property(GLOBAL PROPERTY SLUICE_LAYERS "")

# find_package for what an option needs; where it is missing, the error names the option and Debian's package.
macro(sluice_need package option debian)
    find_package(${package} QUIET)
    if(NOT ${package}_FOUND)
        message(FATAL_ERROR
            "${option} needs ${package}, which was not found (Debian: ${debian}). Install it, or configure with "
            "-D${option}=OFF; docs/guides/install.md lists what each option needs.")
    endif()
endmacro()

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
    add_library(${target} STATIC ${sources})
    # A part of somebody's project is compiled as far as that project links it.
    if(NOT PROJECT_IS_TOP_LEVEL AND NOT SLUICE_INSTALL)
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    target_sources(${target} PUBLIC
        FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
    # Headers that only the layer's own sources see.
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_features(${target} PUBLIC cxx_std_20)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        EXPORT_NAME ${name}
        # The archives' objects are the shared library's, so that nothing is compiled twice.
        POSITION_INDEPENDENT_CODE ON
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON)
    # Nobody puts functions of their own in the place of ours: calls within a file stay calls or are inlined.
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
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
    set_property(GLOBAL PROPERTY SLUICE_LIBRARIES_${name} "${layer_LIBRARIES}")
    set_property(GLOBAL PROPERTY SLUICE_DEPENDS_${name} "${depends}")

    if(NOT BUILD_SHARED_LIBS)
        add_library(sluice::${name} ALIAS ${target})
        return()
    endif()
    add_library(${target}_api INTERFACE)
    add_library(sluice::${name} ALIAS ${target}_api)
    target_link_libraries(${target}_api INTERFACE sluice_shared ${layer_LIBRARIES})
    foreach(dependency IN LISTS depends)
        target_link_libraries(${target}_api INTERFACE sluice_${dependency}_api)
    endforeach()
endfunction()

# One shared library for all layers: they call each other's inside, which stays hidden in it.
function(sluice_add_shared)
    add_library(sluice_shared SHARED)
    if(NOT PROJECT_IS_TOP_LEVEL AND NOT SLUICE_INSTALL)
        set_target_properties(sluice_shared PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    foreach(layer IN LISTS ARGN)
        get_property(libraries GLOBAL PROPERTY SLUICE_LIBRARIES_${layer})
        target_sources(sluice_shared PRIVATE $<TARGET_OBJECTS:sluice_${layer}>)
        target_link_libraries(sluice_shared PRIVATE ${libraries})
    endforeach()
    target_include_directories(sluice_shared INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(sluice_shared INTERFACE cxx_std_20)
    set_target_properties(sluice_shared PROPERTIES
        OUTPUT_NAME sluice
        EXPORT_NAME shared
        LINKER_LANGUAGE CXX
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR})
    # Templates of the standard library and of Boost come out as weak symbols of whoever uses them.
    target_link_options(sluice_shared PRIVATE
        -Wl,--exclude-libs,ALL -Wl,-z,defs
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/libsluice.map)
    set_target_properties(sluice_shared PROPERTIES
        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libsluice.map)
endfunction()

function(sluice_finish_layers)
    get_property(layers GLOBAL PROPERTY SLUICE_LAYERS)
    if(NOT layers)
        message(WARNING "no layer has a source file below ${PROJECT_SOURCE_DIR}/src")
        return()
    endif()
    if(SLUICE_SHARED)
        sluice_add_shared(${layers})
    endif()

    # For our own programs, which may see the inside: the archives.
    add_library(sluice_sluice INTERFACE)
    list(TRANSFORM layers PREPEND sluice_ OUTPUT_VARIABLE targets)
    target_link_libraries(sluice_sluice INTERFACE ${targets})
    if(NOT BUILD_SHARED_LIBS)
        add_library(sluice::sluice ALIAS sluice_sluice)
        return()
    endif()
    add_library(sluice_api INTERFACE)
    add_library(sluice::sluice ALIAS sluice_api)
    list(TRANSFORM targets APPEND _api)
    target_link_libraries(sluice_api INTERFACE ${targets})
endfunction()
