/* SPDX-License-Identifier: Apache-2.0
 * The order problem by itself: steps, what must come before what, and the bytes they touch. Knows
 * no tensors. */
#ifndef INLAY_SCHEDULE_ORDER_PROBLEM_H
#define INLAY_SCHEDULE_ORDER_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

/* If `item` dies in the step, the step's result may lie over it: so many bytes less are alive. */
typedef struct OrderGain {
    int32_t item;
    int64_t bytes;
} OrderGain;

/* Lists are packed: those of step s are X[X_of[s]] .. X[X_of[s + 1] - 1]. The given order 0, 1, 2
 * .. is valid. */
typedef struct OrderProblem {
    int32_t steps, items;
    const int64_t *size; /* of items, bytes; 0: takes no room here */
    /* items there before the first step, and after the last; NULL: none */
    const bool *given, *kept;
    const int32_t *before_of, *before; /* steps that must come before it */
    /* items it makes, writes or reads, each once: alive from the first to the last that touches
     * them */
    const int32_t *touch_of, *touch;
    const int32_t *gain_of;
    const OrderGain *gain;
} OrderProblem;

typedef struct Order {
    /* old numbers in the new order; NULL: the given order stays */
    int32_t *step;
    /* most bytes alive, in the given order and in the new one */
    int64_t given, peak;
    int64_t bound;  /* proved: no order needs less */
    int64_t states; /* looked at */
} Order;

#endif
