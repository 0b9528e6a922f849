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

/* Most taps of a window that is copied: conv_im2col.inc.h. A generated file says how many those of
 * its steps have, 0: none is. */
#define INLAY_IM2COL_MOST 40
#ifndef INLAY_TILE_IM2COL
#define INLAY_TILE_IM2COL INLAY_IM2COL_MOST
#endif

/* Is it cheaper to copy the windows of pixels than to walk through their rows for every four
 * channels? */
static inline int inlay_conv_copies(const inlay_conv_params *p)
{
    const int32_t taps = p->kh * p->kw * p->ic;
    return p->groups == 1 && p->kd == 1 && taps <= INLAY_IM2COL_MOST &&
           p->oc * (p->kh - 1) > 3 * taps + 10 * p->kh;
}

#if INLAY_TILE_ARM && INLAY_TILE_IM2COL
#include "kernels/conv_im2col.inc.h"
#endif

/* Tiles that wait for panels, or the windows of one that needs none. */
typedef union inlay_conv_room {
    inlay_queue queue;
    float windows[INLAY_TILE_P * INLAY_TILE_IM2COL + 1];
} inlay_conv_room;

static inline int inlay_conv_narrow(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1,
                                    const inlay_widening *type)
{
    inlay_stored narrow;
    inlay_conv_room room;
    inlay_tile t;
    inlay_conv_tile(base, s, &t);
    inlay_stored_take(base, s, 2, 5, type, &narrow, &room.queue);
    narrow.alone = inlay_conv_alone(s);
    t.narrow = &narrow;
    inlay_panel_rows_take(&t, inlay_conv_apart(base, s, &t, r0, r1));
#if INLAY_TILE_ARM && INLAY_TILE_IM2COL
    if (t.make == inlay_bytes_make && t.taps <= INLAY_TILE_IM2COL &&
        inlay_conv_copies((const inlay_conv_params *)s->params)) {
        inlay_im2col_rows(base, s, &t, r0, r1, room.windows);
        return 0;
    }
#endif
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
