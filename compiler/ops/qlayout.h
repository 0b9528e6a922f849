/* SPDX-License-Identifier: Apache-2.0
 * Constant weights of 8 bits in the layout of a target's family: transposes, fillings and cuts of
 * recipes; no byte is read here. */
#ifndef INLAY_OPS_QLAYOUT_H
#define INLAY_OPS_QLAYOUT_H

#include "ops/qpacked.h"

/* A product of bytes whose weights are packed. */
typedef struct Packing {
    Lower *lower;
    const ByteOperands *q;
    inlay_qpacked_params *params;
    const Recipe *w; /* as signed bytes: [groups * OC][IC][taps...] */
    int64_t groups;  /* of the channels of y ... */
    int64_t each;    /* ... which has so many, filled up to fours: */
    int64_t padded;
} Packing;

int64_t packing_channels(const Packing *packing);
/* The weights [channels][K]. */
Recipe *packing_matrix(const Packing *packing);
/* Those of a convolution, in blocks of channels of the family's width; of a depthwise one. */
Recipe *packing_blocks(const Packing *packing);
Recipe *packing_depthwise(const Packing *packing);

#endif
