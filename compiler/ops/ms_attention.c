/* SPDX-License-Identifier: Apache-2.0
 * Attention of com.microsoft, as compositions: projections, heads, softmax(q k^T scale + masks) v.
 * B batch, N heads, S queries, T keys (those of the past included), H size of a head. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/attend.h"
#include "ops/families.h"

typedef struct Attention {
    const Node *node;
    int64_t batch, heads, queries, keys;
    Tensor *q, *k, *v; /* [B][S][N][H]; k and v with a past, or given so: [B][N][T][H] */
    bool k_by_head, v_by_head;
    Tensor *add[4]; /* masks: to be added to the scores; broadcast to [B][N][S][T] */
    int adds;
    float filter; /* what is added where a key is masked */
} Attention;

static bool read(const Node *node, int i)
{
    return node_out(node, i) && node->out[i]->uses;
}

static int64_t heads_of(const Node *node)
{
    const int64_t heads = node_int(node, "num_heads", 0);
    if (heads < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "num_heads is %lld", (long long)heads);
    return heads;
}

/* x [B][S][N*H] as [B][S][N][H]. */
static Tensor *in_heads(const Node *node, Tensor *x, int64_t heads)
{
    const Shape *s = &x->shape;
    if (s->rank == 4)
        return x;
    if (s->rank != 3 || s->dim[2] % heads)
        fail_node(node, STATUS_MALFORMED, NULL, "%s does not divide into %lld heads",
                  shape_text(node->graph->arena, s), (long long)heads);
    return expand_reshape(node, x, 4,
                          (const int64_t[]){ s->dim[0], s->dim[1], heads, s->dim[2] / heads });
}

static Tensor *by_head(const Node *node, Tensor *x)
{
    return expand_transpose(node, x, (const int64_t[]){ 0, 2, 1, 3 });
}

static Tensor *joined(const Node *node, Tensor *a, Tensor *b, int64_t axis)
{
    Tensor *in[] = { a, b };
    Node *made = expand_node(node, "Concat", 2, in, 1);
    node_set_int(made, "axis", axis);
    return expand_done(made);
}

/* With a past, or where the result is read, keys and values lie head by head. */
static Tensor *with_past(const Node *node, Tensor *x, bool *is_by_head, Tensor *past, bool wanted)
{
    if (!past && !wanted)
        return x;
    if (!*is_by_head)
        x = by_head(node, x);
    *is_by_head = true;
    return past && tensor_count(past) ? joined(node, past, x, 2) : x;
}

/* Where a condition holds 0, else the filter. */
static Tensor *penalty(const Attention *attention, Tensor *allowed)
{
    const DType type = attention->q->dtype;
    Tensor *in[] = { allowed, expand_number(attention->node, 0.0, type),
                     expand_number(attention->node, (double)attention->filter, type) };
    return expand_done(expand_node(attention->node, "Where", 3, in, 1));
}

static Tensor *key_numbers(const Attention *attention, DType type)
{
    int64_t *v = NEW_ARRAY(attention->node->graph->arena, int64_t, attention->keys);
    for (int64_t i = 0; i < attention->keys; i++)
        v[i] = i;
    return expand_cast(attention->node, expand_i64s(attention->node, attention->keys, v), type);
}

/* One number for each of the batch: [B] as [B][1]. */
static Tensor *limits(const Attention *attention, Tensor *mask, int64_t from)
{
    return expand_reshape(attention->node,
                          expand_slice(attention->node, mask, 0, from, from + attention->batch), 2,
                          (const int64_t[]){ attention->batch, 1 });
}

/* Lengths [B]; ends and starts [2 B]; who may be seen [B][T] or [B][S][T]. */
static void add_mask(Attention *attention, Tensor *mask)
{
    const Node *n = attention->node;
    const Shape *s = &mask->shape;
    Tensor *allowed;
    if (s->rank == 1 && (s->dim[0] == attention->batch || s->dim[0] == 2 * attention->batch)) {
        Tensor *key = key_numbers(attention, mask->dtype);
        allowed = expand_binary(n, "Less", key, limits(attention, mask, 0));
        if (s->dim[0] == 2 * attention->batch)
            allowed = expand_binary(
                n, "And", allowed,
                expand_binary(n, "GreaterOrEqual", key, limits(attention, mask, attention->batch)));
    } else if ((s->rank == 2 && s->dim[1] == attention->keys) ||
               (s->rank == 3 && s->dim[1] == attention->queries && s->dim[2] == attention->keys)) {
        allowed = expand_binary(n, "Greater", mask, expand_number(n, 0.0, mask->dtype));
    } else
        fail_node(n, STATUS_UNSUPPORTED, "use a mask of lengths or of ones and zeros",
                  "a mask of shape %s is not supported", shape_text(n->graph->arena, s));
    Tensor *add = penalty(attention, allowed);
    add = expand_unsqueeze(n, add, 1);
    attention->add[attention->adds++] = add->shape.rank == 4 ? add : expand_unsqueeze(n, add, 2);
}

