/* SPDX-License-Identifier: 0BSD
 * The part of tile_arm.inc.h for Arm cores that have floats, but no vectors of them. Adjacent
 * floats are loaded by one instruction, where gcc takes one for each, and a tile of two to five
 * pixels by four channels goes on by two taps at a time, of one pixel by four taps. Weights that
 * are signed bytes become floats on their way.
 *
 * The registers have their names: s2 and s3 are floats of a pixel, s4 to s11 the weights of two
 * taps, s12 and so on the sums, four channels for each pixel; r0 is the run, r1 where the weights
 * lie, r4 to r6, r8 and r9 where the pixels do, r10 counts, r11 is from tap to tap, r12 in the list
 * of runs. */

/* Products of a float, in s2 or s3, with the weights of a tap; the sums are a to d. */
#define INLAY_F_X(sum, w, x) "vfma.f32 " sum ", " w ", " x "\n"
#define INLAY_F_AB_0(a, b) INLAY_F_X(a, "s4", "s2") INLAY_F_X(b, "s5", "s2")
#define INLAY_F_CD_0(c, d) INLAY_F_X(c, "s6", "s2") INLAY_F_X(d, "s7", "s2")
#define INLAY_F_AB_1(a, b) INLAY_F_X(a, "s8", "s3") INLAY_F_X(b, "s9", "s3")
#define INLAY_F_CD_1(c, d) INLAY_F_X(c, "s10", "s3") INLAY_F_X(d, "s11", "s3")
#define INLAY_F_T0(a, b, c, d) INLAY_F_AB_0(a, b) INLAY_F_CD_0(c, d)
#define INLAY_F_T1(a, b, c, d) INLAY_F_AB_1(a, b) INLAY_F_CD_1(c, d)

/* One or two floats of a pixel: taps of its window. */
#define INLAY_F_IN(x) "vldmia " x "!, {s2}\n"
#define INLAY_F_IN2(x) "vldmia " x "!, {s2-s3}\n"
#define INLAY_F_ONE(x, a, b, c, d) INLAY_F_IN(x) INLAY_F_T0(a, b, c, d)
#define INLAY_F_BOTH(a, b, c, d) INLAY_F_T0(a, b, c, d) INLAY_F_T1(a, b, c, d)
#define INLAY_F_TWO(x, a, b, c, d) INLAY_F_IN2(x) INLAY_F_BOTH(a, b, c, d)

/* The same of so many pixels. */
#define INLAY_F_AT_0(taps) taps("r4", "s12", "s13", "s14", "s15")
#define INLAY_F_AT_1(taps) taps("r5", "s16", "s17", "s18", "s19")
#define INLAY_F_AT_2(taps) taps("r6", "s20", "s21", "s22", "s23")
#define INLAY_F_AT_3(taps) taps("r8", "s24", "s25", "s26", "s27")
#define INLAY_F_AT_4(taps) taps("r9", "s28", "s29", "s30", "s31")
#define INLAY_F_ALL_1(taps) INLAY_F_AT_0(taps)
#define INLAY_F_ALL_2(taps) INLAY_F_AT_0(taps) INLAY_F_AT_1(taps)
#define INLAY_F_ALL_3(taps) INLAY_F_ALL_2(taps) INLAY_F_AT_2(taps)
#define INLAY_F_ALL_4(taps) INLAY_F_ALL_3(taps) INLAY_F_AT_3(taps)
#define INLAY_F_ALL_5(taps) INLAY_F_ALL_4(taps) INLAY_F_AT_4(taps)

