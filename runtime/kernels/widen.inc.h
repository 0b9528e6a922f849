/* SPDX-License-Identifier: 0BSD
 * Template of widen.h for one type. */

INLAY_INLINE float inlay_typed(one)(const void *from, ptrdiff_t i)
{
    const unsigned char *bytes = (const unsigned char *)from;
    return inlay_narrow_one(bytes, i, INLAY_BITS, INLAY_KIND);
}

/* Where element i begins, which begins a byte. */
INLAY_INLINE const unsigned char *inlay_typed(byte)(const void *from,
                                                    ptrdiff_t i)
{
    return (const unsigned char *)from + i * INLAY_BITS / 8;
}

INLAY_APART void inlay_typed(widen)(float *to, const void *from,
                                    ptrdiff_t first, int32_t n)
{
    const float *end = to + n;
#if INLAY_VL > 1
    const unsigned char *at;
    while (to < end && first * INLAY_BITS % 8)
        *to++ = inlay_typed(one)(from, first++);
    at = inlay_typed(byte)(from, first);
    while (end - to >= INLAY_VL) {
        INLAY_V(store)(to, INLAY_V(widened)(at, INLAY_BITS, INLAY_KIND));
        at += INLAY_VL * INLAY_BITS / 8;
        first += INLAY_VL;
        to += INLAY_VL;
    }
#endif
#if INLAY_VL > 4
    while (end - to >= 4) {
        inlay_store4(to, inlay_widened4(at, INLAY_BITS, INLAY_KIND));
        at += INLAY_BITS / 2;
        first += 4;
        to += 4;
    }
#endif
#if defined INLAY_FPU_ARM || defined INLAY_HELIUM
    if (INLAY_KIND == INLAY_NARROW_F16) {
        const unsigned char *bytes = inlay_typed(byte)(from, first);
        n = inlay_four_halves(to, bytes, n);
        first += n;
        to += n;
    }
#endif
    while (to < end)
        *to++ = inlay_typed(one)(from, first++);
}

#if INLAY_VL > 1
/* One tap of the function below: 16 numbers. */
INLAY_INLINE void inlay_typed(scaled_tap)(float *to, const unsigned char *at,
                                          const INLAY_V(f) * factor,
                                          const INLAY_V(f) * less)
{
    int32_t i;
    INLAY_UNROLL
    for (i = 0; i < INLAY_SCALED / INLAY_VL; i++) {
        const INLAY_V(f) v = INLAY_V(widened)(at, INLAY_BITS, INLAY_KIND);
        INLAY_V(store)(to, (v - less[i]) * factor[i]);
        at += INLAY_VL * INLAY_BITS / 8;
        to += INLAY_VL;
    }
}
#endif

/* The same of `taps` times INLAY_SCALED numbers: (number - zero) * scale. Where there are vectors
 * each tap begins a byte. */
#if INLAY_VL > 1
INLAY_APART void inlay_typed(scaled)(float *to, const void *from,
                                     ptrdiff_t first, ptrdiff_t step,
                                     int32_t taps, const float *scale,
                                     const float *zero)
{
    const unsigned char *at = inlay_typed(byte)(from, first);
    INLAY_V(f) factor[INLAY_SCALED / INLAY_VL], less[INLAY_SCALED / INLAY_VL];
    int32_t i, k;
    INLAY_UNROLL
    for (i = 0; i < INLAY_SCALED / INLAY_VL; i++) {
        factor[i] = INLAY_V(load)(scale + i * INLAY_VL);
        less[i] = INLAY_V(load)(zero + i * INLAY_VL);
    }
    for (k = 0; k < taps; k++) {
        inlay_typed(scaled_tap)(to, at, factor, less);
        at += step * INLAY_BITS / 8;
        to += INLAY_SCALED;
    }
}
#else
#if INLAY_BITS < 8
/* The same where each tap begins a byte: one look at its four numbers. */
INLAY_INLINE void inlay_typed(scaled_parts)(float *to, const unsigned char *at,
                                            ptrdiff_t step, int32_t taps,
                                            const float *factor,
                                            const float *less)
{
#ifdef INLAY_HELIUM
    const int is_signed = INLAY_KIND == INLAY_NARROW_SIGNED;
    inlay_scaled_parts(to, at, step, taps, factor, less, INLAY_BITS, is_signed);
#else
    int32_t i, k;
    for (k = 0; k < taps; k++, at += step, to += INLAY_SCALED) {
        uint32_t v = at[0];
        if (INLAY_BITS == 4)
            v |= (uint32_t)at[1] << 8;
        INLAY_UNROLL
        for (i = 0; i < INLAY_SCALED; i++) {
            const uint32_t part = v >> i * INLAY_BITS;
            const float number = inlay_lowest(part, INLAY_BITS, INLAY_KIND);
            to[i] = (number - less[i]) * factor[i];
        }
    }
#endif
}
#endif

