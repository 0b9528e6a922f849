/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution with several results of each channel (a channel multiplier), float32,
 * channels last, 1 or 2 dimensions.
 *
 *   y[n][r][c][i*M + m] = clamp(b[i*M + m] + sum over kh, kw: x[n][r*sh - ph + kh*dh][c*sw - pw +
 *       kw*dw][i] * w[kh][kw][i*M + m] + q[n][r][c][i*M + m])
 *
 * x [N][H][W][C], y and q [N][OH][OW][C*M], w [KH][KW][C*M], b [C*M]; C = groups of the parameters,
 * M = their oc. Vectors lie along the results of a pixel: a number of x goes into the lanes of all
 * of its results. Without vectors up to four results of a channel are made together. A tile is four
 * pixels; units, operands, clipping and overlap as in dwconv_f32.h. */
#ifndef INLAY_DWMANY_F32_H
#define INLAY_DWMANY_F32_H

#include "inlay.h"
#include "kernels/dwconv_f32.h"

#if INLAY_VL >= 8
#include "kernels/qvec.h" /* the compilers' vector functions */
#endif

/* Vectors whose lanes can be loaded from anywhere near. */
#if INLAY_VL >= 8 && INLAY_QL >= 8
#define INLAY_MANY_VL INLAY_VL
#elif INLAY_HAS_4
#define INLAY_MANY_VL 4
#else
#define INLAY_MANY_VL 1
#endif

enum { INLAY_MANY_ROWS = 16 }; /* most of a window */

/* What the tiles of a row have in common; dw.channels: results of a pixel. */
typedef struct inlay_many {
    inlay_dw dw;
    const float *line[INLAY_MANY_ROWS]; /* rows of x under the window */
    int32_t times;                      /* results of a channel */
    int near; /* three adjacent columns at stride one, see inlay_dw_covers() */
} inlay_many;

/* Does column i of a tile lie outside? */
INLAY_INLINE int inlay_many_skips(int32_t skip, const int i)
{
    if (i == 0)
        return skip & 1;
    return i == INLAY_DW_TILE_MOST + 1 ? skip & 2 : 0;
}

#if INLAY_MANY_VL > 1
/* The channels of n results, from result `at` of the first channel on; returns the last. */
INLAY_INLINE int32_t inlay_many_channels(int32_t *channel, int n, int32_t times,
                                         int32_t at)
{
    int32_t c = 0;
    int i;
    for (i = 0; i < n; i++) {
        channel[i] = c;
        if (++at == times) {
            at = 0;
            c++;
        }
    }
    return channel[n - 1];
}

#ifdef INLAY_HELIUM
typedef uint32x4_t inlay_many_lanes4;

INLAY_INLINE inlay_many_lanes4 inlay_many_set4(int32_t times, int32_t at)
{
    int32_t channel[4];
    inlay_many_channels(channel, 4, times, at);
    return vreinterpretq_u32_s32(vld1q_s32(channel));
}

INLAY_INLINE inlay_f4 inlay_many_load4(const float *x,
                                       const inlay_many_lanes4 *lanes)
{
    return vldrwq_gather_shifted_offset_f32(x, *lanes);
}
#else
typedef struct inlay_many_lanes4 {
    int32_t channel[4];
} inlay_many_lanes4;

INLAY_INLINE inlay_many_lanes4 inlay_many_set4(int32_t times, int32_t at)
{
    inlay_many_lanes4 lanes;
    inlay_many_channels(lanes.channel, 4, times, at);
    return lanes;
}

INLAY_INLINE inlay_f4 inlay_many_load4(const float *x,
                                       const inlay_many_lanes4 *lanes)
{
    const int32_t *i = lanes->channel;
    return (inlay_f4){ x[i[0]], x[i[1]], x[i[2]], x[i[3]] };
}
#endif

#if INLAY_MANY_VL >= 8
typedef struct inlay_many_lanes8 {
    __m256i channel, mask; /* nothing is read behind the last channel */
} inlay_many_lanes8;

