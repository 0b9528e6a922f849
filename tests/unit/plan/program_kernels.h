/* SPDX-License-Identifier: Apache-2.0
 * Kernels of programs made by hand. They really compute (sums of products of all the rows a unit
 * needs, on integers), so that a wrong plan gives wrong results. */
#ifndef TEST_PROGRAM_KERNELS_H
#define TEST_PROGRAM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ir/program.h"

enum { MOST_IN = 4, ROW_ROOM = 4096 };

typedef struct OpFacts {
    uint32_t salt;
    int n_in, scratch; /* scratch: index of that operand, 0: none */
    int32_t y_w, y_c, units;
    int32_t w[MOST_IN], c[MOST_IN], rows[MOST_IN];
    RowRule rule[MOST_IN];
    bool sums;
    PixelRule pixels; /* of the one input */
} OpFacts;

static inline uint32_t *pixel_at(void *const *base, const inlay_step *s, int i,
                                 int32_t row, int32_t x)
{
    return (uint32_t *)inlay_row(base, s, i, row) +
           (ptrdiff_t)x * s->ref[i].pix;
}

static inline void rule_rows(const RowRule *r, int32_t u, int32_t rows,
                             int32_t *lo, int32_t *hi)
{
    *lo = 0;
    *hi = rows;
    if (r->kind == ROWS_SAME || r->kind == ROWS_UNIT) {
        *lo = u;
        *hi = u + 1;
    }
    if (r->kind != ROWS_WINDOW)
        return;
    *lo = u * r->stride - r->pad;
    *hi = *lo + r->extent;
    if (*lo < 0)
        *lo = 0;
    if (*hi > rows)
        *hi = rows;
}

/* A row goes through `row`, as a kernel's registers would hold it. */
static inline void op_row(void *const *base, const inlay_step *s,
                          const OpFacts *f, int32_t u)
{
    uint32_t local[ROW_ROOM],
        *row = f->scratch ? (uint32_t *)inlay_at(base, s, f->scratch) : local;
    for (int32_t x = 0; x < f->y_w; x++)
        for (int32_t c = 0; c < f->y_c; c++) {
            uint32_t sum = f->salt + (uint32_t)(u * 31 + x * 7 + c);
            for (int k = 0; k < f->n_in; k++) {
                int32_t lo, hi;
                rule_rows(&f->rule[k], u, f->rows[k], &lo, &hi);
                for (int32_t r = lo; r < hi; r++)
                    sum +=
                        pixel_at(base, s, k + 1, r, x % f->w[k])[c % f->c[k]] *
                        (uint32_t)(2 * r + 3 + k);
            }
            row[x * f->y_c + c] = sum * 2654435761u;
        }
    for (int32_t x = 0; x < f->y_w; x++)
        memcpy(pixel_at(base, s, 0, u, x), row + x * f->y_c,
               (size_t)f->y_c * 4);
}

static inline int run_op(void *const *base, const inlay_step *s, int32_t r0,
                         int32_t r1)
{
    for (int32_t i = r0; i < r1; i++)
        op_row(base, s, s->params, s->backward ? r1 - 1 - (i - r0) : i);
    return 0;
}

static inline uint32_t window_sum(void *const *base, const inlay_step *s,
                                  const OpFacts *f, int32_t u, int32_t x)
{
    const PixelRule *p = &f->pixels;
    int32_t lo, hi;
    uint32_t sum = f->salt + (uint32_t)(u * 31 + x * 7);
    rule_rows(&f->rule[0], u, f->rows[0], &lo, &hi);
    for (int32_t r = lo; r < hi; r++)
        for (int32_t k = 0; k < p->extent; k++) {
            const int32_t column = x * p->stride - p->pad + k;
            for (int32_t c = 0; column >= 0 && column < f->w[0] && c < f->c[0];
                 c++)
                sum += pixel_at(base, s, 1, r, column)[c] *
                       (uint32_t)(2 * r + 3 * k + c + 5);
        }
    return sum;
}

/* Pixel by pixel in tiles, each tile in the order that asks most of the plan: the last of its
 * pixels first. */
static inline int run_pixels(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1)
{
    const OpFacts *f = s->params;
    for (int32_t i = r0; i < r1; i++) {
        const int32_t u = s->backward ? r1 - 1 - (i - r0) : i;
        for (int32_t t = 0; t < f->y_w; t += f->pixels.tile)
            for (int32_t k = f->pixels.tile - 1; k >= 0; k--) {
                if (t + k >= f->y_w)
                    continue;
                const int32_t x = s->backward ? f->y_w - 1 - t - k : t + k;
                for (int32_t c = 0; c < f->y_c; c++)
                    pixel_at(base, s, 0, u, x)[c] =
                        (window_sum(base, s, f, u, x) + (uint32_t)c) *
                        2654435761u;
            }
    }
    return 0;
}

/* Order matters: y = y * 31 + row. */
static inline int run_sum(void *const *base, const inlay_step *s, int32_t r0,
                          int32_t r1)
{
    const OpFacts *f = s->params;
    for (int32_t u = r0; u < r1; u++)
        for (int32_t x = 0; x < f->y_w; x++)
            for (int32_t c = 0; c < f->y_c; c++) {
                uint32_t *y = pixel_at(base, s, 0, 0, x) + c;
                *y = (u ? *y : f->salt) * 31 +
                     pixel_at(base, s, 1, u, x % f->w[0])[c % f->c[0]];
            }
    return 0;
}

static inline int run_elementwise(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1)
{
    const OpFacts *f = s->params;
    for (int32_t u = r0; u < r1; u++)
        for (int32_t x = 0; x < f->y_w; x++)
            for (int32_t c = 0; c < f->y_c; c++) {
                uint32_t sum = f->salt;
                for (int k = 0; k < f->n_in; k++)
                    sum += pixel_at(base, s, k + 1, u, x)[c] *
                           (uint32_t)(2 * k + 3);
                pixel_at(base, s, 0, u, x)[c] = sum;
            }
    return 0;
}

/* The image at once, as an operator that knows no rows. */
static inline int run_whole(void *const *base, const inlay_step *s, int32_t r0,
                            int32_t r1)
{
    const OpFacts *f = s->params;
    const uint32_t *x = inlay_at(base, s, 1);
    uint32_t *y = inlay_at(base, s, 0), sum = f->salt;
    for (int32_t i = 0; i < f->rows[0] * f->w[0] * f->c[0]; i++)
        sum = sum * 31 + x[i];
    for (int32_t i = 0; i < f->units * f->y_w * f->y_c; i++)
        y[i] = sum + (uint32_t)i;
    (void)r0, (void)r1;
    return 0;
}

static const KernelRow kernel_whole = { .name = "whole",
                                        .params = "op",
                                        .run = run_whole };
static const KernelRow kernel_op = { .name = "op",
                                     .params = "op",
                                     .run = run_op };
static const KernelRow kernel_pixels = { .name = "pixels",
                                         .params = "op",
                                         .run = run_pixels };
static const KernelRow kernel_sum = { .name = "sum",
                                      .params = "op",
                                      .run = run_sum };
static const KernelRow kernel_elementwise = { .name = "elementwise",
                                              .params = "op",
                                              .run = run_elementwise };

#endif
