/* SPDX-License-Identifier: Apache-2.0
 * Sampling and unfolding of images, in ONNX's own layout. */
#include <string.h>

#include "base/size.h"
#include "kernels/sample.h"
#include "kernels/unfold.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/typed.h"
#include "ops/values.h"
#include "ops/window.h"

static int choice(const Node *node, const char *attr, const char *otherwise,
                  const char *const *names, int count)
{
    const char *given = node_string(node, attr, otherwise);
    for (int i = 0; i < count; i++)
        if (!strcmp(given, names[i]))
            return i;
    fail_node(node, STATUS_MALFORMED, NULL, "unknown %s \"%s\"", attr, given);
}

/* A step of the kernel `name` for the type of operand 0, which makes result 0. */
static Step *typed_step(Lower *lower, Node *node, const char *name,
                        const void *params)
{
    const DType type = node_type(node);
    const char *kernel = lower_kernel(lower, name, type);
    Step *step = lower_step(lower, kernel, params);
    step_result(step, 0);
    return step;
}

/* --- GridSample, AffineGrid --- */

static bool grid_fits(const Shape *x, const Shape *grid)
{
    if (grid->rank != x->rank)
        return false;
    if (grid->dim[0] != x->dim[0])
        return false;
    return grid->dim[grid->rank - 1] == x->rank - 2;
}

void infer_grid_sample(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *grid = infer_shape(node, 1);
    const int axes = x->rank - 2;
    if (axes < 1 || axes > 3)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "images of %d dimensions are not supported", axes);
    if (!grid_fits(x, grid))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "the grid's shape does not fit the image's");
    Shape y = *x;
    for (int i = 0; i < axes; i++)
        y.dim[2 + i] = grid->dim[1 + i];
    infer_out(node, 0, node_type(node), y);
}

static int sample_mode(const Node *node)
{
    static const char *const modes[] = {
        "linear", "nearest", "cubic", "bilinear", "bicubic",
    };
    const bool old = node->op->since < 20;
    const char *otherwise = old ? "bilinear" : "linear";
    switch (choice(node, "mode", otherwise, modes, 5)) {
    case 1:
        return INLAY_SAMPLE_NEAREST;
    case 2:
    case 4:
        return INLAY_SAMPLE_CUBIC;
    default:
        return INLAY_SAMPLE_LINEAR;
    }
}

static int sample_edge(const Node *node)
{
    static const char *const edges[] = { "zeros", "border", "reflection" };
    return choice(node, "padding_mode", "zeros", edges, 3);
}

void lower_grid_sample(Lower *lower, Node *node)
{
    const Shape *x = node_shape(node, 0);
    const Shape *y = result_shape(node, 0);
    const int axes = x->rank - 2;
    inlay_grid_sample_params params = {
        .axes = axes,
        .mode = sample_mode(node),
        .edge = sample_edge(node),
        .align = node_flag(node, "align_corners", false),
        .n = x->dim[0],
        .c = x->dim[1],
        .out = 1,
        .size = { 1, 1, 1 },
    };
    for (int i = 0; i < axes; i++) {
        params.size[3 - axes + i] = x->dim[2 + i];
        params.out *= y->dim[2 + i];
    }
    Tensor *grid = lower_as(lower, node->in[1], node_type(node));
    Step *step = typed_step(lower, node, "grid_sample", &params);
    step_operand(step, 0);
    step_in(step, grid);
}

static bool is_grid(const Shape *grid)
{
    if (grid->rank != 4 && grid->rank != 5)
        return false;
    return grid->dim[grid->rank - 1] == grid->rank - 2;
}

/* The size is known only when the model runs: the shape is as declared. */
static void infer_affine_grid_declared(Node *node)
{
    infer_declared(node, 0, node_type(node));
    const Shape *grid = result_shape(node, 0);
    const int64_t sizes = infer_count(node, 1);
    infer_require(node, 0, is_grid(grid) && sizes == grid->rank);
}

void infer_affine_grid(Node *node)
{
    int64_t count;
    const int64_t *size = infer_ints(node, 1, &count);
    if (node->in[1]->dtype != DT_I64)
        fail_node(node, STATUS_MALFORMED, NULL, "its size is %s, not int64",
                  dtype_name(node->in[1]->dtype));
    if (!size) {
        infer_affine_grid_declared(node);
        return;
    }
    if (count != 4 && count != 5)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "size has %lld entries, not 4 or 5", (long long)count);
    Shape shape = { .rank = (int)count };
    shape.dim[0] = size[0];
    for (int64_t i = 2; i < count; i++)
        shape.dim[i - 1] = size[i];
    shape.dim[count - 1] = count - 2;
    infer_out(node, 0, node_type(node), shape);
}

