/* SPDX-License-Identifier: 0BSD
 * Sums, products and means of qstep.h where floats are software's: of products of integers, with
 * the same bits. Included by qstep.h. */

/* ---- sums ---- */

enum { INLAY_QSOFT_BITS = 20 }; /* behind the point */

/* Numbers of y are (byte a) times a, and (byte b) times b, and start. */
typedef struct inlay_qsoft_sum {
    int32_t a, b;
    uint32_t start;
} inlay_qsoft_sum;

/* 2^20 of / by; 0: that is not an integer of 21 bits at the most, or next to nothing. */
static inline int32_t inlay_qsoft_factor(float of, float by)
{
    const float factor = of / by * (float)(1 << INLAY_QSOFT_BITS);
    const float most = 2097152.0f;
    if (!inlay_qdivides(of, by))
        return 0;
    if (!(factor >= 1.0f && factor < most))
        return 0;
    return (int32_t)(factor + 0.5f);
}

/* Numbers are below 1024, so that floats round them, their parts and the quotient by less than 256
 * units in all; factors are rounded by less than 512. Nearer than 1024 to a half, floats decide. */
enum { INLAY_QSOFT_NEAR = 1024 };

static inline int inlay_qsoft_set(inlay_qsoft_sum *sum, const inlay_qstep *q)
{
    const uint32_t half = UINT32_C(1) << (INLAY_QSOFT_BITS - 1);
    sum->a = inlay_qsoft_factor(q->sa, q->sy);
    sum->b = inlay_qsoft_factor(q->sb, q->sy);
    sum->start = half + INLAY_QSOFT_NEAR;
    sum->start -= (uint32_t)(q->za * sum->a);
    sum->start -= (uint32_t)(q->zb * sum->b);
    return sum->a && sum->b;
}

/* The byte of one element of each by floats. */
INLAY_APART uint8_t inlay_qsoft_unclear(const inlay_qstep *q, int32_t a,
                                        int32_t b)
{
    const int32_t number_a = (a ^ q->flip_a) - q->za;
    const int32_t number_b = (b ^ q->flip_b) - q->zb;
    const float of_a = (float)number_a * q->sa;
    const float of_b = (float)number_b * q->sb;
    const float v = (of_a + of_b) / q->sy;
    return (uint8_t)(inlay_saturate(v, q->zy, q->lo, q->hi) ^ q->flip_y);
}

/* n bytes of sums, if there are such factors; returns how many were made. */
INLAY_APART int32_t inlay_soft_sums_of(uint8_t *y, const uint8_t *a,
                                       const uint8_t *b, int32_t n,
                                       int32_t step_a, int32_t step_b,
                                       const inlay_qstep *numbers)
{
    const uint32_t unclear =
        (UINT32_C(1) << INLAY_QSOFT_BITS) - 2 * INLAY_QSOFT_NEAR;
    const inlay_qstep q = *numbers;
    inlay_qsoft_sum sum;
    int32_t i;
    if (!inlay_qsoft_set(&sum, numbers))
        return 0;
    for (i = 0; i < n; i++, a += step_a, b += step_b) {
        const int32_t of_a = *a ^ q.flip_a;
        const int32_t of_b = *b ^ q.flip_b;
        uint32_t v = sum.start;
        int32_t byte;
        v += (uint32_t)(of_a * sum.a);
        v += (uint32_t)(of_b * sum.b);
        byte = (int32_t)v >> INLAY_QSOFT_BITS;
        byte += q.zy;
        byte = byte > q.lo ? byte : q.lo;
        byte = byte < q.hi ? byte : q.hi;
        if (v & unclear)
            y[i] = (uint8_t)(byte ^ q.flip_y);
        else
            y[i] = inlay_qsoft_unclear(numbers, *a, *b);
    }
    return n;
}

/* ---- one number times a factor: products, means ---- */

enum {
    INLAY_QONE_BITS = 12, /* behind the point */
    /* Numbers are below 512: floats round them, the factor and the quotient by less than a unit
     * in all, what is cut off are two. Nearer than that to a half, floats decide. */
    INLAY_QONE_NEAR = 4,
    INLAY_QONE_UP =
        14, /* a number has 17 bits with its sign: so many more fill 31 */
    INLAY_QONE_MOST = 256 /* pixels of a window whose sum has as many bits */
};

