/* SPDX-License-Identifier: Apache-2.0
 * What other operators know of Resize. */
#ifndef INLAY_OPS_RESIZE_H
#define INLAY_OPS_RESIZE_H

#include "ops/lower.h"

/* Does a Resize of images with constant scales mix four pixels, two rows of two columns each? */
bool resize_is_bilinear(const Node *node);
/* The two elements along an axis that each one of the result is made of, and their weights. */
void resize_pairs(Lower *lower, const Node *node, int axis, int32_t *place,
                  float *weight);

#endif
