/* SPDX-License-Identifier: 0BSD
 * Template of random numbers. Included by random.h. */

/* By Box and Muller; the logarithm is of a number in (0, 1]. */
static inline INLAY_T inlay_typed(random_normal)(int64_t seed, int64_t i)
{
    const INLAY_T u =
        INLAY_C(1.0) - inlay_typed(unit)(inlay_random_bits(seed, 2 * i));
    const INLAY_T v = inlay_typed(unit)(inlay_random_bits(seed, 2 * i + 1));
    return INLAY_F(sqrt)(-INLAY_C(2.0) * INLAY_F(log)(u)) *
           INLAY_F(cos)(INLAY_C(6.283185307179586) * v);
}

static inline int inlay_typed(random)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    const inlay_random_params *p = (const inlay_random_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T a = (INLAY_T)p->a;
    const INLAY_T b = (INLAY_T)p->b;
    int64_t i;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++) {
        if (p->normal)
            y[i] = a + b * inlay_typed(random_normal)(p->seed, i);
        else {
            const INLAY_T v =
                a + (b - a) * inlay_typed(unit)(inlay_random_bits(p->seed, i));
            y[i] = v < b ? v : a; /* rounded up to the end that is not in it */
        }
    }
    return 0;
}

/* A class by its probability: `left` of the sum of all exp(x - most) is to be taken off. */
static inline int64_t inlay_typed(draw_class)(const INLAY_T *x, int64_t classes,
                                              INLAY_T most, INLAY_T left)
{
    int64_t k;
    for (k = 0; k < classes - 1; k++) {
        left -= INLAY_F(exp)(x[k] - most);
        if (left < 0)
            break;
    }
    return k;
}

/* `samples` classes of one line of scores, from sample i on. */
static inline void inlay_typed(draw_classes)(const inlay_multinomial_params *p,
                                             void *y, const INLAY_T *x,
                                             int64_t i)
{
    const int64_t end = i + p->samples;
    INLAY_T most = x[0];
    INLAY_T sum = 0;
    int64_t k;
    for (k = 1; k < p->classes; k++)
        most = x[k] > most ? x[k] : most;
    for (k = 0; k < p->classes; k++)
        sum += INLAY_F(exp)(x[k] - most);
    for (; i < end; i++) {
        const uint64_t bits = inlay_random_bits(p->seed, i);
        const INLAY_T left = sum * inlay_typed(unit)(bits);
        k = inlay_typed(draw_class)(x, p->classes, most, left);
        if (p->wide)
            ((int64_t *)y)[i] = k;
        else
            ((int32_t *)y)[i] = (int32_t)k;
    }
}

static inline int inlay_typed(multinomial)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    const inlay_multinomial_params *p =
        (const inlay_multinomial_params *)s->params;
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    int64_t b;
    (void)r0;
    (void)r1;
    for (b = 0; b < p->batch; b++, x += p->classes)
        inlay_typed(draw_classes)(p, inlay_at(base, s, 0), x, b * p->samples);
    return 0;
}
