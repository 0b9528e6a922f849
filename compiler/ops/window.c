/* SPDX-License-Identifier: Apache-2.0
 * Geometry of sliding windows: attributes, automatic padding, output sizes, kernel parameters. */
#include "ops/window.h"

#include <string.h>

#include "base/size.h"
#include "kernels/deconv_f32.h"
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

/* An attribute with one number per spatial dimension (or 2: `sides`), or `otherwise` everywhere. */
static void read_ints(const Node *node, const char *name, int spatial,
                      int64_t least, int64_t otherwise, int64_t *to)
{
    int64_t count;
    const int64_t *v = node_ints(node, name, &count);
    if (count && count != spatial)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute %s has %lld numbers, not %d", name,
                  (long long)count, spatial);
    for (int i = 0; i < WINDOW_DIMS; i++)
        to[i] = 1;
    for (int i = 0; i < spatial; i++) {
        const int64_t x = count ? v[i] : otherwise;
        if (x < least || x > INT32_MAX)
            fail_node(node, STATUS_MALFORMED, NULL, "attribute %s holds %lld",
                      name, (long long)x);
        to[WINDOW_DIMS - spatial + i] = x;
    }
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
    const int first = WINDOW_DIMS - window->spatial;
    for (int i = 0; i < window->spatial; i++) {
        if (taps[i] < 1 || taps[i] > INT32_MAX)
            fail_node(node, STATUS_MALFORMED, NULL, "its window is %lld wide",
                      (long long)taps[i]);
        window->in[first + i] = i32_checked(sizes[i]);
        window->kernel[first + i] = taps[i];
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
        .in = { 1, 1, 1 },
        .out = { 1, 1, 1 },
        .kernel = { 1, 1, 1 },
    };
    window.channels = x->dim[window.channels_last ? x->rank - 1 : 1];
    read_sizes(node, taps, &window);
    read_ints(node, "strides", window.spatial, 1, 1, window.stride);
    read_ints(node, "dilations", window.spatial, 1, 1, window.dilation);
    return window;
}

static void read_pads(const Node *node, Window *window)
{
    int64_t count;
    const int64_t *v = node_ints(node, "pads", &count);
    if (count && count != 2 * window->spatial)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute pads has %lld numbers, not %d", (long long)count,
                  2 * window->spatial);
    for (int i = 0; i < window->spatial && count; i++) {
        const int64_t before = v[i];
        const int64_t after = v[window->spatial + i];
        if (before < 0 || after < 0 || before > INT32_MAX / 4 ||
            after > INT32_MAX / 4)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "attribute pads holds %lld and %lld", (long long)before,
                      (long long)after);
        window->pad[WINDOW_DIMS - window->spatial + i] = before;
        window->end[WINDOW_DIMS - window->spatial + i] = after;
    }
}

