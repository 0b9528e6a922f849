/* SPDX-License-Identifier: Apache-2.0
 * What reads single elements or rows by index reads them where they lie: a Transpose in front of a
 * Gather moves behind it, where it turns what was read in place of the whole table; a GatherND and
 * the scores of a NonMaxSuppression are told where the axes lie, and the Transpose goes. Used by
 * layout.c. */
#include "base/size.h"
#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* The operand of a node that it reads by index; -1: it is no such node. */
static int table_operand(const Node *node)
{
    if (node_is(node, "Gather") || node_is(node, "GatherND"))
        return 0;
    return node_is(node, "NonMaxSuppression") ? 1 : -1;
}

/* Elements that must be turned behind the node where the table is not. */
static int64_t turned_behind(const Node *node)
{
    return node_is(node, "Gather") ? tensor_count(node->out[0]) : 0;
}

/* Do all readers of a table read it by index, and fewer elements than it has? Then it need not
 * exist in the order that they know. */
static bool read_by_index(const Graph *graph, const Tensor *table)
{
    int64_t behind = 0;
    if (graph_is_output(graph, table))
        return false;
    for (const Use *use = table->use; use; use = use->next) {
        const Node *node = use->node;
        if (node->dead)
            continue;
        if (node->graph != graph || table_operand(node) != use->operand)
            return false;
        behind = i64_add(behind, turned_behind(node));
    }
    return behind < tensor_count(table);
}

/* Where the axes of a Gather's result lie once it goes along axis perm[axis] of the table. */
static void result_axes(int rank, const int *perm, int axis, int indices,
                        int *back)
{
    const int there = perm[axis];
    int at = 0;
    for (int i = 0; i < rank; i++) {
        if (i != axis) {
            const bool before = perm[i] < there;
            back[at++] = before ? perm[i] : perm[i] + indices - 1;
            continue;
        }
        for (int k = 0; k < indices; k++)
            back[at++] = there + k;
    }
}

/* Gather along an axis of the table as it lies. */
static bool sink_gather(Graph *graph, Node *node, Tensor *x, const int *perm)
{
    Tensor *out = node->out[0];
    const int rank = x->shape.rank;
    const int indices = node->in[1]->shape.rank;
    const int axis = node_axis(node, node_int(node, "axis", 0), rank);
    int back[MAX_RANK];
    Shape made = { .rank = out->shape.rank };
    if (out->dynamic)
        return false;
    result_axes(rank, perm, axis, indices, back);
    for (int i = 0; i < made.rank; i++)
        made.dim[back[i]] = out->shape.dim[i];
    node_set_input(node, 0, x);
    node_set_int(node, "axis", perm[axis]);
    Tensor *read = graph_add_tensor(graph, NULL, out->dtype, made);
    node->out[0] = read;
    read->producer = node;
    add_transpose(graph, node, read, back, out);
    return true;
}

/* Axes of the table that index vectors run over may lie in any order, the others in theirs. */
static bool tell_gather_nd(Node *node, Tensor *x, const int *perm)
{
    const Shape *indices = &node->in[1]->shape;
    const int64_t first = node_int(node, "batch_dims", 0);
    const int64_t depth = indices->dim[indices->rank - 1];
    int64_t lies[MAX_RANK];
    if (node_attr(node, "perm"))
        return false;
    for (int i = 0; i < x->shape.rank; i++) {
        const bool named = i >= first && i < first + depth;
        if (!named && perm[i] != i)
            return false;
        lies[i] = perm[i];
    }
    node_set_ints(node, "perm", x->shape.rank, lies);
    node_set_input(node, 0, x);
    return true;
}

/* The scores of a box may lie together. */
static bool tell_suppression(Node *node, Tensor *x, const int *perm)
{
    if (node_int(node, "scores_by_box", 0) || perm[0] != 0)
        return false;
    node_set_int(node, "scores_by_box", 1);
    node_set_input(node, 1, x);
    return true;
}

bool sink_index(Graph *graph, Node *node, const Node *lead, bool *sunk)
{
    const int k = table_operand(node);
    int perm[MAX_RANK] = { 0 };
    *sunk = false;
    if (k < 0 || node->in[k] != lead->out[0])
        return false;
    if (node_is(node, "Gather") && gather_to_slices(graph, node)) {
        *sunk = true;
        return true;
    }
    if (!read_by_index(graph, node->in[k]))
        return true;
    transpose_perm(lead, perm);
    if (node_is(node, "Gather"))
        *sunk = sink_gather(graph, node, lead->in[0], perm);
    else if (node_is(node, "GatherND"))
        *sunk = tell_gather_nd(node, lead->in[0], perm);
    else
        *sunk = tell_suppression(node, lead->in[0], perm);
    return true;
}
