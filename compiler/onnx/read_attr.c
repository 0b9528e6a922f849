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

static AttrDraft *draft(Reader *r)
{
    return &reader_frame(r)->attr;
}

void attribute_enter(Reader *r, const WireEvent *e)
{
    AttrDraft *d = draft(r);
    d->attr = (Attr){ .name = "" };
    d->type = d->others = d->seen = 0;
    d->at = e->at;
    d->has_tensor = d->has_graph = d->has_sparse = false;
    d->floats.n = d->ints.n = d->strings.n = 0;
    d->spill = (Span){ 0 };
}

/* What was gathered of the list, `bytes` long, goes behind the rest of it. */
static void spill_list(Reader *r, AttrDraft *d, const void *from, size_t bytes)
{
    Store *s = r->store;
    if (!s->spill)
        s->spill = file_temporary(s->arena);
    if (!d->spill.length)
        d->spill.offset = s->spill_size = (s->spill_size + 7) / 8 * 8;
    if (d->spill.offset + d->spill.length != s->spill_size)
        wire_fail(&r->wire, d->at, "an attribute with several values");
    file_write(s->spill, s->spill_size, from, bytes);
    d->spill.length += bytes;
    s->spill_size += bytes;
    s->bytes_spilled += bytes;
}

static void flush_floats(Reader *r, AttrDraft *d)
{
    if (d->ints.n)
        wire_fail(&r->wire, d->at, "an attribute with several values");
    spill_list(r, d, d->floats.at, d->floats.n * sizeof *d->floats.at);
    d->floats.n = 0;
}

static void flush_ints(Reader *r, AttrDraft *d)
{
    if (d->floats.n)
        wire_fail(&r->wire, d->at, "an attribute with several values");
    spill_list(r, d, d->ints.at, d->ints.n * sizeof *d->ints.at);
    d->ints.n = 0;
}

static void add_float(Reader *r, AttrDraft *d, float x)
{
    if (d->floats.n == LIST_BYTES / sizeof x)
        flush_floats(r, d);
    VEC_PUSH(r->arena, &d->floats, x);
}

static void add_int(Reader *r, AttrDraft *d, int64_t x)
{
    if (d->ints.n == LIST_BYTES / sizeof x)
        flush_ints(r, d);
    VEC_PUSH(r->arena, &d->ints, x);
}

static float float_of(uint64_t bits)
{
    const uint32_t u = (uint32_t)bits;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static void add_floats(Reader *r, const WireEvent *e)
{
    AttrDraft *d = draft(r);
    d->seen = ATTR_FLOATS;
    if (e->type == WIRE_NUMBER) {
        add_float(r, d, float_of(e->value));
        return;
    }
    for (uint64_t at = e->at; at < e->at + e->length; at += 4) {
        const uint8_t *p = wire_view(&r->wire, at, 4);
        add_float(r, d,
                  float_of((uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
                           (uint64_t)p[3] << 24));
    }
}

static void add_ints(Reader *r, const WireEvent *e)
{
    AttrDraft *d = draft(r);
    d->seen = ATTR_INTS;
    if (e->type == WIRE_NUMBER) {
        add_int(r, d, (int64_t)e->value);
        return;
    }
    for (uint64_t at = e->at; at < e->at + e->length;)
        add_int(r, d, (int64_t)wire_varint(&r->wire, &at, e->at + e->length));
}

/* Strings are bytes and may hold NULs. */
static const char *add_bytes(Reader *r, const WireEvent *e)
{
    if (e->length > STRING_LIMIT)
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, e->at, draft(r)->attr.name), NULL,
                "an attribute's string has more than %d bytes", STRING_LIMIT);
    char *s = arena_alloc(r->arena, (size_t)e->length + 1);
    file_read(r->file, e->at, s, (size_t)e->length);
    return s;
}

static void set_string(Reader *r, const WireEvent *e)
{
    AttrDraft *d = draft(r);
    d->attr.s = e->length && e->length <= WIRE_VIEW / 4
                    ? arena_text(r->arena, (const char *)wire_view(&r->wire, e->at, e->length),
                                 (size_t)e->length)
                    : add_bytes(r, e);
    d->attr.n = (int64_t)e->length;
    d->seen = ATTR_STRING;
}

static void add_string(Reader *r, const WireEvent *e)
{
    AttrDraft *d = draft(r);
    if (e->length <= WIRE_VIEW / 4 &&
        memchr(wire_view(&r->wire, e->at, e->length), 0, (size_t)e->length))
        wire_fail(&r->wire, e->at, "a string of a list contains a NUL byte");
    const char *s = e->length ? add_bytes(r, e) : "";
    if (strlen(s) != e->length)
        wire_fail(&r->wire, e->at, "a string of a list contains a NUL byte");
    VEC_PUSH(r->arena, &d->strings, s);
    d->seen = ATTR_STRINGS;
}

