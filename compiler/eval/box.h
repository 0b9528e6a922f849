/* SPDX-License-Identifier: Apache-2.0
 * One piece of a constant: a box of the result of each link of a chain. */
#ifndef INLAY_EVAL_BOX_H
#define INLAY_EVAL_BOX_H

#include "eval/tiling.h"

/* A range along each axis of the results, and behind them along those that a link goes through. */
typedef struct Range {
    int64_t at[CUT_AXES], n[CUT_AXES];
} Range;

/* The piece at hand. */
typedef struct Making {
    Store *store;
    const Chain *chain;
    const Tiling *tiling;
    Range box;             /* of the results */
    Recipe *result[LINKS]; /* of each link: the values of its box */
} Making;

/* Sets making->result of all links, which last until the store's arena is released. */
void box_make(Making *making);

#endif
