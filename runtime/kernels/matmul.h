/* SPDX-License-Identifier: 0BSD
 * Matrix products whose right operand is not a packed constant (those are convolutions of 1x1).
 *
 *   y[..][i][j] = alpha * sum over k: a[..][i][k] b[..][k][j]  + beta * c[..][i][j]
 *
 * y [batch...][M][N] is row-major; a, b and c (may be left out) are reached by strides in elements,
 * 0 where a dimension is broadcast. Operands: y, a, b, c. A unit: some rows [batch..][i] of y,
 * which may begin and end anywhere in a matrix. */
#ifndef INLAY_MATMUL_H
#define INLAY_MATMUL_H

#include "inlay.h"
#include "kernels/nd.h"
#include "kernels/tile_f32.h"

typedef struct inlay_matmul_params {
    int32_t m;
    int32_t n;
    int32_t k;
    int32_t batch[6];   /* dimensions of the batch, 1 where there are fewer */
    int64_t a_batch[6]; /* strides of a, b, c over the batch */
    int64_t b_batch[6];
    int64_t c_batch[6];
    int64_t am; /* strides of a over rows and k */
    int64_t ak;
    int64_t bk; /* strides of b over k and columns */
    int64_t bn;
    int64_t cm; /* strides of c over rows and columns */
    int64_t cn;
    int32_t lines; /* rows of y in a unit */
    /* 1: operands 0 and 1 have a row for each unit, of a's rows for those of y */
    int32_t by_row;
    float alpha;
    float beta;
} inlay_matmul_params;

/* One matrix of float32 whose b has adjacent columns: tiles of the register-blocked product, of as
 * many columns as the function is named for. t->piece: floats from row to row of b. */
#if INLAY_VL == 16
#define INLAY_MM_IN_16(n, m) INLAY_TILE_IF((n) % 64 >= 16, m)
#else
#define INLAY_MM_IN_16(n, m) INLAY_TILE_IF((n) >= 16, m)
#endif
#if INLAY_VL == 1
#define INLAY_MM_IN_4(n, m) INLAY_TILE_IF((n) >= 4, m)
#else
#define INLAY_MM_IN_4(n, m) INLAY_TILE_IF((n) % 16 >= 4, m)
#endif
#define INLAY_MM_IN_64(n, m) INLAY_TILE_IF((n) >= 64, m)
#define INLAY_MM_IN_1(n, m) INLAY_TILE_IF((n) % 4 > 0, m)

/* The numbers of pixels of the tiles of so many columns. */
enum {
    INLAY_MM_USES_64 = INLAY_TILE_ONE INLAY_TILE_LINES(INLAY_MM_IN_64),
    INLAY_MM_USES_16 = INLAY_TILE_ONE INLAY_TILE_LINES(INLAY_MM_IN_16),
    INLAY_MM_USES_4 = INLAY_TILE_ONE INLAY_TILE_LINES(INLAY_MM_IN_4),
    INLAY_MM_USES_1 = INLAY_TILE_ONE INLAY_TILE_LINES(INLAY_MM_IN_1)
};

#define INLAY_WALK INLAY_WALK_LINES

/* Arm cores make four columns at once, or one by one (inlay_mm_columns). */
#if !INLAY_TILE_ARM
#define INLAY_GROUP inlay_mm_1
#define INLAY_USES INLAY_MM_USES_1
#define INLAY_L 1
#define INLAY_VECTORS 1
#define INLAY_TAP_STEP t->piece
#define INLAY_BLOCK_STEP 16
#define INLAY_ENDS 0
#define INLAY_ENDS_1 0
#include "kernels/tile_group.inc.h"
#endif

#define INLAY_GROUP inlay_mm_4
#define INLAY_USES INLAY_MM_USES_4
#if INLAY_VL == 1
#define INLAY_L 1
#define INLAY_VECTORS 4
#else
#define INLAY_L 4
#define INLAY_VECTORS 1
#endif
#define INLAY_TAP_STEP t->piece
#define INLAY_BLOCK_STEP 16
#define INLAY_ENDS 0
#define INLAY_ENDS_1 0
#include "kernels/tile_group.inc.h"

#if INLAY_VL > 1
#define INLAY_GROUP inlay_mm_16
#define INLAY_USES INLAY_MM_USES_16
#define INLAY_L INLAY_VL
#define INLAY_VECTORS 16 / INLAY_VL
#define INLAY_TAP_STEP t->piece
#define INLAY_BLOCK_STEP 16
#define INLAY_ENDS 0
#define INLAY_ENDS_1 0
#include "kernels/tile_group.inc.h"
#endif

