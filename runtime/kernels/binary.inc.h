/* SPDX-License-Identifier: 0BSD
 * One elementwise kernel of two operands, y[i] = INLAY_FORMULA, broadcast. Before it is included:
 *
 *   INLAY_NAME      the name of the kernel's function
 *   INLAY_FORMULA   in terms of a and b
 *   INLAY_T         the type of a and b
 *   INLAY_Y         the type of y, where it is another one */
#ifndef INLAY_Y
#define INLAY_Y INLAY_T
#endif

/* each_a, each_b: 1, or 0 where all elements of y have the same a or b, one_a or one_b. */
#define INLAY_LOOP INLAY_JOIN(INLAY_NAME, _loop)
#define INLAY_ARGUMENTS \
    const INLAY_T *as, const INLAY_T *bs, int each_a, int each_b, \
        INLAY_T one_a, INLAY_T one_b
#define INLAY_LET \
    const INLAY_T a = each_a ? as[i] : one_a; \
    const INLAY_T b = each_b ? bs[i] : one_b
#include "map.inc.h"

static inline void INLAY_JOIN(INLAY_NAME, _n)(void *to, const void *from_a,
                                              const void *from_b, int32_t n,
                                              int32_t step_a, int32_t step_b)
{
    INLAY_Y *y = (INLAY_Y *)to;
    const INLAY_T *as = (const INLAY_T *)from_a;
    const INLAY_T *bs = (const INLAY_T *)from_b;
    int32_t i;
    if (step_a == 1 && step_b == 1) {
        INLAY_JOIN(INLAY_NAME, _loop)(y, n, as, bs, 1, 1, 0, 0);
    } else if (step_a == 1 && step_b == 0) {
        INLAY_JOIN(INLAY_NAME, _loop)(y, n, as, bs, 1, 0, 0, *bs);
    } else if (step_a == 0 && step_b == 1) {
        INLAY_JOIN(INLAY_NAME, _loop)(y, n, as, bs, 0, 1, *as, 0);
    } else {
        for (i = 0; i < n; i++) {
            const INLAY_T a = *as;
            const INLAY_T b = *bs;
            y[i] = (INLAY_Y)(INLAY_FORMULA);
            as += step_a;
            bs += step_b;
        }
    }
}

static inline int INLAY_NAME(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1)
{
    return inlay_nd2(base, s, r0, r1, sizeof(INLAY_Y), sizeof(INLAY_T),
                     INLAY_JOIN(INLAY_NAME, _n));
}

#undef INLAY_NAME
#undef INLAY_FORMULA
#undef INLAY_Y
