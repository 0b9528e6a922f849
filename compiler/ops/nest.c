/* SPDX-License-Identifier: Apache-2.0
 * Loop nests for the elementwise and moving kernels. */
#include "ops/nest.h"

#include <string.h>

#include "base/size.h"
#include "ir/convert.h"
#include "kernels/move.h"
#include "kernels/nd.h"
#include "ops/infer.h"

void shape_next(const Shape *shape, int64_t *index)
{
    for (int i = shape->rank - 1; i >= 0; i--) {
        index[i]++;
        if (index[i] < shape->dim[i])
            return;
        index[i] = 0;
    }
}

void shape_strides(const Shape *shape, int64_t *stride)
{
    int64_t step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step = i64_mul(step, shape->dim[i]);
    }
}

void shape_broadcast_strides(const Shape *shape, const Shape *to,
                             int64_t *stride)
{
    int64_t own[MAX_RANK];
    shape_strides(shape, own);
    for (int i = 0; i < to->rank; i++) {
        const int k = i - (to->rank - shape->rank);
        stride[i] = k < 0 || shape->dim[k] == 1 ? 0 : own[k];
    }
}

int64_t shape_product(const Shape *shape, int from, int to)
{
    int64_t product = 1;
    for (int i = from; i < to; i++)
        product = i64_mul(product, shape->dim[i]);
    return product;
}

Lines lines_along(const Shape *shape, int axis)
{
    return (Lines){
        .outer = i32_checked(shape_product(shape, 0, axis)),
        .n = i32_checked(shape->dim[axis]),
        .inner = i32_checked(shape_product(shape, axis + 1, shape->rank)),
    };
}

void shape_to_i32(const Shape *shape, int32_t *to)
{
    for (int i = 0; i < shape->rank; i++)
        to[i] = i32_checked(shape->dim[i]);
}

static void same_rows(Operand *operand)
{
    operand_image(operand);
    operand->strided = true;
    operand->rule = (RowRule){ .kind = ROWS_SAME };
}

Step *lower_flat(Lower *lower, const char *kernel, Tensor *out, Tensor *in,
                 double a, double b)
{
    const int64_t count = tensor_count(out);
    if (!count)
        return NULL;
    const bool rows = shape_has_rows(&out->shape);
    const int64_t pixel = rows ? out->shape.dim[out->shape.rank - 1] : count;
    const int64_t row = rows ? pixel * shape_row_pixels(&out->shape) : count;
    const inlay_flat_params params = {
        .n = i32_checked(row), .pixel = i32_checked(pixel), .a = a, .b = b
    };
    Step *s = lower_step(lower, kernel, &params);
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
    return s;
}

/* The loops of one broadcast step with `operands` operands, 0 the result; strides in elements. */
typedef struct Nest {
    int rank, operands;
    int64_t n[NEST_LOOPS], stride[4][NEST_LOOPS];
    int32_t rows; /* bit i: operand i goes row by row */
    /* units for each row of operand i, of whose `own` rows the first follows the last; 0: it is
     * the same for all */
    int64_t every[4], own[4];
    bool by_row;
} Nest;

enum { BY_ROW, REPEATED, MIXED };

/* How an operand relates to the rows of the result. */
static int row_kind(const Shape *shape, const Shape *to)
{
    bool same = shape->rank == to->rank;
    bool none = true;
    for (int i = 0; i < shape_row_axis(to); i++) {
        const int k = i - (to->rank - shape->rank);
        const int64_t d = k < 0 ? 1 : shape->dim[k];
        if (d != to->dim[i])
            same = false;
        if (d != 1)
            none = false;
    }
    if (same)
        return BY_ROW;
    return none ? REPEATED : MIXED;
}

/* Dimensions that are broadcast around those that are not: the operand's rows come one after the
 * other, each for `every` rows of the result, and then again. False: in another order. */
static bool row_period(const Shape *shape, const Shape *to, int64_t *every,
                       int64_t *own)
{
    int i = shape_row_axis(to) - 1;
    const int more = to->rank - shape->rank;
    *every = *own = 1;
    for (; i >= 0 && (i < more || shape->dim[i - more] == 1); i--)
        *every = i64_mul(*every, to->dim[i]);
    for (; i >= 0 && i >= more && shape->dim[i - more] == to->dim[i]; i--)
        *own = i64_mul(*own, to->dim[i]);
    for (; i >= 0; i--)
        if (i >= more && shape->dim[i - more] != 1)
            return false;
    return true;
}

