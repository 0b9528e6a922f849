/* SPDX-License-Identifier: 0BSD
 * The tile of dwconv_f32.h on Arm cores that have floats, but no vectors of them: four pixels, or
 * one, by four channels, which lie side by side and are loaded by one instruction.
 *
 * All 32 registers have their names: s0-s11 the weights of three taps, or s0-s3 of one, s12-s15 a
 * pixel of x, s16-s31 the sums, four channels for each pixel. Between two rows of a window the sums
 * wait in memory. The products and their order are those of dwconv_f32.inc.h. */

#define INLAY_FMA(sum, w, x) "vfma.f32 " sum ", " w ", " x "\n"

/* A pixel of x times the weights a to d, to the sums of pixel 0 to 3. */
#define INLAY_P0A(a, b) INLAY_FMA("s16", a, "s12") INLAY_FMA("s17", b, "s13")
#define INLAY_P0B(c, d) INLAY_FMA("s18", c, "s14") INLAY_FMA("s19", d, "s15")
#define INLAY_P0(a, b, c, d) INLAY_P0A(a, b) INLAY_P0B(c, d)
#define INLAY_P1A(a, b) INLAY_FMA("s20", a, "s12") INLAY_FMA("s21", b, "s13")
#define INLAY_P1B(c, d) INLAY_FMA("s22", c, "s14") INLAY_FMA("s23", d, "s15")
#define INLAY_P1(a, b, c, d) INLAY_P1A(a, b) INLAY_P1B(c, d)
#define INLAY_P2A(a, b) INLAY_FMA("s24", a, "s12") INLAY_FMA("s25", b, "s13")
#define INLAY_P2B(c, d) INLAY_FMA("s26", c, "s14") INLAY_FMA("s27", d, "s15")
#define INLAY_P2(a, b, c, d) INLAY_P2A(a, b) INLAY_P2B(c, d)
#define INLAY_P3A(a, b) INLAY_FMA("s28", a, "s12") INLAY_FMA("s29", b, "s13")
#define INLAY_P3B(c, d) INLAY_FMA("s30", c, "s14") INLAY_FMA("s31", d, "s15")
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

#define INLAY_DW_GO(pointer, by) "add %[" pointer "], %[" by "]\n"
#define INLAY_DW_LOAD "vldmia %[x], {s12-s15}\n"
#define INLAY_DW_X INLAY_DW_GO("x", "tap") INLAY_DW_LOAD
#define INLAY_DW_SUMS "vldmia %[sums], {s16-s31}\n"
#define INLAY_DW_KEEP "vstmia %[sums], {s16-s31}\n"
#define INLAY_DW_TAP "vldmia %[w], {s0-s3}\n" INLAY_DW_GO("w", "wtap")
#define INLAY_DW_TAP_1 "vldmia %[w], {s4-s7}\n" INLAY_DW_GO("w", "wtap")
#define INLAY_DW_TAP_2 "vldmia %[w], {s8-s11}\n"
#define INLAY_DW_TAPS INLAY_DW_TAP INLAY_DW_TAP_1 INLAY_DW_TAP_2
#define INLAY_DW_BEGIN INLAY_DW_SUMS INLAY_DW_TAPS

/* The columns at the ends of a tile, which lie outside of x where a bit is set. */
#define INLAY_DW_UNLESS(bit) "tst %[skip], #" bit "\nbne 1f\n"
#define INLAY_DW_FIRST INLAY_DW_UNLESS("1") INLAY_DW_LOAD INLAY_P0W0 "1:\n"
#define INLAY_DW_LAST INLAY_DW_UNLESS("2") INLAY_DW_X INLAY_P3W2 "1:\n"

/* The columns in between, at stride 1 and at stride 2. */
#define INLAY_DW_A INLAY_DW_X INLAY_P0W1 INLAY_P1W0
#define INLAY_DW_B INLAY_DW_X INLAY_P0W2 INLAY_P1W1 INLAY_P2W0
#define INLAY_DW_C INLAY_DW_X INLAY_P1W2 INLAY_P2W1 INLAY_P3W0
#define INLAY_DW_D INLAY_DW_X INLAY_P2W2 INLAY_P3W1
#define INLAY_DW_STRIDE1 INLAY_DW_A INLAY_DW_B INLAY_DW_C INLAY_DW_D
#define INLAY_DW_E INLAY_DW_X INLAY_P0W1
#define INLAY_DW_F INLAY_DW_X INLAY_P0W2 INLAY_P1W0
#define INLAY_DW_G INLAY_DW_X INLAY_P1W1
#define INLAY_DW_H INLAY_DW_X INLAY_P1W2 INLAY_P2W0
#define INLAY_DW_I INLAY_DW_X INLAY_P2W1
#define INLAY_DW_J INLAY_DW_X INLAY_P2W2 INLAY_P3W0
#define INLAY_DW_K INLAY_DW_X INLAY_P3W1
#define INLAY_DW_UPPER INLAY_DW_E INLAY_DW_F INLAY_DW_G INLAY_DW_H
#define INLAY_DW_STRIDE2 INLAY_DW_UPPER INLAY_DW_I INLAY_DW_J INLAY_DW_K

