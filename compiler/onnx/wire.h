/* SPDX-License-Identifier: Apache-2.0
 * Iterative pull scanner over protobuf: knows bytes and protobuf-c's descriptors
 * of messages, not what they mean. One event a call. Bytes of a field are never read here, only
 * stepped over, so payloads of any size cost nothing; wire_view() shows what the
 * caller asks to see. Depth, nesting of graphs and the number of messages are
 * bounded, because no file can be trusted. Errors end in fail_at() with 65. */
#ifndef INLAY_ONNX_WIRE_H
#define INLAY_ONNX_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "base/io.h"

enum {
    WIRE_MESSAGES = 24, /* most messages of a schema */
    WIRE_FIELDS =
        32, /* field numbers that it may use; greater ones are stepped over */
    WIRE_DEPTH = 100,  /* messages inside one another */
    WIRE_NESTING = 32, /* messages WireSchema.nesting inside one another */
    WIRE_VIEW = 16384, /* most bytes of one view */
    WIRE_AHEAD = 4096, /* most bytes read beyond what is asked for */
};

/* A message that the scanner enters. Fields of all other messages are ranges of bytes. */
typedef struct WireMessage {
    const ProtobufCMessageDescriptor *descriptor;
    const char *only_as; /* the one field that is entered; NULL: each */
} WireMessage;

typedef struct WireSchema {
    const WireMessage *message;
    int messages;
    int nesting;   /* the message whose nesting is bounded */
    uint64_t most; /* messages in a file */
} WireSchema;

typedef enum WireEventType {
    WIRE_ENTER,
    WIRE_LEAVE,  /* of `message`, which is `field` of `parent` */
    WIRE_NUMBER, /* a varint in `value`; float and double as their bits */
    WIRE_RANGE,  /* bytes, or packed numbers: [at, at + length) */
    WIRE_END,
} WireEventType;

typedef struct WireEvent {
    WireEventType type;
    int message; /* by its number in the schema: the one that holds the field */
    int parent;
    const ProtobufCFieldDescriptor *field;
    uint64_t at, length, value; /* at: in the file */
} WireEvent;

/* A field as the scanner looks it up, by message and number. */
typedef struct WireField {
    const ProtobufCFieldDescriptor *descriptor; /* NULL: there is none */
    int child;              /* the message that is entered; -1: it is not */
    ProtobufCWireType type; /* of a single value */
} WireField;

typedef struct WireFrame {
    uint64_t at, end;
    int message;
    const ProtobufCFieldDescriptor *field; /* of the message around it */
} WireFrame;

typedef struct Wire {
    File *file;
    const WireSchema *schema;
    const char *help; /* printed with errors */
    uint64_t at;
    int depth, nesting;
    uint64_t messages;
    WireFrame stack[WIRE_DEPTH];
    WireField field[WIRE_MESSAGES][WIRE_FIELDS];
    uint64_t window_at, window_length;
    uint8_t window[WIRE_VIEW];
} Wire;

/* The whole file is one message `root`. */
void wire_open(Wire *wire, File *file, const WireSchema *schema, int root,
               const char *help);
WireEvent wire_next(Wire *wire);
/* Bytes [at, at + n) of the file, n <= WIRE_VIEW; valid until the next call of any function here.
 */
const uint8_t *wire_view(Wire *wire, uint64_t at, uint64_t n);
/* The varint at *at, which moves behind it; it must end before `end`. */
uint64_t wire_varint(Wire *wire, uint64_t *at, uint64_t end);
_Noreturn void wire_fail(const Wire *wire, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
