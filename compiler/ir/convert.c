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
        return sign | (top - (1u << f->mantissa) + 1 + (1u << (f->mantissa - 1)));
    return f->nan == NAN_TOP ? sign | top : top + 1;
}

/* Rounds the magnitude to the format, ties to even; may exceed the greatest code. */
static uint32_t round_magnitude(const SmallFloat *f, uint32_t u)
{
    const int e = (int)(u >> 23) - 127 + f->bias; /* biased exponent in the format */
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

float small_to_float(DType type, uint32_t code)
{
    if (type == DT_F16)
        return half_to_float(code);
    if (type == DT_BF16)
        return float_of(code << 16);
    if (type == DT_F8E8M0)
        return code == 0xff ? float_of(0x7fc00000) : code ? float_of(code << 23) : 0x1p-127f;
    const SmallFloat f = format_of(type);
    return decode(&f, code);
}

/* As half_to_float() does it: the exponent is re-biased by a multiplication. Codes above the
 * greatest finite one, and a zero that may be NaN, take the long way. */
static void bytes_to_floats(DType type, const uint8_t *in, float *out, int n)
{
    const SmallFloat f = format_of(type);
    const int bits = f.exponent + f.mantissa;
    const uint32_t sign = 1u << bits;
    const uint32_t most = greatest(&f);
    const float bias = ldexpf(1.0f, 127 - f.bias);
    for (int k = 0; k < n; k++) {
        const uint32_t code = in[k];
        const uint32_t a = code & (sign - 1);
        const float x = float_of(a << (23 - f.mantissa)) * bias;
        out[k] = float_of(bits_of(x) | (code & sign) << (31 - bits));
    }
    for (int k = 0; k < n; k++) {
        const uint32_t a = in[k] & (sign - 1);
        if (a > most || (!a && in[k]))
            out[k] = decode(&f, in[k]);
    }
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
#define AS(T) ((const T *)in)
#define TO(T) ((T *)out)

/* Two's complement of a value of `bits` bits. */
static int extend(uint8_t v, int bits)
{
    const int sign = 1 << (bits - 1);
    return ((v & (2 * sign - 1)) ^ sign) - sign;
}

static Wide load(DType type, const void *in, WideRun *w, int n)
{
    switch (type) {
    case DT_F32:
        memcpy(w->f, in, (size_t)n * 4);
        return WIDE_FLOAT;
    case DT_F64:
        memcpy(w->d, in, (size_t)n * 8);
        return WIDE_DOUBLE;
    case DT_F16:
        EACH(w->f[k] = half_to_float(AS(uint16_t)[k])) return WIDE_FLOAT;
    case DT_BF16:
        EACH(w->f[k] = float_of((uint32_t)AS(uint16_t)[k] << 16)) return WIDE_FLOAT;
    case DT_I8:
        EACH(w->i[k] = AS(int8_t)[k]) return WIDE_INT;
    case DT_U8:
        EACH(w->i[k] = AS(uint8_t)[k]) return WIDE_INT;
    case DT_I16:
        EACH(w->i[k] = AS(int16_t)[k]) return WIDE_INT;
    case DT_U16:
        EACH(w->i[k] = AS(uint16_t)[k]) return WIDE_INT;
    case DT_I32:
        EACH(w->i[k] = AS(int32_t)[k]) return WIDE_INT;
    case DT_U32:
        EACH(w->i[k] = AS(uint32_t)[k]) return WIDE_INT;
    case DT_I64:
        memcpy(w->i, in, (size_t)n * 8);
        return WIDE_INT;
    case DT_U64:
        memcpy(w->u, in, (size_t)n * 8);
        return WIDE_UINT;
    case DT_BOOL:
        EACH(w->i[k] = AS(uint8_t)[k] != 0) return WIDE_INT;
    case DT_I4:
        EACH(w->i[k] = extend(AS(uint8_t)[k], 4)) return WIDE_INT;
    case DT_I2:
        EACH(w->i[k] = extend(AS(uint8_t)[k], 2)) return WIDE_INT;
    case DT_U4:
        EACH(w->i[k] = AS(uint8_t)[k] & 15) return WIDE_INT;
    case DT_U2:
        EACH(w->i[k] = AS(uint8_t)[k] & 3) return WIDE_INT;
    default:
        EACH(w->f[k] = small_to_float(type, AS(uint8_t)[k])) return WIDE_FLOAT;
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
static bool convert_fast(DType from, const void *in, DType to, void *out, int n)
{
    if (to != DT_F32)
        return false;
    switch (from) {
    case DT_I8:
        EACH(TO(float)[k] = (float)AS(int8_t)[k]) return true;
    case DT_U8:
        EACH(TO(float)[k] = (float)AS(uint8_t)[k]) return true;
    case DT_I32:
        EACH(TO(float)[k] = (float)AS(int32_t)[k]) return true;
    case DT_F16:
        EACH(TO(float)[k] = half_to_float(AS(uint16_t)[k])) return true;
    case DT_BF16:
        EACH(TO(float)[k] = float_of((uint32_t)AS(uint16_t)[k] << 16)) return true;
    case DT_I4:
        EACH(TO(float)[k] = (float)extend(AS(uint8_t)[k], 4)) return true;
    case DT_I2:
        EACH(TO(float)[k] = (float)extend(AS(uint8_t)[k], 2)) return true;
    case DT_U4:
        EACH(TO(float)[k] = (float)(AS(uint8_t)[k] & 15)) return true;
    case DT_U2:
        EACH(TO(float)[k] = (float)(AS(uint8_t)[k] & 3)) return true;
    case DT_F8E4M3FN:
    case DT_F8E4M3FNUZ:
    case DT_F8E5M2:
    case DT_F8E5M2FNUZ:
    case DT_F4E2M1:
        bytes_to_floats(from, in, out, n);
        return true;
    default:
        return false;
    }
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
    assert(n <= CONVERT_RUN && (from == to || convert_possible(from, to)));
    if (from == to) {
        memcpy(out, in, (size_t)n * dtype_work(from));
        return;
    }
    if (convert_fast(from, in, to, out, n))
        return;
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
