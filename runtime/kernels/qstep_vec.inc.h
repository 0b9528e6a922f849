/* SPDX-License-Identifier: 0BSD
 * Steps of qstep.h in vectors, the last one filled up: each element by the same instructions. */
#ifndef INLAY_QSTEP_VEC_H
#define INLAY_QSTEP_VEC_H

/* The numbers of n bytes that lie `step` apart, 0 or 1, less a zero point, times a scale. */
INLAY_INLINE inlay_qf inlay_qside(const uint8_t *x, int32_t step, int32_t n,
                                  int32_t flip, int32_t zero, float scale)
{
    const inlay_qf times = INLAY_MM(set1_ps)(scale);
    inlay_qi v;
    if (step)
        v = inlay_qload_bytes(x, n);
    else
        v = inlay_qall(*x);
    v = INLAY_MB(xor)(v, inlay_qall(flip));
    v = INLAY_MM(sub_epi32)(v, inlay_qall(zero));
    return INLAY_MM(mul_ps)(INLAY_MM(cvtepi32_ps)(v), times);
}

/* Stores byte(v) of n of v. */
INLAY_INLINE void inlay_qside_end(const inlay_qstep *q, const inlay_qclip *clip,
                                  inlay_qf v, int32_t n, uint8_t *y)
{
    const inlay_qf sy = INLAY_MM(set1_ps)(q->sy);
    const inlay_qi flip = inlay_qall(q->flip_y);
    const inlay_qf scaled = INLAY_MM(div_ps)(v, sy);
    const inlay_qi byte = inlay_qclipped(clip, scaled);
    inlay_qstore_bytes(y, n, INLAY_MB(xor)(byte, flip));
}

/* byte(a + b), or byte(a b), where the bytes lie 0 or 1 apart. */
INLAY_INLINE void inlay_qtwo_vectors(uint8_t *y, const uint8_t *a,
                                     const uint8_t *b, int32_t n,
                                     int32_t step_a, int32_t step_b,
                                     const inlay_qstep *numbers, int product)
{
    const inlay_qstep q = *numbers;
    const inlay_qclip clip = inlay_qclip_of(q.zy, q.lo, q.hi);
    int32_t i;
    for (i = 0; i < n; i += INLAY_QL) {
        const int32_t left = n - i;
        inlay_qf of_a;
        inlay_qf of_b;
        inlay_qf v;
        of_a = inlay_qside(a, step_a, left, q.flip_a, q.za, q.sa);
        of_b = inlay_qside(b, step_b, left, q.flip_b, q.zb, q.sb);
        if (product)
            v = INLAY_MM(mul_ps)(of_a, of_b);
        else
            v = INLAY_MM(add_ps)(of_a, of_b);
        inlay_qside_end(&q, &clip, v, left, y + i);
        a += INLAY_QL * step_a;
        b += INLAY_QL * step_b;
    }
}

/* byte(x sa) of int32 x. */
static inline void inlay_qscale_vectors(uint8_t *y, const int32_t *x, int32_t n,
                                        const inlay_qstep *q)
{
    const inlay_qclip clip = inlay_qclip_of(q->zy, q->lo, q->hi);
    const inlay_qi zero = inlay_qall(q->za);
    const inlay_qf scale = INLAY_MM(set1_ps)(q->sa);
    int32_t i;
    for (i = 0; i < n; i += INLAY_QL) {
        const int32_t left = n - i;
        const int32_t some = left < INLAY_QL ? left : INLAY_QL;
        int32_t lane[INLAY_QL] = { 0 };
        inlay_qi whole;
        inlay_qf v;
        memcpy(lane, x + i, (size_t)some * sizeof *lane);
        memcpy(&whole, lane, sizeof whole);
        whole = INLAY_MM(sub_epi32)(whole, zero);
        v = INLAY_MM(mul_ps)(INLAY_MM(cvtepi32_ps)(whole), scale);
        inlay_qside_end(q, &clip, v, left, y + i);
    }
}

#endif
