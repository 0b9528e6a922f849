/* SPDX-License-Identifier: Apache-2.0
 * A ScatterND whose constant indices name a box of its data writes a part of a tensor, as exporters
 * spell `cache[:, :2] = new`. What reads elements in front of the box, behind or inside of it reads
 * the data or the updates themselves; boxes that cover the whole data, one after the other along
 * an axis, are a Concat of the updates. Requires: types and shapes. Ensures: same results; indices
 * that nobody needs are gone, those of whole lines name lines. */
#include <string.h>

#include "ops/ranges.h"
#include "ops/expand.h"
#include "passes/passes.h"

enum { MOST_PARTS = 64 }; /* of a concatenation, and of boxes that are passed */

/* What a ScatterND writes, by the id of its result; NULL: no box. */
typedef struct Scatters {
    Graph *graph;
    int ids;
    const Ranges **box;
} Scatters;

/* ---- boxes of indices ---- */

/* Goes on to the next place of a box, the last dimension first. */
static void box_next(const Ranges *box, int depth, int64_t *at)
{
    for (int i = depth; i-- > 0;) {
        if (++at[i] < box->to[i])
            return;
        at[i] = box->from[i];
    }
}

/* Behind the data where it is too large for a place. */
static int64_t place_of(int64_t index, int64_t size)
{
    if (index >= size)
        return size;
    return index < 0 ? index + size : index;
}

/* Sides from the first and the last vector; false: those are of no box within the data. */
static bool take_ends(const int64_t *index, int64_t vectors, int depth,
                      const Shape *data, Ranges *box)
{
    const int64_t *last = index + (vectors - 1) * depth;
    int64_t left = vectors;
    for (int i = 0; i < data->rank; i++) {
        const int64_t size = data->dim[i];
        const int64_t first = i < depth ? place_of(index[i], size) : 0;
        const int64_t end = i < depth ? place_of(last[i], size) : size - 1;
        if (first < 0 || end < first || end >= size)
            return false;
        const int64_t side = i < depth ? end - first + 1 : 1;
        if (left % side)
            return false;
        box->from[i] = first;
        box->to[i] = end + 1;
        left /= side;
    }
    return left == 1;
}

/* Do the vectors name each place of a box, the last dimension first? */
static bool take_box(const int64_t *index, int64_t vectors, int depth,
                     const Shape *data, Ranges *box)
{
    int64_t at[MAX_RANK];
    if (!take_ends(index, vectors, depth, data, box))
        return false;
    memcpy(at, box->from, sizeof at);
    for (int64_t k = 0; k < vectors; k++, index += depth) {
        for (int i = 0; i < depth; i++)
            if (place_of(index[i], data->dim[i]) != at[i])
                return false;
        box_next(box, depth, at);
    }
    return true;
}

/* Values whose elements may be named one by one, of sizes known now. */
static bool is_fixed(const Tensor *tensor)
{
    return tensor && !tensor->dynamic && !tensor->sequence &&
           tensor->shape.rank > 0 && tensor_count(tensor) > 0 &&
           dtype_bits(tensor->dtype) >= 8;
}

static const Ranges *box_of(Graph *graph, const Node *node)
{
    Ranges box;
    int64_t count;
    if (!node_is(node, "ScatterND") || !is_fixed(node->out[0]) ||
        !is_fixed(node->in[0]) || !is_fixed(node->in[2]))
        return NULL;
    if (strcmp(node_string(node, "reduction", "none"), "none"))
        return NULL;
    const int64_t *index = tensor_ints(graph, node->in[1], &count);
    const Shape *named = node_shape(node, 1);
    const int64_t depth = named->rank ? named->dim[named->rank - 1] : 0;
    if (!index || !count || !depth)
        return NULL;
    if (!take_box(index, count / depth, (int)depth, node_shape(node, 0), &box))
        return NULL;
    return arena_copy(graph->arena, &box, sizeof box);
}

/* The ScatterND of a box that makes the tensor; NULL: none. */
static Node *writer_of(const Scatters *scatters, const Tensor *tensor)
{
    Node *node = tensor->producer;
    if (!node || node->dead || node->graph != scatters->graph ||
        tensor->id >= scatters->ids || !scatters->box[tensor->id])
        return NULL;
    return node;
}

static bool writes_box(const Scatters *scatters, const Node *node)
{
    const Tensor *result = node_out(node, 0);
    return result && writer_of(scatters, result) == node;
}

