/* SPDX-License-Identifier: Apache-2.0
 * From the nodes of a constant to the chain that computes it. */
#include "eval/chain.h"

/* Or are its bytes taken for something else? */
static bool is_result(const Node *node, const Tensor *tensor)
{
    const Tensor *result = node->out[0];
    return tensor->dtype == result->dtype &&
           shape_equal(&tensor->shape, &result->shape);
}

/* The node that makes operand k of node i, -1: none of them, or it is there already. */
static int maker(const Nodes *nodes, int i, int k)
{
    const Tensor *tensor = nodes->node[i]->in[k];
    if (!tensor)
        return -1;
    const Later *later = recipe_awaits(tensor->value);
    if (!later)
        return -1;
    for (int m = 0; m < i; m++) {
        if (nodes->makes[m] != later)
            continue;
        return is_result(nodes->node[m], tensor) ? m : -1;
    }
    return -1;
}

static void mark_needed(const Nodes *nodes, bool *needed)
{
    needed[nodes->n - 1] = true;
    for (int i = nodes->n - 1; i >= 0; i--) {
        const int operands = needed[i] ? nodes->node[i]->n_in : 0;
        for (int k = 0; k < operands; k++) {
            const int m = maker(nodes, i, k);
            if (m >= 0)
                needed[m] = true;
        }
    }
}

static void fill_axes(const Node *node, int rank, int k, int8_t *axis)
{
    const int axes = rank + MAX_RANK;
    for (int a = 0; a < CUT_AXES; a++)
        axis[a] = CUT_NEVER;
    for (int a = 0; a < axes; a++)
        axis[a] = (int8_t)cut_axis(node, a, k);
}

static Link link_of(Store *store, const Nodes *nodes, int i, const int *number)
{
    Arena *arena = store->arena;
    Node *node = nodes->node[i];
    const int operands = node->n_in;
    const int rank = node->out[0]->shape.rank;
    Link link = {
        .node = node,
        .makes = nodes->makes[i],
        .from = NEW_ARRAY(arena, const Recipe *, operands),
        .link = NEW_ARRAY(arena, int, operands),
        .axis = arena_array(arena, (size_t)operands, sizeof *link.axis),
    };
    for (int k = 0; k < operands; k++) {
        const Tensor *tensor = node->in[k];
        const int m = maker(nodes, i, k);
        link.link[k] = m < 0 ? -1 : number[m];
        link.from[k] = tensor ? tensor->value : NULL;
        fill_axes(node, rank, k, link.axis[k]);
    }
    return link;
}

Chain chain_of(Store *store, const Nodes *nodes)
{
    bool needed[LINKS] = { false };
    int number[LINKS];
    const Node *last = nodes->node[nodes->n - 1];
    const Shape *shape = result_shape(last, 0);
    Chain chain = {
        .link = NEW_ARRAY(store->arena, Link, LINKS),
        .rank = shape->rank,
    };
    const int rank = shape->rank;
    for (int a = 0; a < rank; a++)
        chain.dim[a] = shape->dim[a];
    mark_needed(nodes, needed);
    for (int i = 0; i < nodes->n; i++) {
        if (!needed[i])
            continue;
        number[i] = chain.links++;
        chain.link[number[i]] = link_of(store, nodes, i, number);
    }
    return chain;
}
