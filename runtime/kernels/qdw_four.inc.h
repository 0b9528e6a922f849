/* SPDX-License-Identifier: 0BSD
 * Bytes of four channels of the windows that qdw_mve.inc.h lays side by side, each of up to sixteen
 * numbers: a sum is one multiplication of vectors. Two pixels at a time, whose results are rounded
 * in vectors of four and stored together. */
#ifndef INLAY_QDW_FOUR_H
#define INLAY_QDW_FOUR_H

/* What two pixels of four channels need. */
typedef struct inlay_mve_pair {
    int32_t start[4];
    float scale[4];
    float least[4], most[4];
    uint16_t
        to[8]; /* places of their bytes: channel by channel, the two pixels' */
    int32_t pairs, singles; /* of pixels */
    ptrdiff_t ys;
} inlay_mve_pair;

/* What is made of windows in scratch. */
typedef struct inlay_mve_made {
    const inlay_qtile *tile;
    const uint8_t *scratch;
    ptrdiff_t plane; /* bytes from channel to channel, */
    int32_t next;    /* from a pixel's window to the next */
    int32_t window;  /* bytes of a window */
    int32_t pixels;
    int32_t turn; /* place of a window's first row among four */
    inlay_mve_byte byte;
    inlay_mve_pair pair;
} inlay_mve_made;

/* Pixels in pairs, and what is rounded. */
static inline void inlay_mve_made_begin(inlay_mve_made *made,
                                        const inlay_qtile *tile, int32_t pixels)
{
    const uint16x8_t lane = vidupq_n_u16(0, 1);
    const uint16x8_t second =
        vmulq_n_u16(vandq_u16(lane, vdupq_n_u16(1)), (uint16_t)tile->ys);
    made->tile = tile;
    made->pixels = pixels;
    made->turn = 0;
    made->byte = inlay_mve_result_byte(&tile->result);
    vst1q_f32(made->pair.least, made->byte.least);
    vst1q_f32(made->pair.most, made->byte.most);
    vst1q_u16(made->pair.to, vaddq_u16(vshrq_n_u16(lane, 1), second));
    made->pair.pairs = tile->ys < 65000 ? pixels / 2 : 0;
    made->pair.singles = pixels - 2 * made->pair.pairs;
    made->pair.ys = tile->ys;
}

static inline void inlay_mve_made_of(const inlay_mve_dw *of,
                                     inlay_mve_made *made)
{
    inlay_mve_made_begin(made, &of->job->of, of->pixels);
    made->scratch = of->scratch;
    made->plane = of->plane;
    made->next = of->next;
    made->window = of->window;
}

/* ---- sums ---- */

#define INLAY_MVE_LOAD(q, x) "vldrb.8 " q ", [%[" x "]], %[next]\n"
#define INLAY_MVE_MUL(s, q, w) "vmladav.s8 %[" s "], " q ", %q[" w "]\n"
#define INLAY_MVE_X01 INLAY_MVE_LOAD("q0", "x0") INLAY_MVE_LOAD("q1", "x1")
#define INLAY_MVE_X2 INLAY_MVE_MUL("s0", "q0", "w0") INLAY_MVE_LOAD("q0", "x2")
#define INLAY_MVE_X3 INLAY_MVE_MUL("s1", "q1", "w1") INLAY_MVE_LOAD("q1", "x3")
#define INLAY_MVE_S2 INLAY_MVE_MUL("s2", "q0", "w2")
#define INLAY_MVE_S3 INLAY_MVE_MUL("s3", "q1", "w3")
#define INLAY_MVE_X23 INLAY_MVE_X2 INLAY_MVE_X3 INLAY_MVE_S2 INLAY_MVE_S3
#define INLAY_MVE_FOUR INLAY_MVE_X01 INLAY_MVE_X23
#define INLAY_MVE_4_LOW(q) "vmov " q "[2], " q "[0], %[s0], %[s2]\n"
#define INLAY_MVE_4_HIGH(q) "vmov " q "[3], " q "[1], %[s1], %[s3]\n"
#define INLAY_MVE_4_LANES(q) INLAY_MVE_4_LOW(q) INLAY_MVE_4_HIGH(q)

