/* SPDX-License-Identifier: Apache-2.0
 * QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: per tensor, per axis and in blocks.
 * Types below 8 bits and the small floats pass through int8, uint8 or float32. */
#include "kernels/quant.h"

#include "base/size.h"
#include "ops/cut.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/typed.h"

static DType scale_type(const Node *node)
{
    return node->in[1]->dtype;
}

/* Elements that share a scale, 0: all along its axis. */
static int64_t block_size(const Node *node)
{
    return infer_int(node, "block_size", 0, 0);
}

/* The axis that scales run along, -1: one scale for all. */
static int scale_axis(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *shape = infer_shape(node, 1);
    if (shape_count(shape) == 1 && (shape->rank == 0 || !block_size(node)))
        return -1;
    const int64_t axis = node_int(node, "axis", 1);
    return node_axis(node, x->rank == 1 && axis == 1 ? 0 : axis, x->rank);
}

static void fail_scales(const Node *node)
{
    Arena *a = node->graph->arena;
    fail_node(node, STATUS_MALFORMED, NULL,
              "scales %s do not fit an input of shape %s",
              shape_text(a, infer_shape(node, 1)),
              shape_text(a, infer_shape(node, 0)));
}

static bool blocks_fit(const Shape *x, const Shape *scales, int axis,
                       int64_t block)
{
    if (scales->rank != x->rank)
        return false;
    for (int i = 0; i < x->rank; i++) {
        const int64_t per_scale = i == axis ? block : 1;
        if (scales->dim[i] != i64_ceil_div(x->dim[i], per_scale))
            return false;
    }
    return true;
}

static void check_scales(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Shape *scales = infer_shape(node, 1);
    const int axis = scale_axis(node);
    if (axis < 0)
        return;
    const int64_t block = block_size(node);
    const bool fit = block ? blocks_fit(x, scales, axis, block)
                           : shape_count(scales) == x->dim[axis];
    if (!fit)
        fail_scales(node);
}

void infer_quantize(Node *node)
{
    const Tensor *zero = node_in(node, 2);
    DType type = dtype_of_code(node_int(node, "output_dtype", 0));
    if (zero)
        type = zero->dtype;
    else if (type == DT_NONE)
        type = DT_U8;
    check_scales(node);
    infer_out(node, 0, type, *infer_shape(node, 0));
    infer_result_scale(node, 1);
}

static void check_zero_type(const Node *node)
{
    const Tensor *zero = node_in(node, 2);
    if (zero && zero->dtype != node_type(node))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its input is %s, but its zero point is %s",
                  dtype_name(node_type(node)), dtype_name(zero->dtype));
}

void infer_dequantize(Node *node)
{
    check_zero_type(node);
    check_scales(node);
    const DType said = dtype_of_code(node_int(node, "output_dtype", 0));
    infer_out(node, 0, said != DT_NONE ? said : scale_type(node),
              *infer_shape(node, 0));
    infer_input_scale(node, 1);
}

/* Scales and zero points go along, but where one serves several places. */
int cut_quantize(const Node *node, int axis, int k)
{
    const int rank = node->in[0]->shape.rank;
    const int own = scale_axis(node);
    const bool blocked = own >= 0 && block_size(node);
    if (axis >= rank || (blocked && axis == own))
        return CUT_NEVER;
    if (k == 0 || blocked)
        return axis;
    return axis == own ? 0 : CUT_WHOLE;
}

static void set_blocked(const Node *node, int axis, int64_t block,
                        inlay_quant_params *params)
{
    const Shape *shape = infer_shape(node, 1);
    params->block = i32_checked(block);
    params->si = params->inner > 1;
    params->sa = params->inner;
    params->so = i32_checked(i64_mul(params->inner, shape->dim[axis]));
}

/* A row of an image: its pixels, and the channels of each. */
static void split_row(const Shape *x, int axis, inlay_quant_params *params)
{
    const int32_t channels = i32_checked(x->dim[x->rank - 1]);
    params->outer = i32_checked(shape_row_pixels(x));
    if (axis < 0)
        params->inner = channels;
    else
        params->axis = channels;
}

/* All elements: those before the axis, along it, behind it. */
static void split_at(const Shape *x, int axis, inlay_quant_params *params)
{
    if (axis < 0) {
        params->inner = i32_checked(shape_count(x));
        return;
    }
    params->outer = i32_checked(shape_product(x, 0, axis));
    params->axis = i32_checked(x->dim[axis]);
    params->inner = i32_checked(shape_product(x, axis + 1, x->rank));
}

static inlay_quant_params geometry(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int axis = scale_axis(node);
    const int64_t block = axis < 0 ? 0 : block_size(node);
    inlay_quant_params params = {
        .outer = 1,
        .axis = 1,
        .inner = 1,
        .block = 1,
    };
    const bool by_pixels = axis < 0 || axis == x->rank - 1;
    params.rows = shape_has_rows(x) && !block && by_pixels;
    if (params.rows)
        split_row(x, axis, &params);
    else
        split_at(x, axis, &params);
    if (block > 0)
        set_blocked(node, axis, block, &params);
    else if (axis >= 0)
        params.sa = 1;
    return params;
}

