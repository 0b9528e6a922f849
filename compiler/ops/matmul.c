/* SPDX-License-Identifier: Apache-2.0
 * Gemm and MatMul. A constant right operand in float32 is packed and becomes a 1x1 convolution of
 * the rows of the left one; all else goes to the general product by strides. */
#include "kernels/matmul.h"

#include <math.h>

#include "base/size.h"
#include "kernels/conv_f32.h"
#include "kernels/dense_f32.h"
#include "kernels/window_plain.h"
#include "ops/epilogue.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/pack.h"

enum { MAX_BATCH = 6 };

/* The product as batches of matrices: y [batch][M][N]. */
typedef struct Product {
    int64_t m, n, k;
    Shape batch; /* of y */
    Shape y;
} Product;

/* A vector operand is a matrix of one row (left) or one column (right). */
static Shape as_matrix(const Node *node, int i)
{
    Shape shape = *infer_shape(node, i);
    if (shape.rank == 0)
        fail_node(node, STATUS_MALFORMED, NULL, "input %d is a scalar", i);
    if (shape.rank == 1) {
        const int64_t d = shape.dim[0];
        shape = i == 0 ? (Shape){ .rank = 2, .dim = { 1, d }, }
                       : (Shape){ .rank = 2, .dim = { d, 1 }, };
    }
    return shape;
}

/* A vector operand leaves no dimension. */
static Shape shape_of_product(const Node *node, const Product *product)
{
    Shape y = product->batch;
    if (node->in[0]->shape.rank > 1)
        y.dim[y.rank++] = product->m;
    if (node->in[1]->shape.rank > 1)
        y.dim[y.rank++] = product->n;
    return y;
}

static Product product_of(const Node *node)
{
    Shape a = as_matrix(node, 0);
    Shape b = as_matrix(node, 1);
    Product product = {
        .m = a.dim[a.rank - 2],
        .k = a.dim[a.rank - 1],
        .n = b.dim[b.rank - 1],
    };
    if (b.dim[b.rank - 2] != product.k)
        fail_node(node, STATUS_MALFORMED, NULL, "matrices %s and %s do not fit",
                  shape_text(node->graph->arena, node_shape(node, 0)),
                  shape_text(node->graph->arena, node_shape(node, 1)));
    a.rank -= 2;
    b.rank -= 2;
    product.batch = infer_broadcast(node, &a, &b);
    if (product.batch.rank > MAX_BATCH)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "more than %d batch dimensions", MAX_BATCH);
    product.y = shape_of_product(node, &product);
    return product;
}

/* Operands of several types would be read wrongly. */
static void check_types(const Node *node)
{
    for (int i = 1; i < node->n_in; i++)
        if (node->in[i] && node->in[i]->dtype != node_type(node))
            fail_node(
                node, STATUS_MALFORMED, NULL, "operands of types %s and %s",
                dtype_name(node_type(node)), dtype_name(node->in[i]->dtype));
}

void infer_matmul(Node *node)
{
    check_types(node);
    const Product product = product_of(node);
    infer_out(node, 0, node_type(node), product.y);
}

enum { SMALL_PRODUCT = 4096, SMALL_WIDTH = 4 };

/* A product with packed weights: [rows][k] times [k][columns]. */
typedef struct Packed {
    int64_t rows, k, columns;
    Weights weights;
    Tensor *bias, *residual;
    bool dense; /* for the plain dense kernel */
} Packed;

/* Does the plain dense kernel serve it? Its code is small; with vectors the tiles are faster on
 * more. */
static bool is_dense(const Lower *lower, const Node *node, const Packed *packed)
{
    const Epilogue epilogue = epilogue_of(node);
    const bool few =
        packed->k <= SMALL_PRODUCT && packed->columns <= SMALL_PRODUCT;
    const bool small = few && packed->k * packed->columns <= SMALL_PRODUCT;
    return packed->rows == 1 && (small || !lower->family->float_vectors) &&
           !epilogue_needs_pass(&epilogue);
}

