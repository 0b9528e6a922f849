/* SPDX-License-Identifier: Apache-2.0
 * Attention and RotaryEmbedding of ai.onnx as compositions; TensorScatter, the cache update that
 * goes with them. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "kernels/cache.h"
#include "ops/attend.h"
#include "ops/control.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/values.h"

/* [B][S][H D] as [B][H][S][D]. */
Tensor *attend_split(const Node *node, Tensor *tensor, int64_t heads)
{
    if (tensor->shape.rank == 4)
        return tensor;
    if (tensor->shape.rank != 3 || heads < 1 || tensor->shape.dim[2] % heads)
        fail_node(node, STATUS_MALFORMED, NULL, "its heads do not divide the last dimension");
    const int64_t dims[4] = { tensor->shape.dim[0], tensor->shape.dim[1], heads,
                              tensor->shape.dim[2] / heads };
    const int64_t perm[4] = { 0, 2, 1, 3 };
    return expand_transpose(node, expand_reshape(node, tensor, 4, dims), perm);
}

Tensor *attend_join(const Node *node, Tensor *tensor)
{
    const int64_t perm[4] = { 0, 2, 1, 3 };
    const int64_t dims[3] = { tensor->shape.dim[0], tensor->shape.dim[2],
                              i64_mul(tensor->shape.dim[1], tensor->shape.dim[3]) };
    return expand_reshape(node, expand_transpose(node, tensor, perm), 3, dims);
}

static Tensor *concat(const Node *node, Tensor *a, Tensor *b, int axis)
{
    Tensor *in[] = { a, b };
    Node *c = expand_node(node, "Concat", 2, in, 1);
    node_set_int(c, "axis", axis);
    return expand_done(c);
}

/* Each head `times` times, for queries that share keys. */
Tensor *attend_repeat(const Node *node, Tensor *tensor, int64_t times)
{
    if (times == 1)
        return tensor;
    const Shape s = tensor->shape;
    const int64_t apart[5] = { s.dim[0], s.dim[1], 1, s.dim[2], s.dim[3] };
    const int64_t wide[5] = { s.dim[0], s.dim[1], times, s.dim[2], s.dim[3] };
    const int64_t joined[4] = { s.dim[0], i64_mul(s.dim[1], times), s.dim[2], s.dim[3] };
    Tensor *all = expand_binary(node, "Expand", expand_reshape(node, tensor, 5, apart),
                                expand_i64s(node, 5, wide));
    return expand_reshape(node, all, 4, joined);
}

/* A mask of truth values as something to add. */
static Tensor *bias_of_mask(const Node *node, Tensor *mask, DType type)
{
    if (mask->dtype != DT_BOOL)
        return expand_cast(node, mask, type);
    Tensor *in[] = { mask, expand_number(node, 0.0, type),
                     expand_number(node, -(double)INFINITY, type) };
    return expand_done(expand_node(node, "Where", 3, in, 1));
}

/* Keys that a shorter mask does not name are not seen. */
static Tensor *padded_bias(const Node *node, Tensor *bias, int64_t columns)
{
    const Shape *s = &bias->shape;
    const int64_t missing = s->rank ? columns - s->dim[s->rank - 1] : 0;
    if (missing <= 0 || s->dim[s->rank - 1] == 1)
        return bias;
    int64_t pads[2 * MAX_RANK] = { 0 };
    pads[2 * s->rank - 1] = missing;
    Tensor *in[] = { bias, expand_i64s(node, 2 * s->rank, pads),
                     expand_number(node, -(double)INFINITY, bias->dtype) };
    return expand_done(expand_node(node, "Pad", 3, in, 1));
}

static bool sees(const Sight *sight, int64_t i, int64_t j)
{
    const int64_t p = i + sight->before;
    return (sight->right < 0 || j <= p + sight->right) && (sight->left < 0 || j >= p - sight->left);
}

