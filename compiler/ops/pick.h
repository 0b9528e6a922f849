/* SPDX-License-Identifier: Apache-2.0
 * Moves whose source index is a table for each axis: y[i, j, ...] = x[I[i], J[j], ...].
 * Pad by reflection, edges or wrapping, Tile of many axes, Resize to the nearest. */
#ifndef INLAY_OPS_PICK_H
#define INLAY_OPS_PICK_H

#include "ops/lower.h"

typedef enum PickEdge {
    PICK_NONE,
    PICK_EDGE,
    PICK_REFLECT,
    PICK_WRAP
} PickEdge;

typedef struct Pick {
    Lower *l;
    Node *n;
    Tensor *out, *in;
    int64_t *table[MAX_RANK]; /* source index for each index of the result */
} Pick;

/* All axes begin as the identity (sizes may differ until their table is set). */
Pick pick_new(Lower *lower, Node *node, Tensor *out, Tensor *in);
/* Axis: `before` elements, the source's `size`, `after` elements; negative amounts cut. */
void pick_padded(Pick *pick, int axis, int64_t before, int64_t size,
                 int64_t after, PickEdge edge);
void lower_pick(Pick *pick);

#endif
