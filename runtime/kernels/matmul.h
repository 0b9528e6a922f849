/* SPDX-License-Identifier: 0BSD
 * Matrix products whose right operand is not a packed constant (those are convolutions of 1x1).
 *
 *   y[..][i][j] = alpha * sum over k: a[..][i][k] b[..][k][j]  + beta * c[..][i][j]
 *
 * y [batch...][M][N] is row-major; a, b and c (may be left out) are reached by strides in elements,
 * 0 where a dimension is broadcast. Operands: y, a, b, c. One unit: everything. */
#ifndef INLAY_MATMUL_H
#define INLAY_MATMUL_H

#include "inlay.h"
#include "kernels/tile_f32.h"

#define INLAY_matmul_FIELDS(F, N) \
    F(int32_t, m) \
    F(int32_t, n) \
    F(int32_t, k) \
    N(int32_t, batch, 6)   /* dimensions of the batch, 1 where there are fewer */ \
    N(int64_t, a_batch, 6) /* strides of a, b, c over the batch */ \
    N(int64_t, b_batch, 6) \
    N(int64_t, c_batch, 6) \
    F(int64_t, am) /* strides of a over rows and k */ \
    F(int64_t, ak) \
    F(int64_t, bk) /* strides of b over k and columns */ \
    F(int64_t, bn) \
    F(int64_t, cm) /* strides of c over rows and columns */ \
    F(int64_t, cn) \
    F(float, alpha) \
    F(float, beta)
INLAY_PARAMS(matmul);

/* One matrix of float32 whose b has adjacent columns: tiles of the register-blocked product. */
#define INLAY_MM_DIRECT(NAME, N, L) INLAY_TILES(NAME, N, L, t->piece, N *L)
#if INLAY_VL == 16
INLAY_MM_DIRECT(inlay_mm_64, 4, 16)
INLAY_MM_DIRECT(inlay_mm_16, 1, 16)
INLAY_MM_DIRECT(inlay_mm_4, 1, 4)
#elif INLAY_VL == 8
INLAY_MM_DIRECT(inlay_mm_16, 2, 8)
INLAY_MM_DIRECT(inlay_mm_4, 1, 4)
#elif INLAY_VL == 4
INLAY_MM_DIRECT(inlay_mm_16, 4, 4)
INLAY_MM_DIRECT(inlay_mm_4, 1, 4)
#else
INLAY_MM_DIRECT(inlay_mm_4, 4, 1)
#endif
INLAY_MM_DIRECT(inlay_mm_1, 1, 1)

