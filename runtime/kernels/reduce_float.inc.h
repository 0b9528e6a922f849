/* SPDX-License-Identifier: 0BSD
 * Reductions of floating-point numbers. Included by reduce.h. */

INLAY_INLINE INLAY_T inlay_typed(reduce_start)(const int op)
{
    switch (op) {
    case INLAY_REDUCE_PROD:
        return 1;
    case INLAY_REDUCE_MAX:
        return -(INLAY_T)INFINITY;
    case INLAY_REDUCE_MIN:
        return (INLAY_T)INFINITY;
    default:
        return 0;
    }
}

/* Two of the same kind; NaN stays. */
INLAY_INLINE INLAY_T inlay_typed(reduce_join)(INLAY_T a, INLAY_T b,
                                              const int op)
{
    switch (op) {
    case INLAY_REDUCE_PROD:
        return a * b;
    case INLAY_REDUCE_MAX:
        return ((b > a) | (b != b)) ? b : a;
    case INLAY_REDUCE_MIN:
        return ((b < a) | (b != b)) ? b : a;
    default:
        return a + b;
    }
}

INLAY_INLINE INLAY_T inlay_typed(reduce_take)(INLAY_T a, INLAY_T x,
                                              const int op)
{
    switch (op) {
    case INLAY_REDUCE_L1:
        return a + INLAY_F(fabs)(x);
    case INLAY_REDUCE_L2:
    case INLAY_REDUCE_SUM_SQUARE:
        return a + x * x;
    default:
        return inlay_typed(reduce_join)(a, x, op);
    }
}

INLAY_INLINE INLAY_T inlay_typed(reduce_finish)(INLAY_T a, int32_t count,
                                                const int op)
{
    switch (op) {
    case INLAY_REDUCE_MEAN:
        return a / (INLAY_T)count;
    case INLAY_REDUCE_L2:
        return INLAY_F(sqrt)(a);
    case INLAY_REDUCE_LOG_SUM:
        return INLAY_F(log)(a);
    default:
        return a;
    }
}

#define INLAY_A INLAY_T
#define INLAY_R(name) inlay_typed(reduce_##name)
#if INLAY_SINGLE && INLAY_VL > 1
#define INLAY_EXTREMES
#endif
#include "reduce_walk.inc.h"
#undef INLAY_EXTREMES

/* log(sum of e^x) in double. */
INLAY_INLINE double inlay_typed(log_sum_start)(const int op)
{
    (void)op;
    return -(double)INFINITY;
}

INLAY_INLINE double inlay_typed(log_sum_join)(double a, double b, const int op)
{
    (void)op;
    return inlay_log_add(a, b);
}

INLAY_INLINE double inlay_typed(log_sum_take)(double a, double x, const int op)
{
    (void)op;
    return inlay_log_add(a, x);
}

INLAY_INLINE double inlay_typed(log_sum_finish)(double a, int32_t count,
                                                const int op)
{
    (void)count;
    (void)op;
    return a;
}

#define INLAY_A double
#define INLAY_R(name) inlay_typed(log_sum_##name)
#include "reduce_walk.inc.h"
#include "reduce_sums.inc.h"

static inline int inlay_typed(reduce_l2)(void *const *base, const inlay_step *s,
                                         int32_t r0, int32_t r1)
{
    return inlay_typed(reduce_reduce)(base, s, r0, r1, INLAY_REDUCE_L2);
}

static inline int inlay_typed(reduce_log_sum)(void *const *base,
                                              const inlay_step *s, int32_t r0,
                                              int32_t r1)
{
    return inlay_typed(reduce_reduce)(base, s, r0, r1, INLAY_REDUCE_LOG_SUM);
}

static inline int inlay_typed(reduce_max)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    return inlay_typed(reduce_reduce)(base, s, r0, r1, INLAY_REDUCE_MAX);
}

static inline int inlay_typed(reduce_min)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    return inlay_typed(reduce_reduce)(base, s, r0, r1, INLAY_REDUCE_MIN);
}

static inline int inlay_typed(reduce_log_sum_exp)(void *const *base,
                                                  const inlay_step *s,
                                                  int32_t r0, int32_t r1)
{
    return inlay_typed(log_sum_reduce)(base, s, r0, r1,
                                       INLAY_REDUCE_LOG_SUM_EXP);
}
