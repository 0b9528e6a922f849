/* SPDX-License-Identifier: Apache-2.0
 * Products of quantized factors become QLinearConv and QLinearMatMul; where no QuantizeLinear is
 * behind them, ConvIntegerToFloat. */
#include <math.h>

#include "base/size.h"
#include "ops/ops.h"
#include "passes/quantize_product.h"

bool product_fits(int64_t depth)
{
    return depth > 0 && depth < INT32_MAX / (255 * 255);
}

static Tensor *zero_or(const Build *build, Tensor *zero, DType type)
{
    return zero ? zero : quanta_zero(build->graph, type);
}

bool product_find(const Build *build, int axis, Product *product)
{
    const Node *node = build->node;
    Quantum quantum;
    Weights *x = &product->x;
    if (!build_codes(build, node->in[0], &x->bytes, &quantum))
        return false;
    const Node *source = quanta_source(node->in[0]);
    x->scale = source->in[1];
    x->zero = node_in(source, 2);
    if (!weights_of(build->graph, node->in[1], axis, &product->w))
        return false;
    if (build->shorts && x->bytes->value)
        return false;
    if (build->shorts)
        return weights_fit_shorts(build->graph, &product->w);
    if (DTYPE_BIT(product->w.bytes->dtype) & T_SHORT)
        return false;
    return !weights_are_packed(&product->w) || !x->bytes->value;
}

void product_operands(const Build *build, Product *product)
{
    const Node *q = build->q;
    const Weights *x = &product->x;
    const Weights *w = &product->w;
    Tensor **in = product->in;
    in[X] = x->bytes;
    in[X_SCALE] = x->scale;
    in[X_ZERO] = zero_or(build, x->zero, x->bytes->dtype);
    in[W] = w->bytes;
    in[W_SCALE] = w->scale;
    in[W_ZERO] = zero_or(build, w->zero, w->bytes->dtype);
    product->n_in = FLOAT_BIAS;
    if (!q)
        return;
    in[Y_SCALE] = q->in[1];
    Tensor *zero = node_in(q, 2);
    in[Y_ZERO] = zero_or(build, zero, build->y.type);
    product->n_in = BIAS;
}

/* The same of a product that is not quantized: constant numbers of n channels. */
static bool set_float_bias(const Build *build, Product *product, Tensor *bias,
                           int64_t n)
{
    const Shape *shape = &bias->shape;
    const int last = shape->rank - 1;
    if (!bias->value || tensor_count(bias) != n)
        return false;
    if (last < 0 || shape->dim[last] != n)
        return false;
    product->in[FLOAT_BIAS] =
        quanta_reshape(build->graph, NULL, bias, shape_vector(n));
    return true;
}

bool product_bias(const Build *build, Product *product, Tensor *bias, int64_t n)
{
    if (!bias)
        return true;
    if (!build->q) {
        product->n_in = FLOAT_BIAS + 1;
        return set_float_bias(build, product, bias, n);
    }
    /* numbers of 16 bits show how a bias is rounded */
    const double most = build->shorts ? build->y.scale / 16 : (double)INFINITY;
    const Tensor *x_scale = product->x.scale;
    const Tensor *w_scale = product->w.scale;
    Tensor *steps = weights_bias(build->graph, bias, x_scale, w_scale, most, n);
    product->in[BIAS] = steps;
    product->n_in = FACTORS;
    return steps != NULL;
}

static Node *insert_product(const Build *build, const char *domain,
                            const char *op, const Product *product, Shape shape)
{
    return quanta_insert(build->graph, build->end, domain, op, product->n_in,
                         product->in, build->end->out[0]->dtype, shape);
}

Node *product_conv(const Build *build, const Product *product, Shape shape)
{
    if (build->shorts)
        return insert_product(build, "inlay", "QShortConv", product, shape);
    return build->q ? insert_product(build, "", "QLinearConv", product, shape)
                    : insert_product(build, "inlay", "ConvIntegerToFloat",
                                     product, shape);
}

/* A float result is made of constant weights only. */
static bool is_possible(const Build *build, const Product *product)
{
    return build->q || product->w.bytes->value;
}