static int64_t extent(const Window *window, int i)
{
    return i64_add(i64_mul(window->kernel[i] - 1, window->dilation[i]), 1);
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

/* Splits `total` padding of dimension i; the odd one goes to the end (upper) or to the beginning.
 */
static void split_pad(Window *window, int i, int64_t total, bool upper)
{
    const int64_t t = total > 0 ? total : 0;
    window->pad[i] = upper ? t / 2 : t - t / 2;
    window->end[i] = t - window->pad[i];
}

static int64_t out_size(const Window *window, int i, bool ceil)
{
    const int64_t room =
        window->in[i] + window->pad[i] + window->end[i] - extent(window, i);
    if (room < 0 && !(ceil && room > -window->stride[i]))
        return 0;
    int64_t out = (ceil ? i64_ceil_div(room, window->stride[i])
                        : i64_floor_div(room, window->stride[i])) +
                  1;
    if (ceil &&
        i64_mul(out - 1, window->stride[i]) >= window->in[i] + window->pad[i])
        out--; /* a window that begins in the end padding */
    return out;
}

/* As many results as strides fit into the input, the padding made to fit. */
static void pad_same(Window *window, int i, bool upper)
{
    const int64_t out = i64_ceil_div(window->in[i], window->stride[i]);
    const int64_t whole = (out - 1) * window->stride[i] + extent(window, i);
    window->out[i] = out;
    split_pad(window, i, whole - window->in[i], upper);
}

Window window_of(const Node *node, const int64_t *taps)
{
    Window window = begin(node, taps);
    const AutoPad mode = auto_pad(node);
    const bool same = mode == PAD_UPPER || mode == PAD_LOWER;
    const bool ceil = node_int(node, "ceil_mode", 0) != 0;
    if (mode == PAD_NOTSET)
        read_pads(node, &window);
    for (int i = WINDOW_DIMS - window.spatial; i < WINDOW_DIMS; i++) {
        const int64_t width = extent(&window, i);
        if (same)
            pad_same(&window, i, mode == PAD_UPPER);
        else
            window.out[i] = out_size(&window, i, ceil);
        if (window.out[i] < 1 && window.in[i] > 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "its window of %lld does not fit an image of %lld",
                      (long long)width, (long long)window.in[i]);
        const int64_t covered = i64_mul(window.out[i], window.stride[i]);
        i32_checked(i64_add(covered, width));
    }
    return window;
}

/* One dimension of a transposed convolution: size of the result and padding cut from it. */
static void transposed_size(const Node *node, Window *window, int i,
                            AutoPad mode, int64_t more, int64_t asked)
{
    const int64_t full = i64_add(i64_mul(window->in[i] - 1, window->stride[i]),
                                 i64_add(extent(window, i), more));
    if (asked >= 0) {
        window->out[i] = asked;
        split_pad(window, i, full - asked, mode == PAD_UPPER);
    } else if (mode == PAD_UPPER || mode == PAD_LOWER) {
        window->out[i] = i64_mul(window->in[i], window->stride[i]);
        split_pad(window, i, full - window->out[i], mode == PAD_UPPER);
    } else
        window->out[i] = full - window->pad[i] - window->end[i];
    if (window->out[i] < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its result would be %lld wide",
                  (long long)window->out[i]);
    i32_checked(i64_add(window->out[i], i64_add(full, window->pad[i])));
}

Window window_transposed(const Node *node, const int64_t *taps)
{
    Window window = begin(node, taps);
    const AutoPad mode = auto_pad(node);
    int64_t more[WINDOW_DIMS], count;
    read_ints(node, "output_padding", window.spatial, 0, 0, more);
    const int64_t *asked = node_ints(node, "output_shape", &count);
    if (count && count != window.spatial && count != window.spatial + 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "attribute output_shape has %lld numbers", (long long)count);
    if (count)
        asked += count - window.spatial;
    if (mode == PAD_NOTSET)
        read_pads(node, &window);
    for (int i = 0; i < window.spatial; i++) {
        const int at = WINDOW_DIMS - window.spatial + i;
        transposed_size(node, &window, at, mode, more[at],
                        count ? asked[i] : -1);
    }
    return window;
}

Shape window_shape(const Window *window, int64_t channels)
{
    Shape shape = { .rank = window->spatial + 2 };
    shape.dim[0] = window->images;
    shape.dim[window->channels_last ? window->spatial + 1 : 1] = channels;
    for (int i = 0; i < window->spatial; i++)
        shape.dim[(window->channels_last ? 1 : 2) + i] =
            window->out[WINDOW_DIMS - window->spatial + i];
    return shape;
}

/* A fact of all three dimensions, as fields of a kernel's parameters. */
#define SET_EACH(d, h, w, fact) \
    do { \
        (d) = (int32_t)(fact)[0]; \
        (h) = (int32_t)(fact)[1]; \
        (w) = (int32_t)(fact)[2]; \
    } while (0)

/* The fields of kernels/window_fields.inc.h. */
#define SET_GEOMETRY(p, window) \
    do { \
        SET_EACH((p)->id, (p)->ih, (p)->iw, (window)->in); \
        SET_EACH((p)->od, (p)->oh, (p)->ow, (window)->out); \
        SET_EACH((p)->kd, (p)->kh, (p)->kw, (window)->kernel); \
        SET_EACH((p)->sd, (p)->sh, (p)->sw, (window)->stride); \
        SET_EACH((p)->dd, (p)->dh, (p)->dw, (window)->dilation); \
        SET_EACH((p)->pd, (p)->ph, (p)->pw, (window)->pad); \
    } while (0)

void window_conv_params(const Window *window, inlay_conv_params *params)
{
    SET_GEOMETRY(params, window);
}

void window_bytes_params(const Window *window, inlay_qpacked_params *params)
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
    SET_EACH(params->ed, params->eh, params->ew, window->end);
    params->channels = i32_checked(window->channels);
}

/* Strides of an image of that size in the node's layout: image, channel, depth, row, column. */
static void strides(const Window *window, const int64_t *size, int64_t channels,
                    int64_t *to)
{
    const int64_t inner = window->channels_last ? channels : 1;
    to[4] = inner;
    to[3] = i64_mul(to[4], size[2]);
    to[2] = i64_mul(to[3], size[1]);
    const int64_t volume = i64_mul(to[2], size[0]);
    to[1] = window->channels_last ? 1 : volume;
    to[0] = window->channels_last ? volume : i64_mul(volume, channels);
}

void window_plain_params(const Window *window, inlay_window_params *params,
                         int64_t out_channels)
{
    params->images = i32_checked(window->images);
    for (int i = 0; i < WINDOW_DIMS; i++) {
        params->in[i] = (int32_t)window->in[i];
        params->out[i] = (int32_t)window->out[i];
        params->kernel[i] = (int32_t)window->kernel[i];
        params->stride[i] = (int32_t)window->stride[i];
        params->dilation[i] = (int32_t)window->dilation[i];
        params->pad[i] = (int32_t)window->pad[i];
        params->end[i] = (int32_t)window->end[i];
    }
    strides(window, window->in, window->channels, params->xs);
    strides(window, window->out, out_channels, params->ys);
}

