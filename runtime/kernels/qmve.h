/* SPDX-License-Identifier: 0BSD
 * Bytes in Helium vectors (Cortex-M55, M85): dot products of sixteens, their results, copies.
 *
 * Sums are exact modulo 2^32. Results are made of four sums by floats where the core has those of
 * vectors, with the bits of qout.h: the same roundings in the same order. Dot products are written
 * in assembly, since the sums of a tile fill all even registers and compilers would move them;
 * clang does not give that many away. */
#ifndef INLAY_QMVE_H
#define INLAY_QMVE_H

#include "kernels/qout.h"

#if INLAY_QMVE

/* Four sums in the lanes of a vector. */
INLAY_INLINE int32x4_t inlay_mve_lanes(int32_t a, int32_t b, int32_t c,
                                       int32_t d)
{
    int32x4_t v;
    __asm__("vmov %q0[2], %q0[0], %1, %2\n\tvmov %q0[3], %q0[1], %3, %4"
            : "=&w"(v)
            : "r"(a), "r"(c), "r"(b), "r"(d));
    return v;
}

/* ---- dot products ----
 *
 * Weights lie in blocks of four channels by sixteen taps. mac: vmladav for the first block, whose
 * sums begin, vmladava for others. Loads stand between multiplications, which they overlap. */

#define INLAY_MVE_X "vldrb.8 q0, [%[x]], #16\n"
#define INLAY_MVE_Y "vldrb.8 q1, [%[y]], #16\n"
#define INLAY_MVE_W0 "vldrb.8 q2, [%[w]], #64\n"
#define INLAY_MVE_W1 "vldrb.8 q3, [%[w], #-48]\n"
#define INLAY_MVE_W2 "vldrb.8 q2, [%[w], #-32]\n"
#define INLAY_MVE_W3 "vldrb.8 q3, [%[w], #-16]\n"
#define INLAY_MVE_W01 INLAY_MVE_W0 INLAY_MVE_W1
#define INLAY_MVE_A(mac, sum, w) mac ".s8 %[a" sum "], " w ", q0\n"
#define INLAY_MVE_B(mac, sum, w) mac ".s8 %[b" sum "], " w ", q1\n"
#define INLAY_MVE_AB(mac, k, w) INLAY_MVE_A(mac, k, w) INLAY_MVE_B(mac, k, w)

/* A block of two pixels. */
#define INLAY_MVE_AB0(mac) INLAY_MVE_AB(mac, "0", "q2") INLAY_MVE_W2
#define INLAY_MVE_AB1(mac) INLAY_MVE_AB(mac, "1", "q3") INLAY_MVE_W3
#define INLAY_MVE_AB2(mac) INLAY_MVE_AB(mac, "2", "q2")
#define INLAY_MVE_AB3(mac) INLAY_MVE_AB(mac, "3", "q3")
#define INLAY_MVE_AB01(mac) INLAY_MVE_AB0(mac) INLAY_MVE_AB1(mac)
#define INLAY_MVE_AB23(mac) INLAY_MVE_AB2(mac) INLAY_MVE_AB3(mac)
#define INLAY_MVE_XYW INLAY_MVE_X INLAY_MVE_Y INLAY_MVE_W01
#define INLAY_MVE_TWO(mac) INLAY_MVE_XYW INLAY_MVE_AB01(mac) INLAY_MVE_AB23(mac)

/* A block of one. */
#define INLAY_MVE_A0(mac) INLAY_MVE_A(mac, "0", "q2") INLAY_MVE_W2
#define INLAY_MVE_A1(mac) INLAY_MVE_A(mac, "1", "q3") INLAY_MVE_W3
#define INLAY_MVE_A2(mac) INLAY_MVE_A(mac, "2", "q2")
#define INLAY_MVE_A3(mac) INLAY_MVE_A(mac, "3", "q3")
#define INLAY_MVE_A01(mac) INLAY_MVE_A0(mac) INLAY_MVE_A1(mac)
#define INLAY_MVE_A23(mac) INLAY_MVE_A2(mac) INLAY_MVE_A3(mac)
#define INLAY_MVE_XW INLAY_MVE_X INLAY_MVE_W01
#define INLAY_MVE_ONE(mac) INLAY_MVE_XW INLAY_MVE_A01(mac) INLAY_MVE_A23(mac)

