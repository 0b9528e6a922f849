/* SPDX-License-Identifier: 0BSD
 * The part of widen.h for products of one row on 32-bit Arm cores: four taps of four channels go at
 * a time, whose weights lie together. By Helium's vectors, or, with the registers s0 to s31 alone,
 * by instructions with names: s0 to s3 are the sums, s4 to s7 floats of the row, s8 to s11 the zero
 * points, s12 to s15 weights. Products and their order are those of the C. */

#ifdef INLAY_HELIUM

/* Weights become floats in q0, and are multiplied by floats of the row in r0 to r3. Of vcvtb
 * binutils 2.40 encodes q0 alone as it is named. Numbers of 4 bits, two taps in a word, are shifted
 * to the top of a lane, and down. */
#define INLAY_ROW_LOST "memory", "r0", "r1", "r2", "r3", "r12", "q0", "q1"

INLAY_INLINE void inlay_row_s8(float *sums, const inlay_line *line,
                               int32_t fours)
{
    register int32_t n __asm__("lr") = fours;
    const unsigned char *w = line->from;
    const float *x = line->x;
    float32x4_t sum = vld1q_f32(sums);
    __asm__ volatile("dls lr, lr\n1:\nldm %[x]!, {r0-r3}\n"
                     "vldrb.s32 q0, [%[w]], #4\nvcvt.f32.s32 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r0\n"
                     "vldrb.s32 q0, [%[w]], #4\nvcvt.f32.s32 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r1\n"
                     "vldrb.s32 q0, [%[w]], #4\nvcvt.f32.s32 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r2\n"
                     "vldrb.s32 q0, [%[w]], #4\nvcvt.f32.s32 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r3\n"
                     "le lr, 1b\n"
                     : [sum] "+w"(sum), [w] "+l"(w), [x] "+r"(x), "+r"(n)
                     :
                     : INLAY_ROW_LOST);
    vst1q_f32(sums, sum);
}

INLAY_INLINE void inlay_row_u8(float *sums, const inlay_line *line,
                               int32_t fours)
{
    register int32_t n __asm__("lr") = fours;
    const unsigned char *w = line->from;
    const float *x = line->x;
    float32x4_t sum = vld1q_f32(sums);
    const float32x4_t zero = vld1q_f32(line->zero);
    __asm__ volatile("dls lr, lr\n1:\nldm %[x]!, {r0-r3}\n"
                     "vldrb.u32 q0, [%[w]], #4\nvcvt.f32.s32 q0, q0\n"
                     "vsub.f32 q0, q0, %q[zero]\n"
                     "vfma.f32 %q[sum], q0, r0\n"
                     "vldrb.u32 q0, [%[w]], #4\nvcvt.f32.s32 q0, q0\n"
                     "vsub.f32 q0, q0, %q[zero]\n"
                     "vfma.f32 %q[sum], q0, r1\n"
                     "vldrb.u32 q0, [%[w]], #4\nvcvt.f32.s32 q0, q0\n"
                     "vsub.f32 q0, q0, %q[zero]\n"
                     "vfma.f32 %q[sum], q0, r2\n"
                     "vldrb.u32 q0, [%[w]], #4\nvcvt.f32.s32 q0, q0\n"
                     "vsub.f32 q0, q0, %q[zero]\n"
                     "vfma.f32 %q[sum], q0, r3\n"
                     "le lr, 1b\n"
                     : [sum] "+w"(sum), [w] "+l"(w), [x] "+r"(x), "+r"(n)
                     : [zero] "w"(zero)
                     : INLAY_ROW_LOST);
    vst1q_f32(sums, sum);
}

INLAY_INLINE void inlay_row_f16(float *sums, const inlay_line *line,
                                int32_t fours)
{
    register int32_t n __asm__("lr") = fours;
    const unsigned char *w = line->from;
    const float *x = line->x;
    float32x4_t sum = vld1q_f32(sums);
    __asm__ volatile("dls lr, lr\n1:\nldm %[x]!, {r0-r3}\n"
                     "vldrh.u32 q0, [%[w]], #8\nvcvtb.f32.f16 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r0\n"
                     "vldrh.u32 q0, [%[w]], #8\nvcvtb.f32.f16 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r1\n"
                     "vldrh.u32 q0, [%[w]], #8\nvcvtb.f32.f16 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r2\n"
                     "vldrh.u32 q0, [%[w]], #8\nvcvtb.f32.f16 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r3\n"
                     "le lr, 1b\n"
                     : [sum] "+w"(sum), [w] "+l"(w), [x] "+r"(x), "+r"(n)
                     :
                     : INLAY_ROW_LOST);
    vst1q_f32(sums, sum);
}

