/* SPDX-License-Identifier: Apache-2.0
 * A Transpose in front of a Reshape moves behind it, where the Reshape joins only dimensions that
 * lie side by side in the operand of the Transpose. A channel shuffle (split, turn, join) of an
 * image that lies channels last becomes a turn of the channels of each pixel. Used by layout.c,
 * which merges and cancels what comes out. */
#include <string.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/relayout.h"

/* Axes [from, to) of y, the operand of the Reshape, are axes [out_from, out_to) of its result. */
typedef struct Segment {
    int from, to, out_from, out_to;
    int place; /* first of its axes in x, where y = Transpose(x) */
} Segment;

typedef struct Split {
    Segment segment[MAX_RANK];
    int n;
} Split;

static bool split_shapes(const Shape *y, const Shape *out, Split *split)
{
    int i = 0;
    int j = 0;
    split->n = 0;
    while (i < y->rank && j < out->rank) {
        Segment *g = split->segment + split->n++;
        *g = (Segment){
            .from = i,
            .out_from = j,
        };
        int64_t a = y->dim[i++];
        int64_t b = out->dim[j++];
        if (a <= 0 || b <= 0)
            return false;
        while (a != b) {
            if (a < b ? i == y->rank : j == out->rank)
                return false;
            if (a < b)
                a *= y->dim[i++];
            else
                b *= out->dim[j++];
        }
        g->to = i, g->out_to = j;
    }
    if (!split->n)
        return false;
    split->segment[split->n - 1].to = y->rank; /* ones at the end */
    split->segment[split->n - 1].out_to = out->rank;
    return true;
}

/* How the axes of each segment lie in x (those of size 1 do not count): in order, or at least with
 * none of others between. */
static void look(const Shape *y, const int *perm, Split *split, bool *in_order,
                 bool *together)
{
    int owner[MAX_RANK];
    *in_order = *together = true;
    for (int k = 0; k < split->n; k++) {
        Segment *g = split->segment + k;
        int last = -1;
        g->place = MAX_RANK;
        for (int i = g->from; i < g->to; i++) {
            owner[perm[i]] = y->dim[i] > 1 ? k : -1;
            if (y->dim[i] == 1)
                continue;
            if (perm[i] < last)
                *in_order = false;
            last = perm[i];
            if (perm[i] < g->place)
                g->place = perm[i];
        }
        if (g->place == MAX_RANK)
            g->place = perm[g->from];
    }
    bool left[MAX_RANK] = { false };
    for (int i = 0, now = -1; i < y->rank; i++) {
        if (owner[i] < 0 || owner[i] == now)
            continue;
        if (left[owner[i]])
            *in_order = *together = false;
        left[now = owner[i]] = true;
    }
}

static void sort_by_place(const Split *split, int *order)
{
    for (int k = 0; k < split->n; k++) {
        int i = k;
        for (;
             i && split->segment[order[i - 1]].place > split->segment[k].place;
             i--)
            order[i] = order[i - 1];
        order[i] = k;
    }
}

/* The result's dims with the segments as they lie in x, and where each axis of the result is among
 * them. */
static Shape arrange(const Split *split, const int *order, const Shape *out,
                     int *perm)
{
    Shape made = { .rank = 0 };
    for (int k = 0; k < split->n; k++) {
        const Segment *g = split->segment + order[k];
        for (int j = g->out_from; j < g->out_to; j++) {
            perm[j] = made.rank;
            made.dim[made.rank++] = out->dim[j];
        }
    }
    return made;
}

/* Transposes x so that the axes within each segment are in the order of y; the segments stay as
 * they are. */
static Tensor *turn_inside(Graph *graph, Node *node, Tensor *x, const int *perm,
                           const Split *split, const int *order)
{
    int inner[MAX_RANK];
    int at = 0;
    for (int k = 0; k < split->n; k++)
        for (int i = split->segment[order[k]].from;
             i < split->segment[order[k]].to; i++)
            inner[at++] = perm[i];
    return insert_transpose(graph, node, x, inner);
}

/* Is it the turn from channels last to channels first? */
static bool is_to_first(int rank, const int *perm)
{
    if (rank < 3 || perm[0] != 0 || perm[1] != rank - 1)
        return false;
    for (int i = 2; i < rank; i++)
        if (perm[i] != i - 1)
            return false;
    return true;
}

bool sink_reshape(Graph *graph, Node *node, Tensor *x, const int *perm)
{
    const Tensor *y = node->in[0];
    Tensor *out = node->out[0];
    Split split;
    int order[MAX_RANK], back[MAX_RANK];
    bool in_order, together;
    if (y->uses != 1 || !split_shapes(&y->shape, &out->shape, &split))
        return false;
    look(&y->shape, perm, &split, &in_order, &together);
    if (!together)
        return false;
    sort_by_place(&split, order);
    const Shape made = arrange(&split, order, &out->shape, back);
    if (!in_order && !is_to_first(made.rank, back))
        return false;
    if (!in_order)
        x = turn_inside(graph, node, x, perm, &split, order);
    Tensor *in[2] = { x, graph_add_ints(graph, NULL, made.rank, made.dim) };
    Tensor *flat = graph_add_tensor(graph, NULL, out->dtype, made);
    node_set_op(node, "", "Reshape");
    node->n_attr = 0;
    node->version = OPSET_NEWEST;
    node->op = op_find("", "Reshape", OPSET_NEWEST);
    node_set_inputs(node, 2, in);
    node->out[0] = flat;
    flat->producer = node;
    add_transpose(graph, node, flat, back, out);
    return true;
}

/* Gather of one constant place along an axis: a Slice, and a Reshape where the axis goes. */
bool gather_to_slice(Graph *graph, Node *node)
{
    int64_t count;
    const int64_t *index = tensor_ints(graph, node->in[1], &count);
    const int axis =
        node_axis(node, node_int(node, "axis", 0), node->in[0]->shape.rank);
    if (!index || count != 1)
        return false;
    Shape part = node->in[0]->shape;
    const int64_t from = *index < 0 ? *index + part.dim[axis] : *index;
    const int64_t to = from + 1;
    const int64_t along = axis;
    part.dim[axis] = 1;
    Tensor *starts = graph_add_ints(graph, NULL, 1, &from);
    Tensor *ends = graph_add_ints(graph, NULL, 1, &to);
    Tensor *axes = graph_add_ints(graph, NULL, 1, &along);
    Tensor *in[4] = { node->in[0], starts, ends, axes };
    Tensor *piece = graph_add_tensor(graph, NULL, node->out[0]->dtype, part);
    Node *slice = graph_insert_node(graph, node, "", "Slice", 4, in, 1, &piece);
    slice->version = OPSET_NEWEST;
    slice->op = op_find("", "Slice", OPSET_NEWEST);
    Tensor *operand[2] = { piece,
                           graph_add_ints(graph, NULL, node->out[0]->shape.rank,
                                          node->out[0]->shape.dim) };
    node_set_op(node, "", "Reshape");
    node->n_attr = 0;
    node->version = OPSET_NEWEST;
    node->op = op_find("", "Reshape", OPSET_NEWEST);
    node_set_inputs(node, 2, operand);
    return true;
}
