/* SPDX-License-Identifier: Apache-2.0
 * Products of numbers that are quantized when the model runs: MatMulInteger or ConvInteger, a Cast
 * to float, a Mul with the scales of both factors, perhaps an Add of a bias. They become one
 * ConvIntegerToFloat, which does the same operations in the same order on each sum while it is in
 * a register. */
#include "ops/ops.h"
#include "passes/quantize_product.h"

/* The operator that makes x for one reader, by its form; NULL: another one does. */
static Node *maker(const Graph *graph, const Tensor *x, QuantizedForm form)
{
    Node *node = x->value || x->uses != 1 ? NULL : x->producer;
    return node && node->graph == graph && quanta_form(node) == form ? node
                                                                     : NULL;
}

/* An operator of that form on two operands of today's broadcasting? */
static bool is_pair(const Node *node, QuantizedForm form)
{
    if (!node || quanta_form(node) != form)
        return false;
    return node->n_in == 2 && !node_attr(node, "axis");
}

/* The sums whose numbers x has as floats; NULL: it has others. */
static Node *sums_behind(const Graph *graph, const Tensor *x)
{
    const Node *cast = x->value || x->uses != 1 ? NULL : x->producer;
    if (!cast || cast->dead || cast->graph != graph || !node_is(cast, "Cast") ||
        x->dtype != DT_F32)
        return NULL;
    Node *product = maker(graph, cast->in[0], QUANTIZED_PRODUCT_SUMS);
    return product ? product : maker(graph, cast->in[0], QUANTIZED_CONV_SUMS);
}

static bool of_rows(const Node *sums)
{
    return quanta_form(sums) == QUANTIZED_PRODUCT_SUMS;
}

/* Channels of the result, and the axis that they lie along. */
static int64_t channels_of(const Node *sums)
{
    return sums->in[1]->shape.dim[of_rows(sums) ? 1 : 0];
}

static int channel_axis(const Node *sums)
{
    return of_rows(sums) ? sums->out[0]->shape.rank - 1 : 1;
}

/* A number for each channel of the result, that broadcasts so? */
static bool is_each(const Node *sums, const Tensor *tensor)
{
    const int before = sums->out[0]->shape.rank - tensor->shape.rank;
    const int axis = channel_axis(sums) - before;
    const int64_t n = channels_of(sums);
    return tensor->value && tensor_count(tensor) == n && before >= 0 &&
           axis >= 0 && tensor->shape.dim[axis] == n;
}

static Tensor *one(Graph *graph)
{
    static const float value = 1.0f;
    return graph_add_constant(
        graph, NULL, recipe_memory(graph->store, DT_F32, 0, NULL, &value));
}

/* A vector of the channels' numbers. */
static Tensor *vector(Graph *graph, const Node *sums, Tensor *tensor)
{
    return quanta_reshape(graph, NULL, tensor, shape_vector(channels_of(sums)));
}

/* A constant for all channels, or for each of them. */
static bool is_of_weights(const Node *sums, const Tensor *tensor)
{
    return (tensor->value && tensor_count(tensor) == 1) ||
           is_each(sums, tensor);
}

static Tensor *weights_scale(Graph *graph, const Node *sums, Tensor *tensor)
{
    return is_each(sums, tensor) ? vector(graph, sums, tensor) : tensor;
}

/* One number times those of the weights: the scale of x and theirs. False: it is something else. */
static bool parted(Graph *graph, const Node *sums, const Tensor *scale,
                   Product *product)
{
    const Node *mul = scale->value ? NULL : scale->producer;
    if (!is_pair(mul, QUANTIZED_MUL))
        return false;
    const int place = is_of_weights(sums, mul->in[1]) ? 1 : 0;
    Tensor *w = mul->in[place];
    Tensor *x = mul->in[!place];
    if (!is_of_weights(sums, w) || tensor_count(x) != 1)
        return false;
    product->x.scale = x;
    product->w.scale = weights_scale(graph, sums, w);
    return true;
}

