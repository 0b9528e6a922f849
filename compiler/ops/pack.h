/* SPDX-License-Identifier: Apache-2.0
 * Packing of constant weights into the blocks that kernels/tile_f32.h reads. */
#ifndef INLAY_OPS_PACK_H
#define INLAY_OPS_PACK_H

#include "ops/lower.h"

/* Weights of a convolution [groups * OC][IC][taps...] -> for each group, blocks of
 * [taps][IC][width]. */
Tensor *pack_conv_weights(Lower *lower, const Recipe *w, int64_t groups);
/* Weights of a transposed convolution [groups * IC][OC][taps...] with so many phases of depth, rows
 * and columns: for each of them and each group (one, where there is depth), blocks of [taps of the
 * phase, last first][IC][width]. */
Tensor *pack_deconv_weights(Lower *lower, const Recipe *w, int64_t groups,
                            const int64_t *kernel, const int64_t *phases);
/* A matrix [K][N], or [N][K] where transposed, as the weights of a 1x1 convolution from K to N
 * channels, times alpha. */
Tensor *pack_matrix(Lower *lower, const Recipe *w, bool transposed,
                    float alpha);
/* Bias of groups * OC channels, filled up with zeros to fours in each group; NULL: all zeros. */
Tensor *pack_bias(Lower *lower, const Recipe *bias, int64_t groups, int64_t oc);
/* Depthwise weights [C][1][taps...] -> [taps...][C]. */
Tensor *pack_depthwise_weights(Lower *lower, const Recipe *w);

#endif
