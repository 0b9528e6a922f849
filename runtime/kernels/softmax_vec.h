/* SPDX-License-Identifier: 0BSD
 * Lines of softmax.h in vectors of the machine's width: one line of adjacent elements, or as many
 * lines as a vector has floats, side by side. Behind a line's end lies -infinity, whose exponential
 * is 0, so that the last elements go the way of all others. */
#ifndef INLAY_SOFTMAX_VEC_H
#define INLAY_SOFTMAX_VEC_H

#include "math_vec.h"
#if INLAY_VL > 1

/* ---- one line ---- */

/* The largest of the vectors from i on, and of `most`. */
INLAY_INLINE inlay_vf inlay_line_most_v(const float *x, int32_t n, int32_t i,
                                        inlay_vf most)
{
    for (; n - i >= INLAY_VL; i += INLAY_VL)
        most = INLAY_V(max)(INLAY_V(load)(x + i), most);
    if (i < n) {
        const inlay_vf last = inlay_take_or_v(x + i, n - i, -INFINITY);
        most = INLAY_V(max)(last, most);
    }
    return most;
}

/* The largest of n elements, by several chains: one would wait for itself. */
static inline float inlay_line_max_v(const float *x, int32_t n)
{
    inlay_vf most = inlay_all(-INFINITY);
    inlay_vf part[4];
    int32_t i = 0;
    int32_t k;
    if (n >= 8 * INLAY_VL) {
        INLAY_UNROLL
        for (k = 0; k < 4; k++)
            part[k] = most;
        for (; n - i >= 4 * INLAY_VL; i += 4 * INLAY_VL) {
            INLAY_UNROLL
            for (k = 0; k < 4; k++) {
                const float *from = x + i + k * INLAY_VL;
                part[k] = INLAY_V(max)(INLAY_V(load)(from), part[k]);
            }
        }
        part[0] = INLAY_V(max)(part[0], part[1]);
        part[2] = INLAY_V(max)(part[2], part[3]);
        most = INLAY_V(max)(part[0], part[2]);
    }
    return inlay_largest_v(inlay_line_most_v(x, n, i, most));
}

/* The place of the first of n elements that is `most`; n: none is. */
static inline int32_t inlay_line_place_v(const float *x, int32_t n, float most)
{
    const inlay_vf all = inlay_all(most);
    int32_t i = 0;
    while (n - i >= INLAY_VL && !inlay_any_lane(INLAY_V(load)(x + i) == all))
        i += INLAY_VL;
    while (i < n && x[i] != most)
        i++;
    return i;
}

/* The sum of y = e^(x - most) of n adjacent elements; y: NULL, or x. */
static inline float inlay_line_exp_v(float *y, const float *x, int32_t n,
                                     float most)
{
    const inlay_vf top = inlay_all(most);
    inlay_vf sum = inlay_all(0.0f);
    int32_t i = 0;
    for (; n - i >= INLAY_VL; i += INLAY_VL) {
        const inlay_vf v = inlay_exp_normal_v(INLAY_V(load)(x + i) - top);
        sum += v;
        if (y)
            INLAY_V(store)(y + i, v);
    }
    if (i < n) {
        const inlay_vf last = inlay_take_or_v(x + i, n - i, -INFINITY);
        const inlay_vf v = inlay_exp_normal_v(last - top);
        sum += v;
        if (y)
            inlay_put_v(y + i, v, n - i);
    }
    return inlay_total_v(sum);
}

/* y *= scale */
static inline void inlay_line_scale_v(float *y, int32_t n, float scale)
{
    const inlay_vf factor = inlay_all(scale);
    int32_t i = 0;
    for (; n - i >= INLAY_VL; i += INLAY_VL)
        INLAY_V(store)(y + i, INLAY_V(load)(y + i) * factor);
    if (i < n)
        inlay_put_v(y + i, inlay_take_v(y + i, n - i) * factor, n - i);
}

/* y = x - most - sum; y may be x. */
static inline void inlay_line_below_v(float *y, const float *x, int32_t n,
                                      float most, float sum)
{
    const inlay_vf top = inlay_all(most);
    const inlay_vf less = inlay_all(sum);
    int32_t i;
    for (i = 0; i < n; i += INLAY_VL)
        inlay_put_v(y + i, inlay_take_v(x + i, n - i) - top - less, n - i);
}

