/* SPDX-License-Identifier: Apache-2.0
 * Programs of one model for different lengths: which of them have the same steps. */
#ifndef INLAY_IR_FOLLOW_H
#define INLAY_IR_FOLLOW_H

#include "ir/lengths.h"

/* A planned program that others are compared with. */
typedef struct Lead {
    Program *program;
    Arena *arena;     /* for what is kept */
    const char **key; /* of the constants, by tensor; NULL: not asked yet */
} Lead;

/* A constant of the follower that is none of the lead's. */
typedef struct OtherConstant {
    int32_t step, operand;
    Tensor *tensor; /* the follower's */
} OtherConstant;
typedef VEC(OtherConstant) OtherConstants;

/* Has the second, of `store`, the values that the first begins with? Neither is large. */
bool constant_begins(Store *first_store, const Recipe *first, Store *store,
                     const Recipe *recipe);
Lead lead_of(Arena *arena, Program *program);
/* Gives `program`, as lowered, the order, the directions and the places of the lead, and links it.
 * What is not the lead's constant, nor the beginning of it, is listed in `others`. NULL, or why the
 * steps are no such: the program is then good for nothing more. */
const char *follow_lead(Lead *lead, Program *program, OtherConstants *others);

#endif
