/* SPDX-License-Identifier: Apache-2.0
 * Products of bytes in the layout of a target's family: constant weights, which become transposes,
 * fillings and cuts of recipes (no byte is read here), and the windows of pixels that meet them. */
#ifndef INLAY_OPS_QLAYOUT_H
#define INLAY_OPS_QLAYOUT_H

#include "kernels/qpacked.h"
#include "ops/lower.h"

struct ByteOperands; /* ops/qpacked.h */

/* A product of bytes whose weights are packed. */
typedef struct Packing {
    Lower *lower;
    const struct ByteOperands *q;
    inlay_qpacked_params *params;
    const Recipe *w; /* as signed bytes: [groups * OC][IC][taps...] */
    int64_t groups;  /* of the channels of y ... */
    int64_t each;    /* ... which has so many, filled up to fours: */
    int64_t padded;
} Packing;

/* Weights as bytes with a sign: those without one less 128. */
Recipe *packing_bytes(Store *store, const Tensor *w);
int64_t packing_channels(const Packing *packing);
/* The weights [channels][K]. */
Recipe *packing_matrix(const Packing *packing);
/* Those of a convolution, in blocks of channels of the family's width; of a depthwise one. */
Recipe *packing_blocks(const Packing *packing);
Recipe *packing_depthwise(const Packing *packing);
/* Elements of 4 bytes for all channels, in their places. */
Tensor *packing_each(const Packing *packing, DType type, const void *values);
/* Bytes of a window of pixels, in the order of the weights. */
int64_t packing_window(const inlay_qpacked_params *params);
/* Pixels whose windows are gathered at a time; 0: no window is ever gathered. rows: there is to be
 * room for the windows of a row that overlap, not only for a tile's. */
int32_t packing_gathers(const inlay_qpacked_params *params, int64_t window,
                        bool rows);

#endif
