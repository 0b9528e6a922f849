/* SPDX-License-Identifier: Apache-2.0
 * Attributes of nodes and defaults of functions. The type says which field holds
 * the value; very old files leave it out, then the field that is there decides. Long
 * lists, as Constant has them, go to the spill file and become recipes. */
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "onnx/read.h"

enum {
    LIST_BYTES = 64 * 1024,     /* of a list in memory */
    STRING_LIMIT = 1024 * 1024, /* bytes of one string */
};

static AttrDraft *draft(Reader *reader)
{
    return &reader_frame(reader)->attr;
}

void attribute_enter(Reader *reader, const WireEvent *event)
{
    AttrDraft *d = draft(reader);
    d->attr = (Attr){ .name = "" };
    d->type = d->others = d->seen = 0;
    d->at = event->at;
    d->has_tensor = d->has_graph = d->has_sparse = false;
    d->floats.n = d->ints.n = d->strings.n = 0;
    d->spill = (Span){ 0 };
}

/* What was gathered of the list, `bytes` long, goes behind the rest of it. */
static void spill_list(Reader *reader, AttrDraft *draft, const void *from,
                       size_t bytes)
{
    Store *s = reader->store;
    if (!s->spill)
        s->spill = file_temporary(s->arena);
    if (!draft->spill.length)
        draft->spill.offset = s->spill_size = (s->spill_size + 7) / 8 * 8;
    if (draft->spill.offset + draft->spill.length != s->spill_size)
        wire_fail(&reader->wire, draft->at, "an attribute with several values");
    file_write(s->spill, s->spill_size, from, bytes);
    draft->spill.length += bytes;
    s->spill_size += bytes;
    s->bytes_spilled += bytes;
}

static void flush_floats(Reader *reader, AttrDraft *draft)
{
    if (draft->ints.n)
        wire_fail(&reader->wire, draft->at, "an attribute with several values");
    spill_list(reader, draft, draft->floats.at,
               draft->floats.n * sizeof *draft->floats.at);
    draft->floats.n = 0;
}

static void flush_ints(Reader *reader, AttrDraft *draft)
{
    if (draft->floats.n)
        wire_fail(&reader->wire, draft->at, "an attribute with several values");
    spill_list(reader, draft, draft->ints.at,
               draft->ints.n * sizeof *draft->ints.at);
    draft->ints.n = 0;
}

static void add_float(Reader *reader, AttrDraft *draft, float x)
{
    if (draft->floats.n == LIST_BYTES / sizeof x)
        flush_floats(reader, draft);
    VEC_PUSH(reader->arena, &draft->floats, x);
}

static void add_int(Reader *reader, AttrDraft *draft, int64_t x)
{
    if (draft->ints.n == LIST_BYTES / sizeof x)
        flush_ints(reader, draft);
    VEC_PUSH(reader->arena, &draft->ints, x);
}

