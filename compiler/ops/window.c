/* SPDX-License-Identifier: Apache-2.0
 * Geometry of sliding windows: attributes, automatic padding, output sizes, kernel parameters. */
#include "ops/window.h"

#include <string.h>

#include "base/size.h"
#include "kernels/deconv_f32.h"
#include "ops/families.h"

int window_rank(const Node *n)
{
    const int rank = infer_shape(n, 0)->rank;
    if (rank < 3)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "its input has %d dimensions; an image has at least three", rank);
    if (rank > 2 + WINDOW_DIMS)
        fail_node(n, STATUS_UNSUPPORTED, NULL,
                  "its input has %d dimensions; at most %d are supported", rank, 2 + WINDOW_DIMS);
    return rank - 2;
}

/* An attribute with one number per spatial dimension (or 2: `sides`), or `otherwise` everywhere. */
static void read_ints(const Node *n, const char *name, int spatial, int64_t least,
                      int64_t otherwise, int64_t *to)
{
    int64_t count;
    const int64_t *v = node_ints(n, name, &count);
    if (count && count != spatial)
        fail_node(n, STATUS_MALFORMED, NULL, "attribute %s has %lld numbers, not %d", name,
                  (long long)count, spatial);
    for (int i = 0; i < WINDOW_DIMS; i++)
        to[i] = 1;
    for (int i = 0; i < spatial; i++) {
        const int64_t x = count ? v[i] : otherwise;
        if (x < least || x > INT32_MAX)
            fail_node(n, STATUS_MALFORMED, NULL, "attribute %s holds %lld", name, (long long)x);
        to[WINDOW_DIMS - spatial + i] = x;
    }
}

const int64_t *window_kernel_shape(const Node *n, int64_t *count)
{
    const int64_t *v = node_ints(n, "kernel_shape", count);
    if (!*count)
        fail_node(n, STATUS_MALFORMED, NULL, "attribute kernel_shape is missing");
    return v;
}

/* Sizes and everything but padding and output. */
static Window begin(const Node *n, const int64_t *taps)
{
    const Shape *x = infer_shape(n, 0);
    Window w = { .spatial = window_rank(n),
                 .channels_last = n->channels_last,
                 .images = x->dim[0] };
    const int first = WINDOW_DIMS - w.spatial;
    w.channels = x->dim[w.channels_last ? x->rank - 1 : 1];
    for (int i = 0; i < WINDOW_DIMS; i++)
        w.in[i] = w.out[i] = w.kernel[i] = 1;
    for (int i = 0; i < w.spatial; i++) {
        w.in[first + i] = x->dim[(w.channels_last ? 1 : 2) + i];
        w.kernel[first + i] = taps[i];
        if (taps[i] < 1 || taps[i] > INT32_MAX)
            fail_node(n, STATUS_MALFORMED, NULL, "its window is %lld wide", (long long)taps[i]);
        i32_checked(w.in[first + i]);
    }
    read_ints(n, "strides", w.spatial, 1, 1, w.stride);
    read_ints(n, "dilations", w.spatial, 1, 1, w.dilation);
    return w;
}

static void read_pads(const Node *n, Window *w)
{
    int64_t count;
    const int64_t *v = node_ints(n, "pads", &count);
    if (count && count != 2 * w->spatial)
        fail_node(n, STATUS_MALFORMED, NULL, "attribute pads has %lld numbers, not %d",
                  (long long)count, 2 * w->spatial);
    for (int i = 0; i < w->spatial && count; i++) {
        const int64_t before = v[i], after = v[w->spatial + i];
        if (before < 0 || after < 0 || before > INT32_MAX / 4 || after > INT32_MAX / 4)
            fail_node(n, STATUS_MALFORMED, NULL, "attribute pads holds %lld and %lld",
                      (long long)before, (long long)after);
        w->pad[WINDOW_DIMS - w->spatial + i] = before;
        w->end[WINDOW_DIMS - w->spatial + i] = after;
    }
}

static int64_t extent(const Window *w, int i)
{
    return i64_add(i64_mul(w->kernel[i] - 1, w->dilation[i]), 1);
}

typedef enum AutoPad { PAD_NOTSET, PAD_VALID, PAD_UPPER, PAD_LOWER } AutoPad;