/* Any number of taps, of four pixels and of one. `next` is from a tap of the last pixel to the
 * next tap of the first. */
#define INLAY_DW_PIXEL INLAY_DW_GO("x", "pixel") INLAY_DW_LOAD
#define INLAY_DW_NEXT INLAY_DW_GO("x", "next")
#define INLAY_DW_TAP_01 INLAY_DW_TAP INLAY_DW_LOAD INLAY_P0W0
#define INLAY_DW_TAP_02 INLAY_DW_TAP_01 INLAY_DW_PIXEL INLAY_P1W0
#define INLAY_DW_TAP_03 INLAY_DW_TAP_02 INLAY_DW_PIXEL INLAY_P2W0
#define INLAY_DW_TAP_04 INLAY_DW_TAP_03 INLAY_DW_PIXEL INLAY_P3W0
#define INLAY_DW_LOOP(taps) "1:\n" taps "subs %[taps], #1\nbne 1b\n"
#define INLAY_DW_FOUR INLAY_DW_LOOP(INLAY_DW_TAP_04 INLAY_DW_NEXT)
#define INLAY_DW_SINGLE INLAY_DW_LOOP(INLAY_DW_TAP_01 INLAY_DW_NEXT)

#define INLAY_S0 "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"
#define INLAY_S8 "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15"
#define INLAY_S16 "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23"
#define INLAY_S24 "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31"
#define INLAY_S INLAY_S0, INLAY_S8, INLAY_S16, INLAY_S24
#define INLAY_DW_LOST INLAY_S, "cc", "memory"

/* A row of a window: its taps, what of a tile is left out, and bytes from one thing to the next. */
typedef struct inlay_dw_line {
    const float *x, *w;
    int32_t taps, skip;
    ptrdiff_t tap, pixel, next, wtap;
} inlay_dw_line;

INLAY_INLINE void inlay_dw_line_stride_1(float *sums, const inlay_dw_line *line)
{
    const float *x = line->x;
    const float *w = line->w;
    __asm__ volatile(INLAY_DW_BEGIN INLAY_DW_FIRST INLAY_DW_STRIDE1
                         INLAY_DW_LAST INLAY_DW_KEEP
                     : [x] "+r"(x), [w] "+r"(w)
                     : [sums] "r"(sums), [skip] "r"(line->skip),
                       [tap] "r"(line->tap), [wtap] "r"(line->wtap)
                     : INLAY_DW_LOST);
}

INLAY_INLINE void inlay_dw_line_stride_2(float *sums, const inlay_dw_line *line)
{
    const float *x = line->x;
    const float *w = line->w;
    __asm__ volatile(INLAY_DW_BEGIN INLAY_DW_FIRST INLAY_DW_STRIDE2
                         INLAY_DW_LAST INLAY_DW_KEEP
                     : [x] "+r"(x), [w] "+r"(w)
                     : [sums] "r"(sums), [skip] "r"(line->skip),
                       [tap] "r"(line->tap), [wtap] "r"(line->wtap)
                     : INLAY_DW_LOST);
}

INLAY_INLINE void inlay_dw_line_any(float *sums, const inlay_dw_line *line)
{
    const float *x = line->x;
    const float *w = line->w;
    int32_t taps = line->taps;
    __asm__ volatile(INLAY_DW_SUMS INLAY_DW_FOUR INLAY_DW_KEEP
                     : [x] "+r"(x), [w] "+r"(w), [taps] "+r"(taps)
                     : [sums] "r"(sums), [pixel] "r"(line->pixel),
                       [next] "r"(line->next), [wtap] "r"(line->wtap)
                     : INLAY_DW_LOST);
}

INLAY_INLINE void inlay_dw_line_one(float *sums, const inlay_dw_line *line)
{
    const float *x = line->x;
    const float *w = line->w;
    int32_t taps = line->taps;
    __asm__ volatile(
        "vldmia %[sums], {s16-s19}\n" INLAY_DW_SINGLE
        "vstmia %[sums], {s16-s19}\n"
        : [x] "+r"(x), [w] "+r"(w), [taps] "+r"(taps)
        : [sums] "r"(sums), [next] "r"(line->next), [wtap] "r"(line->wtap)
        : INLAY_DW_LOST);
}

