/* SPDX-License-Identifier: Apache-2.0
 * Matrix products of 8-bit integers: MatMulInteger, QLinearMatMul.
 * Scales and zero points are operands: they may be made at run time. */
#include "base/size.h"
#include "kernels/qdot.h"
#include "kernels/qpacked.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/qnarrow.h"
#include "ops/qpacked.h"
#include "ops/qplaces.h"
#include "ops/typed.h"

/* Batch dimensions of a matrix product, and its rows, columns, depth. A vector is a matrix of one
 * row or column. */
typedef struct Product {
    Shape batch, a, b; /* batches */
    int64_t m, n, k;
    bool a_vector, b_vector;
} Product;

static Shape batch_of(const Shape *shape)
{
    return shape->rank > 2 ? shape_of(shape->rank - 2, shape->dim)
                           : shape_scalar();
}

static Product product_of(const Node *node, const QuantPlaces *places)
{
    const Shape *a = infer_shape(node, places->a);
    const Shape *b = infer_shape(node, places->b);
    if (!a->rank || !b->rank)
        fail_node(node, STATUS_MALFORMED, NULL, "an operand is a scalar");
    Product r = {
        .a = batch_of(a),
        .b = batch_of(b),
        .a_vector = a->rank == 1,
        .b_vector = b->rank == 1,
    };
    r.m = r.a_vector ? 1 : a->dim[a->rank - 2];
    r.k = a->dim[a->rank - 1];
    r.n = r.b_vector ? 1 : b->dim[b->rank - 1];
    if (b->dim[r.b_vector ? 0 : b->rank - 2] != r.k)
        fail_node(node, STATUS_MALFORMED, NULL, "matrices %s and %s do not fit",
                  shape_text(node->graph->arena, a),
                  shape_text(node->graph->arena, b));
    r.batch = infer_broadcast(node, &r.a, &r.b);
    return r;
}

static Shape product_shape(const Product *r)
{
    Shape shape = r->batch;
    if (!r->a_vector)
        shape.dim[shape.rank++] = r->m;
    if (!r->b_vector)
        shape.dim[shape.rank++] = r->n;
    return shape;
}

void infer_matmul_integer(Node *node)
{
    const Product r = product_of(node, &quant_sums);
    infer_out(node, 0, DT_I32, product_shape(&r));
}

/* Quantization of operands x, scale, zero point; a vector of scales lies along `axis`. */
static Tensor *requantized(const Node *node, const char *op, Tensor *x,
                           Tensor *scale, Tensor *zero, int axis)
{
    Tensor *in[] = { x, expand_cast(node, scale, DT_F32), zero };
    Node *made = expand_node(node, op, zero ? 3 : 2, in, 1);
    if (scale->shape.rank)
        node_set_int(made, "axis", axis);
    return expand_done(made);
}

/* Factors or a result of 8-bit floats: there is nothing exact to keep, the product is one of
 * float32. */
static bool expand_float8(Node *node)
{
    if (!dtype_is_float(node_type(node)) &&
        !dtype_is_float(node->in[3]->dtype) &&
        !dtype_is_float(node->in[7]->dtype))
        return false;
    const int a = infer_shape(node, 0)->rank;
    const int b = infer_shape(node, 3)->rank;
    Tensor *y = expand_matmul(node,
                              requantized(node, "DequantizeLinear", node->in[0],
                                          node->in[1], node->in[2], a - 2),
                              requantized(node, "DequantizeLinear", node->in[3],
                                          node->in[4], node->in[5], b - 1));
    y = requantized(node, "QuantizeLinear", y, node->in[6], node->in[7],
                    y->shape.rank - 2);
    expand_finish_one(node, y);
    return true;
}

void infer_qlinear_matmul(Node *node)
{
    if (expand_float8(node))
        return;
    const Product r = product_of(node, &quant_bytes);
    infer_out(node, 0, node->in[7]->dtype, product_shape(&r));
    infer_input_scale(node, 1);
    infer_result_scale(node, 6);
}

static void set_batch(inlay_qmatmul_params *params, const Node *node,
                      const Product *r)
{
    int64_t as[MAX_RANK], bs[MAX_RANK];
    if (r->batch.rank > 6)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "has more than 8 dimensions");
    shape_broadcast_strides(&r->a, &r->batch, as);
    shape_broadcast_strides(&r->b, &r->batch, bs);
    params->rank = r->batch.rank;
    for (int i = 0; i < r->batch.rank; i++) {
        params->dims[i] = i32_checked(r->batch.dim[i]);
        params->as[i] = i32_checked(as[i]);
        params->bs[i] = i32_checked(bs[i]);
    }
}

/* A scale or zero point: one for all, or one for each row or column, in each matrix or in all. */
static void check_count(const Node *node, int place, int64_t lines,
                        int64_t batches)
{
    const Tensor *tensor = quant_in(node, place);
    const int64_t all = i64_mul(lines, batches);
    int64_t count = 1;
    if (tensor)
        count = shape_count(infer_shape(node, place));
    if (count != 1 && count != lines && count != all)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its operand \"%s\" has %lld elements, 1 or %lld fit",
                  tensor->name, (long long)count, (long long)lines);
}

