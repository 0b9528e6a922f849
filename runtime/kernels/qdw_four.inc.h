/* SPDX-License-Identifier: 0BSD
 * Bytes of four channels of the windows that qdw_mve.inc.h lays side by side, each of up to sixteen
 * numbers: a sum is one multiplication of vectors. Two pixels at a time, whose results are rounded
 * in vectors of four and stored together. */
#ifndef INLAY_QDW_FOUR_H
#define INLAY_QDW_FOUR_H

/* What four channels need, and where those of a row go on. */
typedef struct inlay_mve_pair {
    int32_t start[4];
    float scale[4];
    union {
        float least[4];
        int16_t flip[8]; /* where results have the bounds of their type */
    } low;
    float most[4];
    uint16_t to[8];     /* places of the bytes of two pixels, in turn */
    uint8_t turned[16]; /* places of weights, if rows of x have turned */
    int32_t pairs;      /* of pixels, and those by themselves */
    int32_t singles;
    ptrdiff_t ys;
    const int32_t *starts;
    const float *scales;
    int32_t step; /* bytes to the next four scales */
    int32_t turn;
    const int8_t *w;
    const uint8_t *x;
    ptrdiff_t plane; /* bytes from channel to channel of x */
    uint8_t *y;
    int32_t fours;
} inlay_mve_pair;

/* What is made of windows in scratch. */
typedef struct inlay_mve_made {
    const inlay_qtile *tile;
    const uint8_t *scratch;
    ptrdiff_t plane; /* bytes from channel to channel, */
    int32_t next;    /* from a pixel's window to the next */
    int32_t window;  /* bytes of a window */
    int32_t pixels;
    int32_t turn;         /* place of a window's first row among four */
    const int32_t *start; /* of all channels */
    const float *scale;   /* the same, or what the pair has, */
    ptrdiff_t each;       /* 1, or 0 */
    inlay_mve_byte byte;
    inlay_mve_pair pair;
} inlay_mve_made;

/* Bounds of results, or what flips them. */
static inline void inlay_mve_made_bounds(inlay_mve_made *made)
{
    if (INLAY_MVE_CLIPS) {
        vst1q_f32(made->pair.low.least, made->byte.least);
        vst1q_f32(made->pair.most, made->byte.most);
    } else if (INLAY_QUSES(INLAY_QUSE_SHIFTED)) {
        vst1q_s16(made->pair.low.flip, vdupq_n_s16((int16_t)made->byte.flip));
    }
}

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
    made->start = tile->bias;
    made->scale = made->pair.scale;
    made->each = tile->result.each != 0;
    if (made->each)
        made->scale = tile->result.scale;
    else
        vst1q_f32(made->pair.scale, vdupq_n_f32(*tile->result.scale));
    inlay_mve_made_bounds(made);
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
#define INLAY_MVE_MUL(s, q, w) "vmladav.s8 %[" s "], " q ", " w "\n"
#define INLAY_MVE_X01 INLAY_MVE_LOAD("q0", "x0") INLAY_MVE_LOAD("q1", "x1")
#define INLAY_MVE_X2 INLAY_MVE_MUL("s0", "q0", "q4") INLAY_MVE_LOAD("q0", "x2")
#define INLAY_MVE_X3 INLAY_MVE_MUL("s1", "q1", "q5") INLAY_MVE_LOAD("q1", "x3")
#define INLAY_MVE_S2 INLAY_MVE_MUL("s2", "q0", "q6")
#define INLAY_MVE_S3 INLAY_MVE_MUL("s3", "q1", "q7")
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
#define INLAY_MVE_4_NEXT "ldr %[s0], [%[pair], #104]\n"
#define INLAY_MVE_4_STEP "add %[y], %[y], %[s0], lsl #1\n"
#define INLAY_MVE_4_PUT "vstrb.16 q2, [%[y], q0]\n" INLAY_MVE_4_STEP
#define INLAY_MVE_4_TO INLAY_MVE_4_GET("q0", "64") INLAY_MVE_4_NEXT
#define INLAY_MVE_4_STORE INLAY_MVE_4_TO INLAY_MVE_4_PUT
#define INLAY_MVE_4_CLIPPED INLAY_MVE_4_CLIP INLAY_MVE_4_ROUND INLAY_MVE_4_JOIN
#define INLAY_MVE_4_ZERO "vqadd.s16 q2, q2, %[zero]\nvqmovnb.s16 q2, q2\n"
#define INLAY_MVE_4_NARROW "vqmovnb.s32 q2, q2\nvqmovnt.s32 q2, q3\n"
#define INLAY_MVE_4_SIGNED INLAY_MVE_4_ROUND INLAY_MVE_4_NARROW INLAY_MVE_4_ZERO
#define INLAY_MVE_4_FLIP INLAY_MVE_4_GET("q0", "32") "veor q2, q2, q0\n"
#define INLAY_MVE_4_FLIPPED INLAY_MVE_4_SIGNED INLAY_MVE_4_FLIP
#define INLAY_MVE_4_ENDS(how) INLAY_MVE_4_SCALED how INLAY_MVE_4_STORE
#define INLAY_MVE_4_DOTS INLAY_MVE_4_DOTS2 INLAY_MVE_4_DOTS3
#define INLAY_MVE_4_PAIR(how) INLAY_MVE_4_DOTS INLAY_MVE_4_ENDS(how)
#define INLAY_MVE_4_WALK "ldr lr, [%[pair], #96]\nwls lr, lr, 2f\n1:\n"
#define INLAY_MVE_4_TURN2 "le lr, 1b\n2:\n"
#define INLAY_MVE_4_PAIRED(h) INLAY_MVE_4_WALK INLAY_MVE_4_PAIR(h)
#define INLAY_MVE_4_PAIRS(h) INLAY_MVE_4_PAIRED(h) INLAY_MVE_4_TURN2