#if INLAY_VL == 16
#define INLAY_GROUP inlay_mm_64
#define INLAY_USES INLAY_MM_USES_64
#define INLAY_L 16
#define INLAY_VECTORS 4
#define INLAY_TAP_STEP t->piece
#define INLAY_BLOCK_STEP 16
#define INLAY_ENDS 0
#define INLAY_ENDS_1 0
#include "kernels/tile_group.inc.h"
#endif

#undef INLAY_WALK

/* Columns that are made at once, of `left`. */
static inline int32_t inlay_mm_width(int32_t left)
{
    if (INLAY_VL == 16 && left >= 64)
        return 64;
    if (INLAY_VL > 1 && left >= 16)
        return 16;
    return left >= 4 ? 4 : 1;
}

/* One tile of `width` columns. */
static inline void inlay_mm_tile(const inlay_tile *t, const inlay_tiles *call,
                                 const inlay_group *g, int32_t width)
{
#if INLAY_VL == 16
    if (width == 64)
        inlay_mm_64(t, call, g);
#endif
#if INLAY_VL > 1
    if (width == 16)
        inlay_mm_16(t, call, g);
#endif
    if (width == 4)
        inlay_mm_4(t, call, g);
#if !INLAY_TILE_ARM
    if (width == 1)
        inlay_mm_1(t, call, g);
#endif
}

/* How many tiles m rows are cut into, of `width` columns: there is code for the equal ones, or for
 * single rows. */
static inline int32_t inlay_mm_count(int32_t width, int32_t m)
{
    int uses = INLAY_MM_USES_1;
    if (m < 1)
        return 0;
    if (width == 64)
        uses = INLAY_MM_USES_64;
    if (width == 16)
        uses = INLAY_MM_USES_16;
    if (width == 4)
        uses = INLAY_MM_USES_4;
    return INLAY_TILE_CUT(m) & ~uses ? m : INLAY_TILE_COUNT(m);
}

/* Columns from `first` on, one by one. */
static inline void inlay_mm_columns(const inlay_matmul_params *p, int32_t rows,
                                    int32_t first, float *y, const float *a,
                                    const float *b)
{
    int32_t i, j, k;
    for (i = 0; i < rows; i++, a += p->am, y += p->n)
        for (j = first; j < p->n; j++) {
            const float *column = b + j;
            float sum = 0.0f;
            for (k = 0; k < p->k; k++, column += p->bk)
                sum = inlay_fma1(a[k], *column, sum);
            y[j] = sum;
        }
}

/* `width` columns of the rows, tile by tile; y: the first of them in row 0. */
static inline void inlay_mm_stripe(const inlay_tile *t, inlay_group *g,
                                   int32_t rows, int32_t width, float *y)
{
    const int32_t tiles = inlay_mm_count(width, rows);
    inlay_tiles call;
    int32_t i;
    call.count = 1;
    for (i = 0; i < tiles; i++) {
        const int32_t r = inlay_tile_cut(rows, tiles, i, &call.pixels);
        call.at = (ptrdiff_t)r * t->xs;
        g->y = y + (ptrdiff_t)r * t->ys;
        inlay_mm_tile(t, &call, g, width);
    }
}

static inline void inlay_mm_tiles(const inlay_matmul_params *p, int32_t rows,
                                  float *y, const float *a, const float *b)
{
    static const float zero[64] = { 0 };
    inlay_tile t;
    inlay_group g;
    int32_t j, width;
    inlay_tile_product(&t, NULL, a, p->k, (ptrdiff_t)p->am, 0);
    t.ys = p->n;
    t.piece = (ptrdiff_t)p->bk;
    g.bias = zero;
    g.q = NULL;
    g.part = 0;
    for (j = 0; j < p->n; j += width) {
        width = inlay_mm_width(p->n - j);
        if (INLAY_TILE_ARM && width == 1) {
            inlay_mm_columns(p, rows, j, y, a, b);
            return;
        }
        g.weights = b + j;
        inlay_mm_stripe(&t, &g, rows, width, y + j);
    }
}

