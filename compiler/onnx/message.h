/* SPDX-License-Identifier: Apache-2.0
 * The messages of ONNX that the reader enters. Their fields, with numbers and
 * types, are protobuf-c's descriptors of schemas/onnx.proto. Metadata,
 * documentation, training and device hints are never entered. */
#ifndef INLAY_ONNX_MESSAGE_H
#define INLAY_ONNX_MESSAGE_H

#include <stddef.h>

#include "onnx.pb-c.h"
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

/* A field, named by the structure that protobuf-c generates: where its value lies there, as in
 * WireEvent.field->offset. It tells the fields of one message apart, but for those of a oneof. */
#define FIELD(message, name) offsetof(InlayOnnx__##message, name)

extern const WireSchema onnx_schema;

#endif
