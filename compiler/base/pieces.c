/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pieces.h"

#include <stdarg.h>
#include <string.h>

#include "base/diag.h"

enum { ROOM = 64 * 1024, PART = 4096 };

void pieces_flush(Pieces *p)
{
    if (!p->file)
        p->file = file_temporary(p->arena);
    file_write(p->file, p->file->size, p->buffer, p->n);
    p->n = 0;
}

void pieces_put(Pieces *p, const char *text, size_t n)
{
    if (!p->buffer)
        p->buffer = arena_buffer(p->arena, ROOM);
    while (n) {
        if (p->n == ROOM)
            pieces_flush(p);
        const size_t part = n < ROOM - p->n ? n : ROOM - p->n;
        memcpy(p->buffer + p->n, text, part);
        p->n += part;
        text += part;
        n -= part;
    }
}

void pieces_print(Pieces *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(p->arena, format, args);
    va_end(args);
    pieces_put(p, text, strlen(text));
}

static void put(void *to, const char *text, size_t n)
{
    pieces_put(to, text, n);
}

Sink pieces_sink(Pieces *p)
{
    return (Sink){ put, p };
}

static void send(const char *text, size_t n, FILE *to)
{
    if (n && fwrite(text, 1, n, to) != n)
        fail_at(STATUS_IO, LOC_NONE, NULL, "cannot write to standard output");
}

void pieces_send(const Pieces *p, FILE *to)
{
    char part[PART];
    const uint64_t size = p->file ? p->file->size : 0;
    for (uint64_t at = 0; at < size;) {
        const size_t n = size - at < PART ? (size_t)(size - at) : PART;
        file_read(p->file, at, part, n);
        send(part, n, to);
        at += n;
    }
    send(p->buffer, p->n, to);
    if (fflush(to) || ferror(to))
        fail_at(STATUS_IO, LOC_NONE, NULL, "cannot write to standard output");
}
