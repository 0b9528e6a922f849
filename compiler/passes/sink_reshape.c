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
        g->to = i;
        g->out_to = j;
    }
    if (!split->n)
        return false;
    split->segment[split->n - 1].to = y->rank; /* ones at the end */
    split->segment[split->n - 1].out_to = out->rank;
    return true;
}

/* Where each segment begins in x. Are the axes of each in order there? Those of size 1 do not
 * count, but where there are no others. */
static bool find_places(const Shape *y, const int *perm, Split *split)
{
    bool in_order = true;
    for (int k = 0; k < split->n; k++) {
        Segment *g = split->segment + k;
        int last = -1;
        g->place = MAX_RANK;
        for (int i = g->from; i < g->to; i++) {
            if (y->dim[i] == 1)
                continue;
            if (perm[i] < last)
                in_order = false;
            last = perm[i];
            if (last < g->place)
                g->place = last;
        }
        if (g->place == MAX_RANK)
            g->place = perm[g->from];
    }
    return in_order;
}

/* Do the axes of each segment lie in x with none of others between? */
static bool are_together(const Shape *y, const int *perm, const Split *split)
{
    int owner[MAX_RANK];
    bool left[MAX_RANK] = { false };
    int now = -1;
    for (int k = 0; k < split->n; k++)
        for (int i = split->segment[k].from; i < split->segment[k].to; i++)
            owner[perm[i]] = y->dim[i] > 1 ? k : -1;
    for (int i = 0; i < y->rank; i++) {
        if (owner[i] < 0 || owner[i] == now)
            continue;
        if (left[owner[i]])
            return false;
        now = owner[i];
        left[now] = true;
    }
    return true;
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

bool sink_reshape(Graph *graph, Node *node, Tensor *x, const int *perm)
{
    Tensor *out = node->out[0];
    Split split;
    int order[MAX_RANK], back[MAX_RANK];
    const Shape *shape = &node->in[0]->shape;
    if (node->in[0]->uses != 1 || !split_shapes(shape, &out->shape, &split))
        return false;
    const bool in_order = find_places(shape, perm, &split);
    if (!are_together(shape, perm, &split))
        return false;
    sort_by_place(&split, order);
    const Shape made = arrange(&split, order, &out->shape, back);
    if (!in_order) {
        if (!turns_to_planes(made.rank, back))
            return false;
        x = turn_inside(graph, node, x, perm, &split, order);
    }
    become_reshape(graph, node, x, &made);
    Tensor *flat = graph_add_tensor(graph, NULL, out->dtype, made);
    node->out[0] = flat;
    flat->producer = node;
    add_transpose(graph, node, flat, back, out);
    return true;
}

/* Elements of an axis that follow one another. */
typedef struct Run {
    int64_t first, count;
} Run;

enum { MOST_RUNS = 8 }; /* more would be more steps than they are worth */

/* The part of x in front of a node. */
static Tensor *insert_slice(Graph *graph, const Node *before, Tensor *x,
                            int64_t axis, Run run)
{
    const int64_t end = run.first + run.count;
    Shape part = x->shape;
    part.dim[axis] = run.count;
    Tensor *starts = graph_add_ints(graph, NULL, 1, &run.first);
    Tensor *ends = graph_add_ints(graph, NULL, 1, &end);
    Tensor *axes = graph_add_ints(graph, NULL, 1, &axis);
    Tensor *in[4] = { x, starts, ends, axes };
    Tensor *out = graph_add_tensor(graph, NULL, x->dtype, part);
    Node *slice = graph_insert_node(graph, before, "", "Slice", 4, in, 1, &out);
    slice->version = OPSET_NEWEST;
    slice->op = op_find("", "Slice", OPSET_NEWEST);
    return out;
}

/* The places, of an axis of `size`, as runs; 0: there are too many, or one is none of the axis. */
static int runs_of(const int64_t *place, int64_t count, int64_t size, Run *run)
{
    int n = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = place[i] < 0 ? place[i] + size : place[i];
        if (at < 0 || at >= size)
            return 0;
        if (n && at == run[n - 1].first + run[n - 1].count) {
            run[n - 1].count++;
            continue;
        }
        if (n == MOST_RUNS)
            return 0;
        run[n++] = (Run){ .first = at, .count = 1 };
    }
    return n;
}

static void become_concat(Node *node, int axis, int parts, Tensor *const *part)
{
    node_set_op(node, "", "Concat");
    node->version = OPSET_NEWEST;
    node->op = op_find("", "Concat", OPSET_NEWEST);
    node_set_int(node, "axis", axis);
    node_set_inputs(node, parts, part);
}

bool gather_to_slices(Graph *graph, Node *node)
{
    Tensor *x = node->in[0];
    Tensor *part[MOST_RUNS];
    Run run[MOST_RUNS];
    int64_t count;
    const int64_t *place = tensor_ints(graph, node->in[1], &count);
    const int axis = node_axis(node, node_int(node, "axis", 0), x->shape.rank);
    const int n = place ? runs_of(place, count, x->shape.dim[axis], run) : 0;
    if (!n || (count > 1 && node->in[1]->shape.rank != 1))
        return false;
    for (int i = 0; i < n; i++)
        part[i] = insert_slice(graph, node, x, axis, run[i]);
    if (count == 1)
        become_reshape(graph, node, part[0], &node->out[0]->shape);
    else
        become_concat(node, axis, n, part);
    return true;
}
