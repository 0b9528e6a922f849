/* SPDX-License-Identifier: 0BSD
 * The part of tile_arm.inc.h for Arm cores that have floats, but no vectors of them. Adjacent
 * floats are loaded by one instruction, where gcc takes one for each, and a tile of two to five
 * pixels by four channels goes on by two taps at a time, of one pixel by four taps.
 *
 * The registers have their names: s2 and s3 are floats of a pixel, s4 to s11 the weights of two
 * taps, s12 and so on the sums, four channels for each pixel. */

/* Products of a float, in s2 or s3, with the weights of a tap; the sums are a to d. */
#define INLAY_F_X(sum, w, x) "vfma.f32 " sum ", " w ", " x "\n"
#define INLAY_F_AB_0(a, b) INLAY_F_X(a, "s4", "s2") INLAY_F_X(b, "s5", "s2")
#define INLAY_F_CD_0(c, d) INLAY_F_X(c, "s6", "s2") INLAY_F_X(d, "s7", "s2")
#define INLAY_F_AB_1(a, b) INLAY_F_X(a, "s8", "s3") INLAY_F_X(b, "s9", "s3")
#define INLAY_F_CD_1(c, d) INLAY_F_X(c, "s10", "s3") INLAY_F_X(d, "s11", "s3")
#define INLAY_F_T0(a, b, c, d) INLAY_F_AB_0(a, b) INLAY_F_CD_0(c, d)
#define INLAY_F_T1(a, b, c, d) INLAY_F_AB_1(a, b) INLAY_F_CD_1(c, d)

/* One or two floats of a pixel: taps of its window. */
#define INLAY_F_IN(x) "vldmia %[" x "]!, {s2}\n"
#define INLAY_F_IN2(x) "vldmia %[" x "]!, {s2-s3}\n"
#define INLAY_F_ONE(x, a, b, c, d) INLAY_F_IN(x) INLAY_F_T0(a, b, c, d)
#define INLAY_F_BOTH(a, b, c, d) INLAY_F_T0(a, b, c, d) INLAY_F_T1(a, b, c, d)
#define INLAY_F_TWO(x, a, b, c, d) INLAY_F_IN2(x) INLAY_F_BOTH(a, b, c, d)

/* The same of so many pixels. */
#define INLAY_F_AT_0(taps) taps("x0", "s12", "s13", "s14", "s15")
#define INLAY_F_AT_1(taps) taps("x1", "s16", "s17", "s18", "s19")
#define INLAY_F_AT_2(taps) taps("x2", "s20", "s21", "s22", "s23")
#define INLAY_F_AT_3(taps) taps("x3", "s24", "s25", "s26", "s27")
#define INLAY_F_AT_4(taps) taps("x4", "s28", "s29", "s30", "s31")
#define INLAY_F_ALL_2(taps) INLAY_F_AT_0(taps) INLAY_F_AT_1(taps)
#define INLAY_F_ALL_3(taps) INLAY_F_ALL_2(taps) INLAY_F_AT_2(taps)
#define INLAY_F_ALL_4(taps) INLAY_F_ALL_3(taps) INLAY_F_AT_3(taps)
#define INLAY_F_ALL_5(taps) INLAY_F_ALL_4(taps) INLAY_F_AT_4(taps)

/* A loop over taps or pairs of them: those of all pixels with the sums `from` to `to`. */
#define INLAY_F_GET(sums) "vldmia %[sum], {" sums "}\n"
#define INLAY_F_PUT(sums) "vstmia %[sum], {" sums "}\n"
#define INLAY_F_END "subs %[left], #1\nbne 1b\n"
#define INLAY_F_W_NEXT "add %[w], %[step]\n"
#define INLAY_F_W_ONE "1:\nvldmia %[w], {s4-s7}\n" INLAY_F_W_NEXT
#define INLAY_F_W_TWO "1:\nvldmia %[w]!, {s4-s11}\n"
#define INLAY_F_ONES(all) INLAY_F_W_ONE all(INLAY_F_ONE) INLAY_F_END
#define INLAY_F_W_SECOND "vldmia %[w], {s8-s11}\n" INLAY_F_W_NEXT
#define INLAY_F_W_APART INLAY_F_W_ONE INLAY_F_W_SECOND
#define INLAY_F_PAIRS(all) INLAY_F_W_APART all(INLAY_F_TWO) INLAY_F_END
#define INLAY_F_TWOS(all) INLAY_F_W_TWO all(INLAY_F_TWO) INLAY_F_END
#define INLAY_F_LOOP(loop, sums) INLAY_F_GET(sums) loop INLAY_F_PUT(sums)

