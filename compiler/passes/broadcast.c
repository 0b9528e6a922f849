/* SPDX-License-Identifier: Apache-2.0
 * An Expand that spreads a value for operators that broadcast it themselves is not made: x / |x| as
 * PyTorch normalizes, masks, gates. Requires: shapes. Ensures: the same results, bit by bit. */
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/ops.h"
#include "passes/passes.h"

static bool broadcasts(const Node *node)
{
    if (node->dead || !node->op || node->n_in < 2 || node->out[0]->dynamic)
        return false;
    return node->op->infer == infer_elementwise ||
           node->op->infer == infer_compare || node->op->infer == infer_where;
}

/* Has the result its shape, too, where x is the operand? */
static bool is_as_large(const Node *node, int operand, const Tensor *x)
{
    Shape shape = x->shape;
    for (int i = 0; i < node->n_in; i++)
        if (i != operand)
            shape = infer_broadcast(node, &shape, &node->in[i]->shape);
    return shape_equal(&shape, &node->out[0]->shape);
}

/* Whoever can reads what is spread, instead of the result. */
static void skip(const Node *expand)
{
    Tensor *x = expand->in[0];
    const Use *next;
    for (const Use *use = expand->out[0]->use; use; use = next) {
        Node *node = use->node;
        const int operand = use->operand;
        next = use->next;
        if (broadcasts(node) && is_as_large(node, operand, x))
            node_set_input(node, operand, x);
    }
}

void pass_broadcast(Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++) {
        const Node *node = graph->node.at[i];
        if (!node->dead && node_is(node, "Expand") && !node->out[0]->dynamic)
            skip(node);
    }
    pass_dead(graph);
    graph_compact(graph);
}