/* A block of one and of the next four channels, whose weights lie at y. */
#define INLAY_MVE_V(at) "vldrb.8 q3, [%[y], #" at "]\n"
#define INLAY_MVE_U(at) "vldrb.8 q2, [%[w], #" at "]\n"
#define INLAY_MVE_A8(mac, k) mac ".s8 %[a" k "], q2, q0\n"
#define INLAY_MVE_B8(mac, k) mac ".s8 %[b" k "], q3, q0\n"
#define INLAY_MVE_UV INLAY_MVE_W0 "vldrb.8 q3, [%[y]], #64\n"
#define INLAY_MVE_K(mac, k, at) INLAY_MVE_A8(mac, k) INLAY_MVE_U(at)
#define INLAY_MVE_L(mac, k, at) INLAY_MVE_B8(mac, k) INLAY_MVE_V(at)
#define INLAY_MVE_KL(mac, k, at) INLAY_MVE_K(mac, k, at) INLAY_MVE_L(mac, k, at)
#define INLAY_MVE_KL0(mac) INLAY_MVE_KL(mac, "0", "-48")
#define INLAY_MVE_KL1(mac) INLAY_MVE_KL(mac, "1", "-32")
#define INLAY_MVE_KL2(mac) INLAY_MVE_KL(mac, "2", "-16")
#define INLAY_MVE_KL3(mac) INLAY_MVE_A8(mac, "3") INLAY_MVE_B8(mac, "3")
#define INLAY_MVE_KL01(mac) INLAY_MVE_KL0(mac) INLAY_MVE_KL1(mac)
#define INLAY_MVE_KL23(mac) INLAY_MVE_KL2(mac) INLAY_MVE_KL3(mac)
#define INLAY_MVE_KL03(mac) INLAY_MVE_KL01(mac) INLAY_MVE_KL23(mac)
#define INLAY_MVE_EIGHT(mac) INLAY_MVE_X INLAY_MVE_UV INLAY_MVE_KL03(mac)

/* The first block, then `fours` times four of them, then `left` < 4. */
#define INLAY_MVE_BEGIN "ldrd %[x], %[y], %[from]\nldr %[n], %[fours]\n"
#define INLAY_MVE_ENTER "subs %[n], #1\nblt 2f\n1:\n"
#define INLAY_MVE_UNTIL "subs %[n], #1\nbge 1b\n2:\n"
#define INLAY_MVE_ODD "ldr %[n], %[left]\nlsrs %[n], #1\nbcc 3f\n"
#define INLAY_MVE_MORE "3:\nbeq 4f\n"
#define INLAY_MVE_END "4:\n"
#define INLAY_MVE_TWICE(block) block("vmladava") block("vmladava")
#define INLAY_MVE_ONCE(block) INLAY_MVE_ODD block("vmladava") INLAY_MVE_MORE
#define INLAY_MVE_FIRST(block) block("vmladav") INLAY_MVE_ENTER
#define INLAY_MVE_FOURS(block) INLAY_MVE_TWICE(block) INLAY_MVE_TWICE(block)
#define INLAY_MVE_LOOP(block) INLAY_MVE_FOURS(block) INLAY_MVE_UNTIL
#define INLAY_MVE_REST(block) INLAY_MVE_TWICE(block) INLAY_MVE_END
#define INLAY_MVE_LEFT(block) INLAY_MVE_ONCE(block) INLAY_MVE_REST(block)
#define INLAY_MVE_TAIL(block) INLAY_MVE_LOOP(block) INLAY_MVE_LEFT(block)
#define INLAY_MVE_WALK(block) INLAY_MVE_FIRST(block) INLAY_MVE_TAIL(block)

#define INLAY_MVE_SUM(name) [name] "=&Te"(name)

/* Where the windows of two pixels lie, in sixteens: 1 + 4 fours + left. */
typedef struct inlay_mve_from {
    struct {
        const int8_t *x, *next;
    } at;
    int32_t fours, left;
} inlay_mve_from;

/* The sums of four channels at one pixel, and at the next. */
typedef struct inlay_mve_sums {
    int32x4_t a, b;
} inlay_mve_sums;