/* q0, q1: what follows in a pair, q2, q3: its two pixels. */
#define INLAY_MVE_4_DOTS2 INLAY_MVE_FOUR INLAY_MVE_4_LANES("q2")
#define INLAY_MVE_4_DOTS3 INLAY_MVE_FOUR INLAY_MVE_4_LANES("q3")
#define INLAY_MVE_4_GET(q, at) "vldrw.32 " q ", [%[pair], #" at "]\n"
#define INLAY_MVE_4_GET1 INLAY_MVE_4_GET("q0", "0") INLAY_MVE_4_GET("q1", "16")
#define INLAY_MVE_4_GET2 INLAY_MVE_4_GET("q0", "32") INLAY_MVE_4_GET("q1", "48")
#define INLAY_MVE_4_OP(op, q, by) op " " q ", " q ", " by "\n"
#define INLAY_MVE_4_A(op, by) INLAY_MVE_4_OP(op, "q2", by)
#define INLAY_MVE_4_B(op, by) INLAY_MVE_4_OP(op, "q3", by)
#define INLAY_MVE_4_BOTH(op, r) INLAY_MVE_4_A(op, r) INLAY_MVE_4_B(op, r)
#define INLAY_MVE_4_FLOAT "vcvt.f32.s32 q2, q2\nvcvt.f32.s32 q3, q3\n"
#define INLAY_MVE_4_ROUND "vcvtn.s32.f32 q2, q2\nvcvtn.s32.f32 q3, q3\n"
#define INLAY_MVE_4_START INLAY_MVE_4_BOTH("vadd.i32", "q0") INLAY_MVE_4_FLOAT
#define INLAY_MVE_4_SCALE INLAY_MVE_4_BOTH("vmul.f32", "q1")
#define INLAY_MVE_4_SCALED INLAY_MVE_4_GET1 INLAY_MVE_4_START INLAY_MVE_4_SCALE
#define INLAY_MVE_4_LEAST INLAY_MVE_4_BOTH("vmaxnm.f32", "q0")
#define INLAY_MVE_4_MOST INLAY_MVE_4_BOTH("vminnm.f32", "q1")
#define INLAY_MVE_4_CLIP INLAY_MVE_4_GET2 INLAY_MVE_4_LEAST INLAY_MVE_4_MOST
#define INLAY_MVE_4_JOIN "vmovnt.i32 q2, q3\nvadd.i16 q2, q2, %[zero]\n"
#define INLAY_MVE_4_NEXT "ldr %[s0], [%[pair], #88]\n"
#define INLAY_MVE_4_STEP "add %[y], %[y], %[s0], lsl #1\n"
#define INLAY_MVE_4_PUT "vstrb.16 q2, [%[y], q0]\n" INLAY_MVE_4_STEP
#define INLAY_MVE_4_TO INLAY_MVE_4_GET("q0", "64") INLAY_MVE_4_NEXT
#define INLAY_MVE_4_STORE INLAY_MVE_4_TO INLAY_MVE_4_PUT
#define INLAY_MVE_4_BYTES INLAY_MVE_4_ROUND INLAY_MVE_4_JOIN INLAY_MVE_4_STORE
#define INLAY_MVE_4_ENDS INLAY_MVE_4_SCALED INLAY_MVE_4_CLIP INLAY_MVE_4_BYTES
#define INLAY_MVE_4_DOTS INLAY_MVE_4_DOTS2 INLAY_MVE_4_DOTS3
#define INLAY_MVE_4_PAIR INLAY_MVE_4_DOTS INLAY_MVE_4_ENDS
#define INLAY_MVE_4_WALK "ldr lr, [%[pair], #80]\nwls lr, lr, 2f\n1:\n"
#define INLAY_MVE_4_PAIRS INLAY_MVE_4_WALK INLAY_MVE_4_PAIR "le lr, 1b\n2:\n"