static void drop_loop(Nest *nest, int at)
{
    nest->rank--;
    for (int i = at; i < nest->rank; i++) {
        nest->n[i] = nest->n[i + 1];
        for (int k = 0; k < nest->operands; k++)
            nest->stride[k][i] = nest->stride[k][i + 1];
    }
}

static bool joins(const Nest *nest, int i)
{
    for (int k = 0; k < nest->operands; k++)
        if (nest->stride[k][i] !=
            i64_mul(nest->stride[k][i + 1], nest->n[i + 1]))
            return false;
    return true;
}

/* Drops loops of size 1 and joins neighbours; at least one loop stays. */
static void join_loops(Nest *nest)
{
    for (int i = nest->rank - 1; i >= 0; i--)
        if (nest->n[i] == 1)
            drop_loop(nest, i);
    for (int i = nest->rank - 2; i >= 0; i--)
        if (joins(nest, i)) {
            nest->n[i + 1] = i64_mul(nest->n[i], nest->n[i + 1]);
            drop_loop(nest, i);
        }
    if (nest->rank)
        return;
    nest->rank = 1;
    nest->n[0] = 1;
    for (int k = 0; k < nest->operands; k++)
        nest->stride[k][0] = 1;
}

/* How operand k goes along the result's rows. */
static void nest_take(Nest *nest, int k, const Shape *shape, const Shape *to)
{
    const int kind = row_kind(shape, to);
    shape_broadcast_strides(shape, to, nest->stride[k]);
    if (kind == BY_ROW)
        nest->rows |= 1 << k;
    if (kind != MIXED)
        return;
    if (!row_period(shape, to, nest->every + k, nest->own + k))
        nest->by_row = false;
}

static void nest_make(Nest *nest, int operands, Tensor *const *tensor)
{
    const Shape *to = &tensor[0]->shape;
    *nest = (Nest){ .rank = to->rank,
                    .operands = operands,
                    .by_row = shape_has_rows(to) };
    memcpy(nest->n, to->dim, sizeof to->dim);
    for (int k = 0; k < operands; k++)
        nest_take(nest, k, &tensor[k]->shape, to);
    shape_strides(to, nest->stride[0]);
    if (nest->by_row) {
        while (nest->rank > 2)
            drop_loop(nest, 0);
        nest->n[0] = shape_row_pixels(to);
    } else {
        nest->rows = 0;
        memset(nest->every, 0, sizeof nest->every);
        join_loops(nest);
    }
}

static void copy_i32(int32_t *to, const int64_t *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = i32_checked(from[i]);
}

/* There as a whole, but found row by row. */
static void periodic_rows(Operand *operand, int32_t rows)
{
    const Shape *shape = &operand->tensor->shape;
    operand_rows(operand, rows,
                 shape->rank > 0 ? shape->dim[shape->rank - 1] : 1);
}

/* Facts for the planner: operands after the result. */
static void nest_operands(const Nest *nest, Step *s, Tensor *const *tensor)
{
    Operand *y = step_out(s, tensor[0]);
    if (nest->by_row)
        operand_image(y);
    y->strided = nest->by_row;
    s->units = y->rows;
    for (int k = 1; k < nest->operands; k++) {
        Operand *x = step_in(s, tensor[k]);
        if (nest->rows >> k & 1)
            same_rows(x);
        if (nest->every[k])
            periodic_rows(x, i32_checked(nest->own[k]));
        if (shape_equal(&tensor[k]->shape, &tensor[0]->shape) &&
            dtype_bits(tensor[k]->dtype) >= dtype_bits(tensor[0]->dtype))
            x->reuse = REUSE_ELEMENTWISE;
    }
}

Step *lower_nd2(Lower *lower, const char *kernel, Tensor *out, Tensor *a,
                Tensor *b)
{
    Tensor *const tensor[] = { out, a, b };
    if (!tensor_count(out))
        return NULL;
    Nest nest;
    nest_make(&nest, 3, tensor);
    inlay_nd2_params params = { .rank = nest.rank,
                                .rows = nest.rows,
                                .pixel = nest.by_row ? 0 : -1 };
    copy_i32(params.n, nest.n, nest.rank);
    copy_i32(params.a, nest.stride[1], nest.rank);
    copy_i32(params.b, nest.stride[2], nest.rank);
    copy_i32(params.every, nest.every, 3);
    Step *step = lower_step(lower, kernel, &params);
    nest_operands(&nest, step, tensor);
    return step;
}

