/* SPDX-License-Identifier: Apache-2.0
 * Takes out nodes whose results nobody reads.
 * Requires: current lists of uses. Ensures: every node has a result that is read. */
#include "passes/passes.h"

static bool wanted(const Node *node)
{
    for (int i = 0; i < node->n_out; i++)
        if (node->out[i] && node->out[i]->uses)
            return true;
    return false;
}

void pass_dead(Graph *graph)
{
    graph_compact(graph);
    for (size_t i = graph->node.n; i-- > 0;)
        if (!wanted(graph->node.at[i]))
            graph_kill(graph->node.at[i]);
    graph_compact(graph);
}
