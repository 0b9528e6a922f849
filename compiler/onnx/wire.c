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
    GROUP_BEGINS = 3, /* wire types that protobuf-c does not know */
    GROUP_ENDS = 4,
};

void wire_fail(const Wire *wire, uint64_t at, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail_at(STATUS_MALFORMED,
            (Loc){ .file = wire->file->path, .byte = (int64_t)at, .node = -1 },
            wire->help, "%s", text);
}

/* How a single value of the field is written. ONNX has no fixed and no zigzag integers. */
static ProtobufCWireType wire_type(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_FLOAT:
        return PROTOBUF_C_WIRE_TYPE_32BIT;
    case PROTOBUF_C_TYPE_DOUBLE:
        return PROTOBUF_C_WIRE_TYPE_64BIT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    default:
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    }
}

/* The number of the message that is entered here, or -1. */
static int find_child(const WireSchema *schema,
                      const ProtobufCFieldDescriptor *field)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE)
        return -1;
    for (int i = 0; i < schema->messages; i++) {
        const WireMessage *message = schema->message + i;
        if (message->descriptor != field->descriptor)
            continue;
        if (message->only_as && strcmp(message->only_as, field->name))
            return -1;
        return i;
    }
    return -1;
}

static void index_message(Wire *wire, int message)
{
    const WireSchema *schema = wire->schema;
    const ProtobufCMessageDescriptor *descriptor =
        schema->message[message].descriptor;
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = descriptor->fields + i;
        assert(field->id < WIRE_FIELDS);
        wire->field[message][field->id] = (WireField){
            .descriptor = field,
            .child = find_child(schema, field),
            .type = wire_type(field),
        };
    }
}

static void index_fields(Wire *wire)
{
    assert(wire->schema->messages <= WIRE_MESSAGES);
    memset(wire->field, 0, sizeof wire->field);
    for (int i = 0; i < wire->schema->messages; i++)
        index_message(wire, i);
}

void wire_open(Wire *wire, File *file, const WireSchema *schema, int root,
               const char *help)
{
    wire->file = file;
    wire->schema = schema;
    wire->help = help;
    index_fields(wire);
    wire->at = 0;
    wire->nesting = 0;
    wire->messages = 0;
    wire->window_at = wire->window_length = 0;
    wire->stack[0] = (WireFrame){ .end = file->size, .message = root };
    wire->depth = 1;
}

static void fetch(Wire *wire, uint64_t at, uint64_t n)
{
    const bool jump = at < wire->window_at ||
                      at - wire->window_at > wire->window_length + JUMP;
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
    assert(n <= WIRE_VIEW && n <= wire->file->size &&
           at <= wire->file->size - n);
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
    const uint8_t *bytes = wire_view(wire, *at, n);
    uint64_t x = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i == VARINT_BYTES - 1 && bytes[i] > 1)
            break;
        x |= (uint64_t)(bytes[i] & 127) << (7 * i);
        if (bytes[i] < 128) {
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

/* The head of a field: where it starts, its number, how its value is written. */
typedef struct Tag {
    uint64_t start;
    int field;
    unsigned type;
} Tag;

static Tag read_tag(Wire *wire, uint64_t end)
{
    const uint64_t start = wire->at;
    const uint64_t tag = wire_varint(wire, &wire->at, end);
    const uint64_t field = tag >> 3;
    if (field == 0 || field > FIELD_NUMBERS)
        wire_fail(wire, start, "field number %" PRIu64 " does not exist",
                  field);
    return (Tag){ .start = start, .field = (int)field, .type = tag & 7 };
}

/* What follows the tag: a number, or the length of what lies there. */
static void read_value(Wire *wire, const Tag *tag, uint64_t end,
                       WireEvent *event)
{
    switch (tag->type) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        event->value = wire_varint(wire, &wire->at, end);
        break;
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        event->length = 8;
        break;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        event->length = wire_varint(wire, &wire->at, end);
        break;
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        event->length = 4;
        break;
    case GROUP_BEGINS:
    case GROUP_ENDS:
        wire_fail(wire, tag->start,
                  "field %d is a group, which ONNX does not use", tag->field);
    default:
        wire_fail(wire, tag->start,
                  "field %d has wire type %u, which does not exist", tag->field,
                  tag->type);
    }
    if (event->length > end - wire->at)
        wire_fail(wire, tag->start,
                  "field %d says it has %" PRIu64 " bytes, but only %" PRIu64
                  " are left",
                  tag->field, event->length, end - wire->at);
    event->at = wire->at;
    wire->at += event->length;
}

