/* SPDX-License-Identifier: 0BSD
 * Resampling of an axis for one element type. Included by resize.h. */

#define INLAY_Y INLAY_T
#define INLAY_LOOP inlay_typed(resample_add)
#define INLAY_ARGUMENTS const INLAY_T *x, INLAY_T weight
#define INLAY_FORMULA y[i] + x[i] * weight
#include "map.inc.h"
#undef INLAY_FORMULA

#define INLAY_LOOP inlay_typed(resample_two)
#define INLAY_ARGUMENTS \
    const INLAY_T *a, const INLAY_T *b, INLAY_T weight_a, INLAY_T weight_b, \
        INLAY_T add
#define INLAY_FORMULA a[i] * weight_a + b[i] * weight_b + add
#include "map.inc.h"
#undef INLAY_FORMULA
#undef INLAY_Y

INLAY_INLINE const INLAY_T *
inlay_typed(resample_source)(inlay_resample_from from, int32_t i)
{
    const INLAY_T *x = (const INLAY_T *)from.x;
    if (x)
        return x + (i - from.first) * from.step;
    x = (const INLAY_T *)inlay_row(from.base, from.s, 1, from.first + i);
    return x + from.step;
}

/* y[inner] = sum over the taps of weight[t] times the elements at index[t], + weight[taps] */
INLAY_INLINE void inlay_typed(resample_element)(INLAY_T *y,
                                                inlay_resample_from from,
                                                const int32_t *index,
                                                const float *weight,
                                                int32_t taps, int32_t inner)
{
    const INLAY_T add = (INLAY_T)weight[taps];
    int32_t i, t;
    if (taps == 2) {
        const INLAY_T *a = inlay_typed(resample_source)(from, index[0]);
        const INLAY_T *b = inlay_typed(resample_source)(from, index[1]);
        const INLAY_T weight_a = (INLAY_T)weight[0];
        const INLAY_T weight_b = (INLAY_T)weight[1];
        inlay_typed(resample_two)(y, inner, a, b, weight_a, weight_b, add);
        return;
    }
    for (i = 0; i < inner; i++)
        y[i] = add;
    for (t = 0; t < taps; t++) {
        const INLAY_T *x = inlay_typed(resample_source)(from, index[t]);
        if (weight[t] != 0)
            inlay_typed(resample_add)(y, inner, x, (INLAY_T)weight[t]);
    }
}

#ifdef INLAY_RESAMPLE_SMALL
/* Between two pixels each of `inner` elements, a constant. */
INLAY_INLINE void
inlay_typed(resample_between)(const inlay_resample_params *p, INLAY_T *y,
                              const INLAY_T *x, const int32_t *index,
                              const float *weight, ptrdiff_t y_step,
                              ptrdiff_t x_step, const int inner)
{
    int32_t k, i;
    for (k = 0; k < p->n_out; k++) {
        const INLAY_T *a = x + (index[0] - p->origin) * x_step;
        const INLAY_T *b = x + (index[1] - p->origin) * x_step;
        const INLAY_T weight_a = (INLAY_T)weight[0];
        const INLAY_T weight_b = (INLAY_T)weight[1];
        const INLAY_T add = (INLAY_T)weight[2];
        INLAY_T pixel[INLAY_RESAMPLE_SMALL];
        INLAY_UNROLL
        for (i = 0; i < inner; i++)
            pixel[i] = a[i] * weight_a + b[i] * weight_b + add;
        INLAY_UNROLL
        for (i = 0; i < inner; i++)
            y[i] = pixel[i];
        y += y_step;
        index += 2;
        weight += 3;
    }
}

/* Pixels of few elements; 0: they are others. */
static inline int inlay_typed(resample_small)(const inlay_resample_params *p,
                                              INLAY_T *y, const INLAY_T *x,
                                              const int32_t *index,
                                              const float *weight,
                                              ptrdiff_t y_step,
                                              ptrdiff_t x_step)
{
    if (p->taps != 2)
        return 0;
    if (p->inner == 1)
        inlay_typed(resample_between)(p, y, x, index, weight, y_step, x_step,
                                      1);
    else if (p->inner == 3)
        inlay_typed(resample_between)(p, y, x, index, weight, y_step, x_step,
                                      3);
    else
        return 0;
    return 1;
}
#endif

