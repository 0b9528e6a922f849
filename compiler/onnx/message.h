/* SPDX-License-Identifier: Apache-2.0
 * The messages and fields of ONNX that the scanner reports; numbers as in
 * schemas/onnx.proto (a unit test compares them). Metadata, documentation,
 * training and device hints are not among them: they are stepped over. */
#ifndef INLAY_ONNX_MESSAGE_H
#define INLAY_ONNX_MESSAGE_H

#include "onnx/wire.h"

typedef enum Message {
    MSG_MODEL,
    MSG_GRAPH,
    MSG_NODE,
    MSG_ATTRIBUTE,
    MSG_TENSOR,
    MSG_SPARSE,
    MSG_FUNCTION,
    MSG_VALUE_INFO,
    MSG_OPSET,
    MSG_ENTRY,
    MSG_TYPE,
    MSG_TYPE_TENSOR,
    MSG_TYPE_SEQUENCE,
    MSG_TYPE_MAP,
    MSG_TYPE_OPTIONAL,
    MSG_TYPE_SPARSE,
    MSG_SHAPE,
    MSG_DIMENSION,
    MSG_COUNT,
} Message;

enum ModelField {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_FUNCTION = 25
};
enum GraphField {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE_INITIALIZER = 15,
};
enum NodeField {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8
};
enum AttributeField {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_STRINGS = 9,
    ATTRIBUTE_TENSORS = 10,
    ATTRIBUTE_GRAPHS = 11,
    ATTRIBUTE_TP = 14,
    ATTRIBUTE_TYPE_PROTOS = 15,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_REF = 21,
    ATTRIBUTE_SPARSE = 22,
    ATTRIBUTE_SPARSES = 23,
};
enum TensorField {
    TENSOR_DIMS = 1,
    TENSOR_DATA_TYPE = 2,
    TENSOR_SEGMENT = 3,
    TENSOR_FLOAT_DATA = 4,
    TENSOR_INT32_DATA = 5,
    TENSOR_STRING_DATA = 6,
    TENSOR_INT64_DATA = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW_DATA = 9,
    TENSOR_DOUBLE_DATA = 10,
    TENSOR_UINT64_DATA = 11,
    TENSOR_EXTERNAL_DATA = 13,
    TENSOR_DATA_LOCATION = 14,
};
enum SparseField { SPARSE_VALUES = 1, SPARSE_INDICES = 2, SPARSE_DIMS = 3 };
enum FunctionField {
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_ATTRIBUTE = 6,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_ATTRIBUTE_PROTO = 11,
    FUNCTION_VALUE_INFO = 12,
    FUNCTION_OVERLOAD = 13,
};
enum ValueInfoField { VALUE_INFO_NAME = 1, VALUE_INFO_TYPE = 2 };
enum EntryField { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum DimensionField { DIMENSION_VALUE = 1, DIMENSION_PARAM = 2 };

extern const WireTable onnx_messages;

#endif
