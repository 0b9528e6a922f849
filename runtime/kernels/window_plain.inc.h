/* SPDX-License-Identifier: 0BSD
 * Plain convolution, transposed convolution, mean and Lp norm for one element type. Included by
 * window_plain.h. */

/* One element without its bias; w: at the weights of its channel. */
static inline INLAY_T inlay_typed(conv_sum)(const inlay_window_params *p,
                                            const INLAY_T *x, const INLAY_T *w,
                                            int32_t n, int32_t group,
                                            const int32_t *z)
{
    const int64_t taps = inlay_tap_count(p);
    int32_t k[3] = { 0, 0, 0 };
    INLAY_T sum = 0;
    do {
        const INLAY_T *tap = w + inlay_tap_index(p, k);
        int32_t at[3], i;
        if (!inlay_tap(p, z, k, at))
            continue;
        for (i = 0; i < p->ic; i++) {
            const int32_t c = group * p->ic + i;
            sum += x[inlay_at5(p->xs, n, c, at)] * tap[i * taps];
        }
    } while (inlay_next3(k, p->kernel));
    return sum;
}

/* The same of a transposed convolution; w: at the weights of the group's first input channel. */
static inline INLAY_T inlay_typed(deconv_sum)(const inlay_window_params *p,
                                              const INLAY_T *x,
                                              const INLAY_T *w, int32_t n,
                                              int32_t group, const int32_t *z)
{
    const int64_t taps = inlay_tap_count(p);
    int32_t k[3] = { 0, 0, 0 };
    INLAY_T sum = 0;
    do {
        const INLAY_T *tap = w + inlay_tap_index(p, k);
        int32_t at[3], i;
        if (!inlay_back_tap(p, z, k, at))
            continue;
        for (i = 0; i < p->ic; i++) {
            const int32_t c = group * p->ic + i;
            sum += x[inlay_at5(p->xs, n, c, at)] * tap[i * p->oc * taps];
        }
    } while (inlay_next3(k, p->kernel));
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
    if (transposed) {
        w += ((int64_t)group * p->ic * p->oc + own) * taps;
        return inlay_typed(deconv_sum)(p, x, w, at->n, group, at->z);
    }
    w += at->c * (p->ic * taps);
    return inlay_typed(conv_sum)(p, x, w, at->n, group, at->z);
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
    int32_t k[3] = { 0, 0, 0 };
    int32_t count = 0;
    INLAY_T sum = 0;
    do {
        int32_t at[3];
        if (inlay_tap(p, to->z, k, at)) {
            const INLAY_T v = x[inlay_at5(p->xs, to->n, to->c, at)];
            sum += mean ? v : inlay_typed(lp_power)(v, p->p);
            count++;
        } else if (p->count_pad && inlay_tap_padded(p, to->z, k)) {
            count++;
        }
    } while (inlay_next3(k, p->kernel));
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