static void lower_dense(Lower *lower, Node *node, const Packed *packed)
{
    const Epilogue epilogue = epilogue_of(node);
    const int clamp = epilogue_clamp(&epilogue);
    const inlay_dense_params params = {
        .k = i32_checked(packed->k),
        .n = i32_checked(packed->columns),
        .clamp = clamp,
        .a = clamp & 1 ? epilogue.a : 0.0f,
        .b = clamp & 2 ? epilogue.b : 0.0f,
    };
    Step *step = lower_step(lower, "dense_f32", &params);
    step_result(step, 0);
    step_operand(step, 0);
    step_in(step, packed->weights.values);
    step_in(step, packed->bias);
    step_in(step, packed->residual)->reuse = REUSE_ELEMENTWISE;
    step->macs = packed->k * packed->columns;
}

/* The matrix as the kernel of that product reads it. */
static void pack_for(Lower *lower, const Node *node, Packed *packed,
                     const Recipe *matrix, bool transposed, float alpha)
{
    const int width = lower->pack_width;
    packed->dense = !lower->any_rows && is_dense(lower, node, packed) &&
                    !weights_are_narrow(lower, matrix);
    if (packed->dense)
        lower->pack_width = SMALL_WIDTH;
    packed->weights = pack_matrix(lower, matrix, transposed, alpha);
    lower->pack_width = width;
}

/* The operand's pixels in the rows that the result has. */
static void product_rows(Operand *operand, const Step *step, int64_t pixel)
{
    operand_rows(operand, step->units, pixel);
    if (!operand->tensor)
        return;
    operand->strided = true;
    operand->rule.kind = ROWS_SAME;
}

static inlay_conv_params product_params(const Lower *lower, const Node *node,
                                        const Packed *packed)
{
    const Shape *y = result_shape(node, 0);
    const Epilogue epilogue = epilogue_of(node);
    const int64_t width =
        shape_has_rows(y) ? shape_row_pixels(y) : packed->rows;
    const int32_t columns = i32_checked(width);
    const int32_t units = i32_checked(packed->rows / width);
    inlay_conv_params params = {
        .id = 1,
        .ih = units,
        .iw = columns,
        .od = 1,
        .oh = units,
        .ow = columns,
        .kd = 1,
        .kh = 1,
        .kw = 1,
        .sd = 1,
        .sh = 1,
        .sw = 1,
        .dd = 1,
        .dh = 1,
        .dw = 1,
        .groups = 1,
        .ic = i32_checked(packed->k),
        .oc = i32_checked(packed->columns),
        .width = lower->pack_width,
    };
    epilogue_params(&epilogue, &params);
    return params;
}

static void packed_operands(Step *step, const Packed *packed)
{
    product_rows(step_result(step, 0), step, packed->columns);
    Operand *x = step_operand(step, 0);
    product_rows(x, step, packed->k);
    x->reuse = REUSE_ROWS;
    x->pixels = (PixelRule){
        .stride = 1,
        .extent = 1,
        .tile = INLAY_TILE_MOST,
    };
    step_in(step, packed->weights.values);
    step_in(step, packed->bias);
    Operand *residual = step_in(step, packed->residual);
    product_rows(residual, step, packed->columns);
    residual->reuse = REUSE_ELEMENTWISE;
    weights_operands(step, &packed->weights);
}

/* Operands of inlay_conv_...: the rows of [rows][K] times packed weights. */
static void lower_packed(Lower *lower, Node *node, const Packed *packed)
{
    if (packed->dense) {
        lower_dense(lower, node, packed);
        return;
    }
    const inlay_conv_params params = product_params(lower, node, packed);
    const char *name = params.act ? "conv_act" : "conv";
    const char *kernel = lower_kernel(lower, name, packed->weights.type);
    Step *step = lower_step(lower, kernel, &params);
    step->units = params.oh;
    if (packed->weights.width < params.width)
        step->alone = packed->weights.width;
    packed_operands(step, packed);
    step->macs = i64_mul(packed->rows, i64_mul(packed->k, packed->columns));
}

/* Strides over the batch of an operand whose matrices are the last two dimensions of shape; 0 where
 * it is broadcast. */
