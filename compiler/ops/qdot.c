/* SPDX-License-Identifier: Apache-2.0
 * Products of 8-bit integers: MatMulInteger, QLinearMatMul, ConvInteger, QLinearConv.
 * Scales and zero points are operands: they may be made at run time. */
#include "kernels/qdot.h"

#include <assert.h>

#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/qpacked.h"
#include "ops/typed.h"
#include "ops/window.h"

/* Where a product's operands stand in its node; -1: it has none. */
typedef struct Places {
    int a;
    int b;
    int za;
    int zb;
    int sa;
    int sb;
    int sy;
    int zy;
    int bias;
    int add; /* floats */
} Places;

/* MatMulInteger, ConvInteger: the sums themselves. */
static const Places of_sums = {
    .a = 0,
    .b = 1,
    .za = 2,
    .zb = 3,
    .sa = -1,
    .sb = -1,
    .sy = -1,
    .zy = -1,
    .bias = -1,
    .add = -1,
};
/* QLinearMatMul, QLinearConv: of a matrix product there is no operand 8. */
static const Places of_bytes = {
    .a = 0,
    .b = 3,
    .za = 2,
    .zb = 5,
    .sa = 1,
    .sb = 4,
    .sy = 6,
    .zy = 7,
    .bias = 8,
    .add = -1,
};
/* ConvIntegerToFloat. */
static const Places of_floats = {
    .a = 0,
    .b = 3,
    .za = 2,
    .zb = 5,
    .sa = 1,
    .sb = 4,
    .sy = -1,
    .zy = -1,
    .bias = -1,
    .add = 6,
};

static Tensor *at(const Node *node, int place)
{
    return place < 0 ? NULL : node_in(node, place);
}

static bool is_signed(const Tensor *tensor)
{
    return tensor->dtype == DT_I8;
}

static void check_bytes(const Node *node, int place)
{
    const DType type = node->in[place]->dtype;
    if (type != DT_I8 && type != DT_U8)
        fail_node(node, STATUS_UNSUPPORTED, "quantize to int8 or uint8",
                  "input %d is of type %s", place, dtype_name(type));
}

static int32_t out_kind(const Node *node, DType type)
{
    if (type == DT_I32)
        return INLAY_QOUT_I32;
    if (type == DT_F32)
        return INLAY_QOUT_F32;
    if (type == DT_U8)
        return INLAY_QOUT_U8;
    if (type == DT_I8)
        return INLAY_QOUT_I8;
    fail_node(node, STATUS_UNSUPPORTED, NULL, "its result is of type %s",
              dtype_name(type));
}

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

static Product product_of(const Node *node, const Places *places)
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
    const Product r = product_of(node, &of_sums);
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
    const Product r = product_of(node, &of_bytes);
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

/* The operands that follow the two factors, in the kernels' order: zero points, scales, those of
 * the result. */
enum { QUANT_OPERANDS = 6 };

static void quant_operands(Lower *lower, Node *node, const Places *places,
                           Tensor **q)
{
    q[0] = at(node, places->za);
    q[1] = at(node, places->zb);
    q[2] = lower_as(lower, at(node, places->sa), DT_F32);
    q[3] = lower_as(lower, at(node, places->sb), DT_F32);
    q[4] = lower_as(lower, at(node, places->sy), DT_F32);
    q[5] = at(node, places->zy);
}

static ByteOperands operands_of(const Node *node, const Places *places)
{
    return (ByteOperands){
        .y = node->out[0],
        .x = at(node, places->a),
        .w = at(node, places->b),
        .zx = at(node, places->za),
        .zw = at(node, places->zb),
        .sx = at(node, places->sa),
        .sw = at(node, places->sb),
        .sy = at(node, places->sy),
        .zy = at(node, places->zy),
        .bias = at(node, places->bias),
        .add = at(node, places->add),
    };
}

/* A scale or zero point: one for all, or one for each row or column, in each matrix or in all. */
static void check_count(const Node *node, int place, int64_t lines,
                        int64_t batches)
{
    const Tensor *tensor = at(node, place);
    const int64_t all = i64_mul(lines, batches);
    int64_t count = 1;
    if (tensor)
        count = shape_count(infer_shape(node, place));
    if (count != 1 && count != lines && count != all)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its operand \"%s\" has %lld elements, 1 or %lld fit",
                  tensor->name, (long long)count, (long long)lines);
}

