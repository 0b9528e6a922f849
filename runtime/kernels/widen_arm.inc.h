/* SPDX-License-Identifier: 0BSD
 * The part of widen.h for 32-bit Arm cores: bytes of four channels become floats by Helium's
 * vectors, or, with the registers s0 to s31 alone, by the instructions that move two numbers and
 * store four, which compilers do not make of C; numbers of float16 by those alone. The bits are
 * those of the C, but for the payload of a NaN. */

/* Are all four zero points 0, as they mostly are? */
INLAY_INLINE int inlay_is_zero(const float *zero)
{
    return zero[0] == 0 && zero[1] == 0 && zero[2] == 0 && zero[3] == 0;
}

/* Two halves in each of s12 and s13. */
#define INLAY_HALF_LOAD "ldr %[a], [%[from]], #4\nldr %[b], [%[from]], #4\n"
#define INLAY_HALF_IN "vmov s12, s13, %[a], %[b]\n"
#define INLAY_HALF_A "vcvtb.f32.f16 s4, s12\nvcvtt.f32.f16 s5, s12\n"
#define INLAY_HALF_B "vcvtb.f32.f16 s6, s13\nvcvtt.f32.f16 s7, s13\n"
#define INLAY_HALF_OUT "vstmia %[to]!, {s4-s7}\n"
#define INLAY_HALF_NEXT "subs %[fours], #1\nbne 1b\n"
#define INLAY_HALF_FLOATS INLAY_HALF_IN INLAY_HALF_A INLAY_HALF_B
#define INLAY_HALF_LOST "cc", "memory", "s4", "s5", "s6", "s7", "s12", "s13"

/* As many of n numbers of float16 as come in fours; returns how many. Not by vectors: in vcvtb
 * binutils 2.40 encodes other vector registers than those named. */
INLAY_INLINE int32_t inlay_four_halves(float *to, const unsigned char *from,
                                       int32_t n)
{
    int32_t fours = n / 4;
    int32_t a, b;
    if (n < 4)
        return 0;
    __asm__ volatile(
        "1:\n" INLAY_HALF_LOAD INLAY_HALF_FLOATS INLAY_HALF_OUT INLAY_HALF_NEXT
        : [to] "+r"(to), [from] "+r"(from), [fours] "+r"(fours), [a] "=&r"(a),
          [b] "=&r"(b)
        :
        : INLAY_HALF_LOST);
    return n / 4 * 4;
}

#ifdef INLAY_HELIUM

/* Pairs of taps, at least one, of signed bytes that lie together and whose zero is 0. */
INLAY_INLINE void inlay_scaled_pairs(float *to, const unsigned char *from,
                                     int32_t pairs, float32x4_t factor)
{
    register int32_t n __asm__("lr") = pairs;
    float32x4_t a, b;
    __asm__ volatile(
        "dls lr, lr\n1:\n"
        "vldrb.s32 %q[a], [%[from]], #4\n"
        "vldrb.s32 %q[b], [%[from]], #4\n"
        "vcvt.f32.s32 %q[a], %q[a]\n"
        "vcvt.f32.s32 %q[b], %q[b]\n"
        "vmul.f32 %q[a], %q[a], %q[factor]\n"
        "vmul.f32 %q[b], %q[b], %q[factor]\n"
        "vstrw.32 %q[a], [%[to]], #16\n"
        "vstrw.32 %q[b], [%[to]], #16\n"
        "le lr, 1b\n"
        : [a] "=&w"(a), [b] "=&w"(b), [from] "+l"(from), [to] "+r"(to), "+r"(n)
        : [factor] "w"(factor)
        : "memory");
}