static void batch_strides(const Shape *shape, int64_t *to)
{
    const int batch = shape->rank - 2;
    int64_t stride = shape_product(shape, batch, shape->rank);
    for (int i = 0; i < MAX_BATCH; i++)
        to[i] = 0;
    for (int i = 0; i < batch; i++) {
        const int64_t d = shape->dim[batch - 1 - i];
        to[MAX_BATCH - 1 - i] = d == 1 ? 0 : stride;
        stride = i64_mul(stride, d);
    }
}

static void set_product(inlay_matmul_params *params, const Product *product)
{
    const Shape *batch = &product->batch;
    params->m = i32_checked(product->m);
    params->n = i32_checked(product->n);
    params->k = i32_checked(product->k);
    for (int i = 0; i < MAX_BATCH; i++)
        params->batch[i] = 1;
    for (int i = 0; i < batch->rank; i++) {
        const int64_t d = batch->dim[batch->rank - 1 - i];
        params->batch[MAX_BATCH - 1 - i] = i32_checked(d);
    }
}

/* Integers wrap: signed ones are computed as unsigned. */
static const char *general_kernel(Lower *lower, DType type)
{
    if (type == DT_I32)
        return "matmul_u32";
    if (type == DT_I64)
        return "matmul_u64";
    return lower_kernel(lower, "matmul", type);
}

static void take_rows(inlay_matmul_params *params, Step *step)
{
    const bool dense = params->ak == 1 && params->am == params->k;
    int64_t lines = params->m;
    for (int i = 0; i < MAX_BATCH; i++)
        lines = i64_mul(lines, params->batch[i]);
    params->lines = step_by_lines(step, lines, dense ? params->k : 0);
    params->by_row = step->units > 1;
}

/* c: added with q->beta, may be NULL; its strides are in q. epilogue: what is done to the
 * product after that. */
static void lower_general(Lower *lower, Node *node,
                          const inlay_matmul_params *q, Tensor *c,
                          const Epilogue *epilogue, int64_t macs)
{
    Tensor *out = node->out[0];
    Tensor *y = epilogue->act || epilogue->residual
                    ? lower_temp(lower, out->dtype, out->shape)
                    : out;
    Step *step = lower_step(lower, general_kernel(lower, out->dtype), q);
    step_out(step, y);
    step_operand(step, 0);
    step_operand(step, 1);
    step_in(step, c);
    take_rows(step->params, step);
    step->macs = macs;
    if (y != out)
        lower_epilogue(lower, node, epilogue, y);
}

/* Is operand 1 one constant matrix, and the product one of rows by it? */
static bool is_packable(const Node *node, const Product *product)
{
    const Shape *b = node_shape(node, 1);
    if (node_type(node) != DT_F32 || !node->in[1]->value || node->in[0]->value)
        return false;
    for (int i = 0; i < b->rank - 2; i++)
        if (b->dim[i] != 1)
            return false;
    return shape_count(&product->y) > 0 && product->k > 0;
}

/* A bias added by a pass: one number for each column. */
static Tensor *matmul_bias(const Node *node, const Tensor *residual)
{
    Tensor *bias = NULL;
    for (int i = 2; i < node->n_in; i++)
        if (node->in[i] && node->in[i] != residual)
            bias = node->in[i];
    return bias;
}

static void lower_matmul_packed(Lower *lower, Node *node,
                                const Product *product, int64_t rows,
                                const Tensor *bias)
{
    const Epilogue epilogue = epilogue_of(node);
    const int64_t dims[2] = { product->k, product->n };
    const Recipe *matrix =
        recipe_reshape(lower->store, node->in[1]->value, 2, dims);
    Packed packed = {
        .rows = rows,
        .k = product->k,
        .columns = product->n,
        .residual = epilogue.residual,
    };
    packed.bias = pack_bias(lower, bias ? bias->value : NULL, 1, product->n);
    pack_for(lower, node, &packed, matrix, false, 1.0f);
    lower_packed(lower, node, &packed);
}

