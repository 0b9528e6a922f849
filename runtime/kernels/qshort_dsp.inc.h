/* SPDX-License-Identifier: 0BSD
 * Sums of four channels of qconv_short.h by Arm's multiplications of two halves. Included by it. */

/* Two products added to a sum of 64 bits. */
INLAY_INLINE void inlay_qshort_dual_long(uint64_t *sum, uint32_t x, uint32_t w)
{
    __asm__("smlald %Q0, %R0, %1, %2" : "+r"(*sum) : "r"(x), "r"(w));
}

/* Two taps of two channels; then of four, of two pixels and of one: s, t. */
#define INLAY_QS_W "ldr %[u], [%[w]], #4\nsxtb16 %[v], %[u]\n"
#define INLAY_QS_UPPER "sxtb16 %[u], %[u], ror #8\n"
#define INLAY_QS_X(at, w) INLAY_QADD("s" at, w, "x")
#define INLAY_QS_XY(at, w) INLAY_QS_X(at, w) INLAY_QADD("t" at, w, "y")
#define INLAY_QS_0 INLAY_QS_W INLAY_QS_XY("0", "v") INLAY_QS_UPPER
#define INLAY_QS_01 INLAY_QS_0 INLAY_QS_XY("1", "u")
#define INLAY_QS_2 INLAY_QS_W INLAY_QS_XY("2", "v") INLAY_QS_UPPER
#define INLAY_QS_23 INLAY_QS_2 INLAY_QS_XY("3", "u")
#define INLAY_QS_TWO INLAY_QX INLAY_QS_01 INLAY_QS_23
#define INLAY_QS_ONE0 INLAY_QS_W INLAY_QS_X("0", "v") INLAY_QS_UPPER
#define INLAY_QS_ONE1 INLAY_QS_ONE0 INLAY_QS_X("1", "u")
#define INLAY_QS_ONE2 INLAY_QS_W INLAY_QS_X("2", "v") INLAY_QS_UPPER
#define INLAY_QS_ONE3 INLAY_QS_ONE2 INLAY_QS_X("3", "u")
#define INLAY_QS_ONE "ldr %[x], [%[from]], #4\n" INLAY_QS_ONE1 INLAY_QS_ONE3

INLAY_INLINE void inlay_qshort_four(int32_t *sum, int32_t s0, int32_t s1,
                                    int32_t s2, int32_t s3)
{
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

/* Two pixels; blocks have four channels, windows fours of taps. */
INLAY_INLINE void inlay_qshort_dsp_2(const inlay_qshort_tile *tile,
                                     int32_t *sum)
{
    const int16_t *from = tile->x;
    const int16_t *const end = from + 4 * (ptrdiff_t)tile->pairs;
    const int8_t *w = (const int8_t *)tile->w;
    int32_t s0 = sum[0];
    int32_t s1 = sum[1];
    int32_t s2 = sum[2];
    int32_t s3 = sum[3];
    int32_t t0 = sum[4];
    int32_t t1 = sum[5];
    int32_t t2 = sum[6];
    int32_t t3 = sum[7];
    uint32_t x, y, u, v;
    __asm__ volatile("1:\n" INLAY_QS_TWO INLAY_QS_TWO INLAY_QAGAIN
                     : INLAY_QIO2(s0, s1), INLAY_QIO2(s2, s3),
                       INLAY_QIO2(t0, t1), INLAY_QIO2(t2, t3),
                       INLAY_QTEMP2(x, y), INLAY_QTEMP2(u, v),
                       INLAY_QIO2(from, w)
                     : [end] "m"(end)
                     : "cc", "memory");
    inlay_qshort_four(sum, s0, s1, s2, s3);
    inlay_qshort_four(sum + 4, t0, t1, t2, t3);
}

/* One pixel. */
INLAY_INLINE void inlay_qshort_dsp_1(const inlay_qshort_tile *tile,
                                     int32_t *sum)
{
    const int16_t *from = tile->x;
    const int16_t *const end = from + 2 * (ptrdiff_t)tile->pairs;
    const int8_t *w = (const int8_t *)tile->w;
    int32_t s0 = sum[0];
    int32_t s1 = sum[1];
    int32_t s2 = sum[2];
    int32_t s3 = sum[3];
    uint32_t x, u, v;
    __asm__ volatile("1:\n" INLAY_QS_ONE INLAY_QS_ONE INLAY_QAGAIN
                     : INLAY_QIO2(s0, s1), INLAY_QIO2(s2, s3),
                       INLAY_QTEMP2(u, v), INLAY_QTEMP(x), INLAY_QIO2(from, w)
                     : [end] "m"(end)
                     : "cc", "memory");
    inlay_qshort_four(sum, s0, s1, s2, s3);
}

/* Weights of 16 bits, two channels: registers hold no more sums. */
INLAY_INLINE void inlay_qshort_halves_two(const inlay_qshort_tile *tile,
                                          int channel, const int n,
                                          int64_t *sum)
{
    const int16_t *x = tile->x;
    const int16_t *w = (const int16_t *)tile->w + 2 * channel;
    uint64_t s[4];
    int32_t k;
    int i;
    INLAY_UNROLL
    for (i = 0; i < 2 * n; i++)
        s[i] = (uint64_t)sum[i / 2 * INLAY_QSHORT_FOUR + i % 2 + channel];
    for (k = tile->pairs; k > 0; k--) {
        const uint32_t first = inlay_word(w);
        const uint32_t second = inlay_word(w + 2);
        INLAY_UNROLL
        for (i = 0; i < n; i++) {
            const uint32_t pair = inlay_word(x + 2 * i);
            inlay_qshort_dual_long(s + 2 * i, pair, first);
            inlay_qshort_dual_long(s + 2 * i + 1, pair, second);
        }
        x += 2 * n;
        w += tile->pitch;
    }
    INLAY_UNROLL
    for (i = 0; i < 2 * n; i++)
        sum[i / 2 * INLAY_QSHORT_FOUR + i % 2 + channel] = (int64_t)s[i];
}