/* Two pixels; returns the next weights. */
INLAY_INLINE const int8_t *
inlay_mve_two(const int8_t *w, const inlay_mve_from *of, inlay_mve_sums *sums)
{
    const int8_t *x, *y;
    int32_t a0, a1, a2, a3, b0, b1, b2, b3, n;
    __asm__ volatile(
        INLAY_MVE_BEGIN INLAY_MVE_WALK(INLAY_MVE_TWO)
        : INLAY_MVE_SUM(a0), INLAY_MVE_SUM(a1), INLAY_MVE_SUM(a2),
          INLAY_MVE_SUM(a3), INLAY_MVE_SUM(b0), INLAY_MVE_SUM(b1),
          INLAY_MVE_SUM(b2), INLAY_MVE_SUM(b3), [w] "+r"(w), [x] "=&r"(x),
          [y] "=&r"(y), [n] "=&r"(n)
        : [from] "m"(of->at), [fours] "m"(of->fours), [left] "m"(of->left)
        : "memory", "cc", "q0", "q1", "q2", "q3");
    sums->a = inlay_mve_lanes(a0, a1, a2, a3);
    sums->b = inlay_mve_lanes(b0, b1, b2, b3);
    return w;
}

/* The first of them. */
INLAY_INLINE const int8_t *
inlay_mve_one(const int8_t *w, const inlay_mve_from *of, int32x4_t *sum)
{
    const int8_t *x, *y;
    int32_t a0, a1, a2, a3, n;
    __asm__ volatile(
        INLAY_MVE_BEGIN INLAY_MVE_WALK(INLAY_MVE_ONE)
        : INLAY_MVE_SUM(a0), INLAY_MVE_SUM(a1), INLAY_MVE_SUM(a2),
          INLAY_MVE_SUM(a3), [w] "+r"(w), [x] "=&r"(x), [y] "=&r"(y),
          [n] "=&r"(n)
        : [from] "m"(of->at), [fours] "m"(of->fours), [left] "m"(of->left)
        : "memory", "cc", "q0", "q2", "q3");
    *sum = inlay_mve_lanes(a0, a1, a2, a3);
    return w;
}

/* The sum of n bytes. */
static inline int32_t inlay_mve_total(const int8_t *x, int32_t n)
{
    int32_t sum = 0;
    for (; n > 0; n -= 16, x += 16) {
        const mve_pred16_t some = vctp8q((uint32_t)n);
        sum = vaddvaq_p_s8(sum, vldrbq_z_s8(x, some), some);
    }
    return sum;
}

/* ---- results ---- */

static inline inlay_mve_byte inlay_mve_result_byte(const inlay_qresult *result)
{
    return inlay_mve_byte_of(result->zero, result->lo, result->hi);
}

/* Have some results other bounds than those of their type? Else instructions that saturate keep to
 * them: bytes are made with a sign, and flipped where they have none. */
#ifndef INLAY_MVE_CLIPS
#define INLAY_MVE_CLIPS INLAY_QUSES(INLAY_QUSE_CLIPS)
#endif

INLAY_INLINE int32_t inlay_mve_zero(const inlay_mve_byte *byte)
{
    return INLAY_MVE_CLIPS ? byte->zero : byte->above;
}

/* ---- bytes of fours of channels, one four after the other, or two ---- */

/* What the sums of four channels begin with, and what they are multiplied with. */
typedef struct inlay_mve_at {
    const int32_t *start;
    const float *scale;
} inlay_mve_at;

/* What goes with all fours of channels. */
typedef struct inlay_mve_fours {
    inlay_mve_from from;
    inlay_mve_at at;    /* of the next four */
    inlay_mve_at first; /* of the first */
    const int8_t *weights;
    int32_t way, rest;  /* after the first sixteen: 0: fours; 4 - left */
    int32_t step;       /* bytes of scales from four to four, */
    int32_t apart;      /* of weights from a four to the next */
    int32_t channels;   /* all, but for those beyond whole fours */
    ptrdiff_t ys;       /* bytes of y from pixel to pixel */
    const uint8_t *end; /* of y */
    inlay_mve_byte byte;
    float one[4]; /* where there is one scale */
} inlay_mve_fours;