static const Ranges *written_by(const Scatters *scatters, const Node *writer)
{
    return scatters->box[writer->out[0]->id];
}

/* The updates as a box of the data's rank. */
static Tensor *updates_of(Node *writer, const Ranges *box)
{
    const int rank = writer->in[0]->shape.rank;
    int64_t side[MAX_RANK];
    for (int i = 0; i < rank; i++)
        side[i] = box->to[i] - box->from[i];
    return expand_reshape(writer, writer->in[2], rank, side);
}

/* ---- readers of a part ---- */

/* What a Slice or a Gather of neighbours reads of its operand 0. */
static bool read_box(const Node *node, Ranges *box)
{
    if (node->n_out != 1 || !is_fixed(node->in[0]) || !is_fixed(node->out[0]))
        return false;
    if (node_is(node, "Slice"))
        return slice_ranges(node, box);
    return node_is(node, "Gather") && gather_ranges(node, box);
}

static bool are_apart(const Ranges *a, const Ranges *b, int rank)
{
    for (int i = 0; i < rank; i++)
        if (a->to[i] <= b->from[i] || b->to[i] <= a->from[i])
            return true;
    return false;
}

static bool is_inside(const Ranges *in, const Ranges *out, int rank)
{
    for (int i = 0; i < rank; i++)
        if (in->from[i] < out->from[i])
            return false;
    for (int i = 0; i < rank; i++)
        if (in->to[i] > out->to[i])
            return false;
    return true;
}

/* The reader's result, of the updates: a Slice under the shape of the result. */
static void read_updates(Node *node, Node *writer, const Ranges *part,
                         const Ranges *box)
{
    const Shape *shape = result_shape(node, 0);
    Tensor *result = updates_of(writer, box);
    for (int i = 0; i < writer->in[0]->shape.rank; i++)
        result = expand_slice(node, result, i, part->from[i] - box->from[i],
                              part->to[i] - box->from[i]);
    result = expand_reshape(node, result, shape->rank, shape->dim);
    expand_finish_one(node, result);
}

static void read_through(const Scatters *scatters, Node *node)
{
    Ranges part;
    if (!node_in(node, 0) || !writer_of(scatters, node->in[0]) ||
        !read_box(node, &part))
        return;
    for (int k = 0; k < MOST_PARTS; k++) {
        Tensor *data = node->in[0];
        Node *writer = writer_of(scatters, data);
        const Ranges *box = writer ? scatters->box[data->id] : NULL;
        if (!box)
            return;
        if (are_apart(&part, box, data->shape.rank)) {
            node_set_input(node, 0, writer->in[0]);
        } else {
            if (is_inside(&part, box, data->shape.rank))
                read_updates(node, writer, &part, box);
            return;
        }
    }
}

/* ---- boxes that cover all ---- */

/* Writers of slabs along an axis, by their places there. */
typedef struct Cover {
    int axis;
    int n;
    int64_t left; /* of the axis */
    Node *writer[MOST_PARTS];
    const Ranges *box[MOST_PARTS];
} Cover;

/* The only axis of which the box has a part; -1: it has all, -2: there are several. */
static int axis_of(const Ranges *box, const Shape *shape)
{
    int found = -1;
    for (int i = 0; i < shape->rank; i++) {
        if (box->to[i] - box->from[i] == shape->dim[i])
            continue;
        if (found >= 0)
            return -2;
        found = i;
    }
    return found;
}

/* Puts a slab at its place; false: it lies over another. */
static bool add_slab(Cover *cover, Node *writer, const Ranges *box)
{
    const int axis = cover->axis;
    int at = cover->n;
    for (; at && cover->box[at - 1]->from[axis] > box->from[axis]; at--) {
        cover->box[at] = cover->box[at - 1];
        cover->writer[at] = cover->writer[at - 1];
    }
    cover->box[at] = box;
    cover->writer[at] = writer;
    cover->n++;
    cover->left -= box->to[axis] - box->from[axis];
    if (at && cover->box[at - 1]->to[axis] > box->from[axis])
        return false;
    return at + 1 == cover->n ||
           box->to[axis] <= cover->box[at + 1]->from[axis];
}

static void cover_begin(Cover *cover, const Shape *shape, int axis)
{
    cover->axis = axis;
    cover->left = shape->dim[axis];
}

