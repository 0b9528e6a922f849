/* SPDX-License-Identifier: Apache-2.0
 * Quantized factors of a product, and its bias: recognition, and what is made of them. */
#include "passes/quantize_weights.h"

#include <math.h>

#include "ops/ops.h"
#include "passes/passes.h"
#include "passes/quanta.h"

/* The axis that node's scales run along; -1: one scale for all. -2: blocks. */
static int scale_axis(const Node *node)
{
    if (node_int(node, "block_size", 0))
        return -2;
    if (tensor_count(node->in[1]) == 1)
        return -1;
    const int64_t axis = node_int(node, "axis", 1);
    return node_axis(node, axis, node_shape(node, 0)->rank);
}

/* All scales are finite and above 0? */
static bool scales_known(Graph *graph, const Tensor *scale)
{
    int64_t count;
    const double *v = tensor_doubles(graph, scale, &count);
    for (int64_t i = 0; v && i < count; i++)
        if (!(v[i] > 0.0) || !isfinite(v[i]))
            return false;
    return v != NULL;
}

/* A constant's Transpose that was computed already; then `before` is what it was of. */
static const Tensor *before_turn(const Tensor *tensor, const int64_t **perm)
{
    int64_t count;
    const Node *turn = tensor->value ? tensor->folded : NULL;
    *perm = NULL;
    if (!turn || !node_is(turn, "Transpose"))
        return tensor;
    *perm = node_ints(turn, "perm", &count);
    return *perm ? turn->in[0] : tensor;
}

/* Constant bytes, turned as `perm` says. */
static Tensor *turned(Graph *graph, const Tensor *bytes, const int64_t *perm)
{
    const int rank = bytes->shape.rank;
    int order[MAX_RANK];
    for (int i = 0; i < rank; i++)
        order[i] = (int)perm[i];
    Recipe *value = recipe_transpose(graph->store, bytes->value, order);
    return graph_add_constant(graph, NULL, value);
}

/* One scale, or one for each place of that axis. */
static bool scales_along(const Node *source, int axis)
{
    const int along = scale_axis(source);
    return along == -1 || along == axis;
}

bool weights_are_packed(const Weights *weights)
{
    return (DTYPE_BIT(weights->bytes->dtype) & T_PACKED) != 0;
}

/* Bytes, or constants of fewer or more bits. */
static bool are_bytes(const Tensor *tensor)
{
    const uint64_t type = DTYPE_BIT(tensor->dtype);
    if (type & (T_PACKED | T_SHORT))
        return tensor->value != NULL;
    return type & T_Q8;
}

/* One zero point, or one for each place of the axis. */
static bool zeros_fit(const Tensor *bytes, const Tensor *zero, int axis)
{
    if (!zero)
        return true;
    const int64_t count = tensor_count(zero);
    return zero->value && (count == 1 || count == bytes->shape.dim[axis]);
}

bool weights_of(Graph *graph, const Tensor *tensor, int axis, Weights *weights)
{
    const int64_t *perm;
    const Tensor *before = before_turn(tensor, &perm);
    const Node *source = quanta_source(before);
    if (!source || !are_bytes(source->in[0]))
        return false;
    Tensor *bytes = source->in[0];
    Tensor *scale = source->in[1];
    Tensor *zero = node_in(source, 2);
    if (!scales_known(graph, scale) || (zero && !zero->value))
        return false;
    if (!scales_along(source, perm ? (int)perm[axis] : axis))
        return false;
    if (perm)
        bytes = turned(graph, bytes, perm);
    weights->bytes = bytes;
    weights->scale = scale;
    weights->zero = zero;
    return !weights_are_packed(weights) || zeros_fit(bytes, zero, axis);
}

bool weights_fit_shorts(Graph *graph, const Weights *weights)
{
    int64_t count = 0;
    const DType type = weights->bytes->dtype;
    const int64_t middle = type == DT_U16 ? 1 << 15 : 0;
    const int64_t *zero = NULL;
    if (weights_are_packed(weights) || !weights->bytes->value)
        return false;
    if (!(DTYPE_BIT(type) & T_SHORT))
        return true;
    if (!weights->zero)
        return !middle;
    zero = tensor_ints(graph, weights->zero, &count);
    for (int64_t i = 0; zero && i < count; i++)
        if (zero[i] != middle)
            return false;
    return zero != NULL;
}

void weights_turn(Graph *graph, int rows, Weights *weights)
{
    static const int64_t perm[] = { 1, 0 };
    if (rows)
        weights->bytes = turned(graph, weights->bytes, perm);
}

/* A bias that was quantized in these very steps stays as it is. */
static Tensor *same_steps(Graph *graph, const Tensor *bias, double x,
                          const double *w, int64_t scales)
{
    enum { PARTS = 1 << 18 }; /* of a step that scales may differ by */
    int64_t count;
    const Node *source = quanta_source(bias);
    if (!source || node_type(source) != DT_I32)
        return NULL;
    if (node_int(source, "block_size", 0))
        return NULL;
    if (!quanta_is_zero(graph, node_in(source, 2)))
        return NULL;
    const double *s = tensor_doubles(graph, source->in[1], &count);
    if (!s || (count != scales && count != 1))
        return NULL;
    for (int64_t i = 0; i < scales; i++) {
        const double given = s[count > 1 ? i : 0];
        const double step = x * w[i];
        if (fabs(given - step) * PARTS > step)
            return NULL;
    }
    return source->in[0];
}

/* Each number in steps of x times its w; NULL: they do not fit half of int32, the rest of which
 * is for sums. */
static Tensor *in_steps(Graph *graph, const double *real, int64_t count,
                        double x, const double *w, int64_t scales, double most,
                        int64_t n)
{
    int32_t *steps = NEW_ARRAY(graph->arena, int32_t, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        const double number = real[count > 1 ? i : 0];
        const double step = x * w[scales > 1 ? i : 0];
        const double rounded = nearbyint(number / step);
        if (!(fabs(rounded) < INT32_MAX / 2) || step > most)
            return NULL;
        steps[i] = (int32_t)rounded;
    }
    Recipe *value = recipe_memory(graph->store, DT_I32, 1, &n, steps);
    return graph_add_constant(graph, NULL, value);
}

Tensor *weights_bias(Graph *graph, const Tensor *bias, const Tensor *x_scale,
                     const Tensor *w_scale, double most, int64_t n)
{
    int64_t count;
    int64_t scales;
    const double *x = tensor_doubles(graph, x_scale, &count);
    const double *w = tensor_doubles(graph, w_scale, &scales);
    const double *real = tensor_doubles(graph, bias, &count);
    const int last = bias->shape.rank - 1;
    if (!x || !w || !real || last < 0)
        return NULL;
    if (count != 1 && (count != n || bias->shape.dim[last] != n))
        return NULL;
    Tensor *same = NULL;
    if (count == n)
        same = same_steps(graph, bias, *x, w, scales);
    if (same)
        return quanta_reshape(graph, NULL, same, shape_vector(n));
    return in_steps(graph, real, count, *x, w, scales, most, n);
}
