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

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/libm.h"
#include "nd.h"

enum { INLAY_NEAREST, INLAY_LINEAR, INLAY_CUBIC };
enum {
    INLAY_HALF_PIXEL,
    INLAY_HALF_PIXEL_SYMMETRIC,
    INLAY_PYTORCH_HALF_PIXEL,
    INLAY_ASYMMETRIC,
    INLAY_ALIGN_CORNERS,
    INLAY_TF_HALF_PIXEL,
    INLAY_TF_CROP,
    INLAY_ALIGN_LENGTHS /* as ALIGN_CORNERS, by the whole length of the result */
};
enum {
    INLAY_PREFER_FLOOR,
    INLAY_PREFER_CEIL,
    INLAY_FLOOR,
    INLAY_CEIL,
    INLAY_BY_SCALE /* Upsample, and Resize of opset 10: up where the axis shrinks, else down */
};

typedef struct inlay_resize_table_params {
    int32_t n_in;       /* size of the axis in the source ... */
    int32_t n_out;      /* ... and in the result */
    int32_t mode;       /* INLAY_NEAREST ... */
    int32_t coordinate; /* INLAY_HALF_PIXEL ... */
    int32_t nearest;    /* INLAY_PREFER_FLOOR ... */
    int32_t exclude;    /* 1: taps outside weigh nothing, the others more */
    int32_t antialias;  /* 1: the filter is widened where the axis shrinks */
    int32_t taps;       /* entries of the tables for each element */
    int32_t stride;     /* factor of the indices in the table */
    int32_t first;      /* entry of the index table where this axis begins */
    int32_t entry;      /* of this axis in scales or sizes */
    int32_t entries;    /* of scales or sizes */
    /* sizes: 0 as they are, 1 the smallest ratio for all, 2 the largest */
    int32_t policy;
    int32_t dims[8];      /* sizes of the source for each entry */
    double cubic;         /* coefficient a of the cubic filter */
    double extrapolation; /* value outside the region (INLAY_TF_CROP) */
    double roi_start;     /* region, as parts of the axis */
    double roi_end;
} inlay_resize_table_params;

/* Nearest neighbours are found in float32, as frameworks do: 3 / 0.6f is 5 then, and 4.9999998 in
 * float64, which falls on another element. */
static inline double inlay_resize_round(const inlay_resize_table_params *p,
                                        double x)
{
    return p->mode == INLAY_NEAREST ? (double)(float)x : x;
}

/* Element i of the result where a region is resized: float32 throughout, as in ONNX Runtime, since
 * places fall on halves and on the edges of the image. */
static inline double inlay_resize_crop(const inlay_resize_table_params *p,
                                       double scale, double start, double end,
                                       int32_t i)
{
    const float first = (float)start;
    const float span = (float)end - first;
    const float in = (float)(p->n_in - 1);
    const float out = (float)(scale * p->n_in) - 1.0f;
    const float begin = first * in;
    const float all = (float)i * span * in;
    if (p->n_out == 1)
        return 0.5 * (double)(first + (float)end) * (double)in;
    return (double)(begin + all / out);
}

/* So far the middle of the source lies from that of the part which whole elements of the result
 * cover. */
static inline double inlay_resize_offset(const inlay_resize_table_params *p,
                                         double scale)
{
    const double in = p->n_in;
    const double out = inlay_resize_round(p, inlay_resize_round(p, scale) * in);
    const double part = inlay_resize_round(p, p->n_out / out);
    return inlay_resize_round(p, in / 2.0 * inlay_resize_round(p, 1.0 - part));
}

/* The place in the source of element i of the result. */
static inline double inlay_resize_place(const inlay_resize_table_params *p,
                                        double scale, double start, double end,
                                        int32_t i)
{
    const double x = i;
    const double in = p->n_in;
    const double whole = p->n_out;
    const double out =
        p->coordinate == INLAY_ALIGN_LENGTHS ? whole : scale * in;
    const double exact = (x + 0.5) / inlay_resize_round(p, scale);
    const double at = inlay_resize_round(p, exact);
    switch (p->coordinate) {
    case INLAY_ASYMMETRIC:
        return inlay_resize_round(p, x / inlay_resize_round(p, scale));
    case INLAY_ALIGN_CORNERS:
    case INLAY_ALIGN_LENGTHS:
        return p->n_out == 1 || out <= 1.0
                   ? 0.0
                   : inlay_resize_round(p, x * (in - 1.0) / (out - 1.0));
    case INLAY_PYTORCH_HALF_PIXEL:
        return p->n_out == 1 ? 0.0 : at - 0.5;
    case INLAY_TF_HALF_PIXEL:
        return at;
    case INLAY_HALF_PIXEL_SYMMETRIC:
        return inlay_resize_round(p,
                                  inlay_resize_offset(p, scale) + exact - 0.5);
    case INLAY_TF_CROP:
        return inlay_resize_crop(p, scale, start, end, i);
    default:
        return inlay_resize_round(p, at - 0.5);
    }
}

