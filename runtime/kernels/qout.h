/* SPDX-License-Identifier: 0BSD
 * What becomes of the sums of a product of bytes.
 *
 *   y = sum                                           int32
 *   y = sum * scale  (+ add)                          float
 *   y = clamp(round(sum * scale) + zero, lo, hi)      int8, uint8; ties to even */
#ifndef INLAY_QOUT_H
#define INLAY_QOUT_H

#include "kernels/quant.h"
#include "kernels/qvec.h"

/* What some packed product of the model has: qpacked.h. The source of a model says it, so that code
 * for what none has is left out; else there is code for all. */
enum {
    /* results of 32 bits; zero points of weights; zero points, factors and addends as operands */
    INLAY_QUSE_MORE = 1,
    INLAY_QUSE_CLIPS = 2,     /* bytes within other bounds than their type's */
    INLAY_QUSE_REST = 4,      /* channels beyond whole fours */
    INLAY_QUSE_SIGNED = 8,    /* numbers with a sign: 128 less than the byte */
    INLAY_QUSE_UNSIGNED = 16, /* numbers without */
    /* bytes that are not their numbers; results without a sign of numbers with one */
    INLAY_QUSE_SHIFTED = 32,
    INLAY_QUSE_VOLUMES = 64, /* images of several planes */
    /* of qconv_packed: how weights lie, several groups */
    INLAY_QUSE_FOURS = 128,
    INLAY_QUSE_HALVES = 256,
    INLAY_QUSE_SIXTEENS = 512,
    INLAY_QUSE_GROUPS = 1024,
    /* of qdwconv_packed: windows of 3 x 3 at a stride of one, of two, other ones; weights tap by
     * tap, in sixteens; no scratch */
    INLAY_QUSE_DW_NEAR = 2048,
    INLAY_QUSE_DW_FAR = 4096,
    INLAY_QUSE_DW_ANY = 8192,
    INLAY_QUSE_DW_TAPS = 16384,
    INLAY_QUSE_DW_DEEP = 32768,
    INLAY_QUSE_DW_DIRECT = 65536,
    /* of qconv_packed: windows of several pixels, or clipped, whose rows lie in one piece of no
     * whole fours, and other such windows */
    INLAY_QUSE_PIECES = 131072,
    INLAY_QUSE_WINDOWS = 262144,
    /* of qconv_packed: windows of three pixels are widened together */
    INLAY_QUSE_THREES = 524288,
    INLAY_QUSE_ALL = 1048575
};
#ifndef INLAY_QPACKED_USE
#define INLAY_QPACKED_USE INLAY_QUSE_ALL
#endif

/* Has some product one of these? A constant. */
#define INLAY_QUSES(what) ((INLAY_QPACKED_USE & (what)) != 0)

enum {
    INLAY_QOUT_I32 = 0,
    INLAY_QOUT_U8 = 1,
    INLAY_QOUT_I8 = 2,
    INLAY_QOUT_F32 = 3
};