/* All four pixels begin with the bias. */
INLAY_INLINE void inlay_dw_four_begin(float *sums, const float *bias)
{
    __asm__ volatile("vldmia %[bias], {s0-s3}\n"
                     "vstmia %[sums]!, {s0-s3}\n"
                     "vstmia %[sums]!, {s0-s3}\n"
                     "vstmia %[sums]!, {s0-s3}\n"
                     "vstmia %[sums]!, {s0-s3}\n"
                     : [sums] "+r"(sums)
                     : [bias] "r"(bias)
                     : "memory", "s0", "s1", "s2", "s3");
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

/* What the rows of a tile have in common, channels [c, c + 4). */
INLAY_INLINE inlay_dw_line inlay_dw_line_of(const inlay_dw *t,
                                            const inlay_dw_tile *tile,
                                            int32_t c, const int form)
{
    const ptrdiff_t bytes = (ptrdiff_t)sizeof(float);
    const int one = form == INLAY_DW_ONE;
    inlay_dw_line line;
    line.x = NULL;
    line.w = tile->w + c;
    line.skip = tile->skip;
    line.taps = one ? tile->skip : t->kw;
    line.tap = t->tap * bytes;
    line.pixel = t->xs * bytes;
    line.next = line.tap - (one ? 0 : 3 * line.pixel);
    line.wtap = t->channels * bytes;
    return line;
}

INLAY_INLINE void inlay_dw_line_add(float *sums, const inlay_dw_line *line,
                                    const int form)
{
    if (form == INLAY_DW_STRIDE_1)
        inlay_dw_line_stride_1(sums, line);
    else if (form == INLAY_DW_STRIDE_2)
        inlay_dw_line_stride_2(sums, line);
    else if (form == INLAY_DW_ANY)
        inlay_dw_line_any(sums, line);
    else
        inlay_dw_line_one(sums, line);
}

/* All rows of the window of channels [c, c + 4). */
INLAY_INLINE void inlay_dw_four_rows(const inlay_dw *t,
                                     const inlay_dw_tile *tile, float *sums,
                                     int32_t c, const int form)
{
    inlay_dw_line line = inlay_dw_line_of(t, tile, c, form);
    int32_t slot = t->slot;
    int32_t h;
    if (line.taps <= 0)
        return;
    for (h = 0; h < t->nkh; h++, line.w += t->wrow) {
        line.x = inlay_dw_line_at(t, slot) + tile->at + c;
        inlay_dw_line_add(sums, &line, form);
        slot += t->dh;
        if (slot >= t->cap)
            slot -= t->cap;
    }
}

/* Channels [c, c + 4) of one tile. */
INLAY_INLINE void inlay_dw_four(const inlay_dw *t, const inlay_dw_tile *tile,
                                int32_t c, const int form)
{
    const int pixels = form == INLAY_DW_ONE ? 1 : INLAY_DW_TILE_MOST;
    const float *q = tile->q ? tile->q + c : NULL;
    float sums[INLAY_DW_TILE_MOST * 4];
    float *y = tile->y + c;
    int i;
    inlay_dw_four_begin(sums, t->bias + c);
    inlay_dw_four_rows(t, tile, sums, c, form);
    for (i = 0; i < pixels * 4; i += 4) {
        inlay_dw_four_end(t, sums + i, y, q);
        y += t->ys;
        if (q)
            q += t->qs;
    }
}

/* Channel c of a tile, where there are no four: pixel by pixel. */
INLAY_APART void inlay_dw_single(const inlay_dw *t, const inlay_dw_tile *tile,
                                 int32_t c, int form)
{
    const int pixels = form == INLAY_DW_ONE ? 1 : INLAY_DW_TILE_MOST;
    int32_t p;
    for (p = 0; p < pixels; p++) {
        const int32_t from = p == 0 ? tile->skip & 1 : 0;
        const int32_t less = p == 3 ? tile->skip >> 1 : 0;
        inlay_dw_tile one = *tile;
        if (form != INLAY_DW_ONE) {
            one.at += p * t->xs + from * t->tap;
            one.w += from * t->channels;
            one.y += p * t->ys;
            one.skip = t->kw - from - less;
        }
        if (form != INLAY_DW_ONE && one.q)
            one.q += p * t->qs;
        inlay_dw1(t, &one, c, INLAY_DW_ONE, 1);
    }
}