/* A size known only when the model runs must be the declared one. How many channels it names does
 * not matter. */
static void check_grid_size(Lower *lower, Node *node)
{
    const Shape *y = result_shape(node, 0);
    Tensor *size = node->in[1];
    if (size->value)
        return;
    Tensor *images = lower_temp(lower, DT_I64, shape_vector(1));
    Tensor *sizes = lower_temp(lower, DT_I64, shape_vector(y->rank - 2));
    const AxisPart first = { .count = 1 };
    const AxisPart behind = {
        .start = 2,
        .count = y->rank - 2,
    };
    lower_part(lower, images, size, first);
    lower_part(lower, sizes, size, behind);
    const int64_t *allowed = y->dim;
    lower_check(lower, images, 1, &allowed);
    allowed = y->dim + 1;
    lower_check(lower, sizes, 1, &allowed);
}

void lower_affine_grid(Lower *lower, Node *node)
{
    check_grid_size(lower, node);
    const Shape *shape = result_shape(node, 0);
    const int axes = shape->rank - 2;
    inlay_affine_grid_params params = {
        .axes = axes,
        .align = node_flag(node, "align_corners", false),
        .n = shape->dim[0],
        .size = { 1, 1, 1 },
    };
    for (int i = 0; i < axes; i++)
        params.size[3 - axes + i] = shape->dim[1 + i];
    Step *step = typed_step(lower, node, "affine_grid", &params);
    step_operand(step, 0);
}

/* --- RoiAlign --- */

static bool are_regions(const Shape *regions, int64_t size)
{
    return regions->rank == 2 && regions->dim[1] == size;
}

static void require_regions(const Node *node, int64_t size)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *regions = infer_shape(node, 1);
    if (x->rank != 4 || !are_regions(regions, size))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "takes an image [N,C,H,W] and regions [R,%lld]",
                  (long long)size);
}

static void infer_pooled(Node *node, int64_t height, int64_t width)
{
    Shape y = *infer_shape(node, 0);
    y.dim[0] = infer_shape(node, 1)->dim[0];
    y.dim[2] = height;
    y.dim[3] = width;
    infer_out(node, 0, node_type(node), y);
}

void infer_roi_align(Node *node)
{
    require_regions(node, 4);
    const int64_t height = node_int(node, "output_height", 1);
    const int64_t width = node_int(node, "output_width", 1);
    infer_pooled(node, height, width);
}

static bool at_half_pixels(const Node *node)
{
    static const char *const places[] = { "output_half_pixel", "half_pixel" };
    return node->op->since >= 16 &&
           choice(node, "coordinate_transformation_mode", "half_pixel", places,
                  2);
}

void lower_roi_align(Lower *lower, Node *node)
{
    static const char *const modes[] = { "avg", "max" };
    const Shape *x = node_shape(node, 0);
    const Shape *y = result_shape(node, 0);
    const inlay_roi_align_params params = {
        .n = x->dim[0],
        .c = x->dim[1],
        .h = x->dim[2],
        .w = x->dim[3],
        .regions = y->dim[0],
        .ph = i32_checked(y->dim[2]),
        .pw = i32_checked(y->dim[3]),
        .ratio = i32_checked(node_int(node, "sampling_ratio", 0)),
        .max = choice(node, "mode", "avg", modes, 2),
        .scale = node_float(node, "spatial_scale", 1.0f),
        .half_pixel = at_half_pixels(node),
    };
    Step *step = typed_step(lower, node, "roi_align", &params);
    for (int i = 0; i < 3; i++)
        step_operand(step, i);
}

/* --- MaxRoiPool --- */

void infer_max_roi_pool(Node *node)
{
    int64_t count;
    const int64_t *cells = node_ints(node, "pooled_shape", &count);
    require_regions(node, 5);
    if (!cells || count != 2 || cells[0] < 1 || cells[1] < 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "takes a pooled_shape of two positive numbers");
    infer_pooled(node, cells[0], cells[1]);
}

void lower_max_roi_pool(Lower *lower, Node *node)
{
    const Shape *x = node_shape(node, 0);
    const Shape *y = result_shape(node, 0);
    const inlay_roi_pool_params params = {
        .n = x->dim[0],
        .c = x->dim[1],
        .h = x->dim[2],
        .w = x->dim[3],
        .regions = y->dim[0],
        .ph = i32_checked(y->dim[2]),
        .pw = i32_checked(y->dim[3]),
        .scale = node_float(node, "spatial_scale", 1.0f),
    };
    Step *step = typed_step(lower, node, "roi_pool", &params);
    for (int i = 0; i < 2; i++)
        step_operand(step, i);
}

