/* SPDX-License-Identifier: 0BSD
 * Pooling over channels-last images: maximum (float32, int8, uint8) and average (float32), 1 to 3
 * dimensions.
 *
 *   y[n][z][r][c][i] = max or mean over the taps that exist of x[n][z*sd - pd + kd*dd][r*sh - ph +
 *       kh*dh][c*sw - pw + kw*dw][i]
 *
 * x [N][D][H][W][C], y [N][OD][OH][OW][C]. Units are rows of y; operands: y, x. The mean divides
 * by the taps that exist or, with count_pad, by those that lie in x or its padding. Pixels go from
 * the first to the last, or back, where a row of y lies over rows of x that it is made from.
 * Global pooling: units are rows of x; y [N][C] accumulates. */
#ifndef INLAY_POOL_H
#define INLAY_POOL_H

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/conv_f32.h"
#include "kernels/libm.h"
#include "kernels/vec.h"

typedef struct inlay_pool_params {
#include "kernels/window_fields.inc.h"
    int32_t ed; /* padding after the last element */
    int32_t eh;
    int32_t ew;
    int32_t channels;
    int32_t count_pad; /* the mean counts padding too */
    int32_t exponent;  /* of the p-norm of lppool.h */
} inlay_pool_params;

typedef struct inlay_globalpool_params {
    int32_t rows;  /* of x in an image */
    int32_t width; /* pixels of a row */
    int32_t channels;
} inlay_globalpool_params;

/* What becomes of the pixels of a channel. */
enum {
    INLAY_GLOBAL_SUM,
    INLAY_GLOBAL_MAX,
    INLAY_GLOBAL_TOP /* the maximum; NaN stays */
};

#if INLAY_VL > 1
/* Rows of a window that are found once for all pixels of a row. */
enum { INLAY_POOL_HELD = 16 };
#endif

/* A clipped window: its first existing element, and how many there are each way. */
typedef struct inlay_window {
    int32_t first_row, first_col;
    int32_t nd, nh, nw;
    int32_t row_count; /* what a mean divides by, in planes and rows */
    int32_t count;     /* what it divides by, at least 1 */
#if INLAY_VL > 1
    int32_t held; /* those of the window, or none */
    const void *row[INLAY_POOL_HELD];
#endif
} inlay_window;

/* Taps of one dimension that lie in x or its padding. */
static inline int32_t inlay_padded_taps(int32_t first, int32_t step,
                                        int32_t taps, int32_t size,
                                        int32_t after)
{
    int32_t from;
    return inlay_clip(first, step, taps, size + after, &from) + from;
}

/* Planes and rows of the windows of row r of y. */
static inline void inlay_pool_window_rows(const inlay_pool_params *p, int32_t r,
                                          inlay_window *w)
{
    const int32_t plane = r / p->oh;
    const int32_t image = plane / p->od;
    const int32_t d = (plane - image * p->od) * p->sd - p->pd;
    const int32_t h = (r - plane * p->oh) * p->sh - p->ph;
    int32_t from_d, from_h;
    w->nd = inlay_clip(d, p->dd, p->kd, p->id, &from_d);
    w->nh = inlay_clip(h, p->dh, p->kh, p->ih, &from_h);
    w->first_row = (image * p->id + d + from_d * p->dd) * p->ih;
    w->first_row += h + from_h * p->dh;
    w->row_count = w->nd * w->nh;
    if (p->count_pad)
        w->row_count = inlay_padded_taps(d, p->dd, p->kd, p->id, p->ed) *
                       inlay_padded_taps(h, p->dh, p->kh, p->ih, p->eh);
}

/* Columns of the window of pixel c of that row. */
static inline void inlay_pool_window_columns(const inlay_pool_params *p,
                                             int32_t c, inlay_window *w)
{
    const int32_t first = c * p->sw - p->pw;
    int32_t from, count;
    w->nw = inlay_clip(first, p->dw, p->kw, p->iw, &from);
    w->first_col = first + from * p->dw;
    count = w->nw;
    if (p->count_pad)
        count = inlay_padded_taps(first, p->dw, p->kw, p->iw, p->ew);
    count *= w->row_count;
    w->count = count > 0 ? count : 1;
}

