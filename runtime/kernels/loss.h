/* SPDX-License-Identifier: 0BSD
 * Losses over scores [N][C][D] with labels [N][D]; D is the product of all further dimensions. */
#ifndef INLAY_LOSS_H
#define INLAY_LOSS_H

#include "inlay.h"
#include "kernels/libm.h"

typedef struct inlay_loss_params {
    int64_t n;      /* images */
    int64_t c;      /* classes */
    int64_t d;      /* places an image */
    int64_t ignore; /* label that does not count, where has_ignore is set */
    int32_t has_ignore;
    int32_t reduction; /* 0 none: loss [N][D]; 1 sum, 2 mean: loss [1] */
    int32_t wide;      /* labels are 1: int64, 0: int32 */
} inlay_loss_params;

static inline int64_t inlay_label(const inlay_loss_params *p,
                                  const void *labels, int64_t i)
{
    return p->wide ? ((const int64_t *)labels)[i]
                   : (int64_t)((const int32_t *)labels)[i];
}

#define INLAY_FAMILY "loss.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
