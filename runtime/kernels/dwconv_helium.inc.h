/* SPDX-License-Identifier: 0BSD
 * The tile of dwconv_f32.h with Helium: four pixels, or one, by four channels.
 *
 * q0 to q3 are the sums of the pixels, q4 to q6 the weights of three taps, or q4 of one, q7 a pixel
 * of x. The products and their order are those of dwconv_f32.inc.h. */

#define INLAY_DW_LOAD "vldrw.32 q7, [%[x]]\n"
#define INLAY_DW_TAP_0 "vldrw.32 q4, [%[w]]\n" INLAY_DW_GO("w", "wtap")
#define INLAY_DW_TAP_1 "vldrw.32 q5, [%[w]]\n" INLAY_DW_GO("w", "wtap")
#define INLAY_DW_TAPS INLAY_DW_TAP_0 INLAY_DW_TAP_1 "vldrw.32 q6, [%[w]]\n"
#define INLAY_DW_FMA(sum, w) "vfma.f32 " sum ", " w ", q7\n"
#define INLAY_DW_BEGIN INLAY_DW_LINE INLAY_DW_TAPS
#define INLAY_DW_END INLAY_DW_AGAIN "6:\n"

#define INLAY_P0W0 INLAY_DW_FMA("q0", "q4")
#define INLAY_P0W1 INLAY_DW_FMA("q0", "q5")
#define INLAY_P0W2 INLAY_DW_FMA("q0", "q6")
#define INLAY_P1W0 INLAY_DW_FMA("q1", "q4")
#define INLAY_P1W1 INLAY_DW_FMA("q1", "q5")
#define INLAY_P1W2 INLAY_DW_FMA("q1", "q6")
#define INLAY_P2W0 INLAY_DW_FMA("q2", "q4")
#define INLAY_P2W1 INLAY_DW_FMA("q2", "q5")
#define INLAY_P2W2 INLAY_DW_FMA("q2", "q6")
#define INLAY_P3W0 INLAY_DW_FMA("q3", "q4")
#define INLAY_P3W1 INLAY_DW_FMA("q3", "q5")
#define INLAY_P3W2 INLAY_DW_FMA("q3", "q6")

/* Any number of taps of one pixel. */
#define INLAY_DW_COUNT INLAY_DW_LINE "dls lr, %[taps]\n1:\n"
#define INLAY_DW_ONE_TAP INLAY_DW_TAP_0 INLAY_DW_LOAD INLAY_P0W0
#define INLAY_DW_SINGLE INLAY_DW_COUNT INLAY_DW_ONE_TAP INLAY_DW_GO("x", "next")

#define INLAY_DW_SUMS "+w"(a), "+w"(b), "+w"(c), "+w"(d)
#define INLAY_DW_WALKED [x] "=&r"(x), [w] "+r"(w), [at] "+r"(at)
#define INLAY_DW_ROWS [end] "r"(l->end), [first] "r"(first), [wrow] "r"(l->wrow)
#define INLAY_DW_STEPS [wtap] "r"(l->wtap), INLAY_DW_ROWS
#define INLAY_DW_THREE [skip] "r"(skip), [tap] "r"(l->tap), INLAY_DW_STEPS
#define INLAY_DW_TIMES [taps] "r"(l->taps), [next] "r"(l->next), INLAY_DW_STEPS
#define INLAY_DW_LOST "q4", "q5", "q6", "q7", "cc", "memory"

/* All rows of the window of four channels, `first` bytes behind those of the rows' first ones, at a
 * stride of one or two. */