int64_t window_thin(Window *window)
{
    const int64_t tap = window->pad[1] / window->dilation[1];
    if (window->in[1] != 1 || window->out[1] != 1 || window->kernel[1] == 1 ||
        window->pad[1] % window->dilation[1] || tap >= window->kernel[1])
        return -1;
    window->kernel[1] = 1;
    window->pad[1] = window->end[1] = 0;
    return tap;
}

void window_upright(Window *window)
{
    for (int i = 0; i < 2; i++)
        if (window->in[i] != 1 || window->out[i] != 1 || window->kernel[i] != 1)
            return;
    int64_t *const facts[] = { window->in,     window->out,      window->kernel,
                               window->stride, window->dilation, window->pad,
                               window->end };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        facts[i][1] = facts[i][2];
    window->in[2] = window->out[2] = window->kernel[2] = window->stride[2] =
        window->dilation[2] = 1;
    window->pad[2] = window->end[2] = 0;
}

/* Indices of one dimension that the window of output z touches. */
static Rows touched(const Window *window, int i, int64_t z)
{
    const int64_t lo = z * window->stride[i] - window->pad[i];
    const int64_t hi = lo + extent(window, i);
    return (Rows){ (int32_t)i64_max(lo, 0),
                   (int32_t)i64_min(hi, window->in[i]) };
}

/* Indices of dimension i that the window of output z reads. */
typedef Rows ReadRows(const Window *window, int i, int64_t z);

/* Rows of x for each row of y, where images or planes follow one another. */
static void tabulate(const Window *window, const Step *step, Operand *x,
                     ReadRows *read)
{
    const int64_t planes = window->out[0];
    const int64_t high = window->out[1];
    Rows *rows = NEW_ARRAY(step->lower->arena, Rows, step->units + 1);
    for (int32_t u = 0; u < step->units; u++) {
        const int64_t first = u / (planes * high) * window->in[0];
        const Rows z = read(window, 0, u / high % planes);
        const Rows h = read(window, 1, u % high);
        if (z.lo >= z.hi || h.lo >= h.hi)
            continue;
        const int64_t last = first + z.hi - 1;
        rows[u].lo = (int32_t)((first + z.lo) * window->in[1] + h.lo);
        rows[u].hi = (int32_t)(last * window->in[1] + h.hi);
    }
    operand_table(x, step->units, rows);
}

/* Units are rows of y. The window rule speaks of one image, or of several whose rows keep step. */
void window_rows(const Window *window, Step *step, Operand *y, Operand *x)
{
    operand_rows(y,
                 i32_checked(i64_mul(window->images,
                                     i64_mul(window->out[0], window->out[1]))),
                 y->tensor->shape.dim[y->tensor->shape.rank - 1]);
    operand_rows(x,
                 i32_checked(i64_mul(window->images,
                                     i64_mul(window->in[0], window->in[1]))),
                 window->channels);
    y->strided = x->strided = true;
    step->units = y->rows;
    x->reuse = REUSE_ROWS;
    if (window->spatial < 3 &&
        (window->images == 1 ||
         i64_mul(window->out[1], window->stride[1]) == window->in[1]))
        operand_window(x, (int32_t)window->stride[1], (int32_t)window->pad[1],
                       (int32_t)extent(window, 1));
    else
        tabulate(window, step, x, touched);
}

void window_pixels(const Window *window, Operand *x, int32_t tile)
{
    x->reuse = REUSE_ROWS;
    x->pixels = (PixelRule){
        .stride = (int32_t)window->stride[2],
        .pad = (int32_t)window->pad[2],
        .extent = (int32_t)extent(window, 2),
        .tile = tile,
    };
}

/* Indices of one dimension that the kernel reads for output z of a transposed convolution: those of
 * the taps of its phase, among them the zeros that fill it up. */
static Rows spread(const Window *window, int i, int64_t z)
{
    const int32_t stride = (int32_t)window->stride[i];
    const int32_t dilation = (int32_t)window->dilation[i];
    const int32_t phases = stride / inlay_gcd(stride, dilation);
    const int32_t taps = (int32_t)i64_ceil_div(window->kernel[i], phases);
    const inlay_phase f =
        inlay_phase_of((int32_t)(z + window->pad[i]), stride, dilation, taps);
    if (f.first < 0)
        return (Rows){ 0, 0 };
    return (Rows){ (int32_t)i64_max(f.top, 0),
                   (int32_t)i64_min(f.top + (int64_t)(taps - 1) * f.step + 1,
                                    window->in[i]) };
}

/* The same for a transposed convolution. */
void window_rows_transposed(const Window *window, Step *step, Operand *y,
                            Operand *x)
{
    window_rows(window, step, y, x);
    tabulate(window, step, x, spread);
}
