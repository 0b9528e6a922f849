/* SPDX-License-Identifier: Apache-2.0
 * Moves that can go by the rows of their source: each is taken once, in order, and its elements go
 * wherever they belong in the result. That is there as a whole, the source need not be: a matrix
 * that is transposed while it is made. */
#include "base/size.h"
#include "kernels/move.h"
#include "ops/nest.h"

enum { LEAST_ROW = 64 }; /* bytes; below, a call per row costs too much */

/* Loops that go from row to row of the source, the slower one first: rounds, and elements of the
 * result from one to the next. */
typedef struct SourceRows {
    int64_t n[2];
    int64_t y[2];
} SourceRows;

static void drop_loop(Move *move, int at)
{
    move->rank--;
    for (int i = at; i < move->rank; i++) {
        move->n[i] = move->n[i + 1];
        move->y[i] = move->y[i + 1];
        move->x[i] = move->x[i + 1];
    }
}

/* Does each loop stay within a row of so many elements or go from row to row, none backward? */
static bool keeps_rows(const Move *move, int64_t row)
{
    for (int i = 0; i < move->rank; i++) {
        const int64_t last = i64_mul(move->x[i], move->n[i] - 1);
        if (move->x[i] < 0 || move->y[i] < 0)
            return false;
        if (move->x[i] < row && last >= row)
            return false;
    }
    return true;
}

/* The loop whose steps in the source are of so many elements; -1: none. */
static int loop_of(const Move *move, int64_t stride)
{
    for (int i = 0; i < move->rank; i++)
        if (move->x[i] == stride && move->n[i] > 1)
            return i;
    return -1;
}

/* A loop around those that were found: it becomes one with the last of them where it goes on as
 * that one does in the result, too. False: it is one too many. */
static bool add_loop(SourceRows *rows, int *at, int64_t n, int64_t y)
{
    if (*at < 2 && y == i64_mul(rows->y[*at], rows->n[*at])) {
        rows->n[*at] = i64_mul(rows->n[*at], n);
        return true;
    }
    if (!*at)
        return false;
    (*at)--;
    rows->n[*at] = n;
    rows->y[*at] = y;
    return true;
}

/* Takes the loops from row to row out of the move; false: they do not go through all rows, up to
 * element `end`, in order and once each. */
static bool take_rows(Move *move, int64_t row, int64_t end, SourceRows *rows)
{
    int64_t next = row;
    int at = 2;
    *rows = (SourceRows){ .n = { 1, 1 } };
    if (!keeps_rows(move, row))
        return false;
    for (int i = loop_of(move, next); i >= 0; i = loop_of(move, next)) {
        if (!add_loop(rows, &at, move->n[i], move->y[i]))
            return false;
        next = i64_mul(next, move->n[i]);
        drop_loop(move, i);
    }
    for (int i = 0; i < move->rank; i++)
        if (move->x[i] >= row && move->n[i] > 1)
            return false;
    return next == end && move->rank > 0;
}

/* Is each element of the result written? Where it is not, another step wrote the others. */
static bool writes_all(const Tensor *out, const Move *move)
{
    int64_t written = 1;
    for (int i = 0; i < move->rank; i++)
        written = i64_mul(written, move->n[i]);
    return !move->y0 && written == tensor_count(out);
}

Step *lower_move_source(Lower *lower, Tensor *out, Tensor *in, const Move *move)
{
    SourceRows rows;
    Move unit = *move;
    Operand source = { .tensor = in };
    operand_image(&source);
    if (!in->producer || move->x0 || !writes_all(out, move))
        return NULL;
    if (source.rows < 2 || source.row_bytes < LEAST_ROW)
        return NULL;
    const int64_t end = tensor_count(in);
    if (!take_rows(&unit, end / source.rows, end, &rows))
        return NULL;
    const inlay_move_params params = {
        .rows = 2,
        .units_in = i32_checked(rows.n[1]),
        .outer = i32_checked(rows.y[0]),
        .inner = i32_checked(rows.y[1]),
    };
    Step *step = lower_move_unit(lower, out, in, &unit, params);
    Operand *x = step->operand + 1;
    operand_image(x);
    x->rule = (RowRule){ .kind = ROWS_UNIT };
    step->units = x->rows;
    return step;
}
