/* SPDX-License-Identifier: Apache-2.0
 * Attributes that an operator does not have: a misspelt one would silently be another network. */
#include <string.h>

#include "ops/ops.h"

enum { LONGEST = 32 }; /* bytes of a name that are compared */

/* Edits that make a of b: bytes put in, left out or changed. */
static int edits(const char *a, size_t n, const char *b, size_t m)
{
    int row[LONGEST + 1];
    n = n < LONGEST ? n : LONGEST;
    m = m < LONGEST ? m : LONGEST;
    for (size_t k = 0; k <= m; k++)
        row[k] = (int)k;
    for (size_t i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t k = 1; k <= m; k++) {
            const int changed = corner + (a[i - 1] != b[k - 1]);
            const int least = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
            corner = row[k];
            row[k] = changed < least ? changed : least;
        }
    }
    return row[m];
}

/* The next name of the list: its bytes, and where the rest begins; 0: none. */
static size_t next_name(const char **list, const char **name)
{
    *name = *list + strspn(*list, " ");
    const size_t n = strcspn(*name, " ");
    *list = *name + n;
    return n;
}

static bool has_attribute(const OpRow *r, const char *name)
{
    const char *list = r->attributes, *known;
    for (size_t n; (n = next_name(&list, &known)) > 0;)
        if (strlen(name) == n && !memcmp(name, known, n))
            return true;
    return false;
}

/* "did you mean ..." or that there is none. */
static const char *nearest(Arena *a, const OpRow *r, const char *name)
{
    const char *list = r->attributes, *known, *best = NULL;
    size_t best_n = 0;
    int least = 0;
    for (size_t n; (n = next_name(&list, &known)) > 0;) {
        const int d = edits(name, strlen(name), known, n);
        if (best && d >= least)
            continue;
        best = known;
        best_n = n;
        least = d;
    }
    return best ? arena_printf(a, "the nearest that it has is \"%.*s\"", (int)best_n, best)
                : "it has none";
}

void op_check_attributes(const Node *n)
{
    if (!strcmp(n->op->domain, "inlay"))
        return;
    for (int i = 0; i < n->n_attr; i++) {
        const char *name = n->attr[i].name;
        if (strncmp(name, "__", 2) && !has_attribute(n->op, name))
            error_at(STATUS_MALFORMED, node_loc(n), nearest(n->graph->arena, n->op, name),
                     "%s has no attribute \"%s\"", n->op->name, name);
    }
}
