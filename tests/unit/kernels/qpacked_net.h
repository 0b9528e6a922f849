/* SPDX-License-Identifier: Apache-2.0
 * Packed products of bytes, made at random: windows, numbers, weights as they are packed. */
#ifndef TEST_QPACKED_NET_H
#define TEST_QPACKED_NET_H

#include "images.h"

#include "kernels/qdwconv_packed.h"
#include "kernels/qdwmany_packed.h"

enum { AROUND = 64, MARK = 0x5a };

/* Bytes between marks, that end where the memory ends. */
typedef struct Buffer {
    uint8_t *memory, *at;
    size_t n;
} Buffer;

static inline Buffer buffer_of(size_t n)
{
    Buffer b = { .memory = malloc(n + 2 * AROUND), .n = n };
    assert_true(b.memory != NULL);
    b.at = b.memory + AROUND;
    memset(b.memory, MARK, n + 2 * AROUND);
    return b;
}

static inline void buffer_free(Buffer *b)
{
    for (size_t i = 0; i < AROUND; i++)
        assert_true(b->memory[i] == MARK && b->at[b->n + i] == MARK);
    free(b->memory);
}

/* A product of bytes: what is given, and what is packed of it. */
typedef struct Net {
    inlay_qpacked_params p;
    bool depthwise, w_signed, late_zero;
    bool usual;      /* depthwise as networks have it: see set_usual */
    bool multiplied; /* depthwise with several results of each channel */
    int images, channels, padded;
    int cap, x_pix, y_pix;
    int bias_step; /* of random biases */
    Buffer x, w, y, scratch;
    Buffer over; /* x and y in one */
    uint8_t *over_x, *over_y;
    int32_t *given, *zw, *bias, *sums, *zeros;
    float *scale, *given_scale, *add, sx;
    uint8_t zx;
    int8_t *packed;
    bool backward;
} Net;

static inline int number(uint8_t byte, bool is_signed)
{
    return is_signed ? (int8_t)byte : byte;
}

static inline int32_t taps_of(const inlay_qpacked_params *p)
{
    return p->kd * p->kh * p->kw;
}

static inline bool x_signed(const Net *n)
{
    return n->p.flip != 0;
}

/* Number of weight (channel o of all, input i, tap k) less the zero point. */
static inline int weight(const Net *n, int o, int i, int k)
{
    const inlay_qpacked_params *p = &n->p;
    const size_t at = (size_t)((o * p->ic + i) * taps_of(p) + k);
    return number(n->w.at[at], n->w_signed) - n->zw[o];
}

static inline const uint8_t *x_at(const Net *n, int row, int column)
{
    const size_t pitch = (size_t)n->p.iw * (size_t)n->x_pix;
    return n->x.at + (size_t)(row % n->cap) * pitch +
           (size_t)column * (size_t)n->x_pix;
}

/* The sum of one element of y, as it is defined. */
static inline int32_t sum_of(const Net *n, int r, int c, int o)
{
    const inlay_qpacked_params *p = &n->p;
    const int plane = r / p->oh;
    const int image = plane / p->od;
    const int group = o / p->oc;
    const int zero = number(n->zx, x_signed(n));
    uint32_t sum = (uint32_t)n->given[o];
    for (int k = 0; k < taps_of(p); k++) {
        const int d = plane % p->od * p->sd - p->pd + k / p->kw / p->kh * p->dd;
        const int h = r % p->oh * p->sh - p->ph + k / p->kw % p->kh * p->dh;
        const int v = c * p->sw - p->pw + k % p->kw * p->dw;
        if (d < 0 || d >= p->id || h < 0 || h >= p->ih || v < 0 || v >= p->iw)
            continue;
        const uint8_t *x = x_at(n, (image * p->id + d) * p->ih + h, v);
        for (int i = 0; i < p->ic; i++)
            sum +=
                (uint32_t)((number(x[group * p->ic + i], x_signed(n)) - zero) *
                           weight(n, o, i, k));
    }
    return (int32_t)sum;
}

/* ---- a random one ---- */

