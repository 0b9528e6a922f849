/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/pick.h"

#include "base/size.h"
#include "kernels/pick.h"
#include "ops/infer.h"
#include "ops/nest.h"

Pick pick_new(Lower *lower, Node *node, Tensor *out, Tensor *in)
{
    Pick pick = {
        .l = lower,
        .n = node,
        .out = out,
        .in = in,
    };
    for (int i = 0; i < out->shape.rank; i++) {
        const int64_t size = out->shape.dim[i];
        pick.table[i] = NEW_ARRAY(lower->arena, int64_t, size);
        for (int64_t k = 0; k < size; k++)
            pick.table[i][k] = k;
    }
    return pick;
}

static int64_t wrap(int64_t i, int64_t period)
{
    const int64_t r = i % period;
    return r < 0 ? r + period : r;
}

static int64_t edge_index(int64_t i, int64_t size, PickEdge edge)
{
    if (edge == PICK_WRAP)
        return wrap(i, size);
    if (edge == PICK_EDGE || size == 1)
        return i64_max(0, i64_min(i, size - 1));
    const int64_t r = wrap(i, 2 * size - 2);
    return r < size ? r : 2 * size - 2 - r;
}

void pick_padded(Pick *pick, int axis, int64_t before, int64_t size,
                 int64_t after, PickEdge edge)
{
    const int64_t cut = i64_max(0, -before);
    const int64_t left = size - cut - i64_max(0, -after);
    const int64_t count = pick->out->shape.dim[axis];
    const int64_t ahead = i64_max(0, before);
    if (count && left < 1)
        fail_node(pick->n, STATUS_MALFORMED, NULL,
                  "axis %d has no elements to repeat", axis);
    for (int64_t k = 0; k < count; k++)
        pick->table[axis][k] = cut + edge_index(k - ahead, left, edge);
}

static bool is_identity(const Pick *pick, int axis)
{
    if (pick->in->shape.dim[axis] != pick->out->shape.dim[axis])
        return false;
    for (int64_t k = 0; k < pick->out->shape.dim[axis]; k++)
        if (pick->table[axis][k] != k)
            return false;
    return true;
}

/* Trailing axes that stay as they are become one run. */
static int table_axes(const Pick *pick)
{
    int rank = pick->out->shape.rank;
    while (rank > 0 && is_identity(pick, rank - 1))
        rank--;
    return rank;
}

/* The row of the operand that is row `unit` of the result. */
static int32_t source_row(const Pick *pick, const Shape *from, const Shape *to,
                          int32_t unit)
{
    int64_t row = 0;
    int64_t rest = unit;
    int64_t stride = 1;
    for (int i = shape_row_axis(to) - 1; i >= 0; i--) {
        row += pick->table[i][rest % to->dim[i]] * stride;
        rest /= to->dim[i];
        stride *= from->dim[i];
    }
    return i32_checked(row);
}

static Step *pick_step(const Pick *pick, const inlay_pick_params *params,
                       DType type)
{
    Lower *lower = pick->l;
    const char *kernel =
        arena_printf(lower->arena, "pick_%d", dtype_bits(type));
    return lower_step(lower, kernel, params);
}

/* An image by rows: the row of the operand that each row of the result is, then the pixels. */
typedef struct RowTable {
    int32_t rows, width;
    int32_t *entry;
    Rows *needs; /* which rows of the operand each row needs */
} RowTable;

static RowTable row_table(const Pick *pick, const Shape *from, const Shape *to)
{
    const int pixels = shape_row_axis(to);
    const int64_t rows = shape_product(to, 0, pixels);
    const bool has_columns = pixels < to->rank - 1;
    RowTable table = {
        .rows = i32_checked(rows),
        .width = i32_checked(shape_row_pixels(to)),
    };
    const int64_t entries = i64_add(table.rows, table.width);
    table.entry = NEW_ARRAY(pick->l->arena, int32_t, entries);
    table.needs = NEW_ARRAY(pick->l->arena, Rows, table.rows + 1);
    for (int32_t u = 0; u < table.rows; u++) {
        const int32_t row = source_row(pick, from, to, u);
        table.entry[u] = row;
        table.needs[u] = (Rows){ row, row + 1 };
    }
    int32_t *columns = table.entry + table.rows;
    for (int32_t k = 0; has_columns && k < table.width; k++)
        columns[k] = i32_checked(pick->table[pixels][k]);
    return table;
}

