/* SPDX-License-Identifier: 0BSD
 * Bytes of floats where floats are software's: by integers, with the same bits. Included by
 * quant.h. */

enum {
    INLAY_SOFT_BITS = 20, /* of a number behind the point */
    INLAY_SOFT_FROM =
        262 /* a product of two floats' digits is shifted by this less what both have
                             as exponents */
};

/* Numbers are below 256: the reciprocal is rounded by less than 16 units, a division of floats
 * rounds by less than 16, what is cut off are two. Nearer than that to a half, floats decide. */
enum { INLAY_SOFT_NEAR = 64 };

/* What floats are quantized by. */
typedef struct inlay_soft_scale {
    float scale;
    int32_t digits; /* of the reciprocal: 2^30 at least */
    int32_t from;   /* the shift, plus the exponent of what is quantized */
    int32_t zero, lo, hi;
    int32_t of_zero; /* the byte of next to nothing */
} inlay_soft_scale;

/* The digits of a float: 2^30 at least. Of 0 they are anything. */
INLAY_INLINE int32_t inlay_soft_digits(uint32_t bits)
{
    return (int32_t)((bits << 8 | UINT32_C(0x80000000)) >> 1);
}

INLAY_INLINE int32_t inlay_soft_exponent(uint32_t bits)
{
    return (int32_t)(bits >> 23 & 255);
}

/* By floats; and what is so large, or so small, that its digits do not count. A scale whose place
 * is known here would have to be read anew behind each store of a byte. */
INLAY_APART int32_t inlay_soft_unclear(inlay_soft_scale by, float x)
{
    const uint32_t bits = inlay_half_bits(x);
    if (inlay_soft_exponent(bits) < by.from - 31)
        return by.of_zero;
    return inlay_saturate(x / by.scale, by.zero, by.lo, by.hi);
}

INLAY_INLINE int32_t inlay_soft_byte(const inlay_soft_scale *by, float x)
{
    const int32_t unclear = (1 << INLAY_SOFT_BITS) - 2 * INLAY_SOFT_NEAR;
    const uint32_t bits = inlay_half_bits(x);
    const int32_t shift = by->from - inlay_soft_exponent(bits);
    const int32_t sign = -(int32_t)(bits >> 31);
    int32_t v;
    if ((uint32_t)(shift - 1) > 30)
        return inlay_soft_unclear(*by, x);
    v = inlay_upper_product(inlay_soft_digits(bits), by->digits) >> shift;
    v += (1 << (INLAY_SOFT_BITS - 1)) + INLAY_SOFT_NEAR;
    if (!(v & unclear))
        return inlay_soft_unclear(*by, x);
    v = ((v >> INLAY_SOFT_BITS ^ sign) - sign) + by->zero;
    v = v > by->lo ? v : by->lo;
    return v < by->hi ? v : by->hi;
}

/* n bytes of floats, as inlay_saturate(x / scale) makes them; returns n, or 0 for other scales. */
INLAY_APART int32_t inlay_quantize_fast(uint8_t *y, const float *x, int32_t n,
                                        float scale, int32_t zero, int32_t lo,
                                        int32_t hi)
{
    const uint32_t reciprocal = inlay_half_bits(1.0f / scale);
    inlay_soft_scale by;
    int32_t i;
    if (!inlay_scale_suits(scale))
        return 0;
    by.scale = scale;
    by.digits = inlay_soft_digits(reciprocal);
    by.from = INLAY_SOFT_FROM - inlay_soft_exponent(reciprocal);
    by.zero = zero;
    by.lo = lo;
    by.hi = hi;
    by.of_zero = zero > lo ? zero : lo;
    by.of_zero = by.of_zero < hi ? by.of_zero : hi;
    for (i = 0; i < n; i++)
        y[i] = (uint8_t)inlay_soft_byte(&by, x[i]);
    return n;
}
