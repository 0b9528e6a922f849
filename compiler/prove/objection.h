/* SPDX-License-Identifier: Apache-2.0
 * What the replay of a plan finds wrong. */
#ifndef INLAY_PROVE_OBJECTION_H
#define INLAY_PROVE_OBJECTION_H

#include "ir/program.h"

/* The first thing that does not hold. */
typedef struct Objection {
    const char *why;  /* a sentence without its subject; NULL: all holds */
    const Step *step; /* NULL: the plan as a whole */
    const Operand *operand; /* NULL: none */
    int32_t row;            /* of the operand, where there is one */
    int64_t byte;           /* of its base: the first byte of that row */
} Objection;

#endif