static inline double inlay_resize_filter(const inlay_resize_table_params *p,
                                         double x)
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
static inline int32_t inlay_resize_taps(int32_t mode, int32_t antialias,
                                        double scale)
{
    const double reach = mode == INLAY_CUBIC ? 2.0 : 1.0;
    if (mode == INLAY_NEAREST)
        return 1;
    if (!antialias || scale >= 1.0)
        return (int32_t)(2.0 * reach);
    return 2 - 2 * inlay_resize_int(floor(-reach / scale) + 1.0);
}

static inline int32_t inlay_resize_nearest(const inlay_resize_table_params *p,
                                           double scale, double place)
{
    const double low = floor(place);
    const double part = place - low;
    int up = 0; /* INLAY_FLOOR */
    if (p->nearest == INLAY_CEIL ||
        (p->nearest == INLAY_BY_SCALE && scale < 1.0))
        up = part > 0;
    else if (p->nearest == INLAY_PREFER_CEIL)
        up = part >= 0.5;
    else if (p->nearest == INLAY_PREFER_FLOOR)
        up = part > 0.5;
    return inlay_resize_int(low) + up;
}

static inline int32_t inlay_resize_clip(int32_t i, int32_t n)
{
    if (i < 0)
        return 0;
    return i < n ? i : n - 1;
}

/* Weight of the tap at element `at` of the source, `distance` from the place; 0: it counts for
 * nothing. */
static inline double inlay_resize_weight(const inlay_resize_table_params *p,
                                         int32_t at, double distance)
{
    if (p->exclude && (at < 0 || at >= p->n_in))
        return 0.0;
    return inlay_resize_filter(p, distance);
}

/* Entry of one element whose nearest neighbour is taken. */
static inline void inlay_resize_one(const inlay_resize_table_params *p,
                                    double scale, double place, int32_t *index,
                                    float *weight)
{
    const int32_t at = inlay_resize_nearest(p, scale, place);
    *index = inlay_resize_clip(at, p->n_in) * p->stride;
    if (weight)
        *weight = 1.0f;
}

/* Weights that come to 1, where `sum` is what they come to. */
static inline void inlay_resize_normalize(float *weight, int32_t taps,
                                          double sum)
{
    int32_t t;
    for (t = 0; t < taps; t++)
        weight[t] = (float)((double)weight[t] / sum);
}

/* Entries of one element: index[taps], weight[taps + 1] (NULL: no weights). */
static inline void inlay_resize_element(const inlay_resize_table_params *p,
                                        double scale, double place,
                                        int32_t *index, float *weight)
{
    const int32_t used = inlay_resize_taps(p->mode, p->antialias, scale);
    const double shrink = p->antialias && scale < 1.0 ? scale : 1.0;
    const double low = ceil(place) - 1.0;
    const double part = place - low;
    double sum = 0.0;
    int32_t t;
    if (p->mode == INLAY_NEAREST) {
        inlay_resize_one(p, scale, place, index, weight);
        return;
    }
    for (t = 0; t < p->taps; t++) {
        const int32_t off = t + 1 - used / 2;
        const int32_t at = inlay_resize_int(low) + off;
        const double distance = (off - part) * shrink;
        const double w = t < used ? inlay_resize_weight(p, at, distance) : 0.0;
        index[t] = inlay_resize_clip(at, p->n_in) * p->stride;
        weight[t] = (float)w;
        sum += w;
    }
    if (p->exclude || p->antialias)
        inlay_resize_normalize(weight, p->taps, sum);
}

/* The tables of an axis: index [n_out][taps], weight [n_out][taps + 1], the last the value that is
 * added. */
