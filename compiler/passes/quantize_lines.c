/* SPDX-License-Identifier: Apache-2.0
 * Softmax and normalizations of quantized lines. */
#include "base/size.h"
#include "ops/nest.h"
#include "ops/ops.h"
#include "passes/quantize_build.h"

Tensor *build_softmax(Build *build)
{
    Quantum x;
    Tensor *bytes;
    const Node *node = build->node;
    const int rank = node->in[0]->shape.rank;
    const bool flattens = node->op->since < 13;
    if (!rank || !quanta_bytes(build->graph, node->in[0], &bytes, &x))
        return NULL;
    const int axis = node_axis(node, node_int(node, "axis", flattens ? 1 : -1),
                               rank + flattens);
    if (flattens && axis != rank - 1)
        return NULL;
    Node *made =
        build_insert(build, "QSoftmax", bytes, build->q->out[0]->shape);
    node_set_int(made, "axis", axis);
    build_operand(made, &x);
    build_result(build, made);
    return made->out[0];
}

/* A vector of n constant floats; NULL: the tensor is something else. */
static Tensor *vector_of(const Build *build, Tensor *tensor, int64_t n)
{
    if (!tensor->value || tensor->dtype != DT_F32 || tensor_count(tensor) != n)
        return NULL;
    return quanta_reshape(build->graph, NULL, tensor, shape_vector(n));
}

/* Scale and bias of n numbers; false: they are no constants of as many. */
static bool find_factors(const Build *build, int64_t n, Tensor **in, int *n_in)
{
    Tensor *bias = node_in(build->node, 2);
    in[1] = vector_of(build, build->node->in[1], n);
    in[2] = bias ? vector_of(build, bias, n) : NULL;
    *n_in = bias ? 3 : 2;
    return in[1] && (!bias || in[2]);
}

/* Lines of the n elements from an axis on, as pixels. */
static Shape lines_of(const Shape *shape, int axis, int64_t n)
{
    Shape lines = {
        .rank = 2,
        .dim = { 1, n },
    };
    if (axis > 0) {
        lines = *shape;
        lines.rank = axis + 1;
        lines.dim[axis] = n;
    }
    return lines;
}

/* The operator on lines in, with the factors behind them. */
static Node *insert_norm(const Build *build, int n_in, Tensor *const *in,
                         bool center)
{
    const float epsilon = node_float(build->node, "epsilon", 1e-5f);
    Node *made = quanta_insert(build->graph, build->q, "inlay", "QNorm", n_in,
                               in, build->y.type, in[0]->shape);
    node_set_float(made, "epsilon", epsilon);
    node_set_int(made, "center", center);
    return made;
}

/* Does it also make means or deviations? */
static bool has_statistics(const Node *node)
{
    return node_out(node, 1) || node_out(node, 2);
}

static Tensor *build_lines(Build *build, bool center)
{
    Quantum x;
    Tensor *in[3];
    int n_in;
    const Node *node = build->node;
    const Shape *shape = &node->in[0]->shape;
    if (!shape->rank || has_statistics(node))
        return NULL;
    if (!quanta_bytes(build->graph, node->in[0], &in[0], &x))
        return NULL;
    const int axis = node_axis(node, node_int(node, "axis", -1), shape->rank);
    const int64_t n = shape_product(shape, axis, shape->rank);
    if (!qnorm_fits(n) || !find_factors(build, n, in, &n_in))
        return NULL;
    const Shape lines = lines_of(shape, axis, n);
    in[0] = quanta_reshape(build->graph, build->q, in[0], lines);
    Node *made = insert_norm(build, n_in, in, center);
    build_operand(made, &x);
    build_result(build, made);
    return quanta_reshape(build->graph, build->q, made->out[0], *shape);
}

Tensor *build_norm(Build *build)
{
    return build_lines(build, true);
}

Tensor *build_rms_norm(Build *build)
{
    return build_lines(build, false);
}
