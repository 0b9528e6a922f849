/* SPDX-License-Identifier: Apache-2.0
 * Operators between DequantizeLinear and QuantizeLinear compute with the integers themselves: what
 * moves elements moves bytes, functions of one tensor become tables, products, sums and pools the
 * integer operators. What has no such form stays float. Which operator has which form is a column
 * of ops.def. Requires: types and shapes. Ensures: results at most one step of their quantization
 * away. */
#include "passes/quanta.h"

#include "ops/ops.h"
#include "passes/passes.h"

enum { MOST_ROUNDS = 64 }; /* each carries bytes past one more operator */

/* Every node that there is, in order. */
static bool rewrite_all(Graph *graph, RewriteFn *rewrite)
{
    const size_t count = graph->node.n;
    bool changed = false;
    for (size_t i = 0; i < count; i++)
        changed |= rewrite(graph, graph->node.at[i]);
    if (!changed)
        return false;
    graph_sort(graph);
    pass_dead(graph);
    return true;
}

void pass_quantize(Graph *graph)
{
    rewrite_all(graph, quanta_fake);
    for (int i = 0; i < MOST_ROUNDS && rewrite_all(graph, quanta_carry); i++)
        continue;
    rewrite_all(graph, quanta_table);
    rewrite_all(graph, quanta_build);
    rewrite_all(graph, quanta_float_sum);
    rewrite_all(graph, quanta_float);
    rewrite_all(graph, quanta_biased_sums);
    rewrite_all(graph, quanta_sums);
    rewrite_all(graph, quanta_bound);
    rewrite_all(graph, quanta_float_table);
    rewrite_all(graph, quanta_fake_rest);
}