/* Pixels by themselves. */
#define INLAY_MVE_1_START INLAY_MVE_4_A("vadd.i32", "q0")
#define INLAY_MVE_1_FLOAT INLAY_MVE_1_START "vcvt.f32.s32 q2, q2\n"
#define INLAY_MVE_1_SCALE INLAY_MVE_1_FLOAT INLAY_MVE_4_A("vmul.f32", "q1")
#define INLAY_MVE_1_LEAST INLAY_MVE_4_GET2 INLAY_MVE_4_A("vmaxnm.f32", "q0")
#define INLAY_MVE_1_CLIP INLAY_MVE_1_LEAST INLAY_MVE_4_A("vminnm.f32", "q1")
#define INLAY_MVE_1_ROUND "vcvtn.s32.f32 q2, q2\n"
#define INLAY_MVE_1_ZERO INLAY_MVE_1_ROUND "vadd.i32 q2, q2, %[zero]\n"
#define INLAY_MVE_1_CLIPPED INLAY_MVE_1_CLIP INLAY_MVE_1_ZERO
#define INLAY_MVE_1_NARROW INLAY_MVE_1_ROUND "vqmovnb.s32 q2, q2\n"
#define INLAY_MVE_1_SIGNED INLAY_MVE_1_NARROW INLAY_MVE_4_ZERO
#define INLAY_MVE_1_FLIPPED INLAY_MVE_1_SIGNED INLAY_MVE_4_FLIP
#define INLAY_MVE_1_TO INLAY_MVE_4_GET("q0", "64") "vmovlb.u16 q0, q0\n"
#define INLAY_MVE_1_PUT "vstrb.32 q2, [%[y], q0]\nadd %[y], %[s0]\n"
#define INLAY_MVE_1_LAST INLAY_MVE_4_NEXT INLAY_MVE_1_TO INLAY_MVE_1_PUT
#define INLAY_MVE_1_SCALED INLAY_MVE_4_GET1 INLAY_MVE_1_SCALE
#define INLAY_MVE_1_ENDS(how) INLAY_MVE_1_SCALED how INLAY_MVE_1_LAST
#define INLAY_MVE_1_WALK "ldr lr, [%[pair], #100]\nwls lr, lr, 4f\n3:\n"
#define INLAY_MVE_1_PIXEL(how) INLAY_MVE_4_DOTS2 INLAY_MVE_1_ENDS(how)
#define INLAY_MVE_1_TURN "le lr, 3b\n4:\n"
#define INLAY_MVE_1_WALKED(h) INLAY_MVE_1_WALK INLAY_MVE_1_PIXEL(h)
#define INLAY_MVE_1_PIXELS(h) INLAY_MVE_1_WALKED(h) INLAY_MVE_1_TURN
#define INLAY_MVE_4_EVEN(how) INLAY_MVE_4_PAIRS(INLAY_MVE_4_##how)
#define INLAY_MVE_4_SINGLY(how) INLAY_MVE_1_PIXELS(INLAY_MVE_1_##how)
#define INLAY_MVE_4_PIXELS(how) INLAY_MVE_4_EVEN(how) INLAY_MVE_4_SINGLY(how)

