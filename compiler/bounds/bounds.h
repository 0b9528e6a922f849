/* SPDX-License-Identifier: Apache-2.0
 * The second proof: no kernel touches what its operands do not have. Each kernel's row names a
 * function that says, from the step's parameters alone, the furthest byte of every operand that the
 * kernel may read or write; here that is compared with the tensors. Where an index is data, the
 * function states the range that the kernel itself holds it to while running. */
#ifndef INLAY_BOUNDS_BOUNDS_H
#define INLAY_BOUNDS_BOUNDS_H

#include "bounds/reach.h"

/* The first operand that does not hold what the step touches. */
typedef struct BoundsFault {
    const char *why; /* a sentence; NULL: all is in order */
    int operand;     /* -1: the parameters as a whole */
} BoundsFault;

/* reach[n_operand] of a step; NULL, or what its parameters cannot be. */
const char *bounds_of(const Program *program, const Step *step, Reach *reach);
/* Compares them with the step's operands; the text is the arena's. reach[n_operand] gets them. */
BoundsFault bounds_judge(Arena *arena, const Program *program, const Step *step,
                         Reach *reach);
BoundsFault bounds_object(Arena *arena, const Program *program,
                          const Step *step);
/* Bytes that the kernel reaches of an operand, from its first one on and as if all of its rows
 * existed. */
int64_t bounds_bytes(const Operand *operand, const Reach *reach);

/* Which operands of a step may be of any values: any[n_operand]. Its kernel believes the others. */
void bounds_any(const Program *program, const Step *step, bool *any);

/* All steps as lowered: what does not fit is the model's fault, status 65, with node and operand.
 */
void bounds_check(const Program *program);
/* All steps as planned: what does not fit is ours, status 70. */
void bounds_check_planned(const Program *program);

#endif