/* The row of x that is row h of plane d of a window. */
INLAY_INLINE int32_t inlay_window_row(const inlay_pool_params *p,
                                      const inlay_window *w, int32_t d,
                                      int32_t h)
{
    return w->first_row + d * p->dd * p->ih + h * p->dh;
}

/* The same where it lies. */
INLAY_INLINE const void *inlay_window_line(void *const *base,
                                           const inlay_step *s,
                                           const inlay_window *w, int32_t d,
                                           int32_t h)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
#if INLAY_VL > 1
    if (w->held)
        return w->row[d * w->nh + h];
#endif
    return inlay_row(base, s, 1, inlay_window_row(p, w, d, h));
}

#if INLAY_VL > 1
/* Finds the rows of the windows of a row of y, where there are few: a division for each. */
static inline void inlay_window_hold(void *const *base, const inlay_step *s,
                                     inlay_window *w)
{
    int32_t d, h;
    w->held = 0;
    if (w->nd * w->nh > INLAY_POOL_HELD)
        return;
    for (d = 0; d < w->nd; d++)
        for (h = 0; h < w->nh; h++)
            w->row[d * w->nh + h] = inlay_window_line(base, s, w, d, h);
    w->held = w->nd * w->nh;
}
#endif

#if INLAY_VL > 1
/* Pixels of a row of y whose windows have the same rows and all taps. */
typedef struct inlay_pool_line {
    const void *const *row; /* those of the windows */
    int32_t rows;
    int32_t taps; /* of a row */
    int32_t pixels;
    int32_t channels;
    ptrdiff_t from; /* floats from a row to the first tap of the first pixel */
    ptrdiff_t tap;  /* floats from tap to tap */
    ptrdiff_t step; /* floats from pixel to pixel of x */
    float *y;       /* the first pixel */
    ptrdiff_t y_step;
    float count; /* what a mean divides by */
} inlay_pool_line;

/* Does the row of y lie over none of the rows of x that it is made of? A plan may lay it there as
 * if pixels were made one by one. */
static inline int inlay_pool_apart(const inlay_step *s, const inlay_window *w,
                                   const float *row)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const uintptr_t y_floats = (uintptr_t)p->ow * (uintptr_t)s->ref[0].pix;
    const uintptr_t x_floats = (uintptr_t)p->iw * (uintptr_t)s->ref[1].pix;
    const uintptr_t y = (uintptr_t)row;
    int32_t i;
    for (i = 0; i < w->held; i++) {
        const uintptr_t x = (uintptr_t)w->row[i];
        if (x < y + y_floats * sizeof *row && y < x + x_floats * sizeof *row)
            return 0;
    }
    return w->held > 0;
}

/* Is a line faster than pixels one by one? Many channels are walked from pixel to pixel: a large
 * window of them no longer stays in the cache. */
static inline int inlay_pool_pays(const inlay_pool_params *p)
{
    return p->channels < 4 * INLAY_VL || p->kw <= 3;
}

/* The line of the pixels of a row of y, whose window rows are w's, that lie inside, or no pixels
 * where y does not lie apart; returns the first of them, *end: the first behind them. */
static inline int32_t inlay_pool_inside(const inlay_step *s,
                                        const inlay_window *w, float *y,
                                        inlay_pool_line *l, int32_t *end)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const int32_t extent = (p->kw - 1) * p->dw + 1;
    const int32_t first = inlay_inside(p->sw, p->pw, extent, p->iw, p->ow, end);
    const ptrdiff_t pix = s->ref[1].pix;
    l->row = w->row;
    l->rows = w->held;
    l->taps = p->kw;
    l->pixels = inlay_pool_apart(s, w, y) ? *end - first : 0;
    l->channels = p->channels;
    l->from = (ptrdiff_t)(first * p->sw - p->pw) * pix;
    l->tap = p->dw * pix;
    l->step = p->sw * pix;
    l->y_step = s->ref[0].pix;
    l->y = y + first * l->y_step;
    l->count = (float)(w->row_count * p->kw);
    *end = first + l->pixels;
    return first;
}
#endif

/* Makes one pixel of y of the window w. */
typedef void inlay_pool_pixel(void *const *base, const inlay_step *s,
                              const inlay_window *w, void *y);

