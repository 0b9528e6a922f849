/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values.h"

#include <string.h>

#include "cli/nearest.h"
#include "cli/numbers.h"
#include "emit/elf.h"
#include "passes/passes.h"

const char *value_divide(Arena *arena, const char *text, char **name)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !equals[1])
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "\"%s\": expected NAME=VALUE", text);
    *name = arena_text(arena, text, (size_t)(equals - text));
    return equals + 1;
}

void value_pair(Arena *arena, const char *value)
{
    char *name;
    (void)value_divide(arena, value, &name);
}

/* Returns what follows it. */
static const char *read_dimension(const char *text, int64_t *dimension)
{
    const char *end = number_read(text, INT32_MAX, dimension);
    if (!end)
        fail_at(STATUS_USAGE, LOC_NONE, "a number from 0 to 2147483647", "\"%s\" is no dimension",
                text);
    return end;
}

int64_t value_read_dimension(const char *text)
{
    int64_t dimension;
    if (*read_dimension(text, &dimension))
        fail_at(STATUS_USAGE, LOC_NONE, "one number, like --dim T=40", "\"%s\" is no dimension",
                text);
    return dimension;
}

Shape value_read_shape(const char *text)
{
    Shape shape = shape_scalar();
    if (!strcmp(text, "scalar"))
        return shape;
    for (const char *at = text;; at++) {
        if (shape.rank == MAX_RANK)
            fail_at(STATUS_UNSUPPORTED, LOC_NONE, NULL, "--shape: more than %d dimensions",
                    MAX_RANK);
        at = read_dimension(at, &shape.dim[shape.rank++]);
        if (!*at)
            return shape;
        if (*at != 'x')
            fail_at(STATUS_USAGE, LOC_NONE, "write it as 1x3x224x224", "cannot read shape \"%s\"",
                    text);
    }
}

void value_shape(Arena *arena, const char *value)
{
    char *name;
    (void)value_read_shape(value_divide(arena, value, &name));
}

void value_dim(Arena *arena, const char *value)
{
    char *name;
    (void)value_read_dimension(value_divide(arena, value, &name));
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
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--without %s: no model compiles without this pass",
                value);
}

void value_target(Arena *arena, const char *value)
{
    if (!elf_machine(value))
        fail_unknown(arena, "there is no target", value, elf_targets);
}
