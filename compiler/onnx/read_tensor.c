/* SPDX-License-Identifier: Apache-2.0
 * TensorProto: the head of a tensor, and to whom the finished recipe belongs.
 * All places where a tensor can hide end here: initializers, attributes, both
 * halves of sparse tensors, those of subgraphs and of functions. */
#include <string.h>

#include "base/diag.h"
#include "onnx/read.h"

void tensor_enter(Reader *reader, const WireEvent *event)
{
    TensorDraft *draft = &reader->tensor;
    draft->name = "";
    draft->at = event->at;
    draft->rank = 0;
    draft->data_type = 0;
    draft->field = NULL;
    draft->span.n = draft->gather.n = 0;
    draft->gathered = draft->external = false;
    draft->spilled = NULL;
    draft->spill = (Span){ 0 };
    draft->ref = (ExternalRef){ 0 };
}

void tensor_field(Reader *reader, const WireEvent *event)
{
    TensorDraft *draft = &reader->tensor;
    switch (event->field->offset) {
    case FIELD(TensorProto, name):
        draft->name = reader_text(reader, event);
        break;
    case FIELD(TensorProto, dims):
        reader_dims(reader, event, &draft->rank, draft->dims, draft->name);
        break;
    case FIELD(TensorProto, data_type):
        draft->data_type = (int64_t)event->value;
        break;
    case FIELD(TensorProto, data_location):
        draft->external =
            event->value == INLAY_ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        break;
    case FIELD(TensorProto, segment):
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, event->at, draft->name),
                NULL, "tensors in segments are not supported");
    case FIELD(TensorProto, float_data):
    case FIELD(TensorProto, int32_data):
    case FIELD(TensorProto, string_data):
    case FIELD(TensorProto, int64_data):
    case FIELD(TensorProto, raw_data):
    case FIELD(TensorProto, double_data):
    case FIELD(TensorProto, uint64_data):
        data_field(reader, event);
        break;
    default:
        break;
    }
}

static DType element_type(const Reader *reader, const TensorDraft *draft)
{
    const Loc loc = reader_loc(reader, draft->at, draft->name);
    if (draft->data_type == INLAY_ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT6E2M3 ||
        draft->data_type == INLAY_ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT6E3M2)
        fail_at(STATUS_UNSUPPORTED, loc, NULL,
                "6-bit floats are not supported");
    const DType type = dtype_of_code(draft->data_type);
    if (type == DT_NONE)
        fail_at(STATUS_MALFORMED, loc, reader->wire.help,
                "element type %lld does not exist",
                (long long)draft->data_type);
    return type;
}

/* An attribute holds one tensor; lists of them have no place in Attr and are counted only. */
static void give_attribute(Reader *reader, const WireEvent *event,
                           Recipe *value)
{
    AttrDraft *draft = &reader_frame(reader)->attr;
    if (event->field->offset != FIELD(AttributeProto, t)) {
        draft->others++;
        draft->seen = ATTR_TENSORS;
        return;
    }
    if (draft->has_tensor)
        wire_fail(&reader->wire, event->at, "an attribute with two tensors");
    draft->has_tensor = true;
    draft->seen = ATTR_TENSOR;
    draft->attr.tensor = value;
}

static void give_sparse(Reader *reader, const WireEvent *event, Recipe *value)
{
    SparseDraft *sparse = &reader->sparse;
    const bool values =
        event->field->offset == FIELD(SparseTensorProto, values);
    Recipe **to = values ? &sparse->values : &sparse->indices;
    if (*to)
        wire_fail(&reader->wire, event->at,
                  "a sparse tensor with two parts of the same kind");
    if (recipe_dtype(value) == DT_STRING)
        fail_at(STATUS_UNSUPPORTED,
                reader_loc(reader, event->at, reader->tensor.name), NULL,
                "sparse tensors of strings are not supported");
    if (values)
        sparse->name = reader->tensor.name;
    *to = value;
}

void tensor_leave(Reader *reader, const WireEvent *event)
{
    TensorDraft *draft = &reader->tensor;
    const DType type = element_type(reader, draft);
    Recipe *value = data_recipe(reader, type);
    switch (event->parent) {
    case MSG_GRAPH:
        if (!*draft->name)
            fail_at(STATUS_MALFORMED, reader_loc(reader, draft->at, NULL),
                    reader->wire.help, "an initializer without a name");
        graph_initializer(reader, draft->name, draft->at, type,
                          shape_of(draft->rank, draft->dims), value);
        break;
    case MSG_ATTRIBUTE:
        give_attribute(reader, event, value);
        break;
    case MSG_SPARSE:
        give_sparse(reader, event, value);
        break;
    default:
        reader->single = value;
    }
}
