/* SPDX-License-Identifier: 0BSD
 * The part of widen.h for products of one row on 32-bit Arm cores: four taps of four channels go at
 * a time, whose weights lie together. By Helium's vectors, or, with the registers s0 to s31 alone,
 * by instructions with names. Products and their order are those of the C. INLAY_ROW_...(type)
 * makes the weights of one tap floats; of 4 bits a word has two taps, LOW the first. */

#ifdef INLAY_HELIUM

/* Weights become floats in q0, and are multiplied by floats of the row in r0 to r3. Of vcvtb
 * binutils 2.40 encodes q0 alone as it is named. Numbers of 4 bits are shifted to the top of a
 * lane, and down. */
#define INLAY_ROW_FLOAT "vcvt.f32.s32 q0, q0\n"
#define INLAY_ROW_MOVE "vsub.f32 q0, q0, %q[zero]\n"
#define INLAY_ROW_S8 "vldrb.s32 q0, [%[w]], #4\n" INLAY_ROW_FLOAT
#define INLAY_ROW_U8 "vldrb.u32 q0, [%[w]], #4\n" INLAY_ROW_FLOAT INLAY_ROW_MOVE
#define INLAY_ROW_F16 "vldrh.u32 q0, [%[w]], #8\nvcvtb.f32.f16 q0, q0\n"
#define INLAY_ROW_BF16 "vldrh.u32 q0, [%[w]], #8\nvshl.i32 q0, q0, #16\n"
#define INLAY_ROW_TWO "ldr r12, [%[w]], #4\nvdup.32 q1, r12\n"
#define INLAY_ROW_TOP_LOW INLAY_ROW_TWO "vshl.u32 q0, q1, %q[low]\n"
#define INLAY_ROW_TOP_HIGH "vshl.u32 q0, q1, %q[high]\n"
#define INLAY_ROW_S4 "vshr.s32 q0, q0, #28\n" INLAY_ROW_FLOAT
#define INLAY_ROW_U4 "vshr.u32 q0, q0, #28\n" INLAY_ROW_FLOAT INLAY_ROW_MOVE
#define INLAY_ROW_S4_LOW INLAY_ROW_TOP_LOW INLAY_ROW_S4
#define INLAY_ROW_S4_HIGH INLAY_ROW_TOP_HIGH INLAY_ROW_S4
#define INLAY_ROW_U4_LOW INLAY_ROW_TOP_LOW INLAY_ROW_U4
#define INLAY_ROW_U4_HIGH INLAY_ROW_TOP_HIGH INLAY_ROW_U4

#define INLAY_ROW_TAP(make, x) make "vfma.f32 %q[sum], q0, " x "\n"
#define INLAY_ROW_HALF0(a, b) INLAY_ROW_TAP(a, "r0") INLAY_ROW_TAP(b, "r1")
#define INLAY_ROW_HALF1(a, b) INLAY_ROW_TAP(a, "r2") INLAY_ROW_TAP(b, "r3")
#define INLAY_ROW_TAPS(a, b) INLAY_ROW_HALF0(a, b) INLAY_ROW_HALF1(a, b)
#define INLAY_ROW_BEGIN "dls lr, lr\n1:\nldm %[x]!, {r0-r3}\n"
#define INLAY_ROW(a, b) INLAY_ROW_BEGIN INLAY_ROW_TAPS(a, b) "le lr, 1b\n"

#define INLAY_ROW_WALKED [w] "+l"(w), [x] "+r"(x), "+r"(n)
#define INLAY_ROW_OUT [sum] "+w"(sum), INLAY_ROW_WALKED
#define INLAY_ROW_ZERO [zero] "w"(zero)
#define INLAY_ROW_SHIFTS [low] "w"(low), [high] "w"(high)
#define INLAY_ROW_LOST "memory", "r0", "r1", "r2", "r3", "r12", "q0", "q1"