/* Makes those pixels of a row of y that it can make at once, if any: returns the first of them,
 * *end: the first behind them. */
typedef int32_t inlay_pool_pixels(const inlay_step *s, const inlay_window *w,
                                  void *y, int32_t *end);

/* All pixels of row r of y, mirrored when backward; `size`: bytes of an element; `some`: or
 * NULL. */
INLAY_INLINE void inlay_pool_row(void *const *base, const inlay_step *s,
                                 int32_t r, size_t size,
                                 inlay_pool_pixel *pixel,
                                 inlay_pool_pixels *some)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const size_t step = (size_t)s->ref[0].pix * size;
    unsigned char *y = (unsigned char *)inlay_row(base, s, 0, r);
    int32_t first = 0;
    int32_t end = 0;
    int32_t i;
    inlay_window w;
    inlay_pool_window_rows(p, r, &w);
#if INLAY_VL > 1
    inlay_window_hold(base, s, &w);
#endif
    if (some)
        first = some(s, &w, y, &end);
    for (i = 0; i < p->ow; i++) {
        const int32_t col = inlay_next_row(s, 0, p->ow, i);
        if (col >= first && col < end)
            continue;
        inlay_pool_window_columns(p, col, &w);
        pixel(base, s, &w, y + (size_t)col * step);
    }
}

/* Units [r0, r1), mirrored when backward. */
INLAY_INLINE int inlay_pool_rows(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1, size_t size,
                                 inlay_pool_pixel *pixel,
                                 inlay_pool_pixels *some)
{
    int32_t done;
    for (done = 0; done < r1 - r0; done++) {
        const int32_t r = inlay_next_row(s, r0, r1, done);
        inlay_pool_row(base, s, r, size, pixel, some);
    }
    return 0;
}

#define INLAY_FAMILY "pool.inc.h"
#include "each_width.inc.h"
#undef INLAY_FAMILY

/* Do four channels go together, floats of a unit that has no vectors? Where a row lies is found
 * once for all of them. */
#if !INLAY_HAS_4 && (defined __ARM_FP || defined __riscv_flen)
#define INLAY_POOL_FOUR 1
#else
#define INLAY_POOL_FOUR 0
#endif

#if INLAY_POOL_FOUR
/* Four channels of some taps of a row of the window, `step` floats apart. */
INLAY_INLINE void inlay_pool_four_taps(float *v, const float *x, ptrdiff_t step,
                                       int32_t taps, const int mean)
{
    int32_t k;
    int i;
    for (k = 0; k < taps; k++, x += step) {
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] = mean ? v[i] + x[i] : inlay_max1(v[i], x[i]);
    }
}

/* The sums, or the maxima, of channels [c, c + 4) of a window. */
INLAY_INLINE void inlay_pool_four_window(void *const *base, const inlay_step *s,
                                         const inlay_window *w, float *v,
                                         int32_t c, const int mean)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const ptrdiff_t pix = s->ref[1].pix;
    const ptrdiff_t first = w->first_col * pix + c;
    int32_t d, h;
    for (d = 0; d < w->nd; d++)
        for (h = 0; h < w->nh; h++) {
            const int32_t r = inlay_window_row(p, w, d, h);
            const float *x = (const float *)inlay_row(base, s, 1, r);
            inlay_pool_four_taps(v, x + first, p->dw * pix, w->nw, mean);
        }
}

/* The same as inlay_pool1(), four channels at a time. */
INLAY_INLINE int32_t inlay_pool_four(void *const *base, const inlay_step *s,
                                     const inlay_window *w, float *y, int32_t c,
                                     const int mean)
{
    const inlay_pool_params *p = (const inlay_pool_params *)s->params;
    const float count = (float)w->count;
    const float begin = mean ? 0.0f : -INFINITY;
    for (; p->channels - c >= 4; c += 4) {
        float v[4] = { begin, begin, begin, begin };
        int i;
        inlay_pool_four_window(base, s, w, v, c, mean);
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            y[c + i] = mean ? v[i] / count : v[i];
    }
    return c;
}
#endif

