/* SPDX-License-Identifier: 0BSD
 * Template of affine_f32.h for vectors of INLAY_L channels. */

/* INLAY_L channels, from c on, of some pixels. */
INLAY_INLINE void INLAY_W(affine_block)(const inlay_affine *m, float *y,
                                        const float *x, int32_t pixels,
                                        int32_t c)
{
    const INLAY_FLOATS scale = INLAY_W(load)(m->scale + c);
    const INLAY_FLOATS shift = INLAY_W(load)(m->shift + c);
    const INLAY_FLOATS lo = INLAY_W(splat)(m->lo);
    const INLAY_FLOATS hi = INLAY_W(splat)(m->hi);
    const int32_t clamp = m->clamp;
    int32_t i;
    for (i = 0; i < pixels; i++) {
        const float *from = x + i * m->xs + c;
        float *to = y + i * m->ys + c;
        INLAY_FLOATS v = INLAY_W(load)(from);
        v = INLAY_W(fma)(v, scale, shift);
        if (clamp & 1)
            v = INLAY_W(max)(lo, v);
        if (clamp & 2)
            v = INLAY_W(min)(hi, v);
        INLAY_W(store)(to, v);
    }
}

/* From channel c on as many as there are; returns the first that is left. */
static inline int32_t INLAY_W(affine)(const inlay_affine *m, float *y,
                                      const float *x, int32_t pixels, int32_t c)
{
    const int32_t channels = m->channels;
    while (channels - c >= INLAY_L) {
        INLAY_W(affine_block)(m, y, x, pixels, c);
        c += INLAY_L;
    }
    return c;
}