Tensor *build_conv(Build *build)
{
    const Node *node = build->node;
    Product product;
    if (node_in(node, 3) || !product_find(build, 0, &product) ||
        !is_possible(build, &product))
        return NULL;
    const Tensor *w = product.w.bytes;
    const int64_t channels = w->shape.dim[0];
    if (channels < 1 || !product_fits(tensor_count(w) / channels))
        return NULL;
    product_operands(build, &product);
    if (!product_bias(build, &product, node_in(node, 2), channels))
        return NULL;
    const Shape shape = build->end->out[0]->shape;
    Node *made = product_conv(build, &product, shape);
    build_copy_attrs(made, node);
    return made->out[0];
}

/* The rows of a matrix as pixels of an image that is channels last. */
static Shape image_of_rows(const Shape *shape, int64_t channels)
{
    const int last = shape->rank - 1;
    Shape image = {
        .rank = 4,
        .dim = { 1, 1, 1, channels },
    };
    for (int i = 0; i < last; i++) {
        const int at = i == last - 1 ? 2 : 1;
        const int64_t n = shape->dim[i];
        image.dim[at] = i64_mul(image.dim[at], n);
    }
    return image;
}

/* Factors as image and taps: weights [N][K] become [N][K][1][1]. */
static void reshape_factors(const Build *build, Product *product)
{
    Graph *graph = build->graph;
    Tensor **in = product->in;
    Shape taps = in[W]->shape;
    const int64_t channels = taps.dim[1];
    const Shape image = image_of_rows(&in[X]->shape, channels);
    while (taps.rank < 4)
        taps.dim[taps.rank++] = 1;
    in[X] = quanta_reshape(graph, build->end, in[X], image);
    in[W] = quanta_reshape(graph, build->end, in[W], taps);
}

Tensor *product_rows(const Build *build, Product *product, Tensor *bias)
{
    const Shape *x = &product->x.bytes->shape;
    const Shape *w = &product->w.bytes->shape;
    const int64_t n = w->dim[0];
    const int64_t depth = w->dim[1];
    const Shape image = image_of_rows(x, n);
    if (!product_fits(depth) || x->dim[x->rank - 1] != depth)
        return NULL;
    product_operands(build, product);
    if (!product_bias(build, product, bias, n))
        return NULL;
    reshape_factors(build, product);
    Node *made = product_conv(build, product, image);
    made->channels_last = true;
    const Shape shape = build->end->out[0]->shape;
    return quanta_reshape(build->graph, build->end, made->out[0], shape);
}

static bool is_one(float value)
{
    return !(value < 1.0f) && !(value > 1.0f);
}

Tensor *build_gemm(Build *build)
{
    const Node *node = build->node;
    const int rows = node_int(node, "transB", 0) ? 0 : 1;
    const bool plain = is_one(node_float(node, "alpha", 1.0f)) &&
                       is_one(node_float(node, "beta", 1.0f)) &&
                       !node_int(node, "transA", 0);
    Product product;
    if (!plain)
        return NULL;
    if (!product_find(build, rows, &product))
        return NULL;
    if (!product.w.bytes->value)
        return NULL;
    weights_turn(build->graph, rows, &product.w);
    return product_rows(build, &product, node_in(node, 2));
}

/* Where both factors are made when it runs, each has one scale. */
Tensor *build_product(Build *build)
{
    const Node *node = build->node;
    const Shape *a = &node->in[0]->shape;
    const int rank = node->in[1]->shape.rank;
    Product product;
    if (a->rank < 2 || rank < 2)
        return NULL;
    if (node_in(node, 2))
        return NULL;
    if (!product_find(build, rank - 1, &product))
        return NULL;
    if (product.w.bytes->value && rank == 2) {
        weights_turn(build->graph, 1, &product.w);
        return product_rows(build, &product, build->bias);
    }
    if (!build->q || build->shorts || build->bias ||
        !product_fits(a->dim[a->rank - 1]))
        return NULL;
    if (weights_are_packed(&product.w))
        return NULL;
    product_operands(build, &product);
    const Shape shape = build->end->out[0]->shape;
    return insert_product(build, "", "QLinearMatMul", &product, shape)->out[0];
}