static inline void set_window(inlay_qpacked_params *p)
{
    const bool flat = rnd(4) != 0;
    const int one = rnd(3) == 0;
    p->kd = flat ? 1 : 1 + (int32_t)rnd(2);
    p->kh = one ? 1 : 1 + (int32_t)rnd(3);
    p->kw = one ? 1 : 1 + (int32_t)rnd(4);
    p->sd = 1;
    p->sh = 1 + (int32_t)rnd(2);
    p->sw = 1 + (int32_t)rnd(3);
    p->dd = 1;
    p->dh = 1 + (int32_t)rnd(2);
    p->dw = 1 + (int32_t)(rnd(3) == 0);
    p->id = p->kd + (int32_t)rnd(2);
    p->ih = (p->kh - 1) * p->dh + 1 + (int32_t)rnd(5);
    p->iw = (p->kw - 1) * p->dw + 1 + (int32_t)rnd(24);
    p->pd = flat ? 0 : (int32_t)rnd(2);
    p->ph = one && rnd(2) ? 0 : (int32_t)rnd(3);
    p->pw = one && rnd(2) ? 0 : (int32_t)rnd(3);
    p->od = p->id + 2 * p->pd - p->kd + 1;
    p->oh = (p->ih + 2 * p->ph - (p->kh - 1) * p->dh - 1) / p->sh + 1;
    p->ow = (p->iw + 2 * p->pw - (p->kw - 1) * p->dw - 1) / p->sw + 1;
    if (one && rnd(2)) {
        p->sh = p->sw = 1;
        p->ph = p->pw = 0;
        p->oh = p->ih;
        p->ow = p->iw;
    }
}

static inline void set_channels(Net *n)
{
    inlay_qpacked_params *p = &n->p;
    n->depthwise = rnd(3) == 0;
    p->groups = rnd(3) ? 1 : 1 + (int32_t)rnd(3);
    p->ic = 1 + (int32_t)rnd(19);
    p->oc = 1 + (int32_t)rnd(rnd(4) ? 40 : 130);
    if (n->depthwise) {
        p->groups = 2 + (int32_t)rnd(70);
        p->ic = p->oc = 1;
    }
    n->channels = p->groups * p->oc;
    n->padded =
        n->depthwise ? inlay_up4(p->groups) : p->groups * inlay_up4(p->oc);
}

static inline void set_numbers(Net *n)
{
    static const int32_t kinds[] = { INLAY_QOUT_I8, INLAY_QOUT_U8,
                                     INLAY_QOUT_I32, INLAY_QOUT_F32 };
    inlay_qpacked_params *p = &n->p;
    p->out = kinds[rnd(4)];
    p->flip = rnd(2) ? 128 : 0;
    p->minus = rnd(2) ? 128 : 0;
    p->lo = p->out == INLAY_QOUT_I8 ? -128 : 0;
    p->hi = p->out == INLAY_QOUT_I8 ? 127 : 255;
    if (rnd(3) == 0)
        p->lo += (int32_t)rnd(100);
    p->zy = p->lo + (rnd(3) ? (int32_t)rnd(100) : 0);
    p->width = rnd(2) ? 16 : 4;
    p->gather = 1 + (int32_t)rnd(rnd(2) ? INLAY_QPIXELS : 24);
    if (n->depthwise)
        p->gather = 2 * (int32_t)rnd(9);
    else if (p->width == 4 && rnd(2))
        p->wide = 1 + (int32_t)rnd(3);
    if (p->wide)
        p->minus = 128;
    n->w_signed = rnd(2);
    n->late_zero =
        (p->out == INLAY_QOUT_I32 || p->out == INLAY_QOUT_F32) && rnd(2);
    n->zx = (uint8_t)rnd(256);
    p->zero = (n->zx ^ p->flip) - p->minus;
}

/* A window of 3 x 3, weights without zero points, bytes without narrower bounds. */
static inline void set_usual(Net *n)
{
    inlay_qpacked_params *p = &n->p;
    n->usual = true;
    n->depthwise = true;
    p->id = p->od = p->kd = 1;
    p->pd = 0;
    p->kh = p->kw = 3;
    p->dh = 1 + (int32_t)(rnd(4) == 0);
    p->dw = 1;
    p->sw = 1 + (int32_t)rnd(2);
    p->ih = 2 * p->dh - 1 + (int32_t)rnd(5);
    p->iw = 1 + (int32_t)rnd(12);
    p->ph = 1 + (int32_t)rnd(2);
    p->pw = 1 + (int32_t)rnd(4);
    p->oh = (p->ih + 2 * p->ph - 2 * p->dh - 1) / p->sh + 1;
    p->ow = (p->iw + 2 * p->pw - 3) / p->sw + 1;
    p->groups = 4 + (int32_t)rnd(7);
    p->ic = p->oc = 1;
    n->channels = p->groups;
    n->padded = inlay_up4(p->groups);
}