INLAY_INLINE void inlay_pool_channels(void *const *base, const inlay_step *s,
                                      const inlay_window *w, float *y,
                                      const int mean)
{
    int32_t c = 0;
#if INLAY_VL >= 16
    c = inlay_pool16(base, s, w, y, c, mean);
#endif
#if INLAY_VL >= 8
    c = inlay_pool8(base, s, w, y, c, mean);
#endif
#if INLAY_HAS_4
    c = inlay_pool4(base, s, w, y, c, mean);
#endif
#if INLAY_POOL_FOUR
    c = inlay_pool_four(base, s, w, y, c, mean);
#endif
    inlay_pool1(base, s, w, y, c, mean);
}

static inline void inlay_maxpool_pixel(void *const *base, const inlay_step *s,
                                       const inlay_window *w, void *y)
{
    inlay_pool_channels(base, s, w, (float *)y, 0);
}

static inline void inlay_avgpool_pixel(void *const *base, const inlay_step *s,
                                       const inlay_window *w, void *y)
{
    inlay_pool_channels(base, s, w, (float *)y, 1);
}

#if INLAY_VL > 1
/* All pixels of a line. */
INLAY_INLINE void inlay_pool_line_channels(const inlay_pool_line *l,
                                           const int mean)
{
    int32_t c = 0;
#if INLAY_VL >= 16
    c = inlay_pool_line16(l, c, mean);
#endif
#if INLAY_VL >= 8
    c = inlay_pool_line8(l, c, mean);
#endif
    c = inlay_pool_line4(l, c, mean);
    inlay_pool_line1(l, c, mean);
}

/* The pixels inside of a row of y, whose window rows are w's. */
INLAY_INLINE int32_t inlay_pool_middle(const inlay_step *s,
                                       const inlay_window *w, void *y,
                                       int32_t *end, const int mean)
{
    inlay_pool_line line;
    int32_t first;
    if (!inlay_pool_pays((const inlay_pool_params *)s->params))
        return 0;
    first = inlay_pool_inside(s, w, (float *)y, &line, end);
    if (line.pixels)
        inlay_pool_line_channels(&line, mean);
    return first;
}

static inline int32_t inlay_maxpool_middle(const inlay_step *s,
                                           const inlay_window *w, void *y,
                                           int32_t *end)
{
    return inlay_pool_middle(s, w, y, end, 0);
}

static inline int32_t inlay_avgpool_middle(const inlay_step *s,
                                           const inlay_window *w, void *y,
                                           int32_t *end)
{
    return inlay_pool_middle(s, w, y, end, 1);
}
#else
#define inlay_maxpool_middle NULL
#define inlay_avgpool_middle NULL
#endif

static inline int inlay_maxpool_f32(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    return inlay_pool_rows(base, s, r0, r1, sizeof(float), inlay_maxpool_pixel,
                           inlay_maxpool_middle);
}

static inline int inlay_avgpool_f32(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    return inlay_pool_rows(base, s, r0, r1, sizeof(float), inlay_avgpool_pixel,
                           inlay_avgpool_middle);
}

enum { INLAY_POOL_BYTES = 16 }; /* channels of bytes that are made at once */

#define INLAY_T int8_t
#define INLAY_LOWEST INT8_MIN
#define inlay_typed(name) inlay_##name##_i8
#include "pool_bytes.inc.h"

#define INLAY_T uint8_t
#define INLAY_LOWEST 0
#define inlay_typed(name) inlay_##name##_u8
#include "pool_bytes.inc.h"

INLAY_INLINE void inlay_global_channels(const inlay_globalpool_params *p,
                                        float *y, const float *x, ptrdiff_t pix,
                                        const int op, const int apart)
{
    int32_t c = 0;
#if INLAY_VL >= 16
    c = inlay_global_row16(p, y, x, pix, c, op, apart);
#endif
#if INLAY_VL >= 8
    c = inlay_global_row8(p, y, x, pix, c, op, apart);
#endif
#if INLAY_HAS_4
    /* what gcc 12 makes of comparisons for Helium is wrong */
    if (INLAY_VL > 1 || op != INLAY_GLOBAL_TOP)
        c = inlay_global_row4(p, y, x, pix, c, op, apart);
#endif
    inlay_global_row1(p, y, x, pix, c, op, apart);
}

