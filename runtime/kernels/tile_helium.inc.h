/* SPDX-License-Identifier: 0BSD
 * The part of tile_arm.inc.h for Helium: four channels lie in a vector, and a float of a pixel in a
 * register of integers is each lane of a factor. Where the weights of taps lie together four taps
 * of up to four pixels go at a time, three of five; gcc loads one float and one weight after the
 * other, and counts pointers up. Weights that are signed bytes become floats on their way.
 *
 * All registers have their names: r9 is the run, r5, r6, r8, r10 and r11 are where the pixels
 * lie, r4 where the weights do (loads that widen take r0 to r7 alone), r0 to r3 floats of pixels,
 * q0 to q4 the sums of the pixels, the last of q4 to q7 the weights of the taps. */

/* Where the pixels of the next run lie. */
#define INLAY_H_NEXT_RUN "ldr r12, [r9, %[at]]\n5:\nldr r0, [r12], #4\n"
#define INLAY_H_RUN INLAY_H_NEXT_RUN "add r2, r9, %[offset]\n"
#define INLAY_H_AT_1 "add r5, r0\n"
#define INLAY_H_AT_2 INLAY_H_AT_1 "add r6, r0\n"
#define INLAY_H_AT_3 INLAY_H_AT_2 "add r8, r0\n"
#define INLAY_H_AT_4 INLAY_H_AT_3 "add r10, r0\n"
#define INLAY_H_AT_5 INLAY_H_AT_4 "add r11, r0\n"
#define INLAY_H_X_1 INLAY_H_RUN "ldm r2, {r5}\n" INLAY_H_AT_1
#define INLAY_H_X_2 INLAY_H_RUN "ldm r2, {r5, r6}\n" INLAY_H_AT_2
#define INLAY_H_X_3 INLAY_H_RUN "ldm r2, {r5, r6, r8}\n" INLAY_H_AT_3
#define INLAY_H_X_4 INLAY_H_RUN "ldm r2, {r5, r6, r8, r10}\n" INLAY_H_AT_4
#define INLAY_H_X_5 INLAY_H_RUN "ldm r2, {r5, r6, r8, r10, r11}\n" INLAY_H_AT_5

/* The sums come and go. */
#define INLAY_H_GET_1 "ldr r2, [r9, %[from]]\nvldrw.32 q0, [r2]\n"
#define INLAY_H_GET_2 INLAY_H_GET_1 "vldrw.32 q1, [r2, #16]\n"
#define INLAY_H_GET_3 INLAY_H_GET_2 "vldrw.32 q2, [r2, #32]\n"
#define INLAY_H_GET_4 INLAY_H_GET_3 "vldrw.32 q3, [r2, #48]\n"
#define INLAY_H_GET_5 INLAY_H_GET_4 "vldrw.32 q4, [r2, #64]\n"
#define INLAY_H_PUT_1 "ldr r2, [r9, %[sum]]\nvstrw.32 q0, [r2]\n"
#define INLAY_H_PUT_2 INLAY_H_PUT_1 "vstrw.32 q1, [r2, #16]\n"
#define INLAY_H_PUT_3 INLAY_H_PUT_2 "vstrw.32 q2, [r2, #32]\n"
#define INLAY_H_PUT_4 INLAY_H_PUT_3 "vstrw.32 q3, [r2, #48]\n"
#define INLAY_H_PUT_5 INLAY_H_PUT_4 "vstrw.32 q4, [r2, #64]\n"

/* The weights of four, three and two taps. */
#define INLAY_H_W4A "vldrw.32 q4, [r4], #16\nvldrw.32 q5, [r4], #16\n"
#define INLAY_H_W "vldrw.32 q6, [r4], #16\nvldrw.32 q7, [r4], #16\n"
#define INLAY_H_W4 INLAY_H_W4A INLAY_H_W
#define INLAY_H_W3 "vldrw.32 q5, [r4], #16\n" INLAY_H_W
#define INLAY_H_B4A "vldrb.s32 q4, [r4], #4\nvldrb.s32 q5, [r4], #4\n"
#define INLAY_H_B4B "vcvt.f32.s32 q4, q4\nvcvt.f32.s32 q5, q5\n"
#define INLAY_H_B "vldrb.s32 q6, [r4], #4\nvldrb.s32 q7, [r4], #4\n"
#define INLAY_H_B2 INLAY_H_B "vcvt.f32.s32 q6, q6\nvcvt.f32.s32 q7, q7\n"
#define INLAY_H_B4 INLAY_H_B4A INLAY_H_B4B INLAY_H_B2
#define INLAY_H_B3 "vldrb.s32 q5, [r4], #4\n" INLAY_H_B2 "vcvt.f32.s32 q5, q5\n"

