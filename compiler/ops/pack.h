/* SPDX-License-Identifier: Apache-2.0
 * Packing of constant weights into the blocks that kernels/tile_f32.h reads: float32, or the type
 * that the model's file has them in, with what kernels/tile_narrow.h needs to make them floats. */
#ifndef INLAY_OPS_PACK_H
#define INLAY_OPS_PACK_H

#include "ops/lower.h"
#include "ops/pack_blocks.h"

/* Packed weights as operands of a step. */
typedef struct Weights {
    DType type; /* that they are stored in */
    Tensor *values;
    Tensor *how; /* this and the next ones may be NULL */
    Tensor *scale;
    Tensor *zero;
    int width; /* channels of a block */
} Weights;

/* Will they be packed in a narrower type than float32? */
bool weights_are_narrow(const Lower *lower, const Recipe *w);
/* Adds the operands behind the others: of kernels for narrow weights. */
void weights_operands(Step *step, const Weights *weights);

/* Weights of a convolution [groups * OC][IC][taps...] -> for each group, blocks of
 * [taps][IC][width]. */
Weights pack_conv_weights(Lower *lower, const Recipe *w, int64_t groups);
/* The same, always float32. */
Tensor *pack_wide_weights(Lower *lower, const Recipe *w, int64_t groups);
/* The same of gates, [groups * OC][IC][1] in blocks of the usual width, in the type of the file or
 * float32; and the first of these, float32 where there is none. */
Weights pack_gate_weights(Lower *lower, const Recipe *w, int64_t groups,
                          DType type);
DType gate_weights_type(const Lower *lower, const Recipe *w);
/* Weights of a transposed convolution [groups * IC][OC][taps...] as blocks_of_deconv() has them. */
Weights pack_deconv_weights(Lower *lower, const Recipe *w, int64_t groups,
                            const DeconvTaps *taps);
/* A matrix [K][N], or [N][K] where transposed, as the weights of a 1x1 convolution from K to N
 * channels, times alpha. */
Weights pack_matrix(Lower *lower, const Recipe *w, bool transposed,
                    float alpha);
/* Bias of groups * OC channels, filled up with zeros to fours in each group; NULL: all zeros. */
Tensor *pack_bias(Lower *lower, const Recipe *bias, int64_t groups, int64_t oc);
/* Depthwise weights [C][1][taps...] -> [taps...][C]. */
Weights pack_depthwise_weights(Lower *lower, const Recipe *w);

#endif
