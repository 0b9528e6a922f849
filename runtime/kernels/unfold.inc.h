/* SPDX-License-Identifier: 0BSD
 * Template of windows put back into images. Included by unfold.h. */

/* y[image] += x[tap][block], one plane: returns where x ends. */
static inline const INLAY_T *
inlay_typed(col2im_plane)(const inlay_col2im_params *p, INLAY_T *y,
                          const INLAY_T *x, int64_t taps, int64_t blocks)
{
    int64_t t, b;
    for (t = 0; t < taps; t++)
        for (b = 0; b < blocks; b++) {
            const int64_t at = inlay_col2im_place(p, t, b);
            if (at >= 0)
                y[at] += *x;
            x++;
        }
    return x;
}

static inline int inlay_typed(col2im)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    inlay_col2im_params p;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    int64_t image, taps, blocks, i;
    (void)r0;
    (void)r1;
    if (!inlay_col2im_open(base, s, &p))
        return -INLAY_E_SHAPE;
    image = inlay_product(p.image, p.axes);
    taps = inlay_product(p.tap, p.axes);
    blocks = inlay_product(p.blocks, p.axes);
    memset(y, 0, (size_t)(p.planes * image) * sizeof *y);
    for (i = 0; i < p.planes; i++) {
        x = inlay_typed(col2im_plane)(&p, y, x, taps, blocks);
        y += image;
    }
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
    const INLAY_T last_row = (INLAY_T)(h - 1);
    const INLAY_T last_column = (INLAY_T)(w - 1);
    const INLAY_T down = v - v0;
    const INLAY_T right = u - u0;
    INLAY_T sum = 0;
    int i, k;
    for (i = 0; i < 2; i++) {
        const INLAY_T row = v0 + (INLAY_T)i;
        const INLAY_T share = i ? down : 1 - down;
        if (!(row >= 0 && row <= last_row))
            continue;
        for (k = 0; k < 2; k++) {
            const INLAY_T column = u0 + (INLAY_T)k;
            const INLAY_T weight = share * (k ? right : 1 - right);
            if (!(column >= 0 && column <= last_column))
                continue;
            sum += weight * x[(int64_t)row * w + (int64_t)column];
        }
    }
    return sum;
}

/* The operands of a deformed convolution. */
typedef struct inlay_typed(deformed)
{
    const INLAY_T *x;
    const INLAY_T *w;
    const INLAY_T *offset;
    const INLAY_T *mask;
}
inlay_typed(deformed);

/* What lies under tap t of the window of a place, in channel x; offset: at those of the tap. */
static inline INLAY_T inlay_typed(deform_tap)(const inlay_deform_conv_params *p,
                                              const INLAY_T *offset,
                                              const INLAY_T *x,
                                              const inlay_deform_place *place,
                                              int64_t t)
{
    const int64_t plane = p->oh * p->ow;
    const int64_t row = place->v * p->sh - p->ph + t / p->kw * p->dh;
    const int64_t column = place->u * p->sw - p->pw + t % p->kw * p->dw;
    const INLAY_T v = (INLAY_T)row + offset[0];
    const INLAY_T u = (INLAY_T)column + offset[plane];
    return inlay_typed(bilinear_or_zero)(x, p->h, p->w, v, u);
}

/* `sum` and one channel x of the image at one place: w [taps] times what lies there. */
static inline INLAY_T
inlay_typed(deform_channel)(const inlay_deform_conv_params *p,
                            const inlay_typed(deformed) * from,
                            const INLAY_T *x, const INLAY_T *w,
                            const inlay_deform_place *place, INLAY_T sum)
{
    const int64_t taps = p->kh * p->kw;
    const int64_t plane = p->oh * p->ow;
    const int64_t first = place->set * taps * plane + place->at;
    const INLAY_T *offset = from->offset + first + place->set * taps * plane;
    int64_t t;
    for (t = 0; t < taps; t++) {
        const INLAY_T value = inlay_typed(deform_tap)(p, offset, x, place, t);
        INLAY_T mask = 1;
        if (from->mask)
            mask = from->mask[first + t * plane];
        sum += w[t] * value * mask;
        offset += 2 * plane;
    }
    return sum;
}

/* y[image][o] at a place, without its bias. */
static inline INLAY_T
inlay_typed(deform_sum)(const inlay_deform_conv_params *p,
                        const inlay_typed(deformed) * from, int64_t image,
                        int64_t o, inlay_deform_place *place)
{
    const int64_t plane = p->h * p->w;
    const int64_t taps = p->kh * p->kw;
    const int64_t each = p->c / p->groups;
    const int64_t own = p->c / p->offset_groups;
    const int64_t group = o / (p->o / p->groups);
    const int64_t first = group * each;
    const INLAY_T *x = from->x + (image * p->c + first) * plane;
    const INLAY_T *w = from->w + o * each * taps;
    INLAY_T sum = 0;
    int64_t c;
    for (c = first; c < first + each; c++) {
        place->set = image * p->offset_groups + c / own;
        sum = inlay_typed(deform_channel)(p, from, x, w, place, sum);
        x += plane;
        w += taps;
    }
    return sum;
}

/* One plane of the result: returns where y ends. */
static inline INLAY_T *
inlay_typed(deform_plane)(const inlay_deform_conv_params *p,
                          const inlay_typed(deformed) * from, INLAY_T *y,
                          int64_t image, int64_t o, INLAY_T bias)
{
    inlay_deform_place place;
    INLAY_T sum;
    place.at = 0;
    for (place.v = 0; place.v < p->oh; place.v++)
        for (place.u = 0; place.u < p->ow; place.u++) {
            sum = inlay_typed(deform_sum)(p, from, image, o, &place);
            y[place.at] = bias + sum;
            place.at++;
        }
    return y + place.at;
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
    int64_t i;
    (void)r0;
    (void)r1;
    from.x = (const INLAY_T *)inlay_at(base, s, 1);
    from.w = (const INLAY_T *)inlay_at(base, s, 2);
    from.offset = (const INLAY_T *)inlay_at(base, s, 3);
    from.mask = (const INLAY_T *)inlay_at(base, s, 5);
    for (i = 0; i < p->n * p->o; i++) {
        const int64_t o = i % p->o;
        const INLAY_T add = bias ? bias[o] : 0;
        y = inlay_typed(deform_plane)(p, &from, y, i / p->o, o, add);
    }
    return 0;
}