/* Weights of 8 or 16 bits. */
INLAY_INLINE void inlay_row_wide(float *sums, const inlay_line *line,
                                 int32_t fours, const int kind)
{
    register int32_t n __asm__("lr") = fours;
    const unsigned char *w = line->from;
    const float *x = line->x;
    float32x4_t sum = vld1q_f32(sums);
    if (kind == INLAY_NARROW_F16) {
        __asm__ volatile(INLAY_ROW(INLAY_ROW_F16, INLAY_ROW_F16)
                         : INLAY_ROW_OUT
                         :
                         : INLAY_ROW_LOST);
    } else if (kind == INLAY_NARROW_BF16) {
        __asm__ volatile(INLAY_ROW(INLAY_ROW_BF16, INLAY_ROW_BF16)
                         : INLAY_ROW_OUT
                         :
                         : INLAY_ROW_LOST);
    } else if (kind == INLAY_NARROW_SIGNED) {
        __asm__ volatile(INLAY_ROW(INLAY_ROW_S8, INLAY_ROW_S8)
                         : INLAY_ROW_OUT
                         :
                         : INLAY_ROW_LOST);
    } else {
        const float32x4_t zero = vld1q_f32(line->zero);
        __asm__ volatile(INLAY_ROW(INLAY_ROW_U8, INLAY_ROW_U8)
                         : INLAY_ROW_OUT:INLAY_ROW_ZERO
                         : INLAY_ROW_LOST);
    }
    vst1q_f32(sums, sum);
}

INLAY_INLINE void inlay_row_four_bits(float *sums, const inlay_line *line,
                                      int32_t fours, const int kind)
{
    register int32_t n __asm__("lr") = fours;
    const unsigned char *w = line->from;
    const float *x = line->x;
    float32x4_t sum = vld1q_f32(sums);
    const int32x4_t low = { 28, 24, 20, 16 };
    const int32x4_t high = { 12, 8, 4, 0 };
    if (kind == INLAY_NARROW_SIGNED) {
        __asm__ volatile(INLAY_ROW(INLAY_ROW_S4_LOW, INLAY_ROW_S4_HIGH)
                         : INLAY_ROW_OUT:INLAY_ROW_SHIFTS
                         : INLAY_ROW_LOST);
    } else {
        const float32x4_t zero = vld1q_f32(line->zero);
        __asm__ volatile(INLAY_ROW(INLAY_ROW_U4_LOW, INLAY_ROW_U4_HIGH)
                         : INLAY_ROW_OUT
                         : INLAY_ROW_ZERO, INLAY_ROW_SHIFTS
                         : INLAY_ROW_LOST);
    }
    vst1q_f32(sums, sum);
}

#else

/* s0 to s3 are the sums, s4 to s7 floats of the row, s8 to s11 the zero points, or halves on their
 * way, s12 to s15 weights. */
#define INLAY_ROW_AB01 "vmov s12, s13, %[a], %[b]\n"
#define INLAY_ROW_AB23 "vmov s14, s15, %[a], %[b]\n"
#define INLAY_ROW_FLOAT01 "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
#define INLAY_ROW_FLOAT23 "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
#define INLAY_ROW_FLOAT INLAY_ROW_FLOAT01 INLAY_ROW_FLOAT23
#define INLAY_ROW_MOVE01 "vsub.f32 s12, s12, s8\nvsub.f32 s13, s13, s9\n"
#define INLAY_ROW_MOVE23 "vsub.f32 s14, s14, s10\nvsub.f32 s15, s15, s11\n"
#define INLAY_ROW_MOVED INLAY_ROW_FLOAT INLAY_ROW_MOVE01 INLAY_ROW_MOVE23
#define INLAY_ROW_FOUR(two) two INLAY_ROW_AB01 two INLAY_ROW_AB23
#define INLAY_ROW_S8S "ldrsb %[a], [%[w]], #1\nldrsb %[b], [%[w]], #1\n"
#define INLAY_ROW_U8S "ldrb %[a], [%[w]], #1\nldrb %[b], [%[w]], #1\n"
#define INLAY_ROW_S8 INLAY_ROW_FOUR(INLAY_ROW_S8S) INLAY_ROW_FLOAT
#define INLAY_ROW_U8 INLAY_ROW_FOUR(INLAY_ROW_U8S) INLAY_ROW_MOVED
#define INLAY_ROW_CVTB(to, s) "vcvtb.f32.f16 " to ", " s "\n"
#define INLAY_ROW_CVTT(to, s) "vcvtt.f32.f16 " to ", " s "\n"
#define INLAY_ROW_F16_01(s) INLAY_ROW_CVTB("s12", s) INLAY_ROW_CVTT("s13", s)
#define INLAY_ROW_F16_23(s) INLAY_ROW_CVTB("s14", s) INLAY_ROW_CVTT("s15", s)
#define INLAY_ROW_HALVES "vldmia %[w]!, {s8-s11}\n" INLAY_ROW_F16_01("s8")
#define INLAY_ROW_F16_LOW INLAY_ROW_HALVES INLAY_ROW_F16_23("s9")
#define INLAY_ROW_F16_HIGH INLAY_ROW_F16_01("s10") INLAY_ROW_F16_23("s11")
#define INLAY_ROW_BF16_A "ldr %[c], [%[w]], #4\nlsl %[a], %[c], #16\n"
#define INLAY_ROW_BF16S INLAY_ROW_BF16_A "and %[b], %[c], %[upper]\n"
#define INLAY_ROW_BF16 INLAY_ROW_FOUR(INLAY_ROW_BF16S)
#define INLAY_ROW_TWO "ldr %[c], [%[w]], #4\n"
#define INLAY_ROW_A(how, bit) how " %[a], %[c], #" bit ", #4\n"
#define INLAY_ROW_B(how, bit) how " %[b], %[c], #" bit ", #4\n"
#define INLAY_ROW_AB(how, a, b) INLAY_ROW_A(how, a) INLAY_ROW_B(how, b)
#define INLAY_ROW_LOW01(how) \
    INLAY_ROW_TWO INLAY_ROW_AB(how, "0", "4") INLAY_ROW_AB01
