/* SPDX-License-Identifier: Apache-2.0
 * Quantized numbers as the operators of qstep.c have them, and the steps of float operators whose
 * geometry theirs is. */
#ifndef INLAY_OPS_QSTEP_H
#define INLAY_OPS_QSTEP_H

#include "ops/lower.h"

/* (byte - zero) scale. */
typedef struct Quantum {
    double scale;
    int64_t zero;
    DType type;
} Quantum;

/* The kernel of a pool over rows of an image that is channels last (pools.c). */
Step *lower_pool_rows(Lower *lower, Node *node, const char *kernel,
                      bool count_pad);
/* The kernel that adds all rows of such an image (pools.c). */
void lower_global_sum(Lower *lower, Node *node, const char *kernel);
/* The last operand of a step of one operand: the numbers of its attributes (qstep.c). */
void lower_quantum(Lower *lower, Step *step, const Node *node);
/* Can lines of n elements be normalized? */
bool qnorm_fits(int64_t n);
/* The kernel of a Softmax of today (reduce.c); NULL: it has no elements. */
Step *lower_softmax_lines(Lower *lower, Node *node, const char *kernel);

#endif
