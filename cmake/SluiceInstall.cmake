# What `cmake --install` puts where, and the .deb packages that `cpack -G DEB` makes of it.
#
# Components, which are the packages as well:
#   runtime   libsluice1      the shared library, if SLUICE_SHARED
#   dev       libsluice-dev   headers, archives, the CMake package, pkg-config files
#   tools     sluice-tools    the sluice command
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY SLUICE_LAYERS)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- the CMake package: its layers, what each needs, and where that is found

set(SLUICE_CONFIG_TABLE "set(_sluice_layers ${layers})\n")
foreach(layer IN LISTS layers)
    get_property(packages GLOBAL PROPERTY SLUICE_PACKAGES_${layer})
    get_property(libraries GLOBAL PROPERTY SLUICE_LIBRARIES_${layer})
    get_property(depends GLOBAL PROPERTY SLUICE_DEPENDS_${layer})
    list(TRANSFORM packages REPLACE "(.+)" "\"\\1\"")
    list(JOIN packages " " packages)
    list(JOIN libraries " " libraries)
    list(JOIN depends " " depends)
    string(APPEND SLUICE_CONFIG_TABLE
        "set(_sluice_${layer}_packages ${packages})\n"
        "set(_sluice_${layer}_libraries ${libraries})\n"
        "set(_sluice_${layer}_depends ${depends})\n")
endforeach()
configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/sluiceConfig.cmake.in
    ${PROJECT_BINARY_DIR}/sluiceConfig.cmake
    INSTALL_DESTINATION ${config_dir}
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake
    COMPATIBILITY SameMajorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/sluiceConfig.cmake
    ${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake
    DESTINATION ${config_dir} COMPONENT dev)

# Headers of all layers; with the shared library alone there is no archive to install them with.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT dev FILES_MATCHING PATTERN "*.hpp")

# One export file per layer, so that a component is imported without the packages of the others.
if(NOT BUILD_SHARED_LIBS)
    foreach(layer IN LISTS layers)
        install(TARGETS sluice_${layer} EXPORT sluice_${layer} COMPONENT dev
            FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
        install(EXPORT sluice_${layer} NAMESPACE sluice:: FILE sluice-${layer}.cmake
            DESTINATION ${config_dir} COMPONENT dev)
    endforeach()
    # CMake strips programs and shared libraries only; what is left in archives names the build folder.
    list(TRANSFORM layers REPLACE "(.+)" "libsluice_\\1.a" OUTPUT_VARIABLE archives)
    install(CODE "
        if(CMAKE_INSTALL_DO_STRIP)
            foreach(archive IN ITEMS ${archives})
                execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug
                    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/\${archive}\"
                    COMMAND_ERROR_IS_FATAL ANY)
            endforeach()
        endif()" COMPONENT dev)
endif()
if(TARGET sluice_shared)
    install(TARGETS sluice_shared EXPORT sluice_shared
        LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev)
    install(EXPORT sluice_shared NAMESPACE sluice:: FILE sluice-shared.cmake
        DESTINATION ${config_dir} COMPONENT dev)
endif()

# ---- pkg-config: sluice is all of it; sluice-<layer> the archives of one layer and those below it

# The folders relative to the file, so that the tree can be moved.
string(REGEX REPLACE "[^/]+" ".." up ${pkgconfig_dir})
function(sluice_write_pkgconfig file description requires libs)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pkgconfig/${file}.pc @ONLY CONTENT
"prefix=\${pcfiledir}/@up@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: @file@
Description: @description@
URL: @PROJECT_HOMEPAGE_URL@
Version: @PROJECT_VERSION@
Requires: @requires@
Cflags: -I\${includedir}
Libs: -L\${libdir} @libs@
")
    install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/${file}.pc
        DESTINATION ${pkgconfig_dir} COMPONENT dev)
endfunction()

# Users of the headers need Boost's, which have no pkg-config file: they are where compilers look.
if(TARGET sluice_shared)
    sluice_write_pkgconfig(sluice "${PROJECT_DESCRIPTION}" "" "-lsluice")
else()
    list(TRANSFORM layers PREPEND sluice- OUTPUT_VARIABLE all)
    list(JOIN all " " all)
    sluice_write_pkgconfig(sluice "${PROJECT_DESCRIPTION}" "${all}" "")
endif()
if(NOT BUILD_SHARED_LIBS)
    foreach(layer IN LISTS layers)
        get_property(depends GLOBAL PROPERTY SLUICE_DEPENDS_${layer})
        list(TRANSFORM depends PREPEND sluice-)
        set(libs -lsluice_${layer})
        if(layer STREQUAL "net")
            list(APPEND depends openssl)
            string(APPEND libs " -pthread")
        endif()
        list(JOIN depends " " depends)
        sluice_write_pkgconfig(sluice-${layer}
            "${PROJECT_DESCRIPTION}: ${layer}" "${depends}" "${libs}")
    endforeach()
endif()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libsluice-dev COMPONENT dev)

# ---- .deb packages

if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_VENDOR "The Sluice authors")
set(CPACK_PACKAGE_CONTACT "The Sluice authors <sluice@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libsluice-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION "AMQP 1.0 for C++20: headers, archives and CMake package")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libboost1.81-dev | libboost-dev (>= 1.81), libssl-dev")
if(TARGET sluice_shared)
    list(APPEND CPACK_COMPONENTS_ALL runtime)
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libsluice${PROJECT_VERSION_MAJOR})
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)
    set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "AMQP 1.0 for C++20: the shared library")
    string(PREPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
        "libsluice${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}), ")
endif()
if(TARGET sluice_command)
    list(APPEND CPACK_COMPONENTS_ALL tools)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME sluice-tools)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION net)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
    set(CPACK_COMPONENT_TOOLS_DESCRIPTION
        "AMQP 1.0 on the command line: node, send, recv, channel, bench, audit, passwd")
endif()
include(CPack)
