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
    Reader *reader = context;
    const size_t need = (bytes + 15) & ~(size_t)15;
    if (bytes > LEAF_MEMORY || need > LEAF_MEMORY - reader->leaf_used)
        return NULL;
    void *p = reader->leaf + reader->leaf_used;
    reader->leaf_used += need;
    return p;
}

static void leaf_free(void *context, void *p)
{
    (void)context;
    (void)p;
}

static ProtobufCAllocator leaf_allocator(Reader *reader)
{
    reader->leaf_used = 0;
    return (ProtobufCAllocator){ leaf_alloc, leaf_free, reader };
}

static const uint8_t *leaf_bytes(Reader *reader, Span span)
{
    if (span.length > LEAF_BYTES)
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, span.offset, NULL), NULL,
                "a type or operator set of %llu bytes; at most %d are supported",
                (unsigned long long)span.length, LEAF_BYTES);
    return wire_view(&reader->wire, span.offset, span.length);
}

void type_enter(Reader *reader, const WireEvent *event)
{
    if (event->message == MSG_TYPE && event->parent == MSG_VALUE_INFO) {
        reader->value.type = (Span){ event->at, event->length };
        reader->value.dims = 0;
    }
    if (event->message == MSG_DIMENSION && ++reader->value.dims > MOST_DIMENSIONS)
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, event->at, NULL), NULL,
                "a type of more than %d dimensions", MOST_DIMENSIONS);
}

/* Their texts become C strings: no NULs. */
void type_field(Reader *reader, const WireEvent *event)
{
    if (event->type != WIRE_RANGE)
        return;
    const Span span = { event->at, event->length };
    if (memchr(leaf_bytes(reader, span), 0, (size_t)event->length))
        wire_fail(&reader->wire, event->at, "a name contains a NUL byte");
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

TypeInfo leaf_type(Reader *reader, Span type)
{
    TypeInfo info = { .dtype = DT_NONE, .shape = { .rank = -1 } };
    ProtobufCAllocator allocator = leaf_allocator(reader);
    const InlayOnnx__TypeProto *t =
        inlay_onnx__type_proto__unpack(&allocator, (size_t)type.length, leaf_bytes(reader, type));
    if (!t)
        wire_fail(&reader->wire, type.offset, "a type that cannot be read");
    if (t->value_case != INLAY_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type)
        return info;
    info.dtype = dtype_of_code(t->tensor_type->elem_type);
    take_shape(t->tensor_type->shape, &info);
    return info;
}

static void import(Reader *reader, const WireEvent *event, Graph *graph, const char *domain,
                   int64_t version)
{
    if (version < 1)
        wire_fail(&reader->wire, event->at, "version %lld of an operator set", (long long)version);
    for (size_t i = 0; i < graph->opset.n; i++) {
        if (strcmp(graph->opset.at[i].domain, domain))
            continue;
        if (graph->opset.at[i].version != version)
            warn_at(reader_loc(reader, event->at, domain),
                    "the operator set is imported twice, as version %lld and as version %lld; the "
                    "last one counts",
                    (long long)graph->opset.at[i].version, (long long)version);
        graph->opset.at[i].version = version;
        return;
    }
    const Opset o = { domain, version };
    VEC_PUSH(reader->arena, &graph->opset, o);
}

void opset_leave(Reader *reader, const WireEvent *event)
{
    enum { MOST_OPSETS = 256 };
    Graph *g = event->parent == MSG_FUNCTION ? reader_frame(reader)->graph : reader->model;
    ProtobufCAllocator allocator = leaf_allocator(reader);
    const Span span = { event->at, event->length };
    const InlayOnnx__OperatorSetIdProto *o = inlay_onnx__operator_set_id_proto__unpack(
        &allocator, (size_t)span.length, leaf_bytes(reader, span));
    if (!o)
        wire_fail(&reader->wire, event->at, "an operator set that cannot be read");
    if (g->opset.n == MOST_OPSETS)
        wire_fail(&reader->wire, event->at, "more than %d operator sets", MOST_OPSETS);
    const char *domain = o->domain && strcmp(o->domain, "ai.onnx") ? o->domain : "";
    import(reader, event, g, arena_text(reader->arena, domain, strlen(domain)), o->version);
}