INLAY_INLINE void inlay_row_bf16(float *sums, const inlay_line *line,
                                 int32_t fours)
{
    register int32_t n __asm__("lr") = fours;
    const unsigned char *w = line->from;
    const float *x = line->x;
    float32x4_t sum = vld1q_f32(sums);
    __asm__ volatile("dls lr, lr\n1:\nldm %[x]!, {r0-r3}\n"
                     "vldrh.u32 q0, [%[w]], #8\nvshl.i32 q0, q0, #16\n"
                     "vfma.f32 %q[sum], q0, r0\n"
                     "vldrh.u32 q0, [%[w]], #8\nvshl.i32 q0, q0, #16\n"
                     "vfma.f32 %q[sum], q0, r1\n"
                     "vldrh.u32 q0, [%[w]], #8\nvshl.i32 q0, q0, #16\n"
                     "vfma.f32 %q[sum], q0, r2\n"
                     "vldrh.u32 q0, [%[w]], #8\nvshl.i32 q0, q0, #16\n"
                     "vfma.f32 %q[sum], q0, r3\n"
                     "le lr, 1b\n"
                     : [sum] "+w"(sum), [w] "+l"(w), [x] "+r"(x), "+r"(n)
                     :
                     : INLAY_ROW_LOST);
    vst1q_f32(sums, sum);
}

INLAY_INLINE void inlay_row_s4(float *sums, const inlay_line *line,
                               int32_t fours)
{
    register int32_t n __asm__("lr") = fours;
    const unsigned char *w = line->from;
    const float *x = line->x;
    float32x4_t sum = vld1q_f32(sums);
    const int32x4_t low = { 28, 24, 20, 16 };
    const int32x4_t high = { 12, 8, 4, 0 };
    __asm__ volatile("dls lr, lr\n1:\nldm %[x]!, {r0-r3}\n"
                     "ldr r12, [%[w]], #4\nvdup.32 q1, r12\n"
                     "vshl.u32 q0, q1, %q[low]\n"
                     "vshr.s32 q0, q0, #28\nvcvt.f32.s32 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r0\n"
                     "vshl.u32 q0, q1, %q[high]\n"
                     "vshr.s32 q0, q0, #28\nvcvt.f32.s32 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r1\n"
                     "ldr r12, [%[w]], #4\nvdup.32 q1, r12\n"
                     "vshl.u32 q0, q1, %q[low]\n"
                     "vshr.s32 q0, q0, #28\nvcvt.f32.s32 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r2\n"
                     "vshl.u32 q0, q1, %q[high]\n"
                     "vshr.s32 q0, q0, #28\nvcvt.f32.s32 q0, q0\n"
                     "vfma.f32 %q[sum], q0, r3\n"
                     "le lr, 1b\n"
                     : [sum] "+w"(sum), [w] "+l"(w), [x] "+r"(x), "+r"(n)
                     : [low] "w"(low), [high] "w"(high)
                     : INLAY_ROW_LOST);
    vst1q_f32(sums, sum);
}

