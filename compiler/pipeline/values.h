/* SPDX-License-Identifier: Apache-2.0
 * Values of options. What is malformed ends with 64. */
#ifndef INLAY_PIPELINE_VALUES_H
#define INLAY_PIPELINE_VALUES_H

#include "emit/text.h"
#include "ir/graph.h"
#include "pipeline/options.h"

/* "NAME=VALUE": the last '=' divides, as names may hold one. Returns the value. */
const char *value_divide(Arena *arena, const char *text, char **name);
/* A word as a shell takes it: in quotes where it has letters that mean something there. */
const char *value_shell_word(Arena *arena, const char *word);
/* The same behind a blank. */
void value_put_word(Text *text, const char *word);
/* The command line as it was typed. */
void value_put_command(Text *text, const Options *options);
/* 1x3x224x224, or "scalar"; N: open; name[] gets other capitals (HEIGHT), NULL where none is. */
Shape value_read_shape(Arena *arena, const char *text,
                       const char *name[MAX_RANK]);
/* The same again as text, with N for what is open. */
const char *value_shape_text(Arena *arena, const Shape *shape);
int64_t value_read_dimension(const char *text);
/* The bounds of a length: T=1..64. */
typedef struct LengthValue {
    int32_t least, most;
} LengthValue;
/* Is it one, and no single number? */
bool value_is_length(Arena *arena, const char *text, char **symbol,
                     LengthValue *value);
/* --effort in tenths of the usual work: 0 is one, NULL as 1. */
int64_t value_read_effort(const char *text);
/* --threads N[:WORK]. */
typedef struct ThreadsValue {
    int32_t threads;
    int64_t work; /* multiplications that are worth a call of all threads */
} ThreadsValue;
ThreadsValue value_read_threads(const char *text);

#endif
