/* SPDX-License-Identifier: Apache-2.0
 * The scanner's stack, its window on the file, and all checks of the wire format. */
#include "onnx/wire.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"

enum {
    JUMP_AHEAD = 512, /* read after a jump: payloads are not ours to read */
    JUMP = 4096,      /* what is shorter is no jump */
    VARINT_BYTES = 10,
    FIELD_NUMBERS = 536870911,
};

void wire_fail(const Wire *w, uint64_t at, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail_at(STATUS_MALFORMED, (Loc){ .file = w->file->path, .byte = (int64_t)at, .node = -1 },
            w->help, "%s", text);
}

void wire_open(Wire *w, File *file, const WireTable *table, int root, const char *help)
{
    w->file = file;
    w->table = table;
    w->help = help;
    w->at = 0;
    w->nesting = 0;
    w->messages = 0;
    w->window_at = w->window_length = 0;
    w->stack[0] = (WireFrame){ .end = file->size, .message = root };
    w->depth = 1;
}

static void fetch(Wire *w, uint64_t at, uint64_t n)
{
    const bool jump = at < w->window_at || at - w->window_at > w->window_length + JUMP;
    const uint64_t ahead = jump ? JUMP_AHEAD : WIRE_AHEAD, left = w->file->size - at;
    uint64_t want = n > ahead ? n : ahead;
    want = want < left ? want : left;
    w->window_length = 0; /* nothing is shown should the read fail */
    file_read(w->file, at, w->window, (size_t)want);
    w->window_at = at;
    w->window_length = want;
}

const uint8_t *wire_view(Wire *w, uint64_t at, uint64_t n)
{
    assert(n <= WIRE_VIEW && n <= w->file->size && at <= w->file->size - n);
    if (w->file->whole)
        return w->file->whole + at;
    if (at < w->window_at || at + n > w->window_at + w->window_length)
        fetch(w, at, n);
    return w->window + (at - w->window_at);
}

static uint64_t long_varint(Wire *w, uint64_t *at, uint64_t end)
{
    const uint64_t left = end - *at, n = left < VARINT_BYTES ? left : VARINT_BYTES;
    const uint8_t *p = wire_view(w, *at, n);
    uint64_t x = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i == VARINT_BYTES - 1 && p[i] > 1)
            break;
        x |= (uint64_t)(p[i] & 127) << (7 * i);
        if (p[i] < 128) {
            *at += i + 1;
            return x;
        }
    }
    wire_fail(w, *at,
              n == VARINT_BYTES ? "a number of more than 64 bits"
                                : "the data ends inside a number");
}

/* Most numbers are a single byte that is in sight. */
uint64_t wire_varint(Wire *w, uint64_t *at, uint64_t end)
{
    const uint64_t in = *at - w->window_at;
    if (*at < end && in < w->window_length && w->window[in] < 128) {
        ++*at;
        return w->window[in];
    }
    return long_varint(w, at, end);
}

/* What follows the tag at w->at: a number, or the length of what lies there. */
static void read_value(Wire *w, uint64_t start, unsigned type, uint64_t end, WireEvent *e)
{
    switch (type) {
    case 0:
        e->value = wire_varint(w, &w->at, end);
        break;
    case 1:
        e->length = 8;
        break;
    case 2:
        e->length = wire_varint(w, &w->at, end);
        break;
    case 5:
        e->length = 4;
        break;
    case 3:
    case 4:
        wire_fail(w, start, "field %d is a group, which ONNX does not use", e->field);
    default:
        wire_fail(w, start, "field %d has wire type %u, which does not exist", e->field, type);
    }
    if (e->length > end - w->at)
        wire_fail(w, start, "field %d says it has %" PRIu64 " bytes, but only %" PRIu64 " are left",
                  e->field, e->length, end - w->at);
    e->at = w->at;
    w->at += e->length;
}