/* What inlay_scaled_<type>() does, of signed bytes or others. */
INLAY_INLINE void inlay_scaled_bytes(float *to, const unsigned char *from,
                                     ptrdiff_t step, int32_t taps,
                                     const float *scale, const float *zero,
                                     const int is_signed)
{
    const float32x4_t factor = vld1q_f32(scale);
    const float32x4_t less = vld1q_f32(zero);
    const int8_t *number = (const int8_t *)from;
    int32_t k = 0;
    if (is_signed && step == 4 && taps > 1 && inlay_is_zero(zero)) {
        k = taps & ~1;
        inlay_scaled_pairs(to, from, taps >> 1, factor);
        number += 4 * k;
        to += 4 * k;
    }
    for (; k < taps; k++, from += step, number += step, to += 4) {
        const int32x4_t v =
            is_signed ? vldrbq_s32(number) : (int32x4_t)vldrbq_u32(from);
        const float32x4_t moved = vsubq_f32(vcvtq_f32_s32(v), less);
        vst1q_f32(to, vmulq_f32(moved, factor));
    }
}

/* Likewise of 4 or 2 bits, where each tap begins a byte: shifted to the top of a lane, and down. */
INLAY_INLINE void inlay_scaled_parts(float *to, const unsigned char *from,
                                     ptrdiff_t step, int32_t taps,
                                     const float *scale, const float *zero,
                                     const int bits, const int is_signed)
{
    const int32x4_t up = { 32 - bits, 32 - 2 * bits, 32 - 3 * bits,
                           32 - 4 * bits };
    const int32x4_t down = vdupq_n_s32(bits - 32);
    const float32x4_t factor = vld1q_f32(scale);
    const float32x4_t less = vld1q_f32(zero);
    int32_t k;
    for (k = 0; k < taps; k++, from += step, to += 4) {
        const uint32_t more = bits == 4 ? (uint32_t)from[1] << 8 : 0;
        const uint32x4_t all = vdupq_n_u32(from[0] | more);
        const uint32x4_t top = vshlq_u32(all, up);
        const int32x4_t v = is_signed ? vshlq_s32((int32x4_t)top, down)
                                      : (int32x4_t)vshlq_u32(top, down);
        const float32x4_t moved = vsubq_f32(vcvtq_f32_s32(v), less);
        vst1q_f32(to, vmulq_f32(moved, factor));
    }
}

#else

/* The four bytes of a tap, each taken by the instruction `load`, in s12 to s15. */
#define INLAY_FOUR_A(load) load " %[a], [%[from]]\n"
#define INLAY_FOUR_B(load) load " %[b], [%[from], #1]\n"
#define INLAY_FOUR_C(load) load " %[a], [%[from], #2]\n"
#define INLAY_FOUR_D(load) load " %[b], [%[from], #3]\n"
#define INLAY_FOUR_AB(load) INLAY_FOUR_A(load) INLAY_FOUR_B(load)
#define INLAY_FOUR_CD(load) INLAY_FOUR_C(load) INLAY_FOUR_D(load)
#define INLAY_FOUR_AB_IN "vmov s12, s13, %[a], %[b]\n"
#define INLAY_FOUR_CD_IN "vmov s14, s15, %[a], %[b]\n"
#define INLAY_FOUR_LOWER(load) INLAY_FOUR_AB(load) INLAY_FOUR_AB_IN
#define INLAY_FOUR_UPPER(load) INLAY_FOUR_CD(load) INLAY_FOUR_CD_IN

/* They become floats; zero in s4 to s7 is taken off, scale in s8 to s11 multiplied; stored. */
#define INLAY_FOUR_FLOAT_A "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
#define INLAY_FOUR_FLOAT_B "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
#define INLAY_FOUR_FLOATS INLAY_FOUR_FLOAT_A INLAY_FOUR_FLOAT_B
#define INLAY_FOUR_LESS_A "vsub.f32 s12, s12, s4\nvsub.f32 s13, s13, s5\n"
#define INLAY_FOUR_LESS_B "vsub.f32 s14, s14, s6\nvsub.f32 s15, s15, s7\n"
#define INLAY_FOUR_MOVED INLAY_FOUR_LESS_A INLAY_FOUR_LESS_B
#define INLAY_FOUR_TIMES_A "vmul.f32 s12, s12, s8\nvmul.f32 s13, s13, s9\n"
#define INLAY_FOUR_TIMES_B "vmul.f32 s14, s14, s10\nvmul.f32 s15, s15, s11\n"
#define INLAY_FOUR_STORE "vstmia %[to]!, {s12-s15}\n"
#define INLAY_FOUR_OUT INLAY_FOUR_TIMES_A INLAY_FOUR_TIMES_B INLAY_FOUR_STORE