/* Pixels by themselves. */
#define INLAY_MVE_1_START INLAY_MVE_4_A("vadd.i32", "q0")
#define INLAY_MVE_1_FLOAT INLAY_MVE_1_START "vcvt.f32.s32 q2, q2\n"
#define INLAY_MVE_1_SCALE INLAY_MVE_1_FLOAT INLAY_MVE_4_A("vmul.f32", "q1")
#define INLAY_MVE_1_LEAST INLAY_MVE_4_GET2 INLAY_MVE_4_A("vmaxnm.f32", "q0")
#define INLAY_MVE_1_CLIP INLAY_MVE_1_LEAST INLAY_MVE_4_A("vminnm.f32", "q1")
#define INLAY_MVE_1_ROUND "vcvtn.s32.f32 q2, q2\n"
#define INLAY_MVE_1_ZERO INLAY_MVE_1_ROUND "vadd.i32 q2, q2, %[zero]\n"
#define INLAY_MVE_1_TO INLAY_MVE_4_GET("q0", "64") "vmovlb.u16 q0, q0\n"
#define INLAY_MVE_1_PUT "vstrb.32 q2, [%[y], q0]\nadd %[y], %[s0]\n"
#define INLAY_MVE_1_LAST INLAY_MVE_4_NEXT INLAY_MVE_1_TO INLAY_MVE_1_PUT
#define INLAY_MVE_1_STORE INLAY_MVE_1_ZERO INLAY_MVE_1_LAST
#define INLAY_MVE_1_SCALED INLAY_MVE_4_GET1 INLAY_MVE_1_SCALE
#define INLAY_MVE_1_ENDS INLAY_MVE_1_SCALED INLAY_MVE_1_CLIP INLAY_MVE_1_STORE
#define INLAY_MVE_1_WALK "ldr lr, [%[pair], #84]\nwls lr, lr, 4f\n3:\n"
#define INLAY_MVE_1_PIXEL INLAY_MVE_4_DOTS2 INLAY_MVE_1_ENDS
#define INLAY_MVE_1_PIXELS INLAY_MVE_1_WALK INLAY_MVE_1_PIXEL "le lr, 3b\n4:\n"
#define INLAY_MVE_4_ALL INLAY_MVE_4_PAIRS INLAY_MVE_1_PIXELS

#define INLAY_MVE_4_SUM2 INLAY_MVE_SUM(s0), INLAY_MVE_SUM(s1)
#define INLAY_MVE_4_SUM4 INLAY_MVE_4_SUM2, INLAY_MVE_SUM(s2), INLAY_MVE_SUM(s3)
#define INLAY_MVE_4_X2 [x0] "+r"(x0), [x1] "+r"(x1)
#define INLAY_MVE_4_X4 INLAY_MVE_4_X2, [x2] "+r"(x2), [x3] "+r"(x3)
#define INLAY_MVE_4_W2 [w0] "w"(w->w0), [w1] "w"(w->w1)
#define INLAY_MVE_4_W4 INLAY_MVE_4_W2, [w2] "w"(w->w2), [w3] "w"(w->w3)

/* ---- weights ---- */

typedef struct inlay_mve_weights {
    int8x16_t w0, w1, w2, w3;
} inlay_mve_weights;

enum { INLAY_MVE_THREE = 12 }; /* bytes of a window of 3 x 3 */

/* Those of four channels at w. */
INLAY_INLINE inlay_mve_weights inlay_mve_weights_at(const int8_t *w,
                                                    int32_t window)
{
    const mve_pred16_t some = vctp8q((uint32_t)window);
    inlay_mve_weights to;
    to.w0 = vldrbq_z_s8(w, some);
    to.w1 = vldrbq_z_s8(w + window, some);
    to.w2 = vldrbq_z_s8(w + 2 * window, some);
    to.w3 = vldrbq_z_s8(w + 3 * window, some);
    return to;
}

/* The same of windows of 3 x 3. */
INLAY_INLINE inlay_mve_weights inlay_mve_weights_three(const int8_t *w)
{
    inlay_mve_weights to;
    __asm__ volatile("vctp.8 %[n]\n"
                     "vpstttt\n"
                     "vldrbt.8 %q[w0], [%[w]]\n"
                     "vldrbt.8 %q[w1], [%[w], #12]\n"
                     "vldrbt.8 %q[w2], [%[w], #24]\n"
                     "vldrbt.8 %q[w3], [%[w], #36]\n"
                     : [w0] "=&w"(to.w0), [w1] "=&w"(to.w1), [w2] "=&w"(to.w2),
                       [w3] "=&w"(to.w3)
                     : [w] "r"(w), [n] "r"(INLAY_MVE_THREE)
                     : "memory");
    return to;
}