/* One by one. */
INLAY_INLINE void inlay_typed(scaled_ones)(float *to, const void *from,
                                           ptrdiff_t first, ptrdiff_t step,
                                           int32_t taps, const float *scale,
                                           const float *zero)
{
    float factor[INLAY_SCALED], less[INLAY_SCALED];
    int32_t i, k;
    INLAY_UNROLL
    for (i = 0; i < INLAY_SCALED; i++) {
        factor[i] = scale[i];
        less[i] = zero[i];
    }
#if INLAY_BITS < 8
    if (first * INLAY_BITS % 8 == 0 && step * INLAY_BITS % 8 == 0) {
        const unsigned char *at = inlay_typed(byte)(from, first);
        const ptrdiff_t bytes = step * INLAY_BITS / 8;
        inlay_typed(scaled_parts)(to, at, bytes, taps, factor, less);
        return;
    }
#endif
    for (k = 0; k < taps; k++, first += step, to += INLAY_SCALED) {
        INLAY_UNROLL
        for (i = 0; i < INLAY_SCALED; i++)
            to[i] = (inlay_typed(one)(from, first + i) - less[i]) * factor[i];
    }
}

#if !(defined INLAY_FPU_ARM || defined INLAY_HELIUM)
/* The numbers as they are. */
INLAY_INLINE void inlay_typed(fours)(float *to, const void *from,
                                     ptrdiff_t first, ptrdiff_t step,
                                     int32_t taps)
{
    int32_t i, k;
    for (k = 0; k < taps; k++, first += step, to += INLAY_SCALED) {
        INLAY_UNROLL
        for (i = 0; i < INLAY_SCALED; i++)
            to[i] = inlay_typed(one)(from, first + i);
    }
}
#endif

INLAY_APART void inlay_typed(scaled)(float *to, const void *from,
                                     ptrdiff_t first, ptrdiff_t step,
                                     int32_t taps, const float *scale,
                                     const float *zero)
{
#if defined INLAY_FPU_ARM || defined INLAY_HELIUM
    if (INLAY_BITS == 8 && INLAY_KIND <= INLAY_NARROW_SIGNED && taps > 0) {
        const int is_signed = INLAY_KIND == INLAY_NARROW_SIGNED;
        const unsigned char *bytes = inlay_typed(byte)(from, first);
        inlay_scaled_bytes(to, bytes, step, taps, scale, zero, is_signed);
        return;
    }
#else
    if (!scale) {
        inlay_typed(fours)(to, from, first, step, taps);
        return;
    }
#endif
    inlay_typed(scaled_ones)(to, from, first, step, taps, scale, zero);
}
#endif

#if INLAY_VL > 1
INLAY_APART void inlay_typed(line)(inlay_line *line)
{
    switch (line->channels) {
#if INLAY_VL == 16
    case 64:
        inlay_line16(line, 4, INLAY_BITS, INLAY_KIND);
        break;
    case 32:
        inlay_line16(line, 2, INLAY_BITS, INLAY_KIND);
        break;
#elif INLAY_VL == 8
    case 32:
        inlay_line8(line, 4, INLAY_BITS, INLAY_KIND);
        break;
#endif
    case 16:
        INLAY_V(line)(line, 16 / INLAY_VL, INLAY_BITS, INLAY_KIND);
        break;
    case 8:
#if INLAY_VL >= 8
        inlay_line8(line, 1, INLAY_BITS, INLAY_KIND);
#else
        inlay_line4(line, 2, INLAY_BITS, INLAY_KIND);
#endif
        break;
    default:
        inlay_line4(line, 1, INLAY_BITS, INLAY_KIND);
        break;
    }
}
#else
INLAY_APART void inlay_typed(line)(inlay_line *line)
{
    const unsigned char *at = line->from;
    const float *x = line->x;
    const float *end = x + line->taps;
    float sum[INLAY_LINE_MOST];
    int i;
    INLAY_UNROLL
    for (i = 0; i < INLAY_LINE_MOST; i++)
        sum[i] = 0.0f;
#if defined INLAY_FPU_ARM || defined INLAY_HELIUM
    x += inlay_line_arm(sum, line, INLAY_BITS, INLAY_KIND);
    at += (x - line->x) * line->step;
#endif
    for (; x < end; x++, at += line->step) {
        INLAY_UNROLL
        for (i = 0; i < INLAY_LINE_MOST; i++) {
            float weight = inlay_typed(one)(at, i);
            if (line->moved)
                weight -= line->zero[i];
            sum[i] = inlay_fma1(*x, weight, sum[i]);
        }
    }
    inlay_line_end(line, sum);
}
#endif

static const inlay_widening inlay_typed(widening) = { inlay_typed(widen),
                                                      inlay_typed(scaled),
                                                      inlay_typed(line),
                                                      INLAY_BITS, INLAY_KIND };