/* A tap or two of all pixels: weights that lie together, apart, and signed bytes. */
#define INLAY_F_TAP(all) "vldmia r1!, {s4-s7}\n" all(INLAY_F_ONE)
#define INLAY_F_TAPS(all) "vldmia r1!, {s4-s11}\n" all(INLAY_F_TWO)
#define INLAY_F_A_TAP "vldmia r1, {s4-s7}\nadd r1, r11\n"
#define INLAY_F_A_NEXT "vldmia r1, {s8-s11}\nadd r1, r11\n"
#define INLAY_F_APART(all) INLAY_F_A_TAP all(INLAY_F_ONE)
#define INLAY_F_APARTS(all) INLAY_F_A_TAP INLAY_F_A_NEXT all(INLAY_F_TWO)
#define INLAY_F_B_AB "ldrsb r2, [r1], #1\nldrsb r3, [r1], #1\n"
#define INLAY_F_B_IN(s, t) INLAY_F_B_AB "vmov " s ", " t ", r2, r3\n"
#define INLAY_F_B_FLOAT(s) "vcvt.f32.s32 " s ", " s "\n"
#define INLAY_F_B_FLOATS(s, t) INLAY_F_B_FLOAT(s) INLAY_F_B_FLOAT(t)
#define INLAY_F_B(s, t) INLAY_F_B_IN(s, t) INLAY_F_B_FLOATS(s, t)
#define INLAY_F_B_TAP INLAY_F_B("s4", "s5") INLAY_F_B("s6", "s7")
#define INLAY_F_B_NEXT INLAY_F_B("s8", "s9") INLAY_F_B("s10", "s11")
#define INLAY_F_BYTE(all) INLAY_F_B_TAP all(INLAY_F_ONE)
#define INLAY_F_BYTES(all) INLAY_F_B_TAP INLAY_F_B_NEXT all(INLAY_F_TWO)

/* Two of weights that lie together are four of one pixel. */
#define INLAY_F_TWICE(taps) taps(INLAY_F_ALL_1) taps(INLAY_F_ALL_1)

/* Runs one after the other: where the pixels lie, groups of taps, taps that are left. */
#define INLAY_F_BEGIN(last) "ldr r2, [r0, %[from]]\nvldmia r2, {s12-" last "}\n"
#define INLAY_F_NEXT "ldr r12, [r0, %[at]]\n5:\nldr r3, [r12], #4\n"
#define INLAY_F_RUN INLAY_F_NEXT "add r2, r0, %[offset]\n"
#define INLAY_F_X_2 "add r4, r3\nadd r5, r3\n"
#define INLAY_F_X_3 INLAY_F_X_2 "add r6, r3\n"
#define INLAY_F_X_4 INLAY_F_X_3 "add r8, r3\n"
#define INLAY_F_RUN_1 INLAY_F_RUN "mov r4, r3\n"
#define INLAY_F_RUN_2 INLAY_F_RUN "ldm r2, {r4, r5}\n" INLAY_F_X_2
#define INLAY_F_RUN_3 INLAY_F_RUN "ldm r2, {r4-r6}\n" INLAY_F_X_3
#define INLAY_F_RUN_4 INLAY_F_RUN "ldm r2, {r4-r6, r8}\n" INLAY_F_X_4
#define INLAY_F_X_5 INLAY_F_X_4 "add r9, r3\n"
#define INLAY_F_RUN_5 INLAY_F_RUN "ldm r2, {r4-r6, r8, r9}\n" INLAY_F_X_5
#define INLAY_F_SOME "ldr r10, [r0, %[groups]]\ncmp r10, #0\nbeq 2f\n1:\n"
#define INLAY_F_MORE "subs r10, #1\nbne 1b\n2:\nldr r10, [r0, %[ones]]\n"
#define INLAY_F_LEFT INLAY_F_MORE "cmp r10, #0\nbeq 4f\n3:\n"
#define INLAY_F_SKIP "subs r10, #1\nbne 3b\n4:\nldr r2, [r0, %[skip]]\n"
#define INLAY_F_DONE INLAY_F_SKIP "ldr r3, [r0, %[end]]\nadd r1, r2\n"
#define INLAY_F_AGAIN INLAY_F_DONE "cmp r12, r3\nbne 5b\n"
#define INLAY_F_LOOPS(two, one) INLAY_F_SOME two INLAY_F_LEFT one INLAY_F_AGAIN
#define INLAY_F_STEP "ldr r11, [r0, %[step]]\n"
#define INLAY_F_END(last) "ldr r2, [r0, %[sum]]\nvstmia r2, {s12-" last "}\n"

#define INLAY_F_FIELD(what) [what] "i"(offsetof(inlay_arm_run, what))
#define INLAY_F_ENDS INLAY_F_FIELD(from), INLAY_F_FIELD(sum), INLAY_F_FIELD(end)
#define INLAY_F_WHERE INLAY_F_FIELD(at), INLAY_F_FIELD(offset)
#define INLAY_F_MANY INLAY_F_FIELD(groups), INLAY_F_FIELD(ones)
#define INLAY_F_FAR INLAY_F_FIELD(step), INLAY_F_FIELD(skip)
#define INLAY_F_FIELDS INLAY_F_ENDS, INLAY_F_WHERE, INLAY_F_MANY, INLAY_F_FAR