static void check_counts(const Node *node, const Places *places,
                         const Product *r)
{
    const int64_t batches = shape_count(&r->batch);
    check_count(node, places->za, r->m, batches);
    check_count(node, places->sa, r->m, batches);
    check_count(node, places->zb, r->n, batches);
    check_count(node, places->sb, r->n, batches);
}

static inlay_qmatmul_params
product_params(const Node *node, const Places *places, const Product *product)
{
    const Tensor *a = at(node, places->a);
    const Tensor *b = at(node, places->b);
    inlay_qmatmul_params params = {
        .m = i32_checked(product->m),
        .n = i32_checked(product->n),
        .k = i32_checked(product->k),
        .signs = is_signed(a) | is_signed(b) << 1,
        .out = out_kind(node, node->out[0]->dtype),
        .za = operand_count(at(node, places->za)),
        .zb = operand_count(at(node, places->zb)),
        .sa = operand_count(at(node, places->sa)),
        .sb = operand_count(at(node, places->sb)),
    };
    bytes_bounds(node, &params.lo, &params.hi);
    set_batch(&params, node, product);
    return params;
}

/* The rows of the operand as pixels, those of the result alike. */
static void product_rows(Operand *operand, int32_t rows, int64_t pixel)
{
    if (shape_has_rows(&operand->tensor->shape))
        operand_image(operand);
    else
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
        .tile = INLAY_QPIXELS,
    };
    step->units = params->oh;
}

/* Rows by one constant matrix; false: it is none. */
static bool lower_product_packed(Lower *lower, Node *node, const Places *places,
                                 const Product *product)
{
    ByteOperands q = operands_of(node, places);
    if (shape_count(&product->b) != 1 || !bytes_packable(&q, product->n))
        return false;
    const Shape *y = &q.y->shape;
    const int64_t pixels = tensor_count(q.y) / product->n;
    const int64_t width = shape_has_rows(y) ? shape_row_pixels(y) : 1;
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

static void lower_product(Lower *lower, Node *node, const Places *places)
{
    const Product product = product_of(node, places);
    check_counts(node, places, &product);
    check_bytes(node, places->a);
    check_bytes(node, places->b);
    const inlay_qmatmul_params params = product_params(node, places, &product);
    if (!tensor_count(node->out[0]) ||
        lower_product_packed(lower, node, places, &product))
        return;
    Tensor *q[QUANT_OPERANDS];
    quant_operands(lower, node, places, q);
    Step *step = lower_step(lower, "qmatmul", &params);
    step_result(step, 0);
    step_in(step, at(node, places->a));
    step_in(step, at(node, places->b));
    for (int i = 0; i < QUANT_OPERANDS; i++)
        step_in(step, q[i]);
    take_rows(step, &product);
    step->macs = i64_mul(tensor_count(node->out[0]), product.k);
}

void lower_matmul_integer(Lower *lower, Node *node)
{
    lower_product(lower, node, &of_sums);
}
void lower_qlinear_matmul(Lower *lower, Node *node)
{
    lower_product(lower, node, &of_bytes);
}

/* Convolutions. */

static const int64_t *taps_of(const Node *node, const Places *places)
{
    const Shape *w = infer_shape(node, places->b);
    if (w->rank != infer_shape(node, 0)->rank)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its weights have %d dimensions, its image %d", w->rank,
                  node->in[0]->shape.rank);
    return w->dim + 2;
}

static void infer_qconv(Node *node, const Places *places, DType type)
{
    const Window window = window_of(node, taps_of(node, places));
    const Shape *k = infer_shape(node, places->b);
    const int64_t groups = node_int(node, "group", 1);
    if (groups < 1 || window.channels % groups ||
        k->dim[1] != window.channels / groups || k->dim[0] % groups)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "weights %s do not fit %lld channels in %lld groups",
                  shape_text(node->graph->arena, k), (long long)window.channels,
                  (long long)groups);
    infer_out(node, 0, type, window_shape(&window, k->dim[0]));
}