INLAY_INLINE inlay_many_lanes8 inlay_many_set8(int32_t times, int32_t at)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    inlay_many_lanes8 lanes;
    int32_t channel[8];
    const int32_t last = inlay_many_channels(channel, 8, times, at);
    lanes.channel = _mm256_loadu_si256((const __m256i *)channel);
    lanes.mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(last + 1), lane);
    return lanes;
}

INLAY_INLINE inlay_f8 inlay_many_load8(const float *x,
                                       const inlay_many_lanes8 *lanes)
{
    const __m256 v = _mm256_maskload_ps(x, lanes->mask);
    return (inlay_f8)_mm256_permutevar8x32_ps(v, lanes->channel);
}
#endif

#if INLAY_MANY_VL >= 16
typedef struct inlay_many_lanes16 {
    __m512i channel;
    __mmask16 mask;
} inlay_many_lanes16;

INLAY_INLINE inlay_many_lanes16 inlay_many_set16(int32_t times, int32_t at)
{
    inlay_many_lanes16 lanes;
    int32_t channel[16];
    const int32_t last = inlay_many_channels(channel, 16, times, at);
    lanes.channel = _mm512_loadu_si512(channel);
    lanes.mask = (__mmask16)((2u << last) - 1);
    return lanes;
}

INLAY_INLINE inlay_f16 inlay_many_load16(const float *x,
                                         const inlay_many_lanes16 *lanes)
{
    const __m512 v = _mm512_maskz_loadu_ps(lanes->mask, x);
    return (inlay_f16)_mm512_permutexvar_ps(lanes->channel, v);
}
#endif

#define INLAY_L 4
#include "kernels/dwmany_f32.inc.h"
#undef INLAY_L
#if INLAY_MANY_VL >= 8
#define INLAY_L 8
#include "kernels/dwmany_f32.inc.h"
#undef INLAY_L
#endif
#if INLAY_MANY_VL >= 16
#define INLAY_L 16
#include "kernels/dwmany_f32.inc.h"
#undef INLAY_L
#endif
#endif

/* ---- a number by itself ---- */

/* Results of a channel that are made together: two, where each is not in a lane. */
enum { INLAY_MANY_MOST = INLAY_MANY_VL > 1 ? 1 : 2 };

/* Adds addends, clamps and stores n results of a channel, of `pixels` pixels. */
INLAY_INLINE void inlay_lone_end(const inlay_dw *t, const inlay_dw_tile *tile,
                                 const float *sum, int32_t j, const int n,
                                 const int pixels)
{
    int i;
    INLAY_UNROLL
    for (i = 0; i < n * pixels; i++) {
        const int p = i / n;
        const ptrdiff_t at = j + i % n;
        float v = sum[i];
        if (tile->q)
            v += tile->q[p * t->qs + at];
        if (t->clamp & 1)
            v = inlay_max1(t->lo, v);
        if (t->clamp & 2)
            v = inlay_min1(t->hi, v);
        tile->y[p * t->ys + at] = v;
    }
}

/* The same where they are no less than t->lo, and nothing is added. */
INLAY_INLINE void inlay_lone_low(const inlay_dw *t, const inlay_dw_tile *tile,
                                 const float *sum, int32_t j, const int n,
                                 const int pixels)
{
    const float lo = t->lo;
    float *y = tile->y + j;
    int i, p;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++, y += t->ys) {
        INLAY_UNROLL
        for (i = 0; i < n; i++)
            y[i] = inlay_max1(lo, sum[p * n + i]);
    }
}

/* A row of `taps` taps of n results of a channel: each number of x is loaded once. */
INLAY_INLINE void inlay_lone_taps(const inlay_dw *t, const float *x,
                                  const float *w, float *sum, int32_t taps,
                                  const int n, const int pixels)
{
    int32_t k;
    int i, p;
    for (k = taps; k > 0; k--, x += t->tap, w += t->channels) {
        const float *from = x;
        INLAY_UNROLL
        for (p = 0; p < pixels; p++, from += t->xs) {
            INLAY_UNROLL
            for (i = 0; i < n; i++)
                sum[p * n + i] = inlay_fma1(w[i], *from, sum[p * n + i]);
        }
    }
}