/* Keys behind the query are masked, more than any other mask does. */
static void add_causal(Attention *attention)
{
    Graph *g = attention->node->graph;
    const float hidden = attention->q->dtype == DT_F32 ? -FLT_MAX : attention->filter;
    const int64_t dims[] = { attention->queries, attention->keys };
    float *v = NEW_ARRAY(g->arena, float, i64_mul(dims[0], dims[1]));
    for (int64_t i = 0; i < dims[0]; i++)
        for (int64_t j = 0; j < dims[1]; j++)
            v[i * dims[1] + j] = j > i + attention->keys - attention->queries ? hidden : 0.0f;
    Tensor *tensor = graph_add_constant(g, NULL, recipe_memory(g->store, DT_F32, 2, dims, v));
    attention->add[attention->adds++] = expand_cast(attention->node, tensor, attention->q->dtype);
}

static Tensor *attend(const Attention *attention, float scale)
{
    const Node *n = attention->node;
    const int64_t size = attention->q->shape.dim[3];
    if (scale <= 0.0f)
        scale = 1.0f / sqrtf((float)size);
    Tensor *q = by_head(n, expand_binary(n, "Mul", attention->q,
                                         expand_number(n, (double)scale, attention->q->dtype)));
    Tensor *k = expand_transpose(n, attention->k,
                                 attention->k_by_head ? (const int64_t[]){ 0, 1, 3, 2 }
                                                      : (const int64_t[]){ 0, 2, 3, 1 });
    Tensor *tensor = attention->v_by_head ? attention->v : by_head(n, attention->v);
    Tensor *scores = expand_binary(n, "MatMul", q, k);
    for (int i = 0; i < attention->adds; i++)
        scores = expand_binary(n, "Add", scores, attention->add[i]);
    Node *softmax = expand_node(n, "Softmax", 1, &scores, 1);
    node_set_int(softmax, "axis", -1);
    Tensor *y = by_head(n, expand_binary(n, "MatMul", expand_done(softmax), tensor));
    return expand_reshape(n, y, 3,
                          (const int64_t[]){ attention->batch, attention->queries,
                                             i64_mul(attention->heads, y->shape.dim[3]) });
}

static int64_t key_count(const Tensor *k, bool is_by_head)
{
    return k->shape.dim[is_by_head ? 2 : 1];
}

static Tensor *vector_part(const Node *node, Tensor *tensor, int64_t from, int64_t count)
{
    return expand_slice(node, tensor, 0, from, from + count);
}

/* Sizes of q, k, v in the packed projection. */
static void packed_sizes(const Node *node, int64_t all, int64_t *size)
{
    int64_t count;
    const int64_t *given = node_ints(node, "qkv_hidden_sizes", &count);
    for (int i = 0; i < 3; i++)
        size[i] = count == 3 ? given[i] : all / 3;
    if (size[0] + size[1] + size[2] != all)
        fail_node(node, STATUS_MALFORMED, NULL, "its weights have %lld columns for q, k and v",
                  (long long)all);
}

/* Part [0] or [1] of a past or present [2][B][N][T][H]. */
static Tensor *past_part(const Node *node, Tensor *past, int64_t i)
{
    if (!past)
        return NULL;
    const Shape *s = &past->shape;
    if (s->rank != 5)
        fail_node(node, STATUS_MALFORMED, NULL, "its past has %d dimensions", s->rank);
    return expand_reshape(node, expand_slice(node, past, 0, i, i + 1), 4, s->dim + 1);
}

/* What follows the projection all [B][S][q, k, v]. */
static void finish_attention(Node *n, Tensor *all, Tensor *mask, Tensor *past, Tensor *bias)
{
    const Shape x = all->shape;
    int64_t size[3];
    packed_sizes(n, x.dim[2], size);
    if (node_int(n, "do_rotary", 0))
        fail_node(n, STATUS_UNSUPPORTED, NULL, "rotary embedding inside %s is not supported",
                  n->op_type);
    Attention attention = { .node = n,
                            .batch = x.dim[0],
                            .queries = x.dim[1],
                            .heads = heads_of(n),
                            .filter = node_float(n, "mask_filter_value", -10000.0f) };
    attention.q = in_heads(n, expand_slice(n, all, 2, 0, size[0]), attention.heads);
    attention.k = in_heads(n, expand_slice(n, all, 2, size[0], size[0] + size[1]), attention.heads);
    attention.v =
        in_heads(n, expand_slice(n, all, 2, size[0] + size[1], x.dim[2]), attention.heads);
    attention.k =
        with_past(n, attention.k, &attention.k_by_head, past_part(n, past, 0), read(n, 1));
    attention.v =
        with_past(n, attention.v, &attention.v_by_head, past_part(n, past, 1), read(n, 1));
    attention.keys = key_count(attention.k, attention.k_by_head);
    if (mask)
        add_mask(&attention, mask);
    if (node_int(n, "unidirectional", 0))
        add_causal(&attention);
    if (bias)
        attention.add[attention.adds++] = bias;
    Tensor *present = read(n, 1) ? joined(n, expand_unsqueeze(n, attention.k, 0),
                                          expand_unsqueeze(n, attention.v, 0), 0)
                                 : NULL;
    Tensor *result[] = { attend(&attention, node_float(n, "scale", 0.0f)), present };
    expand_finish(n, 2, result);
}

