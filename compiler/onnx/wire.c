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

void wire_fail(const Wire *wire, uint64_t at, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail_at(STATUS_MALFORMED, (Loc){ .file = wire->file->path, .byte = (int64_t)at, .node = -1 },
            wire->help, "%s", text);
}

void wire_open(Wire *wire, File *file, const WireTable *table, int root, const char *help)
{
    wire->file = file;
    wire->table = table;
    wire->help = help;
    wire->at = 0;
    wire->nesting = 0;
    wire->messages = 0;
    wire->window_at = wire->window_length = 0;
    wire->stack[0] = (WireFrame){ .end = file->size, .message = root };
    wire->depth = 1;
}

static void fetch(Wire *wire, uint64_t at, uint64_t n)
{
    const bool jump = at < wire->window_at || at - wire->window_at > wire->window_length + JUMP;
    const uint64_t ahead = jump ? JUMP_AHEAD : WIRE_AHEAD;
    const uint64_t left = wire->file->size - at;
    uint64_t want = n > ahead ? n : ahead;
    want = want < left ? want : left;
    wire->window_length = 0; /* nothing is shown should the read fail */
    file_read(wire->file, at, wire->window, (size_t)want);
    wire->window_at = at;
    wire->window_length = want;
}

const uint8_t *wire_view(Wire *wire, uint64_t at, uint64_t n)
{
    assert(n <= WIRE_VIEW && n <= wire->file->size && at <= wire->file->size - n);
    if (wire->file->whole)
        return wire->file->whole + at;
    if (at < wire->window_at || at + n > wire->window_at + wire->window_length)
        fetch(wire, at, n);
    return wire->window + (at - wire->window_at);
}

static uint64_t long_varint(Wire *wire, uint64_t *at, uint64_t end)
{
    const uint64_t left = end - *at;
    const uint64_t n = left < VARINT_BYTES ? left : VARINT_BYTES;
    const uint8_t *p = wire_view(wire, *at, n);
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
    wire_fail(wire, *at,
              n == VARINT_BYTES ? "a number of more than 64 bits"
                                : "the data ends inside a number");
}

/* Most numbers are a single byte that is in sight. */
uint64_t wire_varint(Wire *wire, uint64_t *at, uint64_t end)
{
    const uint64_t in = *at - wire->window_at;
    if (*at < end && in < wire->window_length && wire->window[in] < 128) {
        ++*at;
        return wire->window[in];
    }
    return long_varint(wire, at, end);
}

/* What follows the tag at wire->at: a number, or the length of what lies there. */
static void read_value(Wire *wire, uint64_t start, unsigned type, uint64_t end, WireEvent *event)
{
    switch (type) {
    case 0:
        event->value = wire_varint(wire, &wire->at, end);
        break;
    case 1:
        event->length = 8;
        break;
    case 2:
        event->length = wire_varint(wire, &wire->at, end);
        break;
    case 5:
        event->length = 4;
        break;
    case 3:
    case 4:
        wire_fail(wire, start, "field %d is a group, which ONNX does not use", event->field);
    default:
        wire_fail(wire, start, "field %d has wire type %u, which does not exist", event->field,
                  type);
    }
    if (event->length > end - wire->at)
        wire_fail(wire, start,
                  "field %d says it has %" PRIu64 " bytes, but only %" PRIu64 " are left",
                  event->field, event->length, end - wire->at);
    event->at = wire->at;
    wire->at += event->length;
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

static void enter(Wire *wire, WireEvent *event, int child, uint64_t start)
{
    if (wire->depth == WIRE_DEPTH)
        wire_fail(wire, start, "messages are nested deeper than %d", WIRE_DEPTH);
    if (child == wire->table->nesting && ++wire->nesting > WIRE_NESTING)
        wire_fail(wire, start, "graphs are nested deeper than %d", WIRE_NESTING);
    if (++wire->messages > wire->table->messages)
        fail_at(STATUS_MEMORY,
                (Loc){ .file = wire->file->path, .byte = (int64_t)start, .node = -1 }, NULL,
                "more than %" PRIu64 " messages in one file", wire->table->messages);
    wire->stack[wire->depth++] =
        (WireFrame){ event->at, event->at + event->length, child, event->field };
    wire->at = event->at;
    event->type = WIRE_ENTER;
    event->parent = event->message;
    event->message = child;
}

static WireEvent leave(Wire *wire)
{
    const WireFrame frame = wire->stack[--wire->depth];
    if (frame.message == wire->table->nesting)
        wire->nesting--;
    return (WireEvent){ .type = WIRE_LEAVE,
                        .message = frame.message,
                        .field = frame.field,
                        .at = frame.at,
                        .length = frame.end - frame.at,
                        .parent = wire->stack[wire->depth - 1].message };
}

/* Types 1 and 5 are numbers too; packed ones must be whole. */
static void finish_value(Wire *wire, WireEvent *event, WireKind kind, unsigned type, uint64_t start)
{
    if (type == 0)
        return;
    if (type != 2) {
        event->value = little_endian(wire_view(wire, event->at, event->length), event->length);
        return;
    }
    event->type = WIRE_RANGE;
    const unsigned width = kind == WIRE_F32S ? 4 : kind == WIRE_F64S ? 8 : 1;
    if (event->length % width)
        wire_fail(wire, start, "field %d has %" PRIu64 " bytes, not a multiple of %u", event->field,
                  event->length, width);
}

WireEvent wire_next(Wire *wire)
{
    for (;;) {
        const WireFrame *top = wire->stack + wire->depth - 1;
        const uint64_t start = wire->at;
        if (start == top->end)
            return wire->depth > 1 ? leave(wire) : (WireEvent){ .type = WIRE_END };
        const uint64_t tag = wire_varint(wire, &wire->at, top->end);
        const uint64_t field = tag >> 3;
        const unsigned type = tag & 7;
        if (field == 0 || field > FIELD_NUMBERS)
            wire_fail(wire, start, "field number %" PRIu64 " does not exist", field);
        WireEvent event = { .type = WIRE_NUMBER, .message = top->message, .field = (int)field };
        read_value(wire, start, type, top->end, &event);
        const WireRow r =
            field < WIRE_FIELDS ? wire->table->row[top->message][field] : (WireRow){ 0 };
        if (r.kind == WIRE_SKIP)
            continue;
        if (!kind_fits((WireKind)r.kind, type))
            wire_fail(wire, start, "field %d has wire type %u, not that of its kind", event.field,
                      type);
        if (r.kind == WIRE_MESSAGE)
            enter(wire, &event, r.child, start);
        else
            finish_value(wire, &event, (WireKind)r.kind, type, start);
        return event;
    }
}
