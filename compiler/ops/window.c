/* SPDX-License-Identifier: Apache-2.0
 * Geometry of sliding windows: attributes, automatic padding, output sizes, kernel parameters. */
#include "ops/window.h"

#include <string.h>

#include "base/size.h"
#include "kernels/deconv_f32.h"
#include "kernels/pool.h"
#include "kernels/qdot.h"
#include "kernels/qpacked.h"
#include "kernels/qshort_params.h"
#include "kernels/window_plain.h"
#include "ops/families.h"

int window_rank(const Node *node)
{
    const int rank = infer_shape(node, 0)->rank;
    if (rank < 3)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its input has %d dimensions; an image has at least three",
                  rank);
    if (rank > 2 + WINDOW_DIMS)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "its input has %d dimensions; at most %d are supported", rank,
                  2 + WINDOW_DIMS);
    return rank - 2;
}

const WindowAxis window_one = {
    .in = 1,
    .out = 1,
    .kernel = 1,
    .stride = 1,
    .dilation = 1,
};

/* The dimension of the window that spatial dimension i is. */
static int place_of(const Window *window, int i)
{
    return WINDOW_DIMS - window->spatial + i;
}

static WindowAxis *axis_of(Window *window, int i)
{
    return window->axis + place_of(window, i);
}

/* A number of an attribute, which is to be at least `least`. */
static int64_t checked(const Node *node, const char *name, int64_t value,
                       int64_t least)
{
    if (value < least || value > INT32_MAX)
        fail_node(node, STATUS_MALFORMED, NULL, "attribute %s holds %lld", name,
                  (long long)value);
    return value;
}

/* An attribute with one number per spatial dimension; NULL where it is left out. */
static const int64_t *numbers(const Node *node, const char *name, int spatial)
{
    int64_t count;
    const int64_t *number = node_ints(node, name, &count);
    if (count && count != spatial)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute %s has %lld numbers, not %d", name,
                  (long long)count, spatial);
    return count ? number : NULL;
}

static void read_steps(const Node *node, Window *window)
{
    const int spatial = window->spatial;
    const int64_t *stride = numbers(node, "strides", spatial);
    for (int i = 0; stride && i < spatial; i++)
        axis_of(window, i)->stride = checked(node, "strides", stride[i], 1);
    const int64_t *dilation = numbers(node, "dilations", spatial);
    for (int i = 0; dilation && i < spatial; i++)
        axis_of(window, i)->dilation =
            checked(node, "dilations", dilation[i], 1);
}

const int64_t *window_kernel_shape(const Node *node, int64_t *count)
{
    const int64_t *v = node_ints(node, "kernel_shape", count);
    if (!*count)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute kernel_shape is missing");
    return v;
}

/* Sizes of the image and taps of the window. */
static void read_sizes(const Node *node, const int64_t *taps, Window *window)
{
    const Shape *x = infer_shape(node, 0);
    const int64_t *sizes = x->dim + (window->channels_last ? 1 : 2);
    for (int i = 0; i < window->spatial; i++) {
        WindowAxis *axis = axis_of(window, i);
        if (taps[i] < 1 || taps[i] > INT32_MAX)
            fail_node(node, STATUS_MALFORMED, NULL, "its window is %lld wide",
                      (long long)taps[i]);
        axis->in = i32_checked(sizes[i]);
        axis->kernel = taps[i];
    }
}

/* Everything but padding and output. */
static Window begin(const Node *node, const int64_t *taps)
{
    const Shape *x = infer_shape(node, 0);
    Window window = {
        .spatial = window_rank(node),
        .channels_last = node->channels_last,
        .images = x->dim[0],
        .axis = { window_one, window_one, window_one },
    };
    window.channels = x->dim[window.channels_last ? x->rank - 1 : 1];
    read_sizes(node, taps, &window);
    read_steps(node, &window);
    return window;
}

static void read_pads(const Node *node, Window *window)
{
    enum { MOST = INT32_MAX / 4 };
    const int spatial = window->spatial;
    int64_t count;
    const int64_t *pads = node_ints(node, "pads", &count);
    if (count && count != 2 * spatial)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute pads has %lld numbers, not %d", (long long)count,
                  2 * spatial);
    for (int i = 0; i < spatial && count; i++) {
        const int64_t before = pads[i];
        const int64_t after = pads[spatial + i];
        if (i64_min(before, after) < 0 || i64_max(before, after) > MOST)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "attribute pads holds %lld and %lld", (long long)before,
                      (long long)after);
        WindowAxis *axis = axis_of(window, i);
        axis->pad = before;
        axis->end = after;
    }
}

/* Pixels from the first tap to the last. */
static int64_t extent(const WindowAxis *axis)
{
    return i64_add(i64_mul(axis->kernel - 1, axis->dilation), 1);
}