/* A loop over taps, and what it changes. */
#define INLAY_FOUR_BEGIN "vldmia %[scale], {s8-s11}\nvldmia %[zero], {s4-s7}\n"
#define INLAY_FOUR_LOAD(load) INLAY_FOUR_LOWER(load) INLAY_FOUR_UPPER(load)
#define INLAY_FOUR_HEAD(load) "1:\n" INLAY_FOUR_LOAD(load) INLAY_FOUR_FLOATS
#define INLAY_FOUR_NEXT "add %[from], %[step]\nsubs %[taps], #1\nbne 1b\n"
#define INLAY_FOUR_LOST_A "cc", "memory", "s4", "s5", "s6", "s7", "s8", "s9"
#define INLAY_FOUR_LOST_B "s10", "s11", "s12", "s13", "s14", "s15"

INLAY_INLINE void inlay_four_unsigned(float *to, const unsigned char *from,
                                      ptrdiff_t step, int32_t taps,
                                      const float *scale, const float *zero)
{
    int32_t a, b;
    __asm__ volatile(INLAY_FOUR_BEGIN INLAY_FOUR_HEAD("ldrb")
                         INLAY_FOUR_MOVED INLAY_FOUR_OUT INLAY_FOUR_NEXT
                     : [to] "+r"(to), [from] "+r"(from), [taps] "+r"(taps),
                       [a] "=&r"(a), [b] "=&r"(b)
                     : [step] "r"(step), [scale] "r"(scale), [zero] "r"(zero)
                     : INLAY_FOUR_LOST_A, INLAY_FOUR_LOST_B);
}

INLAY_INLINE void inlay_four_signed(float *to, const unsigned char *from,
                                    ptrdiff_t step, int32_t taps,
                                    const float *scale, const float *zero)
{
    int32_t a, b;
    __asm__ volatile(INLAY_FOUR_BEGIN INLAY_FOUR_HEAD("ldrsb")
                         INLAY_FOUR_MOVED INLAY_FOUR_OUT INLAY_FOUR_NEXT
                     : [to] "+r"(to), [from] "+r"(from), [taps] "+r"(taps),
                       [a] "=&r"(a), [b] "=&r"(b)
                     : [step] "r"(step), [scale] "r"(scale), [zero] "r"(zero)
                     : INLAY_FOUR_LOST_A, INLAY_FOUR_LOST_B);
}

/* Pairs of taps, at least one, where zero is 0. The first tap's floats are s0 to
 * s3, the second one's s4 to s7. */