static AutoPad auto_pad(const Node *n)
{
    static const char *const name[] = { "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER" };
    const char *v = node_string(n, "auto_pad", "NOTSET");
    for (int i = 0; i < 4; i++)
        if (!strcmp(v, name[i]))
            return (AutoPad)i;
    fail_node(n, STATUS_MALFORMED, NULL, "attribute auto_pad is \"%s\"", v);
}

/* Splits `total` padding of dimension i; the odd one goes to the end (upper) or to the beginning.
 */
static void split_pad(Window *w, int i, int64_t total, bool upper)
{
    const int64_t t = total > 0 ? total : 0;
    w->pad[i] = upper ? t / 2 : t - t / 2;
    w->end[i] = t - w->pad[i];
}

static int64_t out_size(const Window *w, int i, bool ceil)
{
    const int64_t room = w->in[i] + w->pad[i] + w->end[i] - extent(w, i);
    if (room < 0 && !(ceil && room > -w->stride[i]))
        return 0;
    int64_t out = (ceil ? i64_ceil_div(room, w->stride[i]) : i64_floor_div(room, w->stride[i])) + 1;
    if (ceil && i64_mul(out - 1, w->stride[i]) >= w->in[i] + w->pad[i])
        out--; /* a window that begins in the end padding */
    return out;
}

Window window_of(const Node *n, const int64_t *taps)
{
    Window w = begin(n, taps);
    const AutoPad mode = auto_pad(n);
    const bool ceil = node_int(n, "ceil_mode", 0) != 0;
    if (mode == PAD_NOTSET)
        read_pads(n, &w);
    for (int i = WINDOW_DIMS - w.spatial; i < WINDOW_DIMS; i++) {
        if (mode == PAD_UPPER || mode == PAD_LOWER) {
            w.out[i] = i64_ceil_div(w.in[i], w.stride[i]);
            split_pad(&w, i, (w.out[i] - 1) * w.stride[i] + extent(&w, i) - w.in[i],
                      mode == PAD_UPPER);
        } else
            w.out[i] = out_size(&w, i, ceil);
        if (w.out[i] < 1 && w.in[i] > 0)
            fail_node(n, STATUS_MALFORMED, NULL, "its window of %lld does not fit an image of %lld",
                      (long long)extent(&w, i), (long long)w.in[i]);
        i32_checked(i64_add(i64_mul(w.out[i], w.stride[i]), extent(&w, i)));
    }
    return w;
}

/* One dimension of a transposed convolution: size of the result and padding cut from it. */
static void transposed_size(const Node *n, Window *w, int i, AutoPad mode, int64_t more,
                            int64_t asked)
{
    const int64_t full = i64_add(i64_mul(w->in[i] - 1, w->stride[i]), i64_add(extent(w, i), more));
    if (asked >= 0) {
        w->out[i] = asked;
        split_pad(w, i, full - asked, mode == PAD_UPPER);
    } else if (mode == PAD_UPPER || mode == PAD_LOWER) {
        w->out[i] = i64_mul(w->in[i], w->stride[i]);
        split_pad(w, i, full - w->out[i], mode == PAD_UPPER);
    } else
        w->out[i] = full - w->pad[i] - w->end[i];
    if (w->out[i] < 1)
        fail_node(n, STATUS_MALFORMED, NULL, "its result would be %lld wide", (long long)w->out[i]);
    i32_checked(i64_add(w->out[i], i64_add(full, w->pad[i])));
}

Window window_transposed(const Node *n, const int64_t *taps)
{
    Window w = begin(n, taps);
    const AutoPad mode = auto_pad(n);
    int64_t more[WINDOW_DIMS], count;
    read_ints(n, "output_padding", w.spatial, 0, 0, more);
    const int64_t *asked = node_ints(n, "output_shape", &count);
    if (count && count != w.spatial && count != w.spatial + 2)
        fail_node(n, STATUS_MALFORMED, NULL, "attribute output_shape has %lld numbers",
                  (long long)count);
    if (count)
        asked += count - w.spatial;
    if (mode == PAD_NOTSET)
        read_pads(n, &w);
    for (int i = 0; i < w.spatial; i++) {
        const int at = WINDOW_DIMS - w.spatial + i;
        transposed_size(n, &w, at, mode, more[at], count ? asked[i] : -1);
    }
    return w;
}

