/* SPDX-License-Identifier: 0BSD
 * Reductions over any set of axes, and the place of the largest or smallest.
 *
 *   y[k...] = finish(join over r... of x[sum k stride_k + sum r stride_r])
 *
 * x's innermost dimension is either kept (a tile of columns is accumulated at once) or reduced (16
 * accumulators along the line). Sums are taken in chunks that are added up in turn, so that errors
 * grow with the number of chunks, not of elements. */
#ifndef INLAY_REDUCE_H
#define INLAY_REDUCE_H

#include <float.h>
#include <stddef.h>

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/libm.h"
#include "kernels/vec.h"
#include "reduce_vec.h"

/* Loops within a row. */
typedef struct inlay_reduce_params {
    int32_t kept;    /* kept loops, outermost first, >= 1 */
    int32_t reduced; /* reduced loops, outermost first, >= 1 */
    /* 1: the innermost kept loop is contiguous in x; 0: the innermost reduced one */
    int32_t columns;
    int32_t count; /* elements of x for each of y */
    /* 1: the axes are operand 2 (int64); nk holds x's dims, nr y's dims other than 1 */
    int32_t values;
    int32_t axes;  /* entries of operand 2 */
    int32_t none;  /* 1: no axes means none, not all */
    int32_t nk[8]; /* sizes of the kept loops */
    int32_t sk[8]; /* their strides in x, elements */
    int32_t nr[8]; /* sizes of the reduced loops */
    int32_t sr[8]; /* their strides in x, elements */
} inlay_reduce_params;

enum {
    INLAY_CHUNK = 64, /* steps of an accumulator before it goes to the total */
    /* columns whose largest numbers are found at once: more than one only in vectors */
    INLAY_ARG_COLUMNS = INLAY_VL > 1 ? INLAY_LANES : 1
};

/* Next index of `loops` loops; moves the offset. 0 at the end. */
static inline int inlay_walk(int32_t *at, const int32_t *n,
                             const int32_t *stride, int32_t loops,
                             ptrdiff_t *offset)
{
    int32_t d;
    for (d = loops - 1; d >= 0; d--) {
        *offset += stride[d];
        if (++at[d] < n[d])
            return 1;
        *offset -= (ptrdiff_t)stride[d] * n[d];
        at[d] = 0;
    }
    return 0;
}

static inline void inlay_add_loop(int32_t *loops, int32_t *n, int32_t *stride,
                                  int32_t size, int32_t step)
{
    n[*loops] = size;
    stride[(*loops)++] = step;
}

/* A bit for each axis that is reduced, in *gone; 0 where one is outside. */
static inline int inlay_reduce_axes(const inlay_reduce_params *p,
                                    const int64_t *axes, unsigned *gone)
{
    int32_t i;
    *gone = p->axes || p->none ? 0 : ~0u;
    for (i = 0; i < p->axes; i++) {
        const int64_t axis = axes[i] < 0 ? axes[i] + p->kept : axes[i];
        if (axis < 0 || axis >= p->kept)
            return 0;
        *gone |= 1u << axis;
    }
    return 1;
}

/* Elements of x from one index of an axis to the next. */
static inline void inlay_reduce_strides(const inlay_reduce_params *p,
                                        int32_t *strides)
{
    int32_t step = 1;
    int32_t i;
    for (i = p->kept - 1; i >= 0; i--) {
        strides[i] = step;
        step *= p->nk[i];
    }
}

/* Are the axes of x that are kept, those whose bit in `gone` is not set, the dims of y? */
static inline int inlay_reduce_fits(const inlay_reduce_params *p, unsigned gone)
{
    int32_t kept = 0;
    int32_t i;
    for (i = 0; i < p->kept; i++) {
        const int32_t size = p->nk[i];
        if (gone >> i & 1 || size == 1)
            continue;
        if (kept >= p->reduced || p->nr[kept] != size)
            return 0;
        kept++;
    }
    return kept == p->reduced;
}