#define INLAY_PAIR_AB(p, q) "vmov " p ", " q ", %[a], %[b]\n"
#define INLAY_PAIR_LOWER(p, q) INLAY_FOUR_AB("ldrsb") INLAY_PAIR_AB(p, q)
#define INLAY_PAIR_UPPER(p, q) INLAY_FOUR_CD("ldrsb") INLAY_PAIR_AB(p, q)
#define INLAY_PAIR_NEXT "add %[from], %[step]\n"
#define INLAY_PAIR_LOAD0 INLAY_PAIR_LOWER("s0", "s1")
#define INLAY_PAIR_LOAD2 INLAY_PAIR_UPPER("s2", "s3")
#define INLAY_PAIR_LOAD4 INLAY_PAIR_LOWER("s4", "s5")
#define INLAY_PAIR_LOAD6 INLAY_PAIR_UPPER("s6", "s7")
#define INLAY_PAIR_LOADS0 INLAY_PAIR_LOAD0 INLAY_PAIR_LOAD2 INLAY_PAIR_NEXT
#define INLAY_PAIR_LOADS4 INLAY_PAIR_LOAD4 INLAY_PAIR_LOAD6 INLAY_PAIR_NEXT
#define INLAY_PAIR_LOADS "1:\n" INLAY_PAIR_LOADS0 INLAY_PAIR_LOADS4
#define INLAY_PAIR_FLOAT(s) "vcvt.f32.s32 " s ", " s "\n"
#define INLAY_PAIR_MUL(s, by) "vmul.f32 " s ", " s ", " by "\n"
#define INLAY_PAIR_ONE(s, by) INLAY_PAIR_FLOAT(s) INLAY_PAIR_MUL(s, by)
#define INLAY_PAIR_01 INLAY_PAIR_ONE("s0", "s8") INLAY_PAIR_ONE("s1", "s9")
#define INLAY_PAIR_23 INLAY_PAIR_ONE("s2", "s10") INLAY_PAIR_ONE("s3", "s11")
#define INLAY_PAIR_45 INLAY_PAIR_ONE("s4", "s8") INLAY_PAIR_ONE("s5", "s9")
#define INLAY_PAIR_67 INLAY_PAIR_ONE("s6", "s10") INLAY_PAIR_ONE("s7", "s11")
#define INLAY_PAIR_0123 INLAY_PAIR_01 INLAY_PAIR_23
#define INLAY_PAIR_4567 INLAY_PAIR_45 INLAY_PAIR_67
#define INLAY_PAIR_STORE "vstmia %[to]!, {s0-s7}\n"
#define INLAY_PAIR_UNTIL "subs %[pairs], #1\nbne 1b\n"
#define INLAY_PAIR_LOST "s0", "s1", "s2", "s3"
#define INLAY_PAIR_BEGIN "vldmia %[scale], {s8-s11}\n" INLAY_PAIR_LOADS
#define INLAY_PAIR_END INLAY_PAIR_STORE INLAY_PAIR_UNTIL
#define INLAY_PAIR_ALL INLAY_PAIR_0123 INLAY_PAIR_4567 INLAY_PAIR_END
#define INLAY_PAIRS INLAY_PAIR_BEGIN INLAY_PAIR_ALL

INLAY_INLINE void inlay_four_pairs(float *to, const unsigned char *from,
                                   ptrdiff_t step, int32_t pairs,
                                   const float *scale)
{
    int32_t a, b;
    __asm__ volatile(INLAY_PAIRS
                     : [to] "+r"(to), [from] "+r"(from), [pairs] "+r"(pairs),
                       [a] "=&r"(a), [b] "=&r"(b)
                     : [step] "r"(step), [scale] "r"(scale)
                     : INLAY_PAIR_LOST, INLAY_FOUR_LOST_A, "s10", "s11");
}

/* The same of any taps, at least two. */
INLAY_INLINE void inlay_four_centred(float *to, const unsigned char *from,
                                     ptrdiff_t step, int32_t taps,
                                     const float *scale, const float *zero)
{
    const int32_t even = taps & ~1;
    inlay_four_pairs(to, from, step, taps / 2, scale);
    if (taps % 2)
        inlay_four_signed(to + 4 * even, from + even * step, step, 1, scale,
                          zero);
}

/* What inlay_scaled_<type>() does, of signed bytes or others; taps is not 0. */
INLAY_INLINE void inlay_scaled_bytes(float *to, const unsigned char *from,
                                     ptrdiff_t step, int32_t taps,
                                     const float *scale, const float *zero,
                                     const int is_signed)
{
    if (!is_signed)
        inlay_four_unsigned(to, from, step, taps, scale, zero);
    else if (taps < 2 || !inlay_is_zero(zero))
        inlay_four_signed(to, from, step, taps, scale, zero);
    else
        inlay_four_centred(to, from, step, taps, scale, zero);
}

#endif
