/* SPDX-License-Identifier: Apache-2.0
 * TensorProto: the head of a tensor, and to whom the finished recipe belongs.
 * All places where a tensor can hide end here: initializers, attributes, both
 * halves of sparse tensors, those of subgraphs and of functions. */
#include <string.h>

#include "base/diag.h"
#include "onnx/read.h"

void tensor_enter(Reader *r, const WireEvent *e)
{
    TensorDraft *d = &r->tensor;
    d->name = "";
    d->at = e->at;
    d->rank = 0;
    d->data_type = 0;
    d->field = 0;
    d->span.n = d->gather.n = 0;
    d->gathered = d->external = false;
    d->spilled = NULL;
    d->spill = (Span){ 0 };
    d->ref = (ExternalRef){ 0 };
    d->key = d->value = "";
}

void tensor_field(Reader *r, const WireEvent *e)
{
    TensorDraft *d = &r->tensor;
    switch (e->field) {
    case TENSOR_NAME:
        d->name = reader_text(r, e);
        break;
    case TENSOR_DIMS:
        reader_dims(r, e, &d->rank, d->dims, d->name);
        break;
    case TENSOR_DATA_TYPE:
        d->data_type = (int64_t)e->value;
        break;
    case TENSOR_DATA_LOCATION:
        d->external = e->value == 1;
        break;
    case TENSOR_SEGMENT:
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, e->at, d->name), NULL,
                "tensors in segments are not supported");
    default:
        data_field(r, e);
    }
}

void entry_enter(Reader *r, const WireEvent *e)
{
    (void)e;
    r->tensor.key = r->tensor.value = "";
}

void entry_field(Reader *r, const WireEvent *e)
{
    if (e->field == ENTRY_KEY)
        r->tensor.key = reader_word(r, e);
    else
        r->tensor.value = reader_word(r, e);
}

void entry_leave(Reader *r, const WireEvent *e)
{
    external_set(&r->external, &r->tensor.ref, reader_loc(r, e->at, r->tensor.name), r->tensor.key,
                 r->tensor.value);
}

static DType element_type(const Reader *r, const TensorDraft *d)
{
    const Loc loc = reader_loc(r, d->at, d->name);
    if (d->data_type == 27 || d->data_type == 28)
        fail_at(STATUS_UNSUPPORTED, loc, NULL, "6-bit floats are not supported");
    const DType t = dtype_of_code(d->data_type);
    if (t == DT_NONE)
        fail_at(STATUS_MALFORMED, loc, r->wire.help, "element type %lld does not exist",
                (long long)d->data_type);
    return t;
}

/* An attribute holds one tensor; lists of them have no place in Attr and are counted only. */
static void give_attribute(Reader *r, const WireEvent *e, Recipe *value)
{
    AttrDraft *d = &reader_frame(r)->attr;
    if (e->field != ATTRIBUTE_T) {
        d->others++;
        d->seen = ATTR_TENSORS;
        return;
    }
    if (d->has_tensor)
        wire_fail(&r->wire, e->at, "an attribute with two tensors");
    d->has_tensor = true;
    d->seen = ATTR_TENSOR;
    d->attr.tensor = value;
}

static void give_sparse(Reader *r, const WireEvent *e, Recipe *value)
{
    SparseDraft *s = &r->sparse;
    Recipe **to = e->field == SPARSE_VALUES ? &s->values : &s->indices;
    if (*to)
        wire_fail(&r->wire, e->at, "a sparse tensor with two parts of the same kind");
    if (!value)
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, e->at, r->tensor.name), NULL,
                "sparse tensors of strings are not supported");
    if (e->field == SPARSE_VALUES)
        s->name = r->tensor.name;
    *to = value;
}

void tensor_leave(Reader *r, const WireEvent *e)
{
    TensorDraft *d = &r->tensor;
    const DType t = element_type(r, d);
    Recipe *value = data_recipe(r, t);
    switch (e->parent) {
    case MSG_GRAPH:
        if (!*d->name)
            fail_at(STATUS_MALFORMED, reader_loc(r, d->at, NULL), r->wire.help,
                    "an initializer without a name");
        graph_initializer(r, d->name, d->at, t, shape_of(d->rank, d->dims), value);
        break;
    case MSG_ATTRIBUTE:
        give_attribute(r, e, value);
        break;
    case MSG_SPARSE:
        give_sparse(r, e, value);
        break;
    default:
        r->single = value;
    }
}
