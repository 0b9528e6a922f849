/* SPDX-License-Identifier: 0BSD
 * Sums of qstep.h where floats are software's: of two products of integers, with the same bits.
 * Included by qstep.h. */

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
