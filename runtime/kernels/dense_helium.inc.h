/* SPDX-License-Identifier: 0BSD
 * dense_f32.h by Helium's vectors, each four outputs: two of them go at a time, so that neither sum
 * waits for its last product, and four inputs, which one instruction loads. The registers of
 * integers have their names. The products and their order are those of the C. */

/* Adds the products of four inputs `fours` times, at least once, to two vectors of outputs. */
INLAY_INLINE void inlay_dense_fours(inlay_f4 *sum, const float *x,
                                    const float *first, const float *second,
                                    int32_t fours)
{
    register const float *w __asm__("r4") = first;
    register const float *next __asm__("r5") = second;
    register const float *at __asm__("r6") = x;
    register int32_t n __asm__("lr") = fours;
    inlay_f4 w0, w1;
    __asm__ volatile(
        "dls lr, lr\n"
        "1:\nldm r6!, {r0-r3}\n"
        "vldrw.32 %q[w0], [r4], #16\nvldrw.32 %q[w1], [r5], #16\n"
        "vfma.f32 %q[s0], %q[w0], r0\nvfma.f32 %q[s1], %q[w1], r0\n"
        "vldrw.32 %q[w0], [r4], #16\nvldrw.32 %q[w1], [r5], #16\n"
        "vfma.f32 %q[s0], %q[w0], r1\nvfma.f32 %q[s1], %q[w1], r1\n"
        "vldrw.32 %q[w0], [r4], #16\nvldrw.32 %q[w1], [r5], #16\n"
        "vfma.f32 %q[s0], %q[w0], r2\nvfma.f32 %q[s1], %q[w1], r2\n"
        "vldrw.32 %q[w0], [r4], #16\nvldrw.32 %q[w1], [r5], #16\n"
        "vfma.f32 %q[s0], %q[w0], r3\nvfma.f32 %q[s1], %q[w1], r3\n"
        "le lr, 1b\n"
        : [s0] "+w"(sum[0]), [s1] "+w"(sum[1]), [w0] "=&w"(w0), [w1] "=&w"(w1),
          "+r"(w), "+r"(next), "+r"(at), "+r"(n)
        :
        : "memory", "r0", "r1", "r2", "r3");
}

/* sum = the products of k inputs with the weights of two vectors of outputs. */
INLAY_INLINE void inlay_dense_pair(inlay_f4 *sum, const float *x,
                                   const float *first, const float *second,
                                   int32_t k)
{
    int32_t i = k & ~3;
    sum[0] = inlay_splat4(0.0f);
    sum[1] = inlay_splat4(0.0f);
    if (i)
        inlay_dense_fours(sum, x, first, second, k >> 2);
    for (; i < k; i++) {
        sum[0] = vfmaq_n_f32(sum[0], inlay_load4(first + 4 * i), x[i]);
        sum[1] = vfmaq_n_f32(sum[1], inlay_load4(second + 4 * i), x[i]);
    }
}

/* Outputs from n on, as many as there are; q may be NULL. */
INLAY_INLINE void inlay_dense_vector(const inlay_dense_params *p, float *y,
                                     inlay_f4 v, const float *bias,
                                     const float *q, int32_t n)
{
    const mve_pred16_t exist = vctp32q((uint32_t)(p->n - n));
    v = vaddq_f32(v, inlay_load4(bias + n));
    if (q)
        v = vaddq_f32(v, vld1q_z_f32(q + n, exist));
    if (p->clamp & 1)
        v = inlay_max4(inlay_splat4(p->a), v);
    if (p->clamp & 2)
        v = inlay_min4(inlay_splat4(p->b), v);
    vst1q_p_f32(y + n, v, exist);
}

/* All outputs. The last four may have no others beside them: they are made as both. */
INLAY_INLINE void inlay_dense_all(const inlay_dense_params *p, float *y,
                                  const float *x, const float *w,
                                  const float *bias, const float *q)
{
    const ptrdiff_t vector = 4 * (ptrdiff_t)p->k;
    int32_t n;
    for (n = 0; n < p->n; n += 8, w += 2 * vector) {
        const int both = p->n - n > 4;
        inlay_f4 sum[2];
        inlay_dense_pair(sum, x, w, both ? w + vector : w, p->k);
        inlay_dense_vector(p, y, sum[0], bias, q, n);
        if (both)
            inlay_dense_vector(p, y, sum[1], bias, q, n + 4);
    }
}