#if INLAY_MVE_FLOAT
/* Sums in q2 and q3, what is added to them in q0, scales in q1. */
#define INLAY_MVE_G_A "vmov q2[2], q2[0], %[a0], %[a2]\n"
#define INLAY_MVE_G_A1 "vmov q2[3], q2[1], %[a1], %[a3]\n"
#define INLAY_MVE_G_B "vmov q3[2], q3[0], %[b0], %[b2]\n"
#define INLAY_MVE_G_B1 "vmov q3[3], q3[1], %[b1], %[b3]\n"
#define INLAY_MVE_G_LANES_A INLAY_MVE_G_A INLAY_MVE_G_A1
#define INLAY_MVE_G_LANES INLAY_MVE_G_LANES_A INLAY_MVE_G_B INLAY_MVE_G_B1
#define INLAY_MVE_G_AT "ldrd %[x], %[y], %[at]\nldr %[n], %[step]\n"
#define INLAY_MVE_G_START "vldrw.32 q0, [%[x]], #16\n"
#define INLAY_MVE_G_SCALE "vldrw.32 q1, [%[y]]\nadd %[y], %[n]\n"
#define INLAY_MVE_G_ADD2 "vadd.i32 q2, q2, q0\nvcvt.f32.s32 q2, q2\n"
#define INLAY_MVE_G_ADD3 "vadd.i32 q3, q3, q0\nvcvt.f32.s32 q3, q3\n"
#define INLAY_MVE_G_MUL2 "vmul.f32 q2, q2, q1\n"
#define INLAY_MVE_G_MUL3 "vmul.f32 q3, q3, q1\n"
#define INLAY_MVE_G_KEEP "strd %[x], %[y], %[at]\n"

/* Bytes of them: of q2 in the even lanes, of q3 in the odd ones, stored together. */
#define INLAY_MVE_G_LEAST(q) "vmaxnm.f32 " q ", " q ", %q[least]\n"
#define INLAY_MVE_G_MOST(q) "vminnm.f32 " q ", " q ", %q[most]\n"
#define INLAY_MVE_G_CLIP(q) INLAY_MVE_G_LEAST(q) INLAY_MVE_G_MOST(q)
#define INLAY_MVE_G_ROUND(q) "vcvtn.s32.f32 " q ", " q "\n"
#define INLAY_MVE_G_CLIPS INLAY_MVE_G_CLIP("q2") INLAY_MVE_G_CLIP("q3")
#define INLAY_MVE_G_ROUNDS INLAY_MVE_G_ROUND("q2") INLAY_MVE_G_ROUND("q3")
#define INLAY_MVE_G_JOIN "vmovnt.i32 q2, q3\nvadd.i16 q2, q2, %q[zero]\n"
#define INLAY_MVE_G_WITHIN INLAY_MVE_G_CLIPS INLAY_MVE_G_ROUNDS
#define INLAY_MVE_G_CLIPPED INLAY_MVE_G_WITHIN INLAY_MVE_G_JOIN
#define INLAY_MVE_G_NARROW "vqmovnb.s32 q2, q2\nvqmovnt.s32 q2, q3\n"
#define INLAY_MVE_G_ZERO "vqadd.s16 q2, q2, %q[zero]\nvqmovnb.s16 q2, q2\n"
#define INLAY_MVE_G_NARROWED INLAY_MVE_G_ROUNDS INLAY_MVE_G_NARROW
#define INLAY_MVE_G_SIGNED INLAY_MVE_G_NARROWED INLAY_MVE_G_ZERO
#define INLAY_MVE_G_FLIPPED INLAY_MVE_G_SIGNED "veor q2, q2, %q[flip]\n"
#define INLAY_MVE_G_STORE "vstrb.16 q2, [%[to], %q[places]]\n"
#define INLAY_MVE_G_PUT(n) INLAY_MVE_G_STORE "adds %[to], #" n "\n"
#define INLAY_MVE_G_UNTIL "ldr %[n], %[end]\ncmp %[to], %[n]\nbne 5b\n"

/* The sixteens after the first: `way` says where they begin, `rest` where they go on after fours of
 * them. */