void infer_conv_integer(Node *node)
{
    infer_qconv(node, &of_sums, DT_I32);
}
void infer_conv_to_float(Node *node)
{
    infer_qconv(node, &of_floats, DT_F32);
}
void infer_qlinear_conv(Node *node)
{
    infer_qconv(node, &of_bytes,
                node_in(node, 7) ? node->in[7]->dtype : node_type(node));
    infer_input_scale(node, 1);
    infer_result_scale(node, 6);
}

/* Weights of dims [groups][OC][IC][taps] as [groups][taps][IC][OC]. */
static Tensor *turned_constant(Lower *lower, const Recipe *weights,
                               const int64_t *dims)
{
    static const int perm[4] = { 0, 3, 2, 1 };
    Store *store = lower->store;
    const Recipe *recipe = recipe_reshape(store, weights, 4, dims);
    return lower_constant(lower, recipe_transpose(store, recipe, perm));
}

static Tensor *turned_when_run(Lower *lower, Tensor *weights,
                               const int64_t *dims)
{
    const int64_t taps = dims[3];
    const int64_t each = i64_mul(dims[2], taps); /* of a channel of y */
    Move move = {
        .rank = 4,
        .n = { dims[0], taps, dims[2], dims[1] },
        .x = { i64_mul(dims[1], each), 1, taps, each },
    };
    Tensor *y = lower_temp(lower, weights->dtype, shape_of(4, move.n));
    shape_strides(&y->shape, move.y);
    lower_move(lower, y, weights, &move);
    return y;
}

/* Weights [groups * OC][IC][taps...] -> [groups][taps][IC][OC]; depthwise: [taps][C]. Made at run
 * time where they are no constant. */
static Tensor *turned_weights(Lower *lower, Tensor *weights,
                              const inlay_qconv_params *params)
{
    const int64_t taps = i64_mul(i64_mul(params->kd, params->kh), params->kw);
    const bool depthwise = params->ic == 1 && params->oc == 1;
    const int64_t dims[4] = {
        depthwise ? 1 : params->groups,
        depthwise ? params->groups : params->oc,
        params->ic,
        taps,
    };
    if (weights->value)
        return turned_constant(lower, weights->value, dims);
    return turned_when_run(lower, weights, dims);
}

/* The image as the kernel reads it: channels last. */
static Tensor *image_last(Lower *lower, Tensor *x)
{
    const Shape *s = &x->shape;
    const int64_t pixels = shape_product(s, 2, s->rank);
    const int64_t channels = s->dim[1];
    const int64_t image = i64_mul(pixels, channels);
    const Move move = {
        .rank = 3,
        .n = { s->dim[0], pixels, channels },
        .y = { image, channels, 1 },
        .x = { image, 1, pixels },
    };
    Tensor *y = lower_temp(lower, x->dtype, shape_of(3, move.n));
    lower_move(lower, y, x, &move);
    return y;
}

/* And back, to planes. */
static void image_first(Lower *lower, Tensor *y, Tensor *x)
{
    const Shape *s = &y->shape;
    const int64_t pixels = shape_product(s, 2, s->rank);
    const int64_t channels = s->dim[1];
    const int64_t image = i64_mul(pixels, channels);
    const Move move = {
        .rank = 3,
        .n = { s->dim[0], channels, pixels },
        .y = { image, pixels, 1 },
        .x = { image, 1, channels },
    };
    lower_move(lower, y, x, &move);
}

/* Rows of an image of any layout of dims: `rows` of `channels` a pixel. */
static void conv_rows(Step *step, const inlay_qconv_params *params,
                      int64_t images)
{
    operand_rows(step->operand,
                 i32_checked(i64_mul(images, i64_mul(params->od, params->oh))),
                 i64_mul(params->groups, params->oc));
    operand_rows(step->operand + 1,
                 i32_checked(i64_mul(images, i64_mul(params->id, params->ih))),
                 i64_mul(params->groups, params->ic));
    step->units = step->operand->rows;
    step->operand[0].strided = step->operand[1].strided = true;
    if (images == 1 && params->od == 1 && params->id == 1)
        operand_window(step->operand + 1, params->sh, params->ph,
                       (params->kh - 1) * params->dh + 1);
}

