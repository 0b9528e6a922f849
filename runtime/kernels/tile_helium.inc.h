/* SPDX-License-Identifier: 0BSD
 * The part of tile_arm.inc.h for Helium: four channels lie in a vector, and a float of a pixel in a
 * register of integers is each lane of a factor. Where the weights of taps lie together two taps of
 * two to six pixels go at a time, four of one; gcc loads one float and one weight after the other,
 * and counts pointers up.
 *
 * All registers have their names: r9 is the run, r4, r5, r6, r8, r10 and r12 are where the pixels
 * lie, r11 where the weights do, r0 to r3 floats of pixels, q0 to q5 the sums of the pixels, q6 and
 * q7 the weights of two taps. */

/* Where the pixels lie, of x in r0, and how many groups of taps there are. */
#define INLAY_H_RUN "add r2, r9, %[offset]\n"
#define INLAY_H_AT_1 "add r4, r0\n"
#define INLAY_H_AT_2 INLAY_H_AT_1 "add r5, r0\n"
#define INLAY_H_AT_3 INLAY_H_AT_2 "add r6, r0\n"
#define INLAY_H_AT_4 INLAY_H_AT_3 "add r8, r0\n"
#define INLAY_H_AT_5 INLAY_H_AT_4 "add r10, r0\n"
#define INLAY_H_AT_6 INLAY_H_AT_5 "add r12, r0\n"
#define INLAY_H_X_1 INLAY_H_RUN "ldm r2, {r4}\n" INLAY_H_AT_1
#define INLAY_H_X_2 INLAY_H_RUN "ldm r2, {r4, r5}\n" INLAY_H_AT_2
#define INLAY_H_X_3 INLAY_H_RUN "ldm r2, {r4-r6}\n" INLAY_H_AT_3
#define INLAY_H_X_4 INLAY_H_RUN "ldm r2, {r4-r6, r8}\n" INLAY_H_AT_4
#define INLAY_H_X_5 INLAY_H_RUN "ldm r2, {r4-r6, r8, r10}\n" INLAY_H_AT_5
#define INLAY_H_X_6 INLAY_H_RUN "ldm r2, {r4-r6, r8, r10, r12}\n" INLAY_H_AT_6

/* The sums come and go. */
#define INLAY_H_GET_1 "ldr r2, [r9]\nvldrw.32 q0, [r2]\n"
#define INLAY_H_GET_2 INLAY_H_GET_1 "vldrw.32 q1, [r2, #16]\n"
#define INLAY_H_GET_3 INLAY_H_GET_2 "vldrw.32 q2, [r2, #32]\n"
#define INLAY_H_GET_4 INLAY_H_GET_3 "vldrw.32 q3, [r2, #48]\n"
#define INLAY_H_GET_5 INLAY_H_GET_4 "vldrw.32 q4, [r2, #64]\n"
#define INLAY_H_GET_6 INLAY_H_GET_5 "vldrw.32 q5, [r2, #80]\n"
#define INLAY_H_PUT_1 "ldr r2, [r9]\nvstrw.32 q0, [r2]\n"
#define INLAY_H_PUT_2 INLAY_H_PUT_1 "vstrw.32 q1, [r2, #16]\n"
#define INLAY_H_PUT_3 INLAY_H_PUT_2 "vstrw.32 q2, [r2, #32]\n"
#define INLAY_H_PUT_4 INLAY_H_PUT_3 "vstrw.32 q3, [r2, #48]\n"
#define INLAY_H_PUT_5 INLAY_H_PUT_4 "vstrw.32 q4, [r2, #64]\n"
#define INLAY_H_PUT_6 INLAY_H_PUT_5 "vstrw.32 q5, [r2, #80]\n"