/* --- MaxUnpool, Col2Im --- */

static Shape unpooled(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    int64_t kernels, strides, pads;
    const int64_t *kernel = node_ints(node, "kernel_shape", &kernels);
    const int64_t *stride = node_ints(node, "strides", &strides);
    const int64_t *pad = node_ints(node, "pads", &pads);
    const int axes = x->rank - 2;
    if (kernels != axes || (stride && strides != axes) ||
        (pad && pads != 2 * axes))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its attributes do not fit the image's dimensions");
    Shape y = *x;
    for (int i = 0; i < axes; i++) {
        const int64_t apart = stride ? stride[i] : 1;
        const int64_t cut = pad ? i64_add(pad[i], pad[axes + i]) : 0;
        const int64_t span = i64_mul(x->dim[2 + i] - 1, apart);
        y.dim[2 + i] = i64_add(span, kernel[i] - cut);
    }
    return y;
}

void infer_max_unpool(Node *node)
{
    int64_t count;
    const int64_t *given = infer_ints(node, 2, &count);
    const DType type = node_type(node);
    const int rank = infer_shape(node, 0)->rank;
    if (!node_in(node, 2)) {
        infer_out(node, 0, type, unpooled(node));
        return;
    }
    if (!given) {
        infer_declared(node, 0, type);
        infer_require(node, 0, node->out[0]->shape.rank == rank);
        return;
    }
    if (count != rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "output_shape has %lld entries for %d dimensions",
                  (long long)count, rank);
    infer_out(node, 0, type, shape_of(rank, given));
}

void lower_max_unpool(Lower *lower, Node *node)
{
    const Shape from = unpooled(node);
    const Shape *to = result_shape(node, 0);
    inlay_max_unpool_params params = {
        .count = tensor_count(node->in[0]),
        .total = tensor_count(node->out[0]),
        .rank = from.rank,
    };
    lower_check_dims(lower, node, 2, to->rank, to->dim);
    memcpy(params.from, from.dim, sizeof params.from);
    memcpy(params.to, to->dim, sizeof params.to);
    Step *step = typed_step(lower, node, "max_unpool", &params);
    step_operand(step, 0);
    step_operand(step, 1);
}

/* How often a block of that size lies along axis i of the image. */
static void take_block(const Node *node, inlay_col2im_params *params, int i,
                       int64_t size)
{
    if (size < 0 || size > INT32_MAX)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "a dimension of the block is %lld", (long long)size);
    const int64_t pads = i64_add(params->pad[i], params->end[i]);
    const int64_t whole = i64_add(params->image[i], pads);
    const int64_t apart = i64_mul(size - 1, params->dilation[i]);
    const int64_t left = i64_sub(i64_sub(whole, apart), 1);
    params->tap[i] = size;
    params->blocks[i] = left / params->stride[i] + 1;
}

/* What Col2Im is told: three operands, which may be unknown, and three attributes. */
typedef struct Unfolding {
    int64_t axes;
    const int64_t *image, *block; /* block: NULL where it is not known */
    const int64_t *stride, *pad, *dilation; /* NULL: as the standard says */
} Unfolding;

static void image_of(const Node *node, Unfolding *given)
{
    const Shape *declared = node->out[0]->declared;
    given->image = infer_ints(node, 1, &given->axes);
    if (!given->image && shape_known(declared) && declared->rank > 2) {
        given->image = declared->dim + 2;
        given->axes = declared->rank - 2;
    }
    if (!given->image)
        fail_node(node, STATUS_UNSUPPORTED,
                  "bake image_shape with --const, or declare the output's "
                  "shape in the model",
                  "its image is known only at run time");
}

static Unfolding unfolding_of(const Node *node)
{
    Unfolding given;
    int64_t blocks, strides, pads, dilations;
    image_of(node, &given);
    given.block = infer_ints(node, 2, &blocks);
    given.stride = node_ints(node, "strides", &strides);
    given.pad = node_ints(node, "pads", &pads);
    given.dilation = node_ints(node, "dilations", &dilations);
    const int64_t axes = given.axes;
    bool fits = axes >= 1 && axes <= MAX_RANK - 2;
    fits &= !given.block || blocks == axes;
    fits &= !given.stride || strides == axes;
    fits &= !given.pad || pads == 2 * axes;
    fits &= !given.dilation || dilations == axes;
    if (!fits)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its attributes do not fit the image's dimensions");
    return given;
}