/* What they change. */
#define INLAY_F_LOST_R "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11"
#define INLAY_F_LOST_2 "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10"
#define INLAY_F_LOST_11 "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18"
#define INLAY_F_LOST_19 "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26"
#define INLAY_F_LOST_27 "s27", "s28", "s29", "s30", "s31"
#define INLAY_F_LOST_S INLAY_F_LOST_2, INLAY_F_LOST_11, INLAY_F_LOST_19
#define INLAY_F_LOST_X INLAY_F_LOST_27, "r12", "cc", "memory"
#define INLAY_F_LOST INLAY_F_LOST_R, INLAY_F_LOST_S, INLAY_F_LOST_X

/* Do pairs of taps whose weights lie apart go together? */
enum { INLAY_ARM_PAIRS = 1 };

/* Taps that go together. */
INLAY_INLINE int32_t inlay_arm_group(int32_t pixels)
{
    return pixels == 1 ? 4 : 2;
}

/* The windows of so many pixels. */
INLAY_INLINE void inlay_arm_floats_1(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s15") INLAY_F_RUN_1 INLAY_F_LOOPS(
                         INLAY_F_TWICE(INLAY_F_TAPS),
                         INLAY_F_TAP(INLAY_F_ALL_1)) INLAY_F_END("s15")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_floats_2(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s19") INLAY_F_RUN_2 INLAY_F_LOOPS(
                         INLAY_F_TAPS(INLAY_F_ALL_2),
                         INLAY_F_TAP(INLAY_F_ALL_2)) INLAY_F_END("s19")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_floats_3(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s23") INLAY_F_RUN_3 INLAY_F_LOOPS(
                         INLAY_F_TAPS(INLAY_F_ALL_3),
                         INLAY_F_TAP(INLAY_F_ALL_3)) INLAY_F_END("s23")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_floats_4(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s27") INLAY_F_RUN_4 INLAY_F_LOOPS(
                         INLAY_F_TAPS(INLAY_F_ALL_4),
                         INLAY_F_TAP(INLAY_F_ALL_4)) INLAY_F_END("s27")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_floats_5(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s31") INLAY_F_RUN_5 INLAY_F_LOOPS(
                         INLAY_F_TAPS(INLAY_F_ALL_5),
                         INLAY_F_TAP(INLAY_F_ALL_5)) INLAY_F_END("s31")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