INLAY_INLINE void inlay_dw_rows_three(inlay_f4 *sums, const inlay_dw_lines *l,
                                      const float *w, ptrdiff_t first,
                                      int32_t skip, int form)
{
    register inlay_f4 a __asm__("q0") = sums[0];
    register inlay_f4 b __asm__("q1") = sums[0];
    register inlay_f4 c __asm__("q2") = sums[0];
    register inlay_f4 d __asm__("q3") = sums[0];
    const float *const *at = l->row;
    const float *x;
    if (form == INLAY_DW_STRIDE_1)
        __asm__ volatile(INLAY_DW_BEGIN INLAY_DW_FIRST INLAY_DW_STRIDE1
                             INLAY_DW_LAST INLAY_DW_END
                         : INLAY_DW_SUMS, INLAY_DW_WALKED:INLAY_DW_THREE
                         : INLAY_DW_LOST);
    else
        __asm__ volatile(INLAY_DW_BEGIN INLAY_DW_FIRST INLAY_DW_STRIDE2
                             INLAY_DW_LAST INLAY_DW_END
                         : INLAY_DW_SUMS, INLAY_DW_WALKED:INLAY_DW_THREE
                         : INLAY_DW_LOST);
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

INLAY_INLINE void inlay_dw_rows_one(inlay_f4 *sums, const inlay_dw_lines *l,
                                    const float *w, ptrdiff_t first)
{
    register inlay_f4 a __asm__("q0") = sums[0];
    const float *const *at = l->row;
    const float *x;
    __asm__ volatile(INLAY_DW_SINGLE "le lr, 1b\n" INLAY_DW_END
                     : "+w"(a), INLAY_DW_WALKED:INLAY_DW_TIMES
                     : INLAY_DW_LOST, "lr");
    sums[0] = a;
}

/* Adds q, clamps and stores sums of so many pixels, which lie one behind the other. */
INLAY_APART void inlay_dw_ends(const inlay_dw *t, const float *sums, float *y,
                               const float *q, int32_t pixels)
{
    int32_t p;
    for (p = 0; p < pixels; p++, y += t->ys) {
        inlay_f4 v = inlay_load4(sums + 4 * p);
        if (q) {
            v += inlay_load4(q);
            q += t->qs;
        }
        if (t->clamp & 1)
            v = inlay_max4(inlay_splat4(t->lo), v);
        if (t->clamp & 2)
            v = inlay_min4(inlay_splat4(t->hi), v);
        inlay_store4(y, v);
    }
}

/* Stores the sums of so many pixels, at least lo. */
INLAY_INLINE void inlay_dw_low(const inlay_f4 *sums, inlay_f4 lo, float *y,
                               ptrdiff_t ys, const int pixels)
{
    int p;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++, y += ys)
        inlay_store4(y, inlay_max4(lo, sums[p]));
}

/* Channels [c, c + 4) of a tile. */
INLAY_INLINE void inlay_dw_four(const inlay_dw *t, const inlay_dw_tile *tile,
                                inlay_dw_lines *lines, int32_t c, const int low,
                                const int form)
{
    const int pixels = form == INLAY_DW_ONE ? 1 : INLAY_DW_TILE_MOST;
    const ptrdiff_t first = (tile->at + c) * (ptrdiff_t)sizeof(float);
    const float *w = tile->w + c;
    inlay_f4 sums[INLAY_DW_TILE_MOST];
    int p;
    sums[0] = inlay_load4(t->bias + c);
    if (form == INLAY_DW_STRIDE_1 || form == INLAY_DW_STRIDE_2)
        inlay_dw_rows_three(sums, lines, w, first, tile->skip, form);
    else
        inlay_dw_rows_one(sums, lines, w, first);
    if (low) {
        const inlay_f4 lo = inlay_splat4(t->lo);
        inlay_dw_low(sums, lo, tile->y + c, t->ys, pixels);
        return;
    }
    INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        inlay_store4(lines->sums + 4 * p, sums[p]);
    inlay_dw_ends(t, lines->sums, tile->y + c, tile->q ? tile->q + c : NULL,
                  pixels);
}

/* Channels in fours; returns how many are done. */
INLAY_INLINE int32_t inlay_dw_fours_of(const inlay_dw *t,
                                       const inlay_dw_tile *tile,
                                       inlay_dw_lines *lines, const int form)
{
    const int low = !tile->q && t->clamp == 1;
    const int32_t n = t->channels / 4 * 4;
    int32_t c;
    for (c = 0; c < n; c += 4) {
        if (form == INLAY_DW_ANY)
            inlay_dw4(t, tile, c, form, INLAY_DW_TILE_MOST);
        else
            inlay_dw_four(t, tile, lines, c, low, form);
    }
    return n;
}
