# SPDX-License-Identifier: Apache-2.0
# find_package(Inlay), then
#   inlay_add_model(TARGET MODEL.onnx [OPTION...])
# compiles the model while CMake configures, and again when the file changed, and adds its folder: a library TARGET, whose header
# is TARGET.h. OPTIONs are those of `inlay compile`. INLAY_PROGRAM names another compiler than the one on the PATH.
include_guard(GLOBAL)
get_filename_component(INLAY_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_program(INLAY_PROGRAM inlay HINTS "${INLAY_PREFIX}/bin" "${INLAY_PREFIX}/../bin" REQUIRED)

function(inlay_add_model target model)
    get_filename_component(model "${model}" ABSOLUTE)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/inlay-${target}")
    execute_process(
        COMMAND "${INLAY_PROGRAM}" compile "${model}" -o "${folder}" --name "${target}" --emit cmake -q ${ARGN}
        RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "inlay compile ${model}: status ${status}")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${model}")
    add_subdirectory("${folder}" "${folder}/build")
endfunction()