/* The writers from this one upwards that leave nothing of the data. */
static bool covers_all(const Scatters *scatters, Node *last, Cover *cover)
{
    const Shape *shape = result_shape(last, 0);
    Node *writer = last;
    while (writer && cover->n < MOST_PARTS) {
        const Ranges *box = written_by(scatters, writer);
        const int axis = axis_of(box, shape);
        if (!cover->n)
            cover_begin(cover, shape, axis < 0 ? 0 : axis);
        if (axis == -2 || (axis >= 0 && axis != cover->axis) ||
            !add_slab(cover, writer, box))
            return false;
        if (!cover->left)
            return true;
        writer = writer_of(scatters, writer->in[0]);
    }
    return false;
}

static void join_updates(const Scatters *scatters, Node *last)
{
    Cover cover = { .n = 0 };
    if (!covers_all(scatters, last, &cover))
        return;
    Tensor *part[MOST_PARTS];
    for (int i = 0; i < cover.n; i++)
        part[i] = updates_of(cover.writer[i], cover.box[i]);
    Tensor *result = part[0];
    if (cover.n > 1) {
        Node *concat = expand_node(last, "Concat", cover.n, part, 1);
        node_set_int(concat, "axis", cover.axis);
        result = expand_done(concat);
    }
    scatters->box[last->out[0]->id] = NULL;
    expand_finish_one(last, result);
}

/* ---- whole lines ---- */

/* Indices of the first `depth` dimensions of a box. */
static Tensor *name_places(Graph *graph, const Ranges *box, int depth)
{
    Shape shape = { .rank = depth + 1 };
    int64_t at[MAX_RANK];
    for (int i = 0; i < depth; i++)
        shape.dim[i] = box->to[i] - box->from[i];
    shape.dim[depth] = depth;
    const int64_t count = shape_count(&shape);
    int64_t *index = NEW_ARRAY(graph->arena, int64_t, count);
    memcpy(at, box->from, sizeof at);
    for (int64_t k = 0; k < count; k += depth) {
        memcpy(index + k, at, (size_t)depth * sizeof *at);
        box_next(box, depth, at);
    }
    return graph_add_constant(
        graph, NULL,
        recipe_memory(graph->store, DT_I64, shape.rank, shape.dim, index));
}

/* Vectors that name all of the last dimensions need not name those: an index stands for a line. */
static void name_lines(const Scatters *scatters, Node *node)
{
    const Ranges *box = written_by(scatters, node);
    const Shape *data = node_shape(node, 0);
    const Shape *named = node_shape(node, 1);
    const int given = (int)named->dim[named->rank - 1];
    int depth = given;
    while (depth > 1 && !box->from[depth - 1] &&
           box->to[depth - 1] == data->dim[depth - 1])
        depth--;
    if (depth == given)
        return;
    Tensor *updates = updates_of(node, box);
    node_set_input(node, 1, name_places(scatters->graph, box, depth));
    node_set_input(node, 2, updates);
}

static bool find_boxes(const Scatters *scatters)
{
    Graph *graph = scatters->graph;
    bool some = false;
    for (size_t i = 0; i < graph->node.n; i++) {
        const Node *node = graph->node.at[i];
        const Ranges *box = box_of(graph, node);
        if (!box)
            continue;
        scatters->box[node->out[0]->id] = box;
        some = true;
    }
    return some;
}

/* All nodes that there were; those that are made need no look. */
static void rewrite(const Scatters *scatters)
{
    Graph *graph = scatters->graph;
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++)
        read_through(scatters, graph->node.at[i]);
    for (size_t i = count; i-- > 0;)
        if (writes_box(scatters, graph->node.at[i]))
            join_updates(scatters, graph->node.at[i]);
    for (size_t i = 0; i < count; i++)
        if (writes_box(scatters, graph->node.at[i]))
            name_lines(scatters, graph->node.at[i]);
}

void pass_boxes(Graph *graph)
{
    const int ids = graph_root(graph)->next_id;
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Scatters scatters = {
        .graph = graph,
        .ids = ids,
        .box = NEW_ARRAY(scratch, const Ranges *, ids),
    };
    const bool found = find_boxes(&scatters);
    if (found)
        rewrite(&scatters);
    arena_release(scratch, mark);
    if (!found)
        return;
    graph_sort(graph);
    pass_dead(graph);
}