void lower_matmul(Lower *lower, Node *node)
{
    const Product product = product_of(node);
    const int64_t rows = i64_mul(shape_count(&product.batch), product.m);
    const Epilogue epilogue = epilogue_of(node);
    Tensor *bias = matmul_bias(node, epilogue.residual);
    if (is_packable(node, &product) && (!bias || bias->value)) {
        lower_matmul_packed(lower, node, &product, rows, bias);
        return;
    }
    const Shape a = as_matrix(node, 0);
    const Shape b = as_matrix(node, 1);
    inlay_matmul_params params = {
        .am = product.k,
        .ak = 1,
        .bk = product.n,
        .bn = 1,
        .cn = bias && tensor_count(bias) > 1,
        .alpha = 1.0f,
        .beta = 1.0f,
    };
    set_product(&params, &product);
    batch_strides(&a, params.a_batch);
    batch_strides(&b, params.b_batch);
    lower_general(lower, node, &params, bias, &epilogue,
                  i64_mul(rows, i64_mul(product.n, product.k)));
}

/* Gemm: y [M][N] = alpha A' B' + beta C. */
typedef struct GemmShape {
    int64_t m, n, k;
    bool trans_a, trans_b;
    float alpha, beta;
} GemmShape;

static GemmShape gemm_of(const Node *node)
{
    const Shape *a = infer_shape(node, 0);
    const Shape *b = infer_shape(node, 1);
    GemmShape gemm = {
        .trans_a = node_flag(node, "transA", false),
        .trans_b = node_flag(node, "transB", false),
        .alpha = node_float(node, "alpha", 1.0f),
        .beta = node_float(node, "beta", 1.0f),
    };
    if (a->rank != 2 || b->rank != 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its operands have %d and %d dimensions, not two", a->rank,
                  b->rank);
    gemm.m = a->dim[gemm.trans_a];
    gemm.k = a->dim[!gemm.trans_a];
    gemm.n = b->dim[!gemm.trans_b];
    if (b->dim[gemm.trans_b] != gemm.k)
        fail_node(node, STATUS_MALFORMED, NULL, "matrices %s and %s do not fit",
                  shape_text(node->graph->arena, a),
                  shape_text(node->graph->arena, b));
    return gemm;
}

static Tensor *gemm_c(const Node *node)
{
    const int64_t residual = node_int(node, "residual", -1);
    return residual == 2 ? NULL : node_in(node, 2);
}

/* Does the kernel take this factor of integers? */
static bool is_whole(float v)
{
    return v == floorf(v) && fabsf(v) < 0x1p31f;
}

/* Integers times factors that are none. */
static void expand_fractional(Node *node)
{
    Tensor *a = expand_cast(node, node->in[0], DT_F64);
    Tensor *b = expand_cast(node, node->in[1], DT_F64);
    Tensor *c = expand_cast(node, node_in(node, 2), DT_F64);
    Node *made = expand_of(node, "Gemm", a, b, c);
    expand_copy_attrs(made, node);
    Tensor *y = expand_cast(node, expand_done(made), node_type(node));
    expand_finish_one(node, y);
}

void infer_gemm(Node *node)
{
    check_types(node);
    const bool whole = is_whole(node_float(node, "alpha", 1.0f)) &&
                       is_whole(node_float(node, "beta", 1.0f));
    if (dtype_is_integer(node_type(node)) && !whole) {
        infer_shape(node, 0);
        expand_fractional(node);
        return;
    }
    const GemmShape gemm = gemm_of(node);
    const int64_t dims[2] = { gemm.m, gemm.n };
    const Shape y = shape_of(2, dims);
    if (gemm_c(node)) {
        const Shape all = infer_broadcast(node, &y, infer_shape(node, 2));
        if (!shape_equal(&all, &y))
            fail_node(node, STATUS_MALFORMED, NULL, "C %s does not fit %s",
                      shape_text(node->graph->arena, node_shape(node, 2)),
                      shape_text(node->graph->arena, &y));
    }
    infer_out(node, 0, node_type(node), y);
}

/* Size of C along rows and columns: 1 where it is broadcast. */
static int64_t c_rows(const Shape *c)
{
    return c->rank == 2 ? c->dim[0] : 1;
}
static int64_t c_columns(const Shape *c)
{
    return c->rank ? c->dim[c->rank - 1] : 1;
}

