/* SPDX-License-Identifier: 0BSD
 * Template of widen.h for vectors of INLAY_L numbers: products of one row. */

/* One tap of `vectors` vectors of channels, the first of which lie at `at`. */
INLAY_INLINE void INLAY_W(line_tap)(const inlay_line *line, INLAY_FLOATS *sum,
                                    const INLAY_FLOATS *zero,
                                    const unsigned char *at, INLAY_FLOATS value,
                                    const inlay_line_shape shape)
{
    int v;
    INLAY_UNROLL
    for (v = 0; v < shape.vectors; v++) {
        const int first = v * INLAY_L;
        const unsigned char *from =
            at + first / 16 * line->block + first % 16 * shape.bits / 8;
        INLAY_FLOATS weight = INLAY_W(widened)(from, shape.bits, shape.kind);
        if (shape.moved)
            weight -= zero[v];
        sum[v] = INLAY_W(fma)(weight, value, sum[v]);
    }
}

/* sum = the products of all taps. */
INLAY_INLINE void INLAY_W(line_taps)(const inlay_line *line, INLAY_FLOATS *sum,
                                     const inlay_line_shape shape)
{
    const float *x = line->x;
    const float *end = x + line->taps;
    const unsigned char *at = line->from;
    INLAY_FLOATS zero[4];
    int v;
    INLAY_UNROLL
    for (v = 0; v < shape.vectors; v++) {
        sum[v] = INLAY_W(splat)(0.0f);
        if (shape.moved)
            zero[v] = INLAY_W(load)(line->zero + v * INLAY_L);
    }
    for (; x < end; x++, at += line->step) {
        const INLAY_FLOATS value = INLAY_W(splat)(*x);
        INLAY_W(line_tap)(line, sum, zero, at, value, shape);
    }
}

/* The sums of one block of scales are scaled and added to those of the others. */
INLAY_INLINE void INLAY_W(line_add)(const inlay_line *line, INLAY_FLOATS *sum,
                                    const int vectors)
{
    int v;
    if (line->scaled) {
        INLAY_UNROLL
        for (v = 0; v < vectors; v++)
            sum[v] *= INLAY_W(load)(line->scale + v * INLAY_L);
    }
    if (!line->begins) {
        INLAY_UNROLL
        for (v = 0; v < vectors; v++)
            sum[v] += INLAY_W(load)(line->sum + v * INLAY_L);
    }
}

/* y = sum + bias + q, no less than lo, no more than hi. */
INLAY_INLINE void INLAY_W(line_results)(const inlay_line *line,
                                        const INLAY_FLOATS *sum,
                                        const int vectors)
{
    const INLAY_FLOATS lo = INLAY_W(splat)(line->lo);
    const INLAY_FLOATS hi = INLAY_W(splat)(line->hi);
    int v;
    INLAY_UNROLL
    for (v = 0; v < vectors; v++) {
        INLAY_FLOATS y = sum[v] + INLAY_W(load)(line->bias + v * INLAY_L);
        if (line->q)
            y += INLAY_W(load)(line->q + v * INLAY_L);
        y = INLAY_W(min)(hi, INLAY_W(max)(lo, y));
        INLAY_W(store)(line->y + v * INLAY_L, y);
    }
}

INLAY_INLINE void INLAY_W(line)(inlay_line *line, const int vectors,
                                const int bits, const int kind)
{
    inlay_line_shape shape = { 0, vectors, bits, kind };
    INLAY_FLOATS sum[4];
    int v;
    if (!line->moved) {
        INLAY_W(line_taps)(line, sum, shape);
    } else {
        shape.moved = 1;
        INLAY_W(line_taps)(line, sum, shape);
    }
    INLAY_W(line_add)(line, sum, vectors);
    if (line->y) {
        INLAY_W(line_results)(line, sum, vectors);
        return;
    }
    INLAY_UNROLL
    for (v = 0; v < vectors; v++)
        INLAY_W(store)(line->sum + v * INLAY_L, sum[v]);
}
