/* SPDX-License-Identifier: 0BSD
 * Contraction of two operands over any labels, determinant and inverse.
 *
 *   einsum    y[k...] = sum over r... of a[sum k ak + sum r ar] b[sum k bk + sum r br]
 *   det       y[b] = determinant of x[b][n][n]; scratch n n elements
 *   inverse   y[b][n][n] = inverse of x[b][n][n]; the same scratch */
#ifndef INLAY_EINSUM_H
#define INLAY_EINSUM_H

#include <float.h>

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/libm.h"

typedef struct inlay_einsum_params {
    int32_t kept;   /* loops of the result, outermost first, >= 1 */
    int32_t summed; /* loops that are summed over, >= 1 */
    int32_t nk[8];  /* sizes */
    int32_t ak[8];  /* strides, elements */
    int32_t bk[8];
    int32_t nr[8];
    int32_t ar[8];
    int32_t br[8];
} inlay_einsum_params;

/* Next index of the first `loops` loops; moves the two offsets. 0 at the end. */
static inline int inlay_walk2(int32_t *at, const int32_t *n, const int32_t *sa,
                              const int32_t *sb, int32_t loops, ptrdiff_t *a,
                              ptrdiff_t *b)
{
    int32_t d;
    for (d = loops - 1; d >= 0; d--) {
        *a += sa[d];
        *b += sb[d];
        if (++at[d] < n[d])
            return 1;
        *a -= (ptrdiff_t)sa[d] * n[d];
        *b -= (ptrdiff_t)sb[d] * n[d];
        at[d] = 0;
    }
    return 0;
}

#define INLAY_FAMILY "einsum.inc.h"
#include "each_float.inc.h"
#include "each_integer.inc.h"
#undef INLAY_FAMILY

typedef struct inlay_det_params {
    int32_t batch;
    int32_t n;
} inlay_det_params;

#define INLAY_FAMILY "det.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