/* What a loop changes. */
#define INLAY_F_LOST_2 "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10"
#define INLAY_F_LOST_11 "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18"
#define INLAY_F_LOST_19 "s19"
#define INLAY_F_LOST_20 "s20", "s21", "s22", "s23"
#define INLAY_F_LOST_24 "s24", "s25", "s26", "s27"
#define INLAY_F_LOST_28 "s28", "s29", "s30", "s31"
#define INLAY_F_LOST_TO_19 INLAY_F_LOST_2, INLAY_F_LOST_11, INLAY_F_LOST_19
#define INLAY_F_LOST_TO_23 INLAY_F_LOST_TO_19, INLAY_F_LOST_20
#define INLAY_F_LOST_TO_27 INLAY_F_LOST_TO_23, INLAY_F_LOST_24
#define INLAY_F_LOST_TO_31 INLAY_F_LOST_TO_27, INLAY_F_LOST_28

/* Do pairs of taps whose weights lie apart go together? */
enum { INLAY_ARM_PAIRS = INLAY_TILE_WIDTH != 4 };

/* How far the loops have come. */
typedef struct inlay_arm_at {
    const float *x[INLAY_TILE_P];
    const float *w;
} inlay_arm_at;

#define INLAY_F_X_1 [x0] "+r"(at->x[0])
#define INLAY_F_X_2 INLAY_F_X_1, [x1] "+r"(at->x[1])
#define INLAY_F_X_3 INLAY_F_X_2, [x2] "+r"(at->x[2])
#define INLAY_F_X_4 INLAY_F_X_3, [x3] "+r"(at->x[3])
#define INLAY_F_X_5 INLAY_F_X_4, [x4] "+r"(at->x[4])
#define INLAY_F_GOES_ON [w] "+r"(at->w), [left] "+r"(left)
#define INLAY_F_LOST "cc", "memory"

/* Groups of taps, pairs or single ones, `left` of them: those of one pixel first. */
INLAY_INLINE void inlay_arm_groups_1(float *sum, inlay_arm_at *at, int32_t left)
{
    __asm__ volatile("vldmia %[sum], {s0-s3}\n"
                     "1:\nvldmia %[x0]!, {s4-s7}\nvldmia %[w]!, {s8-s23}\n"
                     "vfma.f32 s0, s8, s4\nvfma.f32 s1, s9, s4\n"
                     "vfma.f32 s2, s10, s4\nvfma.f32 s3, s11, s4\n"
                     "vfma.f32 s0, s12, s5\nvfma.f32 s1, s13, s5\n"
                     "vfma.f32 s2, s14, s5\nvfma.f32 s3, s15, s5\n"
                     "vfma.f32 s0, s16, s6\nvfma.f32 s1, s17, s6\n"
                     "vfma.f32 s2, s18, s6\nvfma.f32 s3, s19, s6\n"
                     "vfma.f32 s0, s20, s7\nvfma.f32 s1, s21, s7\n"
                     "vfma.f32 s2, s22, s7\nvfma.f32 s3, s23, s7\n" INLAY_F_END
                     "vstmia %[sum], {s0-s3}\n"
                     : INLAY_F_X_1, INLAY_F_GOES_ON
                     : [sum] "r"(sum)
                     : INLAY_F_LOST, "s0", "s1", INLAY_F_LOST_TO_23);
}

INLAY_INLINE void inlay_arm_pairs_1(float *sum, inlay_arm_at *at, int32_t left,
                                    ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_PAIRS(INLAY_F_AT_0), "s12-s15")
                     : INLAY_F_X_1, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_19);
}

INLAY_INLINE void inlay_arm_ones_1(float *sum, inlay_arm_at *at, int32_t left,
                                   ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_ONES(INLAY_F_AT_0), "s12-s15")
                     : INLAY_F_X_1, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_19);
}

INLAY_INLINE void inlay_arm_groups_2(float *sum, inlay_arm_at *at, int32_t left)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_TWOS(INLAY_F_ALL_2), "s12-s19")
                     : INLAY_F_X_2, INLAY_F_GOES_ON
                     : [sum] "r"(sum)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_19);
}

