/* SPDX-License-Identifier: 0BSD
 * Depthwise convolutions of dwconv_f32.h with weights that are stored in a narrower type than
 * float. Operands: those of the kernel for float, then how weights become floats, scales and zero
 * points of the channels, which all may be left out.
 *
 * The weights of some channels at a time are made floats on the stack, a panel. They serve all rows
 * where a panel holds all channels or y lies over nothing that is read; else a stretch of a row,
 * INLAY_DW_STRETCH pixels, of which some channels are written before the others are read. */
#ifndef INLAY_DWCONV_NARROW_H
#define INLAY_DWCONV_NARROW_H

#include "inlay.h"
#include "kernels/dwconv_f32.h"
#include "kernels/tile_narrow.h"

/* Floats of a panel: taps of four channels have room. */
#if INLAY_VL > 1
enum { INLAY_DW_PANEL = 4096 };
#else
enum { INLAY_DW_PANEL = 256 };
#endif
enum { INLAY_DW_NARROW_TAPS = 64, INLAY_DW_STRETCH = 16 };

/* Channels of a panel. */
static inline int32_t inlay_dw_room(const inlay_conv_params *p)
{
    return INLAY_DW_PANEL / (p->kh * p->kw) / 4 * 4;
}

/* w = (w - zero) * scale for up to 16 channels. */
static inline void inlay_dw_scale(float *w, int32_t width, const float *scale,
                                  const float *zero)
{
#if INLAY_VL > 1
    inlay_narrow_scale(w, 1, width, scale, zero);
#else
    int32_t i;
    for (i = 0; i < width; i++)
        w[i] = (w[i] - zero[i]) * scale[i];
#endif
}

/* Scales the taps [tap][n] of up to 16 channels from `from` on. */
static inline void inlay_dw_scaled(const inlay_stored *narrow, float *w,
                                   int32_t n, int32_t taps, int32_t from,
                                   int32_t width)
{
    float scale[16], zero[16];
    int32_t i;
    inlay_narrow_scales(narrow, from, width, scale);
    for (i = 0; i < width && !narrow->zero; i++)
        zero[i] = (float)narrow->how[INLAY_HOW_ZERO];
    if (narrow->zero)
        narrow->type->widen(zero, narrow->zero, from, width);
    for (i = 0; i < taps; i++, w += n)
        inlay_dw_scale(w, width, scale, zero);
}

/* The taps of n channels from `from` on as floats, [tap][n]. */
static inline void inlay_dw_widen(const inlay_stored *narrow, float *to,
                                  int32_t n, const inlay_conv_params *p,
                                  int32_t from)
{
    const int32_t taps = p->kh * p->kw;
    int32_t i;
    for (i = 0; i < taps; i++) {
        const ptrdiff_t first = (ptrdiff_t)i * p->groups + from;
        narrow->type->widen(to + i * n, narrow->values, first, n);
    }
    for (i = 0; i < n && narrow->how; i += 16)
        inlay_dw_scaled(narrow, to + i, n, taps, from + i,
                        n - i < 16 ? n - i : 16);
}

/* Columns [c0, c1) of rows [r0, r1). */
typedef struct inlay_dw_part {
    int32_t r0, r1, c0, c1;
} inlay_dw_part;

/* Channels from `from` on, whose weights lie in a panel. */
static inline void inlay_dw_part_of(const inlay_conv_params *p,
                                    void *const *base, const inlay_step *s,
                                    inlay_dw *t, const float *panel,
                                    const inlay_dw_part *part, int32_t from)
{
    int32_t i;
    for (i = 0; i < part->r1 - part->r0; i++) {
        const int32_t r = inlay_next_row(s, part->r0, part->r1, i);
        inlay_dw_window(p, t, panel, r);
        t->y = (float *)inlay_row(base, s, 0, r) + from;
        t->q = inlay_row_if(base, s, 4, r);
        if (t->q)
            t->q += from;
        inlay_dw_columns(p, t, part->c0, part->c1);
    }
}

/* Some channels after the others. */
INLAY_APART void inlay_dw_panels(const inlay_conv_params *p, void *const *base,
                                 const inlay_step *s, const inlay_dw *all,
                                 const inlay_stored *narrow,
                                 const inlay_dw_part *part)
{
    float panel[INLAY_DW_PANEL] INLAY_PANEL_ALIGNED;
    const int32_t room = inlay_dw_room(p);
    inlay_dw t = *all;
    int32_t from;
    for (from = 0; from < p->groups; from += room) {
        const int32_t left = p->groups - from;
        t.channels = left < room ? left : room;
        t.wrow = (ptrdiff_t)p->kw * t.channels;
        t.x = all->x + from;
        t.bias = all->bias + from;
        inlay_dw_widen(narrow, panel, t.channels, p, from);
        inlay_dw_part_of(p, base, s, &t, panel, part, from);
    }
}

/* One row, stretch by stretch. */
static inline void inlay_dw_stretches(const inlay_conv_params *p,
                                      void *const *base, const inlay_step *s,
                                      const inlay_dw *t,
                                      const inlay_stored *narrow, int32_t r)
{
    int32_t done, n;
    for (done = 0; done < p->ow; done += n) {
        const int32_t left = p->ow - done;
        inlay_dw_part part;
        n = left < INLAY_DW_STRETCH ? left : INLAY_DW_STRETCH;
        part.r0 = r;
        part.r1 = r + 1;
        part.c0 = s->backward ? left - n : done;
        part.c1 = part.c0 + n;
        inlay_dw_panels(p, base, s, t, narrow, &part);
    }
}

static inline int inlay_dwconv_narrow(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1,
                                      const inlay_widening *type)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const inlay_dw_part all = { r0, r1, 0, p->ow };
    inlay_stored narrow;
    inlay_dw t;
    int32_t done;
    int apart = inlay_dw_apart(p, base, s, r1 - r0);
    inlay_dw_setup(p, base, s, &t);
    inlay_stored_read(base, s, 2, 5, type, &narrow);
    t.ys = s->ref[0].pix;
    t.qs = s->ref[4].pix;
    t.apart = INLAY_DW_PAIRS && apart;
    t.once = inlay_dw_over(p, base, s);
    if (apart || p->groups <= inlay_dw_room(p)) {
        inlay_dw_panels(p, base, s, &t, &narrow, &all);
        return 0;
    }
    for (done = 0; done < r1 - r0; done++)
        inlay_dw_stretches(p, base, s, &t, &narrow,
                           inlay_next_row(s, r0, r1, done));
    return 0;
}

#define INLAY_FAMILY "dwconv_narrow.inc.h"
#include "each_narrow.inc.h"
#undef INLAY_FAMILY

#endif
