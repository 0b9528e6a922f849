/* SPDX-License-Identifier: Apache-2.0
 * The mean of the squares of bytes, as RMSNormalization that is spelt out has it: each line is
 * multiplied with itself, QLinearMatMul. */
#include "base/size.h"
#include "ops/nest.h"
#include "ops/ops.h"
#include "passes/quantize_product.h"

static bool is_two(Graph *graph, const Tensor *tensor)
{
    int64_t count;
    if (!tensor->value)
        return false;
    const double *v = tensor_doubles(graph, tensor, &count);
    return v && count == 1 && !(*v < 2.0) && !(*v > 2.0);
}

/* The tensor whose squares y has; NULL: it has others. */
static const Tensor *root_of(Graph *graph, const Tensor *y)
{
    const Node *node = y->value || y->dynamic ? NULL : y->producer;
    if (!node || node->dead)
        return NULL;
    const Tensor *x = node->in[0];
    if (!shape_equal(&x->shape, &y->shape))
        return NULL;
    if (node_is(node, "Mul"))
        return x == node->in[1] ? x : NULL;
    if (!node_is(node, "Pow"))
        return NULL;
    return is_two(graph, node->in[1]) ? x : NULL;
}

/* Lines and themselves as columns, whose products are divided by n. */
static void set_factors(const Build *build, const Node *source, double scale,
                        int64_t lines, int64_t n, Product *product)
{
    Graph *graph = build->graph;
    const float part = (float)(scale / (double)n);
    Recipe *value = recipe_number(graph->store, part);
    const int64_t across[] = {
        lines,
        1,
        n,
    };
    const int64_t down[] = {
        lines,
        n,
        1,
    };
    Weights *x = &product->x;
    Weights *w = &product->w;
    x->bytes =
        quanta_reshape(graph, build->q, source->in[0], shape_of(3, across));
    x->scale = source->in[1];
    x->zero = node_in(source, 2);
    *w = *x;
    w->bytes =
        quanta_reshape(graph, build->q, source->in[0], shape_of(3, down));
    w->scale = graph_add_constant(graph, NULL, value);
}

Tensor *build_squares(Build *build, int from)
{
    Graph *graph = build->graph;
    Tensor *bytes;
    Quantum quantum;
    Product product = { .n_in = 0 };
    const Tensor *x = root_of(graph, build->node->in[0]);
    if (!x || !quanta_bytes(graph, x, &bytes, &quantum))
        return NULL;
    const int64_t lines = shape_product(&x->shape, 0, from);
    const int64_t n = shape_product(&x->shape, from, x->shape.rank);
    const int64_t means[] = {
        lines,
        1,
        1,
    };
    if (!product_fits(n))
        return NULL;
    set_factors(build, quanta_source(x), quantum.scale, lines, n, &product);
    product_operands(build, &product);
    const Node *made =
        quanta_insert(graph, build->q, "", "QLinearMatMul", product.n_in,
                      product.in, build->y.type, shape_of(3, means));
    const Shape shape = build->q->out[0]->shape;
    return quanta_reshape(graph, build->q, made->out[0], shape);
}
