/* SPDX-License-Identifier: Apache-2.0
 * Convolutions of 3x3 taps by Winograd's algorithm (runtime/kernels/winograd_f32.h): where it pays,
 * and the weights that it takes. */
#ifndef INLAY_OPS_WINOGRAD_H
#define INLAY_OPS_WINOGRAD_H

#include "ops/lower.h"

typedef struct inlay_conv_params inlay_conv_params;
typedef struct inlay_winograd_params inlay_winograd_params;

/* The parameters, with tiles of the size that is estimated to be fastest; tile 0: another kernel
 * is as fast, or this one cannot do it. */
inlay_winograd_params winograd_params(const inlay_conv_params *conv);

/* Bytes of its scratch. */
int64_t winograd_scratch(const inlay_winograd_params *params);

/* Weights [OC][IC][3][3] -> G w G', [S * S * OC][IC] for tiles of S - 2 pixels a side. They are
 * computed when they are first read. */
Recipe *winograd_weights(Store *store, const Recipe *w, int32_t tile);

#endif