static uint64_t little_endian(const uint8_t *bytes, uint64_t n)
{
    uint64_t x = 0;
    for (unsigned i = 0; i < n; i++)
        x |= (uint64_t)bytes[i] << (8 * i);
    return x;
}

/* Lists of numbers come one by one, or packed. */
static void check_type(const Wire *wire, const Tag *tag, const WireField *field)
{
    const bool packed = field->descriptor->label == PROTOBUF_C_LABEL_REPEATED &&
                        tag->type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    if (tag->type != field->type && !packed)
        wire_fail(wire, tag->start,
                  "field %d has wire type %u, not that of its kind", tag->field,
                  tag->type);
}

static void check_budgets(Wire *wire, int child, uint64_t start)
{
    const WireSchema *schema = wire->schema;
    if (wire->depth == WIRE_DEPTH)
        wire_fail(wire, start, "messages are nested deeper than %d",
                  WIRE_DEPTH);
    if (child == schema->nesting && ++wire->nesting > WIRE_NESTING)
        wire_fail(wire, start, "graphs are nested deeper than %d",
                  WIRE_NESTING);
    if (++wire->messages > schema->most)
        fail_at(
            STATUS_MEMORY,
            (Loc){
                .file = wire->file->path, .byte = (int64_t)start, .node = -1 },
            NULL, "more than %" PRIu64 " messages in one file", schema->most);
}

static void enter(Wire *wire, WireEvent *event, int child)
{
    wire->stack[wire->depth++] = (WireFrame){
        .at = event->at,
        .end = event->at + event->length,
        .message = child,
        .field = event->field,
    };
    wire->at = event->at;
    event->type = WIRE_ENTER;
    event->parent = event->message;
    event->message = child;
}

static WireEvent leave(Wire *wire)
{
    const WireFrame frame = wire->stack[--wire->depth];
    if (frame.message == wire->schema->nesting)
        wire->nesting--;
    return (WireEvent){ .type = WIRE_LEAVE,
                        .message = frame.message,
                        .field = frame.field,
                        .at = frame.at,
                        .length = frame.end - frame.at,
                        .parent = wire->stack[wire->depth - 1].message };
}

/* Bytes of one number of a packed list, 1 where they vary. */
static unsigned packed_width(const ProtobufCFieldDescriptor *field)
{
    if (field->type == PROTOBUF_C_TYPE_FLOAT)
        return 4;
    return field->type == PROTOBUF_C_TYPE_DOUBLE ? 8 : 1;
}

/* Floats are numbers too; packed ones must be whole. */
static void finish_value(Wire *wire, const Tag *tag, WireEvent *event)
{
    if (tag->type == PROTOBUF_C_WIRE_TYPE_VARINT)
        return;
    if (tag->type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) {
        event->value = little_endian(wire_view(wire, event->at, event->length),
                                     event->length);
        return;
    }
    event->type = WIRE_RANGE;
    const unsigned width = packed_width(event->field);
    if (event->length % width)
        wire_fail(wire, tag->start,
                  "field %d has %" PRIu64 " bytes, not a multiple of %u",
                  tag->field, event->length, width);
}

/* Reads the next field; false: it is in no schema, and is stepped over. */
static bool read_field(Wire *wire, const WireFrame *top, WireEvent *event)
{
    const Tag tag = read_tag(wire, top->end);
    read_value(wire, &tag, top->end, event);
    if (tag.field >= WIRE_FIELDS)
        return false;
    const WireField *field = wire->field[top->message] + tag.field;
    if (!field->descriptor)
        return false;
    check_type(wire, &tag, field);
    event->field = field->descriptor;
    if (field->child < 0) {
        finish_value(wire, &tag, event);
        return true;
    }
    check_budgets(wire, field->child, tag.start);
    enter(wire, event, field->child);
    return true;
}

WireEvent wire_next(Wire *wire)
{
    for (;;) {
        const WireFrame *top = wire->stack + wire->depth - 1;
        WireEvent event = { .type = WIRE_NUMBER, .message = top->message };
        if (wire->at < top->end) {
            if (read_field(wire, top, &event))
                return event;
            continue;
        }
        if (wire->depth > 1)
            return leave(wire);
        return (WireEvent){ .type = WIRE_END };
    }
}