static void rows_of(Operand *operand, const inlay_quant_params *params)
{
    if (!params->rows)
        return;
    operand_image(operand);
    operand->strided = true;
    operand->rule.kind = ROWS_SAME;
}

static void quant_step(Lower *lower, Node *node, const char *kernel,
                       const inlay_quant_params *params, Tensor *y, Tensor *x,
                       Tensor *zero)
{
    if (!tensor_count(y))
        return;
    Tensor *scale = lower_as(lower, node->in[1], DT_F32);
    Step *step = lower_step(lower, kernel, params);
    Operand *out = step_out(step, y);
    rows_of(out, params);
    step->units = out->rows;
    Operand *in = step_in(step, x);
    rows_of(in, params);
    if (dtype_bits(x->dtype) >= dtype_bits(y->dtype))
        in->reuse = REUSE_ELEMENTWISE;
    step_in(step, scale);
    step_in(step, zero);
}

/* The type that values of type are computed in: whole bytes, or float32. */
static DType working_type(DType type)
{
    switch (type) {
    case DT_U4:
    case DT_U2:
        return DT_U8;
    case DT_I4:
    case DT_I2:
        return DT_I8;
    default:
        return dtype_is_small_float(type) ? DT_F32 : type;
    }
}

static void integer_range(const Node *node, DType type,
                          inlay_quant_params *params)
{
    const bool is_signed =
        type == DT_I8 || type == DT_I16 || type == DT_I4 || type == DT_I2;
    const int bits = dtype_bits(type);
    if (bits > 16)
        fail_node(node, STATUS_UNSUPPORTED, "quantize to 16 bits or fewer",
                  "its result is of type %s", dtype_name(type));
    params->lo = is_signed ? -(1 << (bits - 1)) : 0;
    params->hi = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
}

/* The type in which x / scale is rounded before it becomes an integer. */
static int32_t quotient_kind(const Node *node)
{
    const DType said = dtype_of_code(node_int(node, "precision", 0));
    const DType type = said != DT_NONE ? said : scale_type(node);
    if (type == DT_F16)
        return 1;
    return type == DT_BF16 ? 2 : 0;
}

void lower_quantize(Lower *lower, Node *node)
{
    Tensor *out = node->out[0];
    const DType to = out->dtype;
    const DType work = working_type(to);
    inlay_quant_params params = geometry(node);
    params.quotient = quotient_kind(node);
    if (dtype_is_integer(to))
        integer_range(node, to, &params);
    else if (!dtype_is_small_float(to))
        fail_node(node, STATUS_UNSUPPORTED, NULL, "cannot quantize to %s",
                  dtype_name(to));
    Tensor *y = work == to ? out : lower_temp(lower, work, out->shape);
    quant_step(lower, node, lower_kernel(lower, "quantize", work), &params, y,
               lower_as(lower, node->in[0], DT_F32),
               lower_as(lower, node_in(node, 2), work));
    const Rounding rounding = {
        .saturate = node_flag(node, "saturate", true),
    };
    if (y != out)
        lower_cast_as(lower, out, y, rounding);
}

void lower_dequantize(Lower *lower, Node *node)
{
    Tensor *out = node->out[0];
    const DType work = working_type(node_type(node));
    const inlay_quant_params params = geometry(node);
    Tensor *y =
        out->dtype == DT_F32 ? out : lower_temp(lower, DT_F32, out->shape);
    quant_step(lower, node, lower_kernel(lower, "dequantize", work), &params, y,
               lower_as(lower, node->in[0], work),
               lower_as(lower, node_in(node, 2), work));
    if (y != out)
        lower_cast(lower, out, y);
}

/* (recipe - zero) * scale, both broadcast; zero may be NULL. */
static Recipe *affine(Store *store, Recipe *recipe, const Recipe *scale,
                      const Recipe *zero)
{
    if (zero) {
        const Recipe *minus = recipe_number(store, -1.0f);
        const Recipe *wide = recipe_cast(store, zero, DT_F32);
        recipe = recipe_add(store, recipe, recipe_mul(store, wide, minus));
    }
    return recipe_mul(store, recipe, recipe_cast(store, scale, DT_F32));
}

/* A constant [outer][size][inner] with one number for so many of its middle axis. */
typedef struct Blocks {
    int64_t outer;
    int64_t size;
    int64_t inner;
    int64_t block;
    int64_t count;
} Blocks;

