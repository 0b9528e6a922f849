/* SPDX-License-Identifier: Apache-2.0
 * Products of bytes with constant weights: packed for the target's family, zero points in the
 * biases. */
#ifndef INLAY_OPS_QPACKED_H
#define INLAY_OPS_QPACKED_H

#include "ops/qlayout.h"

/* Attributes `lo` and `hi` of a node whose result is of 8 bits: the bounds of its bytes, all of the
 * type where they are left out. */
void bytes_bounds(const Node *node, int32_t *lo, int32_t *hi);
/* Is all constant that is packed, for so many channels of y? */
bool bytes_packable(const ByteOperands *q, int64_t channels);
/* The step of a convolution: `params` has its geometry, groups and channels, the rest is filled in;
 * w [groups * OC][IC][taps...]. Rows, units and products are the caller's. */
Step *lower_bytes_packed(Lower *lower, Node *node, const ByteOperands *q,
                         inlay_qpacked_params *params);

#endif
