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

void text_add(Text *text, const char *s, size_t n)
{
    if (text->n + n + 1 > text->room) {
        const size_t room = (text->n + n + 1) * 2;
        text->at = arena_grow(text->arena, text->at, text->room, room);
        text->room = room;
    }
    memcpy(text->at + text->n, s, n);
    text->n += n;
    text->at[text->n] = 0;
}

void text_put(Text *text, const char *s)
{
    text_add(text, s, strlen(s));
}

void text_print(Text *text, const char *format, ...)
{
    char line[512];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof line)
        text_add(text, line, (size_t)n);
    else
        text_put(text, arena_vprintf(text->arena, format, again));
    va_end(again);
}

void text_cut(Text *text, const char *s, int most)
{
    int n = 0;
    for (; *s && n < most; s++, n++) {
        const bool printable = *s >= ' ' && *s < 127;
        text_add(text, printable && !strchr("\\?*", *s) ? s : "_", 1);
    }
    if (*s)
        text_put(text, "...");
}

void text_comment(Text *text, const char *s)
{
    text_cut(text, s, 80);
}

void text_literal(Text *text, const char *s)
{
    text_put(text, "\"");
    for (; *s; s++) {
        const unsigned char letter = (unsigned char)*s;
        if (letter < ' ' || letter >= 127 || strchr("\"\\?", *s))
            text_print(text, "\\%03o", letter);
        else
            text_add(text, s, 1);
    }
    text_put(text, "\"");
}

const char *text_upper(Arena *arena, const char *s)
{
    char *u = arena_text(arena, s, strlen(s));
    for (char *c = u; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return u;
}