/* What the sums are multiplied with. */
static bool find_scales(Graph *graph, const Node *sums, Tensor *scale,
                        Product *product)
{
    if (scale->dtype != DT_F32)
        return false;
    if (parted(graph, sums, scale, product))
        return true;
    if (is_of_weights(sums, scale)) {
        product->x.scale = one(graph);
        product->w.scale = weights_scale(graph, sums, scale);
        return true;
    }
    product->x.scale = scale;
    product->w.scale = one(graph);
    return tensor_count(scale) == 1;
}

static bool is_bytes(const Tensor *tensor)
{
    return (DTYPE_BIT(tensor->dtype) & T_Q8) != 0;
}

/* A zero point for all, or a constant one for each channel where there may be several. */
static bool zero_fits(const Tensor *zero, int64_t most)
{
    if (!zero)
        return true;
    const int64_t count = tensor_count(zero);
    if (most == 1)
        return count == 1;
    return zero->value && (count == 1 || count == most);
}

/* Bytes made when it runs by constant ones? */
static bool find_factors(const Node *sums, Product *product)
{
    product->x.bytes = sums->in[0];
    product->x.zero = node_in(sums, 2);
    product->w.bytes = sums->in[1];
    product->w.zero = node_in(sums, 3);
    const Tensor *x = product->x.bytes;
    const Tensor *w = product->w.bytes;
    if (!is_bytes(x) || !is_bytes(w) || x->value || !w->value)
        return false;
    if (of_rows(sums) && (w->shape.rank != 2 || x->shape.rank < 2))
        return false;
    return zero_fits(product->x.zero, 1) &&
           zero_fits(product->w.zero, channels_of(sums)) && tensor_count(w) > 0;
}

/* Finds the sums that `mul` scales, and what with; NULL: it does not. */
static Node *find_sums(Graph *graph, const Node *mul, Product *product)
{
    if (!is_pair(mul, QUANTIZED_MUL))
        return NULL;
    for (int i = 0; i < 2; i++) {
        Node *sums = sums_behind(graph, mul->in[i]);
        if (sums && find_factors(sums, product) &&
            shape_equal(&sums->out[0]->shape, &mul->out[0]->shape) &&
            find_scales(graph, sums, mul->in[!i], product))
            return sums;
    }
    return NULL;
}

static Tensor *build_conv_sums(const Build *build, Product *product,
                               Tensor *bias)
{
    const Tensor *w = product->w.bytes;
    const int64_t n = w->shape.dim[0];
    if (!product_fits(tensor_count(w) / n))
        return NULL;
    product_operands(build, product);
    if (!product_bias(build, product, bias, n))
        return NULL;
    Node *made = product_conv(build, product, build->end->out[0]->shape);
    build_copy_attrs(made, build->node);
    return made->out[0];
}

/* The sums of build->node, scaled, become the result of build->end. */
static bool build_sums(const Build *build, Product *product, Tensor *bias)
{
    Graph *graph = build->graph;
    Node *sums = build->node;
    Tensor *y;
    if (build->end->out[0]->dynamic || !tensor_count(build->end->out[0]))
        return false;
    if (bias)
        bias = vector(graph, sums, bias);
    if (of_rows(sums)) {
        weights_turn(graph, 1, &product->w);
        y = product_rows(build, product, bias);
    } else {
        y = build_conv_sums(build, product, bias);
    }
    if (y)
        quanta_take(graph, build->end, y);
    return y != NULL;
}

bool quanta_biased_sums(Graph *graph, Node *add)
{
    Product product;
    if (!is_pair(add, QUANTIZED_ADD))
        return false;
    const int constant = add->in[1]->value ? 1 : 0;
    const Node *mul = maker(graph, add->in[!constant], QUANTIZED_MUL);
    Node *sums = find_sums(graph, mul, &product);
    if (!sums || !is_each(sums, add->in[constant]) ||
        !shape_equal(&mul->out[0]->shape, &add->out[0]->shape))
        return false;
    const Build build = { .graph = graph, .end = add, .node = sums };
    return build_sums(&build, &product, add->in[constant]);
}

bool quanta_sums(Graph *graph, Node *mul)
{
    Product product;
    Node *sums = find_sums(graph, mul, &product);
    const Build build = { .graph = graph, .end = mul, .node = sums };
    return sums && build_sums(&build, &product, NULL);
}
