/* SPDX-License-Identifier: Apache-2.0
 * CropAndResize of com.microsoft as a composition: each region of an image, between corners that
 * are sampled themselves, in the same size; outside the image stands a number. */
#include <string.h>

#include "ops/expand.h"
#include "ops/families.h"

typedef struct Crop {
    const Node *node;
    const int64_t *size; /* rows, columns of each result */
    int64_t regions;
    bool nearest;
} Crop;

static void check_image(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *regions = infer_shape(node, 1);
    const bool four = regions->rank == 2 && regions->dim[1] == 4;
    if (x->rank != 4 || !four)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its operands are no image and no regions");
}

static bool is_nearest(const Node *node)
{
    const char *mode = node_string(node, "mode", "bilinear");
    const bool nearest = !strcmp(mode, "nearest");
    if (!nearest && strcmp(mode, "bilinear"))
        fail_node(node, STATUS_MALFORMED, NULL, "unknown mode \"%s\"", mode);
    return nearest;
}

static const int64_t *size_of(const Node *node)
{
    int64_t count;
    const int64_t *size = infer_ints(node, 3, &count);
    if (!size)
        fail_node(node, STATUS_UNSUPPORTED, "make it a constant: --const",
                  "the size of its results is made at run time");
    if (count != 2 || size[0] < 1 || size[1] < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its size is not two numbers");
    return size;
}

static Crop crop_of(const Node *node)
{
    check_image(node);
    return (Crop){
        .node = node,
        .size = size_of(node),
        .regions = infer_shape(node, 1)->dim[0],
        .nearest = is_nearest(node),
    };
}

static Tensor *number(const Crop *crop, double value)
{
    return expand_number(crop->node, value, DT_F32);
}

/* The last pixel of axis 0 (rows) or 1. */
static double last_pixel(const Crop *crop, int axis)
{
    const Shape *image = &crop->node->in[0]->shape;
    const int64_t pixels = image->dim[2 + axis];
    return (double)(pixels - 1);
}

/* 0, 1 ... count - 1. */
static Tensor *counted(const Crop *crop, int64_t count)
{
    Tensor *from = number(crop, 0.0);
    Tensor *end = number(crop, (double)count);
    Tensor *step = number(crop, 1.0);
    return expand_op(crop->node, "Range", from, end, step);
}

/* Column i of the regions, [regions][1]: y and x of the corner before, y and x of that behind. */
static Tensor *corner(const Crop *crop, Tensor *regions, int i)
{
    return expand_slice(crop->node, regions, 1, i, i + 1);
}

/* The one sample of an axis: between the corners. */
static Tensor *middle(const Crop *crop, Tensor *from, Tensor *to)
{
    Tensor *both = expand_add(crop->node, from, to);
    return expand_scaled(crop->node, both, 0.5);
}

/* Where the samples of an axis lie, in pixels: [regions][size]. */
static Tensor *places(const Crop *crop, Tensor *regions, int axis)
{
    const Node *node = crop->node;
    const int64_t size = crop->size[axis];
    const double last = last_pixel(crop, axis);
    Tensor *from = corner(crop, regions, axis);
    Tensor *to = corner(crop, regions, 2 + axis);
    if (size == 1) {
        Tensor *sample = middle(crop, from, to);
        return expand_scaled(node, sample, last);
    }
    Tensor *length = expand_sub(node, to, from);
    Tensor *parts = number(crop, (double)(size - 1));
    Tensor *along = counted(crop, size);
    length = expand_scaled(node, length, last);
    Tensor *step = expand_div(node, length, parts);
    along = expand_mul(node, step, along);
    from = expand_scaled(node, from, last);
    return expand_add(node, from, along);
}

/* Which of them lie outside the image. */
static Tensor *outside(const Crop *crop, Tensor *place, int axis)
{
    const Node *node = crop->node;
    Tensor *first = number(crop, 0.0);
    Tensor *last = number(crop, last_pixel(crop, axis));
    Tensor *before = expand_binary(node, "Less", place, first);
    Tensor *behind = expand_binary(node, "Greater", place, last);
    return expand_binary(node, "Or", before, behind);
}

/* The nearest pixel; the later one of two. */
static Tensor *rounded(const Crop *crop, Tensor *place)
{
    Tensor *half = number(crop, 0.5);
    place = expand_add(crop->node, place, half);
    return expand_unary(crop->node, "Floor", place);
}

/* A place as GridSample counts: -1 is the middle of the first pixel, 1 that of the last. */
static Tensor *in_grid(const Crop *crop, Tensor *place, int axis)
{
    const double last = last_pixel(crop, axis);
    if (crop->nearest)
        place = rounded(crop, place);
    if (last > 0.0)
        place = expand_scaled(crop->node, place, 2.0 / last);
    Tensor *one = number(crop, 1.0);
    return expand_sub(crop->node, place, one);
}

/* [regions][size] spread over [regions][rows][columns]. */
static Tensor *spread(const Crop *crop, Tensor *tensor, int axis)
{
    const int64_t dims[] = {
        crop->regions,
        crop->size[0],
        crop->size[1],
    };
    Tensor *wide = expand_unsqueeze(crop->node, tensor, 2 - axis);
    Tensor *shape = expand_i64s(crop->node, 3, dims);
    return expand_op(crop->node, "Expand", wide, shape);
}

/* Where samples lie, axis by axis. */
typedef struct Samples {
    Tensor *place[2];
} Samples;

static Tensor *grid_of(const Crop *crop, const Samples *samples, int axis)
{
    Tensor *place = in_grid(crop, samples->place[axis], axis);
    Tensor *wide = spread(crop, place, axis);
    return expand_unsqueeze(crop->node, wide, 3);
}

static Tensor *sampled(const Crop *crop, Tensor *images, const Samples *samples)
{
    const Node *node = crop->node;
    Tensor *y = grid_of(crop, samples, 0);
    Tensor *x = grid_of(crop, samples, 1);
    Tensor *grid = expand_concat(node, x, y, 3);
    Node *made = expand_of(node, "GridSample", images, grid);
    const char *mode = crop->nearest ? "nearest" : "linear";
    node_set_string(made, "mode", mode);
    node_set_string(made, "padding_mode", "border");
    node_set_int(made, "align_corners", 1);
    return expand_done(made);
}

/* [regions][1][rows][columns] */
static Tensor *all_outside(const Crop *crop, const Samples *samples)
{
    Tensor *out[2];
    for (int i = 0; i < 2; i++) {
        out[i] = outside(crop, samples->place[i], i);
        out[i] = spread(crop, out[i], i);
    }
    Tensor *either = expand_binary(crop->node, "Or", out[0], out[1]);
    return expand_unsqueeze(crop->node, either, 1);
}

void expand_crop_and_resize(Node *node)
{
    const Crop crop = crop_of(node);
    const DType type = node_type(node);
    const float outer = node_float(node, "extrapolation_value", 0.0f);
    infer_shape(node, 2);
    expand_operand(node, 0, DT_F32);
    expand_operand(node, 1, DT_F32);
    Tensor *regions = node->in[1];
    Samples samples;
    for (int i = 0; i < 2; i++)
        samples.place[i] = places(&crop, regions, i);
    Tensor *images = expand_gather(node, node->in[0], node->in[2], 0);
    Tensor *inside = sampled(&crop, images, &samples);
    Tensor *out = all_outside(&crop, &samples);
    Tensor *number_outside = number(&crop, (double)outer);
    Tensor *y = expand_where(node, out, number_outside, inside);
    y = expand_cast(node, y, type);
    expand_finish_one(node, y);
}
