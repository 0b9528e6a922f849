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
Tensor *attend_split(const Node *n, Tensor *t, int64_t heads)
{
    if (t->shape.rank == 4)
        return t;
    if (t->shape.rank != 3 || heads < 1 || t->shape.dim[2] % heads)
        fail_node(n, STATUS_MALFORMED, NULL, "its heads do not divide the last dimension");
    const int64_t dims[4] = { t->shape.dim[0], t->shape.dim[1], heads, t->shape.dim[2] / heads },
                  perm[4] = { 0, 2, 1, 3 };
    return expand_transpose(n, expand_reshape(n, t, 4, dims), perm);
}

Tensor *attend_join(const Node *n, Tensor *t)
{
    const int64_t perm[4] = { 0, 2, 1, 3 }, dims[3] = { t->shape.dim[0], t->shape.dim[2],
                                                        i64_mul(t->shape.dim[1], t->shape.dim[3]) };
    return expand_reshape(n, expand_transpose(n, t, perm), 3, dims);
}

static Tensor *concat(const Node *n, Tensor *a, Tensor *b, int axis)
{
    Tensor *in[] = { a, b };
    Node *c = expand_node(n, "Concat", 2, in, 1);
    node_set_int(c, "axis", axis);
    return expand_done(c);
}

/* Each head `times` times, for queries that share keys. */
Tensor *attend_repeat(const Node *n, Tensor *t, int64_t times)
{
    if (times == 1)
        return t;
    const Shape s = t->shape;
    const int64_t apart[5] = { s.dim[0], s.dim[1], 1, s.dim[2], s.dim[3] },
                  wide[5] = { s.dim[0], s.dim[1], times, s.dim[2], s.dim[3] };
    const int64_t joined[4] = { s.dim[0], i64_mul(s.dim[1], times), s.dim[2], s.dim[3] };
    Tensor *all =
        expand_binary(n, "Expand", expand_reshape(n, t, 5, apart), expand_i64s(n, 5, wide));
    return expand_reshape(n, all, 4, joined);
}

/* A mask of truth values as something to add. */
static Tensor *bias_of_mask(const Node *n, Tensor *mask, DType t)
{
    if (mask->dtype != DT_BOOL)
        return expand_cast(n, mask, t);
    Tensor *in[] = { mask, expand_number(n, 0.0, t), expand_number(n, -(double)INFINITY, t) };
    return expand_done(expand_node(n, "Where", 3, in, 1));
}

/* Keys that a shorter mask does not name are not seen. */
static Tensor *padded_bias(const Node *n, Tensor *bias, int64_t columns)
{
    const Shape *s = &bias->shape;
    const int64_t missing = s->rank ? columns - s->dim[s->rank - 1] : 0;
    if (missing <= 0 || s->dim[s->rank - 1] == 1)
        return bias;
    int64_t pads[2 * MAX_RANK] = { 0 };
    pads[2 * s->rank - 1] = missing;
    Tensor *in[] = { bias, expand_i64s(n, 2 * s->rank, pads),
                     expand_number(n, -(double)INFINITY, bias->dtype) };
    return expand_done(expand_node(n, "Pad", 3, in, 1));
}

static bool sees(const Sight *s, int64_t i, int64_t j)
{
    const int64_t p = i + s->before;
    return (s->right < 0 || j <= p + s->right) && (s->left < 0 || j >= p - s->left);
}

/* Constant [rows][columns]: 0 where a query may see a key, minus infinity elsewhere. */
static Tensor *fixed_sight(const Node *n, const Sight *s)
{
    float *bias = NEW_ARRAY(n->graph->arena, float, i64_mul(s->rows, s->columns));
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t k = 0; k < s->columns; k++)
            bias[i * s->columns + k] = sees(s, i, k) ? 0.0f : -INFINITY;
    const int64_t dims[2] = { s->rows, s->columns };
    return graph_add_constant(n->graph, NULL,
                              recipe_memory(n->graph->store, DT_F32, 2, dims, bias));
}

