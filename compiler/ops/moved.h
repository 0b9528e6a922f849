/* SPDX-License-Identifier: Apache-2.0
 * Steps that move elements of operand 0 to the result as operand 1, integers, says. */
#ifndef INLAY_OPS_MOVED_H
#define INLAY_OPS_MOVED_H

#include "ops/lower.h"

/* Elements of whole bytes, indices of int32 or int64. */
typedef struct Moved {
    Tensor *y, *x;
    Tensor *index; /* NULL: left out */
    int64_t size;  /* bytes of an element */
} Moved;

Moved moved_new(Lower *lower, Node *node);
Step *moved_step(Lower *lower, Node *node, const Moved *moved,
                 const char *kernel, const void *params);

#endif
