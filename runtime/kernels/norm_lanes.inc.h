/* SPDX-License-Identifier: 0BSD
 * Lines of adjacent elements for one element type, 16 sums side by side. Included by norm.h. */

/* sum[j] = 0 */
INLAY_INLINE void inlay_typed(norm_clear)(INLAY_T *sum)
{
    int32_t j;
    for (j = 0; j < INLAY_NORM_LANES; j++)
        sum[j] = 0;
}

/* sum[j] += x[j] */
INLAY_INLINE void inlay_typed(norm_add)(INLAY_T *sum, const INLAY_T *x)
{
    int32_t j;
    for (j = 0; j < INLAY_NORM_LANES; j++)
        sum[j] += x[j];
}

/* sum[j] += (x[j] - mean)^2 */
INLAY_INLINE void inlay_typed(norm_deviate)(INLAY_T *sum, const INLAY_T *x,
                                            INLAY_T mean)
{
    int32_t j;
    for (j = 0; j < INLAY_NORM_LANES; j++) {
        const INLAY_T v = x[j] - mean;
        sum[j] += v * v;
    }
}

/* The sum of all lanes. */
INLAY_INLINE INLAY_T inlay_typed(norm_total)(INLAY_T *sum)
{
    int32_t j;
    for (j = 0; j < 8; j++)
        sum[j] += sum[8 + j];
    for (j = 0; j < 4; j++)
        sum[j] += sum[4 + j];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* Sum of (x - mean)^2 (power 1: of x) over n <= 1024 elements that lie together, n a multiple of
 * 16. */
static inline INLAY_T inlay_typed(lanes_sum)(const INLAY_T *x, int32_t n,
                                             INLAY_T mean, int power)
{
    const INLAY_T *end = x + n;
    INLAY_T sum[INLAY_NORM_LANES];
    inlay_typed(norm_clear)(sum);
    if (power == 2)
        for (; x < end; x += INLAY_NORM_LANES)
            inlay_typed(norm_deviate)(sum, x, mean);
    else
        for (; x < end; x += INLAY_NORM_LANES)
            inlay_typed(norm_add)(sum, x);
    return inlay_typed(norm_total)(sum);
}

/* y = (x - mean) * inv * scale + bias for a line of adjacent elements with numbers of their own,
 * bias NULL: zeros; a block at a time: y may be x. */
static inline void inlay_typed(lanes_write)(INLAY_T *y, const INLAY_T *x,
                                            const INLAY_T *scale,
                                            const INLAY_T *bias, int32_t n,
                                            INLAY_T mean, INLAY_T inv)
{
    int32_t i = 0;
#ifdef INLAY_BLOCK
    for (; i + INLAY_BLOCK <= n; i += INLAY_BLOCK) {
        INLAY_T block[INLAY_BLOCK];
        int32_t j;
        for (j = 0; j < INLAY_BLOCK; j++) {
            const INLAY_T v = (x[i + j] - mean) * inv;
            block[j] = v * scale[i + j] + (bias ? bias[i + j] : 0);
        }
        memcpy(y + i, block, sizeof block);
    }
#endif
    for (; i < n; i++) {
        const INLAY_T v = (x[i] - mean) * inv;
        y[i] = v * scale[i] + (bias ? bias[i] : 0);
    }
}
