/* SPDX-License-Identifier: Apache-2.0
 * The small messages that protobuf-c unpacks: types and operator sets. The
 * scanner has been through them by then, so depth and size are known to be
 * bounded; memory comes from one block of the arena that the next leaf reuses. */
#include <string.h>

#include "base/diag.h"
#include "onnx.pb-c.h"
#include "onnx/read.h"

enum { MOST_DIMENSIONS = 64 }; /* in a type that we still unpack, to tell its rank */

static void *leaf_alloc(void *context, size_t bytes)
{
    Reader *r = context;
    const size_t need = (bytes + 15) & ~(size_t)15;
    if (bytes > LEAF_MEMORY || need > LEAF_MEMORY - r->leaf_used)
        return NULL;
    void *p = r->leaf + r->leaf_used;
    r->leaf_used += need;
    return p;
}

static void leaf_free(void *context, void *p)
{
    (void)context;
    (void)p;
}

static ProtobufCAllocator leaf_allocator(Reader *r)
{
    r->leaf_used = 0;
    return (ProtobufCAllocator){ leaf_alloc, leaf_free, r };
}

static const uint8_t *leaf_bytes(Reader *r, Span s)
{
    if (s.length > LEAF_BYTES)
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, s.offset, NULL), NULL,
                "a type or operator set of %llu bytes; at most %d are supported",
                (unsigned long long)s.length, LEAF_BYTES);
    return wire_view(&r->wire, s.offset, s.length);
}

void type_enter(Reader *r, const WireEvent *e)
{
    if (e->message == MSG_TYPE && e->parent == MSG_VALUE_INFO) {
        r->value.type = (Span){ e->at, e->length };
        r->value.dims = 0;
    }
    if (e->message == MSG_DIMENSION && ++r->value.dims > MOST_DIMENSIONS)
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, e->at, NULL), NULL,
                "a type of more than %d dimensions", MOST_DIMENSIONS);
}

/* Their texts become C strings: no NULs. */
void type_field(Reader *r, const WireEvent *e)
{
    if (e->type != WIRE_RANGE)
        return;
    const Span s = { e->at, e->length };
    if (memchr(leaf_bytes(r, s), 0, (size_t)e->length))
        wire_fail(&r->wire, e->at, "a name contains a NUL byte");
}

static void take_shape(const InlayOnnx__TensorShapeProto *from, TypeInfo *to)
{
    if (!from || from->n_dim > MAX_RANK)
        return; /* more than we handle: as if not known */
    to->shape.rank = (int)from->n_dim;
    for (size_t i = 0; i < from->n_dim; i++) {
        const InlayOnnx__TensorShapeProto__Dimension *d = from->dim[i];
        to->shape.dim[i] = -1;
        if (d->value_case == INLAY_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
            to->symbol[i] = d->dim_param;
        if (d->value_case != INLAY_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            continue;
        if (d->dim_value >= 0)
            to->shape.dim[i] = d->dim_value;
        else
            to->symbol[i] = DIM_NEGATIVE;
    }
}

TypeInfo leaf_type(Reader *r, Span type)
{
    TypeInfo info = { .dtype = DT_NONE, .shape = { .rank = -1 } };
    ProtobufCAllocator a = leaf_allocator(r);
    const InlayOnnx__TypeProto *t =
        inlay_onnx__type_proto__unpack(&a, (size_t)type.length, leaf_bytes(r, type));
    if (!t)
        wire_fail(&r->wire, type.offset, "a type that cannot be read");
    if (t->value_case != INLAY_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type)
        return info;
    info.dtype = dtype_of_code(t->tensor_type->elem_type);
    take_shape(t->tensor_type->shape, &info);
    return info;
}

static void import(Reader *r, const WireEvent *e, Graph *g, const char *domain, int64_t version)
{
    if (version < 1)
        wire_fail(&r->wire, e->at, "version %lld of an operator set", (long long)version);
    for (size_t i = 0; i < g->opset.n; i++) {
        if (strcmp(g->opset.at[i].domain, domain))
            continue;
        if (g->opset.at[i].version != version)
            warn_at(reader_loc(r, e->at, domain),
                    "the operator set is imported twice, as version %lld and as version %lld; the "
                    "last one counts",
                    (long long)g->opset.at[i].version, (long long)version);
        g->opset.at[i].version = version;
        return;
    }
    const Opset o = { domain, version };
    VEC_PUSH(r->arena, &g->opset, o);
}

void opset_leave(Reader *r, const WireEvent *e)
{
    enum { MOST_OPSETS = 256 };
    Graph *g = e->parent == MSG_FUNCTION ? reader_frame(r)->graph : r->model;
    ProtobufCAllocator a = leaf_allocator(r);
    const Span s = { e->at, e->length };
    const InlayOnnx__OperatorSetIdProto *o =
        inlay_onnx__operator_set_id_proto__unpack(&a, (size_t)s.length, leaf_bytes(r, s));
    if (!o)
        wire_fail(&r->wire, e->at, "an operator set that cannot be read");
    if (g->opset.n == MOST_OPSETS)
        wire_fail(&r->wire, e->at, "more than %d operator sets", MOST_OPSETS);
    const char *domain = o->domain && strcmp(o->domain, "ai.onnx") ? o->domain : "";
    import(r, e, g, arena_text(r->arena, domain, strlen(domain)), o->version);
}
