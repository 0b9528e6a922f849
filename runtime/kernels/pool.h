/* SPDX-License-Identifier: 0BSD
 * Pooling over channels-last images: maximum (float32, int8, uint8) and average (float32), 1 to 3
 * dimensions.
 *
 *   y[n][z][r][c][i] = max or mean over the taps that exist of x[n][z*sd - pd + kd*dd][r*sh - ph +
 *       kh*dh][c*sw - pw + kw*dw][i]
 *
 * x [N][D][H][W][C], y [N][OD][OH][OW][C]. Units are rows of y; operands: y, x. The mean divides
 * by the taps that exist or, with count_pad, by those that lie in x or its padding. Pixels go from
 * the first to the last, or back; a row of y must not overlap the rows of x it is made from.
 * Global pooling: units are rows of x; y [N][C] accumulates. */
#ifndef INLAY_POOL_H
#define INLAY_POOL_H

#include <math.h>
#include <string.h>

#include "inlay.h"
#include "kernels/conv_f32.h"
#include "kernels/vec.h"

#define INLAY_pool_FIELDS(F, N) \
    F(int32_t, id) /* planes of x in an image; 1 below three dimensions */ \
    F(int32_t, ih) /* rows of x in a plane */ \
    F(int32_t, iw) /* pixels of x in a row */ \
    F(int32_t, od) /* the same of y */ \
    F(int32_t, oh) \
    F(int32_t, ow) \
    F(int32_t, kd) /* taps of the window */ \
    F(int32_t, kh) \
    F(int32_t, kw) \
    F(int32_t, sd) /* strides */ \
    F(int32_t, sh) \
    F(int32_t, sw) \
    F(int32_t, dd) /* dilations */ \
    F(int32_t, dh) \
    F(int32_t, dw) \
    F(int32_t, pd) /* padding before the first element */ \
    F(int32_t, ph) \
    F(int32_t, pw) \
    F(int32_t, ed) /* padding after the last element */ \
    F(int32_t, eh) \
    F(int32_t, ew) \
    F(int32_t, channels) \
    F(int32_t, count_pad) /* the mean counts padding too */
INLAY_PARAMS(pool);

/* A clipped window: its first existing element, and how many there are each way. */
typedef struct inlay_window {
    int32_t first_row, first_col;
    int32_t nd, nh, nw;
    int32_t count; /* what a mean divides by */
} inlay_window;

/* Taps of one dimension that lie in x or its padding. */
static inline int32_t inlay_padded_taps(int32_t first, int32_t step, int32_t taps, int32_t size,
                                        int32_t after)
{
    int32_t from;
    return inlay_clip(first, step, taps, size + after, &from) + from;
}

static inline void inlay_pool_window(const inlay_pool_params *p, int32_t r, int32_t c,
                                     inlay_window *w)
{
    const int32_t n = r / (p->od * p->oh);
    const int32_t d = r / p->oh % p->od * p->sd - p->pd;
    const int32_t h = r % p->oh * p->sh - p->ph;
    const int32_t x = c * p->sw - p->pw;
    int32_t fd, fh, fw;
    w->nd = inlay_clip(d, p->dd, p->kd, p->id, &fd);
    w->nh = inlay_clip(h, p->dh, p->kh, p->ih, &fh);
    w->nw = inlay_clip(x, p->dw, p->kw, p->iw, &fw);
    w->first_row = (n * p->id + d + fd * p->dd) * p->ih + h + fh * p->dh;
    w->first_col = x + fw * p->dw;
    w->count = w->nd * w->nh * w->nw;
    if (p->count_pad)
        w->count = inlay_padded_taps(d, p->dd, p->kd, p->id, p->ed) *
                   inlay_padded_taps(h, p->dh, p->kh, p->ih, p->eh) *
                   inlay_padded_taps(x, p->dw, p->kw, p->iw, p->ew);
}

/* Calls BODY for each element of the window, which begins at `at`. */
#define INLAY_POOL_TAPS(T, BODY) \
    for (d = 0; d < w.nd; d++) \
        for (h = 0; h < w.nh; h++) { \
            const T *at = \
                (const T *)inlay_row(base, s, 1, w.first_row + d * p->dd * p->ih + h * p->dh) + \
                (ptrdiff_t)w.first_col * xp; \
            for (k = 0; k < w.nw; k++, at += (ptrdiff_t)p->dw * xp) { \
                BODY \
            } \
        }

/* All pixels of units [r0, r1), mirrored when backward. PIXEL makes y from the window w. */
#define INLAY_POOL_KERNEL(NAME, T, PIXEL) \
    static inline int NAME(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        const inlay_pool_params *p = (const inlay_pool_params *)s->params; \
        const int32_t xp = s->ref[1].pix, yp = s->ref[0].pix, channels = p->channels; \
        int32_t done, i, d, h, k, c; \
        for (done = 0; done < r1 - r0; done++) { \
            const int32_t r = s->backward ? r1 - 1 - done : r0 + done; \
            for (i = 0; i < p->ow; i++) { \
                const int32_t col = s->backward ? p->ow - 1 - i : i; \
                T *y = (T *)inlay_row(base, s, 0, r) + (ptrdiff_t)col * yp; \
                inlay_window w; \
                inlay_pool_window(p, r, col, &w); \
                PIXEL \
            } \
        } \
        return 0; \
    }