/* The same of weights that lie apart. */
INLAY_INLINE void inlay_arm_apart_1(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(
        INLAY_F_BEGIN("s15") INLAY_F_STEP INLAY_F_RUN_1 INLAY_F_LOOPS(
            INLAY_F_APARTS(INLAY_F_ALL_1), INLAY_F_APART(INLAY_F_ALL_1))
            INLAY_F_END("s15")
        : "+r"(w)
        : "r"(r), INLAY_F_FIELDS
        : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_apart_2(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(
        INLAY_F_BEGIN("s19") INLAY_F_STEP INLAY_F_RUN_2 INLAY_F_LOOPS(
            INLAY_F_APARTS(INLAY_F_ALL_2), INLAY_F_APART(INLAY_F_ALL_2))
            INLAY_F_END("s19")
        : "+r"(w)
        : "r"(r), INLAY_F_FIELDS
        : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_apart_3(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(
        INLAY_F_BEGIN("s23") INLAY_F_STEP INLAY_F_RUN_3 INLAY_F_LOOPS(
            INLAY_F_APARTS(INLAY_F_ALL_3), INLAY_F_APART(INLAY_F_ALL_3))
            INLAY_F_END("s23")
        : "+r"(w)
        : "r"(r), INLAY_F_FIELDS
        : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_apart_4(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(
        INLAY_F_BEGIN("s27") INLAY_F_STEP INLAY_F_RUN_4 INLAY_F_LOOPS(
            INLAY_F_APARTS(INLAY_F_ALL_4), INLAY_F_APART(INLAY_F_ALL_4))
            INLAY_F_END("s27")
        : "+r"(w)
        : "r"(r), INLAY_F_FIELDS
        : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_apart_5(inlay_arm_run *run, const float *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const float *w __asm__("r1") = weights;
    __asm__ volatile(
        INLAY_F_BEGIN("s31") INLAY_F_STEP INLAY_F_RUN_5 INLAY_F_LOOPS(
            INLAY_F_APARTS(INLAY_F_ALL_5), INLAY_F_APART(INLAY_F_ALL_5))
            INLAY_F_END("s31")
        : "+r"(w)
        : "r"(r), INLAY_F_FIELDS
        : INLAY_F_LOST);
}

/* The same of weights that are bytes, which lie together. */
INLAY_INLINE void inlay_arm_bytes_1(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const signed char *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s15") INLAY_F_RUN_1 INLAY_F_LOOPS(
                         INLAY_F_TWICE(INLAY_F_BYTES),
                         INLAY_F_BYTE(INLAY_F_ALL_1)) INLAY_F_END("s15")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_bytes_2(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const signed char *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s19") INLAY_F_RUN_2 INLAY_F_LOOPS(
                         INLAY_F_BYTES(INLAY_F_ALL_2),
                         INLAY_F_BYTE(INLAY_F_ALL_2)) INLAY_F_END("s19")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_bytes_3(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const signed char *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s23") INLAY_F_RUN_3 INLAY_F_LOOPS(
                         INLAY_F_BYTES(INLAY_F_ALL_3),
                         INLAY_F_BYTE(INLAY_F_ALL_3)) INLAY_F_END("s23")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_bytes_4(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const signed char *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s27") INLAY_F_RUN_4 INLAY_F_LOOPS(
                         INLAY_F_BYTES(INLAY_F_ALL_4),
                         INLAY_F_BYTE(INLAY_F_ALL_4)) INLAY_F_END("s27")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

INLAY_INLINE void inlay_arm_bytes_5(inlay_arm_run *run,
                                    const signed char *weights)
{
    register inlay_arm_run *r __asm__("r0") = run;
    register const signed char *w __asm__("r1") = weights;
    __asm__ volatile(INLAY_F_BEGIN("s31") INLAY_F_RUN_5 INLAY_F_LOOPS(
                         INLAY_F_BYTES(INLAY_F_ALL_5),
                         INLAY_F_BYTE(INLAY_F_ALL_5)) INLAY_F_END("s31")
                     : "+r"(w)
                     : "r"(r), INLAY_F_FIELDS
                     : INLAY_F_LOST);
}

/* The sums of five pixels begin at 0. */
INLAY_INLINE void inlay_arm_clear(float *sum)
{
    __asm__ volatile("vldmia %[from], {s12-s31}\nvstmia %[sum], {s12-s31}"
                     :
                     : [sum] "r"(sum), [from] "r"(inlay_arm_zeros)
                     : INLAY_F_LOST_S, INLAY_F_LOST_27, "memory");
}

typedef struct inlay_arm_four {
    float number[4];
} inlay_arm_four;

/* Four floats, one behind the other. */
INLAY_INLINE void inlay_arm_take(float *to, const float *from)
{
    register float a __asm__("s12");
    register float b __asm__("s13");
    register float c __asm__("s14");
    register float d __asm__("s15");
    __asm__("vldmia %4, {s12-s15}"
            : "=t"(a), "=t"(b), "=t"(c), "=t"(d)
            : "r"(from), "m"(*(const inlay_arm_four *)(const void *)from));
    to[0] = a;
    to[1] = b;
    to[2] = c;
    to[3] = d;
}

INLAY_INLINE void inlay_arm_put(float *to, const float *from)
{
    register float a __asm__("s12") = from[0];
    register float b __asm__("s13") = from[1];
    register float c __asm__("s14") = from[2];
    register float d __asm__("s15") = from[3];
    __asm__("vstmia %1, {s12-s15}"
            : "=m"(*(inlay_arm_four *)(void *)to)
            : "r"(to), "t"(a), "t"(b), "t"(c), "t"(d));
}

/* Adds q, clamps and stores the four channels of a pixel. */
INLAY_INLINE void inlay_arm_finish(const inlay_tile *t, float *v, float *y,
                                   const float *q)
{
    int i;
    if (q) {
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] += q[i];
    }
    if (t->clamp & INLAY_END_LOW) {
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] = inlay_max1(t->lo, v[i]);
    }
    if (t->clamp & INLAY_END_HIGH) {
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] = inlay_min1(t->hi, v[i]);
    }
    inlay_arm_put(y, v);
}

/* Sums of four channels, scaled where the group has scales, and the bias. */
INLAY_INLINE void inlay_arm_sums(const inlay_group *g, const float *sum,
                                 const float *bias, float *v)
{
    int i;
    inlay_arm_take(v, sum);
    INLAY_UNROLL
    for (i = 0; i < 4; i++) {
        if (g->scale)
            v[i] = inlay_fma1(v[i], g->scale[i], bias[i]);
        else
            v[i] += bias[i];
    }
}

#ifdef __ARM_FEATURE_DSP
/* Four numbers, as integers: those below 0 become 0. What is not a number is not below 0 when
 * 0x7fffff is added, whatever its sign. */
#define INLAY_R_UP(a) "qadd %[t], " a ", %[up]\n"
#define INLAY_R_ONE(a) INLAY_R_UP(a) "bic " a ", " a ", %[t], asr #31\n"
#define INLAY_R_AB INLAY_R_ONE("%[a]") INLAY_R_ONE("%[b]")
#define INLAY_R_CD INLAY_R_ONE("%[c]") INLAY_R_ONE("%[d]")
#define INLAY_R_PUT_AB "strd %[a], %[b], [%[y]]\n"
#define INLAY_R_PUT_CD "strd %[c], %[d], [%[y], #8]\n"
#define INLAY_R_PUT INLAY_R_AB INLAY_R_CD INLAY_R_PUT_AB INLAY_R_PUT_CD
#define INLAY_R_LOOP "subs %[n], #1\nbne 1b\n"
#define INLAY_R_END "add %[y], %[ys]\n" INLAY_R_LOOP
#define INLAY_R_FAR "ldr %[t], %[ys]\nadd %[y], %[t]\n" INLAY_R_LOOP
#define INLAY_R_FROM_AB(s, t) "vmov %[a], %[b], " s ", " t "\n"
#define INLAY_R_FROM_CD(s, t) "vmov %[c], %[d], " s ", " t "\n"
#define INLAY_R_GET "vldmia %[sum]!, {s4-s7}\n"
#define INLAY_R_ADD01 "vadd.f32 s4, s4, s0\nvadd.f32 s5, s5, s1\n"
#define INLAY_R_ADD23 "vadd.f32 s6, s6, s2\nvadd.f32 s7, s7, s3\n"
#define INLAY_R_ADD "1:\n" INLAY_R_GET INLAY_R_ADD01 INLAY_R_ADD23
#define INLAY_R_OUT_4 INLAY_R_FROM_AB("s4", "s5") INLAY_R_FROM_CD("s6", "s7")
#define INLAY_R_SUMS INLAY_R_ADD INLAY_R_OUT_4 INLAY_R_PUT INLAY_R_END
#define INLAY_R_BIAS "1:\nvldmia %[bias], {s8-s11}\n" INLAY_R_GET
#define INLAY_R_MUL01 "vfma.f32 s8, s4, s0\nvfma.f32 s9, s5, s1\n"
#define INLAY_R_MUL23 "vfma.f32 s10, s6, s2\nvfma.f32 s11, s7, s3\n"
#define INLAY_R_MUL INLAY_R_BIAS INLAY_R_MUL01 INLAY_R_MUL23
#define INLAY_R_OUT_8 INLAY_R_FROM_AB("s8", "s9") INLAY_R_FROM_CD("s10", "s11")
#define INLAY_R_SCALED INLAY_R_MUL INLAY_R_OUT_8 INLAY_R_PUT INLAY_R_FAR
#define INLAY_R_WALKED [sum] "+r"(sum), [y] "+r"(y), [n] "+r"(pixels)
#define INLAY_R_NUMBERS [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [t] "=&r"(e)
#define INLAY_R_OUT INLAY_R_WALKED, INLAY_R_NUMBERS
#define INLAY_R_BOUND [up] "r"(0x7fffff)
#define INLAY_R_LOST_S "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"
#define INLAY_R_LOST INLAY_R_LOST_S, "cc", "memory"

/* What follows most sums of so many pixels, ys bytes apart: a bias, and 0 as the lower bound. */
INLAY_INLINE void inlay_arm_end_0(const float *sum, const float *bias, float *y,
                                  ptrdiff_t ys, int32_t pixels)
{
    const float *a = bias;
    int32_t b, c, d, e;
    __asm__ volatile("vldmia %[a], {s0-s3}\n" INLAY_R_SUMS
                     : [a] "+r"(a), INLAY_R_OUT
                     : [ys] "r"(ys), INLAY_R_BOUND
                     : INLAY_R_LOST);
}

/* The same of sums that are still to be scaled. */
INLAY_INLINE void inlay_arm_end_1(const float *sum, const float *bias,
                                  const float *scale, float *y, ptrdiff_t ys,
                                  int32_t pixels)
{
    const float *a = scale;
    int32_t b, c, d, e;
    __asm__ volatile("vldmia %[a], {s0-s3}\n" INLAY_R_SCALED
                     : [a] "+r"(a), INLAY_R_OUT
                     : [bias] "r"(bias), [ys] "m"(ys), INLAY_R_BOUND
                     : INLAY_R_LOST, "s8", "s9", "s10", "s11");
}

/* Stores four numbers of each pixel, at least 0. */
INLAY_INLINE void inlay_arm_relu(const float *sum, float *y, ptrdiff_t ys,
                                 int32_t pixels)
{
    int32_t a, b, c, d, e;
    ys *= (ptrdiff_t)sizeof(float);
    __asm__ volatile("1:\nldrd %[a], %[b], [%[sum]], #8\n"
                     "ldrd %[c], %[d], [%[sum]], #8\n" INLAY_R_PUT INLAY_R_END
                     : [a] "=&r"(a), INLAY_R_OUT
                     : [ys] "r"(ys), INLAY_R_BOUND
                     : "cc", "memory");
}

/* Is 0 the lower bound, is there nothing else, and is there code for it? */
INLAY_INLINE int inlay_arm_is_relu(int32_t clamp, float lo)
{
    return clamp == INLAY_END_LOW && lo == 0;
}

/* The short form of what follows the sums of whole groups; pixels of y lie ys bytes apart. */
INLAY_INLINE void inlay_arm_end_short(const inlay_tile *t, const float *sum,
                                      const float *bias, const float *scale,
                                      float *y, ptrdiff_t ys, int32_t pixels)
{
    (void)t;
    if (scale)
        inlay_arm_end_1(sum, bias, scale, y, ys, pixels);
    else
        inlay_arm_end_0(sum, bias, y, ys, pixels);
}
#else
INLAY_INLINE int inlay_arm_is_relu(int32_t clamp, float lo)
{
    (void)clamp;
    (void)lo;
    return 0;
}

INLAY_INLINE void inlay_arm_relu(const float *sum, float *y, ptrdiff_t ys,
                                 int32_t pixels)
{
    (void)sum;
    (void)y;
    (void)ys;
    (void)pixels;
}

INLAY_INLINE void inlay_arm_end_short(const inlay_tile *t, const float *sum,
                                      const float *bias, const float *scale,
                                      float *y, ptrdiff_t ys, int32_t pixels)
{
    (void)t;
    (void)sum;
    (void)bias;
    (void)scale;
    (void)y;
    (void)ys;
    (void)pixels;
}
#endif

/* Is there a short form? */
INLAY_INLINE int inlay_arm_is_short(const inlay_tile *t, const float *q)
{
    return !q && inlay_arm_is_relu(t->clamp, t->lo);
}

/* What follows the sums of so many pixels. */
INLAY_APART void inlay_arm_end(const inlay_tile *t, const inlay_group *g,
                               float *sum, float *y, const float *q,
                               int32_t pixels)
{
    const float *end = sum + 4 * pixels;
    const ptrdiff_t ys = t->ys;
    const float bias[4] = { g->bias[0], g->bias[1], g->bias[2], g->bias[3] };
    for (; sum != end; sum += 4, y += ys) {
        float v[4];
        inlay_arm_sums(g, sum, bias, v);
        if (g->part) {
            inlay_arm_put(sum, v);
            inlay_tile_part(t, sum, y, q, g->part);
        } else {
            inlay_arm_finish(t, v, y, q);
        }
        if (q)
            q += t->qs;
    }
}
