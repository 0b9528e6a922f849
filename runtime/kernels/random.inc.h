/* SPDX-License-Identifier: 0BSD
 * Template of random numbers. Included by random.h.
 * INLAY_T: the element type; INLAY_C(1.0) a constant of it, INLAY_F(log) a function of <math.h>,
 * INLAY_N(name) a name, INLAY_UNIT(bits) a number in [0, 1) of 64 random bits. */

/* By Box and Muller; the logarithm is of a number in (0, 1]. */
static inline INLAY_T INLAY_N(random_normal)(int64_t seed, int64_t i)
{
    const INLAY_T u = INLAY_C(1.0) - INLAY_UNIT(inlay_random_bits(seed, 2 * i));
    const INLAY_T v = INLAY_UNIT(inlay_random_bits(seed, 2 * i + 1));
    return INLAY_F(sqrt)(-INLAY_C(2.0) * INLAY_F(log)(u)) *
           INLAY_F(cos)(INLAY_C(6.283185307179586) * v);
}

static inline int INLAY_N(random)(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_random_params *p = (const inlay_random_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T a = (INLAY_T)p->a;
    const INLAY_T b = (INLAY_T)p->b;
    int64_t i;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++) {
        if (p->normal)
            y[i] = a + b * INLAY_N(random_normal)(p->seed, i);
        else {
            const INLAY_T v = a + (b - a) * INLAY_UNIT(inlay_random_bits(p->seed, i));
            y[i] = v < b ? v : a; /* rounded up to the end that is not in it */
        }
    }
    return 0;
}

static inline int INLAY_N(multinomial)(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t r1)
{
    const inlay_multinomial_params *p = (const inlay_multinomial_params *)s->params;
    void *y = inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    int64_t b, i, k;
    (void)r0, (void)r1;
    for (b = 0; b < p->batch; b++, x += p->classes) {
        INLAY_T most = x[0];
        INLAY_T sum = INLAY_C(0.0);
        for (k = 1; k < p->classes; k++)
            most = x[k] > most ? x[k] : most;
        for (k = 0; k < p->classes; k++)
            sum += INLAY_F(exp)(x[k] - most);
        for (i = b * p->samples; i < (b + 1) * p->samples; i++) {
            INLAY_T left = sum * INLAY_UNIT(inlay_random_bits(p->seed, i));
            for (k = 0; k < p->classes - 1; k++) {
                left -= INLAY_F(exp)(x[k] - most);
                if (left < INLAY_C(0.0))
                    break;
            }
            if (p->wide)
                ((int64_t *)y)[i] = k;
            else
                ((int32_t *)y)[i] = (int32_t)k;
        }
    }
    return 0;
}

#undef INLAY_T
#undef INLAY_C
#undef INLAY_F
#undef INLAY_N
