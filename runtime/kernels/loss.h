/* SPDX-License-Identifier: 0BSD
 * Losses over scores [N][C][D] with labels [N][D]; D is the product of all further dimensions. */
#ifndef INLAY_LOSS_H
#define INLAY_LOSS_H

#include <math.h>

#include "inlay.h"

#define INLAY_loss_FIELDS(F, N) \
    F(int64_t, n)      /* images */ \
    F(int64_t, c)      /* classes */ \
    F(int64_t, d)      /* places an image */ \
    F(int64_t, ignore) /* label that does not count, where has_ignore is set */ \
    F(int32_t, has_ignore) \
    F(int32_t, reduction) /* 0 none: loss [N][D]; 1 sum, 2 mean: loss [1] */ \
    F(int32_t, wide)      /* labels are 1: int64, 0: int32 */
INLAY_PARAMS(loss);

static inline int64_t inlay_label(const inlay_loss_params *p, const void *labels, int64_t i)
{
    return p->wide ? ((const int64_t *)labels)[i] : (int64_t)((const int32_t *)labels)[i];
}

#include "as_float.inc.h"
#include "loss.inc.h"
#include "as_double.inc.h"
#include "loss.inc.h"

#endif
