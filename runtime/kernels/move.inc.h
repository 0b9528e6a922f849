/* SPDX-License-Identifier: 0BSD
 * Moves and selections of elements of one size. Included by move.h. */

/* y[k][j] = x[j][k] for a whole tile of a transposition, through `tile`: whole cache lines are read
 * and written. */
INLAY_INLINE void inlay_typed(turn_tile)(INLAY_T *y, const INLAY_T *x,
                                         ptrdiff_t y_step, ptrdiff_t x_step)
{
    INLAY_T tile[INLAY_TILE][INLAY_TILE];
    int32_t j, k;
    for (j = 0; j < INLAY_TILE; j++) {
        const INLAY_T *from = x + j * x_step;
        for (k = 0; k < INLAY_TILE; k++)
            tile[k][j] = from[k];
    }
    for (k = 0; k < INLAY_TILE; k++)
        memcpy(y + k * y_step, tile[k], sizeof tile[k]);
}

/* The same for a smaller tile. */
static inline void inlay_typed(turn_edge)(INLAY_T *y, const INLAY_T *x,
                                          int32_t rows, int32_t columns,
                                          ptrdiff_t y_step, ptrdiff_t x_step)
{
    int32_t j, k;
    for (j = 0; j < columns; j++) {
        const INLAY_T *from = x + j * x_step;
        for (k = 0; k < rows; k++)
            y[k * y_step + j] = from[k];
    }
}

#ifdef INLAY_MOVE_VECTORS
/* The part of a tile that goes in vectors, and the rest. */
INLAY_INLINE void inlay_typed(turn_quads)(INLAY_T *y, const INLAY_T *x,
                                          int32_t rows, int32_t columns,
                                          ptrdiff_t y_step, ptrdiff_t x_step)
{
    const int32_t high = rows / 4 * 4;
    const int32_t wide = columns / 4 * 4;
    const int32_t rest = columns - wide;
    inlay_turn_words(y, x, high, wide, y_step, x_step);
    inlay_typed(turn_edge)(y + wide, x + wide * x_step, high, rest, y_step,
                           x_step);
    y += high * y_step;
    x += high;
    inlay_typed(turn_edge)(y, x, rows - high, columns, y_step, x_step);
}
#endif

/* One tile. */
INLAY_INLINE void inlay_typed(turn_any)(INLAY_T *y, const INLAY_T *x,
                                        int32_t rows, int32_t columns,
                                        ptrdiff_t y_step, ptrdiff_t x_step)
{
#ifdef INLAY_MOVE_VECTORS
    if (sizeof *y == sizeof(uint32_t)) {
        inlay_typed(turn_quads)(y, x, rows, columns, y_step, x_step);
        return;
    }
#endif
    if (rows == INLAY_TILE && columns == INLAY_TILE)
        inlay_typed(turn_tile)(y, x, y_step, x_step);
    else
        inlay_typed(turn_edge)(y, x, rows, columns, y_step, x_step);
}

/* y[i][j] = x[j][i], i < n, j < m, in tiles. Not inlined: one tile on the stack is enough. */
INLAY_APART void inlay_typed(turn)(INLAY_T *y, const INLAY_T *x, int32_t n,
                                   int32_t m, ptrdiff_t y_step,
                                   ptrdiff_t x_step)
{
    int32_t i, j;
    for (i = 0; i < n; i += INLAY_TILE) {
        const int32_t more = n - i;
        const int32_t rows = more < INLAY_TILE ? more : INLAY_TILE;
        for (j = 0; j < m; j += INLAY_TILE) {
            const INLAY_T *from = x + j * x_step + i;
            INLAY_T *to = y + i * y_step + j;
            const int32_t left = m - j;
            const int32_t columns = left < INLAY_TILE ? left : INLAY_TILE;
            inlay_typed(turn_any)(to, from, rows, columns, y_step, x_step);
        }
    }
}

/* y[j] = value, m elements. */
static inline void inlay_typed(fill)(INLAY_T *y, INLAY_T value, int32_t m)
{
    int32_t j;
    for (j = 0; j < m; j++)
        y[j] = value;
}

/* y[j] = x[j], m elements, y_step and x_step apart. */
static inline void inlay_typed(line)(INLAY_T *y, const INLAY_T *x, int32_t m,
                                     ptrdiff_t y_step, ptrdiff_t x_step)
{
    int32_t j;
    if (y_step == 1 && x_step == 1 && m > 8) {
        memcpy(y, x, (size_t)m * sizeof *y);
        return;
    }
    if (y_step == 1 && x_step == 1) {
        for (j = 0; j < m; j++)
            y[j] = x[j];
        return;
    }
    if (y_step == 1 && x_step == 0) {
        inlay_typed(fill)(y, x[0], m);
        return;
    }
    for (j = 0; j < m; j++)
        y[j * y_step] = x[j * x_step];
}

#ifdef INLAY_MOVE_VECTORS
/* y[i][0..2] = x[0..2][i]: planes of an image become its pixels. */
static inline void inlay_typed(weave)(INLAY_T *y, const INLAY_T *x, int32_t n,
                                      ptrdiff_t x_step)
{
    const INLAY_T *second = x + x_step;
    const INLAY_T *third = second + x_step;
    int32_t i;
    for (i = 0; i < n; i++) {
        y[3 * i] = x[i];
        y[3 * i + 1] = second[i];
        y[3 * i + 2] = third[i];
    }
}

