/* SPDX-License-Identifier: 0BSD
 * Resize: each axis in turn is resampled by tables. The tables are made when the model is
 * compiled, or, where scales are values at run time, by the kernel resize_table; both by
 * inlay_resize_axis().
 *
 *   resample  y [outer][o][inner] = sum over taps t of W[o][t] x[outer][I[o][t]][inner] +
 *             W[o][taps]
 *
 * Nearest neighbours are moves (pick.h). */
#ifndef INLAY_RESIZE_H
#define INLAY_RESIZE_H

#include <math.h>
#include <string.h>

#include "inlay.h"
#include "nd.h"

enum { INLAY_NEAREST, INLAY_LINEAR, INLAY_CUBIC };
enum {
    INLAY_HALF_PIXEL,
    INLAY_HALF_PIXEL_SYMMETRIC,
    INLAY_PYTORCH_HALF_PIXEL,
    INLAY_ASYMMETRIC,
    INLAY_ALIGN_CORNERS,
    INLAY_TF_HALF_PIXEL,
    INLAY_TF_CROP
};
enum { INLAY_PREFER_FLOOR, INLAY_PREFER_CEIL, INLAY_FLOOR, INLAY_CEIL };

#define INLAY_resize_table_FIELDS(F, N) \
    F(int32_t, n_in)       /* size of the axis in the source ... */ \
    F(int32_t, n_out)      /* ... and in the result */ \
    F(int32_t, mode)       /* INLAY_NEAREST ... */ \
    F(int32_t, coordinate) /* INLAY_HALF_PIXEL ... */ \
    F(int32_t, nearest)    /* INLAY_PREFER_FLOOR ... */ \
    F(int32_t, exclude)    /* 1: taps outside weigh nothing, the others more */ \
    F(int32_t, antialias)  /* 1: the filter is widened where the axis shrinks */ \
    F(int32_t, taps)       /* entries of the tables for each element */ \
    F(int32_t, stride)     /* factor of the indices in the table */ \
    F(int32_t, first)      /* entry of the index table where this axis begins */ \
    F(int32_t, entry)      /* of this axis in scales or sizes */ \
    F(int32_t, entries)    /* of scales or sizes */ \
    F(int32_t, policy)     /* sizes: 0 as they are, 1 the smallest ratio for all, 2 the largest */ \
    N(int32_t, dims, 8)    /* sizes of the source for each entry */ \
    F(double, cubic)       /* coefficient a of the cubic filter */ \
    F(double, extrapolation) /* value outside the region (INLAY_TF_CROP) */ \
    F(double, roi_start)     /* region, as parts of the axis */ \
    F(double, roi_end)
INLAY_PARAMS(resize_table);

/* Nearest neighbours are found in float32, as frameworks do: 3 / 0.6f is 5 then, and 4.9999998 in
 * float64, which falls on another element. */
static inline double inlay_resize_round(const inlay_resize_table_params *p, double x)
{
    return p->mode == INLAY_NEAREST ? (double)(float)x : x;
}

/* The place in the source of element i of the result. */
static inline double inlay_resize_place(const inlay_resize_table_params *p, double scale,
                                        double start, double end, int32_t i)
{
    const double x = i;
    const double in = p->n_in;
    const double out = scale * in;
    const double at = inlay_resize_round(p, (x + 0.5) / inlay_resize_round(p, scale));
    switch (p->coordinate) {
    case INLAY_ASYMMETRIC:
        return inlay_resize_round(p, x / inlay_resize_round(p, scale));
    case INLAY_ALIGN_CORNERS:
        return p->n_out == 1 || out <= 1.0 ? 0.0
                                           : inlay_resize_round(p, x * (in - 1.0) / (out - 1.0));
    case INLAY_PYTORCH_HALF_PIXEL:
        return p->n_out == 1 ? -0.5 : at - 0.5;
    case INLAY_TF_HALF_PIXEL:
        return at;
    case INLAY_HALF_PIXEL_SYMMETRIC:
        return in / 2.0 * (1.0 - p->n_out / out) + at - 0.5;
    case INLAY_TF_CROP:
        return start * (in - 1.0) + (p->n_out == 1 ? (end - start) * (in - 1.0) / 2.0
                                                   : x * (end - start) * (in - 1.0) / (out - 1.0));
    default:
        return inlay_resize_round(p, at - 0.5);
    }
}