static inline void inlay_mm_tiles(const inlay_matmul_params *p, float *y, const float *a,
                                  const float *b)
{
    static const float zero[64] = { 0 };
    const int32_t tiles = (p->m + INLAY_TILE_P - 1) / INLAY_TILE_P;
    inlay_tile t = { 0 };
    int32_t i, j, rows;
    t.x = a;
    t.cap = t.nkd = t.nkh = t.pieces = 1;
    t.run = p->k;
    t.xs = (ptrdiff_t)p->am;
    t.ys = p->n;
    t.piece = (ptrdiff_t)p->bk;
    for (j = 0; j < p->n;) {
        const int32_t left = p->n - j;
        const int32_t width = left >= 64 && INLAY_VL == 16 ? 64
                              : left >= 16 && INLAY_VL > 1 ? 16
                              : left >= 4                  ? 4
                                                           : 1;
        for (i = 0; i < tiles; i++) {
            const int32_t r = inlay_tile_cut(p->m, tiles, i, &rows);
            const ptrdiff_t at = (ptrdiff_t)r * t.xs;
            float *yr = y + (ptrdiff_t)r * p->n + j;
#if INLAY_VL == 16
            if (width == 64)
                inlay_mm_64(&t, rows, 1, at, b + j, zero, yr, NULL, 0);
#endif
#if INLAY_VL > 1
            if (width == 16)
                inlay_mm_16(&t, rows, 1, at, b + j, zero, yr, NULL, 0);
#endif
            if (width == 4)
                inlay_mm_4(&t, rows, 1, at, b + j, zero, yr, NULL, 0);
            if (width == 1)
                inlay_mm_1(&t, rows, 1, at, b + j, zero, yr, NULL, 0);
        }
        j += width;
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
            u = INLAY_V(fma)(INLAY_V(load)(a + k + INLAY_VL), INLAY_V(load)(b + k + INLAY_VL), u);
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

/* Any strides. */
#define INLAY_MM_PLAIN(SUFFIX, T) \
    static inline void inlay_mm_plain_##SUFFIX(const inlay_matmul_params *p, T *y, const T *a, \
                                               const T *b) \
    { \
        int32_t i, j, k; \
        for (i = 0; i < p->m; i++) { \
            T *yr = y + (int64_t)i * p->n; \
            for (j = 0; j < p->n; j++) \
                yr[j] = 0; \
            for (k = 0; k < p->k; k++) { \
                const T v = a[i * p->am + k * p->ak]; \
                const T *br = b + k * p->bk; \
                for (j = 0; j < p->n; j++) \
                    yr[j] = (T)(yr[j] + v * br[j * p->bn]); \
            } \
        } \
    }

static inline void inlay_mm_dots(const inlay_matmul_params *p, float *y, const float *a,
                                 const float *b)
{
    int32_t i, j;
    for (i = 0; i < p->m; i++)
        for (j = 0; j < p->n; j++)
            y[(int64_t)i * p->n + j] = inlay_dot_f32(a + i * p->am, b + j * p->bn, p->k);
}
INLAY_MM_PLAIN(f32, float)

static inline void inlay_mm_f32(const inlay_matmul_params *p, float *y, const float *a,
                                const float *b)
{
    if (p->ak == 1 && (p->bn == 1 || p->n == 1))
        inlay_mm_tiles(p, y, a, b);
    else if (p->ak == 1 && p->bk == 1)
        inlay_mm_dots(p, y, a, b);
    else
        inlay_mm_plain_f32(p, y, a, b);
}

/* The batch in row-major order; ONE multiplies two matrices; FINISH: y[i][j] from y, c and the
 * factors. */
#define INLAY_MATMUL(NAME, T, ONE, FINISH) \
    static inline int NAME(void *const *base, const inlay_step *s, int32_t r0, int32_t r1) \
    { \
        const inlay_matmul_params *p = (const inlay_matmul_params *)s->params; \
        T *y = (T *)inlay_at(base, s, 0); \
        const T *a = (const T *)inlay_at(base, s, 1), *b = (const T *)inlay_at(base, s, 2), \
                *c = (const T *)inlay_at(base, s, 3); \
        int32_t at[6] = { 0, 0, 0, 0, 0, 0 }, d, i, j; \
        (void)r0, (void)r1; \
        for (;;) { \
            int64_t ao = 0, bo = 0, co = 0; \
            for (d = 0; d < 6; d++) \
                ao += at[d] * p->a_batch[d], bo += at[d] * p->b_batch[d], \
                    co += at[d] * p->c_batch[d]; \
            ONE(p, y, a + ao, b + bo); \
            if (c || p->alpha != 1.0f) \
                for (i = 0; i < p->m; i++) \
                    for (j = 0; j < p->n; j++) { \
                        T *v = y + (int64_t)i * p->n + j; \
                        FINISH \
                    } \
            y += (int64_t)p->m * p->n; \
            for (d = 5; d >= 0; d--) { \
                if (++at[d] < p->batch[d]) \
                    break; \
                at[d] = 0; \
            } \
            if (d < 0) \
                return 0; \
        } \
    }
#define INLAY_MATMUL_REAL(T) \
    *v = (T)p->alpha * *v + (c ? (T)p->beta * c[co + i * p->cm + j * p->cn] : (T)0);
#define INLAY_MATMUL_WHOLE(T) \
    *v = (T)((T)(int64_t)p->alpha * *v + \
             (c ? (T)(int64_t)p->beta * c[co + i * p->cm + j * p->cn] : (T)0));
INLAY_MATMUL(inlay_matmul_f32, float, inlay_mm_f32, INLAY_MATMUL_REAL(float))
INLAY_MM_PLAIN(f64, double)
INLAY_MATMUL(inlay_matmul_f64, double, inlay_mm_plain_f64, INLAY_MATMUL_REAL(double))
INLAY_MM_PLAIN(u32, uint32_t)
INLAY_MATMUL(inlay_matmul_u32, uint32_t, inlay_mm_plain_u32, INLAY_MATMUL_WHOLE(uint32_t))
INLAY_MM_PLAIN(u64, uint64_t)
INLAY_MATMUL(inlay_matmul_u64, uint64_t, inlay_mm_plain_u64, INLAY_MATMUL_WHOLE(uint64_t))

#endif