static inlay_col2im_params col2im_params(const Node *node)
{
    const Unfolding given = unfolding_of(node);
    inlay_col2im_params params = { .axes = (int32_t)given.axes };
    for (int i = 0; i < params.axes; i++) {
        params.image[i] = given.image[i];
        params.stride[i] = given.stride ? given.stride[i] : 1;
        params.pad[i] = given.pad ? given.pad[i] : 0;
        params.end[i] = given.pad ? given.pad[given.axes + i] : 0;
        params.dilation[i] = given.dilation ? given.dilation[i] : 1;
        if (params.stride[i] < 1)
            fail_node(node, STATUS_MALFORMED, NULL, "a stride is %lld",
                      (long long)params.stride[i]);
        if (given.block)
            take_block(node, &params, i, given.block[i]);
    }
    return params;
}

/* The image that comes of `channels` channels (-1: any). */
static Shape folded(const Node *node, const inlay_col2im_params *params,
                    int64_t channels)
{
    Shape y = { .rank = 2 + params->axes };
    y.dim[0] = infer_shape(node, 0)->dim[0];
    y.dim[1] = channels;
    for (int i = 0; i < params->axes; i++)
        y.dim[2 + i] = params->image[i];
    return y;
}

void infer_col2im(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const inlay_col2im_params params = col2im_params(node);
    const DType type = node_type(node);
    int64_t taps = 1;
    int64_t blocks = 1;
    if (!params.tap[0]) {
        infer_declared_as(node, 0, type, folded(node, &params, -1));
        return;
    }
    for (int i = 0; i < params.axes; i++) {
        taps = i64_mul(taps, params.tap[i]);
        blocks = i64_mul(blocks, params.blocks[i]);
    }
    if (x->rank != 3 || taps < 1 || x->dim[1] % taps || x->dim[2] != blocks)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "the columns' shape does not fit image and block");
    infer_out(node, 0, type, folded(node, &params, x->dim[1] / taps));
}

void lower_col2im(Lower *lower, Node *node)
{
    inlay_col2im_params params = col2im_params(node);
    const Shape *y = result_shape(node, 0);
    params.planes = y->dim[0] * y->dim[1];
    params.columns = tensor_count(node->in[0]) / i64_max(params.planes, 1);
    Step *step = typed_step(lower, node, "col2im", &params);
    step_operand(step, 0);
    for (int i = 1; i < 3; i++)
        step_in(step, params.tap[0] ? NULL : node->in[i]);
}

/* --- DeformConv --- */

static Window deform_window(const Node *node)
{
    const Shape *w = infer_shape(node, 1);
    if (w->rank != 4)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "only images of two dimensions are supported");
    return window_of(node, w->dim + 2);
}

void infer_deform_conv(Node *node)
{
    if (infer_shape(node, 0)->rank != 4)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "only images of two dimensions are supported");
    const Window window = deform_window(node);
    const int64_t channels = infer_shape(node, 1)->dim[0];
    infer_out(node, 0, node_type(node), window_shape(&window, channels));
}

static inlay_deform_conv_params deform_params(const Node *node)
{
    const Window window = deform_window(node);
    const Shape *x = node_shape(node, 0);
    const Shape *y = result_shape(node, 0);
    return (inlay_deform_conv_params){
        .n = x->dim[0],
        .c = x->dim[1],
        .h = x->dim[2],
        .w = x->dim[3],
        .o = y->dim[1],
        .oh = y->dim[2],
        .ow = y->dim[3],
        .kh = window.axis[1].kernel,
        .kw = window.axis[2].kernel,
        .sh = window.axis[1].stride,
        .sw = window.axis[2].stride,
        .dh = window.axis[1].dilation,
        .dw = window.axis[2].dilation,
        .ph = window.axis[1].pad,
        .pw = window.axis[2].pad,
        .groups = node_int(node, "group", 1),
        .offset_groups = node_int(node, "offset_group", 1),
    };
}

void lower_deform_conv(Lower *lower, Node *node)
{
    const inlay_deform_conv_params params = deform_params(node);
    Step *step = typed_step(lower, node, "deform_conv", &params);
    for (int i = 0; i < 5; i++)
        step_operand(step, i);
    const int64_t taps = params.kh * params.kw;
    const int64_t channels = params.c / params.groups;
    step->macs = tensor_count(node->out[0]) * channels * taps;
}
