/* SPDX-License-Identifier: 0BSD
 * Template of one width of vectors: INLAY_L floats, 4, 8 or 16. INLAY_REPEAT(v): so many v;
 * INLAY_EVERY_OTHER(first): as many numbers, each 2 above the one before; INLAY_LARGER,
 * INLAY_SMALLER, INLAY_FUSED, INLAY_ROOT: instructions, where the machine has them. */

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

/* The square root of each float. */
INLAY_INLINE INLAY_FLOATS INLAY_W(root)(INLAY_FLOATS v)
{
#if defined INLAY_CLANG_ROOT
    return __builtin_elementwise_sqrt(v);
#elif defined INLAY_ROOT
    return INLAY_ROOT(v);
#else
    int i;
    for (i = 0; i < INLAY_L; i++)
        v[i] = sqrtf(v[i]);
    return v;
#endif
}

/* Of a and b, one behind the other, the floats 0, 2, 4 and so on. */
INLAY_INLINE INLAY_FLOATS INLAY_W(even)(INLAY_FLOATS a, INLAY_FLOATS b)
{
#ifdef __clang__
    return __builtin_shufflevector(a, b, INLAY_EVERY_OTHER(0));
#else
    return __builtin_shuffle(a, b, (INLAY_W(i)){ INLAY_EVERY_OTHER(0) });
#endif
}

/* The floats 1, 3, 5 and so on. */
INLAY_INLINE INLAY_FLOATS INLAY_W(odd)(INLAY_FLOATS a, INLAY_FLOATS b)
{
#ifdef __clang__
    return __builtin_shufflevector(a, b, INLAY_EVERY_OTHER(1));
#else
    return __builtin_shuffle(a, b, (INLAY_W(i)){ INLAY_EVERY_OTHER(1) });
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
#undef INLAY_EVERY_OTHER
#undef INLAY_LARGER
#undef INLAY_SMALLER
#undef INLAY_FUSED
#undef INLAY_ROOT