/* Its numbers. */
static inline void set_usual_numbers(Net *n)
{
    inlay_qpacked_params *p = &n->p;
    p->minus = rnd(3) ? 128 : p->flip;
    p->zero = (n->zx ^ p->flip) - p->minus;
    if (p->out != INLAY_QOUT_U8)
        p->out = INLAY_QOUT_I8;
    p->lo = p->out == INLAY_QOUT_I8 ? -128 : 0;
    p->hi = p->lo + 255;
    p->wide = 0;
    p->gather = 2 * (int32_t)rnd(9);
    n->late_zero = false;
    if (rnd(2)) { /* by columns */
        p->deep = 1;
        p->width = 4;
        p->gather = 1 + (int32_t)rnd(INLAY_QDEEP_PIXELS);
    }
}

/* Weights packed in sixteens; where windows can be read as they lie, they need not be gathered. */
static inline void set_deep(Net *n)
{
    inlay_qpacked_params *p = &n->p;
    const bool clipped = p->pd || p->ph || p->pw || p->sh > 1 || p->sw > 1;
    p->deep = (int32_t)rnd(2);
    if (!p->deep)
        return;
    p->wide = 0;
    p->width = 4;
    if (n->depthwise) {
        p->gather = 1 + (int32_t)rnd(INLAY_QDEEP_PIXELS);
        return;
    }
    p->gather = 1 + (int32_t)rnd(2);
    if (p->kd * p->kh * p->kw == 1 && rnd(2)) {
        p->ic = 16 * (1 + (int32_t)rnd(3));
        if (inlay_qdeep_lies(p) && !clipped)
            p->gather = 0;
    }
}

/* Place of channel o among those filled up. */
static inline int place(const Net *n, int o)
{
    const int oc = n->p.oc;
    return n->depthwise ? o : o / oc * inlay_up4(oc) + o % oc;
}

static inline int8_t signed_weight(const Net *n, int o, int i, int k)
{
    const int taps = taps_of(&n->p);
    const uint8_t byte = n->w.at[(o * n->p.ic + i) * taps + k];
    return (int8_t)(n->w_signed ? byte : byte ^ 128);
}

/* Channels of the block that channel o of a group lies in, and the block's first. */
static inline int block_of(const inlay_qpacked_params *p, int o, int *first)
{
    const int all = inlay_up4(p->oc);
    *first = o / p->width * p->width;
    return all - *first < p->width ? all - *first : p->width;
}

static inline void pack_channel(Net *n, int o)
{
    const inlay_qpacked_params *p = &n->p;
    const int run = p->kw * p->ic;
    const int depth = p->deep ? 16 : 4;
    const int row = p->deep ? run : (run + 3) / 4 * 4;
    const int window = (int)inlay_qpacked_taps(p);
    int first;
    const int width = block_of(p, o % p->oc, &first);
    int8_t *to =
        n->packed + o / p->oc * inlay_up4(p->oc) * window + first * window;
    for (int k = 0; k < taps_of(p); k++)
        for (int i = 0; i < p->ic; i++) {
            const int at = k / p->kw * row + k % p->kw * p->ic + i;
            const int lane = at / depth * width + o % p->oc - first;
            to[lane * depth + at % depth] = signed_weight(n, o, i, k);
        }
}

/* Channel o of a depthwise convolution. */
static inline void pack_apart(Net *n, int o)
{
    const inlay_qpacked_params *p = &n->p;
    const int high = inlay_qdeep_high(p);
    for (int k = 0; k < taps_of(p); k++) {
        int at = k * n->channels + o;
        if (p->deep)
            at = (o * p->kw + k % p->kw) * high + k / p->kw;
        n->packed[at] = signed_weight(n, o, 0, k);
    }
}

/* Blocks of four channels by four taps as halves: 256 times an odd channel and the even one. */
static inline void pack_halves(int8_t *bytes, size_t count)
{
    for (size_t block = 0; block < count; block += 16) {
        int8_t *b = bytes + block;
        int16_t half[8];
        for (int i = 0; i < 8; i++) {
            const int tap = i / 4 + i % 2 * 2;
            const int8_t *even = b + i / 2 % 2 * 8 + tap;
            const int8_t *odd = even + 4;
            half[i] = (int16_t)(256 * *odd + *even);
        }
        memcpy(b, half, sizeof half);
    }
}