INLAY_INLINE void inlay_row_u4(float *sums, const inlay_line *line,
                               int32_t fours)
{
    register int32_t n __asm__("lr") = fours;
    const unsigned char *w = line->from;
    const float *x = line->x;
    float32x4_t sum = vld1q_f32(sums);
    const float32x4_t zero = vld1q_f32(line->zero);
    const int32x4_t low = { 28, 24, 20, 16 };
    const int32x4_t high = { 12, 8, 4, 0 };
    __asm__ volatile("dls lr, lr\n1:\nldm %[x]!, {r0-r3}\n"
                     "ldr r12, [%[w]], #4\nvdup.32 q1, r12\n"
                     "vshl.u32 q0, q1, %q[low]\n"
                     "vshr.u32 q0, q0, #28\nvcvt.f32.s32 q0, q0\n"
                     "vsub.f32 q0, q0, %q[zero]\n"
                     "vfma.f32 %q[sum], q0, r0\n"
                     "vshl.u32 q0, q1, %q[high]\n"
                     "vshr.u32 q0, q0, #28\nvcvt.f32.s32 q0, q0\n"
                     "vsub.f32 q0, q0, %q[zero]\n"
                     "vfma.f32 %q[sum], q0, r1\n"
                     "ldr r12, [%[w]], #4\nvdup.32 q1, r12\n"
                     "vshl.u32 q0, q1, %q[low]\n"
                     "vshr.u32 q0, q0, #28\nvcvt.f32.s32 q0, q0\n"
                     "vsub.f32 q0, q0, %q[zero]\n"
                     "vfma.f32 %q[sum], q0, r2\n"
                     "vshl.u32 q0, q1, %q[high]\n"
                     "vshr.u32 q0, q0, #28\nvcvt.f32.s32 q0, q0\n"
                     "vsub.f32 q0, q0, %q[zero]\n"
                     "vfma.f32 %q[sum], q0, r3\n"
                     "le lr, 1b\n"
                     : [sum] "+w"(sum), [w] "+l"(w), [x] "+r"(x), "+r"(n)
                     : [zero] "w"(zero), [low] "w"(low), [high] "w"(high)
                     : INLAY_ROW_LOST);
    vst1q_f32(sums, sum);
}

#else

#define INLAY_ROW_LOST "s0", "s1", "s2", "s3", INLAY_FOUR_LOST_A
#define INLAY_ROW_LOST_B INLAY_FOUR_LOST_B

INLAY_INLINE void inlay_row_s8(float *sums, const inlay_line *line,
                               int32_t fours)
{
    const unsigned char *w = line->from;
    const float *x = line->x;
    int32_t a, b;
    __asm__ volatile(
        "vldmia %[sum], {s0-s3}\n"
        "1:\nvldmia %[x]!, {s4-s7}\n"
        "ldrsb %[a], [%[w]], #1\nldrsb %[b], [%[w]], #1\n"
        "vmov s12, s13, %[a], %[b]\n"
        "ldrsb %[a], [%[w]], #1\nldrsb %[b], [%[w]], #1\n"
        "vmov s14, s15, %[a], %[b]\n"
        "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
        "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
        "vfma.f32 s0, s12, s4\nvfma.f32 s1, s13, s4\n"
        "vfma.f32 s2, s14, s4\nvfma.f32 s3, s15, s4\n"
        "ldrsb %[a], [%[w]], #1\nldrsb %[b], [%[w]], #1\n"
        "vmov s12, s13, %[a], %[b]\n"
        "ldrsb %[a], [%[w]], #1\nldrsb %[b], [%[w]], #1\n"
        "vmov s14, s15, %[a], %[b]\n"
        "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
        "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
        "vfma.f32 s0, s12, s5\nvfma.f32 s1, s13, s5\n"
        "vfma.f32 s2, s14, s5\nvfma.f32 s3, s15, s5\n"
        "ldrsb %[a], [%[w]], #1\nldrsb %[b], [%[w]], #1\n"
        "vmov s12, s13, %[a], %[b]\n"
        "ldrsb %[a], [%[w]], #1\nldrsb %[b], [%[w]], #1\n"
        "vmov s14, s15, %[a], %[b]\n"
        "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
        "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
        "vfma.f32 s0, s12, s6\nvfma.f32 s1, s13, s6\n"
        "vfma.f32 s2, s14, s6\nvfma.f32 s3, s15, s6\n"
        "ldrsb %[a], [%[w]], #1\nldrsb %[b], [%[w]], #1\n"
        "vmov s12, s13, %[a], %[b]\n"
        "ldrsb %[a], [%[w]], #1\nldrsb %[b], [%[w]], #1\n"
        "vmov s14, s15, %[a], %[b]\n"
        "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
        "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
        "vfma.f32 s0, s12, s7\nvfma.f32 s1, s13, s7\n"
        "vfma.f32 s2, s14, s7\nvfma.f32 s3, s15, s7\n"
        "subs %[n], #1\nbne 1b\nvstmia %[sum], {s0-s3}\n"
        : [w] "+r"(w), [x] "+r"(x), [n] "+r"(fours), [a] "=&r"(a), [b] "=&r"(b)
        : [sum] "r"(sums)
        : INLAY_ROW_LOST, INLAY_ROW_LOST_B);
}

