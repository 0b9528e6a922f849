/* SPDX-License-Identifier: Apache-2.0
 * Iterative pull scanner over protobuf: knows bytes and a table of messages, not
 * what they mean. One event a call. Bytes of a field are never read here, only
 * stepped over, so payloads of any size cost nothing; wire_view() shows what the
 * caller wants to see. Depth, nesting of graphs and the number of messages are
 * bounded, because no file can be trusted. Errors end in fail_at() with 65. */
#ifndef INLAY_ONNX_WIRE_H
#define INLAY_ONNX_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/io.h"

typedef enum WireKind {
    WIRE_SKIP, /* fields nobody needs */
    WIRE_INT,
    WIRE_INTS, /* varints; the plural kinds come one by one or packed */
    WIRE_F32,
    WIRE_F32S,
    WIRE_F64S,
    WIRE_BYTES,
    WIRE_MESSAGE,
} WireKind;

typedef struct WireRow {
    uint8_t kind, child; /* child: the message of WIRE_MESSAGE */
} WireRow;

enum {
    WIRE_FIELDS = 32,  /* field numbers in the table; greater ones are skipped */
    WIRE_DEPTH = 100,  /* messages inside one another */
    WIRE_NESTING = 32, /* messages of WireTable.nesting inside one another */
    WIRE_VIEW = 16384, /* most bytes of one view */
    WIRE_AHEAD = 4096, /* most bytes read beyond what is asked for */
};

typedef struct WireTable {
    const WireRow (*row)[WIRE_FIELDS]; /* row[message][field] */
    int nesting;                       /* the message whose nesting is bounded */
    uint64_t messages;                 /* most messages in a file */
} WireTable;

typedef enum WireEventType {
    WIRE_ENTER,
    WIRE_LEAVE,  /* of `message`, which is `field` of `parent` */
    WIRE_NUMBER, /* a varint in `value`; float and double as their bits */
    WIRE_RANGE,  /* bytes, or packed numbers: [at, at + length) */
    WIRE_END,
} WireEventType;

typedef struct WireEvent {
    WireEventType type;
    int message, field, parent; /* message: the one that holds the field */
    uint64_t at, length, value; /* at: in the file */
} WireEvent;

typedef struct WireFrame {
    uint64_t at, end;
    int message, field;
} WireFrame;

typedef struct Wire {
    File *file;
    const WireTable *table;
    const char *help; /* printed with errors */
    uint64_t at;
    int depth, nesting;
    uint64_t messages;
    WireFrame stack[WIRE_DEPTH];
    uint64_t window_at, window_length;
    uint8_t window[WIRE_VIEW];
} Wire;

/* The whole file is one message `root`. */
void wire_open(Wire *wire, File *file, const WireTable *table, int root, const char *help);
WireEvent wire_next(Wire *wire);
/* Bytes [at, at + n) of the file, n <= WIRE_VIEW; valid until the next call of any function here.
 */
const uint8_t *wire_view(Wire *wire, uint64_t at, uint64_t n);
/* The varint at *at, which moves behind it; it must end before `end`. */
uint64_t wire_varint(Wire *wire, uint64_t *at, uint64_t end);
_Noreturn void wire_fail(const Wire *wire, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
