/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/message.h"

/* More messages than any real model has; each costs memory. */
enum { MOST_MESSAGES = 16 << 20 };

#define MESSAGE(name) \
    { \
        .descriptor = &inlay_onnx__##name##__descriptor \
    }

static const WireMessage messages[MSG_COUNT] = {
    [MSG_MODEL] = MESSAGE(model_proto),
    [MSG_GRAPH] = MESSAGE(graph_proto),
    [MSG_NODE] = MESSAGE(node_proto),
    [MSG_ATTRIBUTE] = MESSAGE(attribute_proto),
    [MSG_TENSOR] = MESSAGE(tensor_proto),
    [MSG_SPARSE] = MESSAGE(sparse_tensor_proto),
    [MSG_FUNCTION] = MESSAGE(function_proto),
    [MSG_VALUE_INFO] = MESSAGE(value_info_proto),
    [MSG_OPSET] = MESSAGE(operator_set_id_proto),
    /* Metadata are such entries too. */
    [MSG_ENTRY] = {
        .descriptor = &inlay_onnx__string_string_entry_proto__descriptor,
        .only_as = "external_data",
    },
    /* protobuf-c unpacks types; the scanner goes through them first, for their depth and texts. */
    [MSG_TYPE] = MESSAGE(type_proto),
    [MSG_TYPE_TENSOR] = MESSAGE(type_proto__tensor),
    [MSG_TYPE_SEQUENCE] = MESSAGE(type_proto__sequence),
    [MSG_TYPE_MAP] = MESSAGE(type_proto__map),
    [MSG_TYPE_OPTIONAL] = MESSAGE(type_proto__optional),
    [MSG_TYPE_SPARSE] = MESSAGE(type_proto__sparse_tensor),
    [MSG_SHAPE] = MESSAGE(tensor_shape_proto),
    [MSG_DIMENSION] = MESSAGE(tensor_shape_proto__dimension),
};

const WireSchema onnx_schema = {
    .message = messages,
    .messages = MSG_COUNT,
    .nesting = MSG_GRAPH,
    .most = MOST_MESSAGES,
};