static float float_of(uint64_t bits)
{
    const uint32_t u = (uint32_t)bits;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static void add_floats(Reader *reader, const WireEvent *event)
{
    AttrDraft *d = draft(reader);
    d->seen = ATTR_FLOATS;
    if (event->type == WIRE_NUMBER) {
        add_float(reader, d, float_of(event->value));
        return;
    }
    float some[512];
    uint64_t left = event->length;
    for (uint64_t at = event->at; left;) {
        const size_t bytes = left < sizeof some ? (size_t)left : sizeof some;
        memcpy(some, wire_view(&reader->wire, at, bytes), bytes);
        for (size_t i = 0; i < bytes / sizeof *some; i++)
            add_float(reader, d, some[i]);
        at += bytes;
        left -= bytes;
    }
}

static void add_ints(Reader *reader, const WireEvent *event)
{
    AttrDraft *d = draft(reader);
    d->seen = ATTR_INTS;
    if (event->type == WIRE_NUMBER) {
        add_int(reader, d, (int64_t)event->value);
        return;
    }
    for (uint64_t at = event->at; at < event->at + event->length;)
        add_int(reader, d,
                (int64_t)wire_varint(&reader->wire, &at,
                                     event->at + event->length));
}

/* Strings are bytes and may hold NULs. */
static const char *add_bytes(Reader *reader, const WireEvent *event)
{
    if (event->length > STRING_LIMIT)
        fail_at(STATUS_UNSUPPORTED,
                reader_loc(reader, event->at, draft(reader)->attr.name), NULL,
                "an attribute's string has more than %d bytes", STRING_LIMIT);
    char *s = arena_alloc(reader->arena, (size_t)event->length + 1);
    file_read(reader->file, event->at, s, (size_t)event->length);
    return s;
}

static void set_string(Reader *reader, const WireEvent *event)
{
    AttrDraft *d = draft(reader);
    d->attr.s = event->length && event->length <= WIRE_VIEW / 4
                    ? arena_text(reader->arena,
                                 (const char *)wire_view(
                                     &reader->wire, event->at, event->length),
                                 (size_t)event->length)
                    : add_bytes(reader, event);
    d->attr.n = (int64_t)event->length;
    d->seen = ATTR_STRING;
}

static void add_string(Reader *reader, const WireEvent *event)
{
    AttrDraft *d = draft(reader);
    if (event->length <= WIRE_VIEW / 4 &&
        memchr(wire_view(&reader->wire, event->at, event->length), 0,
               (size_t)event->length))
        wire_fail(&reader->wire, event->at,
                  "a string of a list contains a NUL byte");
    const char *s = event->length ? add_bytes(reader, event) : "";
    if (strlen(s) != event->length)
        wire_fail(&reader->wire, event->at,
                  "a string of a list contains a NUL byte");
    VEC_PUSH(reader->arena, &d->strings, s);
    d->seen = ATTR_STRINGS;
}

void attribute_field(Reader *reader, const WireEvent *event)
{
    AttrDraft *d = draft(reader);
    switch (event->field->offset) {
    case FIELD(AttributeProto, name):
        d->attr.name = reader_word(reader, event);
        break;
    case FIELD(AttributeProto, ref_attr_name):
        d->attr.ref = event->length ? reader_word(reader, event) : NULL;
        break;
    case FIELD(AttributeProto, type):
        d->type = (int64_t)event->value;
        break;
    case FIELD(AttributeProto, f):
        d->attr.f = float_of(event->value);
        d->seen = ATTR_FLOAT;
        break;
    case FIELD(AttributeProto, i):
        d->attr.i = (int64_t)event->value;
        d->seen = ATTR_INT;
        break;
    case FIELD(AttributeProto, s):
        set_string(reader, event);
        break;
    case FIELD(AttributeProto, floats):
        add_floats(reader, event);
        break;
    case FIELD(AttributeProto, ints):
        add_ints(reader, event);
        break;
    case FIELD(AttributeProto, strings):
        add_string(reader, event);
        break;
    default:
        break;
    }
}

static _Noreturn void fail_attr(const Reader *reader, const AttrDraft *draft,
                                const char *what)
{
    const NodeDraft *n = &reader->frame[reader->depth - 1].node;
    fail_at(STATUS_MALFORMED,
            (Loc){ .file = reader->file->path,
                   .byte = (int64_t)draft->at,
                   .node = -1,
                   .name = n->name,
                   .op = n->op_type },
            reader->wire.help, "attribute \"%s\": %s", draft->attr.name, what);
}

static Recipe *spilled_list(const Reader *reader, const AttrDraft *draft,
                            DType type)
{
    const int64_t n = (int64_t)draft->spill.length / (dtype_bits(type) / 8);
    const Source source = { .dtype = type,
                            .count = n,
                            .encoding = ENC_FIXED,
                            .file = reader->store->spill,
                            .span = &draft->spill,
                            .spans = 1 };
    return recipe_source(reader->store, &source, 1, &n);
}

/* A list that did not fit memory. */
static void keep_long(Reader *reader, AttrDraft *draft)
{
    const bool floats = draft->attr.kind == ATTR_FLOATS;
    if (!floats && draft->attr.kind != ATTR_INTS)
        wire_fail(&reader->wire, draft->at, "an attribute with several values");
    if (floats)
        flush_floats(reader, draft);
    else
        flush_ints(reader, draft);
    draft->attr.list = spilled_list(reader, draft, floats ? DT_F32 : DT_I64);
    draft->attr.n = recipe_count(draft->attr.list);
}

/* The lists go to their own arrays: the draft's are used again. */
static void keep_lists(Reader *reader, AttrDraft *draft)
{
    Attr *a = &draft->attr;
    if (draft->spill.length) {
        keep_long(reader, draft);
        return;
    }
    switch (a->kind) {
    case ATTR_FLOATS:
        a->n = (int64_t)draft->floats.n;
        a->floats = arena_copy(reader->arena, draft->floats.at,
                               draft->floats.n * sizeof *a->floats);
        break;
    case ATTR_INTS:
        a->n = (int64_t)draft->ints.n;
        a->ints = arena_copy(reader->arena, draft->ints.at,
                             draft->ints.n * sizeof *a->ints);
        break;
    case ATTR_STRINGS:
        a->n = (int64_t)draft->strings.n;
        a->strings = arena_copy(reader->arena, draft->strings.at,
                                draft->strings.n * sizeof *a->strings);
        break;
    case ATTR_STRING:
        break;
    default:
        a->n = draft->others;
    }
}

static void check_value(const Reader *reader, const AttrDraft *draft)
{
    const Attr *a = &draft->attr;
    if (a->ref)
        return;
    if (a->kind == ATTR_TENSOR && !draft->has_tensor)
        fail_attr(reader, draft, "it has no tensor");
    if (a->kind == ATTR_GRAPH && !draft->has_graph)
        fail_attr(reader, draft, "it has no graph");
    if (a->kind == ATTR_SPARSE_TENSOR && !draft->has_sparse)
        fail_attr(reader, draft, "it has no sparse tensor");
}

static void add_attr(Reader *reader, AttrDraft *draft)
{
    Frame *frame = reader_frame(reader);
    if (frame->node.attr.n == MOST_ATTRIBUTES)
        fail_attr(reader, draft, "the node has too many attributes");
    for (size_t i = 0; i < frame->node.attr.n; i++)
        if (!strcmp(frame->node.attr.at[i].name, draft->attr.name))
            fail_attr(reader, draft, "it is given twice");
    VEC_PUSH(reader->arena, &frame->node.attr, draft->attr);
}

void attribute_leave(Reader *reader, const WireEvent *event)
{
    AttrDraft *d = draft(reader);
    if (!*d->attr.name)
        fail_attr(reader, d, "it has no name");
    const int64_t kind = d->type ? d->type : d->seen;
    if (kind < ATTR_FLOAT || kind > ATTR_TYPES)
        fail_attr(reader, d,
                  d->type ? "its type does not exist"
                          : "it has neither type nor value");
    d->attr.kind = (AttrKind)kind;
    if (kind == ATTR_STRING && !d->attr.s)
        d->attr.s = "";
    if (d->has_graph && kind != ATTR_GRAPH)
        fail_attr(reader, d, "it holds a graph, against its type");
    if (kind == ATTR_GRAPHS)
        fail_at(STATUS_UNSUPPORTED, reader_loc(reader, d->at, d->attr.name),
                NULL, "attributes that are lists of graphs are not supported");
    keep_lists(reader, d);
    check_value(reader, d);
    if (event->parent == MSG_FUNCTION)
        VEC_PUSH(reader->arena, &reader_frame(reader)->defaults, d->attr);
    else
        add_attr(reader, d);
}