#define INLAY_ROW_LOW23(how) INLAY_ROW_AB(how, "8", "12") INLAY_ROW_AB23
#define INLAY_ROW_HIGH01(how) INLAY_ROW_AB(how, "16", "20") INLAY_ROW_AB01
#define INLAY_ROW_HIGH23(how) INLAY_ROW_AB(how, "24", "28") INLAY_ROW_AB23
#define INLAY_ROW_LOW(how) INLAY_ROW_LOW01(how) INLAY_ROW_LOW23(how)
#define INLAY_ROW_HIGH(how) INLAY_ROW_HIGH01(how) INLAY_ROW_HIGH23(how)
#define INLAY_ROW_S4_LOW INLAY_ROW_LOW("sbfx") INLAY_ROW_FLOAT
#define INLAY_ROW_S4_HIGH INLAY_ROW_HIGH("sbfx") INLAY_ROW_FLOAT
#define INLAY_ROW_U4_LOW INLAY_ROW_LOW("ubfx") INLAY_ROW_MOVED
#define INLAY_ROW_U4_HIGH INLAY_ROW_HIGH("ubfx") INLAY_ROW_MOVED

#define INLAY_ROW_MAC01(x) "vfma.f32 s0, s12, " x "\nvfma.f32 s1, s13, " x "\n"
#define INLAY_ROW_MAC23(x) "vfma.f32 s2, s14, " x "\nvfma.f32 s3, s15, " x "\n"
#define INLAY_ROW_TAP(make, x) make INLAY_ROW_MAC01(x) INLAY_ROW_MAC23(x)
#define INLAY_ROW_HALF0(a, b) INLAY_ROW_TAP(a, "s4") INLAY_ROW_TAP(b, "s5")
#define INLAY_ROW_HALF1(a, b) INLAY_ROW_TAP(a, "s6") INLAY_ROW_TAP(b, "s7")
#define INLAY_ROW_TAPS(a, b) INLAY_ROW_HALF0(a, b) INLAY_ROW_HALF1(a, b)
#define INLAY_ROW_SUMS "vldmia %[sum], {s0-s3}\n"
#define INLAY_ROW_ZEROS INLAY_ROW_SUMS "vldmia %[zero], {s8-s11}\n"
#define INLAY_ROW_AGAIN "subs %[n], #1\nbne 1b\nvstmia %[sum], {s0-s3}\n"
#define INLAY_ROW_FOURS(a, b) "1:\nvldmia %[x]!, {s4-s7}\n" INLAY_ROW_TAPS(a, b)
#define INLAY_ROW_REST(a, b) INLAY_ROW_FOURS(a, b) INLAY_ROW_AGAIN
#define INLAY_ROW(a, b) INLAY_ROW_SUMS INLAY_ROW_REST(a, b)
#define INLAY_ROW_OFF(a, b) INLAY_ROW_ZEROS INLAY_ROW_REST(a, b)