/* A constant C that is the same in every row, as the bias; NULL where there is no C. */
static Recipe *gemm_bias(Lower *lower, const GemmShape *gemm, const Tensor *c)
{
    Store *s = lower->store;
    const int64_t size = c_columns(&c->shape);
    const int64_t dims[2] = { 1, gemm->n };
    Recipe *recipe = recipe_reshape(s, c->value, 1, &size);
    if (gemm->beta != 1.0f)
        recipe = recipe_mul(s, recipe, recipe_number(s, gemm->beta));
    return recipe_expand(s, recipe, 2, dims);
}

/* A C that differs from row to row and can be added as it lies: it has the shape of y and the
 * factor 1. */
static Tensor *gemm_added(Lower *lower, const GemmShape *gemm, Tensor *c)
{
    Store *s = lower->store;
    const int64_t dims[2] = { gemm->m, gemm->n };
    const Shape y = shape_of(2, dims);
    if (gemm->beta == 1.0f && shape_equal(&c->shape, &y))
        return c;
    if (!c->value)
        return NULL;
    Recipe *recipe = c->value;
    if (gemm->beta != 1.0f)
        recipe = recipe_mul(s, recipe, recipe_number(s, gemm->beta));
    return lower_constant(lower, recipe_expand(s, recipe, 2, dims));
}

/* C as a bias or, in the place of a residual, added as it lies; false where it fits neither. */
static bool gemm_take_c(Lower *lower, const GemmShape *gemm, Tensor *c,
                        Packed *packed)
{
    Recipe *bias = NULL;
    if (c && c->value && c_rows(&c->shape) == 1) {
        bias = gemm_bias(lower, gemm, c);
    } else if (c) {
        if (packed->residual)
            return false;
        packed->residual = gemm_added(lower, gemm, c);
        if (!packed->residual)
            return false;
    }
    packed->bias = pack_bias(lower, bias, 1, gemm->n);
    return true;
}

/* The packed form; false where C or the residual do not fit it. */
static bool lower_gemm_packed(Lower *lower, Node *node, const GemmShape *gemm,
                              Tensor *c, Tensor *residual)
{
    const Tensor *a = node->in[0];
    const Tensor *b = node->in[1];
    Packed packed = {
        .rows = gemm->m,
        .k = gemm->k,
        .columns = gemm->n,
        .residual = residual,
    };
    if (a->dtype != DT_F32 || a->value || !b->value || gemm->trans_a)
        return false;
    if (gemm->m * gemm->n * gemm->k == 0)
        return false;
    if (!gemm_take_c(lower, gemm, c, &packed))
        return false;
    pack_for(lower, node, &packed, b->value, gemm->trans_b, gemm->alpha);
    lower_packed(lower, node, &packed);
    return true;
}

static inlay_matmul_params gemm_params(const GemmShape *gemm, const Tensor *c)
{
    const Product product = {
        .m = gemm->m,
        .n = gemm->n,
        .k = gemm->k,
    };
    inlay_matmul_params params = {
        .am = gemm->trans_a ? 1 : gemm->k,
        .ak = gemm->trans_a ? gemm->m : 1,
        .bk = gemm->trans_b ? 1 : gemm->n,
        .bn = gemm->trans_b ? gemm->k : 1,
        .alpha = gemm->alpha,
        .beta = c ? gemm->beta : 1.0f,
    };
    set_product(&params, &product);
    if (c) {
        params.cm = c_rows(&c->shape) > 1 ? c_columns(&c->shape) : 0;
        params.cn = c_columns(&c->shape) > 1 ? 1 : 0;
    }
    return params;
}

void lower_gemm(Lower *lower, Node *node)
{
    const GemmShape gemm = gemm_of(node);
    const Epilogue epilogue = epilogue_of(node);
    Tensor *c = gemm_c(node);
    if (lower_gemm_packed(lower, node, &gemm, c, epilogue.residual))
        return;
    const inlay_matmul_params params = gemm_params(&gemm, c);
    lower_general(lower, node, &params, c, &epilogue,
                  i64_mul(gemm.m, i64_mul(gemm.n, gemm.k)));
}
