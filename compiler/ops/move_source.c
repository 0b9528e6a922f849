/* SPDX-License-Identifier: Apache-2.0
 * Moves that go by the rows of one operand, while the other is there as a whole. By rows of the
 * source: each is taken once, in order, and its elements go wherever they belong in the result: a
 * matrix that is transposed while it is made. By rows of the result: each is gathered from all of
 * the source, which costs nothing where that lies with the caller: an input that is transposed
 * while it is read. */
#include "base/size.h"
#include "kernels/move.h"
#include "ops/nest.h"

enum { LEAST_ROW = 64 }; /* bytes; below, a call per row costs too much */

/* Loops that go from row to row, the slower one first: rounds, and elements of the other operand
 * from one to the next. */
typedef struct RowLoops {
    int64_t n[2];
    int64_t step[2];
} RowLoops;

/* A move, seen from the operand that goes row by row: strides along it, and of the other one. */
typedef struct Sides {
    Move *move;
    int64_t *along;
    int64_t *other;
} Sides;

static Sides sides_of(Move *move, bool by_source)
{
    return (Sides){
        .move = move,
        .along = by_source ? move->x : move->y,
        .other = by_source ? move->y : move->x,
    };
}

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
static bool keeps_rows(const Sides *sides, int64_t row)
{
    for (int i = 0; i < sides->move->rank; i++) {
        const int64_t step = sides->along[i];
        const int64_t last = i64_mul(step, sides->move->n[i] - 1);
        if (step < 0 || sides->other[i] < 0)
            return false;
        if (step < row && last >= row)
            return false;
    }
    return true;
}

/* The loop whose steps along the rows are of so many elements; -1: none. */
static int loop_of(const Sides *sides, int64_t stride)
{
    for (int i = 0; i < sides->move->rank; i++)
        if (sides->along[i] == stride && sides->move->n[i] > 1)
            return i;
    return -1;
}

/* A loop around those that were found: it becomes one with the last of them where it goes on as
 * that one does in the other operand, too. False: it is one too many. */
static bool add_loop(RowLoops *rows, int *at, int64_t n, int64_t step)
{
    if (*at < 2 && step == i64_mul(rows->step[*at], rows->n[*at])) {
        rows->n[*at] = i64_mul(rows->n[*at], n);
        return true;
    }
    if (!*at)
        return false;
    (*at)--;
    rows->n[*at] = n;
    rows->step[*at] = step;
    return true;
}

/* Takes the loops from row to row out of the move; false: they do not go through all rows, up to
 * element `end`, in order and once each. */
static bool take_rows(const Sides *sides, int64_t row, int64_t end,
                      RowLoops *rows)
{
    Move *move = sides->move;
    int64_t next = row;
    int at = 2;
    *rows = (RowLoops){ .n = { 1, 1 } };
    if (!keeps_rows(sides, row))
        return false;
    for (int i = loop_of(sides, next); i >= 0; i = loop_of(sides, next)) {
        if (!add_loop(rows, &at, move->n[i], sides->other[i]))
            return false;
        next = i64_mul(next, move->n[i]);
        drop_loop(move, i);
    }
    for (int i = 0; i < move->rank; i++)
        if (sides->along[i] >= row && move->n[i] > 1)
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

/* A move as units: one row of operand `k` each, 0 the result, 1 the source. */
typedef struct RowMove {
    int k;
    int32_t units;
    RowLoops rows;
    Move unit;
} RowMove;

/* The rows of a source are those in which it was made. */
static void see_rows(const Lower *lower, Operand *operand, bool source)
{
    const int32_t rows = source ? lower_rows_made(lower, operand->tensor) : 0;
    operand_image(operand);
    if (rows > 1)
        operand_rows(operand, rows, operand->pixel);
}

/* false: that operand has no such rows. */
static bool move_by_rows(const Lower *lower, Tensor *out, Tensor *in,
                         const Move *move, int k, RowMove *made)
{
    Operand look = { .tensor = k ? in : out };
    see_rows(lower, &look, k);
    *made = (RowMove){ .k = k, .units = look.rows, .unit = *move };
    if (look.rows < 2 || look.row_bytes < LEAST_ROW || !writes_all(out, move))
        return false;
    const Sides sides = sides_of(&made->unit, k);
    const int64_t end = tensor_count(look.tensor);
    return take_rows(&sides, end / look.rows, end, &made->rows);
}

static Step *make_step(Lower *lower, Tensor *out, Tensor *in,
                       const RowMove *move)
{
    const RowLoops *rows = &move->rows;
    const inlay_move_params params = {
        .rows = 1 << move->k,
        .units_in = i32_checked(rows->n[1]),
        .outer = i32_checked(rows->step[0]),
        .inner = i32_checked(rows->step[1]),
    };
    Step *step = lower_move_unit(lower, out, in, &move->unit, params);
    see_rows(lower, step->operand + move->k, move->k);
    step->units = move->units;
    return step;
}

/* Is it there before the first step, rows and all? */
static bool stands_whole(const Lower *lower, Tensor *in)
{
    int64_t at;
    const Tensor *root = tensor_root(in, &at);
    return root->storage == STORE_INPUT &&
           graph_in_form(lower->program->graph, (size_t)root->slot) != IO_ROWS;
}

/* A unit writes anywhere in the result, which others read row by row. It has no rows where there
 * are as many as units: those would be taken for what units make. */
static void see_result(Step *step)
{
    const int32_t rows = lower_rows_read(step->operand->tensor);
    if (rows > 1 && rows != step->units)
        operand_rows(step->operand, rows, step->operand->pixel);
}

Step *lower_move_source(Lower *lower, Tensor *out, Tensor *in, const Move *move)
{
    RowMove by_rows;
    if (stands_whole(lower, in) || move->x0)
        return NULL;
    if (!move_by_rows(lower, out, in, move, 1, &by_rows))
        return NULL;
    Step *step = make_step(lower, out, in, &by_rows);
    step->operand[1].rule = (RowRule){ .kind = ROWS_UNIT };
    see_result(step);
    return step;
}

/* Does a unit read what lies together in the source, or can the kernel take several of them at once
 * that do (inlay_move_columns)? Else each would go through most lines of a cache. */
static bool reads_together(const RowMove *move)
{
    int loops = 0;
    for (int i = 0; i < move->unit.rank; i++) {
        if (move->unit.n[i] == 1)
            continue;
        if (move->unit.x[i] <= 1)
            return true;
        loops++;
    }
    return loops < 2 && move->rows.step[1] <= 1;
}

Step *lower_move_result(Lower *lower, Tensor *out, Tensor *in, const Move *move)
{
    RowMove by_rows;
    if (move->x0 < 0 || !move_by_rows(lower, out, in, move, 0, &by_rows))
        return NULL;
    if (!reads_together(&by_rows))
        return NULL;
    return make_step(lower, out, in, &by_rows);
}

Step *lower_move_beside(Lower *lower, Tensor *out, Tensor *in, const Move *move)
{
    if (!stands_whole(lower, in))
        return NULL;
    return lower_move_result(lower, out, in, move);
}
