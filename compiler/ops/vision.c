/* SPDX-License-Identifier: Apache-2.0
 * Sampling and unfolding of images, in ONNX's own layout. */
#include <string.h>

#include "base/size.h"
#include "kernels/sample.h"
#include "kernels/unfold.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/typed.h"
#include "ops/window.h"

static int choice(const Node *node, const char *attr, const char *otherwise,
                  const char *const *names, int count)
{
    const char *s = node_string(node, attr, otherwise);
    for (int i = 0; i < count; i++)
        if (!strcmp(s, names[i]))
            return i;
    fail_node(node, STATUS_MALFORMED, NULL, "unknown %s \"%s\"", attr, s);
}

/* --- GridSample, AffineGrid --- */

void infer_grid_sample(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *grid = infer_shape(node, 1);
    const int axes = x->rank - 2;
    if (axes < 1 || axes > 3)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "images of %d dimensions are not supported",
                  axes);
    if (grid->rank != x->rank || grid->dim[0] != x->dim[0] || grid->dim[grid->rank - 1] != axes)
        fail_node(node, STATUS_MALFORMED, NULL, "the grid's shape does not fit the image's");
    Shape y = *x;
    for (int i = 0; i < axes; i++)
        y.dim[2 + i] = grid->dim[1 + i];
    infer_out(node, 0, node->in[0]->dtype, y);
}

void lower_grid_sample(Lower *lower, Node *node)
{
    static const char *const modes[] = { "linear", "nearest", "cubic", "bilinear", "bicubic" },
                             *const edges[] = { "zeros", "border", "reflection" };
    const Shape *x = &node->in[0]->shape;
    const Shape *y = &node->out[0]->shape;
    const int mode = choice(node, "mode", node->op->since < 20 ? "bilinear" : "linear", modes, 5);
    const int axes = x->rank - 2;
    inlay_grid_sample_params params = { .axes = axes,
                                        .mode = mode == 3   ? INLAY_SAMPLE_LINEAR
                                                : mode == 4 ? INLAY_SAMPLE_CUBIC
                                                            : mode,
                                        .edge = choice(node, "padding_mode", "zeros", edges, 3),
                                        .align = node_int(node, "align_corners", 0) != 0,
                                        .n = x->dim[0],
                                        .c = x->dim[1],
                                        .out = 1,
                                        .size = { 1, 1, 1 } };
    for (int i = 0; i < axes; i++) {
        params.size[3 - axes + i] = x->dim[2 + i];
        params.out *= y->dim[2 + i];
    }
    Tensor *grid = lower_as(lower, node, node->in[1], node->in[0]->dtype);
    Step *s =
        lower_step(lower, node, lower_kernel(lower, "grid_sample", node->in[0]->dtype), &params);
    step_out(s, node->out[0]);
    step_in(s, node->in[0]);
    step_in(s, grid);
}

void infer_affine_grid(Node *node)
{
    int64_t count;
    const int64_t *size = infer_ints(node, 1, &count);
    if (!size) {
        infer_declared(node, 0, node->in[0]->dtype);
        const Shape *y = &node->out[0]->shape;
        infer_require(node, 0,
                      (y->rank == 4 || y->rank == 5) && infer_count(node, 1) == y->rank &&
                          y->dim[y->rank - 1] == y->rank - 2);
        return;
    }
    if (count != 4 && count != 5)
        fail_node(node, STATUS_MALFORMED, NULL, "size has %lld entries, not 4 or 5",
                  (long long)count);
    Shape s = { .rank = (int)count, .dim = { size[0] } };
    for (int64_t i = 2; i < count; i++)
        s.dim[i - 1] = size[i];
    s.dim[count - 1] = count - 2;
    infer_out(node, 0, node->in[0]->dtype, s);
}

void lower_affine_grid(Lower *lower, Node *node)
{
    const Shape *s = &node->out[0]->shape;
    const int axes = s->rank - 2;
    inlay_affine_grid_params params = { .axes = axes,
                                        .align = node_int(node, "align_corners", 0) != 0,
                                        .n = s->dim[0],
                                        .size = { 1, 1, 1 } };
    for (int i = 0; i < axes; i++)
        params.size[3 - axes + i] = s->dim[1 + i];
    Step *step =
        lower_step(lower, node, lower_kernel(lower, "affine_grid", node->in[0]->dtype), &params);
    step_out(step, node->out[0]);
    step_in(step, node->in[0]);
}

/* --- RoiAlign --- */