/* Constant [rows][columns]: 0 where a query may see a key, minus infinity elsewhere. */
static Tensor *fixed_sight(const Node *node, const Sight *sight)
{
    float *bias = NEW_ARRAY(node->graph->arena, float, i64_mul(sight->rows, sight->columns));
    for (int64_t i = 0; i < sight->rows; i++)
        for (int64_t k = 0; k < sight->columns; k++)
            bias[i * sight->columns + k] = sees(sight, i, k) ? 0.0f : -INFINITY;
    const int64_t dims[2] = { sight->rows, sight->columns };
    return graph_add_constant(node->graph, NULL,
                              recipe_memory(node->graph->store, DT_F32, 2, dims, bias));
}

/* 0, 1, ..., count - 1. */
Tensor *attend_numbers(const Node *node, int64_t count)
{
    int64_t *place = NEW_ARRAY(node->graph->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        place[i] = i;
    return expand_i64s(node, count, place);
}

static Tensor *plus(const Node *node, Tensor *tensor, int64_t k)
{
    return k ? expand_binary(node, "Add", tensor, expand_i64s(node, 1, &k)) : tensor;
}

/* The same where the offsets are lengths read at run time: [B][1][rows][columns]. */
static Tensor *sight_of_lengths(const Node *node, const Sight *sight, DType type)
{
    const int64_t column[2] = { sight->rows, 1 };
    Tensor *key = attend_numbers(node, sight->columns);
    Tensor *place =
        expand_binary(node, "Add", plus(node, sight->lengths, -sight->rows),
                      expand_reshape(node, attend_numbers(node, sight->rows), 2, column));
    Tensor *upper = sight->right < 0
                        ? NULL
                        : expand_binary(node, "LessOrEqual", key, plus(node, place, sight->right));
    Tensor *lower = sight->left < 0 ? NULL
                                    : expand_binary(node, "GreaterOrEqual", key,
                                                    plus(node, place, -sight->left));
    return bias_of_mask(node,
                        upper && lower ? expand_binary(node, "And", upper, lower)
                        : upper        ? upper
                                       : lower,
                        type);
}

Tensor *attend_sight(const Node *node, const Sight *sight, DType type)
{
    if (sight->left < 0 && sight->right < 0)
        return NULL;
    return sight->lengths && !sight->before ? sight_of_lengths(node, sight, type)
                                            : expand_cast(node, fixed_sight(node, sight), type);
}

static Tensor *added(const Node *node, Tensor *a, Tensor *b)
{
    return a && b ? expand_binary(node, "Add", a, b) : a ? a : b;
}

static Tensor *scaled(const Node *node, Tensor *tensor, double factor)
{
    return expand_binary(node, "Mul", tensor, expand_number(node, factor, tensor->dtype));
}

Tensor *attend_softcap(const Node *node, Tensor *tensor, float cap)
{
    if (!(cap > 0.0f))
        return tensor;
    Tensor *bent = expand_unary(
        node, "Tanh",
        expand_binary(node, "Div", tensor, expand_number(node, (double)cap, tensor->dtype)));
    return scaled(node, bent, (double)cap);
}

static Tensor *softmax(const Node *node, Tensor *tensor)
{
    Node *s = expand_node(node, "Softmax", 1, &tensor, 1);
    node_set_int(s, "axis", -1);
    return expand_done(s);
}

/* Everything that is added to the products of queries and keys; NULL: nothing. */
static Tensor *attention_bias(Node *node, int64_t rows, int64_t columns, int64_t before, DType type)
{
    Tensor *bias =
        node_in(node, 3) ? padded_bias(node, bias_of_mask(node, node->in[3], type), columns) : NULL;
    Sight sight = { rows,
                    columns,
                    node_int(node, "left_window_size", -1),
                    node_int(node, "right_window_size", -1),
                    before,
                    NULL };
    if (node_int(node, "is_causal", 0))
        sight.right = 0;
    if (node_in(node, 6))
        sight.lengths = expand_reshape(node, expand_cast(node, node->in[6], DT_I64), 4,
                                       (const int64_t[]){ tensor_count(node->in[6]), 1, 1, 1 });
    bias = added(node, bias, attend_sight(node, &sight, type));
    return sight.lengths
               ? added(node, bias,
                       bias_of_mask(node,
                                    expand_binary(node, "Less", attend_numbers(node, columns),
                                                  sight.lengths),
                                    type))
               : bias;
}

/* Softmax; a query that sees no key at all weighs them all 0. */
static Tensor *weights(const Node *node, Tensor *product, Tensor *bias)
{
    const int64_t precision = node_int(node, "softmax_precision", 0);
    const int64_t axis = -1;
    const DType type = product->dtype;
    const DType wide = precision ? dtype_of_code(precision) : type;
    if (!dtype_is_float(wide))
        fail_node(node, STATUS_MALFORMED, NULL, "softmax_precision is %lld", (long long)precision);
    Tensor *w = expand_cast(node, softmax(node, expand_cast(node, product, wide)), type);
    if (!bias)
        return w;
    Tensor *most[] = { bias, expand_i64s(node, 1, &axis) };
    Tensor *blind =
        expand_binary(node, "Equal", expand_done(expand_node(node, "ReduceMax", 2, most, 1)),
                      expand_number(node, -(double)INFINITY, type));
    int64_t count;
    const double *v = tensor_doubles(node->graph, blind, &count);
    for (int64_t i = 0; v && i < count; i++)
        if (v[i] > 0)
            v = NULL;
    if (v)
        return w;
    Tensor *in[] = { blind, expand_number(node, 0.0, type), w };
    return expand_done(expand_node(node, "Where", 3, in, 1));
}

void expand_attention(Node *node)
{
    for (int i = 0; i < 3; i++)
        infer_shape(node, i);
    Tensor *q = attend_split(node, node->in[0], node_int(node, "q_num_heads", 0));
    Tensor *k = attend_split(node, node->in[1], node_int(node, "kv_num_heads", 0));
    Tensor *v = attend_split(node, node->in[2], node_int(node, "kv_num_heads", 0));
    const bool flat = node->in[0]->shape.rank == 3;
    const int64_t before = node_in(node, 4) ? infer_shape(node, 4)->dim[2] : 0;
    if (node_in(node, 4))
        k = concat(node, node->in[4], k, 2);
    if (node_in(node, 5))
        v = concat(node, node->in[5], v, 2);
    Tensor *result[4] = { NULL, k, v, NULL };
    if (k->shape.dim[1] < 1 || q->shape.dim[1] % k->shape.dim[1])
        fail_node(node, STATUS_MALFORMED, NULL, "the heads of keys do not divide those of queries");
    const int64_t times = q->shape.dim[1] / k->shape.dim[1];
    const int64_t perm[4] = { 0, 1, 3, 2 };
    const double scale = node_attr(node, "scale") ? (double)node_float(node, "scale", 1.0f)
                                                  : 1.0 / sqrt((double)q->shape.dim[3]);
    Tensor *keys =
        expand_transpose(node, scaled(node, attend_repeat(node, k, times), sqrt(scale)), perm);
    Tensor *product = expand_binary(node, "MatMul", scaled(node, q, sqrt(scale)), keys);
    Tensor *stage[4] = { product };
    Tensor *bias = attention_bias(node, q->shape.dim[2], k->shape.dim[2], before, q->dtype);
    product = stage[1] = attend_softcap(node, product, node_float(node, "softcap", 0.0f));
    if (bias)
        product = expand_binary(node, "Add", product, bias);
    stage[2] = product;
    stage[3] = weights(node, product, bias);
    Tensor *y = expand_cast(node,
                            expand_binary(node, "MatMul", expand_cast(node, stage[3], v->dtype),
                                          attend_repeat(node, v, times)),
                            q->dtype);
    const int64_t mode = node_int(node, "qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
        fail_node(node, STATUS_MALFORMED, NULL, "qk_matmul_output_mode is %lld, not 0 to 3",
                  (long long)mode);
    result[0] = flat ? attend_join(node, y) : y;
    result[3] = stage[mode];
    expand_finish(node, 4, result);
}

/* The subgraph that is attribute `name`, from one tensor to one of its shape; x itself where there
 * is none. */
static Tensor *modified(Node *node, const char *name, Tensor *x)
{
    if (!node_attr(node, name))
        return x;
    const Graph *body = control_body(node, name);
    Tensor *y;
    if (body->input.n != 1 || body->output.n != 1)
        fail_node(node, STATUS_MALFORMED, NULL, "%s is not from one tensor to one", name);
    control_expand(node, body, &x, &y);
    if (!shape_equal(&x->shape, &y->shape) || x->dtype != y->dtype)
        fail_node(node, STATUS_MALFORMED, NULL, "%s changes shape or type", name);
    return y;
}

void expand_flex_attention(Node *node)
{
    for (int i = 0; i < 3; i++)
        if (infer_shape(node, i)->rank != 4)
            fail_node(node, STATUS_MALFORMED, NULL, "its operands must have four dimensions");
    Tensor *q = node->in[0];
    Tensor *k = node->in[1];
    Tensor *tensor = node->in[2];
    if (k->shape.dim[1] < 1 || q->shape.dim[1] % k->shape.dim[1])
        fail_node(node, STATUS_MALFORMED, NULL, "the heads of keys do not divide those of queries");
    const int64_t times = q->shape.dim[1] / k->shape.dim[1];
    const int64_t perm[4] = { 0, 1, 3, 2 };
    const int64_t given = node_int(node, "softmax_precision", 0);
    const DType type = q->dtype;
    const DType wide = given ? dtype_of_code(given) : type == DT_F64 ? type : DT_F32;
    const double scale = node_attr(node, "scale") ? (double)node_float(node, "scale", 1.0f)
                                                  : 1.0 / sqrt((double)q->shape.dim[3]);
    if (!dtype_is_float(wide))
        fail_node(node, STATUS_MALFORMED, NULL, "softmax_precision is %lld", (long long)given);
    Tensor *product = expand_binary(node, "MatMul", q,
                                    expand_transpose(node, attend_repeat(node, k, times), perm));
    Tensor *scores =
        modified(node, "score_mod", expand_cast(node, scaled(node, product, scale), wide));
    Tensor *shares = modified(node, "prob_mod", softmax(node, scores));
    Tensor *y = expand_binary(node, "MatMul", expand_cast(node, shares, type),
                              attend_repeat(node, tensor, times));
    expand_finish(node, 1, &y);
}

/* Elements from, from + 2, ... of the last axis. */
static Tensor *every_second(const Node *node, Tensor *tensor, int64_t from)
{
    const int64_t end = tensor->shape.dim[tensor->shape.rank - 1];
    const int64_t axis = tensor->shape.rank - 1;
    const int64_t step = 2;
    Tensor *in[] = { tensor, expand_i64s(node, 1, &from), expand_i64s(node, 1, &end),
                     expand_i64s(node, 1, &axis), expand_i64s(node, 1, &step) };
    return expand_done(expand_node(node, "Slice", 5, in, 1));
}

static Tensor *interleaved(const Node *node, Tensor *a, Tensor *b)
{
    Shape apart = a->shape;
    Shape joined = a->shape;
    apart.dim[apart.rank++] = 1;
    joined.dim[joined.rank - 1] *= 2;
    Tensor *pairs = concat(node, expand_reshape(node, a, apart.rank, apart.dim),
                           expand_reshape(node, b, apart.rank, apart.dim), apart.rank - 1);
    return expand_reshape(node, pairs, joined.rank, joined.dim);
}

/* cos or sin for each position, as [B or 1][1][S][D / 2]. */
static Tensor *cache_of(Node *node, Tensor *cache, int64_t width)
{
    if (node_in(node, 3))
        cache = expand_binary(node, "Gather", cache, node->in[3]);
    const Shape *s = &cache->shape;
    if (s->rank != 3 || s->dim[2] < width)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "the caches of cosines and sines do not fit the positions");
    const int64_t dims[4] = { s->dim[0], 1, s->dim[1], width };
    return expand_reshape(node, expand_slice(node, cache, 2, 0, width), 4, dims);
}

void expand_rotary(Node *node)
{
    const bool flat = infer_shape(node, 0)->rank == 3;
    Tensor *x = attend_split(node, node->in[0], node_int(node, "num_heads", 0));
    const int64_t width = x->shape.dim[3];
    const int64_t given = node_int(node, "rotary_embedding_dim", 0);
    const int64_t turned = given ? given : width;
    if (turned < 2 || turned > width || turned % 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "rotary_embedding_dim %lld does not fit a head of %lld", (long long)turned,
                  (long long)width);
    Tensor *cos = cache_of(node, node->in[1], turned / 2);
    Tensor *sin = cache_of(node, node->in[2], turned / 2);
    Tensor *part = expand_slice(node, x, 3, 0, turned);
    const bool pairs = node_int(node, "interleaved", 0) != 0;
    Tensor *a = pairs ? every_second(node, part, 0) : expand_slice(node, part, 3, 0, turned / 2);
    Tensor *b =
        pairs ? every_second(node, part, 1) : expand_slice(node, part, 3, turned / 2, turned);
    Tensor *real = expand_binary(node, "Sub", expand_binary(node, "Mul", cos, a),
                                 expand_binary(node, "Mul", sin, b));
    Tensor *imaginary = expand_binary(node, "Add", expand_binary(node, "Mul", sin, a),
                                      expand_binary(node, "Mul", cos, b));
    Tensor *y = pairs ? interleaved(node, real, imaginary) : concat(node, real, imaginary, 3);
    if (turned < width)
        y = concat(node, y, expand_slice(node, x, 3, turned, width), 3);
    y = flat ? attend_join(node, y) : y;
    expand_finish(node, 1, &y);
}

/* --- TensorScatter --- */

void infer_tensor_scatter(Node *node)
{
    const Shape *cache = infer_shape(node, 0);
    const Shape *update = infer_shape(node, 1);
    const int axis = node_axis(node, node_int(node, "axis", -2), cache->rank);
    bool fits = update->rank == cache->rank && axis != 0;
    for (int i = 0; fits && i < cache->rank; i++)
        fits = i == axis ? update->dim[i] <= cache->dim[i] : update->dim[i] == cache->dim[i];
    if (!fits)
        fail_node(node, STATUS_MALFORMED, NULL, "the update does not fit the cache");
    if (node_in(node, 2) && shape_count(infer_shape(node, 2)) != cache->dim[0])
        fail_node(node, STATUS_MALFORMED, NULL, "%lld write indices for a batch of %lld",
                  (long long)infer_count(node, 2), (long long)cache->dim[0]);
    infer_out(node, 0, node->in[0]->dtype, *cache);
}

void lower_tensor_scatter(Lower *lower, Node *node)
{
    const Shape *cache = &node->in[0]->shape;
    const int axis = node_axis(node, node_int(node, "axis", -2), cache->rank);
    Tensor *y = move_target(lower, node->out[0]);
    Tensor *x = move_source(lower, node, node->in[0]);
    Tensor *update = move_source(lower, node, node->in[1]);
    int64_t outer = 1;
    int64_t inner = 1;
    for (int i = 1; i < axis; i++)
        outer *= cache->dim[i];
    for (int i = axis + 1; i < cache->rank; i++)
        inner *= cache->dim[i];
    const inlay_cache_params params = { .batch = cache->dim[0],
                                        .outer = outer,
                                        .length = cache->dim[axis],
                                        .count = update->shape.dim[axis],
                                        .bytes = dtype_bytes(x->dtype, inner),
                                        .circular = !strcmp(node_string(node, "mode", "linear"),
                                                            "circular") };
    Tensor *index = lower_index(lower, node, node_in(node, 2));
    if (!tensor_count(y))
        return;
    Step *s = lower_step(lower, node, "cache_update", &params);
    step_out(s, y);
    step_in(s, x);
    step_in(s, update);
    step_in(s, index);
    move_finish(lower, node, node->out[0], y);
}