INLAY_INLINE void inlay_row_u8(float *sums, const inlay_line *line,
                               int32_t fours)
{
    const unsigned char *w = line->from;
    const float *x = line->x;
    int32_t a, b;
    __asm__ volatile(
        "vldmia %[sum], {s0-s3}\n"
        "vldmia %[zero], {s8-s11}\n"
        "1:\nvldmia %[x]!, {s4-s7}\n"
        "ldrb %[a], [%[w]], #1\nldrb %[b], [%[w]], #1\n"
        "vmov s12, s13, %[a], %[b]\n"
        "ldrb %[a], [%[w]], #1\nldrb %[b], [%[w]], #1\n"
        "vmov s14, s15, %[a], %[b]\n"
        "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
        "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
        "vsub.f32 s12, s12, s8\nvsub.f32 s13, s13, s9\n"
        "vsub.f32 s14, s14, s10\nvsub.f32 s15, s15, s11\n"
        "vfma.f32 s0, s12, s4\nvfma.f32 s1, s13, s4\n"
        "vfma.f32 s2, s14, s4\nvfma.f32 s3, s15, s4\n"
        "ldrb %[a], [%[w]], #1\nldrb %[b], [%[w]], #1\n"
        "vmov s12, s13, %[a], %[b]\n"
        "ldrb %[a], [%[w]], #1\nldrb %[b], [%[w]], #1\n"
        "vmov s14, s15, %[a], %[b]\n"
        "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
        "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
        "vsub.f32 s12, s12, s8\nvsub.f32 s13, s13, s9\n"
        "vsub.f32 s14, s14, s10\nvsub.f32 s15, s15, s11\n"
        "vfma.f32 s0, s12, s5\nvfma.f32 s1, s13, s5\n"
        "vfma.f32 s2, s14, s5\nvfma.f32 s3, s15, s5\n"
        "ldrb %[a], [%[w]], #1\nldrb %[b], [%[w]], #1\n"
        "vmov s12, s13, %[a], %[b]\n"
        "ldrb %[a], [%[w]], #1\nldrb %[b], [%[w]], #1\n"
        "vmov s14, s15, %[a], %[b]\n"
        "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
        "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
        "vsub.f32 s12, s12, s8\nvsub.f32 s13, s13, s9\n"
        "vsub.f32 s14, s14, s10\nvsub.f32 s15, s15, s11\n"
        "vfma.f32 s0, s12, s6\nvfma.f32 s1, s13, s6\n"
        "vfma.f32 s2, s14, s6\nvfma.f32 s3, s15, s6\n"
        "ldrb %[a], [%[w]], #1\nldrb %[b], [%[w]], #1\n"
        "vmov s12, s13, %[a], %[b]\n"
        "ldrb %[a], [%[w]], #1\nldrb %[b], [%[w]], #1\n"
        "vmov s14, s15, %[a], %[b]\n"
        "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
        "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
        "vsub.f32 s12, s12, s8\nvsub.f32 s13, s13, s9\n"
        "vsub.f32 s14, s14, s10\nvsub.f32 s15, s15, s11\n"
        "vfma.f32 s0, s12, s7\nvfma.f32 s1, s13, s7\n"
        "vfma.f32 s2, s14, s7\nvfma.f32 s3, s15, s7\n"
        "subs %[n], #1\nbne 1b\nvstmia %[sum], {s0-s3}\n"
        : [w] "+r"(w), [x] "+r"(x), [n] "+r"(fours), [a] "=&r"(a), [b] "=&r"(b)
        : [sum] "r"(sums), [zero] "r"(line->zero)
        : INLAY_ROW_LOST, INLAY_ROW_LOST_B);
}

