/* SPDX-License-Identifier: 0BSD
 * One elementwise kernel of one operand, y[i] = INLAY_FORMULA. Before it is included:
 *
 *   INLAY_NAME      the name of the kernel's function
 *   INLAY_FORMULA   in terms of x, and of the numbers p->a and p->b
 *   INLAY_VECTOR    the same of vectors of floats; without it the compiler makes what it can
 *   INLAY_SOME      makes the first of n elements of y from x and returns how many; without it none
 *   INLAY_T         the type of x
 *   INLAY_Y         the type of y, where it is another one */
#ifndef INLAY_Y
#define INLAY_Y INLAY_T
#endif
#ifndef INLAY_SOME
#define INLAY_SOME 0
#endif

#if defined INLAY_VECTOR && INLAY_SINGLE && INLAY_VL > 1
static inline void INLAY_JOIN(INLAY_NAME, _n)(void *y, const void *source,
                                              int32_t n,
                                              const inlay_flat_params *p)
{
    const float *from = (const float *)source;
    float *to = (float *)y;
    const float *const end = from + n / INLAY_VL * INLAY_VL;
    for (; from < end; from += INLAY_VL, to += INLAY_VL) {
        const inlay_vf x = INLAY_V(load)(from);
        INLAY_V(store)(to, INLAY_VECTOR);
    }
    n %= INLAY_VL;
    if (n) {
        const inlay_vf x = inlay_take_v(from, n);
        inlay_put_v(to, INLAY_VECTOR, n);
    }
    (void)p;
}
#else
#define INLAY_LOOP INLAY_JOIN(INLAY_NAME, _loop)
#define INLAY_ARGUMENTS const INLAY_T *source, const inlay_flat_params *p
#define INLAY_LET \
    const INLAY_T x = source[i]; \
    (void)p
#include "map.inc.h"

static inline void INLAY_JOIN(INLAY_NAME, _n)(void *y, const void *x, int32_t n,
                                              const inlay_flat_params *p)
{
    const int32_t done = INLAY_SOME;
    INLAY_Y *to = (INLAY_Y *)y + done;
    const INLAY_T *from = (const INLAY_T *)x + done;
    INLAY_JOIN(INLAY_NAME, _loop)(to, n - done, from, p);
}
#endif

static inline int INLAY_NAME(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1)
{
    return inlay_flat(base, s, r0, r1, sizeof(INLAY_Y), sizeof(INLAY_T),
                      INLAY_JOIN(INLAY_NAME, _n));
}

#undef INLAY_NAME
#undef INLAY_FORMULA
#undef INLAY_VECTOR
#undef INLAY_SOME
#undef INLAY_Y
