/* SPDX-License-Identifier: Apache-2.0
 * Tensors without bytes of their own: inputs of a concatenation that no step carries out are parts
 * of the pixels of its result or blocks of it; what a slice that no step carries out takes lies
 * where its input lies. */
#ifndef INLAY_PROVE_PART_H
#define INLAY_PROVE_PART_H

#include "ir/program.h"

typedef struct Home { /* of a tensor; y NULL: its own */
    const Operand *y; /* the operand whose tensor it lies in */
    /* how the step that is not done sees the tensor itself */
    const Operand *own;
    int64_t offset; /* bytes into y */
    int64_t part;   /* elements of y's pixels; 0: all */
    bool block;     /* rows and pixels stay as they are */
    /* the tensor has bytes of its own, too: who reads it may read either */
    bool copied;
} Home;

/* The number of inputs of a concatenation of pixels, or of blocks; 0: the step is none. */
int concat_inputs(const Step *step);
/* Makes operand k of concatenation step a part of its result, or what slice step makes a part of
 * its input; NULL, or why that cannot be. homes: by tensor id. */
const char *part_settle(Home *homes, const Step *step, int k, bool copied);
const char *part_settle_slice(Home *homes, const Step *step);
/* The operand with its tensor replaced by what it is a part of, if it is; NULL, or why that cannot
 * be. Of what is copied, too, `parted` says whether the part is meant. */
const char *part_resolve(const Home *homes, const Step *step, Operand *operand,
                         bool parted);
/* Elements of a pixel of operand k, and bytes into the result, or its pixels, where it begins. */
int64_t concat_part(const Step *step, int k);
int64_t concat_lane(const Step *step, int k);

#endif