static void check_projection(const Node *node)
{
    const int x = infer_shape(node, 0)->rank;
    const int w = infer_shape(node, 1)->rank;
    if (x != 3 || w != 2)
        fail_node(node, STATUS_MALFORMED, NULL, "its input and weights have %d and %d dimensions",
                  x, w);
}

void expand_ms_attention(Node *node)
{
    check_projection(node);
    if (node_in(node, 6))
        fail_node(node, STATUS_UNSUPPORTED, NULL, "a shared past is not supported");
    Tensor *all = expand_binary(node, "MatMul", node->in[0], node->in[1]);
    if (node_in(node, 2))
        all = expand_binary(node, "Add", all, node->in[2]);
    finish_attention(node, all, node_in(node, 3), node_in(node, 4), node_in(node, 5));
}

/* The same with a projection of 8-bit integers. */
void expand_qattention(Node *node)
{
    check_projection(node);
    Tensor *in[] = { node->in[0], node->in[1], node_in(node, 6), node_in(node, 7) };
    Tensor *sums = expand_done(expand_node(node, "MatMulInteger",
                                           in[3]   ? 4
                                           : in[2] ? 3
                                                   : 2,
                                           in, 1));
    Tensor *scale = expand_binary(node, "Mul", node->in[3], node->in[4]);
    Tensor *all = expand_binary(node, "Mul", expand_cast(node, sums, scale->dtype), scale);
    finish_attention(node, expand_binary(node, "Add", all, node->in[2]), node_in(node, 5),
                     node_in(node, 8), NULL);
}

/* Part i of x [B][S][N][parts][H]. */
static Tensor *unpacked(const Node *node, Tensor *x, int64_t i)
{
    const Shape *s = &x->shape;
    return expand_reshape(node, expand_slice(node, x, 3, i, i + 1), 4,
                          (const int64_t[]){ s->dim[0], s->dim[1], s->dim[2], s->dim[4] });
}

/* The operands of MultiHeadAttention in any of their forms, without bias and past. */
static void set_qkv(Attention *attention)
{
    const Node *n = attention->node;
    Tensor *q = n->in[0];
    Tensor *k = node_in(n, 1);
    Tensor *tensor = node_in(n, 2);
    if (q->shape.rank == 5) {
        attention->q = unpacked(n, q, 0), attention->k = unpacked(n, q, 1),
        attention->v = unpacked(n, q, 2);
        return;
    }
    infer_shape(n, 1);
    attention->q = in_heads(n, q, attention->heads);
    if (k->shape.rank == 5) {
        attention->k = unpacked(n, k, 0), attention->v = unpacked(n, k, 1);
        return;
    }
    infer_shape(n, 2);
    attention->k_by_head = k->shape.rank == 4, attention->v_by_head = tensor->shape.rank == 4;
    attention->k = in_heads(n, k, attention->heads);
    attention->v = in_heads(n, tensor, attention->heads);
}

/* Adds heads [from ...) of the bias to x [B][S][N][H]. */
static Tensor *head_bias(const Node *node, Tensor *x, int64_t from)
{
    const int64_t heads = x->shape.dim[2];
    const int64_t size = x->shape.dim[3];
    Tensor *part = vector_part(node, node->in[3], from, i64_mul(heads, size));
    return expand_binary(node, "Add", x,
                         expand_reshape(node, part, 2, (const int64_t[]){ heads, size }));
}

