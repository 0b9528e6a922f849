/* SPDX-License-Identifier: 0BSD
 * The products of qconv_packed.h and qdwconv_packed.h with weights of 4 or 2 bits, which lie so in
 * flash.
 *
 *   weight = number - middle,   numbers of `bits` bits without a sign
 *
 * Some channels at a time become bytes in scratch, a panel, in the order in which weights of bytes
 * are packed; the kernels of bytes then make these channels of all rows: the same sums, the same
 * results. A word has four weights for each of its 8 / bits fours: the first ones in the lowest
 * bits of its bytes. Operands: those of qconv_packed.h, and behind them the panel.
 *
 * A call unpacks each weight once, by about an instruction and a half, and multiplies it by all
 * pixels of its rows: a stream, whose calls are rows, unpacks for each of them. Where several
 * panels share a row, no byte of it lies over one that it is made of; of several rows, that may be:
 * then each is made by itself. */
#ifndef INLAY_QNARROW_H
#define INLAY_QNARROW_H

#include "kernels/qdwconv_packed.h"

/* A step of bytes: some channels of a step, whose weights are its panel. */
typedef struct inlay_qpanel {
    inlay_step step;
    inlay_qpacked_params params;
    inlay_ref ref[INLAY_QPANEL];
} inlay_qpanel;

/* n weights, a multiple of INLAY_QNARROW_ELEMENTS, of words of `bits` bits each. Bytes, or halves
 * of two of them: `sign` is the highest bit of each, which keeps what is taken off within it. */
INLAY_INLINE void inlay_qunpack_by(uint32_t *to, const uint32_t *from,
                                   int32_t n, uint32_t middle, uint32_t sign,
                                   const int bits)
{
    const uint32_t mask = 0xffu >> (8 - bits);
    const uint32_t ones = UINT32_C(0x01010101);
    const uint32_t off = sign - middle * ones;
    int32_t i;
    int k;
    for (i = 0; i < n; i += 32 / bits) {
        const uint32_t word = *from++;
        INLAY_UNROLL
        for (k = 0; k < 8; k += bits)
            *to++ = ((word >> k & mask * ones) + off) ^ sign;
    }
}

INLAY_APART void inlay_qunpack(uint32_t *to, const uint32_t *from, int32_t n,
                               const inlay_qnarrow_params *params)
{
    const uint32_t sign =
        params->wide ? UINT32_C(0x80008000) : UINT32_C(0x80808080);
    const uint32_t middle = (uint32_t)params->middle;
    if (params->bits == 4)
        inlay_qunpack_by(to, from, n, middle, sign, 4);
    else
        inlay_qunpack_by(to, from, n, middle, sign, 2);
}

/* All channels. */
static inline void inlay_qpanel_begin(const inlay_step *step,
                                      inlay_qpanel *panel)
{
    memcpy(&panel->params, step->params, sizeof panel->params);
    memcpy(panel->ref, step->ref, sizeof panel->ref);
    panel->ref[2] = step->ref[INLAY_QPANEL];
    panel->step = *step;
    panel->step.params = &panel->params;
    panel->step.ref = panel->ref;
}

/* Channels [channel, channel + n) of a group. */
static inline void inlay_qpanel_take(const inlay_step *step, int32_t group,
                                     int32_t channel, int32_t n,
                                     inlay_qpanel *panel)
{
    const inlay_qnarrow_params *params =
        (const inlay_qnarrow_params *)step->params;
    const size_t packed = (size_t)(group * inlay_up4(params->oc) + channel);
    const size_t made = (size_t)(group * params->oc + channel);
    const size_t size = inlay_qout_is_wide(params->out) ? 4 : 1;
    int i;
    panel->params.groups = 1;
    panel->params.oc = n;
    panel->ref[0].off = step->ref[0].off + made * size;
    panel->ref[1].off = step->ref[1].off + (size_t)(group * params->ic);
    panel->ref[9].off = step->ref[9].off + made * sizeof(float);
    for (i = 3; i < 7; i++) /* bias, scale, zero points, sums */
        if (i != 4 || params->scales > 1)
            panel->ref[i].off = step->ref[i].off + packed * 4;
}

/* Some channels of rows [r0, r1), whose weights begin at `from`; returns where they end. */
static inline const uint8_t *
inlay_qpanel_run(void *const *base, const inlay_step *step, int32_t r0,
                 int32_t r1, int32_t weights, const uint8_t *from,
                 const inlay_qpanel *panel)
{
    const inlay_qnarrow_params *params =
        (const inlay_qnarrow_params *)step->params;
    uint32_t *to = (uint32_t *)inlay_at(base, step, INLAY_QPANEL);
    const uint32_t *words = (const uint32_t *)(const void *)from;
    inlay_qunpack(to, words, weights, params);
    inlay_qconv_packed(base, &panel->step, r0, r1);
    return from + weights / 8 * params->bits;
}

/* Rows [r0, r1), a panel after the other. */
static inline void inlay_qnarrow_panels(void *const *base,
                                        const inlay_step *step, int32_t r0,
                                        int32_t r1, inlay_qpanel *panel)
{
    const inlay_qnarrow_params *params =
        (const inlay_qnarrow_params *)step->params;
    const int32_t taps = (int32_t)inlay_qpacked_taps(&panel->params);
    const int32_t each = params->panel ? params->panel : params->oc;
    const int32_t groups = params->panel ? params->groups : 1;
    const int32_t window = params->panel ? taps : taps * params->groups;
    const uint8_t *from = (const uint8_t *)inlay_at(base, step, 2);
    int32_t g, o, n;
    for (g = 0; g < groups; g++)
        for (o = 0; o < params->oc; o += n) {
            const int32_t left = params->oc - o;
            n = left < each ? left : each;
            if (params->panel)
                inlay_qpanel_take(step, g, o, n, panel);
            from = inlay_qpanel_run(base, step, r0, r1, inlay_up4(n) * window,
                                    from, panel);
        }
}

static inline int inlay_qconv_narrow(void *const *base, const inlay_step *step,
                                     int32_t r0, int32_t r1)
{
    const inlay_qnarrow_params *params =
        (const inlay_qnarrow_params *)step->params;
    int32_t n = r1 - r0;
    inlay_qpanel panel;
    int32_t done;
    inlay_qpanel_begin(step, &panel);
    if (params->panel && n > 1 &&
        !inlay_qpacked_apart(base, &panel.step, r0, r1))
        n = 1;
    for (done = 0; done < r1 - r0; done += n) {
        const int32_t r =
            n == r1 - r0 ? r0 : inlay_next_row(step, r0, r1, done);
        inlay_qnarrow_panels(base, step, r, r + n, &panel);
    }
    return 0;
}

/* Weights of channels that are each by themselves are few: they are one panel. */
static inline int inlay_qdwconv_narrow(void *const *base,
                                       const inlay_step *step, int32_t r0,
                                       int32_t r1)
{
    const inlay_qnarrow_params *params =
        (const inlay_qnarrow_params *)step->params;
    const uint32_t *from = (const uint32_t *)inlay_at(base, step, 2);
    uint32_t *to = (uint32_t *)inlay_at(base, step, INLAY_QPANEL);
    inlay_qpanel panel;
    int32_t taps = params->kd * params->kh;
    inlay_qpanel_begin(step, &panel);
    if (params->deep)
        taps = inlay_qdeep_high(&panel.params);
    inlay_qunpack(to, from, params->groups * taps * params->kw, params);
    return inlay_qdwconv_packed(base, &panel.step, r0, r1);
}

#endif