Shape window_shape(const Window *w, int64_t channels)
{
    Shape s = { .rank = w->spatial + 2 };
    s.dim[0] = w->images;
    s.dim[w->channels_last ? w->spatial + 1 : 1] = channels;
    for (int i = 0; i < w->spatial; i++)
        s.dim[(w->channels_last ? 1 : 2) + i] = w->out[WINDOW_DIMS - w->spatial + i];
    return s;
}

/* The geometry that inlay_conv_params and inlay_pool_params share, by name. */
#define SET_GEOMETRY(p, w) \
    do { \
        (p)->id = (int32_t)(w)->in[0], (p)->ih = (int32_t)(w)->in[1], \
        (p)->iw = (int32_t)(w)->in[2]; \
        (p)->od = (int32_t)(w)->out[0], (p)->oh = (int32_t)(w)->out[1], \
        (p)->ow = (int32_t)(w)->out[2]; \
        (p)->kd = (int32_t)(w)->kernel[0], (p)->kh = (int32_t)(w)->kernel[1], \
        (p)->kw = (int32_t)(w)->kernel[2]; \
        (p)->sd = (int32_t)(w)->stride[0], (p)->sh = (int32_t)(w)->stride[1], \
        (p)->sw = (int32_t)(w)->stride[2]; \
        (p)->dd = (int32_t)(w)->dilation[0], (p)->dh = (int32_t)(w)->dilation[1], \
        (p)->dw = (int32_t)(w)->dilation[2]; \
        (p)->pd = (int32_t)(w)->pad[0], (p)->ph = (int32_t)(w)->pad[1], \
        (p)->pw = (int32_t)(w)->pad[2]; \
    } while (0)

void window_conv_params(const Window *w, inlay_conv_params *p)
{
    SET_GEOMETRY(p, w);
}

void window_pool_params(const Window *w, inlay_pool_params *p)
{
    SET_GEOMETRY(p, w);
    p->ed = (int32_t)w->end[0], p->eh = (int32_t)w->end[1], p->ew = (int32_t)w->end[2];
    p->channels = i32_checked(w->channels);
}

/* Strides of an image of that size in the node's layout: image, channel, depth, row, column. */
static void strides(const Window *w, const int64_t *size, int64_t channels, int64_t *to)
{
    const int64_t inner = w->channels_last ? channels : 1;
    to[4] = inner;
    to[3] = i64_mul(to[4], size[2]);
    to[2] = i64_mul(to[3], size[1]);
    const int64_t volume = i64_mul(to[2], size[0]);
    to[1] = w->channels_last ? 1 : volume;
    to[0] = w->channels_last ? volume : i64_mul(volume, channels);
}

void window_plain_params(const Window *w, inlay_window_params *p, int64_t out_channels)
{
    p->images = i32_checked(w->images);
    for (int i = 0; i < WINDOW_DIMS; i++) {
        p->in[i] = (int32_t)w->in[i], p->out[i] = (int32_t)w->out[i],
        p->kernel[i] = (int32_t)w->kernel[i];
        p->stride[i] = (int32_t)w->stride[i], p->dilation[i] = (int32_t)w->dilation[i];
        p->pad[i] = (int32_t)w->pad[i], p->end[i] = (int32_t)w->end[i];
    }
    strides(w, w->in, w->channels, p->xs);
    strides(w, w->out, out_channels, p->ys);
}

int64_t window_thin(Window *w)
{
    const int64_t tap = w->pad[1] / w->dilation[1];
    if (w->in[1] != 1 || w->out[1] != 1 || w->kernel[1] == 1 || w->pad[1] % w->dilation[1] ||
        tap >= w->kernel[1])
        return -1;
    w->kernel[1] = 1;
    w->pad[1] = w->end[1] = 0;
    return tap;
}

void window_upright(Window *w)
{
    for (int i = 0; i < 2; i++)
        if (w->in[i] != 1 || w->out[i] != 1 || w->kernel[i] != 1)
            return;
    int64_t *const facts[] = { w->in, w->out, w->kernel, w->stride, w->dilation, w->pad, w->end };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        facts[i][1] = facts[i][2];
    w->in[2] = w->out[2] = w->kernel[2] = w->stride[2] = w->dilation[2] = 1;
    w->pad[2] = w->end[2] = 0;
}

