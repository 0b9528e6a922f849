/* SPDX-License-Identifier: Apache-2.0
 * A transposed convolution of bytes is a convolution that makes the stride^2 pixels of a block as
 * channels, which then become pixels. With k = s m + r and blocks of s, pixel s h + r of the result
 * is the sum over m of x[h - m] w[s m + r]: the taps of each r, in reverse. A line is an
 * image of one row. Channels are in the order of the blocks; those of groups, which must stay
 * together, have the pixels of their blocks side by side. */
#include <string.h>

#include "base/size.h"
#include "ops/ops.h"
#include "ops/window.h"
#include "passes/passes.h"
#include "passes/quantize_product.h"
#include "passes/relayout.h"

enum { AXES = 2 };

/* A spatial dimension. */
typedef struct Axis {
    int64_t stride; /* pixels of a block */
    int64_t kernel; /* taps of the transposed convolution */
    int64_t taps;   /* of the convolution */
    int64_t before; /* its padding */
    int64_t after;
    int64_t made; /* blocks that it makes */
    int64_t skip; /* pixels of the first one that are not of the result */
    int64_t size; /* of the result */
} Axis;

typedef struct Blocks {
    Axis row, column;
    int64_t count; /* pixels of a block */
    int64_t images;
    int64_t groups;
    int64_t inputs; /* channels */
    int64_t outputs;
} Blocks;

static bool has_groups(const Blocks *blocks)
{
    return blocks->groups > 1;
}

/* Dimension `at` of the window; false: it is left too far on a side. */
static bool set_axis(const Window *window, int at, Axis *axis)
{
    const WindowAxis *given = window->axis + at;
    const int64_t pad = given->pad;
    const int64_t stride = given->stride;
    axis->stride = stride;
    axis->size = given->out;
    axis->kernel = given->kernel;
    axis->taps = i64_ceil_div(axis->kernel, stride);
    if (given->dilation != 1 || pad < 0)
        return false;
    axis->skip = pad % stride;
    axis->before = axis->taps - 1 - pad / stride;
    const int64_t need = axis->skip + axis->size;
    const int64_t least = given->in + axis->before - axis->taps + 1;
    axis->made = i64_max(i64_ceil_div(need, stride), least);
    axis->after = axis->made - least;
    return axis->before >= 0;
}

/* False: the window is none of those. */
static bool blocks_of(const Node *node, Blocks *blocks)
{
    const Shape *w = &node->in[1]->shape;
    const Window window = window_transposed(node, w->dim + 2);
    if (window.spatial > AXES)
        return false;
    blocks->images = window.images;
    blocks->groups = node_int(node, "group", 1);
    blocks->inputs = w->dim[0];
    blocks->outputs = i64_mul(w->dim[1], blocks->groups);
    if (!set_axis(&window, WINDOW_DIMS - 2, &blocks->row))
        return false;
    if (!set_axis(&window, WINDOW_DIMS - 1, &blocks->column))
        return false;
    blocks->count = i64_mul(blocks->row.stride, blocks->column.stride);
    return true;
}

/* Taps beyond the window's own that fill its blocks up. */
static int64_t filled(const Axis *axis)
{
    return axis->taps * axis->stride - axis->kernel;
}

/* What stands for 0 fills the blocks up: there must be fewer of it than weights. */
static bool may_fill(Graph *graph, const Blocks *blocks, const Weights *w)
{
    const int64_t rows = filled(&blocks->row);
    const int64_t columns = filled(&blocks->column);
    if (rows >= blocks->row.kernel || columns >= blocks->column.kernel)
        return false;
    if ((!rows && !columns) || !weights_are_packed(w))
        return true;
    return quanta_is_zero(graph, w->zero);
}

static Recipe *reversed(Store *store, const Recipe *w, int axis)
{
    const int64_t count = recipe_dims(w)[axis];
    return recipe_slice(store, w, axis, count - 1, -1, count);
}

/* Taps of zero points, one or one for each channel, behind those of w along an axis. */
static Recipe *more_taps(Graph *graph, Recipe *w, const Tensor *zero, int axis,
                         int64_t count)
{
    Store *store = graph->store;
    const int64_t each[] = {
        1,
        tensor_count(zero),
        1,
        1,
    };
    int64_t dims[4];
    if (!count || quanta_is_zero(graph, zero))
        return recipe_pad(store, w, axis, 0, count);
    memcpy(dims, recipe_dims(w), sizeof dims);
    dims[axis] = count;
    Recipe *more = recipe_reshape(store, zero->value, 4, each);
    more = recipe_expand(store, more, 4, dims);
    Recipe *all[] = {
        w,
        more,
    };
    return recipe_concat(store, 2, all, axis);
}

