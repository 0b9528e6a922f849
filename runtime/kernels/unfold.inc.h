/* SPDX-License-Identifier: 0BSD
 * Template of windows put back into images. Included by unfold.h. */

/* y[image] += x[tap][block], one plane: returns where x ends. */
static inline const INLAY_T *
inlay_typed(col2im_plane)(const inlay_col2im_params *p, INLAY_T *y,
                          const INLAY_T *x, int64_t taps, int64_t blocks)
{
    int64_t t, b;
    for (t = 0; t < taps; t++)
        for (b = 0; b < blocks; b++, x++) {
            const int64_t at = inlay_col2im_place(p, t, b);
            if (at >= 0)
                y[at] += *x;
        }
    return x;
}

static inline int inlay_typed(col2im)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    inlay_col2im_params p = *(const inlay_col2im_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    int64_t image, taps, blocks, i;
    (void)r0;
    (void)r1;
    if (!p.tap[0] &&
        !inlay_col2im_read(&p, (const int64_t *)inlay_at(base, s, 2),
                           (const int64_t *)inlay_at(base, s, 3)))
        return -INLAY_E_SHAPE;
    image = inlay_product(p.image, p.axes);
    taps = inlay_product(p.tap, p.axes);
    blocks = inlay_product(p.blocks, p.axes);
    memset(y, 0, (size_t)(p.planes * image) * sizeof *y);
    for (i = 0; i < p.planes; i++, y += image)
        x = inlay_typed(col2im_plane)(&p, y, x, taps, blocks);
    return 0;
}

static inline int inlay_typed(max_unpool)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    const inlay_max_unpool_params *p =
        (const inlay_max_unpool_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    int64_t i;
    (void)r0;
    (void)r1;
    memset(y, 0, (size_t)p->total * sizeof *y);
    for (i = 0; i < p->count; i++) {
        const int64_t at = inlay_unpool_place(p, index[i]);
        if (at < 0)
            return -INLAY_E_INDEX;
        y[at] = x[i];
    }
    return 0;
}

static inline INLAY_T inlay_typed(bilinear_or_zero)(const INLAY_T *x, int64_t h,
                                                    int64_t w, INLAY_T v,
                                                    INLAY_T u)
{
    const INLAY_T v0 = INLAY_F(floor)(v);
    const INLAY_T u0 = INLAY_F(floor)(u);
    INLAY_T sum = 0;
    int i, k;
    for (i = 0; i < 2; i++)
        for (k = 0; k < 2; k++) {
            const INLAY_T a = v0 + (INLAY_T)i;
            const INLAY_T b = u0 + (INLAY_T)k;
            if (!(a >= 0 && b >= 0 && a <= (INLAY_T)(h - 1) &&
                  b <= (INLAY_T)(w - 1)))
                continue;
            sum += (i ? v - v0 : 1 - (v - v0)) * (k ? u - u0 : 1 - (u - u0)) *
                   x[(int64_t)a * w + (int64_t)b];
        }
    return sum;
}

/* The operands of a deformed convolution. */
typedef struct inlay_typed(deformed)
{
    const INLAY_T *x, *w, *offset, *mask;
}
inlay_typed(deformed);

/* `sum` and one channel x of the image, whose taps are moved by offsets `set` for the place (v, u):
 * w [taps] times what lies there. */
static inline INLAY_T
inlay_typed(deform_channel)(const inlay_deform_conv_params *p,
                            const inlay_typed(deformed) * from,
                            const INLAY_T *x, const INLAY_T *w, int64_t set,
                            int64_t v, int64_t u, INLAY_T sum)
{
    const int64_t taps = p->kh * p->kw;
    const int64_t plane = p->oh * p->ow;
    const int64_t at = v * p->ow + u;
    int64_t t;
    for (t = 0; t < taps; t++) {
        const int64_t tap = set * taps + t;
        const INLAY_T *move = from->offset + tap * 2 * plane + at;
        const int64_t row = v * p->sh - p->ph + t / p->kw * p->dh;
        const int64_t column = u * p->sw - p->pw + t % p->kw * p->dw;
        const INLAY_T value =
            inlay_typed(bilinear_or_zero)(x, p->h, p->w, (INLAY_T)row + move[0],
                                          (INLAY_T)column + move[plane]);
        sum += w[t] * value * (from->mask ? from->mask[tap * plane + at] : 1);
    }
    return sum;
}

/* y[image][o][v][u] without its bias. */
static inline INLAY_T
inlay_typed(deform_sum)(const inlay_deform_conv_params *p,
                        const inlay_typed(deformed) * from, int64_t image,
                        int64_t o, int64_t v, int64_t u)
{
    const int64_t each = p->c / p->groups;
    const int64_t first = o / (p->o / p->groups) * each;
    INLAY_T sum = 0;
    int64_t c;
    for (c = 0; c < each; c++) {
        const int64_t group = (first + c) / (p->c / p->offset_groups);
        const int64_t channel = image * p->c + first + c;
        sum = inlay_typed(deform_channel)(
            p, from, from->x + channel * p->h * p->w,
            from->w + (o * each + c) * p->kh * p->kw,
            image * p->offset_groups + group, v, u, sum);
    }
    return sum;
}

static inline int inlay_typed(deform_conv)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    const inlay_deform_conv_params *p =
        (const inlay_deform_conv_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *bias = (const INLAY_T *)inlay_at(base, s, 4);
    inlay_typed(deformed) from;
    int64_t i, v, u;
    (void)r0;
    (void)r1;
    from.x = (const INLAY_T *)inlay_at(base, s, 1);
    from.w = (const INLAY_T *)inlay_at(base, s, 2);
    from.offset = (const INLAY_T *)inlay_at(base, s, 3);
    from.mask = (const INLAY_T *)inlay_at(base, s, 5);
    for (i = 0; i < p->n * p->o; i++)
        for (v = 0; v < p->oh; v++)
            for (u = 0; u < p->ow; u++) {
                const INLAY_T sum =
                    inlay_typed(deform_sum)(p, &from, i / p->o, i % p->o, v, u);
                *y++ = (bias ? bias[i % p->o] : 0) + sum;
            }
    return 0;
}
