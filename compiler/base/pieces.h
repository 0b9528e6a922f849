/* SPDX-License-Identifier: Apache-2.0
 * Text that is made in short pieces: a buffer on its way to a file. */
#ifndef INLAY_BASE_PIECES_H
#define INLAY_BASE_PIECES_H

#include <stdio.h>

#include "base/io.h"

/* Takes a text piece by piece. */
typedef struct Sink {
    void (*put)(void *to, const char *text, size_t n);
    void *to;
} Sink;

typedef struct Pieces {
    Arena *arena;
    File *file;   /* NULL: a temporary one, once the buffer is full */
    char *buffer; /* NULL: nothing came yet */
    size_t n;     /* bytes in the buffer */
} Pieces;

void pieces_put(Pieces *pieces, const char *text, size_t n);
void pieces_print(Pieces *pieces, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
Sink pieces_sink(Pieces *pieces);
/* What the buffer holds goes to the file. */
void pieces_flush(Pieces *pieces);
/* Hands on all of it, which need not be in a file. */
void pieces_pass(const Pieces *pieces, Sink to);
/* Prints all of it, which need not be in a file. Fails with 74 where it cannot be written. */
void pieces_send(const Pieces *pieces, FILE *to);

#endif