INLAY_INLINE void inlay_global_begin(const inlay_globalpool_params *p, float *y,
                                     const int op)
{
    int32_t c;
    for (c = 0; c < p->channels; c++)
        y[c] = op == INLAY_GLOBAL_SUM ? 0.0f : -INFINITY;
}

/* The mean of a sum. */
INLAY_INLINE void inlay_global_divide(const inlay_globalpool_params *p,
                                      float *y)
{
    const float count = (float)p->rows * (float)p->width;
    int32_t c;
    for (c = 0; c < p->channels; c++)
        y[c] /= count;
}

/* Row by row into the result of the image: it begins at the image's first row, and is finished at
 * its last. */
INLAY_INLINE int inlay_global(void *const *base, const inlay_step *s,
                              int32_t r0, int32_t r1, const int op,
                              const int mean)
{
    const inlay_globalpool_params *p =
        (const inlay_globalpool_params *)s->params;
    const int apart = op == INLAY_GLOBAL_SUM;
    int32_t r;
    for (r = r0; r < r1; r++) {
        const float *x = (const float *)inlay_row(base, s, 1, r);
        float *y = (float *)inlay_row(base, s, 0, r / p->rows);
        if (r % p->rows == 0)
            inlay_global_begin(p, y, op);
        inlay_global_channels(p, y, x, s->ref[1].pix, op, apart);
        if (mean && r % p->rows == p->rows - 1)
            inlay_global_divide(p, y);
    }
    return 0;
}

static inline int inlay_globalavg_f32(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    return inlay_global(base, s, r0, r1, INLAY_GLOBAL_SUM, 1);
}

static inline int inlay_globalmax_f32(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    return inlay_global(base, s, r0, r1, INLAY_GLOBAL_MAX, 0);
}

/* How many rows from row r on lie one behind the other, of those of its image before r1. */
INLAY_INLINE int32_t inlay_token_rows(const inlay_globalpool_params *p,
                                      const inlay_ref *x, int32_t r, int32_t r1)
{
    const int32_t of_image = p->rows - r % p->rows;
    const int32_t of_ring = x->cap - r % x->cap;
    int32_t rows = r1 - r;
    rows = rows < of_image ? rows : of_image;
    return rows < of_ring ? rows : of_ring;
}

/* Rows are single pixels: as many as possible at once, which are taken one by one all the same. */
INLAY_INLINE int inlay_tokens(void *const *base, const inlay_step *s,
                              int32_t r0, int32_t r1, const int op,
                              const int mean)
{
    const inlay_globalpool_params *p =
        (const inlay_globalpool_params *)s->params;
    const ptrdiff_t pix = (ptrdiff_t)(s->ref[1].row / sizeof(float));
    inlay_globalpool_params line = *p;
    int32_t r;
    for (r = r0; r < r1; r += line.width) {
        const float *x = (const float *)inlay_row(base, s, 1, r);
        float *y = (float *)inlay_row(base, s, 0, r / p->rows);
        line.width = inlay_token_rows(p, s->ref + 1, r, r1);
        if (r % p->rows == 0)
            inlay_global_begin(p, y, op);
        inlay_global_channels(&line, y, x, pix, op, 0);
        if (mean && (r + line.width) % p->rows == 0)
            inlay_global_divide(p, y);
    }
    return 0;
}

/* Reductions: of the rows of an image, or of tokens. */
INLAY_INLINE int inlay_by_rows(void *const *base, const inlay_step *s,
                               int32_t r0, int32_t r1, const int op,
                               const int mean)
{
    const inlay_globalpool_params *p =
        (const inlay_globalpool_params *)s->params;
    if (p->width == 1 && !inlay_is_dealt(s->ref + 1))
        return inlay_tokens(base, s, r0, r1, op, mean);
    return inlay_global(base, s, r0, r1, op, mean);
}

static inline int inlay_sum_rows_f32(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    return inlay_by_rows(base, s, r0, r1, INLAY_GLOBAL_SUM, 0);
}

static inline int inlay_mean_rows_f32(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    return inlay_by_rows(base, s, r0, r1, INLAY_GLOBAL_SUM, 1);
}

static inline int inlay_max_rows_f32(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    return inlay_by_rows(base, s, r0, r1, INLAY_GLOBAL_TOP, 0);
}

#endif