/* The same of a row of three columns, as the template's. */
INLAY_INLINE void inlay_lone_near(const inlay_dw *t, const float *x,
                                  const float *w, float *sum, int32_t skip,
                                  const int n)
{
    float weight[3 * INLAY_MANY_MOST];
    int i, k;
    INLAY_UNROLL
    for (i = 0; i < 3 * n; i++)
        weight[i] = w[i / n * t->channels + i % n];
    INLAY_UNROLL
    for (i = 0; i < INLAY_DW_TILE_MOST + 2; i++, x += t->tap) {
        float v;
        if (inlay_many_skips(skip, i))
            continue;
        v = *x;
        INLAY_UNROLL
        for (k = 3 * n - 1; k >= 0; k--) {
            const int p = i - k / n;
            float *to = sum + p * n + k % n;
            if (p >= 0 && p < INLAY_DW_TILE_MOST)
                *to = inlay_fma1(weight[k], v, *to);
        }
    }
}

/* Results [j, j + n), which are of one channel. */
INLAY_INLINE void inlay_lone_some(const inlay_many *m,
                                  const inlay_dw_tile *tile, int32_t channel,
                                  int32_t j, const int n, const int near,
                                  const int pixels)
{
    const inlay_dw *t = &m->dw;
    const ptrdiff_t first = tile->at + channel;
    const float *w = tile->w + j;
    float sum[INLAY_MANY_MOST * INLAY_DW_TILE_MOST];
    int32_t h;
    int i;
    INLAY_UNROLL
    for (i = 0; i < n * pixels; i++)
        sum[i] = t->bias[j + i % n];
    for (h = 0; h < t->nkh; h++, w += t->wrow) {
        const float *x = m->line[h] + first;
        if (near)
            inlay_lone_near(t, x, w, sum, tile->skip, n);
        else
            inlay_lone_taps(t, x, w, sum, tile->skip, n, pixels);
    }
    if (t->clamp == 1 && !tile->q)
        inlay_lone_low(t, tile, sum, j, n, pixels);
    else
        inlay_lone_end(t, tile, sum, j, n, pixels);
}

/* The results from j on, some of a channel after the others. */
INLAY_INLINE void inlay_lone(const inlay_many *m, const inlay_dw_tile *tile,
                             int32_t j, const int near, const int pixels)
{
    int32_t channel = j / m->times;
    int32_t left = (channel + 1) * m->times - j;
    while (j < m->dw.channels) {
        const int32_t n = left < INLAY_MANY_MOST ? 1 : INLAY_MANY_MOST;
        if (n == 1)
            inlay_lone_some(m, tile, channel, j, 1, near, pixels);
        else
            inlay_lone_some(m, tile, channel, j, INLAY_MANY_MOST, near, pixels);
        j += n;
        left -= n;
        if (!left) {
            left = m->times;
            channel++;
        }
    }
}

/* ---- pixels ---- */

/* All results of some pixels; tile->skip: with `near` columns that lie outside, else the taps of a
 * row. */
INLAY_INLINE void inlay_many_results(const inlay_many *m,
                                     const inlay_dw_tile *tile, const int near,
                                     const int pixels)
{
    int32_t j = 0;
#if INLAY_MANY_VL >= 16
    j = inlay_many16(m, tile, j, near, pixels);
#endif
#if INLAY_MANY_VL >= 8
    j = inlay_many8(m, tile, j, near, pixels);
#endif
#if INLAY_MANY_VL >= 4
    j = inlay_many4(m, tile, j, near, pixels);
#endif
    inlay_lone(m, tile, j, near, pixels);
}

