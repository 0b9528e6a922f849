/* SPDX-License-Identifier: Apache-2.0
 * Tensors without bytes of their own: inputs of a concatenation that no step carries out are
 * parts of the pixels of its result. */
#ifndef INLAY_PROVE_PART_H
#define INLAY_PROVE_PART_H

#include "ir/program.h"

typedef struct Home {           /* of a tensor; y NULL: its own */
    const Operand *y;           /* the result that it is a part of */
    int64_t lane;               /* bytes into y's pixels */
} Home;

/* The number of inputs of a concatenation of pixels; 0: the step is none. */
int concat_inputs(const Step *s);
/* Makes operand k of concatenation s a part of its result; NULL, or why that cannot be. homes: by tensor id. */
const char *part_settle(Home *homes, const Step *s, int k);
/* The operand with its tensor replaced by what it is a part of, if it is; NULL, or why that cannot be. */
const char *part_resolve(const Home *homes, const Step *s, Operand *o);
/* Bytes into the pixels of the result where operand k begins. */
int64_t concat_lane(const Step *s, int k);

#endif