/* Where rows of the operand lie, and which of them and of their pixels each row needs. */
static void read_picked(const Pick *pick, Operand *x, const RowTable *table)
{
    const Shape *from = &x->tensor->shape;
    const int pixels = shape_row_axis(&pick->out->shape);
    const int32_t rows = i32_checked(shape_product(from, 0, pixels));
    const int32_t *columns = table->entry + table->rows;
    operand_rows(x, rows, from->dim[from->rank - 1]);
    operand_table(x, table->rows, table->needs);
    x->strided = true;
    x->reuse = REUSE_ROWS;
    x->columns = lower_columns(pick->l, table->width, 1, columns);
}

/* An image whose channels stay goes row by row. */
static void pick_rows(Pick *pick, Tensor *out, Tensor *in)
{
    const Shape *to = &out->shape;
    const RowTable table = row_table(pick, &in->shape, to);
    const int64_t entries = (int64_t)table.rows + table.width;
    const inlay_pick_params params = {
        .run = i32_checked(to->dim[to->rank - 1]),
        .n = { table.rows, table.width },
    };
    Step *step = pick_step(pick, &params, out->dtype);
    step_out(step, out);
    step_in(step, in);
    operand_image(step->operand);
    step->operand[0].strided = true;
    step->units = table.rows;
    read_picked(pick, step->operand + 1, &table);
    step_in(step, lower_i32s(pick->l, table.entry, entries));
}

/* Of each axis the places that are picked, in elements of x; returns how many there are. */
static int64_t axis_tables(const Pick *pick, int axes, const Shape *from,
                           int32_t **table)
{
    const Shape *to = &pick->out->shape;
    int64_t stride[MAX_RANK];
    int64_t total = 0;
    int64_t at = 0;
    shape_strides(from, stride);
    for (int i = 0; i < axes; i++)
        total = i64_add(total, to->dim[i]);
    *table = NEW_ARRAY(pick->l->arena, int32_t, total);
    for (int i = 0; i < axes; i++)
        for (int64_t k = 0; k < to->dim[i]; k++) {
            const int64_t place = i64_mul(pick->table[i][k], stride[i]);
            (*table)[at++] = i32_checked(place);
        }
    return total;
}

static void pick_whole(Pick *pick, int axes, Tensor *y, Tensor *x)
{
    const Shape *to = &y->shape;
    int32_t *table;
    const int64_t total = axis_tables(pick, axes, &x->shape, &table);
    inlay_pick_params params = {
        .rank = axes,
        .run = i32_checked(shape_product(to, axes, to->rank)),
    };
    for (int i = 0; i < axes; i++)
        params.n[i] = i32_checked(to->dim[i]);
    Step *step = pick_step(pick, &params, y->dtype);
    step_out(step, y);
    step_in(step, x);
    step_in(step, lower_i32s(pick->l, table, total));
}

void lower_pick(Pick *pick)
{
    Lower *lower = pick->l;
    const int axes = table_axes(pick);
    const int rank = pick->out->shape.rank;
    if (!tensor_count(pick->out))
        return;
    if (!axes) {
        lower_view(lower, pick->out, pick->in, 0);
        return;
    }
    Tensor *y = move_target(lower, pick->out);
    Tensor *x = move_source(lower, pick->in);
    if (rank >= 3 && axes < rank)
        pick_rows(pick, y, x);
    else
        pick_whole(pick, axes, y, x);
    move_finish(lower, pick->out, y);
}