static Blocks blocks_of(const Recipe *recipe, int axis, int64_t block)
{
    const int rank = recipe_rank(recipe);
    const Shape all = shape_of(rank, recipe_dims(recipe));
    const int64_t size = i64_max(all.dim[axis], 1);
    Blocks blocks = {
        .outer = shape_product(&all, 0, axis),
        .size = all.dim[axis],
        .inner = shape_product(&all, axis + 1, rank),
        .block = i64_min(block, size), /* a single one, not filled */
    };
    blocks.count = i64_ceil_div(blocks.size, blocks.block);
    return blocks;
}

/* Is the last block as large as the others? */
static bool is_full(const Blocks *blocks)
{
    return blocks->size % blocks->block == 0;
}

/* The constant as its blocks are counted. */
static Recipe *cut_blocks(Store *store, const Recipe *recipe,
                          const Blocks *blocks)
{
    const int64_t full[4] = { blocks->outer, blocks->count, blocks->block,
                              blocks->inner };
    const int64_t partly[3] = { blocks->outer, blocks->size, blocks->inner };
    if (is_full(blocks))
        return recipe_reshape(store, recipe, 4, full);
    return recipe_reshape(store, recipe, 3, partly);
}

/* Scales or zero points for that; NULL: there are none. */
static Recipe *of_blocks(Store *store, const Tensor *numbers,
                         const Blocks *blocks)
{
    const int64_t full[4] = { blocks->outer, blocks->count, 1, blocks->inner };
    const int64_t partly[3] = { blocks->outer, blocks->count, blocks->inner };
    if (!numbers)
        return NULL;
    if (is_full(blocks))
        return recipe_reshape(store, numbers->value, 4, full);
    Recipe *each = recipe_reshape(store, numbers->value, 3, partly);
    return recipe_repeat(store, each, blocks->block, blocks->size);
}

/* With one number for each block of an axis. */
static Recipe *blocked_affine(Store *store, Recipe *recipe, const Tensor *scale,
                              const Tensor *zero, int axis, int64_t block)
{
    const Shape all = shape_of(recipe_rank(recipe), recipe_dims(recipe));
    const Blocks blocks = blocks_of(recipe, axis, block);
    recipe = cut_blocks(store, recipe, &blocks);
    recipe = affine(store, recipe, of_blocks(store, scale, &blocks),
                    of_blocks(store, zero, &blocks));
    return recipe_reshape(store, recipe, all.rank, all.dim);
}

static Recipe *axis_affine(Store *store, Recipe *recipe, const Tensor *scale,
                           const Tensor *zero, int axis)
{
    int64_t dims[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    const int rank = axis < 0 ? 0 : recipe_rank(recipe);
    const Recipe *less = NULL;
    if (axis >= 0)
        dims[axis] = recipe_dims(recipe)[axis];
    if (zero)
        less = recipe_reshape(store, zero->value, rank, dims);
    return affine(store, recipe,
                  recipe_reshape(store, scale->value, rank, dims), less);
}

/* As many zero points as scales, or none. */
static void check_zeros(const Node *node, const Tensor *scale,
                        const Tensor *zero)
{
    if (zero && tensor_count(zero) != tensor_count(scale))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "has %lld scales and %lld zero points",
                  (long long)tensor_count(scale),
                  (long long)tensor_count(zero));
}

/* A constant stays a recipe: cast, minus zero point, times scale. */
Recipe *constant_dequantize(Node *node)
{
    Graph *g = node->graph;
    const Tensor *x = node->in[0];
    const Tensor *scale = node->in[1];
    const Tensor *zero = node_in(node, 2);
    const DType type = node->out[0]->dtype;
    if (!x->value || !scale->value || (zero && !zero->value))
        return NULL;
    const int axis = scale_axis(node);
    const int64_t block = axis < 0 ? 0 : block_size(node);
    check_zeros(node, scale, zero);
    Recipe *recipe = recipe_cast(g->store, x->value, DT_F32);
    recipe = block ? blocked_affine(g->store, recipe, scale, zero, axis, block)
                   : axis_affine(g->store, recipe, scale, zero, axis);
    if (type == DT_F32)
        return recipe;
    return recipe_cast(g->store, recipe, type);
}

void infer_dynamic_quantize(Node *node)
{
    infer_out(node, 0, DT_U8, *infer_shape(node, 0));
    infer_out(node, 1, DT_F32, shape_scalar());
    infer_out(node, 2, DT_U8, shape_scalar());
}

void lower_dynamic_quantize(Lower *lower, Node *node)
{
    const inlay_dynamic_quantize_params params = {
        .n = i32_checked(tensor_count(node->in[0]))
    };
    Step *step = lower_step(lower, "dynamic_quantize", &params);
    step_result(step, 0);
    step_out(step, node_out(node, 1)
                       ? node->out[1]
                       : lower_temp(lower, DT_F32, shape_scalar()));
    step_out(step, node_out(node, 2)
                       ? node->out[2]
                       : lower_temp(lower, DT_U8, shape_scalar()));
    step_operand(step, 0);
}
