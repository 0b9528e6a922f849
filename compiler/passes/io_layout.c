/* SPDX-License-Identifier: Apache-2.0
 * An input or result that lies in the arena takes the layout that the steps beside it want: the
 * transposition between them is the caller's, who writes or reads the pixels in that order from the
 * start. Requires: layout done. Ensures: such tensors have perm. */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* From now on t's dimension i is what its dimension perm[i] was. */
static void permute(Graph *graph, Tensor *tensor, const int *perm)
{
    const Shape old = tensor->shape;
    for (int i = 0; i < old.rank; i++)
        tensor->shape.dim[i] = old.dim[perm[i]];
    tensor->perm =
        arena_copy(graph->arena, perm, (size_t)old.rank * sizeof *perm);
}

static bool can_turn(const Tensor *tensor)
{
    return !tensor->dynamic && !tensor->perm && dtype_bits(tensor->dtype) >= 8;
}

/* The permutation by which all nodes that read tensor begin; false: they do not. */
static bool common_perm(const Graph *g, const Tensor *tensor, int *perm)
{
    const Node *first = NULL;
    int other[MAX_RANK];
    if (!can_turn(tensor) || !tensor->use)
        return false;
    if (graph_is_output(g, tensor))
        return false;
    for (const Use *u = tensor->use; u; u = u->next) {
        if (!node_is(u->node, "Transpose") || u->node->graph != g ||
            graph_is_output(g, u->node->out[0]))
            return false;
        transpose_perm(u->node, first ? other : perm);
        if (first &&
            memcmp(perm, other, (size_t)tensor->shape.rank * sizeof *perm))
            return false;
        first = u->node;
    }
    return true;
}

static void turn_input(Graph *graph, Tensor *tensor)
{
    int perm[MAX_RANK] = { 0 };
    if (!common_perm(graph, tensor, perm))
        return;
    VEC(Node *) turns = { 0 };
    for (const Use *u = tensor->use; u; u = u->next)
        VEC_PUSH(graph->arena, &turns, u->node);
    permute(graph, tensor, perm);
    for (size_t i = 0; i < turns.n; i++) {
        Tensor *turned = turns.at[i]->out[0];
        graph_kill(turns.at[i]);
        graph_replace(graph, turned, tensor);
    }
}

static bool is_input(const Graph *graph, const Tensor *tensor)
{
    for (size_t i = 0; i < graph->input.n; i++)
        if (graph->input.at[i] == tensor)
            return true;
    return false;
}

/* tensor = Transpose(made): made's node makes tensor instead. */
static void turn_output(Graph *graph, Tensor *tensor)
{
    Node *node = tensor->producer;
    int perm[MAX_RANK];
    int back[MAX_RANK] = { 0 };
    if (!node || node->dead || !node_is(node, "Transpose") ||
        tensor->uses != 1 || !can_turn(tensor))
        return;
    Tensor *made = node->in[0];
    if (made->value || !made->producer || made->dynamic ||
        is_input(graph, made) || graph_is_output(graph, made))
        return;
    transpose_perm(node, perm);
    for (int i = 0; i < tensor->shape.rank; i++)
        back[perm[i]] = i;
    Node *maker = made->producer;
    graph_kill(node);
    permute(graph, tensor, back);
    graph_replace(graph, made, tensor);
    for (int i = 0; i < maker->n_out; i++)
        if (maker->out[i] == made)
            maker->out[i] = tensor;
    tensor->producer = maker;
}

/* A state is read and written by steps that may want it otherwise. */
static bool may_turn(IoForm form)
{
    return form == IO_ARENA || form == IO_ROWS;
}

void pass_io_layout(Graph *graph)
{
    for (size_t i = 0; i < graph->input.n; i++)
        if (may_turn(graph_in_form(graph, i)))
            turn_input(graph, graph->input.at[i]);
    for (size_t i = 0; i < graph_results(graph); i++)
        if (may_turn(graph_out_form(graph, i)))
            turn_output(graph, graph->output.at[i]);
    graph_sort(graph);
}