#define INLAY_MVE_G_WAY "ldr %[n], %[way]\n3: tbh [pc, %[n], lsl #1]\n"
#define INLAY_MVE_G_TABLE1 "6: .short (2f-6b)/2, (7f-6b)/2, (8f-6b)/2\n"
#define INLAY_MVE_G_TABLE INLAY_MVE_G_TABLE1 ".short (9f-6b)/2, (4f-6b)/2\n"
#define INLAY_MVE_G_GO INLAY_MVE_G_WAY INLAY_MVE_G_TABLE
#define INLAY_MVE_G_ENTER "2: ldr %[n], %[fours]\n1:\n"
#define INLAY_MVE_G_AGAIN "subs %[n], #1\nbne 1b\nldr %[n], %[rest]\nb 3b\n"
#define INLAY_MVE_G_LOOP1(block) INLAY_MVE_G_ENTER INLAY_MVE_FOURS(block)
#define INLAY_MVE_G_LOOP(block) INLAY_MVE_G_LOOP1(block) INLAY_MVE_G_AGAIN
#define INLAY_MVE_G_7(block) "7:\n" block("vmladava")
#define INLAY_MVE_G_8(block) "8:\n" block("vmladava")
#define INLAY_MVE_G_9(block) "9:\n" block("vmladava") "4:\n"
#define INLAY_MVE_G_78(block) INLAY_MVE_G_7(block) INLAY_MVE_G_8(block)
#define INLAY_MVE_G_LEFT(block) INLAY_MVE_G_78(block) INLAY_MVE_G_9(block)
#define INLAY_MVE_G_FIRST(block) block("vmladav") INLAY_MVE_G_GO
#define INLAY_MVE_G_TAIL(block) INLAY_MVE_G_LOOP(block) INLAY_MVE_G_LEFT(block)
#define INLAY_MVE_G_WALK(block) INLAY_MVE_G_FIRST(block) INLAY_MVE_G_TAIL(block)

/* Two pixels of four channels. */
#define INLAY_MVE_G_BEGIN "5: ldrd %[x], %[y], %[from]\n"
#define INLAY_MVE_G_TWO INLAY_MVE_G_BEGIN INLAY_MVE_G_WALK(INLAY_MVE_TWO)
#define INLAY_MVE_G_SUMS INLAY_MVE_G_ADD2 INLAY_MVE_G_ADD3
#define INLAY_MVE_G_MULS INLAY_MVE_G_MUL2 INLAY_MVE_G_MUL3
#define INLAY_MVE_G_TAKE INLAY_MVE_G_LANES INLAY_MVE_G_AT INLAY_MVE_G_START
#define INLAY_MVE_G_TAKEN INLAY_MVE_G_TAKE INLAY_MVE_G_SCALE INLAY_MVE_G_KEEP
#define INLAY_MVE_G_FLOATS INLAY_MVE_G_TAKEN INLAY_MVE_G_SUMS INLAY_MVE_G_MULS
#define INLAY_MVE_G_LAST INLAY_MVE_G_PUT("4") INLAY_MVE_G_UNTIL
#define INLAY_MVE_G_END(bytes) INLAY_MVE_G_FLOATS bytes INLAY_MVE_G_LAST
#define INLAY_MVE_GROUPS2(bytes) INLAY_MVE_G_TWO INLAY_MVE_G_END(bytes)

/* One pixel of eight. */
#define INLAY_MVE_8_AT "5: ldr %[y], %[apart]\nadd %[y], %[w]\n"
#define INLAY_MVE_8_BEGIN INLAY_MVE_8_AT "ldr %[x], %[from]\n"
#define INLAY_MVE_8_DOT INLAY_MVE_G_WALK(INLAY_MVE_EIGHT) "mov %[w], %[y]\n"
#define INLAY_MVE_8_ALL INLAY_MVE_8_BEGIN INLAY_MVE_8_DOT
#define INLAY_MVE_8_A INLAY_MVE_G_START INLAY_MVE_G_SCALE INLAY_MVE_G_ADD2
#define INLAY_MVE_8_B INLAY_MVE_G_START INLAY_MVE_G_SCALE INLAY_MVE_G_ADD3
#define INLAY_MVE_8_AM INLAY_MVE_8_A INLAY_MVE_G_MUL2
#define INLAY_MVE_8_BM INLAY_MVE_8_B INLAY_MVE_G_MUL3 INLAY_MVE_G_KEEP
#define INLAY_MVE_8_TAKE INLAY_MVE_G_LANES INLAY_MVE_G_AT
#define INLAY_MVE_8_FLOATS INLAY_MVE_8_TAKE INLAY_MVE_8_AM INLAY_MVE_8_BM
#define INLAY_MVE_8_PUT INLAY_MVE_G_PUT("8") INLAY_MVE_G_UNTIL
#define INLAY_MVE_8_END(bytes) INLAY_MVE_8_FLOATS bytes INLAY_MVE_8_PUT
#define INLAY_MVE_GROUPS8(bytes) INLAY_MVE_8_ALL INLAY_MVE_8_END(bytes)