INLAY_INLINE void inlay_arm_pairs_2(float *sum, inlay_arm_at *at, int32_t left,
                                    ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_PAIRS(INLAY_F_ALL_2), "s12-s19")
                     : INLAY_F_X_2, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_19);
}

INLAY_INLINE void inlay_arm_ones_2(float *sum, inlay_arm_at *at, int32_t left,
                                   ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_ONES(INLAY_F_ALL_2), "s12-s19")
                     : INLAY_F_X_2, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_19);
}

INLAY_INLINE void inlay_arm_groups_3(float *sum, inlay_arm_at *at, int32_t left)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_TWOS(INLAY_F_ALL_3), "s12-s23")
                     : INLAY_F_X_3, INLAY_F_GOES_ON
                     : [sum] "r"(sum)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_23);
}

INLAY_INLINE void inlay_arm_pairs_3(float *sum, inlay_arm_at *at, int32_t left,
                                    ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_PAIRS(INLAY_F_ALL_3), "s12-s23")
                     : INLAY_F_X_3, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_23);
}

INLAY_INLINE void inlay_arm_ones_3(float *sum, inlay_arm_at *at, int32_t left,
                                   ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_ONES(INLAY_F_ALL_3), "s12-s23")
                     : INLAY_F_X_3, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_23);
}

INLAY_INLINE void inlay_arm_groups_4(float *sum, inlay_arm_at *at, int32_t left)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_TWOS(INLAY_F_ALL_4), "s12-s27")
                     : INLAY_F_X_4, INLAY_F_GOES_ON
                     : [sum] "r"(sum)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_27);
}

INLAY_INLINE void inlay_arm_pairs_4(float *sum, inlay_arm_at *at, int32_t left,
                                    ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_PAIRS(INLAY_F_ALL_4), "s12-s27")
                     : INLAY_F_X_4, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_27);
}

INLAY_INLINE void inlay_arm_ones_4(float *sum, inlay_arm_at *at, int32_t left,
                                   ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_ONES(INLAY_F_ALL_4), "s12-s27")
                     : INLAY_F_X_4, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_27);
}

INLAY_INLINE void inlay_arm_groups_5(float *sum, inlay_arm_at *at, int32_t left)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_TWOS(INLAY_F_ALL_5), "s12-s31")
                     : INLAY_F_X_5, INLAY_F_GOES_ON
                     : [sum] "r"(sum)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_31);
}

INLAY_INLINE void inlay_arm_pairs_5(float *sum, inlay_arm_at *at, int32_t left,
                                    ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_PAIRS(INLAY_F_ALL_5), "s12-s31")
                     : INLAY_F_X_5, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_31);
}

INLAY_INLINE void inlay_arm_ones_5(float *sum, inlay_arm_at *at, int32_t left,
                                   ptrdiff_t step)
{
    __asm__ volatile(INLAY_F_LOOP(INLAY_F_ONES(INLAY_F_ALL_5), "s12-s31")
                     : INLAY_F_X_5, INLAY_F_GOES_ON
                     : [sum] "r"(sum), [step] "r"(step)
                     : INLAY_F_LOST, INLAY_F_LOST_TO_31);
}

/* The pixels of a run. */
INLAY_INLINE inlay_arm_at inlay_arm_where(const inlay_arm_run *r,
                                          const float *x, const float *w,
                                          const int pixels)
{
    inlay_arm_at at;
    int p;
    at.w = w;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        at.x[p] = (const float *)(const void *)((const char *)x + r->offset[p]);
    return at;
}

INLAY_INLINE void inlay_arm_pixels_1(const inlay_arm_run *r, const float *x,
                                     const float *w)
{
    inlay_arm_at at = inlay_arm_where(r, x, w, 1);
    if (r->groups)
        inlay_arm_groups_1(r->sum, &at, r->groups);
    if (INLAY_ARM_PAIRS && r->pairs)
        inlay_arm_pairs_1(r->sum, &at, r->pairs, r->step);
    if (r->ones)
        inlay_arm_ones_1(r->sum, &at, r->ones, r->step);
}

