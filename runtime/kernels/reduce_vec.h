/* SPDX-License-Identifier: 0BSD
 * Reductions of float in vectors of the machine's width: INLAY_LANES accumulators side by side, as
 * reduce_walk.inc.h has them, and to the same bits. */
#ifndef INLAY_REDUCE_VEC_H
#define INLAY_REDUCE_VEC_H

#include "kernels/libm.h"
#include "kernels/math_vec.h"

/* What is reduced to. */
enum {
    INLAY_REDUCE_SUM,
    INLAY_REDUCE_MEAN,
    INLAY_REDUCE_PROD,
    INLAY_REDUCE_L1,
    INLAY_REDUCE_L2,
    INLAY_REDUCE_SUM_SQUARE,
    INLAY_REDUCE_LOG_SUM,
    INLAY_REDUCE_LOG_SUM_EXP,
    INLAY_REDUCE_MAX,
    INLAY_REDUCE_MIN
};

enum {
    INLAY_LANES = 16,
    INLAY_LANES_VECTORS = INLAY_LANES / INLAY_VL /* of all accumulators */
};

#if INLAY_VL > 1

/* ---- largest and smallest ---- */

/* acc[j] takes x[j] for INLAY_LANES of them, if that is larger, or smaller: compilers make no
 * vectors of it. NaN stays. */
INLAY_INLINE void inlay_extremes(float *acc, const float *x, const int op)
{
    int32_t j;
    INLAY_UNROLL
    for (j = 0; j < INLAY_LANES; j += INLAY_VL) {
        const inlay_vf a = INLAY_V(load)(acc + j);
        const inlay_vf b = INLAY_V(load)(x + j);
        const inlay_vi is_beyond = op == INLAY_REDUCE_MAX ? b > a : b < a;
        INLAY_V(store)(acc + j, inlay_pick_v(is_beyond | (b != b), b, a));
    }
}

/* ---- sums and products ---- */

/* a takes x; of extremes, where neither is NaN. */
INLAY_INLINE inlay_vf inlay_reduce_take_v(inlay_vf a, inlay_vf x, const int op)
{
    switch (op) {
    case INLAY_REDUCE_MAX:
        return INLAY_V(max)(x, a);
    case INLAY_REDUCE_MIN:
        return INLAY_V(min)(x, a);
    case INLAY_REDUCE_PROD:
        return a * x;
    case INLAY_REDUCE_L1:
        return a + inlay_fabs_v(x);
    case INLAY_REDUCE_L2:
    case INLAY_REDUCE_SUM_SQUARE:
        return a + x * x;
    default:
        return a + x;
    }
}

INLAY_INLINE inlay_f4 inlay_reduce_join4(inlay_f4 a, inlay_f4 b, const int op)
{
    return op == INLAY_REDUCE_PROD ? a * b : a + b;
}

/* INLAY_LANES accumulators become four: each half is joined to the other. */
INLAY_INLINE inlay_f4 inlay_reduce_quarters(const float *acc, const int op)
{
    inlay_f4 part[4];
    int32_t j;
    INLAY_UNROLL
    for (j = 0; j < 4; j++)
        part[j] = inlay_load4(acc + 4 * j);
    part[0] = inlay_reduce_join4(part[0], part[2], op);
    part[1] = inlay_reduce_join4(part[1], part[3], op);
    return inlay_reduce_join4(part[0], part[1], op);
}

/* What INLAY_LANES accumulators come to. */
INLAY_INLINE float inlay_reduce_halves(const float *acc, const int op)
{
    const inlay_f4 all = inlay_reduce_quarters(acc, op);
    if (op == INLAY_REDUCE_PROD)
        return all[0] * all[2] * (all[1] * all[3]);
    return all[0] + all[2] + (all[1] + all[3]);
}

/* All accumulators, which begin with `first`, take a line of n elements. Returns the lanes in which
 * an extreme passed over a NaN. */
INLAY_INLINE inlay_vi inlay_reduce_lanes(inlay_vf *acc, float first,
                                         const float *x, int32_t n,
                                         const int op)
{
    inlay_vi odd = { 0 };
    int32_t v;
    INLAY_UNROLL
    for (v = 0; v < INLAY_LANES_VECTORS; v++)
        acc[v] = inlay_all(first);
    for (; n >= INLAY_LANES; n -= INLAY_LANES, x += INLAY_LANES) {
        INLAY_UNROLL
        for (v = 0; v < INLAY_LANES_VECTORS; v++) {
            const inlay_vf some = INLAY_V(load)(x + v * INLAY_VL);
            acc[v] = inlay_reduce_take_v(acc[v], some, op);
            odd |= some != some;
        }
    }
    INLAY_UNROLL
    for (v = 0; v < INLAY_LANES_VECTORS; v++) {
        const int32_t left = n - v * INLAY_VL;
        if (left > 0) {
            const float *from = x + v * INLAY_VL;
            const inlay_vf some = inlay_take_or_v(from, left, first);
            acc[v] = inlay_reduce_take_v(acc[v], some, op);
            odd |= some != some;
        }
    }
    return odd;
}

/* What all lanes of all accumulators come to, none of which is NaN. */
INLAY_INLINE float inlay_extreme_of(const inlay_vf *best, const int op)
{
    inlay_vf all = best[0];
    int32_t v;
    INLAY_UNROLL
    for (v = 1; v < INLAY_LANES_VECTORS; v++)
        all = inlay_reduce_take_v(all, best[v], op);
    return op == INLAY_REDUCE_MAX ? inlay_largest_v(all)
                                  : -inlay_largest_v(-all);
}

/* The extreme of a line of n elements; NaN where there is one. */
INLAY_INLINE float inlay_extreme_of_line(const float *x, int32_t n,
                                         const int op)
{
    const float first = op == INLAY_REDUCE_MAX ? -INFINITY : INFINITY;
    inlay_vf best[INLAY_LANES_VECTORS];
    const inlay_vi odd = inlay_reduce_lanes(best, first, x, n, op);
    return inlay_any_lane(odd) ? NAN : inlay_extreme_of(best, op);
}

/* What a line of n elements comes to. */
INLAY_INLINE float inlay_reduce_line(const float *x, int32_t n, const int op)
{
    const float first = op == INLAY_REDUCE_PROD ? 1.0f : 0.0f;
    inlay_vf sum[INLAY_LANES_VECTORS];
    float acc[INLAY_LANES];
    int32_t v;
    (void)inlay_reduce_lanes(sum, first, x, n, op);
    INLAY_UNROLL
    for (v = 0; v < INLAY_LANES_VECTORS; v++)
        INLAY_V(store)(acc + v * INLAY_VL, sum[v]);
    return inlay_reduce_halves(acc, op);
}

#endif
#endif
