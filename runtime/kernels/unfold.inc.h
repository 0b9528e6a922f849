/* SPDX-License-Identifier: 0BSD
 * Template of windows put back into images. Included by unfold.h.
 * INLAY_T: the element type; INLAY_C(1.0) a constant of it, INLAY_F(floor) a function of <math.h>,
 * INLAY_N(name) a name. */

static inline int INLAY_N(col2im)(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    inlay_col2im_params known = *(const inlay_col2im_params *)s->params;
    const inlay_col2im_params *p = &known;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    int64_t image = 1;
    int64_t taps = 1;
    int64_t blocks = 1;
    int64_t i;
    int64_t t;
    int64_t b;
    int32_t a;
    (void)r0, (void)r1;
    if (!p->tap[0] && !inlay_col2im_read(&known, (const int64_t *)inlay_at(base, s, 2),
                                         (const int64_t *)inlay_at(base, s, 3)))
        return -INLAY_E_SHAPE;
    for (a = 0; a < p->axes; a++)
        image *= p->image[a], taps *= p->tap[a], blocks *= p->blocks[a];
    memset(y, 0, (size_t)(p->planes * image) * sizeof *y);
    for (i = 0; i < p->planes; i++, y += image)
        for (t = 0; t < taps; t++)
            for (b = 0; b < blocks; b++, x++) {
                const int64_t at = inlay_col2im_place(p, t, b);
                if (at >= 0)
                    y[at] += *x;
            }
    return 0;
}

static inline int INLAY_N(max_unpool)(void *const *base, const inlay_step *s, int32_t r0,
                                      int32_t r1)
{
    const inlay_max_unpool_params *p = (const inlay_max_unpool_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    int64_t i;
    int32_t a;
    (void)r0, (void)r1;
    memset(y, 0, (size_t)p->total * sizeof *y);
    for (i = 0; i < p->count; i++) {
        int64_t rest = index[i];
        int64_t at = 0;
        int64_t scale = 1;
        if (rest < 0)
            return -INLAY_E_INDEX;
        for (a = p->rank - 1; a >= 0; a--) {
            const int64_t place = a ? rest % p->from[a] : rest;
            if (place >= p->to[a])
                return -INLAY_E_INDEX;
            at += place * scale;
            scale *= p->to[a];
            rest /= p->from[a];
        }
        y[at] = x[i];
    }
    return 0;
}

static inline INLAY_T INLAY_N(bilinear_or_zero)(const INLAY_T *x, int64_t h, int64_t w, INLAY_T v,
                                                INLAY_T u)
{
    const INLAY_T v0 = INLAY_F(floor)(v);
    const INLAY_T u0 = INLAY_F(floor)(u);
    INLAY_T sum = INLAY_C(0.0);
    int i, k;
    for (i = 0; i < 2; i++)
        for (k = 0; k < 2; k++) {
            const INLAY_T a = v0 + (INLAY_T)i;
            const INLAY_T b = u0 + (INLAY_T)k;
            if (!(a >= INLAY_C(0.0) && b >= INLAY_C(0.0) && a <= (INLAY_T)(h - 1) &&
                  b <= (INLAY_T)(w - 1)))
                continue;
            sum += (i ? v - v0 : INLAY_C(1.0) - (v - v0)) * (k ? u - u0 : INLAY_C(1.0) - (u - u0)) *
                   x[(int64_t)a * w + (int64_t)b];
        }
    return sum;
}

static inline INLAY_T INLAY_N(deform_sum)(const inlay_deform_conv_params *p, const INLAY_T *x,
                                          const INLAY_T *w, const INLAY_T *offset,
                                          const INLAY_T *mask, int64_t image, int64_t o, int64_t v,
                                          int64_t u)
{
    const int64_t each = p->c / p->groups;
    const int64_t first = o / (p->o / p->groups) * each;
    const int64_t taps = p->kh * p->kw;
    const int64_t plane = p->oh * p->ow;
    INLAY_T sum = INLAY_C(0.0);
    int64_t c, t;
    for (c = 0; c < each; c++) {
        const int64_t set = (first + c) / (p->c / p->offset_groups);
        for (t = 0; t < taps; t++) {
            const int64_t at = v * p->ow + u;
            const int64_t tap = (image * p->offset_groups + set) * taps + t;
            const INLAY_T *move = offset + tap * 2 * plane + at;
            const INLAY_T row = (INLAY_T)(v * p->sh - p->ph + t / p->kw * p->dh) + move[0];
            const INLAY_T column = (INLAY_T)(u * p->sw - p->pw + t % p->kw * p->dw) + move[plane];
            const INLAY_T value = INLAY_N(bilinear_or_zero)(
                x + (image * p->c + first + c) * p->h * p->w, p->h, p->w, row, column);
            sum += w[(o * each + c) * taps + t] * value *
                   (mask ? mask[tap * plane + at] : INLAY_C(1.0));
        }
    }
    return sum;
}

static inline int INLAY_N(deform_conv)(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t r1)
{
    const inlay_deform_conv_params *p = (const inlay_deform_conv_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *w = (const INLAY_T *)inlay_at(base, s, 2);
    const INLAY_T *offset = (const INLAY_T *)inlay_at(base, s, 3);
    const INLAY_T *bias = (const INLAY_T *)inlay_at(base, s, 4);
    const INLAY_T *mask = (const INLAY_T *)inlay_at(base, s, 5);
    int64_t i, o, v, u;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++)
        for (o = 0; o < p->o; o++)
            for (v = 0; v < p->oh; v++)
                for (u = 0; u < p->ow; u++)
                    *y++ = (bias ? bias[o] : INLAY_C(0.0)) +
                           INLAY_N(deform_sum)(p, x, w, offset, mask, i, o, v, u);
    return 0;
}

#undef INLAY_T
#undef INLAY_C
#undef INLAY_F
#undef INLAY_N
