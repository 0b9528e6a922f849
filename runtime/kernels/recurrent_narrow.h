/* SPDX-License-Identifier: 0BSD
 * RNN, GRU and LSTM of recurrent.h with weights that are stored in a narrower type than float, all
 * in the same: tile_narrow.h. Operands: those of the kernel for float but for scratch, then how
 * weights become floats, scales and zero points of w, of r and of rn, which all may be left out,
 * then scratch. */
#ifndef INLAY_RECURRENT_NARROW_H
#define INLAY_RECURRENT_NARROW_H

#include "inlay.h"
#include "kernels/recurrent.h"
#include "kernels/tile_narrow.h"

static inline int inlay_recurrent_narrow(void *const *base, const inlay_step *s,
                                         const inlay_widening *type)
{
    float *scratch = (float *)inlay_at(base, s, 21);
    inlay_stored w, r, rn;
    const inlay_recurrent_params *p = (const inlay_recurrent_params *)s->params;
    const int32_t alone = p->batch == 1;
    inlay_queue queue;
    inlay_cell k;
    memset(&k, 0, sizeof k);
    inlay_stored_take(base, s, 4, 12, type, &w, &queue);
    inlay_stored_take(base, s, 5, 15, type, &r, &queue);
    inlay_stored_take(base, s, 6, 18, type, &rn, &queue);
    w.alone = alone;
    r.alone = alone;
    rn.alone = alone;
    k.w.narrow = &w;
    k.r.narrow = &r;
    k.rn.narrow = &rn;
    return inlay_recurrent_by(base, s, &k, inlay_panel_rows_make, scratch);
}

#define INLAY_FAMILY "recurrent_narrow.inc.h"
#include "each_narrow.inc.h"
#undef INLAY_FAMILY

#endif
