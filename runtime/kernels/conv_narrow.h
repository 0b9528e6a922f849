/* SPDX-License-Identifier: 0BSD
 * Convolutions of conv_f32.h, conv1d_f32.h and deconv_f32.h with weights that are stored in a
 * narrower type than float: tile_narrow.h. Operands: those of the kernels for float, then how
 * weights become floats, scales and zero points, which all may be left out. */
#ifndef INLAY_CONV_NARROW_H
#define INLAY_CONV_NARROW_H

#include "inlay.h"
#include "kernels/conv1d_f32.h"
#include "kernels/conv_f32.h"
#include "kernels/deconv_f32.h"
#include "kernels/tile_narrow.h"

/* Does the step make one pixel, and nothing else? */
static inline int inlay_conv_alone(const inlay_step *s)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    return s->units == 1 && p->ow == 1;
}

static inline int inlay_conv_narrow(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1,
                                    const inlay_widening *type)
{
    inlay_stored narrow;
    inlay_queue queue;
    inlay_tile t;
    inlay_conv_tile(base, s, &t);
    inlay_stored_take(base, s, 2, 5, type, &narrow, &queue);
    narrow.alone = inlay_conv_alone(s);
    t.narrow = &narrow;
    inlay_panel_rows_take(&t, inlay_conv_apart(base, s, &t, r0, r1));
    inlay_conv_by(base, s, &t, r0, r1);
    inlay_tile_done(&t);
    return 0;
}

static inline int inlay_conv1d_narrow(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1,
                                      const inlay_widening *type)
{
    inlay_stored narrow;
    inlay_queue queue;
    inlay_tile t;
    inlay_conv1d_tile(base, s, &t);
    inlay_stored_take(base, s, 2, 5, type, &narrow, &queue);
    t.narrow = &narrow;
    t.make = inlay_panel_steps_make;
    t.apart = inlay_disjoint(base, s, 1, 1);
    inlay_conv1d_by(base, s, &t, r0, r1);
    inlay_panel_steps_flush(&queue);
    return 0;
}

static inline int inlay_deconv_narrow(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1,
                                      const inlay_widening *type)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    inlay_stored narrow;
    inlay_queue queue;
    inlay_tile t;
    inlay_conv_tile(base, s, &t);
    inlay_stored_take(base, s, 2, 5, type, &narrow, &queue);
    t.narrow = &narrow;
    inlay_panel_rows_take(&t, inlay_disjoint(base, s, p->ow, p->iw));
    inlay_deconv_by(base, s, &t, r0, r1);
    inlay_tile_done(&t);
    return 0;
}

#define INLAY_FAMILY "conv_narrow.inc.h"
#include "each_narrow.inc.h"
#undef INLAY_FAMILY

#endif
