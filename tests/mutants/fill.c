/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include <limits.h>
#include <math.h>
#include <string.h>

Random random_for(uint64_t seed, int run)
{
    return (Random){ (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) +
                     (uint64_t)run };
}

Filling filling_for(int run)
{
    return run < MIXED ? (Filling)run : MIXED;
}

const char *filling_text(Filling how)
{
    static const char *const name[] = { "zeros",        "small values",
                                        "least values", "greatest values",
                                        "NaN and -1",   "random bits",
                                        "extremes",     "indices",
                                        "a mixture" };
    return name[how];
}

static uint64_t next(Random *r)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state * UINT64_C(0x2545F4914F6CDD1D);
}

static uint32_t below(Random *r, uint32_t n)
{
    return (uint32_t)(next(r) >> 33) % n;
}

static double extreme(Random *r)
{
    static const double at[] = {
        0,       -0.0,  1,     -1,           0.5,           1e-45,
        1e-7,    3e38,  -3e38, 2147483648.0, -2147483649.0, 9.3e18,
        -9.3e18, 65505, 1e300, 4294967296.0
    };
    const uint32_t k = below(r, sizeof at / sizeof *at + 3);
    if (k < sizeof at / sizeof *at)
        return at[k];
    return k % 3 == 0   ? (double)NAN
           : k % 3 == 1 ? (double)INFINITY
                        : -(double)INFINITY;
}

static double real(Random *r, Filling how, long size)
{
    switch (how) {
    case ZEROS:
        return 0;
    case SMALL:
        return (double)below(r, 4001) / 1000 - 2;
    case LEAST:
        return -(double)INFINITY;
    case MOST_POSITIVE:
        return (double)INFINITY;
    case STRANGE:
        return (double)NAN;
    case INDICES:
        return (double)below(r, (uint32_t)(4 * size + 8)) / 2 - (double)size;
    default:
        return extreme(r);
    }
}

static int64_t least(int bits)
{
    return bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
}

/* An integer as 64 bits; the caller takes the lower ones. */
static uint64_t whole(Random *r, Filling how, long size, int bits,
                      int is_signed)
{
    const uint64_t greatest =
        is_signed ? ~(uint64_t)least(bits) : UINT64_MAX >> (64 - bits);
    switch (how) {
    case ZEROS:
        return 0;
    case SMALL:
        return below(r, 4);
    case LEAST:
        return is_signed ? (uint64_t)least(bits) : 0;
    case MOST_POSITIVE:
        return greatest;
    case STRANGE:
        return UINT64_MAX;
    case INDICES:
        return (uint64_t)((int64_t)below(r, (uint32_t)(2 * size + 4)) - size -
                          1);
    default:
        break;
    }
    const uint64_t at[] = { 0,
                            1,
                            UINT64_MAX,
                            greatest,
                            greatest - 1,
                            (uint64_t)least(bits),
                            (uint64_t)size,
                            2 };
    return at[below(r, sizeof at / sizeof *at)];
}

static uint16_t half(double v)
{
    const uint16_t sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v))
        return 0x7e00;
    if (fabs(v) >= 65520)
        return sign | 0x7c00;
    if (fabs(v) < 6.2e-5)
        return sign;
    int power;
    const double part = frexp(fabs(v), &power);
    return (uint16_t)(sign | (power + 14) << 10 | ((int)(part * 2048) & 1023));
}

static size_t element(char form)
{
    if (strchr("dqQ", form))
        return 8;
    if (strchr("fiI", form))
        return 4;
    return strchr("ehH", form) ? 2 : 1;
}

static void put(Random *r, Filling how, const DrivenValue *v, unsigned char *to)
{
    const size_t n = element(v->form);
    const double d = strchr("fde", v->form) ? real(r, how, v->size) : 0;
    const float f = fabs(d) > 3.4e38 && isfinite(d) ? INFINITY : (float)d;
    const uint16_t h = half(d);
    const uint64_t w = v->form == '?' ? next(r) & 1
                                      : whole(r, how, v->size, 8 * (int)n,
                                              strchr("qihb", v->form) != NULL);
    const void *from = v->form == 'f'   ? (const void *)&f
                       : v->form == 'd' ? (const void *)&d
                       : v->form == 'e' ? (const void *)&h
                                        : (const void *)&w;
    memcpy(to, from, n);
}

void fill(Random *r, Filling how, const DrivenValue *v, unsigned char *to)
{
    const size_t n = element(v->form);
    if (how == MIXED)
        how = (Filling)below(r, MIXED);
    for (size_t at = 0; at + n <= v->bytes; at += n) {
        const uint64_t bits = next(r);
        if ((how == BITS && v->form != '?') || v->form == 'x')
            memcpy(to + at, &bits, n);
        else
            put(r, how, v, to + at);
    }
}