/* Two taps of all pixels, and one; of two pixels in turn, as a sum waits for its last product. */
#define INLAY_H_W "vldrw.32 q6, [r11], #16\nvldrw.32 q7, [r11], #16\n"
#define INLAY_H_IN_01 "ldrd r0, r1, [r4], #8\nldrd r2, r3, [r5], #8\n"
#define INLAY_H_EVEN_01 "vfma.f32 q0, q6, r0\nvfma.f32 q1, q6, r2\n"
#define INLAY_H_ODD_01 "vfma.f32 q0, q7, r1\nvfma.f32 q1, q7, r3\n"
#define INLAY_H_TWO_2 INLAY_H_W INLAY_H_IN_01 INLAY_H_EVEN_01 INLAY_H_ODD_01
#define INLAY_H_IN_2 "ldrd r0, r1, [r6], #8\n"
#define INLAY_H_SUM_2 "vfma.f32 q2, q6, r0\nvfma.f32 q2, q7, r1\n"
#define INLAY_H_TWO_3 INLAY_H_TWO_2 INLAY_H_IN_2 INLAY_H_SUM_2
#define INLAY_H_IN_23 INLAY_H_IN_2 "ldrd r2, r3, [r8], #8\n"
#define INLAY_H_EVEN_23 "vfma.f32 q2, q6, r0\nvfma.f32 q3, q6, r2\n"
#define INLAY_H_ODD_23 "vfma.f32 q2, q7, r1\nvfma.f32 q3, q7, r3\n"
#define INLAY_H_SUM_23 INLAY_H_EVEN_23 INLAY_H_ODD_23
#define INLAY_H_TWO_4 INLAY_H_TWO_2 INLAY_H_IN_23 INLAY_H_SUM_23
#define INLAY_H_IN_4 "ldrd r0, r1, [r10], #8\n"
#define INLAY_H_SUM_4 "vfma.f32 q4, q6, r0\nvfma.f32 q4, q7, r1\n"
#define INLAY_H_TWO_5 INLAY_H_TWO_4 INLAY_H_IN_4 INLAY_H_SUM_4
#define INLAY_H_IN_45 INLAY_H_IN_4 "ldrd r2, r3, [r12], #8\n"
#define INLAY_H_EVEN_45 "vfma.f32 q4, q6, r0\nvfma.f32 q5, q6, r2\n"
#define INLAY_H_ODD_45 "vfma.f32 q4, q7, r1\nvfma.f32 q5, q7, r3\n"
#define INLAY_H_SUM_45 INLAY_H_EVEN_45 INLAY_H_ODD_45
#define INLAY_H_TWO_6 INLAY_H_TWO_4 INLAY_H_IN_45 INLAY_H_SUM_45
#define INLAY_H_LOW "ldm r4!, {r0-r3}\n" INLAY_H_W "vfma.f32 q0, q6, r0\n"
#define INLAY_H_HIGH INLAY_H_W "vfma.f32 q0, q6, r2\nvfma.f32 q0, q7, r3\n"
#define INLAY_H_TWO_1 INLAY_H_LOW "vfma.f32 q0, q7, r1\n" INLAY_H_HIGH
#define INLAY_H_ONE_W "vldrw.32 q6, [r11]\nadd r11, r3\n"
#define INLAY_H_ONE_1 INLAY_H_ONE_W "ldr r0, [r4], #4\nvfma.f32 q0, q6, r0\n"
#define INLAY_H_ONE_2 INLAY_H_ONE_1 "ldr r0, [r5], #4\nvfma.f32 q1, q6, r0\n"
#define INLAY_H_ONE_3 INLAY_H_ONE_2 "ldr r0, [r6], #4\nvfma.f32 q2, q6, r0\n"
#define INLAY_H_ONE_4 INLAY_H_ONE_3 "ldr r0, [r8], #4\nvfma.f32 q3, q6, r0\n"
#define INLAY_H_ONE_5 INLAY_H_ONE_4 "ldr r0, [r10], #4\nvfma.f32 q4, q6, r0\n"
#define INLAY_H_ONE_6 INLAY_H_ONE_5 "ldr r0, [r12], #4\nvfma.f32 q5, q6, r0\n"

/* Both loops, each of which may be empty. */
#define INLAY_H_GROUPS "ldr r1, [r9, %[groups]]\nwls lr, r1, 2f\n1:\n"
#define INLAY_H_NEXT "le lr, 1b\n2:\nldr r1, [r9, %[ones]]\n"
#define INLAY_H_ONES INLAY_H_NEXT "ldr r3, [r9, %[step]]\nwls lr, r1, 4f\n3:\n"
#define INLAY_H_END "le lr, 3b\n4:\n"

#define INLAY_H_AT(what) [what] "i"(offsetof(inlay_arm_run, what))
#define INLAY_H_WHERE INLAY_H_AT(offset), INLAY_H_AT(step)
#define INLAY_H_TAPS INLAY_H_AT(groups), INLAY_H_AT(ones), INLAY_H_WHERE
#define INLAY_H_LOST_R "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r10", "r12"
#define INLAY_H_LOST_Q "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7"
#define INLAY_H_LOST "memory", "lr", INLAY_H_LOST_R, INLAY_H_LOST_Q

/* Pairs of taps whose weights lie apart are two taps. */
enum { INLAY_ARM_PAIRS = 0 };