void infer_roi_align(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *regions = infer_shape(node, 1);
    if (x->rank != 4 || regions->rank != 2 || regions->dim[1] != 4)
        fail_node(node, STATUS_MALFORMED, NULL, "wants an image [N,C,H,W] and regions [R,4]");
    const Shape y = { 4,
                      { regions->dim[0], x->dim[1], node_int(node, "output_height", 1),
                        node_int(node, "output_width", 1) } };
    infer_out(node, 0, node->in[0]->dtype, y);
}

void lower_roi_align(Lower *lower, Node *node)
{
    static const char *const modes[] = { "avg", "max" }, *const places[] = { "output_half_pixel",
                                                                             "half_pixel" };
    const Shape *x = &node->in[0]->shape;
    const Shape *y = &node->out[0]->shape;
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
        .half_pixel = node->op->since >= 16 &&
                      choice(node, "coordinate_transformation_mode", "half_pixel", places, 2),
    };
    Step *s =
        lower_step(lower, node, lower_kernel(lower, "roi_align", node->in[0]->dtype), &params);
    step_out(s, node->out[0]);
    for (int i = 0; i < 3; i++)
        step_in(s, node->in[i]);
}

/* --- MaxRoiPool --- */

void infer_max_roi_pool(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *regions = infer_shape(node, 1);
    int64_t count;
    const int64_t *cells = node_ints(node, "pooled_shape", &count);
    if (x->rank != 4 || regions->rank != 2 || regions->dim[1] != 5)
        fail_node(node, STATUS_MALFORMED, NULL, "wants an image [N,C,H,W] and regions [R,5]");
    if (!cells || count != 2 || cells[0] < 1 || cells[1] < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "wants a pooled_shape of two positive numbers");
    infer_out(node, 0, node->in[0]->dtype,
              (Shape){ 4, { regions->dim[0], x->dim[1], cells[0], cells[1] } });
}

void lower_max_roi_pool(Lower *lower, Node *node)
{
    const Shape *x = &node->in[0]->shape;
    const Shape *y = &node->out[0]->shape;
    const inlay_roi_pool_params params = { .n = x->dim[0],
                                           .c = x->dim[1],
                                           .h = x->dim[2],
                                           .w = x->dim[3],
                                           .regions = y->dim[0],
                                           .ph = i32_checked(y->dim[2]),
                                           .pw = i32_checked(y->dim[3]),
                                           .scale = node_float(node, "spatial_scale", 1.0f) };
    Step *s = lower_step(lower, node, lower_kernel(lower, "roi_pool", node->in[0]->dtype), &params);
    step_out(s, node->out[0]);
    for (int i = 0; i < 2; i++)
        step_in(s, node->in[i]);
}

/* --- MaxUnpool, Col2Im --- */

static Shape unpooled(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    int64_t kernels, strides, pads;
    const int64_t *k = node_ints(node, "kernel_shape", &kernels);
    const int64_t *s = node_ints(node, "strides", &strides);
    const int64_t *p = node_ints(node, "pads", &pads);
    const int axes = x->rank - 2;
    if (kernels != axes || (s && strides != axes) || (p && pads != 2 * axes))
        fail_node(node, STATUS_MALFORMED, NULL, "its attributes do not fit the image's dimensions");
    Shape y = *x;
    for (int i = 0; i < axes; i++)
        y.dim[2 + i] = i64_add(i64_mul(x->dim[2 + i] - 1, s ? s[i] : 1),
                               k[i] - (p ? i64_add(p[i], p[axes + i]) : 0));
    return y;
}

void infer_max_unpool(Node *node)
{
    int64_t count;
    const int64_t *given = infer_ints(node, 2, &count);
    if (node_in(node, 2) && !given) {
        infer_declared(node, 0, node->in[0]->dtype);
        infer_require(node, 0, node->out[0]->shape.rank == infer_shape(node, 0)->rank);
    } else {
        if (given && count != infer_shape(node, 0)->rank)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "output_shape has %lld entries for %d dimensions", (long long)count,
                      infer_shape(node, 0)->rank);
        infer_out(node, 0, node->in[0]->dtype,
                  given ? shape_of((int)count, given) : unpooled(node));
    }
}

void lower_max_unpool(Lower *lower, Node *node)
{
    const Shape from = unpooled(node);
    inlay_max_unpool_params params = { .count = tensor_count(node->in[0]),
                                       .total = tensor_count(node->out[0]),
                                       .rank = from.rank };
    memcpy(params.from, from.dim, sizeof params.from);
    memcpy(params.to, node->out[0]->shape.dim, sizeof params.to);
    Step *s =
        lower_step(lower, node, lower_kernel(lower, "max_unpool", node->in[0]->dtype), &params);
    step_out(s, node->out[0]);
    step_in(s, node->in[0]);
    step_in(s, node->in[1]);
}