#define INLAY_ROW_WALKED [w] "+r"(w), [x] "+r"(x), [n] "+r"(fours)
#define INLAY_ROW_TEMP2 INLAY_ROW_WALKED, [a] "=&r"(a), [b] "=&r"(b)
#define INLAY_ROW_TEMP3 INLAY_ROW_TEMP2, [c] "=&r"(c)
#define INLAY_ROW_IN [sum] "r"(sums)
#define INLAY_ROW_ZERO INLAY_ROW_IN, [zero] "r"(line->zero)
#define INLAY_ROW_LOST_A "s0", "s1", "s2", "s3", INLAY_FOUR_LOST_A
#define INLAY_ROW_LOST INLAY_ROW_LOST_A, INLAY_FOUR_LOST_B

/* Weights of 8 or 16 bits. */
INLAY_INLINE void inlay_row_wide(float *sums, const inlay_line *line,
                                 int32_t fours, const int kind)
{
    const unsigned char *w = line->from;
    const float *x = line->x;
    int32_t a, b, c;
    if (kind == INLAY_NARROW_F16)
        __asm__ volatile(INLAY_ROW(INLAY_ROW_F16_LOW, INLAY_ROW_F16_HIGH)
                         : INLAY_ROW_WALKED:INLAY_ROW_IN
                         : INLAY_ROW_LOST);
    else if (kind == INLAY_NARROW_BF16)
        __asm__ volatile(INLAY_ROW(INLAY_ROW_BF16, INLAY_ROW_BF16)
                         : INLAY_ROW_TEMP3
                         : INLAY_ROW_IN, [upper] "r"(0xffff0000u)
                         : INLAY_ROW_LOST);
    else if (kind == INLAY_NARROW_SIGNED)
        __asm__ volatile(INLAY_ROW(INLAY_ROW_S8, INLAY_ROW_S8)
                         : INLAY_ROW_TEMP2:INLAY_ROW_IN
                         : INLAY_ROW_LOST);
    else
        __asm__ volatile(INLAY_ROW_OFF(INLAY_ROW_U8, INLAY_ROW_U8)
                         : INLAY_ROW_TEMP2:INLAY_ROW_ZERO
                         : INLAY_ROW_LOST);
}

INLAY_INLINE void inlay_row_four_bits(float *sums, const inlay_line *line,
                                      int32_t fours, const int kind)
{
    const unsigned char *w = line->from;
    const float *x = line->x;
    int32_t a, b, c;
    if (kind == INLAY_NARROW_SIGNED)
        __asm__ volatile(INLAY_ROW(INLAY_ROW_S4_LOW, INLAY_ROW_S4_HIGH)
                         : INLAY_ROW_TEMP3:INLAY_ROW_IN
                         : INLAY_ROW_LOST);
    else
        __asm__ volatile(INLAY_ROW_OFF(INLAY_ROW_U4_LOW, INLAY_ROW_U4_HIGH)
                         : INLAY_ROW_TEMP3:INLAY_ROW_ZERO
                         : INLAY_ROW_LOST);
}

#endif

/* Is there code for the type? Signed numbers mostly have no zero points, others do. */
INLAY_INLINE int inlay_row_serves(const int bits, const int kind, int moved)
{
    if (kind == INLAY_NARROW_F16 || kind == INLAY_NARROW_BF16)
        return !moved;
    if (bits != 8 && bits != 4)
        return 0;
    return kind == INLAY_NARROW_UNSIGNED ||
           (kind == INLAY_NARROW_SIGNED && !moved);
}

/* As many taps as come in fours, added to the sums, where there is code for them; returns how
 * many. */
INLAY_INLINE int32_t inlay_line_arm(float *sum, const inlay_line *line,
                                    const int bits, const int kind)
{
    const int32_t fours = line->taps / 4;
    if (!fours || line->step * 2 != bits ||
        !inlay_row_serves(bits, kind, line->moved))
        return 0;
    if (bits == 4)
        inlay_row_four_bits(sum, line, fours, kind);
    else
        inlay_row_wide(sum, line, fours, kind);
    return fours * 4;
}