/* As many taps of a pixel. */
#define INLAY_H_FMA(sum, w, x) "vfma.f32 " sum ", " w ", " x "\n"
#define INLAY_H_LOW(s) INLAY_H_FMA(s, "q4", "r0") INLAY_H_FMA(s, "q5", "r1")
#define INLAY_H_HIGH(s) INLAY_H_FMA(s, "q6", "r2") INLAY_H_FMA(s, "q7", "r3")
#define INLAY_H_SUM(s) INLAY_H_LOW(s) INLAY_H_HIGH(s)
#define INLAY_H_FOUR(x, s) "ldm " x "!, {r0-r3}\n" INLAY_H_SUM(s)
#define INLAY_H_NEXT(s) INLAY_H_FMA(s, "q6", "r1") INLAY_H_FMA(s, "q7", "r2")
#define INLAY_H_FIRST(x, s) "ldm " x "!, {r0-r2}\n" INLAY_H_FMA(s, "q5", "r0")
#define INLAY_H_THREE(x, s) INLAY_H_FIRST(x, s) INLAY_H_NEXT(s)

/* The taps of a group of all pixels, and one. */
#define INLAY_H_TWO_1(w) w INLAY_H_FOUR("r5", "q0")
#define INLAY_H_TWO_2(w) INLAY_H_TWO_1(w) INLAY_H_FOUR("r6", "q1")
#define INLAY_H_TWO_3(w) INLAY_H_TWO_2(w) INLAY_H_FOUR("r8", "q2")
#define INLAY_H_TWO_4(w) INLAY_H_TWO_3(w) INLAY_H_FOUR("r10", "q3")
#define INLAY_H_THREE_1(w) w INLAY_H_THREE("r5", "q0")
#define INLAY_H_THREE_2(w) INLAY_H_THREE_1(w) INLAY_H_THREE("r6", "q1")
#define INLAY_H_THREE_3(w) INLAY_H_THREE_2(w) INLAY_H_THREE("r8", "q2")
#define INLAY_H_THREE_4(w) INLAY_H_THREE_3(w) INLAY_H_THREE("r10", "q3")
#define INLAY_H_TWO_5(w) INLAY_H_THREE_4(w) INLAY_H_THREE("r11", "q4")
#define INLAY_H_ONE_W "vldrw.32 q6, [r4]\nldr r0, [r9, %[step]]\nadd r4, r0\n"
#define INLAY_H_ONE_B "vldrb.s32 q6, [r4], #4\nvcvt.f32.s32 q6, q6\n"
#define INLAY_H_ONE_1 "ldr r0, [r5], #4\nvfma.f32 q0, q6, r0\n"
#define INLAY_H_ONE_2 INLAY_H_ONE_1 "ldr r0, [r6], #4\nvfma.f32 q1, q6, r0\n"
#define INLAY_H_ONE_3 INLAY_H_ONE_2 "ldr r0, [r8], #4\nvfma.f32 q2, q6, r0\n"
#define INLAY_H_ONE_4 INLAY_H_ONE_3 "ldr r0, [r10], #4\nvfma.f32 q3, q6, r0\n"
#define INLAY_H_ONE_5 INLAY_H_ONE_4 "ldr r0, [r11], #4\nvfma.f32 q4, q6, r0\n"

/* Both loops, each of which may be empty. */
#define INLAY_H_GROUPS "ldr r1, [r9, %[groups]]\nwls lr, r1, 2f\n1:\n"
#define INLAY_H_LEFT "le lr, 1b\n2:\nldr r1, [r9, %[ones]]\n"
#define INLAY_H_ONES INLAY_H_LEFT "wls lr, r1, 4f\n3:\n"
#define INLAY_H_DONE "le lr, 3b\n4:\nldr r1, [r9, %[skip]]\n"
#define INLAY_H_SKIP INLAY_H_DONE "ldr r3, [r9, %[end]]\nadd r4, r1\n"
#define INLAY_H_END INLAY_H_SKIP "cmp r12, r3\nbne 5b\n"

