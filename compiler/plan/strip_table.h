/* SPDX-License-Identifier: Apache-2.0
 * The table of kernels that can make some columns of their result. */
#ifndef INLAY_PLAN_STRIP_TABLE_H
#define INLAY_PLAN_STRIP_TABLE_H

#include "plan/strip.h"

/* How a kernel makes columns y of its result, its other images being there from column `origin` on,
 * `width` wide. */
typedef struct StripRow {
    const char *kernel, *params; /* NULL: any */
    bool (*takes)(const Step *s);
    Columns (*needs)(const Step *s,
                     Columns y); /* of operand 1, before it is clipped; NULL: the same columns */
    void (*cut)(const Step *s, void *params, Columns y, int32_t origin, int32_t width);
} StripRow;

/* The step's row, or NULL. */
const StripRow *strip_row(const Step *step);
/* An image that becomes planes in the caller's buffer: the result has no rows, columns are those of
 * operand 1. */
bool strip_scatters(const Step *step);
/* Pixels of a row. */
int32_t strip_width(const Operand *operand);
/* All columns of both; an empty one counts for nothing. */
Columns columns_hull(Columns a, Columns b);

#endif
