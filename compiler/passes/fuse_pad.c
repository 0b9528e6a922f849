/* SPDX-License-Identifier: Apache-2.0
 * Pad with zeros in front of Conv (or of an AveragePool that counts padding, or has none) becomes
 * the operator's own padding. Requires: types and shapes; NCHW. Ensures: same results. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"

static bool pads_zero(Graph *graph, const Node *pad)
{
    if (strcmp(node_string(pad, "mode", "constant"), "constant"))
        return false;
    int64_t count;
    const double *v = tensor_doubles(graph, node_in(pad, 2), &count);
    if (node_in(pad, 2))
        return v && count == 1 && v[0] == 0.0;
    return fpclassify(node_float(pad, "value", 0.0f)) == FP_ZERO;
}

static const int64_t *pads_of(Graph *graph, const Node *pad, int rank)
{
    int64_t count;
    const int64_t *p = pad->n_in > 1 ? tensor_ints(graph, pad->in[1], &count)
                                     : node_ints(pad, "pads", &count);
    if (!p || count != 2 * rank || node_in(pad, 3))
        return NULL;
    for (int64_t i = 0; i < count; i++)
        if (p[i] < 0 || (p[i] && i % rank < 2))
            return NULL;
    return p;
}

static bool has_pads(const Node *node)
{
    int64_t count;
    const int64_t *pads = node_ints(node, "pads", &count);
    for (int64_t i = 0; i < count; i++)
        if (pads[i])
            return true;
    return false;
}

static bool takes_padding(const Node *node)
{
    const char *given = node_string(node, "auto_pad", "NOTSET");
    if (strcmp(given, "NOTSET") && strcmp(given, "VALID"))
        return false;
    if (node_is(node, "Conv"))
        return true;
    return node_is(node, "AveragePool") && !node_int(node, "ceil_mode", 0) &&
           (node_int(node, "count_include_pad", 0) || !has_pads(node));
}

/* The node's own padding and `more`, which has all axes of its image. */
static void add_pads(Node *node, int rank, const int64_t *more)
{
    const int axes = rank - 2;
    int64_t count;
    int64_t pads[2 * MAX_RANK] = { 0 };
    const int64_t *old = node_ints(node, "pads", &count);
    for (int i = 0; i < axes; i++) {
        pads[i] = (count ? old[i] : 0) + more[2 + i];
        pads[axes + i] = (count ? old[axes + i] : 0) + more[rank + 2 + i];
    }
    node_set_ints(node, "pads", 2 * axes, pads);
    node_set_string(node, "auto_pad", "NOTSET");
}

static void try_fuse(Graph *graph, Node *node)
{
    const Node *pad = node->in[0]->producer;
    const int rank = node->in[0]->shape.rank;
    if (!takes_padding(node) || !pad || pad->dead)
        return;
    if (!node_is(pad, "Pad") || !pads_zero(graph, pad))
        return;
    const int64_t *more = pads_of(graph, pad, rank);
    if (!more)
        return;
    /* It was data to a pool without padding of its own. */
    if (node_is(node, "AveragePool"))
        node_set_int(node, "count_include_pad", 1);
    add_pads(node, rank, more);
    node_set_input(node, 0, pad->in[0]);
}

void pass_fuse_pad(Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++) {
        Node *node = graph->node.at[i];
        if (node_in(node, 0))
            try_fuse(graph, node);
    }
    pass_dead(graph);
}
