/* SPDX-License-Identifier: 0BSD
 * Elements change place, not value, by element size: Transpose, Slice, Expand, Tile, Concat, Split,
 * Pad, DepthToSpace, SpaceToDepth and both layout changes of an image. Where: selection by a mask.
 *
 * y[sum at[d] y_d + y0] = x[sum at[d] x_d + x0] for all 0 <= at[d] < n[d]
 *
 * A stride of 0 repeats, a negative one reverses. Unit u of an operand without rows
 * begins (u / units_in) * outer + (u % units_in) * inner elements in. */
#ifndef INLAY_MOVE_H
#define INLAY_MOVE_H

#include "nd.h"

#define INLAY_move_FIELDS(F, N) \
    F(int32_t, rank)     /* loops of a unit, 1 .. 8, outermost first */ \
    F(int32_t, rows)     /* bit i: operand i has a row for each unit */ \
    F(int32_t, units_in) /* units of an operand without rows until `outer` counts one up */ \
    F(int32_t, outer)    /* elements from one group of units_in units to the next */ \
    F(int32_t, inner)    /* elements from a unit to the next of its group */ \
    F(int32_t, y0)       /* elements to the first of the result */ \
    F(int32_t, x0)       /* elements to the first of the source */ \
    F(int32_t, pixel)    /* the loop from pixel to pixel of the operand with rows, -1: none */ \
    N(int32_t, n, 8)     /* sizes */ \
    N(int32_t, y, 8)     /* strides of the result, elements */ \
    N(int32_t, x, 8)     /* strides of the source, elements */
INLAY_PARAMS(move);

#if defined __GNUC__
#define INLAY_ALIAS __attribute__((may_alias))
#else
#define INLAY_ALIAS
#endif
typedef uint8_t inlay_w8;
typedef uint16_t INLAY_ALIAS inlay_w16;
typedef uint32_t INLAY_ALIAS inlay_w32;
typedef uint64_t INLAY_ALIAS inlay_w64;
typedef struct INLAY_ALIAS inlay_w128 {
    uint64_t half[2];
} inlay_w128;

/* Element offset of unit u of operand i. */
static inline ptrdiff_t inlay_move_start(const inlay_move_params *p, int i, int32_t u)
{
    const ptrdiff_t at = i == 0 ? p->y0 : p->x0;
    if (p->rows >> i & 1)
        return at;
    return at + (ptrdiff_t)(u / p->units_in) * p->outer + (ptrdiff_t)(u % p->units_in) * p->inner;
}

/* Inner two loops: y[i yi + j yj] = x[i xi + j xj], i < n, j < m. */
typedef void inlay_plane(void *y, const void *x, const int32_t *n, const int32_t *ys,
                         const int32_t *xs);

static inline int inlay_move(void *const *base, const inlay_step *s, int32_t r0, int32_t r1,
                             size_t size, inlay_plane *plane)
{
    const inlay_move_params *p = (const inlay_move_params *)s->params;
    const int32_t last = p->rank - 2;
    int32_t ys[8], xs[8];
    memcpy(ys, p->y, sizeof ys);
    memcpy(xs, p->x, sizeof xs);
    if (p->pixel >= 0 && (p->rows & 1))
        ys[p->pixel] = s->ref[0].pix;
    if (p->pixel >= 0 && (p->rows & 2))
        xs[p->pixel] = s->ref[1].pix;
    for (; r0 < r1; r0++) {
        unsigned char *y =
            inlay_operand(base, s, 0, p->rows, r0) + inlay_move_start(p, 0, r0) * (ptrdiff_t)size;
        const unsigned char *x =
            inlay_operand(base, s, 1, p->rows, r0) + inlay_move_start(p, 1, r0) * (ptrdiff_t)size;
        int32_t at[8] = { 0 };
        int32_t d;
        do {
            plane(y, x, p->n + last, ys + last, xs + last);
            for (d = last - 1; d >= 0; d--) {
                y += (ptrdiff_t)ys[d] * (ptrdiff_t)size;
                x += (ptrdiff_t)xs[d] * (ptrdiff_t)size;
                if (++at[d] < p->n[d])
                    break;
                y -= (ptrdiff_t)ys[d] * p->n[d] * (ptrdiff_t)size;
                x -= (ptrdiff_t)xs[d] * p->n[d] * (ptrdiff_t)size;
                at[d] = 0;
            }
        } while (d >= 0);
    }
    return 0;
}