/* How often a block of that size lies along axis i of the image. */
static void take_block(const Node *node, inlay_col2im_params *params, int i, int64_t size)
{
    if (size < 0 || size > INT32_MAX)
        fail_node(node, STATUS_MALFORMED, NULL, "a dimension of the block is %lld",
                  (long long)size);
    const int64_t padded = i64_add(i64_add(params->image[i], params->pad[i]), params->end[i]);
    const int64_t reach = i64_add(i64_mul(size - 1, params->dilation[i]), 1);
    params->tap[i] = size;
    params->blocks[i] = i64_add(padded, -reach) / params->stride[i] + 1;
}

static inlay_col2im_params col2im_params(const Node *node)
{
    inlay_col2im_params params = { 0 };
    int64_t image_n, tap_n, stride_n, pad_n, dilation_n;
    const int64_t *image = infer_ints(node, 1, &image_n);
    const int64_t *tap = infer_ints(node, 2, &tap_n);
    const Shape *declared = node->out[0]->declared;
    if (!image && shape_known(declared) && declared->rank > 2)
        image = declared->dim + 2, image_n = declared->rank - 2;
    if (!image)
        fail_node(node, STATUS_UNSUPPORTED,
                  "bake image_shape with --const, or declare the output's shape in the model",
                  "its image is known only at run time");
    if (!tap)
        tap_n = image_n;
    const int64_t *stride = node_ints(node, "strides", &stride_n);
    const int64_t *pad = node_ints(node, "pads", &pad_n);
    const int64_t *dilation = node_ints(node, "dilations", &dilation_n);
    if (image_n != tap_n || image_n > MAX_RANK - 2 || image_n < 1 ||
        (stride && stride_n != image_n) || (pad && pad_n != 2 * image_n) ||
        (dilation && dilation_n != image_n))
        fail_node(node, STATUS_MALFORMED, NULL, "its attributes do not fit the image's dimensions");
    params.axes = (int32_t)image_n;
    for (int i = 0; stride && i < params.axes; i++)
        if (stride[i] < 1)
            fail_node(node, STATUS_MALFORMED, NULL, "a stride is %lld", (long long)stride[i]);
    for (int i = 0; i < params.axes; i++) {
        params.image[i] = image[i];
        params.stride[i] = stride ? stride[i] : 1;
        params.pad[i] = pad ? pad[i] : 0;
        params.end[i] = pad ? pad[image_n + i] : 0;
        params.dilation[i] = dilation ? dilation[i] : 1;
        if (!tap)
            continue;
        take_block(node, &params, i, tap[i]);
    }
    return params;
}

void infer_col2im(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const inlay_col2im_params params = col2im_params(node);
    if (!params.tap[0]) {
        Shape y = { 2 + params.axes, { x->dim[0], -1 } };
        memcpy(y.dim + 2, params.image, (size_t)params.axes * sizeof *params.image);
        infer_declared_as(node, 0, node->in[0]->dtype, y);
        return;
    }
    int64_t taps = 1;
    int64_t blocks = 1;
    for (int i = 0; i < params.axes; i++) {
        taps = i64_mul(taps, params.tap[i]);
        blocks = i64_mul(blocks, params.blocks[i]);
    }
    if (x->rank != 3 || taps < 1 || x->dim[1] % taps || x->dim[2] != blocks)
        fail_node(node, STATUS_MALFORMED, NULL, "the columns' shape does not fit image and block");
    Shape y = { 2 + params.axes, { x->dim[0], x->dim[1] / taps } };
    for (int i = 0; i < params.axes; i++)
        y.dim[2 + i] = params.image[i];
    infer_out(node, 0, node->in[0]->dtype, y);
}

void lower_col2im(Lower *lower, Node *node)
{
    inlay_col2im_params params = col2im_params(node);
    params.planes = node->out[0]->shape.dim[0] * node->out[0]->shape.dim[1];
    params.columns = tensor_count(node->in[0]) / i64_max(params.planes, 1);
    Step *s = lower_step(lower, node, lower_kernel(lower, "col2im", node->in[0]->dtype), &params);
    step_out(s, node->out[0]);
    for (int i = 0; i < 3; i++)
        step_in(s, i && params.tap[0] ? NULL : node->in[i]);
}

