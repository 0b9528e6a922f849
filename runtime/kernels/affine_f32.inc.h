/* SPDX-License-Identifier: 0BSD
 * Template of affine_f32.h for vectors of INLAY_L channels: from channel c on as many as there are;
 * returns the first that is left. */

static inline int32_t INLAY_W(affine)(const inlay_affine *m, float *y,
                                      const float *x, int32_t pixels, int32_t c)
{
    for (; m->channels - c >= INLAY_L; c += INLAY_L) {
        const INLAY_FLOATS scale = INLAY_W(load)(m->scale + c);
        const INLAY_FLOATS shift = INLAY_W(load)(m->shift + c);
        const INLAY_FLOATS lo = INLAY_W(splat)(m->lo);
        const INLAY_FLOATS hi = INLAY_W(splat)(m->hi);
        int32_t i;
        for (i = 0; i < pixels; i++) {
            INLAY_FLOATS v = INLAY_W(load)(x + i * m->xs + c);
            v = INLAY_W(fma)(v, scale, shift);
            if (m->clamp & 1)
                v = INLAY_W(max)(lo, v);
            if (m->clamp & 2)
                v = INLAY_W(min)(hi, v);
            INLAY_W(store)(y + i * m->ys + c, v);
        }
    }
    return c;
}
