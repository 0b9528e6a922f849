/* SPDX-License-Identifier: 0BSD
 * Template of one width of vectors: INLAY_L floats, 4, 8 or 16. INLAY_REPEAT(v): so many v;
 * INLAY_LARGER, INLAY_SMALLER, INLAY_FUSED: instructions, where the machine has them. */

typedef float INLAY_FLOATS __attribute__((vector_size(INLAY_L * 4)));
typedef float INLAY_W(any)
    __attribute__((vector_size(INLAY_L * 4), aligned(4), may_alias));
typedef int32_t INLAY_W(i) __attribute__((vector_size(INLAY_L * 4)));
typedef uint32_t INLAY_W(word) __attribute__((vector_size(INLAY_L * 4)));
typedef uint16_t INLAY_W(half) __attribute__((vector_size(INLAY_L * 2)));
typedef int16_t INLAY_W(short) __attribute__((vector_size(INLAY_L * 2)));

INLAY_INLINE INLAY_FLOATS INLAY_W(load)(const float *from)
{
    return *(const INLAY_W(any) *)(const void *)from;
}

INLAY_INLINE void INLAY_W(store)(float *to, INLAY_FLOATS v)
{
    *(INLAY_W(any) *)(void *)to = v;
}

INLAY_INLINE INLAY_FLOATS INLAY_W(splat)(float v)
{
    return (INLAY_FLOATS){ INLAY_REPEAT(v) };
}

/* `mask` has all bits of a lane, or none. */
INLAY_INLINE INLAY_FLOATS INLAY_W(select)(INLAY_W(i) mask, INLAY_FLOATS a,
                                          INLAY_FLOATS b)
{
    const INLAY_W(i) of_a = (INLAY_W(i))a & mask;
    const INLAY_W(i) of_b = (INLAY_W(i))b & ~mask;
    return (INLAY_FLOATS)(of_a | of_b);
}

INLAY_INLINE INLAY_FLOATS INLAY_W(max)(INLAY_FLOATS lo, INLAY_FLOATS v)
{
#ifdef INLAY_LARGER
    return INLAY_LARGER(lo, v);
#else
    return INLAY_W(select)(lo > v, lo, v);
#endif
}

INLAY_INLINE INLAY_FLOATS INLAY_W(min)(INLAY_FLOATS hi, INLAY_FLOATS v)
{
#ifdef INLAY_SMALLER
    return INLAY_SMALLER(hi, v);
#else
    return INLAY_W(select)(hi < v, hi, v);
#endif
}

INLAY_INLINE INLAY_FLOATS INLAY_W(fma)(INLAY_FLOATS a, INLAY_FLOATS b,
                                       INLAY_FLOATS c)
{
#ifdef INLAY_FUSED
    return INLAY_FUSED(a, b, c);
#else
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
    return a * b + c;
#endif
}

#undef INLAY_L
#undef INLAY_REPEAT
#undef INLAY_LARGER
#undef INLAY_SMALLER
#undef INLAY_FUSED
