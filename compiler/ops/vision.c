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

static int choice(const Node *n, const char *attr, const char *otherwise, const char *const *names,
                  int count)
{
    const char *s = node_string(n, attr, otherwise);
    for (int i = 0; i < count; i++)
        if (!strcmp(s, names[i]))
            return i;
    fail_node(n, STATUS_MALFORMED, NULL, "unknown %s \"%s\"", attr, s);
}

/* --- GridSample, AffineGrid --- */

void infer_grid_sample(Node *n)
{
    const Shape *x = infer_shape(n, 0), *grid = infer_shape(n, 1);
    const int axes = x->rank - 2;
    if (axes < 1 || axes > 3)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "images of %d dimensions are not supported", axes);
    if (grid->rank != x->rank || grid->dim[0] != x->dim[0] || grid->dim[grid->rank - 1] != axes)
        fail_node(n, STATUS_MALFORMED, NULL, "the grid's shape does not fit the image's");
    Shape y = *x;
    for (int i = 0; i < axes; i++)
        y.dim[2 + i] = grid->dim[1 + i];
    infer_out(n, 0, n->in[0]->dtype, y);
}

void lower_grid_sample(Lower *l, Node *n)
{
    static const char *const modes[] = { "linear", "nearest", "cubic", "bilinear", "bicubic" },
                             *const edges[] = { "zeros", "border", "reflection" };
    const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    const int mode = choice(n, "mode", n->op->since < 20 ? "bilinear" : "linear", modes, 5),
              axes = x->rank - 2;
    inlay_grid_sample_params p = { .axes = axes,
                                   .mode = mode == 3   ? INLAY_SAMPLE_LINEAR
                                           : mode == 4 ? INLAY_SAMPLE_CUBIC
                                                       : mode,
                                   .edge = choice(n, "padding_mode", "zeros", edges, 3),
                                   .align = node_int(n, "align_corners", 0) != 0,
                                   .n = x->dim[0],
                                   .c = x->dim[1],
                                   .out = 1,
                                   .size = { 1, 1, 1 } };
    for (int i = 0; i < axes; i++) {
        p.size[3 - axes + i] = x->dim[2 + i];
        p.out *= y->dim[2 + i];
    }
    Tensor *grid = lower_as(l, n, n->in[1], n->in[0]->dtype);
    Step *s = lower_step(l, n, lower_kernel(l, "grid_sample", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    step_in(s, n->in[0]);
    step_in(s, grid);
}

void infer_affine_grid(Node *n)
{
    int64_t count;
    const int64_t *size = infer_ints(n, 1, &count);
    if (!size) {
        infer_declared(n, 0, n->in[0]->dtype);
        const Shape *y = &n->out[0]->shape;
        infer_require(n, 0,
                      (y->rank == 4 || y->rank == 5) && infer_count(n, 1) == y->rank &&
                          y->dim[y->rank - 1] == y->rank - 2);
        return;
    }
    if (count != 4 && count != 5)
        fail_node(n, STATUS_MALFORMED, NULL, "size has %lld entries, not 4 or 5", (long long)count);
    Shape s = { .rank = (int)count, .dim = { size[0] } };
    for (int64_t i = 2; i < count; i++)
        s.dim[i - 1] = size[i];
    s.dim[count - 1] = count - 2;
    infer_out(n, 0, n->in[0]->dtype, s);
}

void lower_affine_grid(Lower *l, Node *n)
{
    const Shape *s = &n->out[0]->shape;
    const int axes = s->rank - 2;
    inlay_affine_grid_params p = { .axes = axes,
                                   .align = node_int(n, "align_corners", 0) != 0,
                                   .n = s->dim[0],
                                   .size = { 1, 1, 1 } };
    for (int i = 0; i < axes; i++)
        p.size[3 - axes + i] = s->dim[1 + i];
    Step *step = lower_step(l, n, lower_kernel(l, "affine_grid", n->in[0]->dtype), &p);
    step_out(step, n->out[0]);
    step_in(step, n->in[0]);
}

/* --- RoiAlign --- */

void infer_roi_align(Node *n)
{
    const Shape *x = infer_shape(n, 0), *regions = infer_shape(n, 1);
    if (x->rank != 4 || regions->rank != 2 || regions->dim[1] != 4)
        fail_node(n, STATUS_MALFORMED, NULL, "wants an image [N,C,H,W] and regions [R,4]");
    const Shape y = { 4,
                      { regions->dim[0], x->dim[1], node_int(n, "output_height", 1),
                        node_int(n, "output_width", 1) } };
    infer_out(n, 0, n->in[0]->dtype, y);
}

void lower_roi_align(Lower *l, Node *n)
{
    static const char *const modes[] = { "avg", "max" }, *const places[] = { "output_half_pixel",
                                                                             "half_pixel" };
    const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    const inlay_roi_align_params p = {
        .n = x->dim[0],
        .c = x->dim[1],
        .h = x->dim[2],
        .w = x->dim[3],
        .regions = y->dim[0],
        .ph = i32_checked(y->dim[2]),
        .pw = i32_checked(y->dim[3]),
        .ratio = i32_checked(node_int(n, "sampling_ratio", 0)),
        .max = choice(n, "mode", "avg", modes, 2),
        .scale = node_float(n, "spatial_scale", 1.0f),
        .half_pixel = n->op->since >= 16 &&
                      choice(n, "coordinate_transformation_mode", "half_pixel", places, 2),
    };
    Step *s = lower_step(l, n, lower_kernel(l, "roi_align", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    for (int i = 0; i < 3; i++)
        step_in(s, n->in[i]);
}

/* --- MaxRoiPool --- */

void infer_max_roi_pool(Node *n)
{
    const Shape *x = infer_shape(n, 0), *regions = infer_shape(n, 1);
    int64_t count;
    const int64_t *cells = node_ints(n, "pooled_shape", &count);
    if (x->rank != 4 || regions->rank != 2 || regions->dim[1] != 5)
        fail_node(n, STATUS_MALFORMED, NULL, "wants an image [N,C,H,W] and regions [R,5]");
    if (!cells || count != 2 || cells[0] < 1 || cells[1] < 1)
        fail_node(n, STATUS_MALFORMED, NULL, "wants a pooled_shape of two positive numbers");
    infer_out(n, 0, n->in[0]->dtype,
              (Shape){ 4, { regions->dim[0], x->dim[1], cells[0], cells[1] } });
}

void lower_max_roi_pool(Lower *l, Node *n)
{
    const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    const inlay_roi_pool_params p = { .n = x->dim[0],
                                      .c = x->dim[1],
                                      .h = x->dim[2],
                                      .w = x->dim[3],
                                      .regions = y->dim[0],
                                      .ph = i32_checked(y->dim[2]),
                                      .pw = i32_checked(y->dim[3]),
                                      .scale = node_float(n, "spatial_scale", 1.0f) };
    Step *s = lower_step(l, n, lower_kernel(l, "roi_pool", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    for (int i = 0; i < 2; i++)
        step_in(s, n->in[i]);
}

/* --- MaxUnpool, Col2Im --- */

static Shape unpooled(const Node *n)
{
    const Shape *x = infer_shape(n, 0);
    int64_t kernels, strides, pads;
    const int64_t *k = node_ints(n, "kernel_shape", &kernels),
                  *s = node_ints(n, "strides", &strides), *p = node_ints(n, "pads", &pads);
    const int axes = x->rank - 2;
    if (kernels != axes || (s && strides != axes) || (p && pads != 2 * axes))
        fail_node(n, STATUS_MALFORMED, NULL, "its attributes do not fit the image's dimensions");
    Shape y = *x;
    for (int i = 0; i < axes; i++)
        y.dim[2 + i] = i64_add(i64_mul(x->dim[2 + i] - 1, s ? s[i] : 1),
                               k[i] - (p ? i64_add(p[i], p[axes + i]) : 0));
    return y;
}

void infer_max_unpool(Node *n)
{
    int64_t count;
    const int64_t *given = infer_ints(n, 2, &count);
    if (node_in(n, 2) && !given) {
        infer_declared(n, 0, n->in[0]->dtype);
        infer_require(n, 0, n->out[0]->shape.rank == infer_shape(n, 0)->rank);
    } else {
        if (given && count != infer_shape(n, 0)->rank)
            fail_node(n, STATUS_MALFORMED, NULL, "output_shape has %lld entries for %d dimensions",
                      (long long)count, infer_shape(n, 0)->rank);
        infer_out(n, 0, n->in[0]->dtype, given ? shape_of((int)count, given) : unpooled(n));
    }
}

void lower_max_unpool(Lower *l, Node *n)
{
    const Shape from = unpooled(n);
    inlay_max_unpool_params p = { .count = tensor_count(n->in[0]),
                                  .total = tensor_count(n->out[0]),
                                  .rank = from.rank };
    memcpy(p.from, from.dim, sizeof p.from);
    memcpy(p.to, n->out[0]->shape.dim, sizeof p.to);
    Step *s = lower_step(l, n, lower_kernel(l, "max_unpool", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    step_in(s, n->in[0]);
    step_in(s, n->in[1]);
}

static inlay_col2im_params col2im_params(const Node *n)
{
    inlay_col2im_params p = { 0 };
    int64_t image_n, tap_n, stride_n, pad_n, dilation_n;
    const int64_t *image = infer_ints(n, 1, &image_n), *tap = infer_ints(n, 2, &tap_n);
    const Shape *declared = n->out[0]->declared;
    if (!image && shape_known(declared) && declared->rank > 2)
        image = declared->dim + 2, image_n = declared->rank - 2;
    if (!image)
        fail_node(n, STATUS_UNSUPPORTED,
                  "bake image_shape with --const, or declare the output's shape in the model",
                  "its image is known only at run time");
    if (!tap)
        tap_n = image_n;
    const int64_t *stride = node_ints(n, "strides", &stride_n), *pad = node_ints(n, "pads", &pad_n),
                  *dilation = node_ints(n, "dilations", &dilation_n);
    if (image_n != tap_n || image_n > MAX_RANK - 2 || image_n < 1 ||
        (stride && stride_n != image_n) || (pad && pad_n != 2 * image_n) ||
        (dilation && dilation_n != image_n))
        fail_node(n, STATUS_MALFORMED, NULL, "its attributes do not fit the image's dimensions");
    p.axes = (int32_t)image_n;
    for (int i = 0; stride && i < p.axes; i++)
        if (stride[i] < 1)
            fail_node(n, STATUS_MALFORMED, NULL, "a stride is %lld", (long long)stride[i]);
    for (int i = 0; i < p.axes; i++) {
        p.image[i] = image[i];
        p.stride[i] = stride ? stride[i] : 1;
        p.pad[i] = pad ? pad[i] : 0;
        p.end[i] = pad ? pad[image_n + i] : 0;
        p.dilation[i] = dilation ? dilation[i] : 1;
        if (!tap)
            continue;
        p.tap[i] = tap[i];
        p.blocks[i] =
            (image[i] + p.pad[i] + p.end[i] - (tap[i] - 1) * p.dilation[i] - 1) / p.stride[i] + 1;
    }
    return p;
}

void infer_col2im(Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const inlay_col2im_params p = col2im_params(n);
    if (!p.tap[0]) {
        Shape y = { 2 + p.axes, { x->dim[0], -1 } };
        memcpy(y.dim + 2, p.image, (size_t)p.axes * sizeof *p.image);
        infer_declared_as(n, 0, n->in[0]->dtype, y);
        return;
    }
    int64_t taps = 1, blocks = 1;
    for (int i = 0; i < p.axes; i++) {
        taps = i64_mul(taps, p.tap[i]);
        blocks = i64_mul(blocks, p.blocks[i]);
    }
    if (x->rank != 3 || taps < 1 || x->dim[1] % taps || x->dim[2] != blocks)
        fail_node(n, STATUS_MALFORMED, NULL, "the columns' shape does not fit image and block");
    Shape y = { 2 + p.axes, { x->dim[0], x->dim[1] / taps } };
    for (int i = 0; i < p.axes; i++)
        y.dim[2 + i] = p.image[i];
    infer_out(n, 0, n->in[0]->dtype, y);
}

void lower_col2im(Lower *l, Node *n)
{
    inlay_col2im_params p = col2im_params(n);
    p.planes = n->out[0]->shape.dim[0] * n->out[0]->shape.dim[1];
    p.columns = tensor_count(n->in[0]) / i64_max(p.planes, 1);
    Step *s = lower_step(l, n, lower_kernel(l, "col2im", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    for (int i = 0; i < 3; i++)
        step_in(s, i && p.tap[0] ? NULL : n->in[i]);
}

/* --- DeformConv --- */

static Window deform_window(const Node *n)
{
    const Shape *w = infer_shape(n, 1);
    if (w->rank != 4)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "only images of two dimensions are supported");
    return window_of(n, w->dim + 2);
}

void infer_deform_conv(Node *n)
{
    if (infer_shape(n, 0)->rank != 4)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "only images of two dimensions are supported");
    const Window w = deform_window(n);
    infer_out(n, 0, n->in[0]->dtype, window_shape(&w, infer_shape(n, 1)->dim[0]));
}

void lower_deform_conv(Lower *l, Node *n)
{
    const Window w = deform_window(n);
    const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    const inlay_deform_conv_params p = {
        .n = x->dim[0],
        .c = x->dim[1],
        .h = x->dim[2],
        .w = x->dim[3],
        .o = y->dim[1],
        .oh = y->dim[2],
        .ow = y->dim[3],
        .kh = w.kernel[1],
        .kw = w.kernel[2],
        .sh = w.stride[1],
        .sw = w.stride[2],
        .dh = w.dilation[1],
        .dw = w.dilation[2],
        .ph = w.pad[1],
        .pw = w.pad[2],
        .groups = node_int(n, "group", 1),
        .offset_groups = node_int(n, "offset_group", 1),
    };
    Step *s = lower_step(l, n, lower_kernel(l, "deform_conv", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    for (int i = 0; i < 5; i++)
        step_in(s, node_in(n, i));
    s->macs = tensor_count(n->out[0]) * p.c / p.groups * p.kh * p.kw;
}

/* --- CenterCropPad: Slice where it crops, Pad where it pads --- */

/* t, whose shape was taken from the file, where the run's shape is the same along the axes (NULL:
 * all). */
static Tensor *checked_size(const Node *n, Tensor *t, const int64_t *axes, int64_t count)
{
    Tensor *size = expand_cast(n, n->in[1], DT_I64);
    if (axes) {
        int64_t *row = NEW_ARRAY(n->graph->arena, int64_t, count);
        for (int64_t i = 0; i < count; i++)
            row[i] = node_axis(n, axes[i], t->shape.rank);
        Tensor *in[] = { expand_i64s(n, t->shape.rank, t->shape.dim), expand_i64s(n, count, row),
                         size };
        size = expand_done(expand_node(n, "ScatterElements", 3, in, 1));
    }
    Tensor *in[] = { t, size };
    return expand_done(expand_inlay_node(n, "FixedSize", 2, in, 1));
}

void expand_center_crop_pad(Node *n)
{
    const Shape *x = infer_shape(n, 0);
    int64_t count, axes_count;
    const int64_t *want = infer_ints(n, 1, &count), *axes = node_ints(n, "axes", &axes_count);
    const Shape *declared = n->out[0]->declared;
    if (!want && (!shape_known(declared) || declared->rank != x->rank))
        fail_node(
            n, STATUS_UNSUPPORTED,
            "bake the shape with --const INPUT=FILE.pb, or declare the output's shape in the model",
            "its shape is known only at run time");
    if (!want)
        count = axes ? axes_count : x->rank;
    if (count != (axes ? axes_count : x->rank))
        fail_node(n, STATUS_MALFORMED, NULL, "the shape does not fit the axes");
    int64_t pads[2 * MAX_RANK] = { 0 };
    bool padded = false;
    Tensor *t = n->in[0];
    for (int64_t i = 0; i < count; i++) {
        const int a = node_axis(n, axes ? axes[i] : i, x->rank);
        const int64_t size = want ? want[i] : declared->dim[a], more = size - x->dim[a];
        if (more < 0)
            t = expand_slice(n, t, a, -more / 2, -more / 2 + size);
        if (more <= 0)
            continue;
        pads[a] = more / 2;
        pads[x->rank + a] = more - more / 2;
        padded = true;
    }
    if (padded)
        t = expand_binary(n, "Pad", t, expand_i64s(n, 2 * x->rank, pads));
    if (!want)
        t = checked_size(n, t, axes, count);
    expand_finish(n, 1, &t);
}
