# SPDX-License-Identifier: Apache-2.0
# find_package(Inlay), then
#   inlay_add_model(TARGET MODEL.onnx [OPTION...])
# compiles the model while CMake configures, and again when a file that it was made of (the model, its external data, constants) or
# the compiler changed, and adds its folder: a library TARGET, whose header is TARGET.h. OPTIONs are those of `inlay compile`.
# INLAY_PROGRAM names another compiler than the one on the PATH.
include_guard(GLOBAL)
get_filename_component(INLAY_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_program(INLAY_PROGRAM inlay HINTS "${INLAY_PREFIX}/bin" "${INLAY_PREFIX}/../bin" REQUIRED)

function(inlay_add_model target model)
    get_filename_component(model "${model}" ABSOLUTE)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/inlay-${target}")
    set(list "${folder}.d")
    execute_process(
        COMMAND "${INLAY_PROGRAM}" compile "${model}" -o "${folder}" --name "${target}" --emit cmake -q --depfile "${list}" ${ARGN}
        WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
        RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "inlay compile ${model}: status ${status}")
    endif()
    # A file a line, behind the target; blanks and # are escaped, $ stands twice.
    file(READ "${list}" text)
    string(REPLACE ";" "\\;" text "${text}")
    string(REGEX REPLACE " ?\\\\?\n *" ";" files "${text}")
    list(REMOVE_AT files 0 -1)
    foreach(file IN LISTS files)
        string(REGEX REPLACE "\\\\([ #\t\\])" "\\1" file "${file}")
        string(REPLACE "$$" "$" file "${file}")
        get_filename_component(file "${file}" ABSOLUTE)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${INLAY_PROGRAM}")
    add_subdirectory("${folder}" "${folder}/build")
endfunction()