/* --- DeformConv --- */

static Window deform_window(const Node *node)
{
    const Shape *w = infer_shape(node, 1);
    if (w->rank != 4)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "only images of two dimensions are supported");
    return window_of(node, w->dim + 2);
}

void infer_deform_conv(Node *node)
{
    if (infer_shape(node, 0)->rank != 4)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "only images of two dimensions are supported");
    const Window window = deform_window(node);
    infer_out(node, 0, node->in[0]->dtype, window_shape(&window, infer_shape(node, 1)->dim[0]));
}

void lower_deform_conv(Lower *lower, Node *node)
{
    const Window window = deform_window(node);
    const Shape *x = &node->in[0]->shape;
    const Shape *y = &node->out[0]->shape;
    const inlay_deform_conv_params params = {
        .n = x->dim[0],
        .c = x->dim[1],
        .h = x->dim[2],
        .w = x->dim[3],
        .o = y->dim[1],
        .oh = y->dim[2],
        .ow = y->dim[3],
        .kh = window.kernel[1],
        .kw = window.kernel[2],
        .sh = window.stride[1],
        .sw = window.stride[2],
        .dh = window.dilation[1],
        .dw = window.dilation[2],
        .ph = window.pad[1],
        .pw = window.pad[2],
        .groups = node_int(node, "group", 1),
        .offset_groups = node_int(node, "offset_group", 1),
    };
    Step *s =
        lower_step(lower, node, lower_kernel(lower, "deform_conv", node->in[0]->dtype), &params);
    step_out(s, node->out[0]);
    for (int i = 0; i < 5; i++)
        step_in(s, node_in(node, i));
    s->macs = tensor_count(node->out[0]) * params.c / params.groups * params.kh * params.kw;
}

/* --- CenterCropPad: Slice where it crops, Pad where it pads --- */

/* tensor, whose shape was taken from the file, where the run's shape is the same along the axes
 * (NULL: all). */
static Tensor *checked_size(const Node *node, Tensor *tensor, const int64_t *axes, int64_t count)
{
    Tensor *size = expand_cast(node, node->in[1], DT_I64);
    if (axes) {
        int64_t *row = NEW_ARRAY(node->graph->arena, int64_t, count);
        for (int64_t i = 0; i < count; i++)
            row[i] = node_axis(node, axes[i], tensor->shape.rank);
        Tensor *in[] = { expand_i64s(node, tensor->shape.rank, tensor->shape.dim),
                         expand_i64s(node, count, row), size };
        size = expand_done(expand_node(node, "ScatterElements", 3, in, 1));
    }
    Tensor *in[] = { tensor, size };
    return expand_done(expand_inlay_node(node, "FixedSize", 2, in, 1));
}

void expand_center_crop_pad(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    int64_t count, axes_count;
    const int64_t *want = infer_ints(node, 1, &count);
    const int64_t *axes = node_ints(node, "axes", &axes_count);
    const Shape *declared = node->out[0]->declared;
    if (!want && (!shape_known(declared) || declared->rank != x->rank))
        fail_node(
            node, STATUS_UNSUPPORTED,
            "bake the shape with --const INPUT=FILE.pb, or declare the output's shape in the model",
            "its shape is known only at run time");
    if (!want)
        count = axes ? axes_count : x->rank;
    if (count != (axes ? axes_count : x->rank))
        fail_node(node, STATUS_MALFORMED, NULL, "the shape does not fit the axes");
    int64_t pads[2 * MAX_RANK] = { 0 };
    bool padded = false;
    Tensor *tensor = node->in[0];
    for (int64_t i = 0; i < count; i++) {
        const int a = node_axis(node, axes ? axes[i] : i, x->rank);
        const int64_t size = want ? want[i] : declared->dim[a];
        const int64_t more = i64_add(size, -x->dim[a]);
        if (size < 0)
            fail_node(node, STATUS_MALFORMED, NULL, "asks for a dimension of %lld",
                      (long long)size);
        if (more < 0)
            tensor = expand_slice(node, tensor, a, -more / 2, -more / 2 + size);
        if (more <= 0)
            continue;
        pads[a] = more / 2;
        pads[x->rank + a] = more - more / 2;
        padded = true;
    }
    if (padded)
        tensor = expand_binary(node, "Pad", tensor, expand_i64s(node, 2 * x->rank, pads));
    if (!want)
        tensor = checked_size(node, tensor, axes, count);
    expand_finish(node, 1, &tensor);
}
