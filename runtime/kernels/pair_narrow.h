/* SPDX-License-Identifier: 0BSD
 * The pairs of dwpw_f32.h and affine_f32.h, of which the second convolution has weights that are
 * stored in a narrower type than float: tile_narrow.h. Operands: those of the kernels for float but
 * for scratch, then how weights become floats, scales and zero points, then scratch. */
#ifndef INLAY_PAIR_NARROW_H
#define INLAY_PAIR_NARROW_H

#include "inlay.h"
#include "kernels/affine_f32.h"
#include "kernels/dwpw_f32.h"
#include "kernels/tile_narrow.h"

/* Makes a tile of floats one of narrow weights; all that it reads lies in scratch. */
static inline void inlay_pair_take(void *const *base, const inlay_step *s,
                                   const inlay_widening *type,
                                   inlay_stored *narrow, inlay_queue *queue,
                                   inlay_tile *t)
{
    inlay_stored_take(base, s, 4, 7, type, narrow, queue);
    t->narrow = narrow;
    inlay_panel_rows_take(t, 1);
}

static inline int inlay_dwpw_narrow(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1,
                                    const inlay_widening *type)
{
    float *scratch = (float *)inlay_at(base, s, 10);
    inlay_stored narrow;
    inlay_queue queue;
    inlay_tile second;
    inlay_dwpw_pointwise(base, s, scratch, &second);
    inlay_pair_take(base, s, type, &narrow, &queue, &second);
    return inlay_dwpw_by(base, s, scratch, &second, r0, r1);
}

static inline int inlay_affine_conv_narrow(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1,
                                           const inlay_widening *type)
{
    float *scratch = (float *)inlay_at(base, s, 10);
    inlay_stored narrow;
    inlay_queue queue;
    inlay_tile t;
    inlay_affine_product(base, s, scratch, &t);
    inlay_pair_take(base, s, type, &narrow, &queue, &t);
    return inlay_affine_conv_by(base, s, scratch, &t, r0, r1);
}

#define INLAY_FAMILY "pair_narrow.inc.h"
#include "each_narrow.inc.h"
#undef INLAY_FAMILY

#endif
