/* SPDX-License-Identifier: Apache-2.0
 * Parts of a tensor that are a range of each of its axes, as operators read and write them. */
#ifndef INLAY_OPS_RANGES_H
#define INLAY_OPS_RANGES_H

#include "ir/graph.h"

/* Elements from[i] to to[i] - 1 of axis i. */
typedef struct Ranges {
    int64_t from[MAX_RANK], to[MAX_RANK];
} Ranges;

/* What a Slice, and a Gather, read of their operand 0; false: values that a run decides, a step
 * that is not 1, indices that do not follow one another. */
bool slice_ranges(const Node *node, Ranges *ranges);
bool gather_ranges(const Node *node, Ranges *ranges);

/* Of each axis the first element that a Slice reads, and how far the next one is; false: values
 * that a run decides. */
bool slice_steps(const Node *node, int64_t *first, int64_t *step);

/* Is the shape of a Slice's result known when compiling? */
bool slice_is_sized(const Node *node);

#endif