static inline double inlay_resize_filter(const inlay_resize_table_params *p, double x)
{
    const double a = p->cubic;
    x = x < 0 ? -x : x;
    if (p->mode == INLAY_LINEAR)
        return x < 1.0 ? 1.0 - x : 0.0;
    if (x <= 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

/* A whole number as an index; what is no number, or far outside of any axis, is clipped. */
static inline int32_t inlay_resize_int(double x)
{
    if (!(x > -1e9))
        return -1000000000;
    return x < 1e9 ? (int32_t)x : 1000000000;
}

/* Taps that a scale needs. */
static inline int32_t inlay_resize_taps(int32_t mode, int32_t antialias, double scale)
{
    const double reach = mode == INLAY_CUBIC ? 2.0 : 1.0;
    if (mode == INLAY_NEAREST)
        return 1;
    if (!antialias || scale >= 1.0)
        return (int32_t)(2.0 * reach);
    return 2 - 2 * inlay_resize_int(floor(-reach / scale) + 1.0);
}

static inline int32_t inlay_resize_nearest(const inlay_resize_table_params *p, double place)
{
    const double low = floor(place);
    const double part = place - low;
    const int up = p->nearest == INLAY_CEIL ? part > 0
                   : p->nearest == INLAY_PREFER_CEIL
                       ? part >= 0.5
                       : p->nearest == INLAY_PREFER_FLOOR && part > 0.5;
    return inlay_resize_int(low) + up;
}

static inline int32_t inlay_resize_clip(int32_t i, int32_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Entries of one element: index[taps], weight[taps + 1] (NULL: no weights). */
static inline void inlay_resize_element(const inlay_resize_table_params *p, double scale,
                                        double place, int32_t *index, float *weight)
{
    const int32_t used = inlay_resize_taps(p->mode, p->antialias, scale);
    const double shrink = p->antialias && scale < 1.0 ? scale : 1.0;
    const double low = ceil(place) - 1.0;
    const double part = place - low;
    double sum = 0.0;
    int32_t t;
    if (p->mode == INLAY_NEAREST) {
        index[0] = inlay_resize_clip(inlay_resize_nearest(p, place), p->n_in) * p->stride;
        if (weight)
            weight[0] = 1.0f;
        return;
    }
    for (t = 0; t < p->taps; t++) {
        const int32_t off = t + 1 - used / 2;
        const int32_t at = inlay_resize_int(low) + off;
        double w = t < used ? inlay_resize_filter(p, (off - part) * shrink) : 0.0;
        if (p->exclude && (at < 0 || at >= p->n_in))
            w = 0.0;
        index[t] = inlay_resize_clip(at, p->n_in) * p->stride;
        weight[t] = (float)w;
        sum += w;
    }
    if (p->exclude || p->antialias)
        for (t = 0; t < p->taps; t++)
            weight[t] = (float)((double)weight[t] / sum);
}

/* The tables of an axis: index [n_out][taps], weight [n_out][taps + 1], the last the value that is
 * added. */
static inline void inlay_resize_axis(const inlay_resize_table_params *p, double scale, double start,
                                     double end, int32_t *index, float *weight)
{
    int32_t i, t;
    for (i = 0; i < p->n_out;
         i++, index += p->taps, weight = weight ? weight + p->taps + 1 : NULL) {
        const double place = inlay_resize_place(p, scale, start, end, i);
        inlay_resize_element(p, scale, place, index, weight);
        if (!weight)
            continue;
        weight[p->taps] = 0.0f;
        if (p->coordinate != INLAY_TF_CROP || (place >= 0 && place <= p->n_in - 1))
            continue;
        for (t = 0; t < p->taps; t++)
            weight[t] = 0.0f;
        weight[p->taps] = (float)p->extrapolation;
    }
}

/* Operands: index (int32), weight (float, may be left out); scales (float) or NULL, sizes (int64)
 * or NULL, roi (float) or NULL. */
static inline int inlay_resize_table(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_resize_table_params *p = (const inlay_resize_table_params *)s->params;
    int32_t *index = (int32_t *)inlay_at(base, s, 0) + p->first;
    float *weight = (float *)inlay_at(base, s, 1);
    const float *scales = (const float *)inlay_at(base, s, 2);
    const float *roi = (const float *)inlay_at(base, s, 4);
    const int64_t *sizes = (const int64_t *)inlay_at(base, s, 3);
    const double start = roi ? (double)roi[p->entry] : p->roi_start;
    const double end = roi ? (double)roi[p->entries + p->entry] : p->roi_end;
    double scale = scales ? (double)scales[p->entry] : (double)p->n_out / p->n_in;
    int32_t i;
    (void)r0, (void)r1;
    for (i = 0; sizes && p->policy && i < p->entries; i++) {
        const double ratio = (double)sizes[i] / p->dims[i];
        if (i == 0 || (p->policy == 1 ? ratio < scale : ratio > scale))
            scale = ratio;
    }
    if (scales && floor(scale * p->n_in) != (double)p->n_out)
        return -INLAY_E_SHAPE;
    if (sizes && (p->policy ? floor(scale * p->n_in + 0.5) != (double)p->n_out
                            : sizes[p->entry] != p->n_out))
        return -INLAY_E_SHAPE;
    if (inlay_resize_taps(p->mode, p->antialias, scale) > p->taps)
        return -INLAY_E_SHAPE;
    inlay_resize_axis(p, scale, start, end, index, weight);
    return 0;
}

#define INLAY_resample_FIELDS(F, N) \
    F(int32_t, along) /* INLAY_ALONG_...: what a unit is */ \
    F(int32_t, outer) /* ALONG_ANY: repetitions of the axis */ \
    F(int32_t, n_in)  /* size of the axis in x ... */ \
    F(int32_t, n_out) /* ... and in y */ \
    F(int32_t, \
      inner) /* elements that move together; of a pixel where the image goes row by row */ \
    F(int32_t, pixels) /* ALONG_ROWS: pixels of a row */ \
    F(int32_t, column) /* of the whole image, that y's rows begin with ... */ \
    F(int32_t, origin) /* ... and that x's rows begin with */ \
    F(int32_t, taps)
INLAY_PARAMS(resample);

enum {
    INLAY_ALONG_ANY,   /* one unit: y [outer][n_out][inner] */
    INLAY_ALONG_ROWS,  /* a row of an image from several rows: y [images * n_out] rows of
                          [pixels][inner] */
    INLAY_ALONG_PIXELS /* a row from the same row: [n_out][inner] from [n_in][inner] */
};

#define INLAY_RESAMPLE(name, T) \
    static inline void inlay_##name##_add(T *y, const T *a, T u, int32_t inner) \
    { \
        if (u != 0) \
            INLAY_MAP(T, y, inner, z = y[i] + a[i] * u;); \
    } \
    static inline void inlay_##name##_two(T *y, const T *a, const T *b, const float *weight, \
                                          int32_t inner) \
    { \
        const T u = (T)weight[0], v = (T)weight[1], add = (T)weight[2]; \
        INLAY_MAP(T, y, inner, z = a[i] * u + b[i] * v + add;); \
    } \
    static inline void inlay_##name##_axis(const inlay_resample_params *p, T *y, const T *x, \
                                           const int32_t *index, const float *weight, \
                                           ptrdiff_t yp, ptrdiff_t xp) \
    { \
        int32_t k, t; \
        for (k = 0; k < p->n_out; k++, y += yp, index += p->taps, weight += p->taps + 1) { \
            if (p->taps == 2) { \
                inlay_##name##_two(y, x + (index[0] - p->origin) * xp, \
                                   x + (index[1] - p->origin) * xp, weight, p->inner); \
                continue; \
            } \
            for (t = 0; t < p->inner; t++) \
                y[t] = (T)weight[p->taps]; \
            for (t = 0; t < p->taps; t++) \
                inlay_##name##_add(y, x + (index[t] - p->origin) * xp, (T)weight[t], p->inner); \
        } \
    } \
    static inline void inlay_##name##_row(void *const *base, const inlay_step *s, int32_t r, \
                                          const int32_t *index, const float *weight) \
    { \
        const inlay_resample_params *p = (const inlay_resample_params *)s->params; \
        const int32_t o = r % p->n_out, first = r / p->n_out * p->n_in; \
        const int32_t yp = s->ref[0].pix, xp = s->ref[1].pix, \
                      dense = yp == p->inner && xp == p->inner; \
        const int32_t runs = dense ? 1 : p->pixels, \
                      inner = dense ? p->inner * p->pixels : p->inner; \
        T *y = (T *)inlay_row(base, s, 0, r); \
        int32_t i, k, t; \
        index += (ptrdiff_t)o * p->taps; \
        weight += (ptrdiff_t)o * (p->taps + 1); \
        for (i = 0; i < runs; i++, y += yp) { \
            const ptrdiff_t at = (ptrdiff_t)(i + p->column - p->origin) * xp; \
            if (p->taps == 2) { \
                const T *a = (const T *)inlay_row(base, s, 1, first + index[0]) + at, \
                        *b = (const T *)inlay_row(base, s, 1, first + index[1]) + at; \
                inlay_##name##_two(y, a, b, weight, inner); \
                continue; \
            } \
            for (k = 0; k < inner; k++) \
                y[k] = (T)weight[p->taps]; \
            for (t = 0; t < p->taps; t++) \
                inlay_##name##_add(y, (const T *)inlay_row(base, s, 1, first + index[t]) + at, \
                                   (T)weight[t], inner); \
        } \
    } \
    static inline int inlay_##name(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        const inlay_resample_params *p = (const inlay_resample_params *)s->params; \
        const int32_t *index = (const int32_t *)inlay_at(base, s, 2); \
        const float *weight = (const float *)inlay_at(base, s, 3); \
        int32_t i; \
        for (i = 0; p->along == INLAY_ALONG_ANY && i < p->outer; i++) \
            inlay_##name##_axis(p, (T *)inlay_at(base, s, 0) + (ptrdiff_t)i * p->n_out * p->inner, \
                                (const T *)inlay_at(base, s, 1) + \
                                    (ptrdiff_t)i * p->n_in * p->inner, \
                                index, weight, p->inner, p->inner); \
        for (i = r0; p->along != INLAY_ALONG_ANY && i < r1; i++) { \
            const int32_t r = s->backward ? r0 + r1 - 1 - i : i; \
            if (p->along == INLAY_ALONG_ROWS) \
                inlay_##name##_row(base, s, r, index, weight); \
            else \
                inlay_##name##_axis( \
                    p, (T *)inlay_row(base, s, 0, r), (const T *)inlay_row(base, s, 1, r), \
                    index + (ptrdiff_t)p->column * p->taps, \
                    weight + (ptrdiff_t)p->column * (p->taps + 1), s->ref[0].pix, s->ref[1].pix); \
        } \
        return 0; \
    }

INLAY_RESAMPLE(resample_f32, float)
INLAY_RESAMPLE(resample_f64, double)

#endif