/* 0, 1, ..., count - 1. */
Tensor *attend_numbers(const Node *n, int64_t count)
{
    int64_t *place = NEW_ARRAY(n->graph->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        place[i] = i;
    return expand_i64s(n, count, place);
}

static Tensor *plus(const Node *n, Tensor *t, int64_t k)
{
    return k ? expand_binary(n, "Add", t, expand_i64s(n, 1, &k)) : t;
}

/* The same where the offsets are lengths read at run time: [B][1][rows][columns]. */
static Tensor *sight_of_lengths(const Node *n, const Sight *s, DType t)
{
    const int64_t column[2] = { s->rows, 1 };
    Tensor *key = attend_numbers(n, s->columns),
           *place = expand_binary(n, "Add", plus(n, s->lengths, -s->rows),
                                  expand_reshape(n, attend_numbers(n, s->rows), 2, column));
    Tensor *upper =
        s->right < 0 ? NULL : expand_binary(n, "LessOrEqual", key, plus(n, place, s->right));
    Tensor *lower =
        s->left < 0 ? NULL : expand_binary(n, "GreaterOrEqual", key, plus(n, place, -s->left));
    return bias_of_mask(n,
                        upper && lower ? expand_binary(n, "And", upper, lower)
                        : upper        ? upper
                                       : lower,
                        t);
}

Tensor *attend_sight(const Node *n, const Sight *s, DType t)
{
    if (s->left < 0 && s->right < 0)
        return NULL;
    return s->lengths && !s->before ? sight_of_lengths(n, s, t)
                                    : expand_cast(n, fixed_sight(n, s), t);
}

static Tensor *added(const Node *n, Tensor *a, Tensor *b)
{
    return a && b ? expand_binary(n, "Add", a, b) : a ? a : b;
}

static Tensor *scaled(const Node *n, Tensor *t, double factor)
{
    return expand_binary(n, "Mul", t, expand_number(n, factor, t->dtype));
}

Tensor *attend_softcap(const Node *n, Tensor *t, float cap)
{
    if (!(cap > 0.0f))
        return t;
    Tensor *bent = expand_unary(
        n, "Tanh", expand_binary(n, "Div", t, expand_number(n, (double)cap, t->dtype)));
    return scaled(n, bent, (double)cap);
}

static Tensor *softmax(const Node *n, Tensor *t)
{
    Node *s = expand_node(n, "Softmax", 1, &t, 1);
    node_set_int(s, "axis", -1);
    return expand_done(s);
}

/* Everything that is added to the products of queries and keys; NULL: nothing. */
static Tensor *attention_bias(Node *n, int64_t rows, int64_t columns, int64_t before, DType t)
{
    Tensor *bias = node_in(n, 3) ? padded_bias(n, bias_of_mask(n, n->in[3], t), columns) : NULL;
    Sight s = {
        rows,   columns, node_int(n, "left_window_size", -1), node_int(n, "right_window_size", -1),
        before, NULL
    };
    if (node_int(n, "is_causal", 0))
        s.right = 0;
    if (node_in(n, 6))
        s.lengths = expand_reshape(n, expand_cast(n, n->in[6], DT_I64), 4,
                                   (const int64_t[]){ tensor_count(n->in[6]), 1, 1, 1 });
    bias = added(n, bias, attend_sight(n, &s, t));
    return s.lengths
               ? added(n, bias,
                       bias_of_mask(
                           n, expand_binary(n, "Less", attend_numbers(n, columns), s.lengths), t))
               : bias;
}

/* Softmax; a query that sees no key at all weighs them all 0. */
static Tensor *weights(const Node *n, Tensor *product, Tensor *bias)
{
    const int64_t precision = node_int(n, "softmax_precision", 0), axis = -1;
    const DType t = product->dtype, wide = precision ? dtype_of_code(precision) : t;
    if (!dtype_is_float(wide))
        fail_node(n, STATUS_MALFORMED, NULL, "softmax_precision is %lld", (long long)precision);
    Tensor *w = expand_cast(n, softmax(n, expand_cast(n, product, wide)), t);
    if (!bias)
        return w;
    Tensor *most[] = { bias, expand_i64s(n, 1, &axis) };
    Tensor *blind = expand_binary(n, "Equal", expand_done(expand_node(n, "ReduceMax", 2, most, 1)),
                                  expand_number(n, -(double)INFINITY, t));
    int64_t count;
    const double *v = tensor_doubles(n->graph, blind, &count);
    for (int64_t i = 0; v && i < count; i++)
        if (v[i] > 0)
            v = NULL;
    if (v)
        return w;
    Tensor *in[] = { blind, expand_number(n, 0.0, t), w };
    return expand_done(expand_node(n, "Where", 3, in, 1));
}

void expand_attention(Node *n)
{
    for (int i = 0; i < 3; i++)
        infer_shape(n, i);
    Tensor *q = attend_split(n, n->in[0], node_int(n, "q_num_heads", 0));
    Tensor *k = attend_split(n, n->in[1], node_int(n, "kv_num_heads", 0)),
           *v = attend_split(n, n->in[2], node_int(n, "kv_num_heads", 0));
    const bool flat = n->in[0]->shape.rank == 3;
    const int64_t before = node_in(n, 4) ? infer_shape(n, 4)->dim[2] : 0;
    if (node_in(n, 4))
        k = concat(n, n->in[4], k, 2);
    if (node_in(n, 5))
        v = concat(n, n->in[5], v, 2);
    Tensor *result[4] = { NULL, k, v, NULL };
    if (k->shape.dim[1] < 1 || q->shape.dim[1] % k->shape.dim[1])
        fail_node(n, STATUS_MALFORMED, NULL, "the heads of keys do not divide those of queries");
    const int64_t times = q->shape.dim[1] / k->shape.dim[1], perm[4] = { 0, 1, 3, 2 };
    const double scale = node_attr(n, "scale") ? (double)node_float(n, "scale", 1.0f)
                                               : 1.0 / sqrt((double)q->shape.dim[3]);
    Tensor *keys = expand_transpose(n, scaled(n, attend_repeat(n, k, times), sqrt(scale)), perm);
    Tensor *product = expand_binary(n, "MatMul", scaled(n, q, sqrt(scale)), keys),
           *stage[4] = { product };
    Tensor *bias = attention_bias(n, q->shape.dim[2], k->shape.dim[2], before, q->dtype);
    product = stage[1] = attend_softcap(n, product, node_float(n, "softcap", 0.0f));
    if (bias)
        product = expand_binary(n, "Add", product, bias);
    stage[2] = product;
    stage[3] = weights(n, product, bias);
    Tensor *y = expand_cast(
        n,
        expand_binary(n, "MatMul", expand_cast(n, stage[3], v->dtype), attend_repeat(n, v, times)),
        q->dtype);
    const int64_t mode = node_int(n, "qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
        fail_node(n, STATUS_MALFORMED, NULL, "qk_matmul_output_mode is %lld, not 0 to 3",
                  (long long)mode);
    result[0] = flat ? attend_join(n, y) : y;
    result[3] = stage[mode];
    expand_finish(n, 4, result);
}

/* The subgraph that is attribute `name`, from one tensor to one of its shape; x itself where there
 * is none. */
static Tensor *modified(Node *n, const char *name, Tensor *x)
{
    if (!node_attr(n, name))
        return x;
    const Graph *body = control_body(n, name);
    Tensor *y;
    if (body->input.n != 1 || body->output.n != 1)
        fail_node(n, STATUS_MALFORMED, NULL, "%s is not from one tensor to one", name);
    control_expand(n, body, &x, &y);
    if (!shape_equal(&x->shape, &y->shape) || x->dtype != y->dtype)
        fail_node(n, STATUS_MALFORMED, NULL, "%s changes shape or type", name);
    return y;
}

void expand_flex_attention(Node *n)
{
    for (int i = 0; i < 3; i++)
        if (infer_shape(n, i)->rank != 4)
            fail_node(n, STATUS_MALFORMED, NULL, "its operands must have four dimensions");
    Tensor *q = n->in[0], *k = n->in[1], *v = n->in[2];
    if (k->shape.dim[1] < 1 || q->shape.dim[1] % k->shape.dim[1])
        fail_node(n, STATUS_MALFORMED, NULL, "the heads of keys do not divide those of queries");
    const int64_t times = q->shape.dim[1] / k->shape.dim[1], perm[4] = { 0, 1, 3, 2 },
                  given = node_int(n, "softmax_precision", 0);
    const DType t = q->dtype, wide = given ? dtype_of_code(given) : t == DT_F64 ? t : DT_F32;
    const double scale = node_attr(n, "scale") ? (double)node_float(n, "scale", 1.0f)
                                               : 1.0 / sqrt((double)q->shape.dim[3]);
    if (!dtype_is_float(wide))
        fail_node(n, STATUS_MALFORMED, NULL, "softmax_precision is %lld", (long long)given);
    Tensor *product =
        expand_binary(n, "MatMul", q, expand_transpose(n, attend_repeat(n, k, times), perm));
    Tensor *scores = modified(n, "score_mod", expand_cast(n, scaled(n, product, scale), wide));
    Tensor *shares = modified(n, "prob_mod", softmax(n, scores));
    Tensor *y = expand_binary(n, "MatMul", expand_cast(n, shares, t), attend_repeat(n, v, times));
    expand_finish(n, 1, &y);
}

/* Elements from, from + 2, ... of the last axis. */
static Tensor *every_second(const Node *n, Tensor *t, int64_t from)
{
    const int64_t end = t->shape.dim[t->shape.rank - 1], axis = t->shape.rank - 1, step = 2;
    Tensor *in[] = { t, expand_i64s(n, 1, &from), expand_i64s(n, 1, &end), expand_i64s(n, 1, &axis),
                     expand_i64s(n, 1, &step) };
    return expand_done(expand_node(n, "Slice", 5, in, 1));
}

static Tensor *interleaved(const Node *n, Tensor *a, Tensor *b)
{
    Shape apart = a->shape, joined = a->shape;
    apart.dim[apart.rank++] = 1;
    joined.dim[joined.rank - 1] *= 2;
    Tensor *pairs = concat(n, expand_reshape(n, a, apart.rank, apart.dim),
                           expand_reshape(n, b, apart.rank, apart.dim), apart.rank - 1);
    return expand_reshape(n, pairs, joined.rank, joined.dim);
}

/* cos or sin for each position, as [B or 1][1][S][D / 2]. */
static Tensor *cache_of(Node *n, Tensor *cache, int64_t width)
{
    if (node_in(n, 3))
        cache = expand_binary(n, "Gather", cache, n->in[3]);
    const Shape *s = &cache->shape;
    if (s->rank != 3 || s->dim[2] < width)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "the caches of cosines and sines do not fit the positions");
    const int64_t dims[4] = { s->dim[0], 1, s->dim[1], width };
    return expand_reshape(n, expand_slice(n, cache, 2, 0, width), 4, dims);
}

void expand_rotary(Node *n)
{
    const bool flat = infer_shape(n, 0)->rank == 3;
    Tensor *x = attend_split(n, n->in[0], node_int(n, "num_heads", 0));
    const int64_t width = x->shape.dim[3], given = node_int(n, "rotary_embedding_dim", 0),
                  turned = given ? given : width;
    if (turned < 2 || turned > width || turned % 2)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "rotary_embedding_dim %lld does not fit a head of %lld", (long long)turned,
                  (long long)width);
    Tensor *cos = cache_of(n, n->in[1], turned / 2), *sin = cache_of(n, n->in[2], turned / 2);
    Tensor *part = expand_slice(n, x, 3, 0, turned);
    const bool pairs = node_int(n, "interleaved", 0) != 0;
    Tensor *a = pairs ? every_second(n, part, 0) : expand_slice(n, part, 3, 0, turned / 2);
    Tensor *b = pairs ? every_second(n, part, 1) : expand_slice(n, part, 3, turned / 2, turned);
    Tensor *real =
        expand_binary(n, "Sub", expand_binary(n, "Mul", cos, a), expand_binary(n, "Mul", sin, b));
    Tensor *imaginary =
        expand_binary(n, "Add", expand_binary(n, "Mul", sin, a), expand_binary(n, "Mul", cos, b));
    Tensor *y = pairs ? interleaved(n, real, imaginary) : concat(n, real, imaginary, 3);
    if (turned < width)
        y = concat(n, y, expand_slice(n, x, 3, turned, width), 3);
    y = flat ? attend_join(n, y) : y;
    expand_finish(n, 1, &y);
}