/* A transposition goes in tiles that pass through t: whole cache lines are read and written. */
#define INLAY_MOVE(bits) \
    static inline void inlay_turn_##bits(inlay_w##bits *y, const inlay_w##bits *x, int32_t n, \
                                         int32_t m, int32_t yi, int32_t xj) \
    { \
        inlay_w##bits t[16][16]; \
        int32_t i, j, k, l; \
        for (i = 0; i < n; i += 16) { \
            const int32_t e = n - i < 16 ? n - i : 16; \
            for (j = 0; j < m; j += 16) { \
                const inlay_w##bits *q = x + (ptrdiff_t)j * xj + i; \
                inlay_w##bits *o = y + (ptrdiff_t)i * yi + j; \
                const int32_t f = m - j < 16 ? m - j : 16; \
                if (e == 16 && f == 16) { \
                    for (l = 0; l < 16; l++) \
                        for (k = 0; k < 16; k++) \
                            t[k][l] = q[(ptrdiff_t)l * xj + k]; \
                    for (k = 0; k < 16; k++) \
                        memcpy(o + (ptrdiff_t)k * yi, t[k], sizeof t[k]); \
                } else \
                    for (l = 0; l < f; l++) \
                        for (k = 0; k < e; k++) \
                            o[(ptrdiff_t)k * yi + l] = q[(ptrdiff_t)l * xj + k]; \
            } \
        } \
    } \
    static inline void inlay_line_##bits(inlay_w##bits *y, const inlay_w##bits *x, int32_t m, \
                                         int32_t yj, int32_t xj) \
    { \
        int32_t j; \
        if (yj == 1 && xj == 1 && m > 8) \
            memcpy(y, x, (size_t)m * sizeof *y); \
        else if (yj == 1 && xj == 1) \
            for (j = 0; j < m; j++) \
                y[j] = x[j]; \
        else if (yj == 1 && xj == 0) { \
            const inlay_w##bits v = x[0]; \
            for (j = 0; j < m; j++) \
                y[j] = v; \
        } else \
            for (j = 0; j < m; j++) \
                y[(ptrdiff_t)j * yj] = x[(ptrdiff_t)j * xj]; \
    } \
    static inline void inlay_plane_##bits(void *yv, const void *xv, const int32_t *n, \
                                          const int32_t *ys, const int32_t *xs) \
    { \
        inlay_w##bits *y = (inlay_w##bits *)yv; \
        const inlay_w##bits *x = (const inlay_w##bits *)xv; \
        int32_t i; \
        if (ys[1] == 1 && xs[0] == 1 && xs[1] != 1 && n[0] > 1) \
            inlay_turn_##bits(y, x, n[0], n[1], ys[0], xs[1]); \
        else \
            for (i = 0; i < n[0]; i++) \
                inlay_line_##bits(y + (ptrdiff_t)i * ys[0], x + (ptrdiff_t)i * xs[0], n[1], ys[1], \
                                  xs[1]); \
    } \
    static inline int inlay_move_##bits(void *const *base, const inlay_step *s, int32_t r0, \
                                        int32_t r1) \
    { \
        return inlay_move(base, s, r0, r1, sizeof(inlay_w##bits), inlay_plane_##bits); \
    }

INLAY_MOVE(8)
INLAY_MOVE(16)
INLAY_MOVE(32)
INLAY_MOVE(64)
INLAY_MOVE(128)

/* y = a ? b : c, broadcast; a is bool. */
#define INLAY_SELECT(bits) \
    static inline void inlay_select_##bits##_n(void *yv, const void *av, const void *bv, \
                                               const void *cv, int32_t n, int32_t sa, int32_t sb, \
                                               int32_t sc) \
    { \
        inlay_w##bits *y = (inlay_w##bits *)yv; \
        const uint8_t *a = (const uint8_t *)av; \
        const inlay_w##bits *b = (const inlay_w##bits *)bv, *c = (const inlay_w##bits *)cv; \
        int32_t i; \
        for (i = 0; i < n; i++) \
            y[i] = a[(ptrdiff_t)i * sa] ? b[(ptrdiff_t)i * sb] : c[(ptrdiff_t)i * sc]; \
    } \
    static inline int inlay_select_##bits(void *const *base, const inlay_step *s, int32_t r0, \
                                          int32_t r1) \
    { \
        size_t size[4]; \
        size[0] = size[2] = size[3] = sizeof(inlay_w##bits), size[1] = 1; \
        return inlay_nd3(base, s, r0, r1, size, inlay_select_##bits##_n); \
    }

INLAY_SELECT(8)
INLAY_SELECT(16)
INLAY_SELECT(32)
INLAY_SELECT(64)
INLAY_SELECT(128)

#endif
