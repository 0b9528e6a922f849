/* SPDX-License-Identifier: Apache-2.0
 * Text under construction, and the only way model text enters a C file. */
#ifndef INLAY_EMIT_TEXT_H
#define INLAY_EMIT_TEXT_H

#include "base/arena.h"

typedef struct Text {
    Arena *arena;
    char *at;
    size_t n, room;
} Text;

Text text_new(Arena *arena);
void text_add(Text *text, const char *s, size_t n);
void text_put(Text *text, const char *s);
/* s in capital letters. */
const char *text_upper(Arena *arena, const char *s);
void text_print(Text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Model text inside a comment: printable ASCII only, and nothing that could end the comment or
 * begin another (no asterisk), splice a line or begin a trigraph. At most 80 characters. */
void text_comment(Text *text, const char *s);
/* The same, at most so many characters, and three points where there are more. */
void text_cut(Text *text, const char *s, int most);
/* A string literal with exactly these bytes. */
void text_literal(Text *text, const char *s);

#endif
