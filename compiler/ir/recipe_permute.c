/* SPDX-License-Identifier: Apache-2.0
 * Elements of a box as they were read, brought into the order of the result: the inner two loops
 * are blocked, so that neither side is walked by columns. */
#include <string.h>

#include "base/size.h"
#include "ir/recipe_tile.h"

typedef struct Quad {
    uint64_t half[2];
} Quad;

/* rows x n elements; 16 is the width of packed kernels and gets constant loops. */
#define PERMUTE(T) \
    static void permute_##T(T *restrict out, const T *restrict in, int64_t rows, int64_t row_step, \
                            int64_t n, int64_t step) \
    { \
        if (step == 1) { \
            for (int64_t q = 0; q < rows; q++) { \
                if (n == 16) \
                    memcpy(out + q * 16, in + q * row_step, 16 * sizeof(T)); \
                else \
                    memcpy(out + q * n, in + q * row_step, (size_t)n * sizeof(T)); \
            } \
            return; \
        } \
        if (n == 16) { \
            int64_t q = 0; \
            for (; row_step == 1 && q + 16 <= rows; q += 16) { \
                T t[16][16]; \
                for (int i = 0; i < 16; i++) \
                    for (int k = 0; k < 16; k++) \
                        t[k][i] = in[q + k + i * step]; \
                memcpy(out + q * 16, t, sizeof t); \
            } \
            for (; q < rows; q++) \
                for (int i = 0; i < 16; i++) \
                    out[q * 16 + i] = in[q * row_step + i * step]; \
            return; \
        } \
        for (int64_t q0 = 0; q0 < rows; q0 += 16) \
            for (int64_t i0 = 0; i0 < n; i0 += 16) { \
                const int64_t q1 = i64_min(rows, q0 + 16), i1 = i64_min(n, i0 + 16); \
                if (row_step == 1 && q1 - q0 == 16 && i1 - i0 == 16) { \
                    T t[16][16]; \
                    for (int i = 0; i < 16; i++) \
                        for (int k = 0; k < 16; k++) \
                            t[k][i] = in[q0 + k + (i0 + i) * step]; \
                    for (int k = 0; k < 16; k++) \
                        memcpy(out + (q0 + k) * n + i0, t[k], sizeof t[k]); \
                    continue; \
                } \
                for (int64_t q = q0; q < q1; q++) \
                    for (int64_t i = i0; i < i1; i++) \
                        out[q * n + i] = in[q * row_step + i * step]; \
            } \
    }
PERMUTE(uint8_t)
PERMUTE(uint16_t)
PERMUTE(uint32_t)
PERMUTE(uint64_t)
PERMUTE(Quad)

typedef struct Loops {
    int n;
    int64_t dim[FACTORS + 2], step[FACTORS + 2];
} Loops;

/* The box as loops over the buffer, outermost first: joined where the buffer steps as one, at least
 * two. */
static Loops permute_loops(int rank, const Box *box, const ReadPlan *plan)
{
    Loops loops = { .n = 2, .dim = { 1, 1 } };
    for (int k = 0; k < rank; k++) {
        if (box->n[k] == 1)
            continue;
        if (loops.n > 2 && loops.step[loops.n - 1] == plan->step[k] * box->n[k]) {
            loops.dim[loops.n - 1] *= box->n[k];
        } else {
            loops.dim[loops.n++] = box->n[k];
        }
        loops.step[loops.n - 1] = plan->step[k];
    }
    return loops;
}

static void permute_rows(size_t size, uint8_t *out, const uint8_t *in, int64_t rows,
                         int64_t row_step, int64_t n, int64_t step)
{
    switch (size) {
    case 1:
        permute_uint8_t(out, in, rows, row_step, n, step);
        break;
    case 2:
        permute_uint16_t((void *)out, (const void *)in, rows, row_step, n, step);
        break;
    case 4:
        permute_uint32_t((void *)out, (const void *)in, rows, row_step, n, step);
        break;
    case 8:
        permute_uint64_t((void *)out, (const void *)in, rows, row_step, n, step);
        break;
    default:
        permute_Quad((void *)out, (const void *)in, rows, row_step, n, step);
    }
}

void box_permute(int rank, const Box *box, const ReadPlan *plan, size_t size, const uint8_t *in,
                 uint8_t *out)
{
    const Loops loops = permute_loops(rank, box, plan);
    const int64_t rows = loops.dim[loops.n - 2];
    const int64_t n = loops.dim[loops.n - 1];
    int64_t i[FACTORS + 2] = { 0 };
    int64_t at = plan->origin;
    for (;; out += rows * n * (int64_t)size) {
        permute_rows(size, out, in + at * (int64_t)size, rows, loops.step[loops.n - 2], n,
                     loops.step[loops.n - 1]);
        int j = loops.n - 3;
        for (; j >= 0; j--) {
            at += loops.step[j];
            if (++i[j] < loops.dim[j])
                break;
            at -= loops.step[j] * i[j];
            i[j] = 0;
        }
        if (j < 0)
            return;
    }
}