/* A factor below 2: digits, at least 2^30, times 2^-(30 + shift). */
typedef struct inlay_qsoft_one {
    int32_t digits, shift;
    int32_t offset; /* zero point, a half, and half of what is unclear */
    int32_t lo, hi, flip;
} inlay_qsoft_one;

/* 0: the factor is not between 2^-30 and 2. */
static inline int inlay_qsoft_one_set(inlay_qsoft_one *one, float factor,
                                      const inlay_qstep *q)
{
    const uint32_t bits = inlay_half_bits(factor);
    const int32_t half = 1 << (INLAY_QONE_BITS - 1);
    one->digits = inlay_soft_digits(bits);
    one->shift = 127 - (int32_t)(bits >> 23);
    one->offset = q->zy * (1 << INLAY_QONE_BITS) + half + INLAY_QONE_NEAR;
    one->lo = q->lo;
    one->hi = q->hi;
    one->flip = q->flip_y;
    return one->shift >= 0 && one->shift <= 30;
}

/* Puts the byte of a number; 0: it is unclear. */
INLAY_INLINE int inlay_qsoft_put(const inlay_qsoft_one *one, int32_t number,
                                 uint8_t *y)
{
    const int32_t unclear = (1 << INLAY_QONE_BITS) - 2 * INLAY_QONE_NEAR;
    const int32_t up = number * (1 << INLAY_QONE_UP);
    const int32_t v =
        (inlay_upper_product(up, one->digits) >> one->shift) + one->offset;
    int32_t byte = v >> INLAY_QONE_BITS;
    byte = byte > one->lo ? byte : one->lo;
    byte = byte < one->hi ? byte : one->hi;
    *y = (uint8_t)(byte ^ one->flip);
    return v & unclear;
}

/* The byte of a product by floats. */
INLAY_APART uint8_t inlay_qsoft_product(const inlay_qstep *q, int32_t a,
                                        int32_t b)
{
    const float of_a = (float)a * q->sa;
    const float of_b = (float)b * q->sb;
    const float v = of_a * of_b / q->sy;
    return (uint8_t)(inlay_saturate(v, q->zy, q->lo, q->hi) ^ q->flip_y);
}

/* n bytes of products, if there is such a factor; returns how many were made. */
INLAY_APART int32_t inlay_soft_products_of(uint8_t *y, const uint8_t *a,
                                           const uint8_t *b, int32_t n,
                                           int32_t step_a, int32_t step_b,
                                           const inlay_qstep *numbers)
{
    const inlay_qstep q = *numbers;
    inlay_qsoft_one one;
    int32_t i;
    if (!inlay_qdivides(q.sa, q.sy) || !inlay_scale_suits(q.sb) ||
        !inlay_qsoft_one_set(&one, q.sa * q.sb / q.sy, numbers))
        return 0;
    for (i = 0; i < n; i++, a += step_a, b += step_b) {
        const int32_t of_a = (*a ^ q.flip_a) - q.za;
        const int32_t of_b = (*b ^ q.flip_b) - q.zb;
        if (!inlay_qsoft_put(&one, of_a * of_b, y + i))
            y[i] = inlay_qsoft_product(numbers, of_a, of_b);
    }
    return n;
}

/* The byte of the mean of `count` numbers by floats. */
INLAY_APART uint8_t inlay_qsoft_mean(const inlay_qstep *q, int32_t sum,
                                     int32_t count)
{
    return inlay_qstep_mean(q, sum, count);
}

/* n bytes of means of sums that are too large by `zeros`, if there is such a factor; returns how
 * many were made. */
INLAY_APART int32_t inlay_soft_means_of(uint8_t *y, const int32_t *sum,
                                        int32_t n, int32_t zeros, int32_t count,
                                        const inlay_qstep *q)
{
    inlay_qsoft_one one;
    int32_t i;
    if (count > INLAY_QONE_MOST || !inlay_qdivides(q->sa, q->sy) ||
        !inlay_qsoft_one_set(&one, q->sa / (float)count / q->sy, q))
        return 0;
    for (i = 0; i < n; i++)
        if (!inlay_qsoft_put(&one, sum[i] - zeros, y + i))
            y[i] = inlay_qsoft_mean(q, sum[i] - zeros, count);
    return n;
}