Step *lower_binary_to(Lower *lower, const char *op, Tensor *out, Tensor *a,
                      Tensor *b)
{
    return lower_nd2(lower, lower_kernel(lower, op, a->dtype), out, a, b);
}

Tensor *lower_temp_binary(Lower *lower, const char *op, Tensor *a, Tensor *b,
                          Shape shape)
{
    Tensor *y = lower_temp(lower, a->dtype, shape);
    lower_binary_to(lower, op, y, a, b);
    return y;
}

Tensor *lower_temp_unary(Lower *lower, const char *op, Tensor *a)
{
    Tensor *y = lower_temp(lower, a->dtype, a->shape);
    lower_flat(lower, lower_kernel(lower, op, a->dtype), y, a, 0.0, 0.0);
    return y;
}

Tensor *lower_number(Lower *lower, DType type, double value)
{
    Store *store = lower->store;
    Recipe *number = recipe_memory(store, DT_F64, 0, NULL, &value);
    return lower_constant(lower, recipe_cast(store, number, type));
}

void lower_select(Lower *lower, Tensor *out, Tensor *mask, Tensor *a, Tensor *b)
{
    Tensor *const tensor[] = { out, mask, a, b };
    if (!tensor_count(out))
        return;
    Nest nest;
    nest_make(&nest, 4, tensor);
    inlay_nd3_params params = { .rank = nest.rank,
                                .rows = nest.rows,
                                .pixel = nest.by_row ? 0 : -1 };
    copy_i32(params.n, nest.n, nest.rank);
    copy_i32(params.a, nest.stride[1], nest.rank);
    copy_i32(params.b, nest.stride[2], nest.rank);
    copy_i32(params.c, nest.stride[3], nest.rank);
    copy_i32(params.every, nest.every, 4);
    nest_operands(&nest,
                  lower_step(lower,
                             arena_printf(lower->arena, "select_%d",
                                          dtype_bits(out->dtype)),
                             &params),
                  tensor);
}

static void move_nest(Nest *nest, const Move *move)
{
    *nest = (Nest){ .rank = move->rank, .operands = 2 };
    memcpy(nest->n, move->n, sizeof move->n);
    memcpy(nest->stride[0], move->y, sizeof move->y);
    memcpy(nest->stride[1], move->x, sizeof move->x);
    join_loops(nest);
}

static void swap_loops(Nest *nest, int i, int j)
{
    const int64_t n = nest->n[i];
    nest->n[i] = nest->n[j];
    nest->n[j] = n;
    for (int k = 0; k < nest->operands; k++) {
        const int64_t s = nest->stride[k][i];
        nest->stride[k][i] = nest->stride[k][j];
        nest->stride[k][j] = s;
    }
}

/* The kernel's inner two loops: the one along the result last, the one along the source before it.
 */
static void order_loops(Nest *nest)
{
    const int last = nest->rank - 1;
    for (int i = 0; i < last - 1; i++)
        if (nest->stride[1][last] != 1 && nest->stride[1][i] == 1)
            swap_loops(nest, i, last - 1);
    if (nest->rank > 1)
        return;
    nest->n[1] = nest->n[0];
    nest->n[0] = 1;
    for (int k = 0; k < 2; k++) {
        nest->stride[k][1] = nest->stride[k][0];
        nest->stride[k][0] = 0;
    }
    nest->rank = 2;
}

bool lower_move_fits(const Move *move)
{
    Nest nest;
    move_nest(&nest, move);
    return nest.rank <= 8;
}

Step *lower_move_unit(Lower *lower, Tensor *out, Tensor *in, const Move *unit,
                      inlay_move_params params)
{
    Nest nest;
    move_nest(&nest, unit);
    order_loops(&nest);
    params.rank = nest.rank;
    params.y0 = i32_checked(unit->y0);
    params.x0 = i32_checked(unit->x0);
    params.pixel = -1;
    copy_i32(params.n, nest.n, nest.rank);
    copy_i32(params.y, nest.stride[0], nest.rank);
    copy_i32(params.x, nest.stride[1], nest.rank);
    Step *s = lower_step(
        lower, arena_printf(lower->arena, "move_%d", dtype_bits(out->dtype)),
        &params);
    step_out(s, out);
    step_in(s, in);
    return s;
}

