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
    const Later *later = tensor ? recipe_awaits(tensor->value) : NULL;
    for (int m = 0; later && m < i; m++)
        if (nodes->makes[m] == later)
            return is_result(nodes->node[m], tensor) ? m : -1;
    return -1;
}

static void mark_needed(const Nodes *nodes, bool *needed)
{
    needed[nodes->n - 1] = true;
    for (int i = nodes->n; i-- > 0;)
        for (int k = 0; needed[i] && k < nodes->node[i]->n_in; k++) {
            const int m = maker(nodes, i, k);
            if (m >= 0)
                needed[m] = true;
        }
}

static void fill_axes(const Node *node, int rank, int k, int8_t *axis)
{
    for (int a = 0; a < CUT_AXES; a++)
        axis[a] = CUT_NEVER;
    for (int a = 0; a < rank + MAX_RANK; a++)
        axis[a] = (int8_t)cut_axis(node, a, k);
}

static Link link_of(Store *store, const Nodes *nodes, int i, const int *number)
{
    Node *node = nodes->node[i];
    Link link = {
        .node = node,
        .makes = nodes->makes[i],
        .from = NEW_ARRAY(store->arena, const Recipe *, node->n_in),
        .link = NEW_ARRAY(store->arena, int, node->n_in),
        .axis =
            arena_array(store->arena, (size_t)node->n_in, sizeof *link.axis),
    };
    for (int k = 0; k < node->n_in; k++) {
        const int m = maker(nodes, i, k);
        link.link[k] = m < 0 ? -1 : number[m];
        link.from[k] = node->in[k] ? node->in[k]->value : NULL;
        fill_axes(node, node->out[0]->shape.rank, k, link.axis[k]);
    }
    return link;
}

Chain chain_of(Store *store, const Nodes *nodes)
{
    bool needed[LINKS] = { false };
    int number[LINKS];
    const Shape *shape = &nodes->node[nodes->n - 1]->out[0]->shape;
    Chain chain = {
        .link = NEW_ARRAY(store->arena, Link, LINKS),
        .rank = shape->rank,
    };
    for (int a = 0; a < shape->rank; a++)
        chain.dim[a] = shape->dim[a];
    mark_needed(nodes, needed);
    for (int i = 0; i < nodes->n; i++) {
        if (!needed[i])
            continue;
        number[i] = chain.links;
        chain.link[chain.links++] = link_of(store, nodes, i, number);
    }
    return chain;
}
