/* SPDX-License-Identifier: 0BSD
 * The tile of dwconv_arm.inc.h without Helium: four channels lie side by side and are loaded by one
 * instruction.
 *
 * All 32 registers have their names: s0-s11 the weights of three taps, or s0-s3 of one, s12-s15 a
 * pixel of x, s16-s31 the sums, four channels for each pixel. The products and their order are
 * those of dwconv_f32.inc.h. */

/* A pixel of x times the weights a to d, to the sums of pixel 0 to 3. */
#define INLAY_P0A(a, b) "vfma.f32 s16, " a ", s12\nvfma.f32 s17, " b ", s13\n"
#define INLAY_P0B(c, d) "vfma.f32 s18, " c ", s14\nvfma.f32 s19, " d ", s15\n"
#define INLAY_P0(a, b, c, d) INLAY_P0A(a, b) INLAY_P0B(c, d)
#define INLAY_P1A(a, b) "vfma.f32 s20, " a ", s12\nvfma.f32 s21, " b ", s13\n"
#define INLAY_P1B(c, d) "vfma.f32 s22, " c ", s14\nvfma.f32 s23, " d ", s15\n"
#define INLAY_P1(a, b, c, d) INLAY_P1A(a, b) INLAY_P1B(c, d)
#define INLAY_P2A(a, b) "vfma.f32 s24, " a ", s12\nvfma.f32 s25, " b ", s13\n"
#define INLAY_P2B(c, d) "vfma.f32 s26, " c ", s14\nvfma.f32 s27, " d ", s15\n"
#define INLAY_P2(a, b, c, d) INLAY_P2A(a, b) INLAY_P2B(c, d)
#define INLAY_P3A(a, b) "vfma.f32 s28, " a ", s12\nvfma.f32 s29, " b ", s13\n"
#define INLAY_P3B(c, d) "vfma.f32 s30, " c ", s14\nvfma.f32 s31, " d ", s15\n"
#define INLAY_P3(a, b, c, d) INLAY_P3A(a, b) INLAY_P3B(c, d)

/* The weights of tap 0 to 2, and what they add to which pixel. */
#define INLAY_W0(pixel) pixel("s0", "s1", "s2", "s3")
#define INLAY_W1(pixel) pixel("s4", "s5", "s6", "s7")
#define INLAY_W2(pixel) pixel("s8", "s9", "s10", "s11")
#define INLAY_P0W0 INLAY_W0(INLAY_P0)
#define INLAY_P0W1 INLAY_W1(INLAY_P0)
#define INLAY_P0W2 INLAY_W2(INLAY_P0)
#define INLAY_P1W0 INLAY_W0(INLAY_P1)
#define INLAY_P1W1 INLAY_W1(INLAY_P1)
#define INLAY_P1W2 INLAY_W2(INLAY_P1)
#define INLAY_P2W0 INLAY_W0(INLAY_P2)
#define INLAY_P2W1 INLAY_W1(INLAY_P2)
#define INLAY_P2W2 INLAY_W2(INLAY_P2)
#define INLAY_P3W0 INLAY_W0(INLAY_P3)
#define INLAY_P3W1 INLAY_W1(INLAY_P3)
#define INLAY_P3W2 INLAY_W2(INLAY_P3)