#define INLAY_MVE_G_EVEN INLAY_MVE_SUM(a0), INLAY_MVE_SUM(a1), INLAY_MVE_SUM(a2)
#define INLAY_MVE_G_EVEN1 INLAY_MVE_SUM(a3), INLAY_MVE_SUM(b0)
#define INLAY_MVE_G_EVEN2 INLAY_MVE_SUM(b1), INLAY_MVE_SUM(b2)
#define INLAY_MVE_G_EVEN3 INLAY_MVE_G_EVEN2, INLAY_MVE_SUM(b3)
#define INLAY_MVE_G_SUM8 INLAY_MVE_G_EVEN, INLAY_MVE_G_EVEN1, INLAY_MVE_G_EVEN3
#define INLAY_MVE_G_ODD [x] "=&r"(x), [y] "=&r"(y), [n] "=&l"(n)
#define INLAY_MVE_G_WALKED [w] "+r"(w), [to] "+l"(to), [at] "+m"(of->at)
#define INLAY_MVE_G_OUT INLAY_MVE_G_SUM8, INLAY_MVE_G_ODD, INLAY_MVE_G_WALKED
#define INLAY_MVE_G_FROM [from] "m"(of->from.at), [fours] "m"(of->from.fours)
#define INLAY_MVE_G_RESTS [rest] "m"(of->rest), [way] "m"(of->way)
#define INLAY_MVE_G_FAR [step] "m"(of->step), [apart] "m"(of->apart)
#define INLAY_MVE_G_LOW [least] "w"(of->byte.least)
#define INLAY_MVE_G_BOUNDS INLAY_MVE_G_LOW, [most] "w"(of->byte.most)
#define INLAY_MVE_G_BYTE [zero] "w"(zero), [places] "w"(places)
#define INLAY_MVE_G_ENDS [end] "m"(of->end), INLAY_MVE_G_BYTE
#define INLAY_MVE_G_IN1 INLAY_MVE_G_FROM, INLAY_MVE_G_RESTS, INLAY_MVE_G_FAR
#define INLAY_MVE_G_IN INLAY_MVE_G_IN1, INLAY_MVE_G_ENDS
#define INLAY_MVE_G_LOST "memory", "cc", "q0", "q1", "q2", "q3"

#define INLAY_MVE_G_IN_CLIPS INLAY_MVE_G_IN, INLAY_MVE_G_BOUNDS
#define INLAY_MVE_G_IN_FLIPS INLAY_MVE_G_IN, [flip] "w"(flip)

/* Places of bytes, one of four and one of the next four in turn, which lie `second` bytes on. */
INLAY_INLINE uint16x8_t inlay_mve_fours_places(uint16_t second)
{
    const uint16x8_t lane = vidupq_n_u16(0, 1);
    const uint16x8_t odd = vandq_u16(lane, vdupq_n_u16(1));
    return vaddq_u16(vshrq_n_u16(lane, 1), vmulq_n_u16(odd, second));
}

/* Fours of channels up to the end of y, at least one, of two pixels. The base of operands in memory
 * stays one register: there is none for another. */
