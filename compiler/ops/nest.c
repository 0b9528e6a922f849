/* SPDX-License-Identifier: Apache-2.0
 * Loop nests for the elementwise and moving kernels. */
#include "ops/nest.h"

#include <string.h>

#include "base/size.h"
#include "ir/convert.h"
#include "kernels/move.h"
#include "kernels/nd.h"
#include "ops/infer.h"

void shape_strides(const Shape *s, int64_t *stride)
{
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step = i64_mul(step, s->dim[i]);
    }
}

void shape_broadcast_strides(const Shape *s, const Shape *to, int64_t *stride)
{
    int64_t own[MAX_RANK];
    shape_strides(s, own);
    for (int i = 0; i < to->rank; i++) {
        const int k = i - (to->rank - s->rank);
        stride[i] = k < 0 || s->dim[k] == 1 ? 0 : own[k];
    }
}

int64_t shape_product(const Shape *s, int from, int to)
{
    int64_t product = 1;
    for (int i = from; i < to; i++)
        product = i64_mul(product, s->dim[i]);
    return product;
}

static void same_rows(Operand *o)
{
    operand_image(o);
    o->strided = true;
    o->rule = (RowRule){ .kind = ROWS_SAME };
}

void lower_flat(Lower *l, Node *n, const char *kernel, Tensor *out, Tensor *in, double a, double b)
{
    const int64_t count = tensor_count(out);
    if (!count)
        return;
    const bool rows = shape_has_rows(&out->shape);
    const int64_t pixel = rows ? out->shape.dim[out->shape.rank - 1] : count;
    const int64_t row = rows ? pixel * shape_row_pixels(&out->shape) : count;
    const inlay_flat_params p = {
        .n = i32_checked(row), .pixel = i32_checked(pixel), .a = a, .b = b
    };
    Step *s = lower_step(l, n, kernel, &p);
    Operand *y = step_out(s, out);
    if (rows)
        operand_image(y);
    y->strided = rows;
    s->units = y->rows;
    Operand *x = step_in(s, in);
    if (rows)
        same_rows(x);
    if (dtype_bits(in->dtype) >= dtype_bits(out->dtype))
        x->reuse = REUSE_ELEMENTWISE;
}

/* The loops of one broadcast step with `operands` operands, 0 the result; strides in elements. */
typedef struct Nest {
    int rank, operands;
    int64_t n[NEST_LOOPS], stride[4][NEST_LOOPS];
    int32_t rows; /* bit i: operand i goes row by row */
    bool by_row;
} Nest;

enum { BY_ROW, REPEATED, MIXED };

/* How an operand relates to the rows of the result. */
static int row_kind(const Shape *s, const Shape *to)
{
    bool same = s->rank == to->rank, none = true;
    for (int i = 0; i < shape_row_axis(to); i++) {
        const int k = i - (to->rank - s->rank);
        const int64_t d = k < 0 ? 1 : s->dim[k];
        if (d != to->dim[i])
            same = false;
        if (d != 1)
            none = false;
    }
    return same ? BY_ROW : none ? REPEATED : MIXED;
}

static void drop_loop(Nest *t, int at)
{
    t->rank--;
    for (int i = at; i < t->rank; i++) {
        t->n[i] = t->n[i + 1];
        for (int k = 0; k < t->operands; k++)
            t->stride[k][i] = t->stride[k][i + 1];
    }
}

static bool joins(const Nest *t, int i)
{
    for (int k = 0; k < t->operands; k++)
        if (t->stride[k][i] != i64_mul(t->stride[k][i + 1], t->n[i + 1]))
            return false;
    return true;
}

/* Drops loops of size 1 and joins neighbours; at least one loop stays. */
static void join_loops(Nest *t)
{
    for (int i = t->rank - 1; i >= 0; i--)
        if (t->n[i] == 1)
            drop_loop(t, i);
    for (int i = t->rank - 2; i >= 0; i--)
        if (joins(t, i)) {
            t->n[i + 1] = i64_mul(t->n[i], t->n[i + 1]);
            drop_loop(t, i);
        }
    if (t->rank)
        return;
    t->rank = 1;
    t->n[0] = 1;
    for (int k = 0; k < t->operands; k++)
        t->stride[k][0] = 1;
}