#define INLAY_DW_LOAD "vldmia %[x], {s12-s15}\n"
#define INLAY_DW_BIAS(sums) "vldmia %[x], {" sums "}\n"
#define INLAY_DW_SUM INLAY_DW_BIAS("s16-s19")
#define INLAY_DW_SUM_12 INLAY_DW_BIAS("s20-s23") INLAY_DW_BIAS("s24-s27")
#define INLAY_DW_SUMS INLAY_DW_SUM INLAY_DW_SUM_12 INLAY_DW_BIAS("s28-s31")
#define INLAY_DW_KEEP "6:\nadd %[l], %[sums]\nvstmia %[l], {s16-s31}\n"
#define INLAY_DW_KEEP_1 "6:\nadd %[l], %[sums]\nvstmia %[l], {s16-s19}\n"
#define INLAY_DW_TAP "vldmia %[w], {s0-s3}\n" INLAY_DW_GO("w", "wtap")
#define INLAY_DW_TAP_1 "vldmia %[w], {s4-s7}\n" INLAY_DW_GO("w", "wtap")
#define INLAY_DW_TAP_2 "vldmia %[w], {s8-s11}\n"
#define INLAY_DW_TAPS INLAY_DW_TAP INLAY_DW_TAP_1 INLAY_DW_TAP_2
#define INLAY_DW_BEGIN INLAY_DW_SUMS INLAY_DW_LINE INLAY_DW_TAPS
#define INLAY_DW_END INLAY_DW_AGAIN INLAY_DW_KEEP

/* Any number of taps, of four pixels and of one. `next` is from a tap of the last pixel to the
 * next tap of the first. */
#define INLAY_DW_PIXEL INLAY_DW_GO("x", "pixel") INLAY_DW_LOAD
#define INLAY_DW_NEXT INLAY_DW_GO("x", "next")
#define INLAY_DW_TAP_01 INLAY_DW_TAP INLAY_DW_LOAD INLAY_P0W0
#define INLAY_DW_TAP_02 INLAY_DW_TAP_01 INLAY_DW_PIXEL INLAY_P1W0
#define INLAY_DW_TAP_03 INLAY_DW_TAP_02 INLAY_DW_PIXEL INLAY_P2W0
#define INLAY_DW_TAP_04 INLAY_DW_TAP_03 INLAY_DW_PIXEL INLAY_P3W0
#define INLAY_DW_COUNT INLAY_DW_LINE "ldr %[left], [%[l], %[taps]]\n1:\n"
#define INLAY_DW_LOOP(taps) INLAY_DW_COUNT taps "subs %[left], #1\nbne 1b\n"
#define INLAY_DW_FOUR INLAY_DW_LOOP(INLAY_DW_TAP_04 INLAY_DW_NEXT)
#define INLAY_DW_SINGLE INLAY_DW_LOOP(INLAY_DW_TAP_01 INLAY_DW_NEXT)

/* What they change: all of them. */
#define INLAY_DW_LOST_S "s0", "s1", INLAY_F_LOST_S, INLAY_F_LOST_27
#define INLAY_DW_LOST INLAY_DW_LOST_S, "cc", "memory"

#define INLAY_DW_OUT [x] "+r"(x), [w] "+r"(w), [at] "+r"(at), [l] "+r"(l)
#define INLAY_DW_FIELD(what) [what] "i"(offsetof(inlay_dw_lines, what))
#define INLAY_DW_ROWS [end] "r"(l->end), [first] "r"(first), [wrow] "r"(l->wrow)
#define INLAY_DW_IN [wtap] "r"(l->wtap), INLAY_DW_ROWS, INLAY_DW_FIELD(sums)
#define INLAY_DW_THREE [skip] "r"(skip), [tap] "r"(l->tap), INLAY_DW_IN
#define INLAY_DW_TIMES [next] "r"(l->next), INLAY_DW_IN, INLAY_DW_FIELD(taps)

/* All rows of the window of four channels, `first` bytes behind those of the rows' first ones, at a
 * stride of one or two; x is their bias to begin with. */
INLAY_INLINE void inlay_dw_rows_three(inlay_dw_lines *l, const float *x,
                                      const float *w, ptrdiff_t first,
                                      int32_t skip, int form)
{
    const float *const *at = l->row;
    if (form == INLAY_DW_STRIDE_1)
        __asm__ volatile(INLAY_DW_BEGIN INLAY_DW_FIRST INLAY_DW_STRIDE1
                             INLAY_DW_LAST INLAY_DW_END:INLAY_DW_OUT
:INLAY_DW_THREE
                         : INLAY_DW_LOST);
    else
        __asm__ volatile(INLAY_DW_BEGIN INLAY_DW_FIRST INLAY_DW_STRIDE2
                             INLAY_DW_LAST INLAY_DW_END:INLAY_DW_OUT
:INLAY_DW_THREE
                         : INLAY_DW_LOST);
}

