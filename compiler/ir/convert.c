/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/convert.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "ir/recipe_form.h"

typedef enum NanKind {
    NAN_IEEE,       /* the greatest exponent is infinity and NaN */
    NAN_TOP,        /* the greatest code is NaN, there is no infinity */
    NAN_MINUS_ZERO, /* the code of -0 is NaN, there is neither */
    NAN_NONE,       /* all codes are numbers; NaN becomes -0 */
} NanKind;

/* sign, exponent, mantissa; value = 2^(exponent - bias) * 1.mantissa, exponent 0: subnormal */
typedef struct SmallFloat {
    int exponent, mantissa, bias;
    NanKind nan;
    bool saturate;
} SmallFloat;

static SmallFloat format_of(DType type)
{
    switch (type) {
    case DT_F16:
        return (SmallFloat){ 5, 10, 15, NAN_IEEE, false };
    case DT_BF16:
        return (SmallFloat){ 8, 7, 127, NAN_IEEE, false };
    case DT_F8E4M3FN:
        return (SmallFloat){ 4, 3, 7, NAN_TOP, true };
    case DT_F8E4M3FNUZ:
        return (SmallFloat){ 4, 3, 8, NAN_MINUS_ZERO, true };
    case DT_F8E5M2:
        return (SmallFloat){ 5, 2, 15, NAN_IEEE, true };
    case DT_F8E5M2FNUZ:
        return (SmallFloat){ 5, 2, 16, NAN_MINUS_ZERO, true };
    default:
        assert(type == DT_F4E2M1);
        return (SmallFloat){ 2, 1, 1, NAN_NONE, true };
    }
}

static inline uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static inline float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}

/* The code of the greatest finite value, without sign. */
static uint32_t greatest(const SmallFloat *f)
{
    const uint32_t top = (1u << (f->exponent + f->mantissa)) - 1;
    if (f->nan == NAN_IEEE)
        return top - (1u << f->mantissa);
    return f->nan == NAN_TOP ? top - 1 : top;
}

static uint32_t nan_code(const SmallFloat *f, uint32_t sign)
{
    const uint32_t top = (1u << (f->exponent + f->mantissa)) - 1;
    if (f->nan == NAN_IEEE)
        return sign |
               (top - (1u << f->mantissa) + 1 + (1u << (f->mantissa - 1)));
    return f->nan == NAN_TOP ? sign | top : top + 1;
}

/* Rounds the magnitude to the format, ties to even; may exceed the greatest code. */
static uint32_t round_magnitude(const SmallFloat *f, uint32_t u)
{
    const int e =
        (int)(u >> 23) - 127 + f->bias; /* biased exponent in the format */
    if (u < 0x00800000)
        return 0; /* far below all formats but bfloat16 */
    const uint32_t m = (u & 0x7fffff) | 0x800000;
    const int shift = 23 - f->mantissa + (e < 1 ? 1 - e : 0);
    if (shift > 24)
        return 0;
    uint32_t q = m >> shift;
    const uint32_t rest = m & ((1u << shift) - 1);
    const uint32_t half = 1u << (shift - 1);
    q += rest > half || (rest == half && (q & 1));
    return e < 1 ? q : q + ((uint32_t)(e - 1) << f->mantissa);
}

static uint32_t encode(const SmallFloat *f, float x)
{
    const uint32_t u = bits_of(x);
    const uint32_t a = u & 0x7fffffff;
    const uint32_t sign = u >> 31 << (f->exponent + f->mantissa);
    if (a > 0x7f800000)
        return nan_code(f, sign);
    const uint32_t most = greatest(f);
    uint32_t code = a == 0x7f800000 ? most + 1 : round_magnitude(f, a);
    if (code > most)
        code = f->saturate ? most : most + 1;
    return f->nan == NAN_MINUS_ZERO && !code ? 0 : sign | code;
}

