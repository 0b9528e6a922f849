/* SPDX-License-Identifier: Apache-2.0
 * Steps that a plan does several times, each time for some columns of the result. */
#ifndef INLAY_PROVE_STRIPS_H
#define INLAY_PROVE_STRIPS_H

#include "prove/claim.h"

/* What one strip holds of a tensor. */
typedef struct StripPart {
    int32_t strip, next; /* next: of the same tensor, -1: none */
    int32_t lo, hi;      /* columns */
    Tensor *tensor;
} StripPart;

/* Columns of the whole result that a step makes. */
typedef struct StripShare {
    int32_t lowered, lo, hi, width;
} StripShare;

typedef struct StripSet {
    Arena *arena;
    Program *program;
    int32_t *first; /* by tensor id: place in `part`, -1: none */
    VEC(StripPart) part;
    VEC(StripShare) share;
} StripSet;

StripSet strips_of(Arena *arena, Program *program);
/* Operand k of a step that does `lowered` (the first where it does two) for the claimed columns
 * becomes what it touches then: the whole tensor where the claim has some columns of whole rows,
 * else the strip's own. Results come first, steps in their order. Returns what is wrong, or NULL.
 */
const char *strips_resolve(StripSet *set, const ClaimStep *claim, const Step *lowered,
                           const Step *step, int k, Operand *operand);
/* Whole results that are made in strips have each column once. Returns what is wrong, or NULL;
 * *lowered: with which step. */
const char *strips_settle(const StripSet *set, int32_t *lowered);

#endif