static inline void inlay_resize_axis(const inlay_resize_table_params *p,
                                     double scale, double start, double end,
                                     int32_t *index, float *weight)
{
    int32_t i, t;
    for (i = 0; i < p->n_out;
         i++, index += p->taps, weight = weight ? weight + p->taps + 1 : NULL) {
        const double place = inlay_resize_place(p, scale, start, end, i);
        inlay_resize_element(p, scale, place, index, weight);
        if (!weight)
            continue;
        weight[p->taps] = 0.0f;
        if (p->coordinate != INLAY_TF_CROP ||
            (place >= 0 && place <= p->n_in - 1))
            continue;
        for (t = 0; t < p->taps; t++)
            weight[t] = 0.0f;
        weight[p->taps] = (float)p->extrapolation;
    }
}

/* The scale that scales or sizes ask for: that of the axis, or by `policy` one for all axes. */
static inline double inlay_resize_scale(const inlay_resize_table_params *p,
                                        const float *scales,
                                        const int64_t *sizes)
{
    double scale = (double)p->n_out / p->n_in;
    int32_t i;
    if (scales)
        scale = (double)scales[p->entry];
    for (i = 0; sizes && p->policy && i < p->entries; i++) {
        const double ratio = (double)sizes[i] / p->dims[i];
        if (i == 0 || (p->policy == 1 ? ratio < scale : ratio > scale))
            scale = ratio;
    }
    return scale;
}

/* Do scales or sizes make the result that was compiled? */
static inline int inlay_resize_fits(const inlay_resize_table_params *p,
                                    double scale, const float *scales,
                                    const int64_t *sizes)
{
    const double n = scale * p->n_in;
    if (scales && floor(n) != (double)p->n_out &&
        floor((double)(float)n) != (double)p->n_out)
        return 0;
    if (sizes && p->policy && floor(n + 0.5) != (double)p->n_out)
        return 0;
    if (sizes && !p->policy && sizes[p->entry] != p->n_out)
        return 0;
    return inlay_resize_taps(p->mode, p->antialias, scale) <= p->taps;
}

/* Operands: index (int32), weight (float, may be left out); scales (float) or NULL, sizes (int64)
 * or NULL, roi (float) or NULL. */
static inline int inlay_resize_table(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_resize_table_params *p =
        (const inlay_resize_table_params *)s->params;
    int32_t *index = (int32_t *)inlay_at(base, s, 0) + p->first;
    float *weight = (float *)inlay_at(base, s, 1);
    const float *scales = (const float *)inlay_at(base, s, 2);
    const int64_t *sizes = (const int64_t *)inlay_at(base, s, 3);
    const float *roi = (const float *)inlay_at(base, s, 4);
    const double start = roi ? (double)roi[p->entry] : p->roi_start;
    const double end = roi ? (double)roi[p->entries + p->entry] : p->roi_end;
    const double scale = inlay_resize_scale(p, scales, sizes);
    (void)r0;
    (void)r1;
    if (!inlay_resize_fits(p, scale, scales, sizes))
        return -INLAY_E_SHAPE;
    inlay_resize_axis(p, scale, start, end, index, weight);
    return 0;
}

typedef struct inlay_resample_params {
    int32_t along; /* INLAY_ALONG_...: what a unit is */
    int32_t outer; /* ALONG_ANY: repetitions of the axis */
    int32_t n_in;  /* size of the axis in x ... */
    int32_t n_out; /* ... and in y */
    /* elements that move together; of a pixel where the image goes row by row */
    int32_t inner;
    int32_t pixels; /* ALONG_ROWS: pixels of a row */
    int32_t column; /* of the whole image, that y's rows begin with ... */
    int32_t origin; /* ... and that x's rows begin with */
    int32_t taps;
} inlay_resample_params;

enum {
    INLAY_ALONG_ANY, /* one unit: y [outer][n_out][inner] */
    INLAY_ALONG_ROWS, /* a row of an image from several rows: y [images * n_out] rows of
                          [pixels][inner] */
    INLAY_ALONG_PIXELS /* a row from the same row: [n_out][inner] from [n_in][inner] */
};

/* Where the elements of x come from: `step` apart from x on, from element `first`; or where x is
 * NULL, element `step` of rows from `first` on. */
typedef struct inlay_resample_from {
    void *const *base;
    const inlay_step *s;
    const void *x;
    int32_t first;
    ptrdiff_t step;
} inlay_resample_from;

/* Pixels of so few elements have loops of their own where there are vectors for all others. */
#if defined INLAY_BLOCK && !defined __ARM_FEATURE_MVE
#define INLAY_RESAMPLE_SMALL 3
#endif

#define INLAY_FAMILY "resize.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
