/* SPDX-License-Identifier: 0BSD
 * One elementwise kernel of one operand, y[i] = INLAY_FORMULA. Before it is included:
 *
 *   INLAY_NAME      the name of the kernel's function
 *   INLAY_FORMULA   in terms of x, and of the numbers p->a and p->b
 *   INLAY_T         the type of x
 *   INLAY_Y         the type of y, where it is another one */
#ifndef INLAY_Y
#define INLAY_Y INLAY_T
#endif

#define INLAY_LOOP INLAY_JOIN(INLAY_NAME, _loop)
#define INLAY_ARGUMENTS const INLAY_T *source, const inlay_flat_params *p
#define INLAY_LET \
    const INLAY_T x = source[i]; \
    (void)p
#include "map.inc.h"

static inline void INLAY_JOIN(INLAY_NAME, _n)(void *y, const void *x, int32_t n,
                                              const inlay_flat_params *p)
{
    INLAY_JOIN(INLAY_NAME, _loop)((INLAY_Y *)y, n, (const INLAY_T *)x, p);
}

static inline int INLAY_NAME(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1)
{
    return inlay_flat(base, s, r0, r1, sizeof(INLAY_Y), sizeof(INLAY_T),
                      INLAY_JOIN(INLAY_NAME, _n));
}

#undef INLAY_NAME
#undef INLAY_FORMULA
#undef INLAY_Y
