/* SPDX-License-Identifier: 0BSD
 * Columns of qdot.h in Helium vectors of four. Included by qdot.h. */

INLAY_INLINE int32x4_t inlay_mve_column(const uint8_t *b, int b_signed)
{
    if (b_signed)
        return vldrbq_s32((const int8_t *)b);
    return vreinterpretq_s32_u32(vldrbq_u32(b));
}

/* So many vectors of columns, from column j on. */
INLAY_INLINE void inlay_mve_columns(const inlay_qdots *of, int32_t j,
                                    int32_t vectors, int b_signed)
{
    const uint8_t *a = of->a;
    const uint8_t *const end = a + of->k;
    const uint8_t *b = of->b + j;
    const ptrdiff_t ldb = of->ldb;
    const int32_t flip = of->flip;
    const int32_t za = of->za;
    int32x4_t acc[4];
    int32_t c;
    INLAY_UNROLL
    for (c = 0; c < vectors; c++)
        acc[c] = vld1q_s32(of->acc + j + 4 * c);
    for (; a < end; a++, b += ldb) {
        const int32_t v = (*a ^ flip) - za;
        INLAY_UNROLL
        for (c = 0; c < vectors; c++)
            acc[c] =
                vmlaq_n_s32(acc[c], inlay_mve_column(b + 4 * c, b_signed), v);
    }
    INLAY_UNROLL
    for (c = 0; c < vectors; c++)
        vst1q_s32(of->acc + j + 4 * c, acc[c]);
}

INLAY_INLINE int32_t inlay_qdot_fours(const inlay_qdots *of, int32_t n,
                                      int b_signed)
{
    int32_t j;
    for (j = 0; j + 16 <= n; j += 16)
        inlay_mve_columns(of, j, 4, b_signed);
    for (; j + 4 <= n; j += 4)
        inlay_mve_columns(of, j, 1, b_signed);
    return j;
}