INLAY_INLINE const int8_t *inlay_mve_fours_two(inlay_mve_fours *of, uint8_t *to)
{
    const uint16x8_t places = inlay_mve_fours_places((uint16_t)of->ys);
    const int16x8_t flip = vdupq_n_s16((int16_t)of->byte.flip);
    const int16x8_t zero = vdupq_n_s16((int16_t)inlay_mve_zero(&of->byte));
    const int8_t *w = of->weights;
    const int8_t *x, *y;
    int32_t a0, a1, a2, a3, b0, b1, b2, b3, n;
    of->at = of->first;
    (void)flip;
    __asm__("" : "+r"(of));
    if (INLAY_MVE_CLIPS)
        __asm__ volatile(INLAY_MVE_GROUPS2(INLAY_MVE_G_CLIPPED)
                         : INLAY_MVE_G_OUT:INLAY_MVE_G_IN_CLIPS
                         : INLAY_MVE_G_LOST);
    else if (INLAY_QUSES(INLAY_QUSE_SHIFTED))
        __asm__ volatile(INLAY_MVE_GROUPS2(INLAY_MVE_G_FLIPPED)
                         : INLAY_MVE_G_OUT:INLAY_MVE_G_IN_FLIPS
                         : INLAY_MVE_G_LOST);
    else
        __asm__ volatile(INLAY_MVE_GROUPS2(INLAY_MVE_G_SIGNED)
                         : INLAY_MVE_G_OUT:INLAY_MVE_G_IN
                         : INLAY_MVE_G_LOST);
    return w;
}

/* The same of one pixel, by eights. */
INLAY_INLINE const int8_t *inlay_mve_fours_one(inlay_mve_fours *of, uint8_t *to)
{
    const uint16x8_t places = inlay_mve_fours_places(4);
    const int16x8_t flip = vdupq_n_s16((int16_t)of->byte.flip);
    const int16x8_t zero = vdupq_n_s16((int16_t)inlay_mve_zero(&of->byte));
    const int8_t *w = of->weights;
    const int8_t *x, *y;
    int32_t a0, a1, a2, a3, b0, b1, b2, b3, n;
    of->at = of->first;
    (void)flip;
    __asm__("" : "+r"(of));
    if (INLAY_MVE_CLIPS)
        __asm__ volatile(INLAY_MVE_GROUPS8(INLAY_MVE_G_CLIPPED)
                         : INLAY_MVE_G_OUT:INLAY_MVE_G_IN_CLIPS
                         : INLAY_MVE_G_LOST);
    else if (INLAY_QUSES(INLAY_QUSE_SHIFTED))
        __asm__ volatile(INLAY_MVE_GROUPS8(INLAY_MVE_G_FLIPPED)
                         : INLAY_MVE_G_OUT:INLAY_MVE_G_IN_FLIPS
                         : INLAY_MVE_G_LOST);
    else
        __asm__ volatile(INLAY_MVE_GROUPS8(INLAY_MVE_G_SIGNED)
                         : INLAY_MVE_G_OUT:INLAY_MVE_G_IN
                         : INLAY_MVE_G_LOST);
    return w;
}
#endif

/* ---- bytes ---- */

/* Copies n bytes; flips: the bits of `flip` turned over. */
INLAY_INLINE void inlay_mve_copy(int8_t *to, const uint8_t *from, int32_t n,
                                 uint8x16_t flip, int flips)
{
    if (flips)
        __asm__ volatile("wlstp.8 lr, %[n], 2f\n"
                         "1:\n"
                         "vldrb.8 q0, [%[from]], #16\n"
                         "veor q0, q0, %q[flip]\n"
                         "vstrb.8 q0, [%[to]], #16\n"
                         "letp lr, 1b\n"
                         "2:\n"
                         : [to] "+r"(to), [from] "+r"(from)
                         : [n] "r"(n), [flip] "w"(flip)
                         : "memory", "q0", "lr");
    else
        __asm__ volatile("wlstp.8 lr, %[n], 2f\n"
                         "1:\n"
                         "vldrb.8 q0, [%[from]], #16\n"
                         "vstrb.8 q0, [%[to]], #16\n"
                         "letp lr, 1b\n"
                         "2:\n"
                         : [to] "+r"(to), [from] "+r"(from)
                         : [n] "r"(n)
                         : "memory", "q0", "lr");
}

INLAY_INLINE void inlay_mve_fill(int8_t *to, int8_t value, int32_t n)
{
    const int8x16_t all = vdupq_n_s8(value);
    __asm__ volatile("wlstp.8 lr, %[n], 2f\n"
                     "1:\n"
                     "vstrb.8 %q[all], [%[to]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [to] "+r"(to)
                     : [n] "r"(n), [all] "w"(all)
                     : "memory", "lr");
}

#endif

#endif
