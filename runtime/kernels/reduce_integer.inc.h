/* SPDX-License-Identifier: 0BSD
 * Reductions of integers: sums and products wrap around. Included by reduce.h. */

INLAY_INLINE INLAY_T inlay_typed(reduce_start)(const int op)
{
    const INLAY_WIDE ones =
        ~(INLAY_WIDE)0 >> (sizeof(INLAY_WIDE) * 8 - INLAY_BITS);
    const INLAY_T highest = (INLAY_T)(ones >> INLAY_SIGNED);
    switch (op) {
    case INLAY_REDUCE_PROD:
        return 1;
    case INLAY_REDUCE_MAX:
        return (INLAY_T)(INLAY_SIGNED ? -highest - 1 : 0);
    case INLAY_REDUCE_MIN:
        return highest;
    default:
        return 0;
    }
}

INLAY_INLINE INLAY_T inlay_typed(reduce_join)(INLAY_T a, INLAY_T b,
                                              const int op)
{
    switch (op) {
    case INLAY_REDUCE_PROD:
        return (INLAY_T)((INLAY_WIDE)a * (INLAY_WIDE)b);
    case INLAY_REDUCE_MAX:
        return b > a ? b : a;
    case INLAY_REDUCE_MIN:
        return b < a ? b : a;
    default:
        return (INLAY_T)((INLAY_WIDE)a + (INLAY_WIDE)b);
    }
}

INLAY_INLINE INLAY_T inlay_typed(reduce_take)(INLAY_T a, INLAY_T x,
                                              const int op)
{
    const INLAY_WIDE wide = (INLAY_WIDE)x;
    switch (op) {
    case INLAY_REDUCE_L1:
#if INLAY_SIGNED
        if (x < 0)
            return (INLAY_T)((INLAY_WIDE)a + (0 - wide));
#endif
        return (INLAY_T)((INLAY_WIDE)a + wide);
    case INLAY_REDUCE_SUM_SQUARE:
        return (INLAY_T)((INLAY_WIDE)a + wide * wide);
    default:
        return inlay_typed(reduce_join)(a, x, op);
    }
}

INLAY_INLINE INLAY_T inlay_typed(reduce_finish)(INLAY_T a, int32_t count,
                                                const int op)
{
    if (op != INLAY_REDUCE_MEAN)
        return a;
    return (INLAY_T)(count ? a / (INLAY_T)count : 0);
}

#define INLAY_A INLAY_T
#define INLAY_R(name) inlay_typed(reduce_##name)
#include "reduce_walk.inc.h"

#if INLAY_BITS >= 32
#include "reduce_sums.inc.h"
#endif

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
