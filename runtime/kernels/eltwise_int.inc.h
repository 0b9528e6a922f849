/* SPDX-License-Identifier: 0BSD
 * Template of the elementwise kernels on integers. INLAY_T: the type; INLAY_U: unsigned, at least
 * as wide, in which sums wrap around; INLAY_BITS its width; INLAY_SIGNED; INLAY_K(name):
 * name_<suffix>. Division by zero gives 0: the standard leaves it open, a device must not trap. */

static inline INLAY_T INLAY_K(inlay_quotient)(INLAY_T a, INLAY_T b)
{
#if INLAY_SIGNED
    if (b == -1)
        return (INLAY_T)((INLAY_U)0 - (INLAY_U)a);
#endif
    return (INLAY_T)(b == 0 ? 0 : a / b);
}

/* The remainder with a's sign (C). */
static inline INLAY_T INLAY_K(inlay_remainder)(INLAY_T a, INLAY_T b)
{
#if INLAY_SIGNED
    if (b == -1)
        return 0;
#endif
    return (INLAY_T)(b == 0 ? 0 : a % b);
}

/* The remainder with b's sign (Python). */
static inline INLAY_T INLAY_K(inlay_modulo)(INLAY_T a, INLAY_T b)
{
    const INLAY_T r = INLAY_K(inlay_remainder)(a, b);
#if INLAY_SIGNED
    return r != 0 && (r < 0) != (b < 0) ? (INLAY_T)(r + b) : r;
#else
    return r;
#endif
}

static inline INLAY_T INLAY_K(inlay_power)(INLAY_T a, INLAY_T b)
{
    INLAY_U x = (INLAY_U)a;
    INLAY_U y = 1;
#if INLAY_SIGNED
    if (b < 0)
        return a == 1 ? (INLAY_T)1 : a == -1 ? (INLAY_T)(b % 2 ? -1 : 1) : (INLAY_T)0;
#endif
    for (; b; b = (INLAY_T)(b / 2), x *= x)
        if (b % 2)
            y *= x;
    return (INLAY_T)y;
}

/* Shifts by less than 0 or by the width and more leave the sign's bits to the right, zeros to the
 * left. */
static inline INLAY_T INLAY_K(inlay_shift_right)(INLAY_T a, INLAY_T b)
{
#if INLAY_SIGNED
    const int out = b < 0 || b >= INLAY_BITS;
    if (a < 0)
        return (INLAY_T)(out ? -1 : ~(~a >> b));
#else
    const int out = b >= INLAY_BITS;
#endif
    return (INLAY_T)(out ? 0 : a >> b);
}

static inline INLAY_T INLAY_K(inlay_shift_left)(INLAY_T a, INLAY_T b)
{
#if INLAY_SIGNED
    if (b < 0)
        return 0;
#endif
    return (INLAY_T)(b < INLAY_BITS ? (INLAY_U)a << b : 0);
}

INLAY_BINARY(INLAY_K(equal), uint8_t, INLAY_T, INLAY_T, z = (uint8_t)(a == b);)
INLAY_BINARY(INLAY_K(less), uint8_t, INLAY_T, INLAY_T, z = (uint8_t)(a < b);)
INLAY_BINARY(INLAY_K(less_equal), uint8_t, INLAY_T, INLAY_T, z = (uint8_t)(a <= b);)
INLAY_BINARY(INLAY_K(add), INLAY_T, INLAY_T, INLAY_T, z = (INLAY_T)((INLAY_U)a + (INLAY_U)b);)
INLAY_BINARY(INLAY_K(sub), INLAY_T, INLAY_T, INLAY_T, z = (INLAY_T)((INLAY_U)a - (INLAY_U)b);)
INLAY_BINARY(INLAY_K(mul), INLAY_T, INLAY_T, INLAY_T, z = (INLAY_T)((INLAY_U)a * (INLAY_U)b);)
INLAY_BINARY(INLAY_K(div), INLAY_T, INLAY_T, INLAY_T, z = INLAY_K(inlay_quotient)(a, b);)
INLAY_BINARY(INLAY_K(mod), INLAY_T, INLAY_T, INLAY_T, z = INLAY_K(inlay_modulo)(a, b);)
INLAY_BINARY(INLAY_K(fmod), INLAY_T, INLAY_T, INLAY_T, z = INLAY_K(inlay_remainder)(a, b);)
INLAY_BINARY(INLAY_K(pow), INLAY_T, INLAY_T, INLAY_T, z = INLAY_K(inlay_power)(a, b);)
INLAY_BINARY(INLAY_K(min), INLAY_T, INLAY_T, INLAY_T, z = a < b ? a : b;)
INLAY_BINARY(INLAY_K(max), INLAY_T, INLAY_T, INLAY_T, z = a > b ? a : b;)
INLAY_BINARY(INLAY_K(and), INLAY_T, INLAY_T, INLAY_T, z = (INLAY_T)(a & b);)
INLAY_BINARY(INLAY_K(or), INLAY_T, INLAY_T, INLAY_T, z = (INLAY_T)(a | b);)
INLAY_BINARY(INLAY_K(xor), INLAY_T, INLAY_T, INLAY_T, z = (INLAY_T)(a ^ b);)
INLAY_BINARY(INLAY_K(shl), INLAY_T, INLAY_T, INLAY_T, z = INLAY_K(inlay_shift_left)(a, b);)
INLAY_BINARY(INLAY_K(shr), INLAY_T, INLAY_T, INLAY_T, z = INLAY_K(inlay_shift_right)(a, b);)
INLAY_UNARY(INLAY_K(not ), INLAY_T, INLAY_T, z = (INLAY_T)~x;)
#if INLAY_SIGNED
INLAY_BINARY(INLAY_K(prelu), INLAY_T, INLAY_T, INLAY_T,
             z = a < 0 ? (INLAY_T)((INLAY_U)a * (INLAY_U)b) : a;)
INLAY_UNARY(INLAY_K(neg), INLAY_T, INLAY_T, z = (INLAY_T)((INLAY_U)0 - (INLAY_U)x);)
INLAY_UNARY(INLAY_K(abs), INLAY_T, INLAY_T, z = x < 0 ? (INLAY_T)((INLAY_U)0 - (INLAY_U)x) : x;)
INLAY_UNARY(INLAY_K(sign), INLAY_T, INLAY_T, z = (INLAY_T)((x > 0) - (x < 0));)
INLAY_UNARY(INLAY_K(relu), INLAY_T, INLAY_T, z = x < 0 ? (INLAY_T)0 : x;)
#else
INLAY_UNARY(INLAY_K(sign), INLAY_T, INLAY_T, z = (INLAY_T)(x != 0);)
#endif