/* Loops for axes that are values: `made` gets what the compiler else writes. 0 where y's dims would
 * be others. */
INLAY_APART int inlay_reduce_values(const inlay_reduce_params *p,
                                    const int64_t *axes,
                                    inlay_reduce_params *made)
{
    int32_t strides[8];
    int32_t i;
    unsigned gone;
    if (!inlay_reduce_axes(p, axes, &gone) || !inlay_reduce_fits(p, gone))
        return 0;
    inlay_reduce_strides(p, strides);
    memset(made, 0, sizeof *made);
    made->count = 1;
    for (i = 0; i < p->kept; i++) {
        const int32_t size = p->nk[i];
        const int reduced = gone >> i & 1;
        made->columns = !reduced;
        if (!reduced) {
            inlay_add_loop(&made->kept, made->nk, made->sk, size, strides[i]);
            continue;
        }
        made->count *= size;
        inlay_add_loop(&made->reduced, made->nr, made->sr, size, strides[i]);
    }
    if (!made->kept)
        inlay_add_loop(&made->kept, made->nk, made->sk, 1, 0);
    if (!made->reduced)
        inlay_add_loop(&made->reduced, made->nr, made->sr, 1, 0);
    return 1;
}

/* The parameters as they are, or, where axes are values, as those make them; NULL: y's dims would
 * be others. */
static inline const inlay_reduce_params *
inlay_reduce_loops(void *const *base, const inlay_step *s,
                   inlay_reduce_params *made)
{
    const inlay_reduce_params *p = (const inlay_reduce_params *)s->params;
    const int64_t *axes;
    if (!p->values)
        return p;
    axes = (const int64_t *)inlay_at(base, s, 2);
    return inlay_reduce_values(p, axes, made) ? made : NULL;
}

/* A row of y [outer][inner] = the index along n of the largest (or smallest) of a row of x
 * [outer][n][inner]. */
typedef struct inlay_arg_params {
    int32_t outer;
    int32_t n;
    int32_t inner;
    int32_t last; /* 1: of equals the last, 0: the first */
} inlay_arg_params;

/* log(e^a + e^b): where the axes are values the maximum of all cannot be taken off beforehand. */
static inline double inlay_log_add(double a, double b)
{
    const double high = a > b ? a : b;
    const double low = a > b ? b : a;
    if (a != a || b != b)
        return a + b;
    return low < -DBL_MAX || high > DBL_MAX ? high
                                            : high + log1p(exp(low - high));
}

#if INLAY_VL > 1
/* The best of INLAY_LANES numbers each, and their places, take x, which is at place i, or, `along`
 * being 1, from place i on. */
INLAY_INLINE void inlay_arg_lanes(float *best, int32_t *at, const float *x,
                                  int32_t i, const int along, int last,
                                  const int largest)
{
    static const int32_t order[INLAY_LANES] = { 0, 1, 2,  3,  4,  5,  6,  7,
                                                8, 9, 10, 11, 12, 13, 14, 15 };
    int32_t j;
    INLAY_UNROLL
    for (j = 0; j < INLAY_LANES; j += INLAY_VL) {
        const INLAY_V(f) had = INLAY_V(load)(best + j);
        const INLAY_V(f) v = INLAY_V(load)(x + j);
        INLAY_V(i) taken = largest ? v > had : v < had;
        INLAY_V(i) place, was;
        memcpy(&place, order + j, sizeof place);
        memcpy(&was, at + j, sizeof was);
        if (last)
            taken |= v == had;
        place = place * along + i;
        was = (taken & place) | (~taken & was);
        INLAY_V(store)(best + j, INLAY_V(select)(taken, v, had));
        memcpy(at + j, &was, sizeof was);
    }
}
#endif

#define INLAY_FAMILY "reduce_float.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#define INLAY_FAMILY "reduce_integer.inc.h"
#include "each_integer.inc.h"
#undef INLAY_FAMILY

#define INLAY_FAMILY "reduce_arg.inc.h"
#include "each_number.inc.h"
#undef INLAY_FAMILY

#endif
