/* SPDX-License-Identifier: 0BSD
 * The products of tile_f32.inc.h by Helium's vectors: four channels lie in one, and a float of a
 * pixel in a register of integers is each lane of a factor. Where the weights of taps lie together
 * two taps of two to six pixels go at a time, or eight and four of one; gcc loads one float and one
 * weight after the other, and counts pointers up. The products and their order are those of the C.
 *
 * The registers of integers have their names: r4, r5, r6, r8, r10 and r12 are where the pixels lie,
 * r11 where the weights do, r0 to r3 floats of pixels; those of vectors are the compiler's. */

/* The weights of two taps; a product of one. */
#define INLAY_H_W "vldrw.32 %q[w0], [r11], #16\nvldrw.32 %q[w1], [r11], #16\n"
#define INLAY_H_BY(x, s, w) "vfma.f32 %q[" s "], %q[" w "], " x "\n"

/* Two taps of one pixel, and of two, in turn: a sum waits for the product before. */
#define INLAY_H_IN1(x) "ldrd r0, r1, [" x "], #8\n"
#define INLAY_H_IN2(x, y) INLAY_H_IN1(x) "ldrd r2, r3, [" y "], #8\n"
#define INLAY_H_BOTH(s) INLAY_H_BY("r0", s, "w0") INLAY_H_BY("r1", s, "w1")
#define INLAY_H_ONE(x, s) INLAY_H_IN1(x) INLAY_H_BOTH(s)
#define INLAY_H_EVEN(s, t) INLAY_H_BY("r0", s, "w0") INLAY_H_BY("r2", t, "w0")
#define INLAY_H_ODD(s, t) INLAY_H_BY("r1", s, "w1") INLAY_H_BY("r3", t, "w1")
#define INLAY_H_SUMS(s, t) INLAY_H_EVEN(s, t) INLAY_H_ODD(s, t)
#define INLAY_H_TWO(x, y, s, t) INLAY_H_IN2(x, y) INLAY_H_SUMS(s, t)
#define INLAY_H_TO_2 INLAY_H_W INLAY_H_TWO("r4", "r5", "s0", "s1")
#define INLAY_H_TO_3 INLAY_H_TO_2 INLAY_H_ONE("r6", "s2")
#define INLAY_H_TO_4 INLAY_H_TO_2 INLAY_H_TWO("r6", "r8", "s2", "s3")
#define INLAY_H_TO_5 INLAY_H_TO_4 INLAY_H_ONE("r10", "s4")
#define INLAY_H_TO_6 INLAY_H_TO_4 INLAY_H_TWO("r10", "r12", "s4", "s5")

/* Where the pixels lie, from the offsets that r2 points to, and a loop over their taps. */
#define INLAY_H_AT_2 "add r4, r0, r4, lsl #2\nadd r5, r0, r5, lsl #2\n"
#define INLAY_H_AT_3 INLAY_H_AT_2 "add r6, r0, r6, lsl #2\n"
#define INLAY_H_AT_4 INLAY_H_AT_3 "add r8, r0, r8, lsl #2\n"
#define INLAY_H_AT_5 INLAY_H_AT_4 "add r10, r0, r10, lsl #2\n"
#define INLAY_H_AT_6 INLAY_H_AT_5 "add r12, r0, r12, lsl #2\n"
#define INLAY_H_BEGIN_2 "ldm r2, {r4, r5}\n" INLAY_H_AT_2
#define INLAY_H_BEGIN_3 "ldm r2, {r4-r6}\n" INLAY_H_AT_3
#define INLAY_H_BEGIN_4 "ldm r2, {r4-r6, r8}\n" INLAY_H_AT_4
#define INLAY_H_BEGIN_5 "ldm r2, {r4-r6, r8, r10}\n" INLAY_H_AT_5
#define INLAY_H_BEGIN_6 "ldm r2, {r4-r6, r8, r10, r12}\n" INLAY_H_AT_6
#define INLAY_H_LOOP(taps) "dls lr, lr\n1:\n" taps "le lr, 1b\n"

#define INLAY_H_1 [s0] "+w"(sum[0][0])
#define INLAY_H_2 INLAY_H_1, [s1] "+w"(sum[1][0])
#define INLAY_H_3 INLAY_H_2, [s2] "+w"(sum[2][0])
#define INLAY_H_4 INLAY_H_3, [s3] "+w"(sum[3][0])
#define INLAY_H_5 INLAY_H_4, [s4] "+w"(sum[4][0])
#define INLAY_H_6 INLAY_H_5, [s5] "+w"(sum[5][0])
#define INLAY_H_WEIGHTS [w0] "=&w"(w0), [w1] "=&w"(w1)
#define INLAY_H_ALSO INLAY_H_WEIGHTS, "+r"(n), "+r"(at), "+r"(w)
#define INLAY_H_LOST_1 "memory", "r1", "r3", "r4"
#define INLAY_H_LOST INLAY_H_LOST_1, "r5", "r6", "r8", "r10", "r12"