static void nest_make(Nest *t, int operands, Tensor *const *tensor)
{
    const Shape *to = &tensor[0]->shape;
    *t = (Nest){ .rank = to->rank, .operands = operands, .by_row = shape_has_rows(to) };
    memcpy(t->n, to->dim, sizeof to->dim);
    for (int k = 0; k < operands; k++) {
        shape_broadcast_strides(&tensor[k]->shape, to, t->stride[k]);
        const int kind = row_kind(&tensor[k]->shape, to);
        if (kind == MIXED)
            t->by_row = false;
        if (kind == BY_ROW)
            t->rows |= 1 << k;
    }
    shape_strides(to, t->stride[0]);
    if (t->by_row) {
        while (t->rank > 2)
            drop_loop(t, 0);
        t->n[0] = shape_row_pixels(to);
    } else {
        t->rows = 0;
        join_loops(t);
    }
}

static void copy_i32(int32_t *to, const int64_t *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = i32_checked(from[i]);
}

/* Facts for the planner: operands after the result. */
static void nest_operands(const Nest *t, Step *s, Tensor *const *tensor)
{
    Operand *y = step_out(s, tensor[0]);
    if (t->by_row)
        operand_image(y);
    y->strided = t->by_row;
    s->units = y->rows;
    for (int k = 1; k < t->operands; k++) {
        Operand *x = step_in(s, tensor[k]);
        if (t->rows >> k & 1)
            same_rows(x);
        if (shape_equal(&tensor[k]->shape, &tensor[0]->shape) &&
            dtype_bits(tensor[k]->dtype) >= dtype_bits(tensor[0]->dtype))
            x->reuse = REUSE_ELEMENTWISE;
    }
}

void lower_nd2(Lower *l, Node *n, const char *kernel, Tensor *out, Tensor *a, Tensor *b)
{
    Tensor *const tensor[] = { out, a, b };
    if (!tensor_count(out))
        return;
    Nest t;
    nest_make(&t, 3, tensor);
    inlay_nd2_params p = { .rank = t.rank, .rows = t.rows, .pixel = t.by_row ? 0 : -1 };
    copy_i32(p.n, t.n, t.rank);
    copy_i32(p.a, t.stride[1], t.rank);
    copy_i32(p.b, t.stride[2], t.rank);
    nest_operands(&t, lower_step(l, n, kernel, &p), tensor);
}

void lower_select(Lower *l, Node *n, Tensor *out, Tensor *mask, Tensor *a, Tensor *b)
{
    Tensor *const tensor[] = { out, mask, a, b };
    if (!tensor_count(out))
        return;
    Nest t;
    nest_make(&t, 4, tensor);
    inlay_nd3_params p = { .rank = t.rank, .rows = t.rows, .pixel = t.by_row ? 0 : -1 };
    copy_i32(p.n, t.n, t.rank);
    copy_i32(p.a, t.stride[1], t.rank);
    copy_i32(p.b, t.stride[2], t.rank);
    copy_i32(p.c, t.stride[3], t.rank);
    nest_operands(&t,
                  lower_step(l, n, arena_printf(l->arena, "select_%d", dtype_bits(out->dtype)), &p),
                  tensor);
}

static void move_nest(Nest *t, const Move *m)
{
    *t = (Nest){ .rank = m->rank, .operands = 2 };
    memcpy(t->n, m->n, sizeof m->n);
    memcpy(t->stride[0], m->y, sizeof m->y);
    memcpy(t->stride[1], m->x, sizeof m->x);
    join_loops(t);
}

static void swap_loops(Nest *t, int i, int j)
{
    const int64_t n = t->n[i];
    t->n[i] = t->n[j];
    t->n[j] = n;
    for (int k = 0; k < t->operands; k++) {
        const int64_t s = t->stride[k][i];
        t->stride[k][i] = t->stride[k][j];
        t->stride[k][j] = s;
    }
}

/* The kernel's inner two loops: the one along the result last, the one along the source before it.
 */
static void order_loops(Nest *t)
{
    const int last = t->rank - 1;
    for (int i = 0; i < last - 1; i++)
        if (t->stride[1][last] != 1 && t->stride[1][i] == 1)
            swap_loops(t, i, last - 1);
    if (t->rank > 1)
        return;
    t->n[1] = t->n[0];
    t->n[0] = 1;
    for (int k = 0; k < 2; k++) {
        t->stride[k][1] = t->stride[k][0];
        t->stride[k][0] = 0;
    }
    t->rank = 2;
}

bool lower_move_fits(const Move *m)
{
    Nest t;
    move_nest(&t, m);
    return t.rank <= 8;
}