static inline void pack(Net *n)
{
    const inlay_qpacked_params *p = &n->p;
    const int taps = taps_of(p);
    int window = (int)inlay_qpacked_taps(p);
    if (n->depthwise)
        window = p->deep ? inlay_qdeep_high(p) * p->kw : taps;
    n->packed = calloc((size_t)n->padded, (size_t)window);
    for (int o = 0; o < n->channels; o++) {
        uint32_t sum = 0;
        const int at = place(n, o);
        for (int k = 0; k < taps; k++)
            for (int i = 0; i < p->ic; i++)
                sum += (uint32_t)weight(n, o, i, k);
        n->sums[at] = (int32_t)sum;
        n->bias[at] = n->given[o];
        if (!n->late_zero)
            n->bias[at] =
                (int32_t)((uint32_t)n->given[o] - (uint32_t)p->zero * sum);
        n->zeros[at] = n->w_signed ? n->zw[o] : n->zw[o] - 128;
        n->scale[at] = n->given_scale[o];
        if (n->depthwise)
            pack_apart(n, o);
        else
            pack_channel(n, o);
    }
    if (p->wide)
        pack_halves(n->packed, (size_t)(n->padded * window));
}

static inline void fill(Buffer *b)
{
    for (size_t i = 0; i < b->n; i++)
        b->at[i] = (uint8_t)(rnd(8) ? rnd(256) : 255 * rnd(2));
}

/* The lowest number of an odd channel fits no half. */
static inline void fill_weights(Net *n)
{
    const uint8_t lowest = n->w_signed ? 128 : 0;
    fill(&n->w);
    for (size_t i = 0; n->p.wide && i < n->w.n; i++)
        if (n->w.at[i] == lowest)
            n->w.at[i]++;
}

static inline void random_values(Net *n)
{
    const bool single = rnd(2);
    const bool none = n->usual || rnd(2);
    const float times = rnd(8) ? 1.0f : 300.0f; /* scales above 1 */
    n->given = calloc((size_t)n->channels, sizeof(int32_t));
    n->zw = calloc((size_t)n->channels, sizeof(int32_t));
    n->given_scale = calloc((size_t)n->channels, sizeof(float));
    n->add = rnd_floats((size_t)n->channels);
    for (int o = 0; o < n->channels; o++) {
        n->given[o] = (int32_t)rnd(20001) - 10000;
        n->zw[o] = number((uint8_t)rnd(256), n->w_signed);
        if (none)
            n->zw[o] = n->w_signed ? 0 : 128;
        n->given_scale[o] = (0.0001f + (float)rnd(1000) * 0.00001f) * times;
        if (single) {
            n->zw[o] = n->zw[0];
            n->given_scale[o] = n->given_scale[0];
        }
    }
    n->p.zw = n->w_signed ? n->zw[0] : n->zw[0] - 128;
    n->p.scales = single ? 1 : n->padded;
    n->sx = 0.5f;
}

static inline size_t scratch_bytes(const Net *n)
{
    const inlay_qpacked_params *p = &n->p;
    const int32_t windows = inlay_qpacked_windows(p);
    if (!n->depthwise)
        return (size_t)(windows * inlay_qpacked_taps(p));
    if (p->deep)
        return INLAY_QDEEP_LANES * (size_t)inlay_qdeep_plane(p);
    return p->gather ? (size_t)inlay_qplanes_bytes(p) : 0;
}

/* All but memory. */
static inline void random_shape(Net *n, bool usual)
{
    memset(n, 0, sizeof *n);
    inlay_qpacked_params *p = &n->p;
    do
        set_window(p);
    while (p->oh < 1 || p->ow < 1 || p->od < 1);
    set_channels(n);
    if (usual)
        set_usual(n);
    set_numbers(n);
    if (usual)
        set_usual_numbers(n);
    else
        set_deep(n);
    n->images = 1 + (int)rnd(2);
    n->backward = rnd(2);
    n->cap = n->images * p->id * p->ih;
    n->x_pix = p->groups * p->ic + (rnd(2) ? (int)rnd(5) : 0);
    n->y_pix = n->channels + (rnd(2) ? (int)rnd(5) : 0);
}