/* What the next four begin with. */
#define INLAY_MVE_4_AT "ldrd %[s0], %[s1], [%[pair], #108]\n"
#define INLAY_MVE_4_AT1 INLAY_MVE_4_AT "ldr %[s2], [%[pair], #116]\n"
#define INLAY_MVE_4_AT2 "vldrw.32 q0, [%[s0]], #16\nvldrw.32 q1, [%[s1]]\n"
#define INLAY_MVE_4_AT3 "add %[s1], %[s2]\nstrd %[s0], %[s1], [%[pair], #108]\n"
#define INLAY_MVE_4_AT4 "vstrw.32 q0, [%[pair]]\nvstrw.32 q1, [%[pair], #16]\n"
#define INLAY_MVE_4_AT12 INLAY_MVE_4_AT1 INLAY_MVE_4_AT2
#define INLAY_MVE_4_AT34 INLAY_MVE_4_AT3 INLAY_MVE_4_AT4
#define INLAY_MVE_4_BEGIN "5:\n" INLAY_MVE_4_AT12 INLAY_MVE_4_AT34

/* Their weights, twelve each. Those that have turned go to the places of their rows. */
#define INLAY_MVE_4_TWELVE "movs %[s0], #12\nvctp.8 %[s0]\n"
#define INLAY_MVE_4_TURN "ldrd %[s1], %[s2], [%[pair], #120]\ncmp %[s1], #0\n"
#define INLAY_MVE_4_IF INLAY_MVE_4_TWELVE INLAY_MVE_4_TURN "bne 6f\nvpstttt\n"
#define INLAY_MVE_4_W(q) "vldrbt.8 " q ", [%[s2]], #12\n"
#define INLAY_MVE_4_W45 INLAY_MVE_4_W("q4") INLAY_MVE_4_W("q5")
#define INLAY_MVE_4_W67 INLAY_MVE_4_W("q6") INLAY_MVE_4_W("q7")
#define INLAY_MVE_4_V(q) "vpst\nvldrbt.u8 " q ", [%[s2], q0]\nadds %[s2], #12\n"
#define INLAY_MVE_4_V45 INLAY_MVE_4_V("q4") INLAY_MVE_4_V("q5")
#define INLAY_MVE_4_V67 INLAY_MVE_4_V("q6") INLAY_MVE_4_V("q7")
#define INLAY_MVE_4_PLAIN INLAY_MVE_4_W45 INLAY_MVE_4_W67 "b 7f\n6:\n"
#define INLAY_MVE_4_PLACES "vldrw.32 q0, [%[pair], #80]\n"
#define INLAY_MVE_4_TURNED INLAY_MVE_4_PLACES INLAY_MVE_4_V45 INLAY_MVE_4_V67
#define INLAY_MVE_4_KEEP "7:\nstr %[s2], [%[pair], #124]\n"
#define INLAY_MVE_4_WEIGHT INLAY_MVE_4_IF INLAY_MVE_4_PLAIN INLAY_MVE_4_TURNED
#define INLAY_MVE_4_WEIGHTS INLAY_MVE_4_WEIGHT INLAY_MVE_4_KEEP

