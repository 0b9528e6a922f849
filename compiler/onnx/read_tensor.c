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
    draft->field = 0;
    draft->span.n = draft->gather.n = 0;
    draft->gathered = draft->external = false;
    draft->spilled = NULL;
    draft->spill = (Span){ 0 };
    draft->ref = (ExternalRef){ 0 };
    draft->key = draft->value = "";
}

void tensor_field(Reader *reader, const WireEvent *event)
{
    TensorDraft *draft = &reader->tensor;
    switch (event->field) {
    case TENSOR_NAME:
        draft->name = reader_text(reader, event);
        break;
    case TENSOR_DIMS:
        reader_dims(reader, event, &draft->rank, draft->dims, draft->name);
        break;
    case TENSOR_DATA_TYPE:
        draft->data_type = (int64_t)event->value;
        break;
    case TENSOR_DATA_LOCATION:
        draft->external = event->value == 1;
        break;
    case TENSOR_SEGMENT:
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, event->at, draft->name), NULL,
                "tensors in segments are not supported");
    default:
        data_field(reader, event);
    }
}

void entry_enter(Reader *reader, const WireEvent *event)
{
    (void)event;
    reader->tensor.key = reader->tensor.value = "";
}

void entry_field(Reader *reader, const WireEvent *event)
{
    if (event->field == ENTRY_KEY)
        reader->tensor.key = reader_word(reader, event);
    else
        reader->tensor.value = reader_word(reader, event);
}

void entry_leave(Reader *reader, const WireEvent *event)
{
    external_set(&reader->external, &reader->tensor.ref,
                 reader_loc(reader, event->at, reader->tensor.name), reader->tensor.key,
                 reader->tensor.value);
}

static DType element_type(const Reader *reader, const TensorDraft *draft)
{
    const Loc loc = reader_loc(reader, draft->at, draft->name);
    if (draft->data_type == 27 || draft->data_type == 28)
        fail_at(STATUS_UNSUPPORTED, loc, NULL, "6-bit floats are not supported");
    const DType type = dtype_of_code(draft->data_type);
    if (type == DT_NONE)
        fail_at(STATUS_MALFORMED, loc, reader->wire.help, "element type %lld does not exist",
                (long long)draft->data_type);
    return type;
}

/* An attribute holds one tensor; lists of them have no place in Attr and are counted only. */
static void give_attribute(Reader *reader, const WireEvent *event, Recipe *value)
{
    AttrDraft *draft = &reader_frame(reader)->attr;
    if (event->field != ATTRIBUTE_T) {
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
    SparseDraft *s = &reader->sparse;
    Recipe **to = event->field == SPARSE_VALUES ? &s->values : &s->indices;
    if (*to)
        wire_fail(&reader->wire, event->at, "a sparse tensor with two parts of the same kind");
    if (!value)
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, event->at, reader->tensor.name), NULL,
                "sparse tensors of strings are not supported");
    if (event->field == SPARSE_VALUES)
        s->name = reader->tensor.name;
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
            fail_at(STATUS_MALFORMED, reader_loc(reader, draft->at, NULL), reader->wire.help,
                    "an initializer without a name");
        graph_initializer(reader, draft->name, draft->at, type, shape_of(draft->rank, draft->dims),
                          value);
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