static void check_counts(const Node *node, const QuantPlaces *places,
                         const Product *r)
{
    const int64_t batches = shape_count(&r->batch);
    check_count(node, places->za, r->m, batches);
    check_count(node, places->sa, r->m, batches);
    check_count(node, places->zb, r->n, batches);
    check_count(node, places->sb, r->n, batches);
}

static inlay_qmatmul_params product_params(const Node *node,
                                           const QuantPlaces *places,
                                           const Product *product)
{
    const Tensor *a = quant_in(node, places->a);
    const Tensor *b = quant_in(node, places->b);
    inlay_qmatmul_params params = {
        .m = i32_checked(product->m),
        .n = i32_checked(product->n),
        .k = i32_checked(product->k),
        .signs = quant_signs(a, b),
        .out = quant_out_kind(node, node->out[0]->dtype),
        .za = quant_count(node, places->za),
        .zb = quant_count(node, places->zb),
        .sa = quant_count(node, places->sa),
        .sb = quant_count(node, places->sb),
    };
    bytes_bounds(node, &params.lo, &params.hi);
    set_batch(&params, node, product);
    return params;
}

/* The operand's pixels in the rows that the result has: its own shape may have others, where the
 * matrix brings dimensions of 1 or takes the last one away. */
static void product_rows(Operand *operand, int32_t rows, int64_t pixel)
{
    operand_rows(operand, rows, pixel);
    operand->strided = true;
    operand->rule.kind = ROWS_SAME;
}

/* A convolution of 1 x 1 over so many rows of pixels. */
static inlay_qpacked_params product_geometry(int64_t rows, int64_t width)
{
    inlay_qpacked_params params = { .id = 1, .od = 1, .groups = 1 };
    params.ih = params.oh = i32_checked(rows);
    params.iw = params.ow = i32_checked(width);
    params.kd = params.kh = params.kw = 1;
    params.sd = params.sh = params.sw = 1;
    params.dd = params.dh = params.dw = 1;
    return params;
}

/* The matrix [K][N] as weights [N][K]. */
static Recipe *turned_matrix(Store *store, const Recipe *w,
                             const Product *product)
{
    const int64_t dims[2] = { product->k, product->n };
    Recipe *matrix = recipe_reshape(store, w, 2, dims);
    return recipe_turn(store, matrix);
}

static void set_product_rows(Step *step, const inlay_qpacked_params *params)
{
    Operand *x = step->operand + 1;
    product_rows(step->operand, params->oh, params->oc);
    product_rows(x, params->oh, params->ic);
    x->reuse = REUSE_ROWS;
    x->pixels = (PixelRule){
        .stride = 1,
        .extent = 1,
        .tile = qnarrow_by_pixel(step) ? INLAY_QPIXELS : 0,
    };
    step->units = params->oh;
}

/* Rows by one constant matrix; false: it is none. */
static bool lower_product_packed(Lower *lower, Node *node,
                                 const QuantPlaces *places,
                                 const Product *product)
{
    ByteOperands q = quant_operands(node, places);
    if (shape_count(&product->b) != 1 || !bytes_packable(&q, product->n))
        return false;
    const Shape *y = &q.y->shape;
    const int64_t pixels = tensor_count(q.y) / product->n;
    int64_t width = 1;
    if (shape_has_rows(y))
        width = shape_row_pixels(y);
    inlay_qpacked_params params = product_geometry(pixels / width, width);
    params.ic = i32_checked(product->k);
    params.oc = i32_checked(product->n);
    Tensor turned = *q.w;
    turned.value = turned_matrix(lower->store, q.w->value, product);
    q.w = &turned;
    Step *step = lower_bytes_packed(lower, node, &q, &params);
    set_product_rows(step, &params);
    step->macs = i64_mul(tensor_count(q.y), product->k);
    return true;
}

static void take_rows(Step *step, const Product *product)
{
    inlay_qmatmul_params *params = step->params;
    const int64_t lines = tensor_count(step->operand->tensor) / product->n;
    params->lines = step_by_lines(step, lines, product->k);
    params->by_row = step->units > 1;
}

static void lower_product(Lower *lower, Node *node, const QuantPlaces *places)
{
    const Product product = product_of(node, places);
    check_counts(node, places, &product);
    quant_check_bytes(node, places->a);
    quant_check_weights(node, places->b);
    const inlay_qmatmul_params params = product_params(node, places, &product);
    if (!tensor_count(node->out[0]) ||
        lower_product_packed(lower, node, places, &product))
        return;
    quant_check_bytes(node, places->b);
    Tensor *q[QUANT_OTHERS];
    quant_others(lower, node, places, q);
    Step *step = lower_step(lower, "qmatmul", &params);
    step_result(step, 0);
    step_in(step, quant_in(node, places->a));
    step_in(step, quant_in(node, places->b));
    for (int i = 0; i < QUANT_OTHERS; i++)
        step_in(step, q[i]);
    take_rows(step, &product);
    step->macs = i64_mul(tensor_count(node->out[0]), product.k);
}

void lower_matmul_integer(Lower *lower, Node *node)
{
    lower_product(lower, node, &quant_sums);
}
void lower_qlinear_matmul(Lower *lower, Node *node)
{
    lower_product(lower, node, &quant_bytes);
}