INLAY_APART void inlay_many_pixel(const inlay_conv_params *p,
                                  const inlay_many *m, int32_t c)
{
    const int32_t first = c * p->sw - p->pw;
    int32_t from;
    const int32_t taps = inlay_clip(first, p->dw, p->kw, p->iw, &from);
    inlay_dw_tile tile = inlay_dw_tile_at(&m->dw, c, first + from * p->dw);
    tile.w += (ptrdiff_t)from * m->dw.channels;
    tile.skip = taps;
    inlay_many_results(m, &tile, 0, 1);
}

INLAY_APART void inlay_many_threes(const inlay_many *m,
                                   const inlay_dw_tile *tile)
{
    inlay_many_results(m, tile, 1, INLAY_DW_TILE_MOST);
}

INLAY_APART void inlay_many_any(const inlay_many *m, const inlay_dw_tile *tile)
{
    inlay_many_results(m, tile, 0, INLAY_DW_TILE_MOST);
}

/* The tile that begins at pixel c. */
static inline void inlay_many_four(const inlay_conv_params *p,
                                   const inlay_many *m, int32_t c)
{
    const int32_t first = c * p->sw - p->pw;
    inlay_dw_tile tile = inlay_dw_tile_at(&m->dw, c, first);
    if (m->near) {
        tile.skip = inlay_dw_outside(p, first);
        inlay_many_threes(m, &tile);
        return;
    }
    tile.skip = p->kw;
    inlay_many_any(m, &tile);
}

/* All pixels of a row. */
static inline void inlay_many_row(const inlay_conv_params *p,
                                  const inlay_many *m)
{
    const inlay_dw *t = &m->dw;
    const int32_t most = INLAY_DW_TILE_MOST;
    int32_t done = 0;
    while (done < p->ow) {
        const int32_t left = p->ow - done;
        const int32_t c = t->backward ? left - most : done;
        if (c >= t->left && c + most <= t->right) {
            inlay_many_four(p, m, c);
            done += most;
            continue;
        }
        inlay_many_pixel(p, m, t->backward ? left - 1 : done);
        done++;
    }
}

static inline void inlay_many_setup(const inlay_conv_params *p,
                                    void *const *base, const inlay_step *s,
                                    inlay_many *m)
{
    inlay_dw *t = &m->dw;
    inlay_dw_setup(p, base, s, t);
    t->channels = p->groups * p->oc;
    t->wrow = (ptrdiff_t)p->kw * t->channels;
    t->ys = s->ref[0].pix;
    t->qs = s->ref[4].pix;
    m->times = p->oc;
    m->near =
        p->sw == 1 && (!INLAY_DW_WIDE || p->kw == 3) && inlay_dw_covers(p);
    if (!m->near)
        t->left = inlay_inside(p->sw, p->pw, (p->kw - 1) * p->dw + 1, p->iw,
                               p->ow, &t->right);
}

/* The rows of x under the window of a row of y. */
static inline void inlay_many_lines(inlay_many *m)
{
    const inlay_dw *t = &m->dw;
    int32_t slot = t->slot;
    int32_t h;
    for (h = 0; h < t->nkh; h++) {
        m->line[h] = inlay_dw_line_at(t, slot);
        slot += t->dh;
        if (slot >= t->cap)
            slot -= t->cap;
    }
}

INLAY_APART int inlay_dwmany_rows(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const float *w = (const float *)inlay_at(base, s, 2);
    int32_t done;
    inlay_many m;
    inlay_many_setup(p, base, s, &m);
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(s, r0, r1, done);
        inlay_dw_window(p, &m.dw, w, r);
        inlay_many_lines(&m);
        m.dw.y = (float *)inlay_row(base, s, 0, r);
        m.dw.q = inlay_row_if(base, s, 4, r);
        inlay_many_row(p, &m);
    }
    return 0;
}

static inline int inlay_dwmany_f32(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    return inlay_dwconv_with(inlay_dwmany_rows, 5, base, s, r0, r1);
}

static inline int inlay_dwmany_act_f32(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t channels = p->groups * p->oc;
    return inlay_conv_then_act(inlay_dwmany_f32, base, s, r0, r1, channels);
}

#endif