/* y[0..2][i] = x[i][0..2]: the way back. */
static inline void inlay_typed(unweave)(INLAY_T *y, const INLAY_T *x, int32_t n,
                                        ptrdiff_t y_step)
{
    INLAY_T *second = y + y_step;
    INLAY_T *third = second + y_step;
    int32_t i;
    for (i = 0; i < n; i++) {
        y[i] = x[3 * i];
        second[i] = x[3 * i + 1];
        third[i] = x[3 * i + 2];
    }
}

/* y[i][0..2] = x[i][0..2] */
static inline void inlay_typed(threes)(INLAY_T *y, const INLAY_T *x, int32_t n,
                                       ptrdiff_t y_step, ptrdiff_t x_step)
{
    int32_t i;
    for (i = 0; i < n; i++, y += y_step, x += x_step) {
        const INLAY_T first = x[0];
        const INLAY_T second = x[1];
        const INLAY_T third = x[2];
        y[0] = first;
        y[1] = second;
        y[2] = third;
    }
}

/* Planes of pixels of three elements; 0: it is none. */
static inline int inlay_typed(pixels)(INLAY_T *y, const INLAY_T *x,
                                      const int32_t *n, const int32_t *y_step,
                                      const int32_t *x_step)
{
    if (n[0] == 3 && y_step[1] == 1 && x_step[0] == 1 && x_step[1] == 3) {
        inlay_typed(unweave)(y, x, n[1], y_step[0]);
        return 1;
    }
    if (n[1] != 3 || y_step[1] != 1 || n[0] < 2)
        return 0;
    if (y_step[0] == 3 && x_step[0] == 1)
        inlay_typed(weave)(y, x, n[0], x_step[1]);
    else if (x_step[1] == 1)
        inlay_typed(threes)(y, x, n[0], y_step[0], x_step[0]);
    else
        return 0;
    return 1;
}
#endif

static inline void inlay_typed(plane)(void *to, const void *from,
                                      const int32_t *n, const int32_t *y_step,
                                      const int32_t *x_step)
{
    INLAY_T *y = (INLAY_T *)to;
    const INLAY_T *x = (const INLAY_T *)from;
    const ptrdiff_t y_row = y_step[0];
    const ptrdiff_t x_row = x_step[0];
    const ptrdiff_t y_one = y_step[1];
    const ptrdiff_t x_one = x_step[1];
    ptrdiff_t i;
#ifdef INLAY_MOVE_VECTORS
    if (inlay_typed(pixels)(y, x, n, y_step, x_step))
        return;
#endif
    if (y_one == 1 && x_row == 1 && x_one != 1 && n[0] > 1) {
        inlay_typed(turn)(y, x, n[0], n[1], y_row, x_one);
        return;
    }
    for (i = 0; i < n[0]; i++) {
        INLAY_T *row = y + i * y_row;
        const INLAY_T *line = x + i * x_row;
        inlay_typed(line)(row, line, n[1], y_one, x_one);
    }
}

static inline int inlay_typed(move)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    return inlay_move(base, s, r0, r1, sizeof(INLAY_T), inlay_typed(plane));
}

#ifdef INLAY_MOVE_VECTORS
/* Elements in blocks, without a branch for each; b and c are 0 or 1 elements from one to the next,
 * constants. Returns how many. */
INLAY_INLINE int32_t inlay_typed(select_blocks)(INLAY_T *y, const uint8_t *a,
                                                const INLAY_T *b,
                                                const INLAY_T *c, int32_t n,
                                                const int step_b,
                                                const int step_c)
{
    INLAY_T block[INLAY_TILE];
    int32_t i, k;
    for (i = 0; n - i >= INLAY_TILE; i += INLAY_TILE) {
        INLAY_ROLLED
        for (k = 0; k < INLAY_TILE; k++) {
            const INLAY_T first = b[(i + k) * step_b];
            const INLAY_T second = c[(i + k) * step_c];
            block[k] = a[i + k] ? first : second;
        }
        memcpy(y + i, block, sizeof block);
    }
    return i;
}

/* The same of the steps that they have; 0: others. */
static inline int32_t inlay_typed(select_some)(INLAY_T *y, const uint8_t *a,
                                               const INLAY_T *b,
                                               const INLAY_T *c, int32_t n,
                                               const int32_t *step)
{
    if (step[1] != 1 || (step[2] | step[3]) >> 1)
        return 0;
    if (step[2] && step[3])
        return inlay_typed(select_blocks)(y, a, b, c, n, 1, 1);
    if (step[2])
        return inlay_typed(select_blocks)(y, a, b, c, n, 1, 0);
    if (step[3])
        return inlay_typed(select_blocks)(y, a, b, c, n, 0, 1);
    return inlay_typed(select_blocks)(y, a, b, c, n, 0, 0);
}
#endif

static inline void inlay_typed(select_n)(void *to, const void *from_a,
                                         const void *from_b, const void *from_c,
                                         int32_t n, const int32_t *step)
{
    INLAY_T *y = (INLAY_T *)to;
    const uint8_t *a = (const uint8_t *)from_a;
    const INLAY_T *b = (const INLAY_T *)from_b;
    const INLAY_T *c = (const INLAY_T *)from_c;
    const ptrdiff_t step_a = step[1];
    const ptrdiff_t step_b = step[2];
    const ptrdiff_t step_c = step[3];
    ptrdiff_t i = 0;
#ifdef INLAY_MOVE_VECTORS
    i = inlay_typed(select_some)(y, a, b, c, n, step);
#endif
    for (; i < n; i++)
        y[i] = a[i * step_a] ? b[i * step_b] : c[i * step_c];
}

static inline int inlay_typed(select)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    return inlay_nd3(base, s, r0, r1, sizeof(INLAY_T), inlay_typed(select_n));
}
