/* SPDX-License-Identifier: Apache-2.0
 * The table behind message.h: what each field is, and which message lies in it. */
#include "onnx/message.h"

#define ROW(type, child) \
    { \
        type, child \
    }
#define NUMBER ROW(WIRE_INT, 0)
#define NUMBERS ROW(WIRE_INTS, 0)
#define BYTES ROW(WIRE_BYTES, 0)
#define MESSAGE(child) ROW(WIRE_MESSAGE, MSG_##child)

/* More messages than any real model has; each costs memory. */
enum { MOST_MESSAGES = 16 << 20 };

static const WireRow rows[MSG_COUNT][WIRE_FIELDS] = {
    [MSG_MODEL] = {
        [MODEL_IR_VERSION] = NUMBER,
        [MODEL_PRODUCER] = BYTES,
        [MODEL_GRAPH] = MESSAGE(GRAPH),
        [MODEL_OPSET] = MESSAGE(OPSET),
        [MODEL_FUNCTION] = MESSAGE(FUNCTION),
    },
    [MSG_GRAPH] = {
        [GRAPH_NODE] = MESSAGE(NODE),
        [GRAPH_NAME] = BYTES,
        [GRAPH_INITIALIZER] = MESSAGE(TENSOR),
        [GRAPH_INPUT] = MESSAGE(VALUE_INFO),
        [GRAPH_OUTPUT] = MESSAGE(VALUE_INFO),
        [GRAPH_VALUE_INFO] = MESSAGE(VALUE_INFO),
        [GRAPH_SPARSE_INITIALIZER] = MESSAGE(SPARSE),
    },
    [MSG_NODE] = {
        [NODE_INPUT] = BYTES,
        [NODE_OUTPUT] = BYTES,
        [NODE_NAME] = BYTES,
        [NODE_OP_TYPE] = BYTES,
        [NODE_ATTRIBUTE] = MESSAGE(ATTRIBUTE),
        [NODE_DOMAIN] = BYTES,
        [NODE_OVERLOAD] = BYTES,
    },
    [MSG_ATTRIBUTE] = {
        [ATTRIBUTE_NAME] = BYTES,
        [ATTRIBUTE_F] = ROW(WIRE_F32, 0),
        [ATTRIBUTE_I] = NUMBER,
        [ATTRIBUTE_S] = BYTES,
        [ATTRIBUTE_T] = MESSAGE(TENSOR),
        [ATTRIBUTE_G] = MESSAGE(GRAPH),
        [ATTRIBUTE_FLOATS] = ROW(WIRE_F32S, 0),
        [ATTRIBUTE_INTS] = NUMBERS,
        [ATTRIBUTE_STRINGS] = BYTES,
        [ATTRIBUTE_TENSORS] = MESSAGE(TENSOR),
        [ATTRIBUTE_GRAPHS] = MESSAGE(GRAPH),
        [ATTRIBUTE_TP] = MESSAGE(TYPE),
        [ATTRIBUTE_TYPE_PROTOS] = MESSAGE(TYPE),
        [ATTRIBUTE_TYPE] = NUMBER,
        [ATTRIBUTE_REF] = BYTES,
        [ATTRIBUTE_SPARSE] = MESSAGE(SPARSE),
        [ATTRIBUTE_SPARSES] = MESSAGE(SPARSE),
    },
    [MSG_TENSOR] = {
        [TENSOR_DIMS] = NUMBERS,
        [TENSOR_DATA_TYPE] = NUMBER,
        [TENSOR_SEGMENT] = BYTES,
        [TENSOR_FLOAT_DATA] = ROW(WIRE_F32S, 0),
        [TENSOR_INT32_DATA] = NUMBERS,
        [TENSOR_STRING_DATA] = BYTES,
        [TENSOR_INT64_DATA] = NUMBERS,
        [TENSOR_NAME] = BYTES,
        [TENSOR_RAW_DATA] = BYTES,
        [TENSOR_DOUBLE_DATA] = ROW(WIRE_F64S, 0),
        [TENSOR_UINT64_DATA] = NUMBERS,
        [TENSOR_EXTERNAL_DATA] = MESSAGE(ENTRY),
        [TENSOR_DATA_LOCATION] = NUMBER,
    },
    [MSG_SPARSE] = {
        [SPARSE_VALUES] = MESSAGE(TENSOR),
        [SPARSE_INDICES] = MESSAGE(TENSOR),
        [SPARSE_DIMS] = NUMBERS,
    },
    [MSG_FUNCTION] = {
        [FUNCTION_NAME] = BYTES,
        [FUNCTION_INPUT] = BYTES,
        [FUNCTION_OUTPUT] = BYTES,
        [FUNCTION_ATTRIBUTE] = BYTES,
        [FUNCTION_NODE] = MESSAGE(NODE),
        [FUNCTION_OPSET] = MESSAGE(OPSET),
        [FUNCTION_DOMAIN] = BYTES,
        [FUNCTION_ATTRIBUTE_PROTO] = MESSAGE(ATTRIBUTE),
        [FUNCTION_VALUE_INFO] = MESSAGE(VALUE_INFO),
        [FUNCTION_OVERLOAD] = BYTES,
    },
    [MSG_VALUE_INFO] = {
        [VALUE_INFO_NAME] = BYTES,
        [VALUE_INFO_TYPE] = MESSAGE(TYPE),
    },
    [MSG_OPSET] = {
        [1] = BYTES,
        [2] = NUMBER,
    },
    [MSG_ENTRY] = {
        [ENTRY_KEY] = BYTES,
        [ENTRY_VALUE] = BYTES,
    },
    /* Types are unpacked by protobuf-c; the scanner goes through them first, for their depth and
     * their names. */
    [MSG_TYPE] = {
        [1] = MESSAGE(TYPE_TENSOR),
        [4] = MESSAGE(TYPE_SEQUENCE),
        [5] = MESSAGE(TYPE_MAP),
        [6] = BYTES,
        [8] = MESSAGE(TYPE_SPARSE),
        [9] = MESSAGE(TYPE_OPTIONAL),
    },
    [MSG_TYPE_TENSOR] = {
        [1] = NUMBER,
        [2] = MESSAGE(SHAPE),
    },
    [MSG_TYPE_SEQUENCE] = {
        [1] = MESSAGE(TYPE),
    },
    [MSG_TYPE_MAP] = {
        [1] = NUMBER,
        [2] = MESSAGE(TYPE),
    },
    [MSG_TYPE_OPTIONAL] = {
        [1] = MESSAGE(TYPE),
    },
    [MSG_TYPE_SPARSE] = {
        [1] = NUMBER,
        [2] = MESSAGE(SHAPE),
    },
    [MSG_SHAPE] = {
        [1] = MESSAGE(DIMENSION),
    },
    [MSG_DIMENSION] = {
        [DIMENSION_VALUE] = NUMBER,
        [DIMENSION_PARAM] = BYTES,
    },
};

const WireTable onnx_messages = { rows, MSG_GRAPH, MOST_MESSAGES };
