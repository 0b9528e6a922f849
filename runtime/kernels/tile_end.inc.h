/* SPDX-License-Identifier: 0BSD
 * What follows the sums of a tile: biases or scales, bounds, activations, other addends, and where
 * they are stored. Included by tile_f32.inc.h. */

/* The bias comes last: sums that begin with it would round at its size. */
INLAY_INLINE void INLAY_W(add_bias)(INLAY_FLOATS (*sum)[4], const float *from,
                                    const inlay_shape shape)
{
    INLAY_FLOATS bias[4];
    int p, v;
    INLAY_UNROLL
    for (v = 0; v < shape.vectors; v++)
        bias[v] = INLAY_W(load)(from + v * INLAY_L);
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++) {
        INLAY_UNROLL
        for (v = 0; v < shape.vectors; v++)
            sum[p][v] += bias[v];
    }
}

/* The same of sums of weights that are still to be scaled. */
INLAY_INLINE void INLAY_W(scale)(INLAY_FLOATS (*sum)[4], const float *scale,
                                 const float *bias, const inlay_shape shape)
{
    int p, v;
    INLAY_UNROLL
    for (v = 0; v < shape.vectors; v++) {
        const INLAY_FLOATS factor = INLAY_W(load)(scale + v * INLAY_L);
        const INLAY_FLOATS more = INLAY_W(load)(bias + v * INLAY_L);
        INLAY_UNROLL
        for (p = 0; p < shape.pixels; p++)
            sum[p][v] = INLAY_W(fma)(sum[p][v], factor, more);
    }
}

INLAY_INLINE void INLAY_W(clamp)(const inlay_tile *t, INLAY_FLOATS (*sum)[4],
                                 const inlay_shape shape)
{
    int p, v;
    if (t->clamp & shape.ends & INLAY_END_LOW) {
        const INLAY_FLOATS lo = INLAY_W(splat)(t->lo);
        INLAY_UNROLL
        for (p = 0; p < shape.pixels; p++) {
            INLAY_UNROLL
            for (v = 0; v < shape.vectors; v++)
                sum[p][v] = INLAY_W(max)(lo, sum[p][v]);
        }
    }
    if (t->clamp & shape.ends & INLAY_END_HIGH) {
        const INLAY_FLOATS hi = INLAY_W(splat)(t->hi);
        INLAY_UNROLL
        for (p = 0; p < shape.pixels; p++) {
            INLAY_UNROLL
            for (v = 0; v < shape.vectors; v++)
                sum[p][v] = INLAY_W(min)(hi, sum[p][v]);
        }
    }
}

/* Adds q, clamps and stores. What the shape has no code for is not asked for. */
INLAY_INLINE void INLAY_W(finish)(const inlay_tile *t, INLAY_FLOATS (*sum)[4],
                                  float *y, const float *q,
                                  const inlay_shape shape)
{
    int p, v;
    if (q && shape.ends & INLAY_END_ADD) {
        INLAY_UNROLL
        for (p = 0; p < shape.pixels; p++) {
            INLAY_UNROLL
            for (v = 0; v < shape.vectors; v++)
                sum[p][v] += INLAY_W(load)(q + p * t->qs + v * INLAY_L);
        }
    }
    INLAY_W(clamp)(t, sum, shape);
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++) {
        INLAY_UNROLL
        for (v = 0; v < shape.vectors; v++)
            INLAY_W(store)(y + p * t->ys + v * INLAY_L, sum[p][v]);
    }
}

/* The same where not all channels of the group exist. */
#if defined __AVX512VL__ && INLAY_VL == 16 && INLAY_L > 1
#if INLAY_L == 16
#define INLAY_MASKED(name) __builtin_ia32_##name##512_mask
#elif INLAY_L == 8
#define INLAY_MASKED(name) __builtin_ia32_##name##256_mask
#else
#define INLAY_MASKED(name) __builtin_ia32_##name##128_mask
#endif
/* Bits for the channels of vector v, of `part` that exist. */
#if INLAY_L == 16
typedef uint16_t INLAY_W(lanes);
#else
typedef uint8_t INLAY_W(lanes);
#endif
INLAY_INLINE INLAY_W(lanes) INLAY_W(existing)(int32_t part, int v)
{
    const int32_t n = part - v * INLAY_L;
    if (n >= INLAY_L)
        return (INLAY_W(lanes))((1u << INLAY_L) - 1);
    return (INLAY_W(lanes))(n > 0 ? (1u << n) - 1 : 0);
}

/* Adds the channels of q that exist. */
INLAY_INLINE void INLAY_W(add_part)(INLAY_FLOATS *sum, const float *q,
                                    int32_t part, const inlay_shape shape)
{
    const INLAY_FLOATS zero = INLAY_W(splat)(0.0f);
    int v;
    INLAY_UNROLL
    for (v = 0; v < shape.vectors; v++)
        sum[v] += INLAY_MASKED(loadups)((const void *)(q + v * INLAY_L), zero,
                                        INLAY_W(existing)(part, v));
}

INLAY_INLINE void INLAY_W(store_part)(float *y, const INLAY_FLOATS *sum,
                                      int32_t part, const inlay_shape shape)
{
    int v;
    INLAY_UNROLL
    for (v = 0; v < shape.vectors; v++)
        INLAY_MASKED(storeups)
    ((void *)(y + v * INLAY_L), sum[v], INLAY_W(existing)(part, v));
}

INLAY_INLINE void INLAY_W(finish_part)(const inlay_tile *t,
                                       INLAY_FLOATS (*sum)[4], float *y,
                                       const float *q, int32_t part,
                                       const inlay_shape shape)
{
    int p;
    if (q) {
        INLAY_UNROLL
        for (p = 0; p < shape.pixels; p++)
            INLAY_W(add_part)(sum[p], q + p * t->qs, part, shape);
    }
    INLAY_W(clamp)(t, sum, shape);
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++)
        INLAY_W(store_part)(y + p * t->ys, sum[p], part, shape);
}
#undef INLAY_MASKED
#else
INLAY_INLINE void INLAY_W(finish_part)(const inlay_tile *t,
                                       INLAY_FLOATS (*sum)[4], float *y,
                                       const float *q, int32_t part,
                                       const inlay_shape shape)
{
    int p, v;
    float one[4 * INLAY_L];
    INLAY_UNROLL
    for (p = 0; p < shape.pixels; p++) {
        INLAY_UNROLL
        for (v = 0; v < shape.vectors; v++)
            INLAY_W(store)(one + v * INLAY_L, sum[p][v]);
        inlay_tile_part(t, one, y + p * t->ys, q ? q + p * t->qs : q, part);
    }
}
#endif