#define INLAY_H_AT(what) [what] "i"(offsetof(inlay_arm_run, what))
#define INLAY_H_BOTH INLAY_H_AT(from), INLAY_H_AT(sum), INLAY_H_AT(end)
#define INLAY_H_PLACES INLAY_H_AT(at), INLAY_H_AT(offset)
#define INLAY_H_FAR INLAY_H_AT(step), INLAY_H_AT(skip), INLAY_H_PLACES
#define INLAY_H_TAPS INLAY_H_AT(groups), INLAY_H_AT(ones), INLAY_H_FAR
#define INLAY_H_FIELDS INLAY_H_TAPS, INLAY_H_BOTH
#define INLAY_H_LOST_R "r0", "r1", "r2", "r3", "r5", "r6", "r8", "r10", "r11"
#define INLAY_H_LOST_Q "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7"
#define INLAY_H_LOST "cc", "memory", "lr", "r12", INLAY_H_LOST_R, INLAY_H_LOST_Q

/* Pairs of taps whose weights lie apart are two taps. */
enum { INLAY_ARM_PAIRS = 0 };

/* Taps that go together. */
INLAY_INLINE int32_t inlay_arm_group(int32_t pixels)
{
    return pixels < 5 ? 4 : 3;
}

/* The windows of so many pixels. */
INLAY_INLINE void inlay_arm_floats_1(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_1 INLAY_H_X_1 INLAY_H_GROUPS INLAY_H_TWO_1(INLAY_H_W4)
            INLAY_H_ONES INLAY_H_ONE_W INLAY_H_ONE_1 INLAY_H_END INLAY_H_PUT_1
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_floats_2(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_2 INLAY_H_X_2 INLAY_H_GROUPS INLAY_H_TWO_2(INLAY_H_W4)
            INLAY_H_ONES INLAY_H_ONE_W INLAY_H_ONE_2 INLAY_H_END INLAY_H_PUT_2
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_floats_3(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_3 INLAY_H_X_3 INLAY_H_GROUPS INLAY_H_TWO_3(INLAY_H_W4)
            INLAY_H_ONES INLAY_H_ONE_W INLAY_H_ONE_3 INLAY_H_END INLAY_H_PUT_3
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_floats_4(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_4 INLAY_H_X_4 INLAY_H_GROUPS INLAY_H_TWO_4(INLAY_H_W4)
            INLAY_H_ONES INLAY_H_ONE_W INLAY_H_ONE_4 INLAY_H_END INLAY_H_PUT_4
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_floats_5(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_5 INLAY_H_X_5 INLAY_H_GROUPS INLAY_H_TWO_5(INLAY_H_W3)
            INLAY_H_ONES INLAY_H_ONE_W INLAY_H_ONE_5 INLAY_H_END INLAY_H_PUT_5
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

/* The same of weights that are bytes, which lie together. */
INLAY_INLINE void inlay_arm_bytes_1(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const signed char *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_1 INLAY_H_X_1 INLAY_H_GROUPS INLAY_H_TWO_1(INLAY_H_B4)
            INLAY_H_ONES INLAY_H_ONE_B INLAY_H_ONE_1 INLAY_H_END INLAY_H_PUT_1
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_bytes_2(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const signed char *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_2 INLAY_H_X_2 INLAY_H_GROUPS INLAY_H_TWO_2(INLAY_H_B4)
            INLAY_H_ONES INLAY_H_ONE_B INLAY_H_ONE_2 INLAY_H_END INLAY_H_PUT_2
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_bytes_3(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const signed char *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_3 INLAY_H_X_3 INLAY_H_GROUPS INLAY_H_TWO_3(INLAY_H_B4)
            INLAY_H_ONES INLAY_H_ONE_B INLAY_H_ONE_3 INLAY_H_END INLAY_H_PUT_3
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_bytes_4(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const signed char *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_4 INLAY_H_X_4 INLAY_H_GROUPS INLAY_H_TWO_4(INLAY_H_B4)
            INLAY_H_ONES INLAY_H_ONE_B INLAY_H_ONE_4 INLAY_H_END INLAY_H_PUT_4
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_bytes_5(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r9") = run;
    register const signed char *w __asm__("r4") = weights;
    __asm__ volatile(
        INLAY_H_GET_5 INLAY_H_X_5 INLAY_H_GROUPS INLAY_H_TWO_5(INLAY_H_B3)
            INLAY_H_ONES INLAY_H_ONE_B INLAY_H_ONE_5 INLAY_H_END INLAY_H_PUT_5
        : "+r"(w)
        : "r"(r), INLAY_H_FIELDS
        : INLAY_H_LOST);
}

/* The sums of all pixels begin at 0. */
INLAY_INLINE void inlay_arm_clear(float *sum)
{
    int p;
    INLAY_UNROLL
    for (p = 0; p < INLAY_TILE_P; p++)
        inlay_store4(sum + 4 * p, inlay_splat4(0.0f));
}

/* Adds q, clamps and stores the four channels of a pixel. */
INLAY_INLINE void inlay_arm_finish(const inlay_tile *t, inlay_f4 v, float *y,
                                   const float *q)
{
    if (q)
        v += inlay_load4(q);
    if (t->clamp & INLAY_END_LOW)
        v = inlay_max4(inlay_splat4(t->lo), v);
    if (t->clamp & INLAY_END_HIGH)
        v = inlay_min4(inlay_splat4(t->hi), v);
    inlay_store4(y, v);
}

/* Sums of four channels, scaled where the group has scales, and the bias. */
INLAY_INLINE inlay_f4 inlay_arm_sums(const inlay_group *g, const float *sum,
                                     inlay_f4 bias)
{
    const inlay_f4 v = inlay_load4(sum);
    if (g->scale)
        return inlay_fma4(v, inlay_load4(g->scale), bias);
    return v + bias;
}

#define INLAY_H_BOUND "vpt.f32 gt, %q[lo], q0\nvmovt q0, %q[lo]\n"
#define INLAY_H_STORE INLAY_H_BOUND "vstrw.32 q0, [%[y]]\nadd %[y], %[ys]\n"
#define INLAY_H_ALL "le lr, 1b\n"
#define INLAY_H_BEGIN "dls lr, %[n]\n1:\n"
#define INLAY_H_LOADED "vldrw.32 q1, [%[sum]], #16\n"
#define INLAY_H_ADD "vadd.f32 q0, q1, %q[bias]\n"
#define INLAY_H_MUL "vmov q0, %q[bias]\nvfma.f32 q0, q1, %q[scale]\n"
#define INLAY_H_SUMS INLAY_H_BEGIN INLAY_H_LOADED INLAY_H_ADD INLAY_H_STORE
#define INLAY_H_SCALED INLAY_H_BEGIN INLAY_H_LOADED INLAY_H_MUL INLAY_H_STORE
#define INLAY_H_WALKED [sum] "+r"(sum), [y] "+r"(y)
#define INLAY_H_IN [bias] "w"(bias), [lo] "w"(lo), [ys] "r"(ys), [n] "r"(pixels)

/* What follows most sums: scales, where there are some, a bias and a lower bound; pixels of y lie
 * ys bytes apart. */
INLAY_INLINE void inlay_arm_end_short(const inlay_tile *t, const float *sum,
                                      const float *bias_at, const float *scales,
                                      float *y, ptrdiff_t ys, int32_t pixels)
{
    const inlay_f4 bias = inlay_load4(bias_at);
    const inlay_f4 lo = inlay_splat4(t->lo);
    if (scales) {
        const inlay_f4 scale = inlay_load4(scales);
        __asm__ volatile(INLAY_H_SCALED INLAY_H_ALL:INLAY_H_WALKED
                         : INLAY_H_IN, [scale] "w"(scale)
                         : "q0", "q1", "lr", "p0", "memory");
        return;
    }
    __asm__ volatile(INLAY_H_SUMS INLAY_H_ALL:INLAY_H_WALKED:INLAY_H_IN
                     : "q0", "q1", "lr", "p0", "memory");
}

/* Does it, of whole groups? */
INLAY_INLINE int inlay_arm_is_short(const inlay_tile *t, const float *q)
{
    return !q && t->clamp == INLAY_END_LOW;
}

/* What follows the sums of so many pixels. */
INLAY_APART void inlay_arm_end(const inlay_tile *t, const inlay_group *g,
                               float *sum, float *y, const float *q,
                               int32_t pixels)
{
    const float *end = sum + 4 * pixels;
    const ptrdiff_t ys = t->ys;
    const inlay_f4 bias = inlay_load4(g->bias);
    for (; sum != end; sum += 4, y += ys) {
        const inlay_f4 v = inlay_arm_sums(g, sum, bias);
        if (g->part) {
            inlay_store4(sum, v);
            inlay_tile_part(t, sum, y, q, g->part);
        } else {
            inlay_arm_finish(t, v, y, q);
        }
        if (q)
            q += t->qs;
    }
}