static uint32_t bf16_from_float(float x)
{
    const uint32_t u = bits_of(x);
    if ((u & 0x7fffffff) > 0x7f800000)
        return u >> 16 | 0x40;
    return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

/* The power of two at or above |x|; subnormal floats count as the least one. */
static uint32_t e8m0_from_float(float x)
{
    const uint32_t a = bits_of(x) & 0x7fffffff;
    const uint32_t e = a >> 23;
    if (e == 0xff)
        return 0xff;
    return e + ((a & 0x7fffff) != 0 && e != 0xfe);
}

uint32_t small_from_float(DType type, float x)
{
    if (type == DT_BF16)
        return bf16_from_float(x);
    if (type == DT_F8E8M0)
        return e8m0_from_float(x);
    const SmallFloat f = format_of(type);
    return encode(&f, x);
}

static inline float half_to_float(uint32_t h)
{
    /* The exponent is re-biased by a multiplication, which also normalises subnormals. */
    const float x = float_of((h & 0x7fff) << 13) * 0x1p112f;
    const uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    return float_of(bits_of(x) | special | (h & 0x8000) << 16);
}

static float decode(const SmallFloat *f, uint32_t code)
{
    const uint32_t sign = code >> (f->exponent + f->mantissa) & 1;
    const uint32_t a = code & ((1u << (f->exponent + f->mantissa)) - 1);
    if (f->nan == NAN_MINUS_ZERO && sign && !a)
        return float_of(0x7fc00000);
    if (a > greatest(f)) {
        const bool infinite = f->nan == NAN_IEEE && a == greatest(f) + 1;
        return float_of(sign << 31 | (infinite ? 0x7f800000u : 0x7fc00000u));
    }
    const int e = (int)(a >> f->mantissa);
    const uint32_t m = a & ((1u << f->mantissa) - 1);
    const float whole = (float)(e ? m | 1u << f->mantissa : m);
    const float x = ldexpf(whole, (e ? e : 1) - f->bias - f->mantissa);
    return sign ? -x : x;
}

static float power_of_two(uint32_t code)
{
    if (code == 0xff)
        return float_of(0x7fc00000);
    return code ? float_of(code << 23) : 0x1p-127f;
}

float small_to_float(DType type, uint32_t code)
{
    if (type == DT_F16)
        return half_to_float(code);
    if (type == DT_BF16)
        return float_of(code << 16);
    if (type == DT_F8E8M0)
        return power_of_two(code);
    const SmallFloat f = format_of(type);
    return decode(&f, code);
}

/* As half_to_float() does it: the exponent is re-biased by a multiplication. Codes above the
 * greatest finite one, and a zero that is NaN, take the long way; few weights hold any. */
static void bytes_to_floats(DType type, const uint8_t *restrict in,
                            float *restrict out, int n)
{
    const SmallFloat f = format_of(type);
    const int bits = f.exponent + f.mantissa;
    const uint32_t sign = 1u << bits;
    const uint32_t most = greatest(&f);
    const uint32_t nan_zero = f.nan == NAN_MINUS_ZERO ? sign : UINT32_MAX;
    const float bias = ldexpf(1.0f, 127 - f.bias);
    uint32_t special = 0;
    for (int k = 0; k < n; k++) {
        const uint32_t code = in[k];
        const uint32_t a = code & (sign - 1);
        const float x = float_of(a << (23 - f.mantissa)) * bias;
        out[k] = float_of(bits_of(x) | (code & sign) << (31 - bits));
        special |= (a > most) | (code == nan_zero);
    }
    for (int k = 0; special && k < n; k++)
        if ((in[k] & (sign - 1)) > most || in[k] == nan_zero)
            out[k] = decode(&f, in[k]);
}

/* --- a run as one of four wide types --- */

typedef enum Wide { WIDE_FLOAT, WIDE_DOUBLE, WIDE_INT, WIDE_UINT } Wide;

typedef union WideRun {
    float f[CONVERT_RUN];
    double d[CONVERT_RUN];
    int64_t i[CONVERT_RUN];
    uint64_t u[CONVERT_RUN];
} WideRun;

#define EACH(expression) \
    for (int k = 0; k < n; k++) { \
        expression; \
    }
#define TO(T) ((T *)out)

/* Two's complement of a value of `bits` bits. */
static int extend(uint8_t v, int bits)
{
    const int sign = 1 << (bits - 1);
    return ((v & (2 * sign - 1)) ^ sign) - sign;
}

/* All elements of an integer type, as W. */
#define WIDEN(W, T) EACH(((W *)to)[k] = (W)((const T *)in)[k])
#define WIDEN_BITS(W, expression) EACH(((W *)to)[k] = (W)(expression))

/* Types of less than 32 bits; false: it is none of them. */
#define WIDEN_NARROW(W) \
    const uint8_t *bytes = in; \
    switch (type) { \
    case DT_I8: \
        WIDEN(W, int8_t) \
        return true; \
    case DT_U8: \
        WIDEN(W, uint8_t) \
        return true; \
    case DT_I16: \
        WIDEN(W, int16_t) \
        return true; \
    case DT_U16: \
        WIDEN(W, uint16_t) \
        return true; \
    case DT_BOOL: \
        WIDEN_BITS(W, bytes[k] != 0) \
        return true; \
    case DT_I4: \
        WIDEN_BITS(W, extend(bytes[k], 4)) \
        return true; \
    case DT_I2: \
        WIDEN_BITS(W, extend(bytes[k], 2)) \
        return true; \
    case DT_U4: \
        WIDEN_BITS(W, bytes[k] & 15) \
        return true; \
    case DT_U2: \
        WIDEN_BITS(W, bytes[k] & 3) \
        return true; \
    default: \
        return false; \
    }

static bool narrow_to_ints(DType type, const void *restrict in,
                           int64_t *restrict to, int n)
{
    WIDEN_NARROW(int64_t)
}

static bool narrow_to_floats(DType type, const void *restrict in,
                             float *restrict to, int n)
{
    WIDEN_NARROW(float)
}

/* Floats of at most 16 bits. */
static void small_to_floats(DType type, const void *restrict in,
                            float *restrict to, int n)
{
    const uint8_t *bytes = in;
    const uint16_t *halves = in;
    switch (type) {
    case DT_F16:
        EACH(to[k] = half_to_float(halves[k]))
        break;
    case DT_BF16:
        EACH(to[k] = float_of((uint32_t)halves[k] << 16))
        break;
    case DT_F8E8M0:
        EACH(to[k] = power_of_two(bytes[k]))
        break;
    default:
        bytes_to_floats(type, bytes, to, n);
    }
}

static Wide load(DType type, const void *in, WideRun *run, int n)
{
    int64_t *to = run->i;
    switch (type) {
    case DT_F64:
        memcpy(run->d, in, (size_t)n * 8);
        return WIDE_DOUBLE;
    case DT_F32:
        memcpy(run->f, in, (size_t)n * 4);
        return WIDE_FLOAT;
    case DT_U64:
        memcpy(run->u, in, (size_t)n * 8);
        return WIDE_UINT;
    case DT_I64:
        memcpy(run->i, in, (size_t)n * 8);
        return WIDE_INT;
    case DT_I32:
        WIDEN(int64_t, int32_t)
        return WIDE_INT;
    case DT_U32:
        WIDEN(int64_t, uint32_t)
        return WIDE_INT;
    default:
        if (narrow_to_ints(type, in, run->i, n))
            return WIDE_INT;
        small_to_floats(type, in, run->f, n);
        return WIDE_FLOAT;
    }
}

/* Where the value does not fit, the least integer, as the machines' own instructions have it. */
static int64_t to_int(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static uint64_t to_uint(double x)
{
    return x >= 0x1p63 && x < 0x1p64 ? (uint64_t)x : (uint64_t)to_int(x);
}

/* To float such that a second rounding to a smaller format rounds right: to odd. */
static float to_odd(double x)
{
    const float f = (float)x;
    if ((double)f == x || !isfinite(f))
        return f;
    uint32_t u = bits_of(f);
    if (u & 1)
        return f;
    return float_of(fabs((double)f) > fabs(x) ? u - 1 : u + 1);
}

static void wide_to_int(Wide kind, WideRun *w, int n)
{
    if (kind == WIDE_FLOAT)
        for (int k = n; k-- > 0;)
            w->i[k] = to_int((double)w->f[k]);
    if (kind == WIDE_DOUBLE)
        EACH(w->i[k] = to_int(w->d[k]))
}

static void wide_to_uint(Wide kind, WideRun *w, int n)
{
    if (kind == WIDE_FLOAT)
        for (int k = n; k-- > 0;)
            w->u[k] = to_uint((double)w->f[k]);
    if (kind == WIDE_DOUBLE)
        EACH(w->u[k] = to_uint(w->d[k]))
}

static void wide_to_float(Wide kind, WideRun *w, int n, bool odd)
{
    if (kind == WIDE_DOUBLE && odd)
        EACH(w->f[k] = to_odd(w->d[k]))
    else if (kind == WIDE_DOUBLE)
        EACH(w->f[k] = (float)w->d[k])
    if (kind == WIDE_INT)
        EACH(w->f[k] = (float)w->i[k])
    if (kind == WIDE_UINT)
        EACH(w->f[k] = (float)w->u[k])
}

static void store_double(Wide kind, const WideRun *w, double *out, int n)
{
    switch (kind) {
    case WIDE_FLOAT:
        EACH(out[k] = (double)w->f[k]) break;
    case WIDE_DOUBLE:
        memcpy(out, w->d, (size_t)n * 8);
        break;
    case WIDE_INT:
        EACH(out[k] = (double)w->i[k]) break;
    case WIDE_UINT:
        EACH(out[k] = (double)w->u[k]) break;
    }
}

static void store_bool(Wide kind, const WideRun *w, uint8_t *out, int n)
{
    switch (kind) {
    case WIDE_FLOAT:
        EACH(out[k] = w->f[k] != 0) break;
    case WIDE_DOUBLE:
        EACH(out[k] = w->d[k] != 0) break;
    default:
        EACH(out[k] = w->i[k] != 0) break;
    }
}

static void store_integers(DType type, const WideRun *w, void *out, int n)
{
    switch (dtype_bits(type)) {
    case 64:
        memcpy(out, w->u, (size_t)n * 8);
        break;
    case 32:
        EACH(TO(uint32_t)[k] = (uint32_t)w->u[k]) break;
    case 16:
        EACH(TO(uint16_t)[k] = (uint16_t)w->u[k]) break;
    case 8:
        EACH(TO(uint8_t)[k] = (uint8_t)w->u[k]) break;
    case 4:
        EACH(TO(uint8_t)[k] = (uint8_t)(w->u[k] & 15)) break;
    default:
        EACH(TO(uint8_t)[k] = (uint8_t)(w->u[k] & 3)) break;
    }
}

static void store_floats(DType type, const WideRun *w, void *out, int n)
{
    if (type == DT_F32) {
        memcpy(out, w->f, (size_t)n * 4);
    } else if (dtype_work(type) == 2) {
        EACH(TO(uint16_t)[k] = (uint16_t)small_from_float(type, w->f[k]))
    } else {
        EACH(TO(uint8_t)[k] = (uint8_t)small_from_float(type, w->f[k]))
    }
}

/* The conversions that make most of the weights of real models, without the detour. */
static bool convert_fast(DType from, const void *in, DType type, void *out,
                         int n)
{
    float *to = out;
    if (type != DT_F32)
        return false;
    if (narrow_to_floats(from, in, to, n))
        return true;
    if (from == DT_F32 || dtype_bits(from) > 32)
        return false;
    if (from == DT_I32)
        WIDEN(float, int32_t)
    else if (from == DT_U32)
        WIDEN(float, uint32_t)
    else
        small_to_floats(from, in, to, n);
    return true;
}

static bool convertible(DType type)
{
    return type == DT_BOOL || dtype_is_float(type) || dtype_is_integer(type);
}

bool convert_possible(DType from, DType to)
{
    return convertible(from) && convertible(to);
}

void convert_run(DType from, const void *in, DType to, void *out, int n)
{
    assert(n <= CONVERT_RUN);
    if (convert_fast(from, in, to, out, n))
        return;
    assert(from == to || convert_possible(from, to));
    if (from == to) {
        memcpy(out, in, (size_t)n * dtype_work(from));
        return;
    }
    WideRun w;
    const Wide kind = load(from, in, &w, n);
    if (to == DT_F64) {
        store_double(kind, &w, out, n);
    } else if (to == DT_BOOL) {
        store_bool(kind, &w, out, n);
    } else if (dtype_is_float(to)) {
        wide_to_float(kind, &w, n, to != DT_F32);
        store_floats(to, &w, out, n);
    } else {
        if (to == DT_U64)
            wide_to_uint(kind, &w, n);
        else
            wide_to_int(kind, &w, n);
        store_integers(to, &w, out, n);
    }
}
