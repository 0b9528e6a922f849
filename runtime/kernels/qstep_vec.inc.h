/* SPDX-License-Identifier: 0BSD
 * Steps of qstep.h in vectors, the last one filled up: each element by the same instructions. */
#ifndef INLAY_QSTEP_VEC_H
#define INLAY_QSTEP_VEC_H

/* The numbers of n bytes that lie `step` apart, 0 or 1, less a zero point, times a scale. */
INLAY_INLINE inlay_qf inlay_qside(const uint8_t *x, int32_t step, int32_t n,
                                  int32_t flip, int32_t zero, float scale)
{
    inlay_qi v = step ? inlay_qload_bytes(x, n) : inlay_qall(*x);
    v = INLAY_MB(xor)(v, inlay_qall(flip));
    v = INLAY_MM(sub_epi32)(v, inlay_qall(zero));
    return INLAY_MM(mul_ps)(INLAY_MM(cvtepi32_ps)(v), INLAY_MM(set1_ps)(scale));
}

/* Stores byte(v) of n of v. */
INLAY_INLINE void inlay_qside_end(const inlay_qstep *q, const inlay_qclip *clip,
                                  inlay_qf v, int32_t n, uint8_t *y)
{
    const inlay_qf scaled = INLAY_MM(div_ps)(v, INLAY_MM(set1_ps)(q->sy));
    const inlay_qi byte = inlay_qclipped(clip, scaled);
    inlay_qstore_bytes(y, n, INLAY_MB(xor)(byte, inlay_qall(q->flip_y)));
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
        const inlay_qf of_a =
            inlay_qside(a + i * step_a, step_a, left, q.flip_a, q.za, q.sa);
        const inlay_qf of_b =
            inlay_qside(b + i * step_b, step_b, left, q.flip_b, q.zb, q.sb);
        const inlay_qf v = product ? INLAY_MM(mul_ps)(of_a, of_b)
                                   : INLAY_MM(add_ps)(of_a, of_b);
        inlay_qside_end(&q, &clip, v, left, y + i);
    }
}

/* byte(x sa) of int32 x. */
static inline void inlay_qscale_vectors(uint8_t *y, const int32_t *x, int32_t n,
                                        const inlay_qstep *q)
{
    const inlay_qclip clip = inlay_qclip_of(q->zy, q->lo, q->hi);
    int32_t i;
    for (i = 0; i < n; i += INLAY_QL) {
        const int32_t left = n - i;
        int32_t lane[INLAY_QL] = { 0 };
        inlay_qi v;
        memcpy(lane, x + i,
               (size_t)(left < INLAY_QL ? left : INLAY_QL) * sizeof *lane);
        memcpy(&v, lane, sizeof v);
        v = INLAY_MM(sub_epi32)(v, inlay_qall(q->za));
        inlay_qside_end(q, &clip,
                        INLAY_MM(mul_ps)(INLAY_MM(cvtepi32_ps)(v),
                                         INLAY_MM(set1_ps)(q->sa)),
                        left, y + i);
    }
}

#endif
