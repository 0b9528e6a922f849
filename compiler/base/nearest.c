/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/diag.h"

/* Letters of a name that is compared; names that are listed. */
enum { LONGEST = 128, MOST_LISTED = 24 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, drop or replace: the table of all prefixes, a row at a time. */
static size_t distance(const char *from, size_t n, const char *to, size_t m)
{
    size_t row[LONGEST + 1];
    for (size_t k = 0; k <= m; k++)
        row[k] = k;
    for (size_t i = 0; i < n; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < m; k++) {
            const size_t replaced = corner + (from[i] != to[k]);
            corner = row[k + 1];
            row[k + 1] = least(replaced, least(row[k], row[k + 1]) + 1);
        }
    }
    return row[m];
}

/* What is written first counts as the whole. */
static size_t changes(const char *text, const char *name)
{
    const size_t given = strlen(text);
    const size_t length = strlen(name);
    const bool begins = given > 2 && !strncmp(text, name, given);
    return begins ? 1 : distance(text, given, name, length);
}

const char *nearest(const char *text, const char *const *names)
{
    const char *best = NULL;
    size_t fewest = SIZE_MAX;
    for (; *names && *text && strlen(text) <= LONGEST; names++) {
        const size_t length = strlen(*names);
        const size_t count =
            length <= LONGEST ? changes(text, *names) : SIZE_MAX;
        if (count <= 1 + length / 4 && count < length && count < fewest) {
            best = *names;
            fewest = count;
        }
    }
    return best;
}

static const char *listed(Arena *arena, const char *const *names)
{
    const char *text = *names ? "one of: " : "there is none";
    int count = 0;
    for (; *names && count < MOST_LISTED; names++)
        text = arena_printf(arena, "%s%s%s", text, count++ ? ", " : "", *names);
    return *names ? arena_printf(arena, "%s, ...", text) : text;
}

void fail_unknown(Arena *arena, const char *message, const char *text,
                  const char *const *names)
{
    const char *near = nearest(text, names);
    fail_at(STATUS_USAGE, LOC_NONE,
            near ? arena_printf(arena, "did you mean %s?", near)
                 : listed(arena, names),
            "%s \"%s\"", message, text);
}
