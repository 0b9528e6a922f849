/* SPDX-License-Identifier: 0BSD
 * Plain convolution, transposed convolution, mean and Lp norm for one element type. Included by
 * window_plain.h. */

/* sum + the sum of x[i x_step] w[i w_step], i < n. */
INLAY_INLINE INLAY_T inlay_typed(conv_dot)(INLAY_T sum, const INLAY_T *x,
                                           int64_t x_step, const INLAY_T *w,
                                           int64_t w_step, int32_t n)
{
    int32_t i;
    for (i = 0; i < n; i++)
        sum += x[i * x_step] * w[i * w_step];
    return sum;
}

/* One element without its bias. w: at the weights of its channel; transposed: at those of the first
 * channel of x in its group. */
INLAY_INLINE INLAY_T inlay_typed(conv_sum)(const inlay_window_params *p,
                                           const INLAY_T *x, const INLAY_T *w,
                                           const inlay_place5 *to,
                                           const int transposed)
{
    const int32_t *z = to->z;
    const int32_t first = to->c / p->oc * p->ic;
    const int64_t all = inlay_tap_count(p);
    const int64_t next = transposed ? p->oc * all : all;
    inlay_taps taps;
    int32_t k[3];
    INLAY_T sum = 0;
    int more;
    if (transposed)
        taps = inlay_taps_back(p, z);
    else
        taps = inlay_taps_of(p, z);
    more = inlay_tap_start(&taps, k);
    for (; more; more = inlay_tap_next(&taps, k)) {
        const INLAY_T *tap = w + inlay_tap_index(p, k);
        const INLAY_T *from = x;
        int32_t at[3];
        if (transposed)
            inlay_tap_back(p, z, k, at);
        else
            inlay_tap_at(p, z, k, at);
        from += inlay_at5(p->xs, to->n, first, at);
        sum = inlay_typed(conv_dot)(sum, from, p->xs[1], tap, next, p->ic);
    }
    return sum;
}

/* The element of y at a place, without its bias. */
INLAY_INLINE INLAY_T inlay_typed(conv_one)(const inlay_window_params *p,
                                           const INLAY_T *x, const INLAY_T *w,
                                           const inlay_place5 *at,
                                           const int transposed)
{
    const int64_t taps = inlay_tap_count(p);
    const int32_t group = at->c / p->oc;
    const int32_t own = at->c % p->oc;
    if (transposed)
        w += ((int64_t)group * p->ic * p->oc + own) * taps;
    else
        w += at->c * (p->ic * taps);
    return inlay_typed(conv_sum)(p, x, w, at, transposed);
}

INLAY_INLINE int inlay_typed(conv_any)(void *const *base, const inlay_step *s,
                                       const int transposed)
{
    const inlay_window_params *p = (const inlay_window_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *w = (const INLAY_T *)inlay_at(base, s, 2);
    const INLAY_T *b = (const INLAY_T *)inlay_at(base, s, 3);
    inlay_place5 at = { 0, 0, { 0, 0, 0 } };
    const int32_t channels = p->groups * p->oc;
    int more = p->images > 0 && channels > 0;
    for (; more; more = inlay_next5(p, channels, &at)) {
        const int64_t to = inlay_at5(p->ys, at.n, at.c, at.z);
        INLAY_T v = inlay_typed(conv_one)(p, x, w, &at, transposed);
        if (b)
            v += b[at.c];
        y[to] = v;
    }
    return 0;
}

static inline int inlay_typed(conv_plain)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_typed(conv_any)(base, s, 0);
}

static inline int inlay_typed(deconv_plain)(void *const *base,
                                            const inlay_step *s, int32_t r0,
                                            int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_typed(conv_any)(base, s, 1);
}

/* |x|^p */
static inline INLAY_T inlay_typed(lp_power)(INLAY_T x, int32_t p)
{
    if (p == 1)
        return INLAY_F(fabs)(x);
    if (p == 2)
        return x * x;
    return INLAY_F(pow)(INLAY_F(fabs)(x), (INLAY_T)p);
}

/* sum^(1 / p) */
static inline INLAY_T inlay_typed(lp_root)(INLAY_T sum, int32_t p)
{
    if (p == 1)
        return sum;
    if (p == 2)
        return INLAY_F(sqrt)(sum);
    return INLAY_F(pow)(sum, 1 / (INLAY_T)p);
}

/* One element of a mean, or of an Lp norm. */
INLAY_INLINE INLAY_T inlay_typed(sumpool_one)(const inlay_window_params *p,
                                              const INLAY_T *x,
                                              const inlay_place5 *to,
                                              const int mean)
{
    const inlay_taps taps = inlay_taps_of(p, to->z);
    const int64_t count = inlay_taps_counted(p, &taps, to->z);
    int32_t k[3];
    INLAY_T sum = 0;
    int more = inlay_tap_start(&taps, k);
    for (; more; more = inlay_tap_next(&taps, k)) {
        int32_t at[3];
        INLAY_T v;
        inlay_tap_at(p, to->z, k, at);
        v = x[inlay_at5(p->xs, to->n, to->c, at)];
        sum += mean ? v : inlay_typed(lp_power)(v, p->p);
    }
    if (!mean)
        return inlay_typed(lp_root)(sum, p->p);
    return count ? sum / (INLAY_T)count : 0;
}

/* Operands: y, x. */
INLAY_INLINE int inlay_typed(sumpool)(void *const *base, const inlay_step *s,
                                      const int mean)
{
    const inlay_window_params *p = (const inlay_window_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    inlay_place5 at = { 0, 0, { 0, 0, 0 } };
    int more = p->images > 0 && p->ic > 0;
    for (; more; more = inlay_next5(p, p->ic, &at)) {
        const int64_t to = inlay_at5(p->ys, at.n, at.c, at.z);
        y[to] = inlay_typed(sumpool_one)(p, x, &at, mean);
    }
    return 0;
}

static inline int inlay_typed(avgpool_plain)(void *const *base,
                                             const inlay_step *s, int32_t r0,
                                             int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_typed(sumpool)(base, s, 1);
}

static inline int inlay_typed(lppool_plain)(void *const *base,
                                            const inlay_step *s, int32_t r0,
                                            int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_typed(sumpool)(base, s, 0);
}
