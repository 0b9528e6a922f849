/* SPDX-License-Identifier: Apache-2.0
 * The small messages that protobuf-c unpacks: types, operator sets, and entries
 * that say where external data lie. The scanner has been through them by then, so
 * depth and size are known to be bounded; memory comes from one block of the arena
 * that the next leaf reuses. */
#include <assert.h>
#include <string.h>

#include "base/diag.h"
#include "base/size.h"
#include "onnx/read.h"

enum {
    MOST_DIMENSIONS = 64
}; /* in a type that we still unpack, to tell its rank */

static void *leaf_alloc(void *context, size_t bytes)
{
    Reader *reader = context;
    if (bytes > LEAF_MEMORY - reader->leaf_used)
        return NULL;
    void *p = reader->leaf + reader->leaf_used;
    reader->leaf_used += size_align(bytes, LEAF_ALIGN);
    return p;
}

static void leaf_free(void *context, void *p)
{
    (void)context;
    (void)p;
}

static void check_leaf(Reader *reader, Span span)
{
    if (span.length > LEAF_BYTES)
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, span.offset, NULL), NULL,
                "a type, operator set or entry of %llu bytes; at most %d are "
                "supported",
                (unsigned long long)span.length, LEAF_BYTES);
}

/* The message in these bytes, until the next one is unpacked. */
static void *unpack(Reader *reader, Message message, Span span)
{
    const ProtobufCMessageDescriptor *descriptor =
        onnx_schema.message[message].descriptor;
    ProtobufCAllocator allocator = { leaf_alloc, leaf_free, reader };
    check_leaf(reader, span);
    reader->leaf_used = 0;
    void *unpacked = protobuf_c_message_unpack(
        descriptor, &allocator, (size_t)span.length,
        wire_view(&reader->wire, span.offset, span.length));
    if (!unpacked)
        wire_fail(&reader->wire, span.offset, "a %s that cannot be read",
                  descriptor->short_name);
    return unpacked;
}

void type_enter(Reader *reader, const WireEvent *event)
{
    if (event->message == MSG_TYPE && event->parent == MSG_VALUE_INFO) {
        reader->value.type = (Span){ event->at, event->length };
        reader->value.dims = 0;
    }
    if (event->message == MSG_DIMENSION &&
        ++reader->value.dims > MOST_DIMENSIONS)
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, event->at, NULL), NULL,
                "a type of more than %d dimensions", MOST_DIMENSIONS);
}

/* Their texts become C strings: no NULs. */
void leaf_field(Reader *reader, const WireEvent *event)
{
    if (event->field->type != PROTOBUF_C_TYPE_STRING)
        return;
    check_leaf(reader, (Span){ event->at, event->length });
    const uint8_t *text = wire_view(&reader->wire, event->at, event->length);
    if (memchr(text, 0, (size_t)event->length))
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
        if (d->value_case ==
            INLAY_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
            to->symbol[i] = d->dim_param;
        if (d->value_case !=
            INLAY_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
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
    const InlayOnnx__TypeProto *t = unpack(reader, MSG_TYPE, type);
    if (t->value_case != INLAY_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return info;
    assert(t->tensor_type);
    info.dtype = dtype_of_code(t->tensor_type->elem_type);
    take_shape(t->tensor_type->shape, &info);
    return info;
}

static void import(Reader *reader, const WireEvent *event, Graph *graph,
                   const char *domain, int64_t version)
{
    if (version < 1)
        wire_fail(&reader->wire, event->at, "version %lld of an operator set",
                  (long long)version);
    for (size_t i = 0; i < graph->opset.n; i++) {
        if (strcmp(graph->opset.at[i].domain, domain))
            continue;
        if (graph->opset.at[i].version != version)
            warn_at(reader_loc(reader, event->at, domain),
                    "the operator set is imported twice, as version %lld and "
                    "as version %lld; the "
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
    Graph *graph = event->parent == MSG_FUNCTION ? reader_frame(reader)->graph
                                                 : reader->model;
    const InlayOnnx__OperatorSetIdProto *opset =
        unpack(reader, MSG_OPSET, (Span){ event->at, event->length });
    if (graph->opset.n == MOST_OPSETS)
        wire_fail(&reader->wire, event->at, "more than %d operator sets",
                  MOST_OPSETS);
    const char *domain = reader_keep(reader, opset->domain);
    import(reader, event, graph, strcmp(domain, "ai.onnx") ? domain : "",
           opset->version);
}

void entry_leave(Reader *reader, const WireEvent *event)
{
    const InlayOnnx__StringStringEntryProto *entry =
        unpack(reader, MSG_ENTRY, (Span){ event->at, event->length });
    external_set(&reader->external, &reader->tensor.ref,
                 reader_loc(reader, event->at, reader->tensor.name),
                 reader_keep(reader, entry->key),
                 reader_keep(reader, entry->value));
}