/* --- TensorScatter --- */

void infer_tensor_scatter(Node *n)
{
    const Shape *cache = infer_shape(n, 0), *update = infer_shape(n, 1);
    const int axis = node_axis(n, node_int(n, "axis", -2), cache->rank);
    bool fits = update->rank == cache->rank && axis != 0;
    for (int i = 0; fits && i < cache->rank; i++)
        fits = i == axis ? update->dim[i] <= cache->dim[i] : update->dim[i] == cache->dim[i];
    if (!fits)
        fail_node(n, STATUS_MALFORMED, NULL, "the update does not fit the cache");
    if (node_in(n, 2) && shape_count(infer_shape(n, 2)) != cache->dim[0])
        fail_node(n, STATUS_MALFORMED, NULL, "%lld write indices for a batch of %lld",
                  (long long)infer_count(n, 2), (long long)cache->dim[0]);
    infer_out(n, 0, n->in[0]->dtype, *cache);
}

void lower_tensor_scatter(Lower *l, Node *n)
{
    const Shape *cache = &n->in[0]->shape;
    const int axis = node_axis(n, node_int(n, "axis", -2), cache->rank);
    Tensor *y = move_target(l, n->out[0]), *x = move_source(l, n, n->in[0]),
           *update = move_source(l, n, n->in[1]);
    int64_t outer = 1, inner = 1;
    for (int i = 1; i < axis; i++)
        outer *= cache->dim[i];
    for (int i = axis + 1; i < cache->rank; i++)
        inner *= cache->dim[i];
    const inlay_cache_params p = { .batch = cache->dim[0],
                                   .outer = outer,
                                   .length = cache->dim[axis],
                                   .count = update->shape.dim[axis],
                                   .bytes = dtype_bytes(x->dtype, inner),
                                   .circular =
                                       !strcmp(node_string(n, "mode", "linear"), "circular") };
    Tensor *index = lower_index(l, n, node_in(n, 2));
    if (!tensor_count(y))
        return;
    Step *s = lower_step(l, n, "cache_update", &p);
    step_out(s, y);
    step_in(s, x);
    step_in(s, update);
    step_in(s, index);
    move_finish(l, n, n->out[0], y);
}
