/* SPDX-License-Identifier: Apache-2.0
 * Which images stay plane by plane, as ONNX has them. An operator that is as fast in either order
 * (OP_EITHER_ORDER) is worth no transposition: it becomes channels last only where something
 * beside it is, so that nothing is turned between them. Beside it is what its image reaches through
 * operators that take any order.
 */
#include "ops/ops.h"
#include "passes/relayout.h"

typedef struct OwnOrder {
    /* [tensors] of each tensor another one that its order goes with; itself: none */
    int *with;
    bool *turns; /* [tensors] of one that goes with itself: an order is given */
} OwnOrder;

static int leader(const OwnOrder *order, int id)
{
    while (order->with[id] != id) {
        order->with[id] = order->with[order->with[id]];
        id = order->with[id];
    }
    return id;
}

static void join(OwnOrder *order, const Tensor *a, const Tensor *b)
{
    const int first = leader(order, a->id);
    const int second = leader(order, b->id);
    order->with[second] = first;
    order->turns[first] |= order->turns[second];
}

static void turn(OwnOrder *order, const Tensor *tensor)
{
    order->turns[leader(order, tensor->id)] = true;
}

static bool gives_order(const Node *node)
{
    if (node->channels_last || node_is(node, "Transpose"))
        return true;
    return node->op->flags & OP_SPATIAL && !(node->op->flags & OP_EITHER_ORDER);
}

static bool takes_any_order(const Node *node)
{
    const unsigned any = OP_ELEMENTWISE | OP_VIEW | OP_EITHER_ORDER;
    return node->op->flags & any || node->op->relayout != RELAYOUT_NONE;
}

/* All values that the node reads and makes: the order of one is that of all, or is given. */
static void learn_of(OwnOrder *order, const Node *node)
{
    const bool gives = gives_order(node);
    const Tensor *first = node_out(node, 0);
    if (!first || (!gives && !takes_any_order(node)))
        return;
    for (int i = 1; i < node->n_out; i++)
        if (node->out[i])
            join(order, first, node->out[i]);
    for (int i = 0; i < node->n_in; i++)
        if (node->in[i] && !node->in[i]->value)
            join(order, first, node->in[i]);
    if (gives)
        turn(order, first);
}

/* Those in the arena take the order that the steps want, which costs nothing. */
static void learn_of_ends(OwnOrder *order, const Graph *graph)
{
    if (graph->parent)
        return;
    for (size_t i = 0; i < graph->input.n; i++)
        if (graph_in_form(graph, i) != IO_CALLER)
            turn(order, graph->input.at[i]);
    for (size_t i = 0; i < graph_results(graph); i++)
        if (graph_out_form(graph, i) != IO_CALLER)
            turn(order, graph->output.at[i]);
}

static OwnOrder learn(Arena *arena, Graph *graph)
{
    const int tensors = graph_root(graph)->next_id;
    OwnOrder order = {
        .with = NEW_ARRAY(arena, int, tensors),
        .turns = NEW_ARRAY(arena, bool, tensors),
    };
    for (int i = 0; i < tensors; i++)
        order.with[i] = i;
    learn_of_ends(&order, graph);
    for (size_t i = 0; i < graph->node.n; i++)
        if (!graph->node.at[i]->dead && graph->node.at[i]->op)
            learn_of(&order, graph->node.at[i]);
    return order;
}

static bool takes_either(const Node *node)
{
    return !node->dead && node->op && node->op->flags & OP_EITHER_ORDER;
}

void own_order_mark(Graph *graph)
{
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    OwnOrder order = { .with = NULL };
    for (size_t i = 0; i < graph->node.n; i++) {
        Node *node = graph->node.at[i];
        if (!takes_either(node))
            continue;
        if (!order.with)
            order = learn(scratch, graph);
        node->own_order = !order.turns[leader(&order, node->out[0]->id)];
    }
    arena_release(scratch, mark);
}
