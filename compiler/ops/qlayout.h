/* SPDX-License-Identifier: Apache-2.0
 * Products of bytes in the layout of a target's family: constant weights, which become transposes,
 * fillings and cuts of recipes (no byte is read here), and the windows of pixels that meet them. */
#ifndef INLAY_OPS_QLAYOUT_H
#define INLAY_OPS_QLAYOUT_H

#include "ops/palette.h"

typedef struct inlay_qpacked_params inlay_qpacked_params;

/* The operands of a product; NULL: it has none. */
typedef struct ByteOperands {
    Tensor *y, *x, *w;
    Tensor *zx, *zw; /* zero points */
    Tensor *sx, *sw; /* scales */
    Tensor *sy, *zy; /* those of y */
    Tensor *bias;    /* int32 */
    Tensor *add;     /* float, added to a float result */
} ByteOperands;

/* A product of bytes whose weights are packed. */
typedef struct Packing {
    Lower *lower;
    const ByteOperands *q;
    inlay_qpacked_params *params;
    /* less what is taken off, as signed bytes: [groups * OC][IC][taps...] */
    const Recipe *w;
    /* that is taken off all weights; their zero points are less by it */
    int32_t off;
    bool zeros_off; /* the zero point of each channel is taken off instead */
    int bits;       /* that a weight is stored in */
    int64_t groups; /* of the channels of y ... */
    int64_t each;   /* ... which has so many, filled up to fours: */
    int64_t padded;
    Palette *palette; /* of the weights; NULL: they have none */
    PaletteForm form; /* where their channels lie */
} Packing;

/* Weights and what is added to each of them, as bytes with a sign. */
Recipe *packing_bytes(Store *store, const Recipe *w, const Recipe *add);
int64_t packing_channels(const Packing *packing);
/* The weights [channels][K]. */
Recipe *packing_matrix(const Packing *packing);
/* Those of a convolution, in blocks of channels of the family's width; of a depthwise one. */
Recipe *packing_blocks(const Packing *packing);
Recipe *packing_depthwise(const Packing *packing);
/* Where the channels lie in these. */
PaletteForm packing_form(const Packing *packing);
PaletteForm packing_form_depthwise(const Packing *packing);
/* Elements of 4 bytes for all channels, in their places. */
Tensor *packing_each(const Packing *packing, DType type, const void *values);
/* Bytes of a window of pixels, in the order of the weights. */
int64_t packing_window(const inlay_qpacked_params *params);
/* Pixels whose windows are gathered at a time; 0: no window is ever gathered. rows: there is to be
 * room for the windows of a row that overlap, not only for a tile's. */
int32_t packing_gathers(const inlay_qpacked_params *params, int64_t window,
                        bool rows);

#endif