INLAY_INLINE void inlay_row_f16(float *sums, const inlay_line *line,
                                int32_t fours)
{
    const unsigned char *w = line->from;
    const float *x = line->x;
    __asm__ volatile("vldmia %[sum], {s0-s3}\n"
                     "1:\nvldmia %[x]!, {s4-s7}\n"
                     "vldmia %[w]!, {s8-s11}\n"
                     "vcvtb.f32.f16 s12, s8\nvcvtt.f32.f16 s13, s8\n"
                     "vcvtb.f32.f16 s14, s9\nvcvtt.f32.f16 s15, s9\n"
                     "vfma.f32 s0, s12, s4\nvfma.f32 s1, s13, s4\n"
                     "vfma.f32 s2, s14, s4\nvfma.f32 s3, s15, s4\n"
                     "vcvtb.f32.f16 s12, s10\nvcvtt.f32.f16 s13, s10\n"
                     "vcvtb.f32.f16 s14, s11\nvcvtt.f32.f16 s15, s11\n"
                     "vfma.f32 s0, s12, s5\nvfma.f32 s1, s13, s5\n"
                     "vfma.f32 s2, s14, s5\nvfma.f32 s3, s15, s5\n"
                     "vldmia %[w]!, {s8-s11}\n"
                     "vcvtb.f32.f16 s12, s8\nvcvtt.f32.f16 s13, s8\n"
                     "vcvtb.f32.f16 s14, s9\nvcvtt.f32.f16 s15, s9\n"
                     "vfma.f32 s0, s12, s6\nvfma.f32 s1, s13, s6\n"
                     "vfma.f32 s2, s14, s6\nvfma.f32 s3, s15, s6\n"
                     "vcvtb.f32.f16 s12, s10\nvcvtt.f32.f16 s13, s10\n"
                     "vcvtb.f32.f16 s14, s11\nvcvtt.f32.f16 s15, s11\n"
                     "vfma.f32 s0, s12, s7\nvfma.f32 s1, s13, s7\n"
                     "vfma.f32 s2, s14, s7\nvfma.f32 s3, s15, s7\n"
                     "subs %[n], #1\nbne 1b\nvstmia %[sum], {s0-s3}\n"
                     : [w] "+r"(w), [x] "+r"(x), [n] "+r"(fours)
                     : [sum] "r"(sums)
                     : INLAY_ROW_LOST, INLAY_ROW_LOST_B);
}

INLAY_INLINE void inlay_row_bf16(float *sums, const inlay_line *line,
                                 int32_t fours)
{
    const unsigned char *w = line->from;
    const float *x = line->x;
    int32_t a, b, c;
    __asm__ volatile("vldmia %[sum], {s0-s3}\n"
                     "1:\nvldmia %[x]!, {s4-s7}\n"
                     "ldr %[c], [%[w]], #4\nlsl %[a], %[c], #16\n"
                     "and %[b], %[c], %[upper]\nvmov s12, s13, %[a], %[b]\n"
                     "ldr %[c], [%[w]], #4\nlsl %[a], %[c], #16\n"
                     "and %[b], %[c], %[upper]\nvmov s14, s15, %[a], %[b]\n"
                     "vfma.f32 s0, s12, s4\nvfma.f32 s1, s13, s4\n"
                     "vfma.f32 s2, s14, s4\nvfma.f32 s3, s15, s4\n"
                     "ldr %[c], [%[w]], #4\nlsl %[a], %[c], #16\n"
                     "and %[b], %[c], %[upper]\nvmov s12, s13, %[a], %[b]\n"
                     "ldr %[c], [%[w]], #4\nlsl %[a], %[c], #16\n"
                     "and %[b], %[c], %[upper]\nvmov s14, s15, %[a], %[b]\n"
                     "vfma.f32 s0, s12, s5\nvfma.f32 s1, s13, s5\n"
                     "vfma.f32 s2, s14, s5\nvfma.f32 s3, s15, s5\n"
                     "ldr %[c], [%[w]], #4\nlsl %[a], %[c], #16\n"
                     "and %[b], %[c], %[upper]\nvmov s12, s13, %[a], %[b]\n"
                     "ldr %[c], [%[w]], #4\nlsl %[a], %[c], #16\n"
                     "and %[b], %[c], %[upper]\nvmov s14, s15, %[a], %[b]\n"
                     "vfma.f32 s0, s12, s6\nvfma.f32 s1, s13, s6\n"
                     "vfma.f32 s2, s14, s6\nvfma.f32 s3, s15, s6\n"
                     "ldr %[c], [%[w]], #4\nlsl %[a], %[c], #16\n"
                     "and %[b], %[c], %[upper]\nvmov s12, s13, %[a], %[b]\n"
                     "ldr %[c], [%[w]], #4\nlsl %[a], %[c], #16\n"
                     "and %[b], %[c], %[upper]\nvmov s14, s15, %[a], %[b]\n"
                     "vfma.f32 s0, s12, s7\nvfma.f32 s1, s13, s7\n"
                     "vfma.f32 s2, s14, s7\nvfma.f32 s3, s15, s7\n"
                     "subs %[n], #1\nbne 1b\nvstmia %[sum], {s0-s3}\n"
                     : [w] "+r"(w), [x] "+r"(x), [n] "+r"(fours), [a] "=&r"(a),
                       [b] "=&r"(b), [c] "=&r"(c)
                     : [sum] "r"(sums), [upper] "r"(0xffff0000u)
                     : INLAY_ROW_LOST, INLAY_ROW_LOST_B);
}