static inline void net_of_shape(Net *n)
{
    inlay_qpacked_params *p = &n->p;
    random_values(n);
    const size_t wide =
        p->out == INLAY_QOUT_I32 || p->out == INLAY_QOUT_F32 ? 4 : 1;
    const size_t rows = (size_t)(n->images * p->od * p->oh);
    const size_t windows = scratch_bytes(n);
    n->x = buffer_of((size_t)n->cap * (size_t)p->iw * (size_t)n->x_pix);
    n->w = buffer_of((size_t)(n->channels * p->ic * taps_of(p)));
    n->y = buffer_of(rows * (size_t)p->ow * (size_t)n->y_pix * wide);
    n->scratch = buffer_of(windows);
    fill(&n->x);
    fill_weights(n);
    n->bias = calloc((size_t)n->padded, sizeof(int32_t));
    n->sums = calloc((size_t)n->padded, sizeof(int32_t));
    n->zeros = calloc((size_t)n->padded, sizeof(int32_t));
    n->scale = calloc((size_t)n->padded, sizeof(float));
    pack(n);
}

static inline void random_net(Net *n, bool usual)
{
    random_shape(n, usual);
    net_of_shape(n);
}

/* Rows of an odd number of pixels and windows widened by threes, whole fours of channels; weights
 * have no zero points. */
static inline void odd_net(Net *n)
{
    inlay_qpacked_params *p = &n->p;
    do
        random_shape(n, false);
    while (n->depthwise || p->ow % 2 == 0 || p->ow < 3);
    n->usual = true;
    n->late_zero = false;
    n->zx = (uint8_t)rnd(256);
    p->groups = 1;
    p->oc = 4 * (1 + (int32_t)rnd(10));
    p->ic = 1 + (int32_t)rnd(rnd(2) ? 19 : 2);
    p->deep = p->gather = 0;
    p->width = 4;
    p->wide = 3;
    p->minus = 128;
    p->zero = (n->zx ^ p->flip) - p->minus;
    p->out = rnd(2) ? INLAY_QOUT_I8 : INLAY_QOUT_U8;
    p->lo = p->out == INLAY_QOUT_I8 ? -128 : 0;
    p->hi = p->lo + 255;
    n->channels = n->padded = p->oc;
    n->x_pix = p->ic + (rnd(2) ? (int)rnd(5) : 0);
    n->y_pix = n->channels + (rnd(2) ? (int)rnd(5) : 0);
    net_of_shape(n);
}

/* Several results of each channel; weights have no zero points. */
static inline void multiplied_net(Net *n)
{
    random_shape(n, false);
    inlay_qpacked_params *p = &n->p;
    n->usual = n->depthwise = n->multiplied = true;
    if (rnd(3) == 0) { /* as networks have it */
        p->kw = 3 + 2 * (int32_t)rnd(3);
        p->kd = p->id = p->od = 1;
        p->kh = rnd(2) ? p->kw : 1;
        p->pd = 0;
        p->ph = p->kh / 2;
        p->pw = p->kw / 2;
        p->sw = p->sh = 1 + (int32_t)rnd(2);
        p->dw = p->dh = 1;
        p->oh = (p->ih + 2 * p->ph - p->kh) / p->sh + 1;
        p->ow = (p->iw + 2 * p->pw - p->kw) / p->sw + 1;
    }
    p->groups = 1 + (int32_t)rnd(64);
    p->ic = 1;
    p->oc = 2 + (int32_t)rnd(rnd(4) ? 3 : 20);
    p->deep = p->wide = p->gather = 0;
    n->channels = p->groups * p->oc;
    n->padded = inlay_up4(n->channels);
    n->cap = n->images * p->id * p->ih;
    n->x_pix = p->groups + (rnd(2) ? (int)rnd(5) : 0);
    n->y_pix = n->channels + (rnd(2) ? (int)rnd(5) : 0);
    net_of_shape(n);
}

static inline void free_net(Net *n)
{
    buffer_free(&n->x);
    buffer_free(&n->w);
    buffer_free(&n->y);
    buffer_free(&n->scratch);
    free(n->given);
    free(n->zw);
    free(n->given_scale);
    free(n->add);
    free(n->bias);
    free(n->sums);
    free(n->zeros);
    free(n->scale);
    free(n->packed);
}

#endif