Step *lower_move(Lower *l, Node *n, Tensor *out, Tensor *in, const Move *m)
{
    Nest t;
    for (int i = 0; i < m->rank; i++)
        if (!m->n[i])
            return NULL;
    Step *by_row = lower_move_rows(l, n, out, in, m);
    if (by_row)
        return by_row;
    move_nest(&t, m);
    order_loops(&t);
    inlay_move_params p = { .rank = t.rank,
                            .units_in = 1,
                            .y0 = i32_checked(m->y0),
                            .x0 = i32_checked(m->x0),
                            .pixel = -1 };
    copy_i32(p.n, t.n, t.rank);
    copy_i32(p.y, t.stride[0], t.rank);
    copy_i32(p.x, t.stride[1], t.rank);
    Step *s = lower_step(l, n, arena_printf(l->arena, "move_%d", dtype_bits(out->dtype)), &p);
    step_out(s, out);
    step_in(s, in);
    return s;
}

void lower_fill(Lower *l, Node *n, Tensor *out, Tensor *value)
{
    const Move m = { .rank = 1, .n = { tensor_count(out) }, .y = { 1 }, .x = { 0 } };
    lower_move(l, n, out, value, &m);
}

static bool is_packed(DType t)
{
    return dtype_bits(t) < 8;
}

static void repack(Lower *l, Node *n, const char *kernel, Tensor *out, Tensor *in, double a,
                   double b)
{
    const int32_t count = i32_checked(tensor_count(out));
    const inlay_flat_params p = { .n = count, .pixel = count, .a = a, .b = b };
    if (!count)
        return;
    Step *s = lower_step(l, n, kernel, &p);
    step_out(s, out);
    step_in(s, in);
}

Tensor *move_source(Lower *l, Node *n, Tensor *t)
{
    if (!is_packed(t->dtype))
        return t;
    Tensor *wide = lower_temp(l, DT_U8, t->shape);
    repack(l, n, dtype_bits(t->dtype) == 4 ? "cast_u4_u8" : "cast_u2_u8", wide, t, 0, 0);
    return wide;
}

Tensor *move_target(Lower *l, Tensor *t)
{
    return is_packed(t->dtype) ? lower_temp(l, DT_U8, t->shape) : t;
}

void move_finish(Lower *l, Node *n, Tensor *out, Tensor *target)
{
    if (target != out)
        repack(l, n, dtype_bits(out->dtype) == 4 ? "cast_u8_u4" : "cast_u8_u2", out, target, 0, 0);
}

/* The next type on the way from one to the other: packed and small types have one neighbour each.
 */
static DType cast_neighbour(DType t)
{
    if (dtype_is_small_float(t))
        return DT_F32;
    if (t == DT_I4 || t == DT_I2)
        return DT_I8;
    if (t == DT_U4 || t == DT_U2)
        return DT_U8;
    return t;
}

static const char *cast_name(Lower *l, DType from, DType to)
{
    return arena_printf(l->arena, "cast_%s_%s", from == DT_BOOL ? "bool" : dtype_suffix(from),
                        to == DT_BOOL ? "bool" : dtype_suffix(to));
}

static void cast_once(Lower *l, Node *n, Tensor *out, Tensor *in, bool saturate, int round_mode)
{
    const char *kernel = cast_name(l, in->dtype, out->dtype);
    if (is_packed(in->dtype) || is_packed(out->dtype))
        repack(l, n, kernel, out, in, saturate, round_mode);
    else
        lower_flat(l, n, kernel, out, in, saturate, round_mode);
}

void lower_cast(Lower *l, Node *n, Tensor *out, Tensor *in, bool saturate, int round_mode)
{
    const DType near = cast_neighbour(in->dtype), far = cast_neighbour(out->dtype);
    if (in->dtype == out->dtype) {
        lower_view(l, n, out, in, 0);
        return;
    }
    if (!convert_possible(in->dtype, out->dtype))
        fail_node(n, STATUS_UNSUPPORTED, NULL, "%s does not become %s", dtype_name(in->dtype),
                  dtype_name(out->dtype));
    if (near != in->dtype && near != out->dtype) {
        Tensor *t = lower_temp(l, near, in->shape);
        cast_once(l, n, t, in, true, 0);
        in = t;
    }
    if (far != out->dtype && far != in->dtype) {
        Tensor *t = lower_temp(l, far, in->shape);
        if (in->dtype == DT_F64 && far == DT_F32)
            lower_flat(l, n, "cast_f64_odd", t, in, 0, 0);
        else
            cast_once(l, n, t, in, true, 0);
        in = t;
    }
    cast_once(l, n, out, in, saturate, round_mode);
}