/* Their windows, and where their bytes go. */
#define INLAY_MVE_4_X0 "ldrd %[x0], %[s0], [%[pair], #128]\n"
#define INLAY_MVE_4_X12 "add %[x1], %[x0], %[s0]\nadd %[x2], %[x1], %[s0]\n"
#define INLAY_MVE_4_X3 "add %[x3], %[x2], %[s0]\nadd %[s1], %[x3], %[s0]\n"
#define INLAY_MVE_4_Y "ldr %[y], [%[pair], #136]\nadds %[s2], %[y], #4\n"
#define INLAY_MVE_4_X5 "str %[s1], [%[pair], #128]\n"
#define INLAY_MVE_4_XY INLAY_MVE_4_X5 "str %[s2], [%[pair], #136]\n"
#define INLAY_MVE_4_PLACE INLAY_MVE_4_X0 INLAY_MVE_4_X12 INLAY_MVE_4_X3
#define INLAY_MVE_4_PLACED INLAY_MVE_4_PLACE INLAY_MVE_4_Y INLAY_MVE_4_XY
#define INLAY_MVE_4_COUNT "ldr %[s0], [%[pair], #140]\nsubs %[s0], #1\n"
#define INLAY_MVE_4_UNTIL "str %[s0], [%[pair], #140]\nbne 5b\n"
#define INLAY_MVE_4_HEADS INLAY_MVE_4_BEGIN INLAY_MVE_4_WEIGHTS
#define INLAY_MVE_4_HEAD INLAY_MVE_4_HEADS INLAY_MVE_4_PLACED
#define INLAY_MVE_4_NEXT4 INLAY_MVE_4_COUNT INLAY_MVE_4_UNTIL
#define INLAY_MVE_4_MADE(how) INLAY_MVE_4_HEAD INLAY_MVE_4_PIXELS(how)
#define INLAY_MVE_4_ALL(how) INLAY_MVE_4_MADE(how) INLAY_MVE_4_NEXT4

#define INLAY_MVE_4_SUM2 INLAY_MVE_SUM(s0), INLAY_MVE_SUM(s1)
#define INLAY_MVE_4_SUM4 INLAY_MVE_4_SUM2, INLAY_MVE_SUM(s2), INLAY_MVE_SUM(s3)
#define INLAY_MVE_4_X2 [x0] "=&r"(x0), [x1] "=&r"(x1)
#define INLAY_MVE_4_X4 INLAY_MVE_4_X2, [x2] "=&r"(x2), [x3] "=&r"(x3)
#define INLAY_MVE_4_Q03 "q0", "q1", "q2", "q3"
#define INLAY_MVE_4_Q47 "q4", "q5", "q6", "q7"
#define INLAY_MVE_4_LOST INLAY_MVE_4_Q03, INLAY_MVE_4_Q47, "lr", "cc", "memory"
#define INLAY_MVE_4_OUT INLAY_MVE_4_SUM4, INLAY_MVE_4_X4, [y] "=&r"(y)
#define INLAY_MVE_4_SET [next] "i"(next), [pair] "r"(pair)
#define INLAY_MVE_4_IN INLAY_MVE_4_SET, [zero] "r"(zero)

/* ---- windows of 3 x 3 ---- */

enum { INLAY_MVE_THREE = 12 }; /* bytes of one */

/* Is the structure laid as the instructions say? */
typedef char
    inlay_mve_pair_is_laid[offsetof(inlay_mve_pair, turned) == 80 &&
                                   offsetof(inlay_mve_pair, fours) == 140
                               ? 1
                               : -1];

/* All pixels of some fours, the windows of which lie `next` bytes apart. The predicate changes,
 * which compilers cannot be told: this stands in functions that use none and are not copied into
 * others. */