/* Those go to the places of their rows, which are in turn those of four. */
INLAY_INLINE inlay_mve_weights inlay_mve_weights_turned(const int8_t *w,
                                                        int32_t turn)
{
    const mve_pred16_t some = vctp8q(INLAY_MVE_THREE);
    const uint8x16_t own = vidupq_n_u8(0, 1);
    const uint8x16_t places = vdupq_n_u8(3);
    uint8x16_t at = vandq_u8(vsubq_n_u8(own, (uint8_t)turn), places);
    inlay_mve_weights to;
    at = vorrq_u8(vbicq_u8(own, places), at);
    to.w0 = vldrbq_gather_offset_z_s8(w, at, some);
    to.w1 = vldrbq_gather_offset_z_s8(w + INLAY_MVE_THREE, at, some);
    to.w2 = vldrbq_gather_offset_z_s8(w + 2 * INLAY_MVE_THREE, at, some);
    to.w3 = vldrbq_gather_offset_z_s8(w + 3 * INLAY_MVE_THREE, at, some);
    return to;
}

/* ---- pixels ---- */

/* All pixels of windows of 3 x 3, the first of which begin at x and then each `plane` bytes after
 * the one before; those of pixels lie `next` bytes apart. */
INLAY_INLINE void inlay_mve_four_pixels(const inlay_mve_made *made,
                                        const uint8_t *x,
                                        const inlay_mve_weights *w, uint8_t *y,
                                        const int32_t next)
{
    const inlay_mve_pair *pair = &made->pair;
    const int32_t zero = made->byte.zero;
    const uint8_t *x0 = x;
    const uint8_t *x1 = x + made->plane;
    const uint8_t *x2 = x + 2 * made->plane;
    const uint8_t *x3 = x1 + 2 * made->plane;
    int32_t s0, s1, s2, s3;
    __asm__ volatile(
        INLAY_MVE_4_ALL
        : INLAY_MVE_4_SUM4, INLAY_MVE_4_X4, [y] "+r"(y)
        : INLAY_MVE_4_W4, [next] "i"(next), [pair] "r"(pair), [zero] "r"(zero)
        : "memory", "q0", "q1", "q2", "q3", "lr");
}

/* The same of any windows. */
INLAY_INLINE void inlay_mve_four_any(const inlay_mve_made *made,
                                     const uint8_t *x,
                                     const inlay_mve_weights *w, uint8_t *y)
{
    int32_t left;
    for (left = made->pixels; left > 0; left--, y += made->pair.ys) {
        const uint8_t *x0 = x;
        const uint8_t *x1 = x + made->plane;
        const uint8_t *x2 = x + 2 * made->plane;
        const uint8_t *x3 = x1 + 2 * made->plane;
        int32_t s0, s1, s2, s3;
        __asm__ volatile(INLAY_MVE_FOUR
                         : INLAY_MVE_4_SUM4, INLAY_MVE_4_X4
                         : INLAY_MVE_4_W4, [next] "i"(0)
                         : "memory", "q0", "q1");
        vstrbq_s32((int8_t *)y,
                   inlay_mve_bytes(&made->byte, inlay_mve_lanes(s0, s1, s2, s3),
                                   vld1q_s32(made->pair.start),
                                   vld1q_f32(made->pair.scale)));
        x += made->next;
    }
}

/* ---- channels ---- */

/* What becomes of sums of channels from `channel` on. */
INLAY_INLINE void inlay_mve_four_begin(inlay_mve_made *made, int32_t channel)
{
    const inlay_qtile *tile = made->tile;
    vst1q_s32(made->pair.start, vld1q_s32(tile->bias + channel));
    vst1q_f32(made->pair.scale, inlay_mve_scales(&tile->result, channel));
}

/* Bytes of n channels, in fours, of any windows. */
INLAY_APART void inlay_mve_dw_fours(inlay_mve_made *made, int32_t channel,
                                    int32_t n, uint8_t *y)
{
    const int32_t window = made->window;
    const uint8_t *x = made->scratch;
    const int32_t end = channel + n;
    for (; channel < end; channel += 4) {
        const int8_t *w = made->tile->weights + channel * window;
        const inlay_mve_weights weights = inlay_mve_weights_at(w, window);
        inlay_mve_four_begin(made, channel);
        inlay_mve_four_any(made, x, &weights, y + channel);
        x += 4 * made->plane;
    }
}

#endif