typedef enum AutoPad { PAD_NOTSET, PAD_VALID, PAD_UPPER, PAD_LOWER } AutoPad;

static AutoPad auto_pad(const Node *node)
{
    static const char *const name[] = { "NOTSET", "VALID", "SAME_UPPER",
                                        "SAME_LOWER" };
    const char *v = node_string(node, "auto_pad", "NOTSET");
    for (int i = 0; i < 4; i++)
        if (!strcmp(v, name[i]))
            return (AutoPad)i;
    fail_node(node, STATUS_MALFORMED, NULL, "attribute auto_pad is \"%s\"", v);
}

/* Splits `total` padding; the odd one goes to the end (upper) or to the beginning. */
static void split_pad(WindowAxis *axis, int64_t total, bool upper)
{
    const int64_t all = i64_max(total, 0);
    const int64_t half = all / 2;
    axis->pad = upper ? half : all - half;
    axis->end = all - axis->pad;
}

static int64_t out_size(const Node *node, const WindowAxis *axis, bool ceil)
{
    const int64_t stride = axis->stride;
    const int64_t begun = axis->in + axis->pad; /* with the end padding left */
    const int64_t room = begun + axis->end - extent(axis);
    if (ceil ? room <= -stride : room < 0)
        return 0;
    if (!ceil)
        return i64_floor_div(room, stride) + 1;
    const int64_t last = i64_ceil_div(room, stride);
    if (i64_mul(last, stride) < begun)
        return last + 1;
    graph_root(node->graph)->windows_left_out = true;
    return last;
}

/* As many results as strides fit into the input, the padding made to fit. */
static void pad_same(WindowAxis *axis, bool upper)
{
    axis->out = i64_ceil_div(axis->in, axis->stride);
    const int64_t whole = (axis->out - 1) * axis->stride + extent(axis);
    split_pad(axis, whole - axis->in, upper);
}

static void check_axis(const Node *node, const WindowAxis *axis)
{
    const int64_t width = extent(axis);
    if (axis->out < 1 && axis->in > 0)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its window of %lld does not fit an image of %lld",
                  (long long)width, (long long)axis->in);
    const int64_t covered = i64_mul(axis->out, axis->stride);
    i32_checked(i64_add(covered, width));
}

Window window_of(const Node *node, const int64_t *taps)
{
    Window window = begin(node, taps);
    const AutoPad mode = auto_pad(node);
    const bool same = mode == PAD_UPPER || mode == PAD_LOWER;
    const bool ceil = node_flag(node, "ceil_mode", false);
    if (mode == PAD_NOTSET)
        read_pads(node, &window);
    for (int i = 0; i < window.spatial; i++) {
        WindowAxis *axis = axis_of(&window, i);
        if (same)
            pad_same(axis, mode == PAD_UPPER);
        else
            axis->out = out_size(node, axis, ceil);
        check_axis(node, axis);
    }
    return window;
}

/* What output_padding and output_shape ask of a dimension of a transposed convolution. */
typedef struct Asked {
    int64_t more;
    int64_t size; /* negative: not asked */
} Asked;

/* Its size of the result and the padding cut from it. */
static void transposed_size(const Node *node, WindowAxis *axis, AutoPad mode,
                            const Asked *asked)
{
    const int64_t reach = i64_add(extent(axis), asked->more);
    const int64_t before_last = i64_mul(axis->in - 1, axis->stride);
    const int64_t full = i64_add(before_last, reach);
    const bool upper = mode == PAD_UPPER;
    if (asked->size >= 0) {
        axis->out = asked->size;
        split_pad(axis, full - axis->out, upper);
    } else if (upper || mode == PAD_LOWER) {
        axis->out = i64_mul(axis->in, axis->stride);
        split_pad(axis, full - axis->out, upper);
    } else {
        axis->out = full - axis->pad - axis->end;
    }
    if (axis->out < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its result would be %lld wide",
                  (long long)axis->out);
    const int64_t padded = i64_add(full, axis->pad);
    i32_checked(i64_add(axis->out, padded));
}