INLAY_INLINE void inlay_dw_rows_any(inlay_dw_lines *l, const float *x,
                                    const float *w, ptrdiff_t first)
{
    const float *const *at = l->row;
    int32_t left;
    __asm__ volatile(INLAY_DW_SUMS INLAY_DW_FOUR INLAY_DW_END
                     : INLAY_DW_OUT, [left] "=&r"(left)
                     : [pixel] "r"(l->pixel), INLAY_DW_TIMES
                     : INLAY_DW_LOST);
}

INLAY_INLINE void inlay_dw_rows_one(inlay_dw_lines *l, const float *x,
                                    const float *w, ptrdiff_t first)
{
    const float *const *at = l->row;
    int32_t left;
    __asm__ volatile(INLAY_DW_SUM INLAY_DW_SINGLE INLAY_DW_AGAIN INLAY_DW_KEEP_1
                     : INLAY_DW_OUT, [left] "=&r"(left)
                     : INLAY_DW_TIMES
                     : INLAY_DW_LOST);
}

/* Adds q, clamps and stores the sums of a pixel. */
INLAY_INLINE void inlay_dw_four_end(const inlay_dw *t, const float *sums,
                                    float *y, const float *q)
{
    float v[4];
    int i;
    inlay_arm_take(v, sums);
    if (q) {
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] += q[i];
    }
    if (t->clamp & 1) {
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] = inlay_max1(t->lo, v[i]);
    }
    if (t->clamp & 2) {
        INLAY_UNROLL
        for (i = 0; i < 4; i++)
            v[i] = inlay_min1(t->hi, v[i]);
    }
    inlay_arm_put(y, v);
}

/* The same of all pixels. */
INLAY_APART void inlay_dw_ends(const inlay_dw *t, const float *sums, float *y,
                               const float *q, int32_t pixels)
{
    int32_t p;
    for (p = 0; p < pixels; p++, sums += 4, y += t->ys) {
        inlay_dw_four_end(t, sums, y, q);
        if (q)
            q += t->qs;
    }
}

/* The sums of channels [c, c + 4) of a tile. */
INLAY_INLINE void inlay_dw_four(const inlay_dw *t, const inlay_dw_tile *tile,
                                inlay_dw_lines *lines, int32_t c,
                                const int form)
{
    const ptrdiff_t first = (tile->at + c) * (ptrdiff_t)sizeof(float);
    const float *bias = t->bias + c;
    const float *w = tile->w + c;
    if (form == INLAY_DW_STRIDE_1 || form == INLAY_DW_STRIDE_2)
        inlay_dw_rows_three(lines, bias, w, first, tile->skip, form);
    else if (form == INLAY_DW_ANY)
        inlay_dw_rows_any(lines, bias, w, first);
    else
        inlay_dw_rows_one(lines, bias, w, first);
}

/* Channels in fours; returns how many are done. */
INLAY_INLINE int32_t inlay_dw_fours_of(const inlay_dw *t,
                                       const inlay_dw_tile *tile,
                                       inlay_dw_lines *lines, const int form)
{
    const int32_t pixels = form == INLAY_DW_ONE ? 1 : INLAY_DW_TILE_MOST;
    const int relu = !tile->q && inlay_arm_is_relu(t->clamp, t->lo);
    const int32_t n = t->channels / 4 * 4;
    int32_t c;
    for (c = 0; c < n; c += 4) {
        const float *q = tile->q ? tile->q + c : NULL;
        float *y = tile->y + c;
        inlay_dw_four(t, tile, lines, c, form);
        if (relu)
            inlay_arm_relu(lines->sums, y, t->ys, pixels);
        else
            inlay_dw_ends(t, lines->sums, y, q, pixels);
    }
    return n;
}