static uint64_t little_endian(const uint8_t *p, uint64_t n)
{
    uint64_t x = 0;
    for (unsigned i = 0; i < n; i++)
        x |= (uint64_t)p[i] << (8 * i);
    return x;
}

/* Does a field of this kind come as wire type `type`? */
static bool kind_fits(WireKind kind, unsigned type)
{
    switch (kind) {
    case WIRE_INT:
        return type == 0;
    case WIRE_INTS:
        return type == 0 || type == 2;
    case WIRE_F32:
        return type == 5;
    case WIRE_F32S:
        return type == 5 || type == 2;
    case WIRE_F64S:
        return type == 1 || type == 2;
    case WIRE_BYTES:
    case WIRE_MESSAGE:
        return type == 2;
    default:
        return true;
    }
}

static void enter(Wire *w, WireEvent *e, int child, uint64_t start)
{
    if (w->depth == WIRE_DEPTH)
        wire_fail(w, start, "messages are nested deeper than %d", WIRE_DEPTH);
    if (child == w->table->nesting && ++w->nesting > WIRE_NESTING)
        wire_fail(w, start, "graphs are nested deeper than %d", WIRE_NESTING);
    if (++w->messages > w->table->messages)
        fail_at(STATUS_MEMORY, (Loc){ .file = w->file->path, .byte = (int64_t)start, .node = -1 },
                NULL, "more than %" PRIu64 " messages in one file", w->table->messages);
    w->stack[w->depth++] = (WireFrame){ e->at, e->at + e->length, child, e->field };
    w->at = e->at;
    e->type = WIRE_ENTER;
    e->parent = e->message;
    e->message = child;
}

static WireEvent leave(Wire *w)
{
    const WireFrame f = w->stack[--w->depth];
    if (f.message == w->table->nesting)
        w->nesting--;
    return (WireEvent){ .type = WIRE_LEAVE,
                        .message = f.message,
                        .field = f.field,
                        .at = f.at,
                        .length = f.end - f.at,
                        .parent = w->stack[w->depth - 1].message };
}

/* Types 1 and 5 are numbers too; packed ones must be whole. */
static void finish_value(Wire *w, WireEvent *e, WireKind kind, unsigned type, uint64_t start)
{
    if (type == 0)
        return;
    if (type != 2) {
        e->value = little_endian(wire_view(w, e->at, e->length), e->length);
        return;
    }
    e->type = WIRE_RANGE;
    const unsigned width = kind == WIRE_F32S ? 4 : kind == WIRE_F64S ? 8 : 1;
    if (e->length % width)
        wire_fail(w, start, "field %d has %" PRIu64 " bytes, not a multiple of %u", e->field,
                  e->length, width);
}

WireEvent wire_next(Wire *w)
{
    for (;;) {
        const WireFrame *top = w->stack + w->depth - 1;
        const uint64_t start = w->at;
        if (start == top->end)
            return w->depth > 1 ? leave(w) : (WireEvent){ .type = WIRE_END };
        const uint64_t tag = wire_varint(w, &w->at, top->end), field = tag >> 3;
        const unsigned type = tag & 7;
        if (field == 0 || field > FIELD_NUMBERS)
            wire_fail(w, start, "field number %" PRIu64 " does not exist", field);
        WireEvent e = { .type = WIRE_NUMBER, .message = top->message, .field = (int)field };
        read_value(w, start, type, top->end, &e);
        const WireRow r = field < WIRE_FIELDS ? w->table->row[top->message][field] : (WireRow){ 0 };
        if (r.kind == WIRE_SKIP)
            continue;
        if (!kind_fits((WireKind)r.kind, type))
            wire_fail(w, start, "field %d has wire type %u, not that of its kind", e.field, type);
        if (r.kind == WIRE_MESSAGE)
            enter(w, &e, r.child, start);
        else
            finish_value(w, &e, (WireKind)r.kind, type, start);
        return e;
    }
}
