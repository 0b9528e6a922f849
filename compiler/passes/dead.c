/* SPDX-License-Identifier: Apache-2.0
 * Takes out nodes whose results nobody reads.
 * Requires: current lists of uses. Ensures: every node has a result that is read. */
#include "passes/passes.h"

static bool wanted(const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->uses)
            return true;
    return false;
}

void pass_dead(Graph *g)
{
    graph_compact(g);
    for (size_t i = g->node.n; i-- > 0;)
        if (!wanted(g->node.at[i]))
            graph_kill(g->node.at[i]);
    graph_compact(g);
}