/* A line that is one vector, or less. */
static inline void inlay_line_short_v(float *y, const float *x, int32_t n)
{
    const inlay_vf all = inlay_take_or_v(x, n, -INFINITY);
    const inlay_vf top = inlay_all(inlay_largest_v(all));
    const inlay_vf v = inlay_exp_normal_v(all - top);
    inlay_put_v(y, v * inlay_all(1.0f / inlay_total_v(v)), n);
}

/* A line between one vector and two. */
static inline void inlay_line_pair_v(float *y, const float *x, int32_t n)
{
    const int32_t rest = n - INLAY_VL;
    inlay_vf first = INLAY_V(load)(x);
    inlay_vf last = inlay_take_or_v(x + INLAY_VL, rest, -INFINITY);
    const inlay_vf most = INLAY_V(max)(last, first);
    const inlay_vf top = inlay_all(inlay_largest_v(most));
    inlay_vf scale;
    first = inlay_exp_normal_v(first - top);
    last = inlay_exp_normal_v(last - top);
    scale = inlay_all(1.0f / inlay_total_v(first + last));
    INLAY_V(store)(y, first * scale);
    inlay_put_v(y + INLAY_VL, last * scale, rest);
}

static inline void inlay_line_softmax_v(float *y, const float *x, int32_t n)
{
    if (n <= INLAY_VL)
        inlay_line_short_v(y, x, n);
    else if (n <= 2 * INLAY_VL)
        inlay_line_pair_v(y, x, n);
    else {
        const float most = inlay_line_max_v(x, n);
        const float sum = inlay_line_exp_v(y, x, n, most);
        inlay_line_scale_v(y, n, 1.0f / sum);
    }
}

/* ---- lines side by side ---- */

/* So many members of lines are kept beside the images, whose members may all lie in one set of the
 * caches. */
#define INLAY_SOFTMAX_KEPT 64

/* `lanes` lines of n members each, `step` apart; `mid`, `pitch` apart, is where members are while
 * it goes on: y itself, or room beside it. */
INLAY_INLINE void inlay_lines_some_v(float *y, const float *x, int32_t n,
                                     ptrdiff_t step, int32_t lanes, float *mid,
                                     ptrdiff_t pitch)
{
    inlay_vf most = inlay_all(-INFINITY);
    inlay_vf sum = inlay_all(0.0f);
    int32_t i;
    for (i = 0; i < n; i++) {
        const inlay_vf v = inlay_take_v(x + i * step, lanes);
        most = INLAY_V(max)(v, most);
        inlay_put_v(mid + i * pitch, v, lanes);
    }
    for (i = 0; i < n; i++) {
        const inlay_vf v = inlay_take_v(mid + i * pitch, lanes);
        const inlay_vf e = inlay_exp_normal_v(v - most);
        sum += e;
        inlay_put_v(mid + i * pitch, e, lanes);
    }
    sum = 1.0f / sum;
    for (i = 0; i < n; i++) {
        const inlay_vf v = inlay_take_v(mid + i * pitch, lanes);
        inlay_put_v(y + i * step, v * sum, lanes);
    }
}

/* `inner` lines of n members each, `inner` elements from member to member. */
static inline void inlay_softmax_lines_f32(void *to, const void *from,
                                           int32_t n, ptrdiff_t inner)
{
    float kept[INLAY_SOFTMAX_KEPT * INLAY_VL];
    float *y = (float *)to;
    const float *x = (const float *)from;
    const int is_kept = n <= INLAY_SOFTMAX_KEPT;
    ptrdiff_t i;
    for (i = 0; i < inner; i += INLAY_VL) {
        const ptrdiff_t left = inner - i;
        const int32_t lanes = left < INLAY_VL ? (int32_t)left : INLAY_VL;
        float *mid = is_kept ? kept : y + i;
        const ptrdiff_t pitch = is_kept ? INLAY_VL : inner;
        inlay_lines_some_v(y + i, x + i, n, inner, lanes, mid, pitch);
    }
}

#endif
#endif