/* Weights [inputs][outputs of a group][rows][columns], filled up to whole blocks. */
static Recipe *filled_weights(Graph *graph, const Product *product,
                              const Blocks *blocks)
{
    const Axis *row = &blocks->row;
    const Axis *column = &blocks->column;
    const Tensor *zero = product->in[W_ZERO];
    const int64_t given[] = {
        blocks->inputs,
        blocks->outputs / blocks->groups,
        row->kernel,
        column->kernel,
    };
    const Recipe *w = product->in[W]->value;
    Recipe *recipe = recipe_reshape(graph->store, w, 4, given);
    recipe = more_taps(graph, recipe, zero, 2, filled(row));
    return more_taps(graph, recipe, zero, 3, filled(column));
}

/* -> [block][outputs][inputs of a group][taps of the convolution]; of groups
 * [outputs][block][inputs of a group][taps]. */
static Recipe *turned_weights(Store *store, Recipe *w, const Blocks *blocks)
{
    static const int by_block[] = { 4, 6, 0, 2, 1, 3, 5 };
    static const int by_output[] = { 0, 2, 4, 6, 1, 3, 5 };
    const Axis *row = &blocks->row;
    const Axis *column = &blocks->column;
    const int64_t inputs = blocks->inputs / blocks->groups;
    const int64_t outputs = blocks->outputs / blocks->groups;
    const int64_t cut[] = {
        blocks->groups, inputs,       outputs,        row->taps,
        row->stride,    column->taps, column->stride,
    };
    const int64_t dims[] = {
        i64_mul(blocks->count, blocks->outputs),
        inputs,
        row->taps,
        column->taps,
    };
    const int *perm = has_groups(blocks) ? by_output : by_block;
    Recipe *recipe = recipe_reshape(store, w, 7, cut);
    recipe = reversed(store, recipe, 3);
    recipe = reversed(store, recipe, 5);
    recipe = recipe_transpose(store, recipe, perm);
    return recipe_reshape(store, recipe, 4, dims);
}

/* Numbers of the channels, again for each pixel of a block. */
static Tensor *for_each_pixel(Graph *graph, const Blocks *blocks, Tensor *each)
{
    Store *store = graph->store;
    const int along = has_groups(blocks) ? 0 : 1;
    const int64_t flat = i64_mul(blocks->count, blocks->outputs);
    int64_t once[] = { 1, 1 };
    int64_t all[] = { blocks->count, blocks->count };
    once[along] = blocks->outputs;
    all[along] = blocks->outputs;
    Recipe *recipe = recipe_reshape(store, each->value, 2, once);
    recipe = recipe_expand(store, recipe, 2, all);
    recipe = recipe_reshape(store, recipe, 1, &flat);
    return graph_add_constant(graph, NULL, recipe);
}

/* So too, but the one number of all channels stays. */
static Tensor *one_or_each(Graph *graph, const Blocks *blocks, Tensor *each)
{
    if (tensor_count(each) == 1)
        return each;
    return for_each_pixel(graph, blocks, each);
}

static Shape image_of(const Blocks *blocks, int64_t channels, int64_t rows,
                      int64_t columns)
{
    const int64_t dims[] = { blocks->images, channels, rows, columns };
    return shape_of(4, dims);
}

/* The convolution: [N][block][OC][made...]. */
static Tensor *convolved(const Build *build, const Blocks *blocks,
                         const Product *product)
{
    const Axis *row = &blocks->row;
    const Axis *column = &blocks->column;
    const int64_t taps[] = { row->taps, column->taps };
    const int64_t pads[] = {
        row->before,
        column->before,
        row->after,
        column->after,
    };
    const int64_t channels = i64_mul(blocks->count, blocks->outputs);
    const Shape shape = image_of(blocks, channels, row->made, column->made);
    Node *made = product_conv(build, product, shape);
    node_set_ints(made, "kernel_shape", 2, taps);
    node_set_ints(made, "pads", 4, pads);
    node_set_int(made, "group", blocks->groups);
    return made->out[0];
}

/* [N][block][OC][made], of groups [N][OC][block][made] -> [N][OC][made][block], by row and
 * column. */
static Tensor *transposed(const Build *build, const Blocks *blocks, Tensor *x)
{
    static const int by_block[] = { 0, 3, 4, 1, 5, 2 };
    static const int by_output[] = { 0, 1, 4, 2, 5, 3 };
    const bool groups = has_groups(blocks);
    const int *perm = groups ? by_output : by_block;
    const int row = groups ? 2 : 1;
    int64_t dims[] = {
        blocks->images,  blocks->outputs,  blocks->outputs,
        blocks->outputs, blocks->row.made, blocks->column.made,
    };
    dims[row] = blocks->row.stride;
    dims[row + 1] = blocks->column.stride;
    Graph *graph = build->graph;
    const Shape apart = shape_of(6, dims);
    const Shape shape = shape_permuted(&apart, perm);
    x = quanta_reshape(graph, build->end, x, apart);
    Tensor *y = graph_add_tensor(graph, NULL, x->dtype, shape);
    add_transpose(graph, build->end, x, perm, y);
    return y;
}

