/* SPDX-License-Identifier: Apache-2.0
 * Attributes that an operator does not have: a misspelt one would silently be another network. */
#include <string.h>

#include "base/nearest.h"
#include "ops/ops.h"

/* The names of a row, ended by NULL. */
static const char **known_names(Arena *arena, const OpRow *row)
{
    const size_t most = strlen(row->attributes) / 2 + 2;
    const char **names = NEW_ARRAY(arena, const char *, most);
    const char *at = row->attributes;
    for (size_t n = 0, length; (length = strcspn(at, " ")) > 0; n++) {
        names[n] = arena_text(arena, at, length);
        at += length + strspn(at + length, " ");
    }
    return names;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static const char *advice(Arena *arena, const OpRow *row, const char *name,
                          const char *const *names)
{
    const char *meant = nearest(name, names);
    if (meant)
        return arena_printf(arena, "did you mean \"%s\"?", meant);
    if (!*names)
        return "it has none";
    return arena_printf(arena, "it has: %s", row->attributes);
}

void op_check_attributes(const Node *node)
{
    Arena *a = node->graph->arena;
    const ArenaMark mark = arena_mark(a);
    const char *const *names = node->n_attr ? known_names(a, node->op) : NULL;
    for (int i = 0; i < node->n_attr && strcmp(node->op->domain, "inlay") != 0;
         i++) {
        const char *name = node->attr[i].name;
        if (strncmp(name, "__", 2) != 0 && !is_one_of(name, names))
            error_at(STATUS_MALFORMED, node_loc(node),
                     advice(a, node->op, name, names),
                     "%s has no attribute \"%s\"", node->op->name, name);
    }
    arena_release(a, mark);
}
