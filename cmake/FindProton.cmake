# Finds Qpid Proton-C and makes the target Proton::core; of Proton C++, if it is there, Proton::cpp.
#
# By path, since Debian's pkg-config file for it names folders that do not exist.
find_path(Proton_INCLUDE_DIR proton/engine.h)
find_library(Proton_LIBRARY qpid-proton)
mark_as_advanced(Proton_INCLUDE_DIR Proton_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Proton REQUIRED_VARS Proton_LIBRARY Proton_INCLUDE_DIR)

if(Proton_FOUND AND NOT TARGET Proton::core)
    add_library(Proton::core UNKNOWN IMPORTED)
    set_target_properties(Proton::core PROPERTIES
        IMPORTED_LOCATION ${Proton_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${Proton_INCLUDE_DIR})
endif()

find_path(Proton_CPP_INCLUDE_DIR proton/container.hpp)
find_library(Proton_CPP_LIBRARY qpid-proton-cpp)
mark_as_advanced(Proton_CPP_INCLUDE_DIR Proton_CPP_LIBRARY)
if(Proton_FOUND AND Proton_CPP_LIBRARY AND Proton_CPP_INCLUDE_DIR AND NOT TARGET Proton::cpp)
    add_library(Proton::cpp UNKNOWN IMPORTED)
    set_target_properties(Proton::cpp PROPERTIES
        IMPORTED_LOCATION ${Proton_CPP_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${Proton_CPP_INCLUDE_DIR})
endif()
