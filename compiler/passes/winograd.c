/* SPDX-License-Identifier: Apache-2.0
 * Marks convolutions of 3x3 taps and constant weights, whose sums may be rounded in another order.
 * Whether tiles pay is known where they are lowered (ops/winograd.c), whether they are wanted is
 * the goal's. Requires: layout done. Ensures: same results, but for rounding. */
#include "ops/ops.h"
#include "passes/passes.h"

static bool has_nine_taps(const Node *node)
{
    const Shape *shape = &node->in[1]->shape;
    return shape->rank == 4 && shape->dim[2] == 3 && shape->dim[3] == 3;
}

void pass_winograd(Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++) {
        Node *node = graph->node.at[i];
        if (node_is(node, "Conv") && node->in[1]->value)
            node->winograd = has_nine_taps(node);
    }
}