/* Adds the products of `pairs` times two taps of each pixel. */
INLAY_INLINE void inlay_helium_pairs(INLAY_FLOATS (*sum)[4], const float *x,
                                     const ptrdiff_t *offset,
                                     const float *weights, int32_t pairs,
                                     const int pixels)
{
    register const float *at __asm__("r0") = x;
    register const ptrdiff_t *by __asm__("r2") = offset;
    register const float *w __asm__("r11") = weights;
    register int32_t n __asm__("lr") = pairs;
    INLAY_FLOATS w0, w1;
    if (pixels == 2)
        __asm__ volatile(INLAY_H_BEGIN_2 INLAY_H_LOOP(INLAY_H_TO_2)
                         : INLAY_H_2, INLAY_H_ALSO, "+r"(by)
                         :
                         : INLAY_H_LOST);
    else if (pixels == 3)
        __asm__ volatile(INLAY_H_BEGIN_3 INLAY_H_LOOP(INLAY_H_TO_3)
                         : INLAY_H_3, INLAY_H_ALSO, "+r"(by)
                         :
                         : INLAY_H_LOST);
    else if (pixels == 4)
        __asm__ volatile(INLAY_H_BEGIN_4 INLAY_H_LOOP(INLAY_H_TO_4)
                         : INLAY_H_4, INLAY_H_ALSO, "+r"(by)
                         :
                         : INLAY_H_LOST);
    else if (pixels == 5)
        __asm__ volatile(INLAY_H_BEGIN_5 INLAY_H_LOOP(INLAY_H_TO_5)
                         : INLAY_H_5, INLAY_H_ALSO, "+r"(by)
                         :
                         : INLAY_H_LOST);
    else
        __asm__ volatile(INLAY_H_BEGIN_6 INLAY_H_LOOP(INLAY_H_TO_6)
                         : INLAY_H_6, INLAY_H_ALSO, "+r"(by)
                         :
                         : INLAY_H_LOST);
}

/* The same of one pixel: eight taps `eights` times, at least once. */
INLAY_INLINE void inlay_helium_eights(INLAY_FLOATS (*sum)[4], const float *x,
                                      const float *weights, int32_t eights)
{
    register const float *at __asm__("r0") = x;
    register const float *w __asm__("r11") = weights;
    register int32_t n __asm__("lr") = eights;
    INLAY_FLOATS w0, w1;
    __asm__ volatile(
        "mov r4, r0\ndls lr, lr\n"
        "1:\nldm r4!, {r0-r3}\n" INLAY_H_W "vfma.f32 %q[s0], %q[w0], r0\n"
        "vfma.f32 %q[s0], %q[w1], r1\n" INLAY_H_W
        "vfma.f32 %q[s0], %q[w0], r2\n"
        "vfma.f32 %q[s0], %q[w1], r3\n"
        "ldm r4!, {r0-r3}\n" INLAY_H_W "vfma.f32 %q[s0], %q[w0], r0\n"
        "vfma.f32 %q[s0], %q[w1], r1\n" INLAY_H_W
        "vfma.f32 %q[s0], %q[w0], r2\n"
        "vfma.f32 %q[s0], %q[w1], r3\n"
        "le lr, 1b\n"
        : INLAY_H_1, INLAY_H_ALSO
        :
        : INLAY_H_LOST_1, "r2");
}

/* As many taps as go together; returns how many. */
INLAY_INLINE int32_t inlay_helium_taps(INLAY_FLOATS (*sum)[4], const float *x,
                                       const ptrdiff_t *offset,
                                       const float *weights, int32_t taps,
                                       const int pixels)
{
    if (pixels == 1 && taps >= 8) {
        inlay_helium_eights(sum, x + offset[0], weights, taps >> 3);
        return taps & ~7;
    }
    if (pixels > 1 && taps >= 2) {
        inlay_helium_pairs(sum, x, offset, weights, taps >> 1, pixels);
        return taps & ~1;
    }
    return 0;
}

/* Adds the products of `taps` adjacent floats of each pixel. */
INLAY_INLINE void INLAY_W(products)(INLAY_FLOATS (*sum)[4], const float *x,
                                    const ptrdiff_t *offset,
                                    const float *weights, int32_t taps,
                                    const inlay_shape shape)
{
    int32_t k = 0;
    int p;
    if (INLAY_TILE_WIDTH == 4 || shape.width == 4)
        k = inlay_helium_taps(sum, x, offset, weights, taps, shape.pixels);
    for (; k < taps; k++) {
        const INLAY_FLOATS weight = INLAY_W(load)(weights + k * shape.width);
        INLAY_UNROLL
        for (p = 0; p < shape.pixels; p++)
            sum[p][0] = vfmaq_n_f32(sum[p][0], weight, x[offset[p] + k]);
    }
}