/* Indices of one dimension that the window of output z touches. */
static Rows touched(const Window *w, int i, int64_t z)
{
    const int64_t lo = z * w->stride[i] - w->pad[i], hi = lo + extent(w, i);
    return (Rows){ (int32_t)i64_max(lo, 0), (int32_t)i64_min(hi, w->in[i]) };
}

/* Rows of x for each row of y, where images or planes follow one another. */
static void tabulate(const Window *w, const Step *s, Operand *x)
{
    Rows *rows = NEW_ARRAY(s->lower->arena, Rows, s->units + 1);
    for (int32_t u = 0; u < s->units; u++) {
        const int64_t image = u / (w->out[0] * w->out[1]);
        const Rows z = touched(w, 0, u / w->out[1] % w->out[0]), h = touched(w, 1, u % w->out[1]);
        if (z.lo >= z.hi || h.lo >= h.hi)
            continue;
        rows[u].lo = (int32_t)((image * w->in[0] + z.lo) * w->in[1] + h.lo);
        rows[u].hi = (int32_t)((image * w->in[0] + z.hi - 1) * w->in[1] + h.hi);
    }
    operand_table(x, s->units, rows);
}

/* Units are rows of y. The window rule speaks of one image, or of several whose rows keep step. */
void window_rows(const Window *w, Step *s, Operand *y, Operand *x)
{
    operand_rows(y, i32_checked(i64_mul(w->images, i64_mul(w->out[0], w->out[1]))),
                 y->tensor->shape.dim[y->tensor->shape.rank - 1]);
    operand_rows(x, i32_checked(i64_mul(w->images, i64_mul(w->in[0], w->in[1]))), w->channels);
    y->strided = x->strided = true;
    s->units = y->rows;
    x->reuse = REUSE_ROWS;
    if (w->spatial < 3 && (w->images == 1 || i64_mul(w->out[1], w->stride[1]) == w->in[1]))
        operand_window(x, (int32_t)w->stride[1], (int32_t)w->pad[1], (int32_t)extent(w, 1));
    else
        tabulate(w, s, x);
}

void window_pixels(const Window *w, Operand *x, int32_t tile)
{
    x->reuse = REUSE_ROWS;
    x->pixels = (PixelRule){ .stride = (int32_t)w->stride[2],
                             .pad = (int32_t)w->pad[2],
                             .extent = (int32_t)extent(w, 2),
                             .tile = tile };
}

/* Indices of one dimension that the kernel reads for output z of a transposed convolution: those of
 * the taps of its phase, among them the zeros that fill it up. */
static Rows spread(const Window *w, int i, int64_t z)
{
    const int32_t stride = (int32_t)w->stride[i], dilation = (int32_t)w->dilation[i],
                  phases = stride / inlay_gcd(stride, dilation);
    const int32_t taps = (int32_t)i64_ceil_div(w->kernel[i], phases);
    const inlay_phase f = inlay_phase_of((int32_t)(z + w->pad[i]), stride, dilation, taps);
    if (f.first < 0)
        return (Rows){ 0, 0 };
    return (Rows){ (int32_t)i64_max(f.top, 0),
                   (int32_t)i64_min(f.top + (int64_t)(taps - 1) * f.step + 1, w->in[i]) };
}

/* The same for a transposed convolution. */
void window_rows_transposed(const Window *w, Step *s, Operand *y, Operand *x)
{
    window_rows(w, s, y, x);
    Rows *rows = NEW_ARRAY(s->lower->arena, Rows, s->units + 1);
    for (int32_t u = 0; u < s->units; u++) {
        const int64_t image = u / (w->out[0] * w->out[1]);
        const Rows z = spread(w, 0, u / w->out[1] % w->out[0]), h = spread(w, 1, u % w->out[1]);
        if (h.lo >= h.hi || z.lo >= z.hi)
            continue;
        rows[u].lo = (int32_t)((image * w->in[0] + z.lo) * w->in[1] + h.lo);
        rows[u].hi = (int32_t)((image * w->in[0] + z.hi - 1) * w->in[1] + h.hi);
    }
    operand_table(x, s->units, rows);
}