void attribute_field(Reader *r, const WireEvent *e)
{
    AttrDraft *d = draft(r);
    switch (e->field) {
    case ATTRIBUTE_NAME:
        d->attr.name = reader_word(r, e);
        break;
    case ATTRIBUTE_REF:
        d->attr.ref = e->length ? reader_word(r, e) : NULL;
        break;
    case ATTRIBUTE_TYPE:
        d->type = (int64_t)e->value;
        break;
    case ATTRIBUTE_F:
        d->attr.f = float_of(e->value);
        d->seen = ATTR_FLOAT;
        break;
    case ATTRIBUTE_I:
        d->attr.i = (int64_t)e->value;
        d->seen = ATTR_INT;
        break;
    case ATTRIBUTE_S:
        set_string(r, e);
        break;
    case ATTRIBUTE_FLOATS:
        add_floats(r, e);
        break;
    case ATTRIBUTE_INTS:
        add_ints(r, e);
        break;
    default:
        add_string(r, e);
    }
}

static _Noreturn void fail_attr(const Reader *r, const AttrDraft *d, const char *what)
{
    const NodeDraft *n = &r->frame[r->depth - 1].node;
    fail_at(STATUS_MALFORMED,
            (Loc){ .file = r->file->path,
                   .byte = (int64_t)d->at,
                   .node = -1,
                   .name = n->name,
                   .op = n->op_type },
            r->wire.help, "attribute \"%s\": %s", d->attr.name, what);
}

static Recipe *spilled_list(const Reader *r, const AttrDraft *d, DType t)
{
    const int64_t n = (int64_t)d->spill.length / (dtype_bits(t) / 8);
    const Source s = { .dtype = t,
                       .count = n,
                       .encoding = ENC_FIXED,
                       .file = r->store->spill,
                       .span = &d->spill,
                       .spans = 1 };
    return recipe_source(r->store, &s, 1, &n);
}

/* A list that did not fit memory. */
static void keep_long(Reader *r, AttrDraft *d)
{
    const bool floats = d->attr.kind == ATTR_FLOATS;
    if (!floats && d->attr.kind != ATTR_INTS)
        wire_fail(&r->wire, d->at, "an attribute with several values");
    if (floats)
        flush_floats(r, d);
    else
        flush_ints(r, d);
    d->attr.list = spilled_list(r, d, floats ? DT_F32 : DT_I64);
    d->attr.n = recipe_count(d->attr.list);
}

/* The lists go to their own arrays: the draft's are used again. */
static void keep_lists(Reader *r, AttrDraft *d)
{
    Attr *a = &d->attr;
    if (d->spill.length) {
        keep_long(r, d);
        return;
    }
    switch (a->kind) {
    case ATTR_FLOATS:
        a->n = (int64_t)d->floats.n;
        a->floats = arena_copy(r->arena, d->floats.at, d->floats.n * sizeof *a->floats);
        break;
    case ATTR_INTS:
        a->n = (int64_t)d->ints.n;
        a->ints = arena_copy(r->arena, d->ints.at, d->ints.n * sizeof *a->ints);
        break;
    case ATTR_STRINGS:
        a->n = (int64_t)d->strings.n;
        a->strings = arena_copy(r->arena, d->strings.at, d->strings.n * sizeof *a->strings);
        break;
    case ATTR_STRING:
        break;
    default:
        a->n = d->others;
    }
}

static void check_value(const Reader *r, const AttrDraft *d)
{
    const Attr *a = &d->attr;
    if (a->ref)
        return;
    if (a->kind == ATTR_TENSOR && !d->has_tensor)
        fail_attr(r, d, "it has no tensor");
    if (a->kind == ATTR_GRAPH && !d->has_graph)
        fail_attr(r, d, "it has no graph");
    if (a->kind == ATTR_SPARSE_TENSOR && !d->has_sparse)
        fail_attr(r, d, "it has no sparse tensor");
}

static void add_attr(Reader *r, AttrDraft *d)
{
    Frame *f = reader_frame(r);
    if (f->node.attr.n == MOST_ATTRIBUTES)
        fail_attr(r, d, "the node has too many attributes");
    for (size_t i = 0; i < f->node.attr.n; i++)
        if (!strcmp(f->node.attr.at[i].name, d->attr.name))
            fail_attr(r, d, "it is given twice");
    VEC_PUSH(r->arena, &f->node.attr, d->attr);
}

void attribute_leave(Reader *r, const WireEvent *e)
{
    AttrDraft *d = draft(r);
    if (!*d->attr.name)
        fail_attr(r, d, "it has no name");
    const int64_t kind = d->type ? d->type : d->seen;
    if (kind < ATTR_FLOAT || kind > ATTR_TYPES)
        fail_attr(r, d, d->type ? "its type does not exist" : "it has neither type nor value");
    d->attr.kind = (AttrKind)kind;
    if (kind == ATTR_STRING && !d->attr.s)
        d->attr.s = "";
    if (d->has_graph && kind != ATTR_GRAPH)
        fail_attr(r, d, "it holds a graph, against its type");
    if (kind == ATTR_GRAPHS)
        fail_at(STATUS_UNSUPPORTED, reader_loc(r, d->at, d->attr.name), NULL,
                "attributes that are lists of graphs are not supported");
    keep_lists(r, d);
    check_value(r, d);
    if (e->parent == MSG_FUNCTION)
        VEC_PUSH(r->arena, &reader_frame(r)->defaults, d->attr);
    else
        add_attr(r, d);
}
