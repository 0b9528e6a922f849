/* SPDX-License-Identifier: Apache-2.0
 * A transposed convolution of bytes is a convolution that makes the stride^2 pixels of a block as
 * channels, which then become pixels. With k = s m + r and blocks of s, pixel s h + r of the result
 * is the sum over m of x[h - m] w[s m + r]: the taps of each r, in reverse. A line is an
 * image of one row. */
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
    int64_t inputs; /* channels */
    int64_t outputs;
} Blocks;

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
    const int64_t groups = node_int(node, "group", 1);
    if (window.spatial > AXES || groups != 1)
        return false;
    blocks->images = window.images;
    blocks->inputs = w->dim[0];
    blocks->outputs = w->dim[1];
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

/* Zeros fill the blocks up: zero points must be, and there must be fewer than weights. */
static bool may_fill(Graph *graph, const Blocks *blocks, const Weights *w)
{
    const int64_t rows = filled(&blocks->row);
    const int64_t columns = filled(&blocks->column);
    if (rows >= blocks->row.kernel || columns >= blocks->column.kernel)
        return false;
    if (!rows && !columns)
        return true;
    return quanta_is_zero(graph, w->zero);
}

static Recipe *reversed(Store *store, const Recipe *w, int axis)
{
    const int64_t count = recipe_dims(w)[axis];
    return recipe_slice(store, w, axis, count - 1, -1, count);
}

/* w [IC][OC][rows][columns], filled up to whole blocks. */
static Recipe *filled_weights(Store *store, const Recipe *w,
                              const Blocks *blocks)
{
    const Axis *row = &blocks->row;
    const Axis *column = &blocks->column;
    const int64_t given[] = {
        blocks->inputs,
        blocks->outputs,
        row->kernel,
        column->kernel,
    };
    Recipe *recipe = recipe_reshape(store, w, 4, given);
    recipe = recipe_pad(store, recipe, 2, 0, filled(row));
    return recipe_pad(store, recipe, 3, 0, filled(column));
}

/* -> [block][OC][IC][taps of the convolution]. */
static Recipe *turned_weights(Store *store, const Recipe *w,
                              const Blocks *blocks)
{
    static const int perm[] = { 3, 5, 1, 0, 2, 4 };
    const Axis *row = &blocks->row;
    const Axis *column = &blocks->column;
    const int64_t cut[] = {
        blocks->inputs, blocks->outputs, row->taps,
        row->stride,    column->taps,    column->stride,
    };
    const int64_t dims[] = {
        i64_mul(blocks->count, blocks->outputs),
        blocks->inputs,
        row->taps,
        column->taps,
    };
    Recipe *recipe = filled_weights(store, w, blocks);
    recipe = recipe_reshape(store, recipe, 6, cut);
    recipe = reversed(store, recipe, 2);
    recipe = reversed(store, recipe, 4);
    recipe = recipe_transpose(store, recipe, perm);
    return recipe_reshape(store, recipe, 4, dims);
}

/* Numbers of the channels, again for each pixel of a block. */
static Tensor *for_each_pixel(Graph *graph, const Blocks *blocks, Tensor *each)
{
    Store *store = graph->store;
    const int64_t once[] = { 1, blocks->outputs };
    const int64_t all[] = { blocks->count, blocks->outputs };
    const int64_t flat = i64_mul(blocks->count, blocks->outputs);
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
    return made->out[0];
}

/* [N][block][OC][made] -> [N][OC][made][block], by row and column. */
static Tensor *transposed(const Build *build, const Blocks *blocks, Tensor *x)
{
    static const int perm[] = { 0, 3, 4, 1, 5, 2 };
    const int64_t dims[] = {
        blocks->images,  blocks->row.stride, blocks->column.stride,
        blocks->outputs, blocks->row.made,   blocks->column.made,
    };
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
    Recipe *weights = turned_weights(graph->store, in[W]->value, blocks);
    in[X] = quanta_reshape(graph, build->end, in[X], image);
    in[W] = graph_add_constant(graph, NULL, weights);
    in[W_SCALE] = one_or_each(graph, blocks, in[W_SCALE]);
    in[W_ZERO] = one_or_each(graph, blocks, in[W_ZERO]);
    if (node_in(build->node, 2))
        *bias = for_each_pixel(graph, blocks, *bias);
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