INLAY_INLINE void inlay_row_s4(float *sums, const inlay_line *line,
                               int32_t fours)
{
    const unsigned char *w = line->from;
    const float *x = line->x;
    int32_t a, b, c;
    __asm__ volatile("vldmia %[sum], {s0-s3}\n"
                     "1:\nvldmia %[x]!, {s4-s7}\n"
                     "ldr %[c], [%[w]], #4\n"
                     "sbfx %[a], %[c], #0, #4\nsbfx %[b], %[c], #4, #4\n"
                     "vmov s12, s13, %[a], %[b]\n"
                     "sbfx %[a], %[c], #8, #4\nsbfx %[b], %[c], #12, #4\n"
                     "vmov s14, s15, %[a], %[b]\n"
                     "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
                     "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
                     "vfma.f32 s0, s12, s4\nvfma.f32 s1, s13, s4\n"
                     "vfma.f32 s2, s14, s4\nvfma.f32 s3, s15, s4\n"
                     "sbfx %[a], %[c], #16, #4\nsbfx %[b], %[c], #20, #4\n"
                     "vmov s12, s13, %[a], %[b]\n"
                     "sbfx %[a], %[c], #24, #4\nsbfx %[b], %[c], #28, #4\n"
                     "vmov s14, s15, %[a], %[b]\n"
                     "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
                     "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
                     "vfma.f32 s0, s12, s5\nvfma.f32 s1, s13, s5\n"
                     "vfma.f32 s2, s14, s5\nvfma.f32 s3, s15, s5\n"
                     "ldr %[c], [%[w]], #4\n"
                     "sbfx %[a], %[c], #0, #4\nsbfx %[b], %[c], #4, #4\n"
                     "vmov s12, s13, %[a], %[b]\n"
                     "sbfx %[a], %[c], #8, #4\nsbfx %[b], %[c], #12, #4\n"
                     "vmov s14, s15, %[a], %[b]\n"
                     "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
                     "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
                     "vfma.f32 s0, s12, s6\nvfma.f32 s1, s13, s6\n"
                     "vfma.f32 s2, s14, s6\nvfma.f32 s3, s15, s6\n"
                     "sbfx %[a], %[c], #16, #4\nsbfx %[b], %[c], #20, #4\n"
                     "vmov s12, s13, %[a], %[b]\n"
                     "sbfx %[a], %[c], #24, #4\nsbfx %[b], %[c], #28, #4\n"
                     "vmov s14, s15, %[a], %[b]\n"
                     "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
                     "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
                     "vfma.f32 s0, s12, s7\nvfma.f32 s1, s13, s7\n"
                     "vfma.f32 s2, s14, s7\nvfma.f32 s3, s15, s7\n"
                     "subs %[n], #1\nbne 1b\nvstmia %[sum], {s0-s3}\n"
                     : [w] "+r"(w), [x] "+r"(x), [n] "+r"(fours), [a] "=&r"(a),
                       [b] "=&r"(b), [c] "=&r"(c)
                     : [sum] "r"(sums)
                     : INLAY_ROW_LOST, INLAY_ROW_LOST_B);
}

