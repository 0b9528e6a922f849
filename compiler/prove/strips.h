/* SPDX-License-Identifier: Apache-2.0
 * Steps that a plan does several times, each time for some columns of the result. */
#ifndef INLAY_PROVE_STRIPS_H
#define INLAY_PROVE_STRIPS_H

#include "prove/claim.h"
#include "rules/rules.h"

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
    int tensors;    /* of the model */
    int32_t *first; /* by id of those: place in `part`, -1: none */
    VEC(StripPart) part;
    VEC(StripShare) share;
    /* of the step under way: what it needs, and what there is of the image that it looks into */
    ColumnRule rule;
    Columns there;
} StripSet;

StripSet strips_of(Arena *arena, Program *program);
/* The step comes next, its operands still those of the model. Returns what is wrong, or NULL. */
const char *strips_begin(StripSet *set, const Step *step);
/* Operand k of the step becomes what it touches for the claimed columns: the whole tensor where the
 * claim has some columns of whole rows, else the strip's own. Results come first, steps in their
 * order. Returns what is wrong, or NULL. */
const char *strips_resolve(StripSet *set, const ClaimStep *claim,
                           const Step *step, int k, Operand *operand);
/* All of its operands are; its parameters become those for the claimed columns. */
void strips_cut(const StripSet *set, const ClaimStep *claim, const Step *step);
/* Whole results that are made in strips have each column once. Returns what is wrong, or NULL;
 * *lowered: with which step. */
const char *strips_settle(const StripSet *set, int32_t *lowered);

#endif
