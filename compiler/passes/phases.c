/* SPDX-License-Identifier: Apache-2.0
 * A convolution of an image that was taken apart. Some networks begin with every second pixel of
 * every second row (a phase of the image), the four phases side by side as channels, and a Conv of
 * them: Slices and a Concat, or SpaceToDepth. The same Conv reads the image itself: a tap of all
 * phases is a block of pixels, its window and its steps are as many times larger. The weights only
 * change places, and nothing is copied. Requires: types and shapes; NCHW. Ensures: same results but
 * for the order of sums. */
#include <string.h>

#include "ops/ops.h"
#include "ops/ranges.h"
#include "passes/passes.h"

/* Every step[i]th pixel from first[i] on: of rows, i = 0, and of columns. */
typedef struct Phase {
    Tensor *image; /* [N][C][H][W] */
    int64_t first[2];
    int64_t step[2];
} Phase;

/* An image whose phases are all there, step[0] x step[1] of them. */
typedef struct Phases {
    Tensor *image;
    int64_t step[2];
    int inner; /* the axis whose phases follow one another: 1, or 0 for rows */
} Phases;

static Node *maker(const Tensor *tensor)
{
    Node *node = tensor->value ? NULL : tensor->producer;
    return node && !node->dead ? node : NULL;
}

/* What a Slice of rows and columns alone reads, seen from `phase` of its result. */
static bool add_slice(const Node *slice, Phase *phase)
{
    int64_t first[MAX_RANK];
    int64_t step[MAX_RANK];
    const Shape *in = &slice->in[0]->shape;
    const Shape *out = result_shape(slice, 0);
    if (!slice_steps(slice, first, step))
        return false;
    for (int i = 0; i < 2; i++)
        if (in->dim[i] != out->dim[i] || step[i] != 1)
            return false;
    for (int i = 0; i < 2; i++) {
        if (step[2 + i] < 1)
            return false;
        phase->first[i] = first[2 + i] + step[2 + i] * phase->first[i];
        phase->step[i] *= step[2 + i];
    }
    phase->image = slice->in[0];
    return true;
}

/* Is the image made of `count` phases like this one, of which `part` is the shape? */
static bool is_whole(const Phase *phase, const Shape *part, int64_t count)
{
    const Shape *image = &phase->image->shape;
    int64_t phases = 1;
    for (int i = 0; i < 2; i++) {
        const int64_t step = phase->step[i];
        const int64_t pixels = i64_mul(part->dim[2 + i], step);
        if (phase->first[i] >= step)
            return false;
        if (pixels != image->dim[2 + i])
            return false;
        phases = i64_mul(phases, step);
    }
    return phases == count && !phase->image->dynamic;
}

/* One of `count` phases of an image; the Slices that take it may follow one another. */
static bool find_phase(Tensor *part, int64_t count, Phase *phase)
{
    const Node *slice = maker(part);
    *phase = (Phase){ part, { 0, 0 }, { 1, 1 } };
    while (slice && node_is(slice, "Slice") && add_slice(slice, phase)) {
        if (is_whole(phase, &part->shape, count))
            return true;
        slice = maker(phase->image);
    }
    return false;
}

/* Is phase number `at` of all the one that follows from its number? */
static bool is_at(const Phases *all, const Phase *phase, int64_t at)
{
    const int inner = all->inner;
    const int outer = 1 - inner;
    const int64_t row = all->step[inner];
    if (phase->image != all->image)
        return false;
    if (memcmp(phase->step, all->step, sizeof all->step))
        return false;
    if (phase->first[inner] != at % row)
        return false;
    return phase->first[outer] == at / row;
}

static bool find_concat(const Node *concat, Phases *all)
{
    const int64_t count = concat->n_in;
    const int64_t axis = node_int(concat, "axis", 1);
    Phase phase;
    if (count < 2 || node_axis(concat, axis, 4) != 1)
        return false;
    if (!find_phase(concat->in[1], count, &phase))
        return false;
    all->image = phase.image;
    all->inner = phase.first[0] ? 0 : 1;
    memcpy(all->step, phase.step, sizeof all->step);
    for (int64_t i = 0; i < count; i++) {
        if (!find_phase(concat->in[i], count, &phase))
            return false;
        if (!is_at(all, &phase, i))
            return false;
    }
    return true;
}