INLAY_INLINE void inlay_mve_four_pixels(inlay_mve_pair *pair, int32_t zero,
                                        const int32_t next)
{
    uint8_t *y;
    const uint8_t *x0, *x1, *x2, *x3;
    int32_t s0, s1, s2, s3;
    if (INLAY_MVE_CLIPS)
        __asm__ volatile(INLAY_MVE_4_ALL(CLIPPED)
                         : INLAY_MVE_4_OUT:INLAY_MVE_4_IN
                         : INLAY_MVE_4_LOST);
    else if (INLAY_QUSES(INLAY_QUSE_SHIFTED))
        __asm__ volatile(INLAY_MVE_4_ALL(FLIPPED)
                         : INLAY_MVE_4_OUT:INLAY_MVE_4_IN
                         : INLAY_MVE_4_LOST);
    else
        __asm__ volatile(INLAY_MVE_4_ALL(SIGNED)
                         : INLAY_MVE_4_OUT:INLAY_MVE_4_IN
                         : INLAY_MVE_4_LOST);
}

/* Channels from `channel` on of a row of y come next. */
INLAY_INLINE void inlay_mve_three_begin(inlay_mve_made *made, int32_t channel,
                                        uint8_t *y)
{
    const uint8x16_t own = vidupq_n_u8(0, 1);
    const uint8x16_t four = vdupq_n_u8(3);
    const uint8x16_t row = vandq_u8(vsubq_n_u8(own, (uint8_t)made->turn), four);
    inlay_mve_pair *pair = &made->pair;
    vst1q_u8(pair->turned, vorrq_u8(vbicq_u8(own, four), row));
    pair->turn = made->turn;
    pair->starts = made->start + channel;
    pair->scales = made->scale + made->each * channel;
    pair->step = (int32_t)(16 * made->each);
    pair->w = made->tile->weights + channel * INLAY_MVE_THREE;
    pair->y = y + channel;
    pair->plane = made->plane;
}

/* The next eight, whose windows lie in scratch. */
INLAY_INLINE void inlay_mve_three_eight(inlay_mve_made *made, const int next)
{
    made->pair.x = made->scratch;
    made->pair.fours = INLAY_QDEEP_LANES / 4;
    inlay_mve_four_pixels(&made->pair, inlay_mve_zero(&made->byte), next);
}

/* ---- any windows ---- */

/* The weights of four channels at w. */
typedef struct inlay_mve_weights {
    int8x16_t of[4];
} inlay_mve_weights;

INLAY_INLINE inlay_mve_weights inlay_mve_weights_at(const int8_t *w,
                                                    int32_t window)
{
    const mve_pred16_t some = vctp8q((uint32_t)window);
    inlay_mve_weights to;
    int32_t i;
    INLAY_UNROLL
    for (i = 0; i < 4; i++)
        to.of[i] = vldrbq_z_s8(w + i * window, some);
    return to;
}

/* All pixels of four channels. */
INLAY_INLINE void inlay_mve_four_any(const inlay_mve_made *made,
                                     const uint8_t *x,
                                     const inlay_mve_weights *w, uint8_t *y)
{
    int32_t left, i;
    for (left = made->pixels; left > 0; left--, y += made->pair.ys) {
        int32_t sum[4];
        INLAY_UNROLL
        for (i = 0; i < 4; i++) {
            const uint8_t *at = x + i * made->plane;
            sum[i] = vmladavq_s8(vld1q_s8((const int8_t *)at), w->of[i]);
        }
        vstrbq_s32((int8_t *)y, inlay_mve_bytes(&made->byte,
                                                inlay_mve_lanes(sum[0], sum[1],
                                                                sum[2], sum[3]),
                                                vld1q_s32(made->pair.start),
                                                vld1q_f32(made->pair.scale)));
        x += made->next;
    }
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
        vst1q_s32(made->pair.start, vld1q_s32(made->start + channel));
        vst1q_f32(made->pair.scale,
                  vld1q_f32(made->scale + made->each * channel));
        inlay_mve_four_any(made, x, &weights, y + channel);
        x += 4 * made->plane;
    }
}

#endif
