/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pieces.h"

#include <stdarg.h>
#include <string.h>

#include "base/diag.h"

enum { ROOM = 64 * 1024, PART = 4096 };

void pieces_flush(Pieces *pieces)
{
    if (!pieces->file)
        pieces->file = file_temporary(pieces->arena);
    file_write(pieces->file, pieces->file->size, pieces->buffer, pieces->n);
    pieces->n = 0;
}

void pieces_put(Pieces *pieces, const char *text, size_t n)
{
    if (!pieces->buffer)
        pieces->buffer = arena_buffer(pieces->arena, ROOM);
    while (n) {
        if (pieces->n == ROOM)
            pieces_flush(pieces);
        const size_t part = n < ROOM - pieces->n ? n : ROOM - pieces->n;
        memcpy(pieces->buffer + pieces->n, text, part);
        pieces->n += part;
        text += part;
        n -= part;
    }
}

void pieces_print(Pieces *pieces, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(pieces->arena, format, args);
    va_end(args);
    pieces_put(pieces, text, strlen(text));
}

static void put(void *to, const char *text, size_t n)
{
    pieces_put(to, text, n);
}

Sink pieces_sink(Pieces *pieces)
{
    return (Sink){ put, pieces };
}

void pieces_pass(const Pieces *pieces, Sink to)
{
    char part[PART];
    const uint64_t size = pieces->file ? pieces->file->size : 0;
    for (uint64_t at = 0; at < size;) {
        const size_t n = size - at < PART ? (size_t)(size - at) : PART;
        file_read(pieces->file, at, part, n);
        to.put(to.to, part, n);
        at += n;
    }
    if (pieces->n)
        to.put(to.to, pieces->buffer, pieces->n);
}

static void send(void *to, const char *text, size_t n)
{
    if (fwrite(text, 1, n, to) != n)
        fail_at(STATUS_IO, LOC_NONE, NULL, "cannot write to standard output");
}

void pieces_send(const Pieces *pieces, FILE *to)
{
    pieces_pass(pieces, (Sink){ send, to });
    if (fflush(to) || ferror(to))
        fail_at(STATUS_IO, LOC_NONE, NULL, "cannot write to standard output");
}
