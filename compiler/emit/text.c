/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

Text text_new(Arena *a)
{
    return (Text){ .arena = a };
}

void text_add(Text *t, const char *s, size_t n)
{
    if (t->n + n + 1 > t->room) {
        const size_t room = (t->n + n + 1) * 2;
        t->at = arena_grow(t->arena, t->at, t->room, room);
        t->room = room;
    }
    memcpy(t->at + t->n, s, n);
    t->n += n;
    t->at[t->n] = 0;
}

void text_put(Text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

void text_print(Text *t, const char *format, ...)
{
    char line[512];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof line)
        text_add(t, line, (size_t)n);
    else
        text_put(t, arena_vprintf(t->arena, format, again));
    va_end(again);
}

void text_cut(Text *t, const char *s, int most)
{
    int n = 0;
    for (; *s && n < most; s++, n++) {
        const bool plain =
            *s >= ' ' && *s < 127 && *s != '\\' && *s != '?' && *s != '*' && *s != '/';
        text_add(t, plain ? s : *s == '/' ? "|" : "_", 1);
    }
    if (*s)
        text_put(t, "...");
}

void text_comment(Text *t, const char *s)
{
    text_cut(t, s, 80);
}

const char *text_upper(Arena *a, const char *s)
{
    char *u = arena_text(a, s, strlen(s));
    for (char *c = u; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return u;
}