/* Channels become pixels. */
static Tensor *spread(const Build *build, const Blocks *blocks, Tensor *x)
{
    const Axis *row = &blocks->row;
    const Axis *column = &blocks->column;
    const int64_t rows = i64_mul(row->made, row->stride);
    const int64_t columns = i64_mul(column->made, column->stride);
    const Shape shape = image_of(blocks, blocks->outputs, rows, columns);
    if (row->stride != column->stride) {
        x = transposed(build, blocks, x);
        return quanta_reshape(build->graph, build->end, x, shape);
    }
    Node *made = quanta_insert(build->graph, build->end, "", "DepthToSpace", 1,
                               &x, x->dtype, shape);
    node_set_int(made, "blocksize", row->stride);
    if (has_groups(blocks))
        node_set_string(made, "mode", "CRD");
    return made->out[0];
}

/* What is of the result. */
static Tensor *cropped(const Build *build, const Blocks *blocks, Tensor *x)
{
    static const int64_t axes[] = { 2, 3 };
    const Axis *row = &blocks->row;
    const Axis *column = &blocks->column;
    const Shape shape =
        image_of(blocks, blocks->outputs, row->size, column->size);
    const int64_t start[] = { row->skip, column->skip };
    const int64_t end[] = {
        row->skip + row->size,
        column->skip + column->size,
    };
    Graph *graph = build->graph;
    Tensor *in[] = {
        x,
        graph_add_ints(graph, NULL, AXES, start),
        graph_add_ints(graph, NULL, AXES, end),
        graph_add_ints(graph, NULL, AXES, axes),
    };
    if (shape_equal(&x->shape, &shape))
        return x;
    Node *made =
        quanta_insert(graph, build->end, "", "Slice", 4, in, x->dtype, shape);
    return made->out[0];
}

/* The operands of the convolution. */
static void turn_operands(const Build *build, const Blocks *blocks,
                          Product *product)
{
    Graph *graph = build->graph;
    Tensor **in = product->in;
    Tensor **bias = in + (build->q ? BIAS : FLOAT_BIAS);
    const Shape *x = &in[X]->shape;
    const int64_t columns = x->dim[x->rank - 1];
    const int64_t rows = x->rank == 4 ? x->dim[2] : 1;
    const Shape image = image_of(blocks, blocks->inputs, rows, columns);
    Recipe *weights = filled_weights(graph, product, blocks);
    weights = turned_weights(graph->store, weights, blocks);
    in[X] = quanta_reshape(graph, build->end, in[X], image);
    in[W] = graph_add_constant(graph, NULL, weights);
    in[W_SCALE] = one_or_each(graph, blocks, in[W_SCALE]);
    in[W_ZERO] = one_or_each(graph, blocks, in[W_ZERO]);
    if (node_in(build->node, 2))
        *bias = for_each_pixel(graph, blocks, *bias);
}

/* Groups share scales that are stated for the outputs of one: they must all be the same. */
static bool scales_fit(const Blocks *blocks, const Weights *w)
{
    if (!has_groups(blocks))
        return true;
    return tensor_count(w->scale) == 1 &&
           (!w->zero || tensor_count(w->zero) == 1);
}

/* Finds factors and geometry; false: there is no such convolution. */
static bool find_blocks(const Build *build, Product *product, Blocks *blocks)
{
    const Node *node = build->node;
    if (node_in(node, 3) || !product_find(build, 1, product))
        return false;
    if (!product->w.bytes->value)
        return false;
    if (!blocks_of(node, blocks))
        return false;
    const int64_t weights = tensor_count(product->w.bytes);
    if (blocks->outputs < 1 || !product_fits(weights / blocks->outputs))
        return false;
    if (!scales_fit(blocks, &product->w))
        return false;
    return may_fill(build->graph, blocks, &product->w);
}

Tensor *build_deconv(Build *build)
{
    Tensor *bias = node_in(build->node, 2);
    Product product;
    Blocks blocks;
    if (!find_blocks(build, &product, &blocks))
        return NULL;
    product_operands(build, &product);
    if (!product_bias(build, &product, bias, blocks.outputs))
        return NULL;
    turn_operands(build, &blocks, &product);
    Tensor *y = convolved(build, &blocks, &product);
    y = spread(build, &blocks, y);
    y = cropped(build, &blocks, y);
    return quanta_reshape(build->graph, build->end, y,
                          build->end->out[0]->shape);
}