INLAY_INLINE void inlay_arm_pixels_1(const inlay_arm_run *run, const float *x,
                                     const float *weights)
{
    register const float *at __asm__("r0") = x;
    register const inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r11") = weights;
    __asm__ volatile(INLAY_H_X_1 INLAY_H_GET_1 INLAY_H_GROUPS INLAY_H_TWO_1
                         INLAY_H_ONES INLAY_H_ONE_1 INLAY_H_END INLAY_H_PUT_1
                     : "+r"(at), "+r"(w)
                     : "r"(r), INLAY_H_TAPS
                     : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_pixels_2(const inlay_arm_run *run, const float *x,
                                     const float *weights)
{
    register const float *at __asm__("r0") = x;
    register const inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r11") = weights;
    __asm__ volatile(INLAY_H_X_2 INLAY_H_GET_2 INLAY_H_GROUPS INLAY_H_TWO_2
                         INLAY_H_ONES INLAY_H_ONE_2 INLAY_H_END INLAY_H_PUT_2
                     : "+r"(at), "+r"(w)
                     : "r"(r), INLAY_H_TAPS
                     : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_pixels_3(const inlay_arm_run *run, const float *x,
                                     const float *weights)
{
    register const float *at __asm__("r0") = x;
    register const inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r11") = weights;
    __asm__ volatile(INLAY_H_X_3 INLAY_H_GET_3 INLAY_H_GROUPS INLAY_H_TWO_3
                         INLAY_H_ONES INLAY_H_ONE_3 INLAY_H_END INLAY_H_PUT_3
                     : "+r"(at), "+r"(w)
                     : "r"(r), INLAY_H_TAPS
                     : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_pixels_4(const inlay_arm_run *run, const float *x,
                                     const float *weights)
{
    register const float *at __asm__("r0") = x;
    register const inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r11") = weights;
    __asm__ volatile(INLAY_H_X_4 INLAY_H_GET_4 INLAY_H_GROUPS INLAY_H_TWO_4
                         INLAY_H_ONES INLAY_H_ONE_4 INLAY_H_END INLAY_H_PUT_4
                     : "+r"(at), "+r"(w)
                     : "r"(r), INLAY_H_TAPS
                     : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_pixels_5(const inlay_arm_run *run, const float *x,
                                     const float *weights)
{
    register const float *at __asm__("r0") = x;
    register const inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r11") = weights;
    __asm__ volatile(INLAY_H_X_5 INLAY_H_GET_5 INLAY_H_GROUPS INLAY_H_TWO_5
                         INLAY_H_ONES INLAY_H_ONE_5 INLAY_H_END INLAY_H_PUT_5
                     : "+r"(at), "+r"(w)
                     : "r"(r), INLAY_H_TAPS
                     : INLAY_H_LOST);
}

INLAY_INLINE void inlay_arm_pixels_6(const inlay_arm_run *run, const float *x,
                                     const float *weights)
{
    register const float *at __asm__("r0") = x;
    register const inlay_arm_run *r __asm__("r9") = run;
    register const float *w __asm__("r11") = weights;
    __asm__ volatile(INLAY_H_X_6 INLAY_H_GET_6 INLAY_H_GROUPS INLAY_H_TWO_6
                         INLAY_H_ONES INLAY_H_ONE_6 INLAY_H_END INLAY_H_PUT_6
                     : "+r"(at), "+r"(w)
                     : "r"(r), INLAY_H_TAPS
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

/* What mostly follows the sums up to `end`: a bias and a lower bound, nothing else. */
INLAY_INLINE void inlay_arm_end_low(const inlay_tile *t, inlay_f4 bias,
                                    const float *sum, const float *end,
                                    float *y)
{
    const inlay_f4 lo = inlay_splat4(t->lo);
    const ptrdiff_t ys = t->ys;
    for (; sum != end; sum += 4, y += ys)
        inlay_store4(y, inlay_max4(lo, inlay_load4(sum) + bias));
}

/* What follows the sums of so many pixels. */
INLAY_APART void inlay_arm_end(const inlay_tile *t, const inlay_group *g,
                               float *sum, float *y, const float *q,
                               int32_t pixels)
{
    const float *end = sum + 4 * pixels;
    const ptrdiff_t ys = t->ys;
    const inlay_f4 bias = inlay_load4(g->bias);
    if (!g->part && !q && t->clamp == INLAY_END_LOW) {
        inlay_arm_end_low(t, bias, sum, end, y);
        return;
    }
    for (; sum != end; sum += 4, y += ys) {
        const inlay_f4 v = inlay_load4(sum) + bias;
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
