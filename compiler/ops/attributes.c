/* SPDX-License-Identifier: Apache-2.0
 * Attributes that an operator does not have: a misspelt one would silently be another network. */
#include <string.h>

#include "base/nearest.h"
#include "ops/ops.h"

/* The names of a row, ended by NULL. */
static const char **known_names(Arena *a, const OpRow *r)
{
    const size_t most = strlen(r->attributes) / 2 + 2;
    const char **names = NEW_ARRAY(a, const char *, most), *at = r->attributes;
    for (size_t n = 0, length; (length = strcspn(at, " ")) > 0; n++) {
        names[n] = arena_text(a, at, length);
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

static const char *advice(Arena *a, const OpRow *r, const char *name, const char *const *names)
{
    const char *meant = nearest(name, names);
    if (meant)
        return arena_printf(a, "did you mean \"%s\"?", meant);
    return *names ? arena_printf(a, "it has: %s", r->attributes) : "it has none";
}

void op_check_attributes(const Node *n)
{
    Arena *a = n->graph->arena;
    const ArenaMark mark = arena_mark(a);
    const char *const *names = n->n_attr ? known_names(a, n->op) : NULL;
    for (int i = 0; i < n->n_attr && strcmp(n->op->domain, "inlay") != 0; i++) {
        const char *name = n->attr[i].name;
        if (strncmp(name, "__", 2) != 0 && !is_one_of(name, names))
            error_at(STATUS_MALFORMED, node_loc(n), advice(a, n->op, name, names),
                     "%s has no attribute \"%s\"", n->op->name, name);
    }
    arena_release(a, mark);
}
