/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "ir/family.h"
#include "passes/passes.h"
#include "pipeline/dim_terms.h"
#include "pipeline/numbers.h"
#include "pipeline/preprocess.h"
#include "pipeline/streams.h"
#include "pipeline/values.h"

void value_pair(Arena *arena, const char *value)
{
    char *name;
    (void)value_divide(arena, value, &name);
}

void value_shape(Arena *arena, const char *value)
{
    char *name;
    const bool named = strchr(value, '=') != NULL;
    const char *dims = named ? value_divide(arena, value, &name) : value;
    const char *names[MAX_RANK];
    (void)value_read_shape(arena, dims, names);
}

void value_preprocess(Arena *arena, const char *value)
{
    (void)preprocess_read(arena, value);
}

void value_stream(Arena *arena, const char *value)
{
    (void)stream_read(arena, value);
}

void value_batch(Arena *arena, const char *value)
{
    (void)arena;
    if (!value_read_dimension(value))
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--batch: there is no batch of 0");
}

void value_top(Arena *arena, const char *value)
{
    (void)arena;
    (void)value_read_top(value);
}

void value_count(Arena *arena, const char *value)
{
    (void)arena;
    (void)value_read_count(value);
}

/* Of other dimensions, which the model has to say. */
static bool may_be_sum(const char *name, const char *text)
{
    const unsigned char first = (unsigned char)*text;
    if (isdigit(first))
        return dim_is_terms(text);
    return (isalpha(first) || first == '_') && strcmp(name, text) != 0;
}

void value_dim(Arena *arena, const char *value)
{
    char *name;
    LengthValue bounds;
    if (value_is_length(arena, value, &name, &bounds))
        return;
    const char *size = value_divide(arena, value, &name);
    if (!may_be_sum(name, size))
        (void)value_read_dimension(size);
}

void value_threads(Arena *arena, const char *value)
{
    (void)arena;
    (void)value_read_threads(value);
}

void value_effort(Arena *arena, const char *value)
{
    (void)arena;
    (void)value_read_effort(value);
}

int64_t value_read_top(const char *text)
{
    int64_t top;
    const char *end = number_read(text, INT32_MAX, &top);
    if (!end || *end || !top)
        fail_at(STATUS_USAGE, LOC_NONE, "how many to print: --top 5",
                "--top: \"%s\" is no number from 1 on", text);
    return top;
}

uint32_t value_read_count(const char *text)
{
    int64_t number;
    const char *end = number_read(text, UINT32_MAX, &number);
    if (!end || *end)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "\"%s\" is no number below 2^32",
                text);
    return (uint32_t)number;
}

double value_read_tolerance(const char *text)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0) || !strchr("0123456789.", *text))
        fail_at(STATUS_USAGE, LOC_NONE, "write it as 0.001 or 1e-3",
                "\"%s\" is no tolerance", text);
    return value;
}

void value_tolerance(Arena *arena, const char *value)
{
    (void)arena;
    (void)value_read_tolerance(value);
}

static const PassRow *find_pass(Arena *arena, const char *name)
{
    int count;
    const PassRow *row = pass_rows(&count);
    const char **names = NEW_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        if (!strcmp(row[i].name, name))
            return row + i;
        names[i] = row[i].name;
    }
    fail_unknown(arena, "there is no pass", name, names);
}

void value_pass(Arena *arena, const char *value)
{
    (void)find_pass(arena, value);
}

void value_optional_pass(Arena *arena, const char *value)
{
    if (find_pass(arena, value)->required)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--without %s: no model compiles without this pass", value);
}

void value_target(Arena *arena, const char *value)
{
    if (!family_of_target(value))
        fail_unknown(arena, "there is no target", value, target_names);
}