static inlay_qconv_params qconv_params(const Node *node, const Places *places,
                                       const Window *window)
{
    const Tensor *weights = at(node, places->b);
    inlay_qconv_params params = { 0 };
    window_qconv_params(window, &params);
    params.groups = i32_checked(node_int(node, "group", 1));
    params.ic = i32_checked(window->channels / params.groups);
    params.oc = i32_checked(weights->shape.dim[0] / params.groups);
    params.signs = is_signed(node->in[0]) | is_signed(weights) << 1;
    params.out = out_kind(node, node->out[0]->dtype);
    bytes_bounds(node, &params.lo, &params.hi);
    params.zw = operand_count(at(node, places->zb));
    params.sw_count = operand_count(at(node, places->sb));
    return params;
}

static int64_t macs_of(const inlay_qconv_params *params, const Tensor *out)
{
    const int64_t plane = i64_mul(params->kh, params->kw);
    const int64_t taps = i64_mul(params->kd, plane);
    return i64_mul(tensor_count(out), i64_mul(params->ic, taps));
}

/* With constant weights; y and x: images, channels last. */
static bool lower_qconv_packed(Lower *lower, Node *node, const Places *places,
                               const Window *window, Tensor *y, Tensor *x)
{
    const inlay_qconv_params c = qconv_params(node, places, window);
    ByteOperands q = operands_of(node, places);
    if (!bytes_packable(&q, i64_mul(c.groups, c.oc)))
        return false;
    inlay_qpacked_params params = {
        .groups = c.groups,
        .ic = c.ic,
        .oc = c.oc,
    };
    window_bytes_params(window, &params);
    q.y = y;
    q.x = x;
    Step *step = lower_bytes_packed(lower, node, &q, &params);
    conv_rows(step, &c, window->images);
    if (step->operand[1].rule.kind != ROWS_ALL)
        window_pixels(window, step->operand + 1,
                      (int32_t)i64_max(INLAY_QPIXELS, params.gather));
    step->macs = macs_of(&c, y);
    return true;
}

/* By the kernel whose operands are all made at run time. */
static void lower_qconv_plain(Lower *lower, Node *node, const Places *places,
                              const Window *window, Tensor *y, Tensor *x)
{
    const inlay_qconv_params params = qconv_params(node, places, window);
    Tensor *weights = at(node, places->b);
    weights = turned_weights(lower, weights, &params);
    Tensor *q[QUANT_OPERANDS];
    quant_operands(lower, node, places, q);
    Step *step = lower_step(lower, "qconv", &params);
    step_out(step, y);
    step_in(step, x);
    step_in(step, weights);
    for (int i = 0; i < QUANT_OPERANDS; i++)
        step_in(step, q[i]);
    step_in(step, at(node, places->bias));
    conv_rows(step, &params, window->images);
    step->macs = macs_of(&params, y);
}

static void lower_qconv_at(Lower *lower, Node *node, const Places *places)
{
    const bool last = node->channels_last;
    Window window = window_of(node, taps_of(node, places));
    if (last)
        window_upright(&window);
    Tensor *out = node->out[0];
    check_bytes(node, places->a);
    check_bytes(node, places->b);
    if (!tensor_count(out))
        return;
    Tensor *x = node->in[0];
    Tensor *y = out;
    if (!last) {
        x = image_last(lower, x);
        y = lower_temp(lower, out->dtype, shape_vector(tensor_count(out)));
    }
    const bool packed = lower_qconv_packed(lower, node, places, &window, y, x);
    assert(packed || !at(node, places->add));
    if (!packed)
        lower_qconv_plain(lower, node, places, &window, y, x);
    if (y != out)
        image_first(lower, out, y);
}

void lower_conv_integer(Lower *lower, Node *node)
{
    lower_qconv_at(lower, node, &of_sums);
}
void lower_qlinear_conv(Lower *lower, Node *node)
{
    lower_qconv_at(lower, node, &of_bytes);
}
void lower_conv_to_float(Lower *lower, Node *node)
{
    lower_qconv_at(lower, node, &of_floats);
}