/* Attribute output_shape, of which the last numbers are the sizes of the image; NULL: left out. */
static const int64_t *asked_sizes(const Node *node, int spatial)
{
    int64_t count;
    const int64_t *asked = node_ints(node, "output_shape", &count);
    if (count && count != spatial && count != spatial + 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute output_shape has %lld numbers", (long long)count);
    return count ? asked + count - spatial : NULL;
}

Window window_transposed(const Node *node, const int64_t *taps)
{
    Window window = begin(node, taps);
    const int spatial = window.spatial;
    const AutoPad mode = auto_pad(node);
    const int64_t *more = numbers(node, "output_padding", spatial);
    for (int i = 0; more && i < spatial; i++)
        checked(node, "output_padding", more[i], 0);
    const int64_t *size = asked_sizes(node, spatial);
    if (mode == PAD_NOTSET)
        read_pads(node, &window);
    for (int i = 0; i < spatial; i++) {
        const Asked asked = {
            .more = more ? more[i] : 0,
            .size = size ? size[i] : -1,
        };
        transposed_size(node, axis_of(&window, i), mode, &asked);
    }
    return window;
}

Shape window_shape(const Window *window, int64_t channels)
{
    const int spatial = window->spatial;
    const bool last = window->channels_last;
    Shape shape = { .rank = spatial + 2 };
    int64_t *sizes = shape.dim + (last ? 1 : 2);
    shape.dim[0] = window->images;
    shape.dim[last ? spatial + 1 : 1] = channels;
    for (int i = 0; i < spatial; i++)
        sizes[i] = window->axis[place_of(window, i)].out;
    return shape;
}

/* A fact of each dimension, as fields of a kernel's parameters. */
#define SET_EACH(d, h, w, window, fact) \
    do { \
        (d) = (int32_t)(window)->axis[0].fact; \
        (h) = (int32_t)(window)->axis[1].fact; \
        (w) = (int32_t)(window)->axis[2].fact; \
    } while (0)

/* The fields of kernels/window_fields.inc.h. */
#define SET_GEOMETRY(p, window) \
    do { \
        SET_EACH((p)->id, (p)->ih, (p)->iw, window, in); \
        SET_EACH((p)->od, (p)->oh, (p)->ow, window, out); \
        SET_EACH((p)->kd, (p)->kh, (p)->kw, window, kernel); \
        SET_EACH((p)->sd, (p)->sh, (p)->sw, window, stride); \
        SET_EACH((p)->dd, (p)->dh, (p)->dw, window, dilation); \
        SET_EACH((p)->pd, (p)->ph, (p)->pw, window, pad); \
    } while (0)

void window_conv_params(const Window *window, inlay_conv_params *params)
{
    SET_GEOMETRY(params, window);
}

void window_bytes_params(const Window *window, inlay_qpacked_params *params)
{
    SET_GEOMETRY(params, window);
}

void window_short_params(const Window *window, inlay_qshort_params *params)
{
    SET_GEOMETRY(params, window);
}

void window_qconv_params(const Window *window, inlay_qconv_params *params)
{
    SET_GEOMETRY(params, window);
}

void window_pool_params(const Window *window, inlay_pool_params *params)
{
    SET_GEOMETRY(params, window);
    SET_EACH(params->ed, params->eh, params->ew, window, end);
    params->channels = i32_checked(window->channels);
}

/* Strides of an image of that size in the node's layout: image, channel, depth, row, column. */
static void strides(const Window *window, const int32_t *size, int64_t channels,
                    int64_t *to)
{
    const bool last = window->channels_last;
    const int64_t pixel = last ? channels : 1;
    const int64_t row = i64_mul(pixel, size[2]);
    const int64_t plane = i64_mul(row, size[1]);
    const int64_t volume = i64_mul(plane, size[0]);
    to[0] = last ? volume : i64_mul(volume, channels);
    to[1] = last ? 1 : volume;
    to[2] = plane;
    to[3] = row;
    to[4] = pixel;
}

void window_plain_params(const Window *window, inlay_window_params *params,
                         int64_t out_channels)
{
    params->images = i32_checked(window->images);
    for (int i = 0; i < WINDOW_DIMS; i++) {
        const WindowAxis *axis = window->axis + i;
        params->in[i] = (int32_t)axis->in;
        params->out[i] = (int32_t)axis->out;
        params->kernel[i] = (int32_t)axis->kernel;
        params->stride[i] = (int32_t)axis->stride;
        params->dilation[i] = (int32_t)axis->dilation;
        params->pad[i] = (int32_t)axis->pad;
        params->end[i] = (int32_t)axis->end;
    }
    strides(window, params->in, window->channels, params->xs);
    strides(window, params->out, out_channels, params->ys);
}

int64_t window_thin(Window *window)
{
    WindowAxis *rows = window->axis + 1;
    const int64_t tap = rows->pad / rows->dilation;
    if (rows->in != 1 || rows->out != 1 || rows->kernel == 1)
        return -1;
    if (rows->pad % rows->dilation || tap >= rows->kernel)
        return -1;
    rows->kernel = 1;
    rows->pad = 0;
    rows->end = 0;
    return tap;
}

/* Is the one result along axis the one input, not padding beside it? */
static bool is_flat(const WindowAxis *axis)
{
    const bool single = axis->in == 1 && axis->out == 1;
    return single && axis->kernel == 1 && axis->pad == 0;
}

void window_upright(Window *window)
{
    WindowAxis *axis = window->axis;
    for (int i = 0; i < 2; i++)
        if (!is_flat(axis + i))
            return;
    axis[0] = window_one; /* without a stride, which has phases */
    axis[1] = axis[2];
    axis[2] = window_one;
}

/* Indices of the input along `axis` that the window of output z touches. */
static Rows touched(const WindowAxis *axis, int64_t z)
{
    const int64_t first = z * axis->stride - axis->pad;
    const int64_t end = first + extent(axis);
    return (Rows){
        .lo = (int32_t)i64_max(first, 0),
        .hi = (int32_t)i64_min(end, axis->in),
    };
}

/* Indices of the input along an axis that the window of output z reads. */
typedef Rows ReadRows(const WindowAxis *axis, int64_t z);

/* Rows of x for each row of y, where images or planes follow one another. */
static void tabulate(const Window *window, const Step *step, Operand *x,
                     ReadRows *read)
{
    const WindowAxis *depth = window->axis;
    const WindowAxis *row = depth + 1;
    Rows *rows = step_rows(step);
    for (int32_t u = 0; u < step->units; u++) {
        const int64_t plane = u / row->out;
        const int64_t image = plane / depth->out;
        const Rows z = read(depth, plane % depth->out);
        const Rows h = read(row, u % row->out);
        if (z.lo >= z.hi || h.lo >= h.hi)
            continue;
        const int64_t first = image * depth->in + z.lo;
        const int64_t last = image * depth->in + z.hi - 1;
        rows[u].lo = (int32_t)(first * row->in + h.lo);
        rows[u].hi = (int32_t)(last * row->in + h.hi);
    }
    operand_table(x, step->units, rows);
}

/* Rows of all images, which have so many planes of so many rows. */
static int32_t all_rows(const Window *window, int64_t planes, int64_t rows)
{
    const int64_t each = i64_mul(planes, rows);
    return i32_checked(i64_mul(window->images, each));
}

/* Units are rows of y. The window rule speaks of one image, or of several whose rows keep step. */
void window_rows(const Window *window, Step *step, Operand *y, Operand *x)
{
    const WindowAxis *depth = window->axis;
    const WindowAxis *row = depth + 1;
    const Shape *result = &y->tensor->shape;
    const int64_t channels = result->dim[result->rank - 1];
    const bool in_step = i64_mul(row->out, row->stride) == row->in;
    operand_rows(y, all_rows(window, depth->out, row->out), channels);
    operand_rows(x, all_rows(window, depth->in, row->in), window->channels);
    y->strided = true;
    x->strided = true;
    x->reuse = REUSE_ROWS;
    step->units = y->rows;
    if (window->spatial < 3 && (window->images == 1 || in_step))
        operand_window(x, (int32_t)row->stride, (int32_t)row->pad,
                       (int32_t)extent(row));
    else
        tabulate(window, step, x, touched);
}

void window_pixels(const Window *window, Operand *x, int32_t tile)
{
    const WindowAxis *column = window->axis + 2;
    x->reuse = REUSE_ROWS;
    x->pixels = (PixelRule){
        .stride = (int32_t)column->stride,
        .pad = (int32_t)column->pad,
        .extent = (int32_t)extent(column),
        .tile = tile,
    };
}

int32_t window_phases(const WindowAxis *axis)
{
    const int32_t stride = (int32_t)axis->stride;
    return stride / inlay_gcd(stride, (int32_t)axis->dilation);
}

/* Indices of one dimension that the kernel reads for output z of a transposed convolution: those of
 * the taps of its phase, among them the zeros that fill it up. */
static Rows spread(const WindowAxis *axis, int64_t z)
{
    const int32_t stride = (int32_t)axis->stride;
    const int32_t dilation = (int32_t)axis->dilation;
    const int32_t place = (int32_t)(z + axis->pad);
    const int64_t each = i64_ceil_div(axis->kernel, window_phases(axis));
    const int32_t taps = (int32_t)each;
    const inlay_phase f = inlay_phase_of(place, stride, dilation, taps);
    if (f.first < 0)
        return (Rows){ 0, 0 };
    const int64_t end = f.top + (int64_t)(taps - 1) * f.step + 1;
    return (Rows){
        .lo = (int32_t)i64_max(f.top, 0),
        .hi = (int32_t)i64_min(end, axis->in),
    };
}

/* The same for a transposed convolution. */
void window_rows_transposed(const Window *window, Step *step, Operand *y,
                            Operand *x)
{
    window_rows(window, step, y, x);
    tabulate(window, step, x, spread);
}
