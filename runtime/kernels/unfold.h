/* SPDX-License-Identifier: 0BSD
 * Windows put back into images: Col2Im, MaxUnpool; and convolution at moved places (DeformConv). */
#ifndef INLAY_UNFOLD_H
#define INLAY_UNFOLD_H

#include <math.h>
#include <string.h>

#include "inlay.h"

/* y[n][c][image] = sum of x[n][c][tap][block] over the taps that fall there. Operands: y (out), x, and, where the
 * taps are known only at run time (tap[0] is 0), the int64 lists of image and taps. */
#define INLAY_col2im_FIELDS(F, N) \
    F(int64_t, planes)          /* N * C */ \
    F(int32_t, axes) \
    N(int64_t, image, 8) N(int64_t, tap, 8) N(int64_t, blocks, 8) \
    N(int64_t, stride, 8) N(int64_t, pad, 8) N(int64_t, end, 8) N(int64_t, dilation, 8) \
    F(int64_t, columns)         /* of x: taps * blocks */
INLAY_PARAMS(col2im);

/* Reads the taps of a run; false where they do not fit the shapes that were compiled. */
static inline int inlay_col2im_read(inlay_col2im_params *p, const int64_t *image, const int64_t *tap)
{
    int64_t columns = 1;
    int32_t a;
    for (a = 0; a < p->axes; a++) {
        p->tap[a] = tap[a];
        if (image[a] != p->image[a] || tap[a] < 1 || tap[a] > p->columns) return 0;
        p->blocks[a] = (image[a] + p->pad[a] + p->end[a] - (tap[a] - 1) * p->dilation[a] - 1) / p->stride[a] + 1;
        if (p->blocks[a] < 1) return 0;
        columns *= p->tap[a] * p->blocks[a];
    }
    return columns == p->columns;
}

/* Offset in the image of tap t of block b, -1 outside. */
static inline int64_t inlay_col2im_place(const inlay_col2im_params *p, int64_t t, int64_t b)
{
    int64_t at = 0, scale = 1;
    int32_t a;
    for (a = p->axes - 1; a >= 0; a--) {
        const int64_t place = b % p->blocks[a] * p->stride[a] - p->pad[a] + t % p->tap[a] * p->dilation[a];
        if (place < 0 || place >= p->image[a]) return -1;
        at += place * scale;
        scale *= p->image[a];
        b /= p->blocks[a];
        t /= p->tap[a];
    }
    return at;
}

static inline int inlay_col2im_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    inlay_col2im_params known = *(const inlay_col2im_params *)s->params;
    const inlay_col2im_params *p = &known;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    int64_t image = 1, taps = 1, blocks = 1, i, t, b;
    int32_t a;
    (void)r0, (void)r1;
    if (!p->tap[0] && !inlay_col2im_read(&known, (const int64_t *)inlay_at(base, s, 2), (const int64_t *)inlay_at(base, s, 3))) return -INLAY_E_SHAPE;
    for (a = 0; a < p->axes; a++) image *= p->image[a], taps *= p->tap[a], blocks *= p->blocks[a];
    memset(y, 0, (size_t)(p->planes * image) * sizeof *y);
    for (i = 0; i < p->planes; i++, y += image)
        for (t = 0; t < taps; t++)
            for (b = 0; b < blocks; b++, x++) {
                const int64_t at = inlay_col2im_place(p, t, b);
                if (at >= 0) y[at] += *x;
            }
    return 0;
}

/* y = 0 but y[place(index[i])] = x[i]; an index counts elements of the image before it was made larger.
 * Operands: y (out), x, index (int64). */
#define INLAY_max_unpool_FIELDS(F, N) \
    F(int64_t, count)           /* of x */ \
    F(int64_t, total)           /* of y */ \
    F(int32_t, rank) \
    N(int64_t, from, 8)         /* dims that indices count in */ \
    N(int64_t, to, 8)           /* dims of y */
INLAY_PARAMS(max_unpool);