void expand_multi_head_attention(Node *n)
{
    Attention attention = { .node = n,
                            .heads = heads_of(n),
                            .filter = node_float(n, "mask_filter_value", -10000.0f) };
    infer_shape(n, 0);
    set_qkv(&attention);
    if (node_in(n, 8) || node_in(n, 9))
        fail_node(n, STATUS_UNSUPPORTED, NULL, "a shared past is not supported");
    attention.batch = attention.q->shape.dim[0];
    attention.queries = attention.q->shape.dim[1];
    if (node_in(n, 3)) {
        const int64_t size = i64_mul(attention.heads, attention.q->shape.dim[3]);
        attention.q = head_bias(n, attention.q, 0);
        if (!attention.k_by_head)
            attention.k = head_bias(n, attention.k, size);
        if (!attention.v_by_head)
            attention.v = head_bias(n, attention.v, 2 * size);
    }
    attention.k = with_past(n, attention.k, &attention.k_by_head, node_in(n, 6), read(n, 1));
    attention.v = with_past(n, attention.v, &attention.v_by_head, node_in(n, 7), read(n, 2));
    attention.keys = key_count(attention.k, attention.k_by_head);
    if (node_in(n, 4))
        add_mask(&attention, n->in[4]);
    if (node_int(n, "unidirectional", 0))
        add_causal(&attention);
    if (node_in(n, 5))
        attention.add[attention.adds++] = n->in[5];
    Tensor *result[] = { attend(&attention, node_float(n, "scale", 0.0f)),
                         read(n, 1) ? attention.k : NULL, read(n, 2) ? attention.v : NULL };
    expand_finish(n, 3, result);
}

/* Rows of the cache for every place of the sequence: [B or 1][S][1][R]. */
static Tensor *angles(const Node *node, Tensor *cache, int64_t steps)
{
    Tensor *place = node->in[1];
    if (tensor_count(place) == 1) { /* the first place */
        int64_t *v = NEW_ARRAY(node->graph->arena, int64_t, steps);
        for (int64_t i = 0; i < steps; i++)
            v[i] = i;
        place =
            expand_binary(node, "Add", expand_reshape(node, place, 2, (const int64_t[]){ 1, 1 }),
                          expand_i64s(node, steps, v));
    }
    Tensor *in[] = { cache, place };
    return expand_unsqueeze(node, expand_done(expand_node(node, "Gather", 2, in, 1)), 2);
}

Tensor *attend_rotate(const Node *node, Tensor *x, Tensor *cos, Tensor *sin, bool interleaved)
{
    const Shape s = x->shape;
    const int64_t half = s.dim[3] / 2;
    const int64_t five[] = { s.dim[0], s.dim[1], s.dim[2], interleaved ? half : 2,
                             interleaved ? 2 : half };
    const int64_t four[] = { s.dim[0], s.dim[1], s.dim[2], half };
    const int axis = interleaved ? 4 : 3;
    Tensor *pair = expand_reshape(node, x, 5, five);
    Tensor *a = expand_reshape(node, expand_slice(node, pair, axis, 0, 1), 4, four);
    Tensor *b = expand_reshape(node, expand_slice(node, pair, axis, 1, 2), 4, four);
    Tensor *first = expand_binary(node, "Sub", expand_binary(node, "Mul", a, cos),
                                  expand_binary(node, "Mul", b, sin));
    Tensor *second = expand_binary(node, "Add", expand_binary(node, "Mul", b, cos),
                                   expand_binary(node, "Mul", a, sin));
    return expand_reshape(node,
                          joined(node, expand_unsqueeze(node, first, axis),
                                 expand_unsqueeze(node, second, axis), axis),
                          4, s.dim);
}

void expand_ms_rotary(Node *node)
{
    const Shape s = *infer_shape(node, 0);
    const Shape cache = *infer_shape(node, 2);
    const bool first_heads = s.rank == 4;
    int64_t turned = node_int(node, "rotary_embedding_dim", 0);
    int64_t heads = node_int(node, "num_heads", 0);
    infer_shape(node, 1);
    infer_shape(node, 3);
    if (cache.rank != 2)
        fail_node(node, STATUS_MALFORMED, NULL, "its caches have %d dimensions", cache.rank);
    if (!heads && s.rank == 3)
        heads = s.dim[2] / (turned ? turned : 2 * cache.dim[1]);
    Tensor *x =
        first_heads ? by_head(node, node->in[0]) : in_heads(node, node->in[0], i64_max(heads, 1));
    const int64_t size = x->shape.dim[3];
    if (!turned)
        turned = size;
    if (turned > size || turned != 2 * cache.dim[1])
        fail_node(node, STATUS_MALFORMED, NULL, "turns %lld of %lld elements with a cache of %lld",
                  (long long)turned, (long long)size, (long long)cache.dim[1]);
    Tensor *cos = angles(node, node->in[2], x->shape.dim[1]);
    Tensor *sin = angles(node, node->in[3], x->shape.dim[1]);
    Tensor *y = attend_rotate(node, expand_slice(node, x, 3, 0, turned), cos, sin,
                              node_int(node, "interleaved", 0) != 0);
    if (turned < size)
        y = joined(node, y, expand_slice(node, x, 3, turned, size), 3);
    y = first_heads ? by_head(node, y) : expand_reshape(node, y, s.rank, s.dim);
    expand_finish(node, 1, &y);
}