INLAY_INLINE void inlay_arm_pixels_2(const inlay_arm_run *r, const float *x,
                                     const float *w)
{
    inlay_arm_at at = inlay_arm_where(r, x, w, 2);
    if (r->groups)
        inlay_arm_groups_2(r->sum, &at, r->groups);
    if (INLAY_ARM_PAIRS && r->pairs)
        inlay_arm_pairs_2(r->sum, &at, r->pairs, r->step);
    if (r->ones)
        inlay_arm_ones_2(r->sum, &at, r->ones, r->step);
}

INLAY_INLINE void inlay_arm_pixels_3(const inlay_arm_run *r, const float *x,
                                     const float *w)
{
    inlay_arm_at at = inlay_arm_where(r, x, w, 3);
    if (r->groups)
        inlay_arm_groups_3(r->sum, &at, r->groups);
    if (INLAY_ARM_PAIRS && r->pairs)
        inlay_arm_pairs_3(r->sum, &at, r->pairs, r->step);
    if (r->ones)
        inlay_arm_ones_3(r->sum, &at, r->ones, r->step);
}

INLAY_INLINE void inlay_arm_pixels_4(const inlay_arm_run *r, const float *x,
                                     const float *w)
{
    inlay_arm_at at = inlay_arm_where(r, x, w, 4);
    if (r->groups)
        inlay_arm_groups_4(r->sum, &at, r->groups);
    if (INLAY_ARM_PAIRS && r->pairs)
        inlay_arm_pairs_4(r->sum, &at, r->pairs, r->step);
    if (r->ones)
        inlay_arm_ones_4(r->sum, &at, r->ones, r->step);
}

INLAY_INLINE void inlay_arm_pixels_5(const inlay_arm_run *r, const float *x,
                                     const float *w)
{
    inlay_arm_at at = inlay_arm_where(r, x, w, 5);
    if (r->groups)
        inlay_arm_groups_5(r->sum, &at, r->groups);
    if (INLAY_ARM_PAIRS && r->pairs)
        inlay_arm_pairs_5(r->sum, &at, r->pairs, r->step);
    if (r->ones)
        inlay_arm_ones_5(r->sum, &at, r->ones, r->step);
}

/* The sums of five pixels begin at 0. */
INLAY_INLINE void inlay_arm_clear(float *sum)
{
    __asm__ volatile("vmov s12, s13, %[zero], %[zero]\n"
                     "vmov s14, s15, %[zero], %[zero]\n"
                     "vstmia %[sum]!, {s12-s15}\nvstmia %[sum]!, {s12-s15}\n"
                     "vstmia %[sum]!, {s12-s15}\nvstmia %[sum]!, {s12-s15}\n"
                     "vstmia %[sum], {s12-s15}"
                     : [sum] "+r"(sum)
                     : [zero] "r"(0)
                     : "memory", "s12", "s13", "s14", "s15");
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

/* The bias of four channels is added. */
INLAY_INLINE void inlay_arm_add(float *v, const float *bias)
{
    int i;
    INLAY_UNROLL
    for (i = 0; i < 4; i++)
        v[i] += bias[i];
}

/* What mostly follows the sums up to `end`: a bias and a lower bound, nothing else. */
INLAY_INLINE void inlay_arm_end_low(const inlay_tile *t, const float *bias,
                                    const float *sum, const float *end,
                                    float *y)
{
    const ptrdiff_t ys = t->ys;
    const float lo = t->lo;
    int i;
    for (; sum != end; sum += 4, y += ys) {
        float v[4];
        inlay_arm_take(v, sum);
        inlay_arm_add(v, bias);
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] = inlay_max1(lo, v[i]);
        inlay_arm_put(y, v);
    }
}

/* What follows the sums of so many pixels. */
INLAY_APART void inlay_arm_end(const inlay_tile *t, const inlay_group *g,
                               float *sum, float *y, const float *q,
                               int32_t pixels)
{
    const float *end = sum + 4 * pixels;
    const ptrdiff_t ys = t->ys;
    const float bias[4] = { g->bias[0], g->bias[1], g->bias[2], g->bias[3] };
    if (!g->part && !q && t->clamp == INLAY_END_LOW) {
        inlay_arm_end_low(t, bias, sum, end, y);
        return;
    }
    for (; sum != end; sum += 4, y += ys) {
        float v[4];
        inlay_arm_take(v, sum);
        inlay_arm_add(v, bias);
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