static bool find_blocks(const Node *node, Phases *all)
{
    const int64_t block = node_int(node, "blocksize", 1);
    all->image = node->in[0];
    all->inner = 1;
    all->step[0] = block;
    all->step[1] = block;
    return !all->image->dynamic;
}

static bool find_phases(const Tensor *parts, Phases *all)
{
    const Node *node = maker(parts);
    if (!node || parts->uses != 1 || parts->shape.rank != 4)
        return false;
    if (node_is(node, "SpaceToDepth"))
        return find_blocks(node, all);
    return node_is(node, "Concat") && find_concat(node, all);
}

/* Is each number of the attribute, which may be left out, 1? */
static bool all_one(const Node *node, const char *attribute)
{
    int64_t count;
    const int64_t *given = node_ints(node, attribute, &count);
    for (int64_t i = 0; given && i < count; i++)
        if (given[i] != 1)
            return false;
    return true;
}

/* A Conv of all channels whose window's pixels lie side by side. */
static bool takes_phases(const Node *node)
{
    if (node->dead || !node_is(node, "Conv"))
        return false;
    const char *pad = node_string(node, "auto_pad", "NOTSET");
    const Tensor *weights = node->in[1];
    if (strcmp(pad, "NOTSET") && strcmp(pad, "VALID"))
        return false;
    if (!weights->value || weights->shape.rank != 4)
        return false;
    return node_int(node, "group", 1) == 1 && all_one(node, "dilations");
}

/* The attribute's `count` numbers, or `otherwise`, as many times as the image has more pixels. */
static void enlarge(Node *node, const char *attribute, int count,
                    int64_t otherwise, const int64_t *step)
{
    int64_t given;
    int64_t value[4];
    const int64_t *old = node_ints(node, attribute, &given);
    for (int i = 0; i < count; i++) {
        const int64_t one = old ? old[i] : otherwise;
        value[i] = i64_mul(one, step[i % 2]);
    }
    node_set_ints(node, attribute, count, value);
}

/* Weights [OC][phases][C][KH][KW] as [OC][C][KH][rows][KW][columns], which is the larger window. */
static Recipe *turn_weights(Store *store, const Tensor *weights,
                            const Phases *all)
{
    const int64_t *w = weights->shape.dim;
    const int row = all->inner ? 1 : 2;
    const int order[] = { 0, 3, 4, row, 5, 3 - row };
    int64_t split[6] = { w[0] };
    int64_t dims[4] = { w[0] };
    dims[1] = w[1] / (all->step[0] * all->step[1]);
    split[row] = all->step[0];
    split[3 - row] = all->step[1];
    split[3] = dims[1];
    for (int i = 0; i < 2; i++) {
        split[4 + i] = w[2 + i];
        dims[2 + i] = i64_mul(w[2 + i], all->step[i]);
    }
    Recipe *recipe = recipe_reshape(store, weights->value, 6, split);
    recipe = recipe_transpose(store, recipe, order);
    return recipe_reshape(store, recipe, 4, dims);
}

static void join(Graph *graph, Node *conv, const Phases *all)
{
    const Tensor *weights = conv->in[1];
    const int64_t *window = weights->shape.dim + 2;
    Recipe *turned = turn_weights(graph->store, weights, all);
    node_set_ints(conv, "kernel_shape", 2, window);
    enlarge(conv, "kernel_shape", 2, 1, all->step);
    enlarge(conv, "strides", 2, 1, all->step);
    enlarge(conv, "pads", 4, 0, all->step);
    node_set_input(conv, 0, all->image);
    node_set_input(conv, 1, graph_add_constant(graph, NULL, turned));
}

void pass_phases(Graph *graph)
{
    const size_t count = graph->node.n;
    for (size_t i = 0; i < count; i++) {
        Node *node = graph->node.at[i];
        Phases all;
        if (takes_phases(node) && find_phases(node->in[0], &all))
            join(graph, node, &all);
    }
    pass_dead(graph);
}
