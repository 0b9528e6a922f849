/* SPDX-License-Identifier: Apache-2.0
 * Elements of a box as they were read, brought into the order of the result: the inner two loops
 * are blocked, so that neither side is walked by columns. */
#include <string.h>

#include "base/size.h"
#include "ir/recipe_tile.h"

typedef struct Quad {
    uint64_t half[2];
} Quad;

enum {
    SIDE = 16
}; /* of a block; also the width of packed kernels, which gets constant loops */

/* rows x n elements; row_step from row to row of the buffer, step from element to element. */
typedef struct Matrix {
    int64_t rows, row_step;
    int64_t n, step;
} Matrix;

/* The elements of a row lie together. */
static void copy_rows(uint8_t *restrict out, const uint8_t *restrict in,
                      const Matrix *matrix, size_t size)
{
    const size_t bytes = (size_t)matrix->n * size;
    const int64_t step = matrix->row_step * (int64_t)size;
    for (int64_t row = 0; row < matrix->rows; row++) {
        memcpy(out, in, bytes);
        out += bytes;
        in += step;
    }
}

#define PERMUTE(T) \
    static inline void block_##T(T *restrict out, const T *restrict in, \
                                 int64_t pitch, int64_t step) \
    { \
        T block[SIDE][SIDE]; \
        for (int i = 0; i < SIDE; i++) \
            for (int k = 0; k < SIDE; k++) \
                block[k][i] = in[k + i * step]; \
        for (int k = 0; k < SIDE; k++) \
            memcpy(out + k * pitch, block[k], sizeof block[k]); \
    } \
    static inline void part_##T(T *restrict out, const T *restrict in, \
                                const Matrix *from, int64_t rows, int64_t n) \
    { \
        for (int64_t row = 0; row < rows; row++) \
            for (int64_t i = 0; i < n; i++) \
                out[row * from->n + i] = \
                    in[row * from->row_step + i * from->step]; \
    } \
    static inline void blocks_##T(T *restrict out, const T *restrict in, \
                                  const Matrix *from, int64_t row, \
                                  int64_t rows) \
    { \
        for (int64_t i = 0; i < from->n; i += SIDE) { \
            const int64_t n = i64_min(SIDE, from->n - i); \
            T *to = out + row * from->n + i; \
            const T *at = in + row * from->row_step + i * from->step; \
            if (from->row_step == 1 && rows == SIDE && n == SIDE) \
                block_##T(to, at, from->n, from->step); \
            else if (n == SIDE) \
                part_##T(to, at, from, rows, SIDE); \
            else \
                part_##T(to, at, from, rows, n); \
        } \
    } \
    static void permute_##T(T *restrict out, const T *restrict in, \
                            const Matrix *from) \
    { \
        for (int64_t row = 0; row < from->rows; row += SIDE) \
            blocks_##T(out, in, from, row, i64_min(SIDE, from->rows - row)); \
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
        int last = loops.n - 1;
        const bool joins =
            last > 1 && loops.step[last] == plan->step[k] * box->n[k];
        if (joins) {
            loops.dim[last] *= box->n[k];
        } else {
            last = loops.n++;
            loops.dim[last] = box->n[k];
        }
        loops.step[last] = plan->step[k];
    }
    return loops;
}

static void permute_matrix(size_t size, void *out, const void *in,
                           const Matrix *matrix)
{
    if (matrix->step == 1) {
        copy_rows(out, in, matrix, size);
        return;
    }
    switch (size) {
    case 1:
        permute_uint8_t(out, in, matrix);
        break;
    case 2:
        permute_uint16_t(out, in, matrix);
        break;
    case 4:
        permute_uint32_t(out, in, matrix);
        break;
    case 8:
        permute_uint64_t(out, in, matrix);
        break;
    default:
        permute_Quad(out, in, matrix);
    }
}

/* To the next matrix by the outer loops; false: it was the last. */
static bool next_matrix(const Loops *loops, int64_t *index, int64_t *at)
{
    for (int k = loops->n - 2; k-- > 0;) {
        *at += loops->step[k];
        if (++index[k] < loops->dim[k])
            return true;
        *at -= loops->step[k] * index[k];
        index[k] = 0;
    }
    return false;
}

void box_permute(int rank, const Box *box, const ReadPlan *plan, size_t size,
                 const uint8_t *in, uint8_t *out)
{
    const Loops loops = permute_loops(rank, box, plan);
    const int last = loops.n - 1;
    const Matrix matrix = {
        .rows = loops.dim[last - 1],
        .row_step = loops.step[last - 1],
        .n = loops.dim[last],
        .step = loops.step[last],
    };
    const int64_t bytes = matrix.rows * matrix.n * (int64_t)size;
    int64_t index[FACTORS + 2] = { 0 };
    int64_t at = plan->origin;
    do {
        permute_matrix(size, out, in + at * (int64_t)size, &matrix);
        out += bytes;
    } while (next_matrix(&loops, index, &at));
}
