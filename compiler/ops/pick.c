/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/pick.h"

#include "base/size.h"
#include "kernels/pick.h"
#include "ops/infer.h"
#include "ops/nest.h"

Pick pick_new(Lower *l, Node *n, Tensor *out, Tensor *in)
{
    Pick p = { .l = l, .n = n, .out = out, .in = in };
    for (int i = 0; i < out->shape.rank; i++) {
        p.table[i] = NEW_ARRAY(l->arena, int64_t, out->shape.dim[i]);
        for (int64_t k = 0; k < out->shape.dim[i]; k++)
            p.table[i][k] = k;
    }
    return p;
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

void pick_padded(Pick *p, int axis, int64_t before, int64_t size, int64_t after, PickEdge edge)
{
    const int64_t cut = i64_max(0, -before), left = size - cut - i64_max(0, -after),
                  count = p->out->shape.dim[axis];
    if (count && left < 1)
        fail_node(p->n, STATUS_MALFORMED, NULL, "axis %d has no elements to repeat", axis);
    for (int64_t k = 0; k < count; k++)
        p->table[axis][k] = cut + edge_index(k - i64_max(0, before), left, edge);
}

static bool is_identity(const Pick *p, int axis)
{
    if (p->in->shape.dim[axis] != p->out->shape.dim[axis])
        return false;
    for (int64_t k = 0; k < p->out->shape.dim[axis]; k++)
        if (p->table[axis][k] != k)
            return false;
    return true;
}

/* Trailing axes that stay as they are become one run. */
static int table_axes(const Pick *p)
{
    int rank = p->out->shape.rank;
    while (rank > 0 && is_identity(p, rank - 1))
        rank--;
    return rank;
}

/* An image whose channels stay goes row by row. */
static void pick_rows(Pick *p, Tensor *out, Tensor *in)
{
    Lower *l = p->l;
    const Shape *to = &out->shape;
    const int pixels = shape_row_axis(to);
    const int32_t rows = i32_checked(shape_product(to, 0, pixels)),
                  width = i32_checked(shape_row_pixels(to));
    const inlay_pick_params params = { .run = i32_checked(to->dim[to->rank - 1]),
                                       .n = { rows, width } };
    int32_t *table = NEW_ARRAY(l->arena, int32_t, i64_add(rows, width));
    Rows *needs = NEW_ARRAY(l->arena, Rows, rows + 1);
    for (int32_t u = 0; u < rows; u++) {
        int64_t row = 0, rest = u, stride = 1;
        for (int i = pixels - 1; i >= 0; i--) {
            row += p->table[i][rest % to->dim[i]] * stride;
            rest /= to->dim[i];
            stride *= in->shape.dim[i];
        }
        table[u] = i32_checked(row);
        needs[u] = (Rows){ table[u], table[u] + 1 };
    }
    for (int32_t k = 0; k < width; k++)
        table[rows + k] = pixels < to->rank - 1 ? i32_checked(p->table[pixels][k]) : 0;
    Step *s =
        lower_step(l, p->n, arena_printf(l->arena, "pick_%d", dtype_bits(out->dtype)), &params);
    Operand *y = step_out(s, out), *x = step_in(s, in);
    operand_image(y);
    operand_rows(x, i32_checked(shape_product(&in->shape, 0, pixels)), in->shape.dim[to->rank - 1]);
    y->strided = x->strided = true;
    s->units = rows;
    x->reuse = REUSE_ROWS;
    operand_table(x, rows, needs);
    x->columns = lower_columns(l, width, 1, table + rows);
    step_in(s, lower_i32s(l, table, (int64_t)rows + width));
}

static void pick_whole(Pick *p, int axes, Tensor *y, Tensor *x)
{
    Lower *l = p->l;
    int64_t stride[MAX_RANK], total = 0, at = 0;
    shape_strides(&x->shape, stride);
    inlay_pick_params params = { .rank = axes,
                                 .run =
                                     i32_checked(shape_product(&y->shape, axes, y->shape.rank)) };
    for (int i = 0; i < axes; i++)
        total = i64_add(total, y->shape.dim[i]);
    int32_t *table = NEW_ARRAY(l->arena, int32_t, total);
    for (int i = 0; i < axes; i++) {
        params.n[i] = i32_checked(y->shape.dim[i]);
        for (int64_t k = 0; k < y->shape.dim[i]; k++)
            table[at++] = i32_checked(i64_mul(p->table[i][k], stride[i]));
    }
    Step *s = lower_step(l, p->n, arena_printf(l->arena, "pick_%d", dtype_bits(y->dtype)), &params);
    step_out(s, y);
    step_in(s, x);
    step_in(s, lower_i32s(l, table, total));
}

void lower_pick(Pick *p)
{
    Lower *l = p->l;
    const int axes = table_axes(p), rank = p->out->shape.rank;
    if (!tensor_count(p->out))
        return;
    if (!axes) {
        lower_view(l, p->n, p->out, p->in, 0);
        return;
    }
    Tensor *y = move_target(l, p->out), *x = move_source(l, p->n, p->in);
    if (rank >= 3 && axes < rank)
        pick_rows(p, y, x);
    else
        pick_whole(p, axes, y, x);
    move_finish(l, p->n, p->out, y);
}