Step *lower_move(Lower *lower, Tensor *out, Tensor *in, const Move *move)
{
    const inlay_move_params whole = { .units_in = 1 };
    for (int i = 0; i < move->rank; i++)
        if (!move->n[i])
            return NULL;
    Step *step = lower_move_rows(lower, out, in, move);
    if (!step)
        step = lower_move_source(lower, out, in, move);
    if (!step)
        step = lower_move_most(lower, out, in, move);
    if (!step)
        step = lower_move_result(lower, out, in, move);
    return step ? step : lower_move_unit(lower, out, in, move, whole);
}

void lower_fill(Lower *lower, Tensor *out, Tensor *value)
{
    const Move move = {
        .rank = 1, .n = { tensor_count(out) }, .y = { 1 }, .x = { 0 }
    };
    lower_move(lower, out, value, &move);
}

static bool is_packed(DType type)
{
    return dtype_bits(type) < 8;
}

static void repack(Lower *lower, const char *kernel, Tensor *out, Tensor *in,
                   double a, double b)
{
    const int32_t count = i32_checked(tensor_count(out));
    const inlay_flat_params params = {
        .n = count, .pixel = count, .a = a, .b = b
    };
    if (!count)
        return;
    Step *s = lower_step(lower, kernel, &params);
    step_out(s, out);
    step_in(s, in);
}

Tensor *move_source(Lower *lower, Tensor *t)
{
    if (!is_packed(t->dtype))
        return t;
    Tensor *wide = lower_temp(lower, DT_U8, t->shape);
    repack(lower, dtype_bits(t->dtype) == 4 ? "cast_u4_u8" : "cast_u2_u8", wide,
           t, 0, 0);
    return wide;
}

Tensor *move_target(Lower *lower, Tensor *t)
{
    return is_packed(t->dtype) ? lower_temp(lower, DT_U8, t->shape) : t;
}

void move_finish(Lower *lower, Tensor *out, Tensor *target)
{
    if (target != out)
        repack(lower, dtype_bits(out->dtype) == 4 ? "cast_u8_u4" : "cast_u8_u2",
               out, target, 0, 0);
}

/* The next type on the way from one to the other: packed and small types have one neighbour each.
 */
static DType cast_neighbour(DType type)
{
    if (dtype_is_small_float(type))
        return DT_F32;
    if (type == DT_I4 || type == DT_I2)
        return DT_I8;
    if (type == DT_U4 || type == DT_U2)
        return DT_U8;
    return type;
}

static const char *cast_name(Lower *lower, DType from, DType to)
{
    return arena_printf(lower->arena, "cast_%s_%s",
                        from == DT_BOOL ? "bool" : dtype_suffix(from),
                        to == DT_BOOL ? "bool" : dtype_suffix(to));
}

static void cast_once(Lower *lower, Tensor *out, Tensor *in, bool saturate,
                      int round_mode)
{
    const char *kernel = cast_name(lower, in->dtype, out->dtype);
    if (is_packed(in->dtype) || is_packed(out->dtype))
        repack(lower, kernel, out, in, saturate, round_mode);
    else
        lower_flat(lower, kernel, out, in, saturate, round_mode);
}

/* `in` brought to the type from which `type` is made in one step. */
static Tensor *cast_halfway(Lower *lower, Tensor *in, DType type)
{
    Tensor *between = lower_temp(lower, type, in->shape);
    if (in->dtype == DT_F64 && type == DT_F32)
        lower_flat(lower, "cast_f64_odd", between, in, 0, 0);
    else
        cast_once(lower, between, in, true, 0);
    return between;
}

void lower_cast(Lower *lower, Tensor *out, Tensor *in)
{
    const Rounding rounding = { .saturate = true };
    lower_cast_as(lower, out, in, rounding);
}

void lower_cast_as(Lower *lower, Tensor *out, Tensor *in, Rounding rounding)
{
    const DType near = cast_neighbour(in->dtype);
    const DType far = cast_neighbour(out->dtype);
    if (in->dtype == out->dtype) {
        lower_view(lower, out, in, 0);
        return;
    }
    if (!convert_possible(in->dtype, out->dtype))
        fail_node(lower->node, STATUS_UNSUPPORTED, NULL,
                  "%s does not become %s", dtype_name(in->dtype),
                  dtype_name(out->dtype));
    if (near != in->dtype && near != out->dtype) {
        Tensor *wide = lower_temp(lower, near, in->shape);
        cast_once(lower, wide, in, true, 0);
        in = wide;
    }
    if (far != out->dtype && far != in->dtype)
        in = cast_halfway(lower, in, far);
    cast_once(lower, out, in, rounding.saturate, rounding.mode);
}