/* The axis of x that lies in memory: elements of y and x are y_step and x_step apart. */
static inline void inlay_typed(resample_axis)(const inlay_resample_params *p,
                                              INLAY_T *y, const INLAY_T *x,
                                              const int32_t *index,
                                              const float *weight,
                                              ptrdiff_t y_step,
                                              ptrdiff_t x_step)
{
    const inlay_resample_from from = { NULL, NULL, x, p->origin, x_step };
    int32_t k;
#ifdef INLAY_RESAMPLE_SMALL
    if (inlay_typed(resample_small)(p, y, x, index, weight, y_step, x_step))
        return;
#endif
    for (k = 0; k < p->n_out; k++) {
        inlay_typed(resample_element)(y, from, index, weight, p->taps,
                                      p->inner);
        y += y_step;
        index += p->taps;
        weight += p->taps + 1;
    }
}

/* Row r of y from several rows of x. */
static inline void inlay_typed(resample_row)(void *const *base,
                                             const inlay_step *s, int32_t r,
                                             const int32_t *index,
                                             const float *weight)
{
    const inlay_resample_params *p = (const inlay_resample_params *)s->params;
    const ptrdiff_t o = r % p->n_out;
    const int32_t first = r / p->n_out * p->n_in;
    const int32_t y_pixel = s->ref[0].pix;
    const int32_t x_pixel = s->ref[1].pix;
    inlay_resample_from from = { base, s, NULL, first, 0 };
    INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, r);
    int32_t pieces = p->pixels;
    int32_t inner = p->inner;
    int32_t column = p->column - p->origin;
    if (y_pixel == inner && x_pixel == inner) {
        inner *= pieces;
        pieces = 1;
    }
    index += o * p->taps;
    weight += o * (p->taps + 1);
    for (; pieces > 0; pieces--) {
        from.step = (ptrdiff_t)column * x_pixel;
        inlay_typed(resample_element)(y, from, index, weight, p->taps, inner);
        column++;
        y += y_pixel;
    }
}

/* Row r of y from the same row of x. */
static inline void inlay_typed(resample_pixels)(void *const *base,
                                                const inlay_step *s, int32_t r,
                                                const int32_t *index,
                                                const float *weight)
{
    const inlay_resample_params *p = (const inlay_resample_params *)s->params;
    const ptrdiff_t column = p->column;
    const ptrdiff_t y_step = s->ref[0].pix;
    const ptrdiff_t x_step = s->ref[1].pix;
    INLAY_T *y = (INLAY_T *)inlay_row(base, s, 0, r);
    const INLAY_T *x = (const INLAY_T *)inlay_row(base, s, 1, r);
    index += column * p->taps;
    weight += column * (p->taps + 1);
    inlay_typed(resample_axis)(p, y, x, index, weight, y_step, x_step);
}

/* All of y. */
static inline void inlay_typed(resample_any)(void *const *base,
                                             const inlay_step *s,
                                             const int32_t *index,
                                             const float *weight)
{
    const inlay_resample_params *p = (const inlay_resample_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    int32_t i;
    for (i = 0; i < p->outer; i++) {
        inlay_typed(resample_axis)(p, y, x, index, weight, p->inner, p->inner);
        y += (ptrdiff_t)p->n_out * p->inner;
        x += (ptrdiff_t)p->n_in * p->inner;
    }
}

static inline int inlay_typed(resample)(void *const *base, const inlay_step *s,
                                        int32_t r0, int32_t r1)
{
    const inlay_resample_params *p = (const inlay_resample_params *)s->params;
    const int32_t *index = (const int32_t *)inlay_at(base, s, 2);
    const float *weight = (const float *)inlay_at(base, s, 3);
    int32_t i;
    if (p->along == INLAY_ALONG_ANY) {
        inlay_typed(resample_any)(base, s, index, weight);
        return 0;
    }
    for (i = r0; i < r1; i++) {
        const int32_t r = s->backward ? r0 + r1 - 1 - i : i;
        if (p->along == INLAY_ALONG_ROWS)
            inlay_typed(resample_row)(base, s, r, index, weight);
        else
            inlay_typed(resample_pixels)(base, s, r, index, weight);
    }
    return 0;
}