static inline int inlay_max_unpool_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_max_unpool_params *p = (const inlay_max_unpool_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    int64_t i;
    int32_t a;
    (void)r0, (void)r1;
    memset(y, 0, (size_t)p->total * sizeof *y);
    for (i = 0; i < p->count; i++) {
        int64_t rest = index[i], at = 0, scale = 1;
        if (rest < 0) return -INLAY_E_INDEX;
        for (a = p->rank - 1; a >= 0; a--) {
            const int64_t place = a ? rest % p->from[a] : rest;
            if (place >= p->to[a]) return -INLAY_E_INDEX;
            at += place * scale;
            scale *= p->to[a];
            rest /= p->from[a];
        }
        y[at] = x[i];
    }
    return 0;
}

/* y[n][o][v][u] = bias[o] + sum w[o][c][i][k] m x[n][c] at (v sh - ph + i dh + dy, u sw - pw + k dw + dx), bilinear, zero outside.
 * Operands: y (out), x [N][C][H][W], w [O][C / groups][KH][KW], offset [N][G KH KW 2][OH][OW], bias [O] or none,
 * mask [N][G KH KW][OH][OW] or none; G offset groups. */
#define INLAY_deform_conv_FIELDS(F, N) \
    F(int64_t, n) F(int64_t, c) F(int64_t, h) F(int64_t, w) \
    F(int64_t, o) F(int64_t, oh) F(int64_t, ow) \
    F(int64_t, kh) F(int64_t, kw) F(int64_t, sh) F(int64_t, sw) F(int64_t, dh) F(int64_t, dw) F(int64_t, ph) F(int64_t, pw) \
    F(int64_t, groups) F(int64_t, offset_groups)
INLAY_PARAMS(deform_conv);

static inline float inlay_bilinear_or_zero(const float *x, int64_t h, int64_t w, float v, float u)
{
    const float v0 = floorf(v), u0 = floorf(u);
    float sum = 0.0f;
    int i, k;
    for (i = 0; i < 2; i++)
        for (k = 0; k < 2; k++) {
            const float a = v0 + (float)i, b = u0 + (float)k;
            if (a < 0.0f || b < 0.0f || a > (float)(h - 1) || b > (float)(w - 1)) continue;
            sum += (i ? v - v0 : 1.0f - (v - v0)) * (k ? u - u0 : 1.0f - (u - u0)) * x[(int64_t)a * w + (int64_t)b];
        }
    return sum;
}

static inline float inlay_deform_sum(const inlay_deform_conv_params *p, const float *x, const float *w, const float *offset, const float *mask,
                                     int64_t image, int64_t o, int64_t v, int64_t u)
{
    const int64_t each = p->c / p->groups, first = o / (p->o / p->groups) * each, taps = p->kh * p->kw, plane = p->oh * p->ow;
    float sum = 0.0f;
    int64_t c, t;
    for (c = 0; c < each; c++) {
        const int64_t set = (first + c) / (p->c / p->offset_groups);
        for (t = 0; t < taps; t++) {
            const int64_t at = v * p->ow + u, tap = (image * p->offset_groups + set) * taps + t;
            const float *move = offset + tap * 2 * plane + at;
            const float row = (float)(v * p->sh - p->ph + t / p->kw * p->dh) + move[0];
            const float column = (float)(u * p->sw - p->pw + t % p->kw * p->dw) + move[plane];
            const float value = inlay_bilinear_or_zero(x + (image * p->c + first + c) * p->h * p->w, p->h, p->w, row, column);
            sum += w[(o * each + c) * taps + t] * value * (mask ? mask[tap * plane + at] : 1.0f);
        }
    }
    return sum;
}

static inline int inlay_deform_conv_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_deform_conv_params *p = (const inlay_deform_conv_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1), *w = (const float *)inlay_at(base, s, 2), *offset = (const float *)inlay_at(base, s, 3);
    const float *bias = (const float *)inlay_at(base, s, 4), *mask = (const float *)inlay_at(base, s, 5);
    int64_t i, o, v, u;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++)
        for (o = 0; o < p->o; o++)
            for (v = 0; v < p->oh; v++)
                for (u = 0; u < p->ow; u++) *y++ = (bias ? bias[o] : 0.0f) + inlay_deform_sum(p, x, w, offset, mask, i, o, v, u);
    return 0;
}

#endif