/* The sum of n products, both operands adjacent. */
static inline float inlay_dot_f32(const float *a, const float *b, int32_t n)
{
    float sum = 0.0f;
    int32_t k = 0;
#if INLAY_VL > 1
    if (n >= INLAY_VL) {
        INLAY_V(f) v = INLAY_V(splat)(0.0f), u = v;
        float part[INLAY_VL];
        int32_t i;
        for (; n - k >= 2 * INLAY_VL; k += 2 * INLAY_VL) {
            v = INLAY_V(fma)(INLAY_V(load)(a + k), INLAY_V(load)(b + k), v);
            u = INLAY_V(fma)(INLAY_V(load)(a + k + INLAY_VL),
                             INLAY_V(load)(b + k + INLAY_VL), u);
        }
        INLAY_V(store)(part, v + u);
        for (i = 0; i < INLAY_VL; i++)
            sum += part[i];
    }
#endif
    for (; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

static inline void inlay_mm_dots(const inlay_matmul_params *p, int32_t rows,
                                 float *y, const float *a, const float *b)
{
    int32_t i, j;
    for (i = 0; i < rows; i++)
        for (j = 0; j < p->n; j++)
            y[(int64_t)i * p->n + j] =
                inlay_dot_f32(a + i * p->am, b + j * p->bn, p->k);
}

static inline void inlay_mm_plain_f32(const inlay_matmul_params *p,
                                      int32_t rows, float *y, const float *a,
                                      const float *b);

/* Rows of one matrix. */
static inline void inlay_mm_f32(const inlay_matmul_params *p, int32_t rows,
                                float *y, const float *a, const float *b)
{
    if (p->ak == 1 && (p->bn == 1 || p->n == 1))
        inlay_mm_tiles(p, rows, y, a, b);
    else if (p->ak == 1 && p->bk == 1)
        inlay_mm_dots(p, rows, y, a, b);
    else
        inlay_mm_plain_f32(p, rows, y, a, b);
}

/* A matrix of the batch, where those of a, b and c begin, and the next row to be made. */
typedef struct inlay_mm_batch {
    int32_t index[6];
    int64_t a, b, c;
    int32_t row;
} inlay_mm_batch;

/* The place of row `row` of all matrices. */
static inline void inlay_mm_seek(const inlay_matmul_params *p, int32_t row,
                                 inlay_mm_batch *at)
{
    int32_t matrix = row / p->m;
    int32_t d;
    at->a = at->b = at->c = 0;
    at->row = row % p->m;
    for (d = 5; d >= 0; d--) {
        const int32_t index = matrix % p->batch[d];
        matrix /= p->batch[d];
        at->index[d] = index;
        at->a += index * p->a_batch[d];
        at->b += index * p->b_batch[d];
        at->c += index * p->c_batch[d];
    }
}

/* Goes on to the next matrix. */
static inline void inlay_mm_next(const inlay_matmul_params *p,
                                 inlay_mm_batch *at)
{
    int32_t d;
    at->row = 0;
    for (d = 5; d >= 0; d--) {
        const int32_t n = p->batch[d];
        at->a += p->a_batch[d];
        at->b += p->b_batch[d];
        at->c += p->c_batch[d];
        if (++at->index[d] < n)
            return;
        at->index[d] = 0;
        at->a -= n * p->a_batch[d];
        at->b -= n * p->b_batch[d];
        at->c -= n * p->c_batch[d];
    }
}

/* Units from r0 on whose rows lie together in y and, where it has such rows, in a. */
static inline int32_t inlay_mm_together(const inlay_matmul_params *p,
                                        const inlay_step *s, int32_t r0,
                                        int32_t r1, size_t size)
{
    const size_t lines = (size_t)p->lines * size;
    int32_t y, a;
    if (!p->by_row)
        return r1 - r0;
    y = inlay_rows_together(s, 0, r0, r1, lines * (size_t)p->n);
    a = inlay_rows_together(s, 1, r0, r1, lines * (size_t)p->am);
    return y < a ? y : a;
}

#define INLAY_T float
#define INLAY_A float
#define inlay_typed(name) inlay_##name##_f32
#define INLAY_ONE inlay_mm_f32
#include "kernels/matmul.inc.h"

#define INLAY_T double
#define INLAY_A double
#define inlay_typed(name) inlay_##name##_f64
#define INLAY_ONE inlay_mm_plain_f64
#include "kernels/matmul.inc.h"

#define INLAY_T uint32_t
#define INLAY_A int64_t
#define inlay_typed(name) inlay_##name##_u32
#define INLAY_ONE inlay_mm_plain_u32
#include "kernels/matmul.inc.h"

#define INLAY_T uint64_t
#define INLAY_A int64_t
#define inlay_typed(name) inlay_##name##_u64
#define INLAY_ONE inlay_mm_plain_u64
#include "kernels/matmul.inc.h"

#endif