INLAY_INLINE void inlay_row_u4(float *sums, const inlay_line *line,
                               int32_t fours)
{
    const unsigned char *w = line->from;
    const float *x = line->x;
    int32_t a, b, c;
    __asm__ volatile("vldmia %[sum], {s0-s3}\n"
                     "vldmia %[zero], {s8-s11}\n"
                     "1:\nvldmia %[x]!, {s4-s7}\n"
                     "ldr %[c], [%[w]], #4\n"
                     "ubfx %[a], %[c], #0, #4\nubfx %[b], %[c], #4, #4\n"
                     "vmov s12, s13, %[a], %[b]\n"
                     "ubfx %[a], %[c], #8, #4\nubfx %[b], %[c], #12, #4\n"
                     "vmov s14, s15, %[a], %[b]\n"
                     "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
                     "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
                     "vsub.f32 s12, s12, s8\nvsub.f32 s13, s13, s9\n"
                     "vsub.f32 s14, s14, s10\nvsub.f32 s15, s15, s11\n"
                     "vfma.f32 s0, s12, s4\nvfma.f32 s1, s13, s4\n"
                     "vfma.f32 s2, s14, s4\nvfma.f32 s3, s15, s4\n"
                     "ubfx %[a], %[c], #16, #4\nubfx %[b], %[c], #20, #4\n"
                     "vmov s12, s13, %[a], %[b]\n"
                     "ubfx %[a], %[c], #24, #4\nubfx %[b], %[c], #28, #4\n"
                     "vmov s14, s15, %[a], %[b]\n"
                     "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
                     "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
                     "vsub.f32 s12, s12, s8\nvsub.f32 s13, s13, s9\n"
                     "vsub.f32 s14, s14, s10\nvsub.f32 s15, s15, s11\n"
                     "vfma.f32 s0, s12, s5\nvfma.f32 s1, s13, s5\n"
                     "vfma.f32 s2, s14, s5\nvfma.f32 s3, s15, s5\n"
                     "ldr %[c], [%[w]], #4\n"
                     "ubfx %[a], %[c], #0, #4\nubfx %[b], %[c], #4, #4\n"
                     "vmov s12, s13, %[a], %[b]\n"
                     "ubfx %[a], %[c], #8, #4\nubfx %[b], %[c], #12, #4\n"
                     "vmov s14, s15, %[a], %[b]\n"
                     "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
                     "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
                     "vsub.f32 s12, s12, s8\nvsub.f32 s13, s13, s9\n"
                     "vsub.f32 s14, s14, s10\nvsub.f32 s15, s15, s11\n"
                     "vfma.f32 s0, s12, s6\nvfma.f32 s1, s13, s6\n"
                     "vfma.f32 s2, s14, s6\nvfma.f32 s3, s15, s6\n"
                     "ubfx %[a], %[c], #16, #4\nubfx %[b], %[c], #20, #4\n"
                     "vmov s12, s13, %[a], %[b]\n"
                     "ubfx %[a], %[c], #24, #4\nubfx %[b], %[c], #28, #4\n"
                     "vmov s14, s15, %[a], %[b]\n"
                     "vcvt.f32.s32 s12, s12\nvcvt.f32.s32 s13, s13\n"
                     "vcvt.f32.s32 s14, s14\nvcvt.f32.s32 s15, s15\n"
                     "vsub.f32 s12, s12, s8\nvsub.f32 s13, s13, s9\n"
                     "vsub.f32 s14, s14, s10\nvsub.f32 s15, s15, s11\n"
                     "vfma.f32 s0, s12, s7\nvfma.f32 s1, s13, s7\n"
                     "vfma.f32 s2, s14, s7\nvfma.f32 s3, s15, s7\n"
                     "subs %[n], #1\nbne 1b\nvstmia %[sum], {s0-s3}\n"
                     : [w] "+r"(w), [x] "+r"(x), [n] "+r"(fours), [a] "=&r"(a),
                       [b] "=&r"(b), [c] "=&r"(c)
                     : [sum] "r"(sums), [zero] "r"(line->zero)
                     : INLAY_ROW_LOST, INLAY_ROW_LOST_B);
}

#endif

/* As many taps as come in fours, added to the sums, where there is code for them; returns how many.
 * Signed numbers mostly have no zero points, others do. */
INLAY_INLINE int32_t inlay_line_arm(float *sum, const inlay_line *line,
                                    const int bits, const int kind)
{
    const int32_t fours = line->taps / 4;
    if (!fours || line->step * 2 != bits)
        return 0;
    if (kind == INLAY_NARROW_F16 && !line->moved)
        inlay_row_f16(sum, line, fours);
    else if (kind == INLAY_NARROW_BF16 && !line->moved)
        inlay_row_bf16(sum, line, fours);
    else if (kind == INLAY_NARROW_SIGNED && bits == 8 && !line->moved)
        inlay_row_s8(sum, line, fours);
    else if (kind == INLAY_NARROW_SIGNED && bits == 4 && !line->moved)
        inlay_row_s4(sum, line, fours);
    else if (kind == INLAY_NARROW_UNSIGNED && bits == 8)
        inlay_row_u8(sum, line, fours);
    else if (kind == INLAY_NARROW_UNSIGNED && bits == 4)
        inlay_row_u4(sum, line, fours);
    else
        return 0;
    return fours * 4;
}