/* Channels in vectors of L floats: START, then STEP for each tap, then END. */
#define INLAY_POOL_VECTORS(L, START, STEP, END) \
    for (; channels - c >= L; c += L) { \
        inlay_f##L a = START; \
        INLAY_POOL_TAPS(float, STEP) \
        END inlay_store##L(y + c, a); \
    }
#if INLAY_VL >= 16
#define INLAY_POOL_16(M) M(16)
#else
#define INLAY_POOL_16(M)
#endif
#if INLAY_VL >= 8
#define INLAY_POOL_8(M) M(8)
#else
#define INLAY_POOL_8(M)
#endif
#if INLAY_VL >= 4
#define INLAY_POOL_4(M) M(4)
#else
#define INLAY_POOL_4(M)
#endif
#define INLAY_POOL_ALL(M) \
    c = 0; \
    INLAY_POOL_16(M) INLAY_POOL_8(M) INLAY_POOL_4(M) M(1)

#define INLAY_POOL_MAX(L) \
    INLAY_POOL_VECTORS(L, inlay_splat##L(-INFINITY), a = inlay_max##L(a, inlay_load##L(at + c));, )
#define INLAY_POOL_MEAN(L) \
    INLAY_POOL_VECTORS(L, inlay_splat##L(0.0f), a += inlay_load##L(at + c); \
                       , a = a / inlay_splat##L(count);)

INLAY_POOL_KERNEL(inlay_maxpool_f32, float, INLAY_POOL_ALL(INLAY_POOL_MAX))
INLAY_POOL_KERNEL(inlay_avgpool_f32, float, const float count = w.count ? (float)w.count : 1.0f;
                  INLAY_POOL_ALL(INLAY_POOL_MEAN))

#define INLAY_POOL_BYTES(T, lowest) \
    for (c = 0; c < channels; c++) \
        y[c] = lowest; \
    INLAY_POOL_TAPS(T, for (c = 0; c < channels; c++) y[c] = at[c] > y[c] ? at[c] : y[c];)
INLAY_POOL_KERNEL(inlay_maxpool_i8, int8_t, INLAY_POOL_BYTES(int8_t, INT8_MIN))
INLAY_POOL_KERNEL(inlay_maxpool_u8, uint8_t, INLAY_POOL_BYTES(uint8_t, 0))

#define INLAY_globalpool_FIELDS(F, N) \
    F(int32_t, rows)  /* of x in an image */ \
    F(int32_t, width) /* pixels of a row */ \
    F(int32_t, channels)
INLAY_PARAMS(globalpool);

/* Row by row into the result of the image: cleared at its first row, FINISHed at its last. A row is
 * summed apart, so that rounding grows with rows + width, not with their product. */
#define INLAY_GLOBAL_ADD(L) \
    for (; channels - c >= L; c += L) { \
        inlay_f##L a = inlay_splat##L(0.0f); \
        for (i = 0; i < p->width; i++) \
            a += inlay_load##L(x + (ptrdiff_t)i * pix + c); \
        inlay_store##L(y + c, inlay_load##L(y + c) + a); \
    }
#define INLAY_GLOBAL_MAX(L) \
    for (; channels - c >= L; c += L) { \
        inlay_f##L a = inlay_load##L(y + c); \
        for (i = 0; i < p->width; i++) \
            a = inlay_max##L(a, inlay_load##L(x + (ptrdiff_t)i * pix + c)); \
        inlay_store##L(y + c, a); \
    }
#define INLAY_GLOBAL_KERNEL(NAME, START, STEP, FINISH) \
    static inline int NAME(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        const inlay_globalpool_params *p = (const inlay_globalpool_params *)s->params; \
        const int32_t channels = p->channels, pix = s->ref[1].pix; \
        int32_t r, i, c; \
        for (r = r0; r < r1; r++) { \
            const float *x = (const float *)inlay_row(base, s, 1, r); \
            float *y = (float *)inlay_row(base, s, 0, r / p->rows); \
            if (r % p->rows == 0) \
                for (c = 0; c < channels; c++) \
                    y[c] = START; \
            INLAY_POOL_ALL(STEP) \
            if (r % p->rows == p->rows - 1) { \
                FINISH \
            } \
        } \
        return 0; \
    }
INLAY_GLOBAL_KERNEL(inlay_globalavg_f32, 0.0f, INLAY_GLOBAL_ADD,
                    const float count = (float)p->rows * (float)p->width;
                    for (c = 0; c < channels; c++) y[c] /= count;)
INLAY_GLOBAL_KERNEL(inlay_globalmax_f32, -INFINITY, INLAY_GLOBAL_MAX, )

#endif
