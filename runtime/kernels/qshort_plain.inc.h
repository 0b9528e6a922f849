/* SPDX-License-Identifier: 0BSD
 * Sums of four channels of qconv_short.h in plain C. Included by it. */

/* n pixels, weights in any order. */
static inline void inlay_qshort_bytes_any(const inlay_qshort_tile *tile,
                                          int crossed, int n, int32_t *sum)
{
    int32_t i, k;
    for (i = 0; i < n * INLAY_QSHORT_FOUR; i++) {
        const int c = i % INLAY_QSHORT_FOUR;
        const int16_t *x = tile->x + i / INLAY_QSHORT_FOUR * 2;
        const int8_t *w = (const int8_t *)tile->w;
        uint32_t s = (uint32_t)sum[i];
        w += crossed ? c / 2 * 4 + c % 2 : 2 * c;
        for (k = tile->pairs; k > 0; k--) {
            s += (uint32_t)(x[0] * w[0]) + (uint32_t)(x[1] * w[1 + crossed]);
            x += 2 * n;
            w += tile->pitch;
        }
        sum[i] = (int32_t)s;
    }
}

/* Two taps of a channel, of n pixels. Returns w, once the sums are made. */
INLAY_INLINE const int8_t *inlay_qshort_tap(uint32_t *s, const int16_t *x,
                                            const int8_t *w, const int n)
{
    int i, k;
    INLAY_UNROLL
    for (k = 0; k < 2; k++) {
        const int32_t v = w[k];
        INLAY_UNROLL
        for (i = 0; i < n; i++)
            s[i * INLAY_QSHORT_FOUR] += (uint32_t)(x[2 * i + k] * v);
        INLAY_UNROLL
        for (i = 0; i < n; i++)
            INLAY_QORDER(w, s[i * INLAY_QSHORT_FOUR]);
    }
    return w;
}

/* n pixels, a constant of the callers; weights that are not crossed. */
INLAY_INLINE void inlay_qshort_bytes_plain(const inlay_qshort_tile *tile,
                                           const int n, int32_t *sum)
{
    const int16_t *x = tile->x;
    const int8_t *w = (const int8_t *)tile->w;
    const ptrdiff_t next = tile->pitch - 2 * INLAY_QSHORT_FOUR;
    uint32_t s[2 * INLAY_QSHORT_FOUR];
    int32_t k;
    int c;
    INLAY_UNROLL
    for (c = 0; c < n * INLAY_QSHORT_FOUR; c++)
        s[c] = (uint32_t)sum[c];
    for (k = tile->pairs; k > 0; k--) {
        INLAY_UNROLL
        for (c = 0; c < INLAY_QSHORT_FOUR; c++)
            w = inlay_qshort_tap(s + c, x, w, n) + 2;
        x += 2 * n;
        w += next;
    }
    INLAY_UNROLL
    for (c = 0; c < n * INLAY_QSHORT_FOUR; c++)
        sum[c] = (int32_t)s[c];
}

/* Weights of 16 bits: a channel at a time, whose sums have two registers each. */
INLAY_INLINE void inlay_qshort_halves_plain(const inlay_qshort_tile *tile,
                                            const int n, int64_t *sum)
{
    int c;
    for (c = 0; c < INLAY_QSHORT_FOUR; c++) {
        const int16_t *x = tile->x;
        const int16_t *w = (const int16_t *)tile->w + 2 * c;
        int64_t s[2];
        int32_t k;
        int i;
        INLAY_UNROLL
        for (i = 0; i < n; i++)
            s[i] = sum[i * INLAY_QSHORT_FOUR + c];
        for (k = tile->pairs; k > 0; k--) {
            INLAY_UNROLL
            for (i = 0; i < n; i++) {
                s[i] = inlay_qshort_add(s[i], x[2 * i] * w[0]);
                s[i] = inlay_qshort_add(s[i], x[2 * i + 1] * w[1]);
            }
            x += 2 * n;
            w += tile->pitch;
        }
        INLAY_UNROLL
        for (i = 0; i < n; i++)
            sum[i * INLAY_QSHORT_FOUR + c] = s[i];
    }
}