/* Sums wrap, as those of the reference do: quantizers write biases at the very end of int32. */
static inline int32_t inlay_wrap_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}
static inline int32_t inlay_wrap_mul(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

typedef struct inlay_qresult {
    int32_t kind; /* INLAY_QOUT_... */
    int32_t zero, lo, hi;
    const float *scale; /* of channel 0 */
    int32_t each;     /* 1: every channel has a scale, 0: all have the first */
    float factor;     /* times which they are taken */
    const float *add; /* of channel 0; NULL: nothing */
} inlay_qresult;

/* Have numbers that are bytes a sign? */
INLAY_INLINE int inlay_qflips(int32_t flip)
{
    return !INLAY_QUSES(INLAY_QUSE_UNSIGNED) ||
           (INLAY_QUSES(INLAY_QUSE_SIGNED) && flip);
}

/* Is a result what a sum times a scale gives? */
INLAY_INLINE int inlay_qout_scales(int32_t kind)
{
    return !INLAY_QUSES(INLAY_QUSE_MORE) || kind != INLAY_QOUT_I32;
}

/* Has a result 32 bits? */
INLAY_INLINE int inlay_qout_is_wide(int32_t kind)
{
    return INLAY_QUSES(INLAY_QUSE_MORE) &&
           (kind == INLAY_QOUT_I32 || kind == INLAY_QOUT_F32);
}

/* Element `at` of y. */
static inline void *inlay_qplace(const inlay_qresult *result, void *y,
                                 ptrdiff_t at)
{
    const int wide = inlay_qout_is_wide(result->kind);
    return (unsigned char *)y + (wide ? 4 * at : at);
}

/* Are scales what they are? Of its bits: floats may be software's. */
INLAY_INLINE int inlay_qfactor_is_one(const inlay_qresult *result)
{
    return !INLAY_QUSES(INLAY_QUSE_MORE) ||
           inlay_half_bits(result->factor) == UINT32_C(0x3f800000);
}

/* n floats, and zeros: those of channels that exist. Times 1 they are what they are. */
INLAY_INLINE void inlay_qscales(const inlay_qresult *result, int32_t channel,
                                int32_t n, float *scale)
{
    const int times = !INLAY_QSOFT || !inlay_qfactor_is_one(result);
    int32_t i;
    for (i = 0; i < n; i++) {
        const float v = result->scale[result->each ? channel + i : 0];
        scale[i] = times ? result->factor * v : v;
    }
}

static inline int32_t inlay_qfloat_byte(const inlay_qresult *result,
                                        int32_t sum, float scale)
{
    return inlay_saturate((float)sum * scale, result->zero, result->lo,
                          result->hi);
}

/* The same bits from integers: |sum| times the 24 bits of the scale, of which 32 stay behind the
 * point. Where they lie so near to a half that the rounding of the float product counts, and where
 * the scale is not between 2^-32 and 1/2 or the sum has more than 24 bits, floats decide. */
static inline int32_t inlay_qinteger_byte(const inlay_qresult *result,
                                          int32_t sum, float scale)
{
    const uint32_t near = UINT32_C(1) << 19;
    const uint32_t bits = inlay_half_bits(scale);
    const uint32_t shift = 126 - (bits >> 23);
    const uint32_t size = sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum;
    const uint64_t product =
        (uint64_t)size * (bits << 8 | UINT32_C(0x80000000));
    const uint32_t high = (uint32_t)(product >> 32);
    uint32_t fraction, whole;
    int32_t v;
    if (shift - 1 > 30 || size >> 24)
        return inlay_qfloat_byte(result, sum, scale);
    fraction = (uint32_t)product >> shift | high << (32 - shift);
    whole = high >> shift;
    if (fraction - (UINT32_C(0x80000000) - near) <= 2 * near)
        return inlay_qfloat_byte(result, sum, scale);
    v = (int32_t)(whole + (fraction >> 31));
    v = (sum < 0 ? -v : v) + result->zero;
    v = v > result->lo ? v : result->lo;
    return v < result->hi ? v : result->hi;
}

/* Factors of up to four channels as integers: by[i] is 2^(43 - up[i]) times the scale, so that the
 * upper word of 2^up[i] sum times by[i] has INLAY_QFRACTION bits behind the point. */
typedef struct inlay_qfixed {
    int32_t suits; /* 0: there are no such factors */
    int32_t n;
    const float *scale;
    int32_t mixed; /* 0: all have the first one's up */
    int32_t up[4];
    int32_t by[4];
} inlay_qfixed;

enum { INLAY_QFRACTION = 11 };

/* What is seldom so: its code stands aside. */
#if defined __GNUC__
#define INLAY_QRARE(what) __builtin_expect(what, 0)
#else
#define INLAY_QRARE(what) (what)
#endif

/* The integer for a scale; 0: it would have too many bits, or few. */
static inline int32_t inlay_qfixed_by(float scale, int32_t up)
{
    const uint32_t bits = inlay_half_bits(scale);
    const uint32_t digits = bits << 8 | UINT32_C(0x80000000);
    const uint32_t down = 115 + (uint32_t)up - (bits >> 23);
    return down - 1 < 12 ? (int32_t)(digits >> down) : 0;
}

/* Sums of `taps` products of bytes, of which one has a sign, and of what they begin with: 2^up
 * times what is below `most` has 32 bits. 0: there are no such factors. */
typedef struct inlay_qroom {
    int32_t up, most;
} inlay_qroom;

static inline inlay_qroom inlay_qroom_of(const inlay_qresult *result,
                                         ptrdiff_t taps)
{
    inlay_qroom room = { 7, INT32_C(1) << 23 };
    for (; room.most >> 15 < taps && room.up > 0; room.up--)
        room.most *= 2;
    if (!INLAY_QSOFT || room.most >> 15 < taps ||
        inlay_qout_is_wide(result->kind))
        room.most = 0;
    return room;
}

/* Factors for channels whose sums begin with `start`, each with its own `up`. 0: there are none. A
 * channel whose weights are next to nothing may begin anywhere: any sum has room beside its factor,
 * of which few bits are left. */
INLAY_APART int inlay_qfixed_mix(inlay_qfixed *fixed, const inlay_qroom *room,
                                 const int32_t *start)
{
    const int32_t most = room->most;
    int32_t i;
    fixed->mixed = 1;
    for (i = 0; i < fixed->n; i++) {
        const uint32_t bits = inlay_half_bits(fixed->scale[i]);
        const int near = start[i] < most && start[i] > -most;
        const int32_t up = near ? room->up : 0;
        const int32_t tiny = 103 + up - (int32_t)(bits >> 23);
        fixed->up[i] = up;
        fixed->by[i] = inlay_qfixed_by(fixed->scale[i], up);
        if (tiny > 0 && tiny < 20)
            fixed->by[i] = (int32_t)((bits & 0x7fffff) | 0x800000) >> 4 >> tiny;
        else if (tiny < 20 && !fixed->by[i])
            return 0;
    }
    return 1;
}

/* Takes the factor of channel i as it mostly is: all have one `up`. 0: it can't. */
INLAY_INLINE int inlay_qfixed_usual(inlay_qfixed *fixed,
                                    const inlay_qroom *room,
                                    const int32_t *start, int32_t i)
{
    const uint32_t most = (uint32_t)room->most;
    const int32_t by = inlay_qfixed_by(fixed->scale[i], room->up);
    fixed->by[i] = by;
    return by && (uint32_t)start[i] + most - 1 < 2 * most - 1;
}

/* The same of one channel. */
INLAY_INLINE int inlay_qfixed_one(inlay_qfixed *fixed, const inlay_qroom *room,
                                  const int32_t *start)
{
    fixed->mixed = 0;
    fixed->up[0] = room->up;
    return inlay_qfixed_usual(fixed, room, start, 0) ||
           inlay_qfixed_mix(fixed, room, start);
}

/* Of all. */
static inline int inlay_qfixed_take(inlay_qfixed *fixed,
                                    const inlay_qroom *room,
                                    const int32_t *start)
{
    int32_t i = 0;
    fixed->mixed = 0;
    fixed->up[0] = room->up;
#ifndef __OPTIMIZE_SIZE__
    if (fixed->n == 4 && inlay_qfixed_usual(fixed, room, start, 0) &&
        inlay_qfixed_usual(fixed, room, start, 1) &&
        inlay_qfixed_usual(fixed, room, start, 2) &&
        inlay_qfixed_usual(fixed, room, start, 3))
        return 1;
#endif
    for (; i < fixed->n; i++)
        if (!inlay_qfixed_usual(fixed, room, start, i))
            return inlay_qfixed_mix(fixed, room, start);
    return 1;
}

/* The same of sums of `taps` products. */
static inline int inlay_qfixed_set(inlay_qfixed *fixed,
                                   const inlay_qresult *result, ptrdiff_t taps,
                                   const int32_t *start)
{
    const inlay_qroom room = inlay_qroom_of(result, taps);
    return room.most && inlay_qfixed_take(fixed, &room, start);
}

/* The byte of a sum of channel i by floats. */
INLAY_APART uint8_t inlay_qfixed_unclear(const inlay_qresult *result,
                                         const inlay_qfixed *fixed, int32_t i,
                                         int32_t sum)
{
    return (uint8_t)inlay_qfloat_byte(result, sum, fixed->scale[i]);
}

/* What bytes of fixed numbers have in common. They are found above the least of the result. */
typedef struct inlay_qbytes {
    const inlay_qresult *result;
    const inlay_qfixed *fixed;
    int32_t offset; /* the zero point, a half, and half of what is unclear */
    int32_t lo, most;
} inlay_qbytes;

INLAY_INLINE inlay_qbytes inlay_qbytes_of(const inlay_qresult *result,
                                          const inlay_qfixed *fixed)
{
    const int32_t zero = result->zero - result->lo;
    inlay_qbytes bytes;
    bytes.result = result;
    bytes.fixed = fixed;
    bytes.offset = zero * (1 << INLAY_QFRACTION);
    bytes.offset += (1 << (INLAY_QFRACTION - 1)) + 4;
    bytes.lo = result->lo;
    bytes.most = result->hi - result->lo;
    return bytes;
}

/* Are results all that a byte can be, and has the machine an instruction that keeps them so? */
INLAY_INLINE int inlay_qbytes_all(const inlay_qbytes *bytes)
{
#ifdef __ARM_FEATURE_SAT
    return !INLAY_QUSES(INLAY_QUSE_CLIPS) || bytes->most == 255;
#else
    (void)bytes;
    return 0;
#endif
}

/* A number without its fraction, at least 0 and at most `most`. */
INLAY_INLINE int32_t inlay_qbytes_clip(int32_t v, int32_t most, int all)
{
    int32_t byte = v >> INLAY_QFRACTION;
    if (all) {
        byte = byte > 0 ? byte : 0; /* one instruction with the shift */
        return byte < 255 ? byte : 255;
    }
    if ((uint32_t)byte > (uint32_t)most)
        return byte < 0 ? 0 : most;
    return byte;
}

/* What is 0 of a number so near to a half that the bits beyond the fraction count: what is cut off
 * moves a number below 512 by less than four units. */
enum { INLAY_QCLEAR = (1 << INLAY_QFRACTION) - 8 };

/* The number of a sum, above the least, with its fraction. */
INLAY_INLINE int32_t inlay_qbytes_number(const inlay_qbytes *bytes, int32_t up,
                                         int32_t by, int32_t sum)
{
    const int32_t shifted = (int32_t)((uint32_t)sum << up);
    return inlay_upper_product(shifted, by) + bytes->offset;
}

INLAY_INLINE uint8_t inlay_qbytes_whole(const inlay_qbytes *bytes, int32_t v,
                                        int all)
{
    return (uint8_t)(inlay_qbytes_clip(v, bytes->most, all) + bytes->lo);
}

/* The byte of a sum of channel i; floats decide what is unclear. */
INLAY_INLINE uint8_t inlay_qbyte(const inlay_qbytes *bytes, int32_t i,
                                 int32_t up, int32_t by, int32_t sum, int all)
{
    const int32_t v = inlay_qbytes_number(bytes, up, by, sum);
    if (INLAY_QRARE(!(v & INLAY_QCLEAR)))
        return inlay_qfixed_unclear(bytes->result, bytes->fixed, i, sum);
    return inlay_qbytes_whole(bytes, v, all);
}

/* Bytes of the sums of channels: of one pixel or, if `next` is not NULL, of two, the sums of the
 * second at sum[4] and on. */
INLAY_INLINE void inlay_qbytes_each(const inlay_qbytes *bytes,
                                    const int32_t *sum, uint8_t *y,
                                    uint8_t *next, int all, int mixed)
{
    const int32_t n = bytes->fixed->n;
    const int32_t first = bytes->fixed->up[0];
    int32_t i;
    for (i = 0; i < n; i++) {
        const int32_t up = mixed ? bytes->fixed->up[i] : first;
        const int32_t by = bytes->fixed->by[i];
        y[i] = inlay_qbyte(bytes, i, up, by, sum[i], all);
        if (next)
            next[i] = inlay_qbyte(bytes, i, up, by, sum[4 + i], all);
    }
}

INLAY_APART void inlay_qfixed_any(const inlay_qresult *result,
                                  const inlay_qfixed *fixed, const int32_t *sum,
                                  uint8_t *y, uint8_t *next)
{
    const inlay_qbytes bytes = inlay_qbytes_of(result, fixed);
    if (fixed->mixed)
        inlay_qbytes_each(&bytes, sum, y, next, 0, 1);
    else if (inlay_qbytes_all(&bytes))
        inlay_qbytes_each(&bytes, sum, y, next, 1, 0);
    else
        inlay_qbytes_each(&bytes, sum, y, next, 0, 0);
}

/* Bytes of n sums of the first channel, `ys` bytes apart. */
INLAY_INLINE void inlay_qbytes_line(const inlay_qbytes *bytes,
                                    const int32_t *sum, int32_t n, uint8_t *y,
                                    ptrdiff_t ys, int all)
{
    const int32_t *const end = sum + n;
    const int32_t up = bytes->fixed->up[0];
    const int32_t by = bytes->fixed->by[0];
    for (; sum < end; sum++, y += ys)
        *y = inlay_qbyte(bytes, 0, up, by, *sum, all);
}

INLAY_APART void inlay_qfixed_any_line(const inlay_qresult *result,
                                       const inlay_qfixed *fixed,
                                       const int32_t *sum, int32_t n,
                                       uint8_t *y, ptrdiff_t ys)
{
    const inlay_qbytes bytes = inlay_qbytes_of(result, fixed);
    if (inlay_qbytes_all(&bytes))
        inlay_qbytes_line(&bytes, sum, n, y, ys, 1);
    else
        inlay_qbytes_line(&bytes, sum, n, y, ys, 0);
}

#ifdef __OPTIMIZE_SIZE__
#define inlay_qfixed_bytes inlay_qfixed_any
#define inlay_qfixed_line inlay_qfixed_any_line
#else
/* ---- the same as long as all is clear: nothing is called, so that few registers are saved ---- */

/* Four channels; 0: some are unclear. */
INLAY_INLINE int inlay_qbytes_four(const inlay_qbytes *bytes,
                                   const int32_t *sum, uint8_t *y,
                                   uint8_t *next, int all)
{
    const int32_t up = bytes->fixed->up[0];
    int32_t i;
    INLAY_UNROLL
    for (i = 0; i < 4; i++) {
        const int32_t by = bytes->fixed->by[i];
        int32_t v = inlay_qbytes_number(bytes, up, by, sum[i]);
        if (INLAY_QRARE(!(v & INLAY_QCLEAR)))
            return 0;
        y[i] = inlay_qbytes_whole(bytes, v, all);
        if (!next)
            continue;
        v = inlay_qbytes_number(bytes, up, by, sum[4 + i]);
        if (INLAY_QRARE(!(v & INLAY_QCLEAR)))
            return 0;
        next[i] = inlay_qbytes_whole(bytes, v, all);
    }
    return 1;
}

INLAY_INLINE int inlay_qbytes_fours(const inlay_qbytes *bytes,
                                    const int32_t *sum, uint8_t *y,
                                    uint8_t *next, int all)
{
    if (next)
        return inlay_qbytes_four(bytes, sum, y, next, all);
    return inlay_qbytes_four(bytes, sum, y, NULL, all);
}

INLAY_APART void inlay_qfixed_bytes(const inlay_qresult *result,
                                    const inlay_qfixed *fixed,
                                    const int32_t *sum, uint8_t *y,
                                    uint8_t *next)
{
    const inlay_qbytes bytes = inlay_qbytes_of(result, fixed);
    int made = 0;
    if (fixed->n == 4 && !fixed->mixed && inlay_qbytes_all(&bytes))
        made = inlay_qbytes_fours(&bytes, sum, y, next, 1);
    else if (fixed->n == 4 && !fixed->mixed)
        made = inlay_qbytes_fours(&bytes, sum, y, next, 0);
    if (!made)
        inlay_qfixed_any(result, fixed, sum, y, next);
}

INLAY_INLINE void inlay_qbytes_row(const inlay_qbytes *bytes,
                                   const int32_t *sum, int32_t n, uint8_t *y,
                                   ptrdiff_t ys, int all)
{
    const int32_t up = bytes->fixed->up[0];
    const int32_t by = bytes->fixed->by[0];
    for (; n > 0; n--, y += ys) {
        const int32_t v = inlay_qbytes_number(bytes, up, by, *sum++);
        if (INLAY_QRARE(!(v & INLAY_QCLEAR))) {
            inlay_qfixed_any_line(bytes->result, bytes->fixed, sum - 1, n, y,
                                  ys);
            return;
        }
        *y = inlay_qbytes_whole(bytes, v, all);
    }
}

INLAY_APART void inlay_qfixed_line(const inlay_qresult *result,
                                   const inlay_qfixed *fixed,
                                   const int32_t *sum, int32_t n, uint8_t *y,
                                   ptrdiff_t ys)
{
    const inlay_qbytes bytes = inlay_qbytes_of(result, fixed);
    if (inlay_qbytes_all(&bytes))
        inlay_qbytes_row(&bytes, sum, n, y, ys, 1);
    else
        inlay_qbytes_row(&bytes, sum, n, y, ys, 0);
}
#endif

/* The same by floats. */
INLAY_APART void inlay_qfloat_line(const inlay_qresult *result, float scale,
                                   const int32_t *sum, int32_t n, uint8_t *y,
                                   ptrdiff_t ys)
{
    const int32_t *const end = sum + n;
    const int32_t zero = result->zero;
    const int32_t lo = result->lo;
    const int32_t hi = result->hi;
    for (; sum < end; sum++, y += ys)
        *y = (uint8_t)inlay_saturate((float)*sum * scale, zero, lo, hi);
}

/* Bytes of n sums, each of a channel; stores of bytes might change `result`. */
INLAY_INLINE void inlay_qfloat_bytes(const inlay_qresult *result,
                                     const float *scale, const int32_t *sum,
                                     int32_t n, uint8_t *y)
{
    const int32_t zero = result->zero;
    const int32_t lo = result->lo;
    const int32_t hi = result->hi;
    int32_t i = 0;
#if INLAY_MVE_FLOAT || INLAY_QDSP_FLOAT
    i = inlay_scaled_fast(y, sum, scale, n, zero, lo, hi);
#endif
    for (; i < n; i++)
        y[i] = (uint8_t)inlay_saturate((float)sum[i] * scale[i], zero, lo, hi);
}

/* y[i] of n sums that are those of channels `channel` and on. */
static inline void inlay_qresults(const inlay_qresult *result, int32_t channel,
                                  int32_t n, const int32_t *sum,
                                  const float *scale, void *y)
{
    const int wide = inlay_qout_is_wide(result->kind);
    int32_t i;
    if (!inlay_qout_scales(result->kind)) {
        memcpy(y, sum, (size_t)n * sizeof *sum);
        return;
    }
    if (wide) {
        for (i = 0; i < n; i++) {
            const float v = (float)sum[i] * scale[i];
            ((float *)y)[i] = result->add ? v + result->add[channel + i] : v;
        }
        return;
    }
    if (!INLAY_QSOFT) {
        inlay_qfloat_bytes(result, scale, sum, n, (uint8_t *)y);
        return;
    }
    for (i = 0; i < n; i++)
        ((uint8_t *)y)[i] =
            (uint8_t)inlay_qinteger_byte(result, sum[i], scale[i]);
}

#endif
