/* SPDX-License-Identifier: Apache-2.0
 * The page of two compiles side by side: one HTML file without a script (templates/diff.html). */
#ifndef INLAY_EMIT_HTML_DIFF_H
#define INLAY_EMIT_HTML_DIFF_H

#include "base/vec.h"
#include "emit/text.h"

/* A figure of one name in both; 0 where it is not. */
typedef struct Change {
    const char *name; /* text of the model, not escaped */
    int64_t before, after;
} Change;

typedef VEC(Change) ChangeList;

/* One of the two. */
typedef struct DiffSide {
    const char *name;  /* of the model */
    VEC(int64_t) live; /* bytes in use at each step */
} DiffSide;

/* Figures of one kind that differ, in the order in which they are shown. */
typedef struct DiffPart {
    const char *title;
    ChangeList change;
} DiffPart;

/* `total`: all of them, those that are equal too. */
Text html_diff(Arena *arena, const DiffSide side[2], const ChangeList *total,
               const DiffPart *part, size_t parts);

#endif
