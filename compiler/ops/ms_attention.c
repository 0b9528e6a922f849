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

static bool read(const Node *n, int i)
{
    return node_out(n, i) && n->out[i]->uses;
}

static int64_t heads_of(const Node *n)
{
    const int64_t heads = node_int(n, "num_heads", 0);
    if (heads < 1)
        fail_node(n, STATUS_MALFORMED, NULL, "num_heads is %lld", (long long)heads);
    return heads;
}

/* x [B][S][N*H] as [B][S][N][H]. */
static Tensor *in_heads(const Node *n, Tensor *x, int64_t heads)
{
    const Shape *s = &x->shape;
    if (s->rank == 4)
        return x;
    if (s->rank != 3 || s->dim[2] % heads)
        fail_node(n, STATUS_MALFORMED, NULL, "%s does not divide into %lld heads",
                  shape_text(n->graph->arena, s), (long long)heads);
    return expand_reshape(n, x, 4,
                          (const int64_t[]){ s->dim[0], s->dim[1], heads, s->dim[2] / heads });
}

static Tensor *by_head(const Node *n, Tensor *x)
{
    return expand_transpose(n, x, (const int64_t[]){ 0, 2, 1, 3 });
}

static Tensor *joined(const Node *n, Tensor *a, Tensor *b, int64_t axis)
{
    Tensor *in[] = { a, b };
    Node *made = expand_node(n, "Concat", 2, in, 1);
    node_set_int(made, "axis", axis);
    return expand_done(made);
}

/* With a past, or where the result is read, keys and values lie head by head. */
static Tensor *with_past(const Node *n, Tensor *x, bool *is_by_head, Tensor *past, bool wanted)
{
    if (!past && !wanted)
        return x;
    if (!*is_by_head)
        x = by_head(n, x);
    *is_by_head = true;
    return past && tensor_count(past) ? joined(n, past, x, 2) : x;
}

/* Where a condition holds 0, else the filter. */
static Tensor *penalty(const Attention *a, Tensor *allowed)
{
    const DType t = a->q->dtype;
    Tensor *in[] = { allowed, expand_number(a->node, 0.0, t),
                     expand_number(a->node, (double)a->filter, t) };
    return expand_done(expand_node(a->node, "Where", 3, in, 1));
}

static Tensor *key_numbers(const Attention *a, DType t)
{
    int64_t *v = NEW_ARRAY(a->node->graph->arena, int64_t, a->keys);
    for (int64_t i = 0; i < a->keys; i++)
        v[i] = i;
    return expand_cast(a->node, expand_i64s(a->node, a->keys, v), t);
}

/* One number for each of the batch: [B] as [B][1]. */
static Tensor *limits(const Attention *a, Tensor *mask, int64_t from)
{
    return expand_reshape(a->node, expand_slice(a->node, mask, 0, from, from + a->batch), 2,
                          (const int64_t[]){ a->batch, 1 });
}

/* Lengths [B]; ends and starts [2 B]; who may be seen [B][T] or [B][S][T]. */
static void add_mask(Attention *a, Tensor *mask)
{
    const Node *n = a->node;
    const Shape *s = &mask->shape;
    Tensor *allowed;
    if (s->rank == 1 && (s->dim[0] == a->batch || s->dim[0] == 2 * a->batch)) {
        Tensor *key = key_numbers(a, mask->dtype);
        allowed = expand_binary(n, "Less", key, limits(a, mask, 0));
        if (s->dim[0] == 2 * a->batch)
            allowed =
                expand_binary(n, "And", allowed,
                              expand_binary(n, "GreaterOrEqual", key, limits(a, mask, a->batch)));
    } else if ((s->rank == 2 && s->dim[1] == a->keys) ||
               (s->rank == 3 && s->dim[1] == a->queries && s->dim[2] == a->keys)) {
        allowed = expand_binary(n, "Greater", mask, expand_number(n, 0.0, mask->dtype));
    } else
        fail_node(n, STATUS_UNSUPPORTED, "use a mask of lengths or of ones and zeros",
                  "a mask of shape %s is not supported", shape_text(n->graph->arena, s));
    Tensor *add = penalty(a, allowed);
    add = expand_unsqueeze(n, add, 1);
    a->add[a->adds++] = add->shape.rank == 4 ? add : expand_unsqueeze(n, add, 2);
}

/* Keys behind the query are masked, more than any other mask does. */
static void add_causal(Attention *a)
{
    Graph *g = a->node->graph;
    const float hidden = a->q->dtype == DT_F32 ? -FLT_MAX : a->filter;
    const int64_t dims[] = { a->queries, a->keys };
    float *v = NEW_ARRAY(g->arena, float, i64_mul(dims[0], dims[1]));
    for (int64_t i = 0; i < dims[0]; i++)
        for (int64_t j = 0; j < dims[1]; j++)
            v[i * dims[1] + j] = j > i + a->keys - a->queries ? hidden : 0.0f;
    Tensor *t = graph_add_constant(g, NULL, recipe_memory(g->store, DT_F32, 2, dims, v));
    a->add[a->adds++] = expand_cast(a->node, t, a->q->dtype);
}

static Tensor *attend(const Attention *a, float scale)
{
    const Node *n = a->node;
    const int64_t size = a->q->shape.dim[3];
    if (scale <= 0.0f)
        scale = 1.0f / sqrtf((float)size);
    Tensor *q =
        by_head(n, expand_binary(n, "Mul", a->q, expand_number(n, (double)scale, a->q->dtype)));
    Tensor *k = expand_transpose(
        n, a->k, a->k_by_head ? (const int64_t[]){ 0, 1, 3, 2 } : (const int64_t[]){ 0, 2, 3, 1 });
    Tensor *v = a->v_by_head ? a->v : by_head(n, a->v), *scores = expand_binary(n, "MatMul", q, k);
    for (int i = 0; i < a->adds; i++)
        scores = expand_binary(n, "Add", scores, a->add[i]);
    Node *softmax = expand_node(n, "Softmax", 1, &scores, 1);
    node_set_int(softmax, "axis", -1);
    Tensor *y = by_head(n, expand_binary(n, "MatMul", expand_done(softmax), v));
    return expand_reshape(
        n, y, 3, (const int64_t[]){ a->batch, a->queries, i64_mul(a->heads, y->shape.dim[3]) });
}

static int64_t key_count(const Tensor *k, bool is_by_head)
{
    return k->shape.dim[is_by_head ? 2 : 1];
}

static Tensor *vector_part(const Node *n, Tensor *v, int64_t from, int64_t count)
{
    return expand_slice(n, v, 0, from, from + count);
}

/* Sizes of q, k, v in the packed projection. */
static void packed_sizes(const Node *n, int64_t all, int64_t *size)
{
    int64_t count;
    const int64_t *given = node_ints(n, "qkv_hidden_sizes", &count);
    for (int i = 0; i < 3; i++)
        size[i] = count == 3 ? given[i] : all / 3;
    if (size[0] + size[1] + size[2] != all)
        fail_node(n, STATUS_MALFORMED, NULL, "its weights have %lld columns for q, k and v",
                  (long long)all);
}

/* Part [0] or [1] of a past or present [2][B][N][T][H]. */
static Tensor *past_part(const Node *n, Tensor *past, int64_t i)
{
    if (!past)
        return NULL;
    const Shape *s = &past->shape;
    if (s->rank != 5)
        fail_node(n, STATUS_MALFORMED, NULL, "its past has %d dimensions", s->rank);
    return expand_reshape(n, expand_slice(n, past, 0, i, i + 1), 4, s->dim + 1);
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
    Attention a = { .node = n,
                    .batch = x.dim[0],
                    .queries = x.dim[1],
                    .heads = heads_of(n),
                    .filter = node_float(n, "mask_filter_value", -10000.0f) };
    a.q = in_heads(n, expand_slice(n, all, 2, 0, size[0]), a.heads);
    a.k = in_heads(n, expand_slice(n, all, 2, size[0], size[0] + size[1]), a.heads);
    a.v = in_heads(n, expand_slice(n, all, 2, size[0] + size[1], x.dim[2]), a.heads);
    a.k = with_past(n, a.k, &a.k_by_head, past_part(n, past, 0), read(n, 1));
    a.v = with_past(n, a.v, &a.v_by_head, past_part(n, past, 1), read(n, 1));
    a.keys = key_count(a.k, a.k_by_head);
    if (mask)
        add_mask(&a, mask);
    if (node_int(n, "unidirectional", 0))
        add_causal(&a);
    if (bias)
        a.add[a.adds++] = bias;
    Tensor *present =
        read(n, 1) ? joined(n, expand_unsqueeze(n, a.k, 0), expand_unsqueeze(n, a.v, 0), 0) : NULL;
    Tensor *result[] = { attend(&a, node_float(n, "scale", 0.0f)), present };
    expand_finish(n, 2, result);
}

static void check_projection(const Node *n)
{
    const int x = infer_shape(n, 0)->rank, w = infer_shape(n, 1)->rank;
    if (x != 3 || w != 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its input and weights have %d and %d dimensions", x,
                  w);
}

void expand_ms_attention(Node *n)
{
    check_projection(n);
    if (node_in(n, 6))
        fail_node(n, STATUS_UNSUPPORTED, NULL, "a shared past is not supported");
    Tensor *all = expand_binary(n, "MatMul", n->in[0], n->in[1]);
    if (node_in(n, 2))
        all = expand_binary(n, "Add", all, n->in[2]);
    finish_attention(n, all, node_in(n, 3), node_in(n, 4), node_in(n, 5));
}

/* The same with a projection of 8-bit integers. */
void expand_qattention(Node *n)
{
    check_projection(n);
    Tensor *in[] = { n->in[0], n->in[1], node_in(n, 6), node_in(n, 7) };
    Tensor *sums = expand_done(expand_node(n, "MatMulInteger", in[3] ? 4 : in[2] ? 3 : 2, in, 1));
    Tensor *scale = expand_binary(n, "Mul", n->in[3], n->in[4]);
    Tensor *all = expand_binary(n, "Mul", expand_cast(n, sums, scale->dtype), scale);
    finish_attention(n, expand_binary(n, "Add", all, n->in[2]), node_in(n, 5), node_in(n, 8), NULL);
}

/* Part i of x [B][S][N][parts][H]. */
static Tensor *unpacked(const Node *n, Tensor *x, int64_t i)
{
    const Shape *s = &x->shape;
    return expand_reshape(n, expand_slice(n, x, 3, i, i + 1), 4,
                          (const int64_t[]){ s->dim[0], s->dim[1], s->dim[2], s->dim[4] });
}

/* The operands of MultiHeadAttention in any of their forms, without bias and past. */
static void set_qkv(Attention *a)
{
    const Node *n = a->node;
    Tensor *q = n->in[0], *k = node_in(n, 1), *v = node_in(n, 2);
    if (q->shape.rank == 5) {
        a->q = unpacked(n, q, 0), a->k = unpacked(n, q, 1), a->v = unpacked(n, q, 2);
        return;
    }
    infer_shape(n, 1);
    a->q = in_heads(n, q, a->heads);
    if (k->shape.rank == 5) {
        a->k = unpacked(n, k, 0), a->v = unpacked(n, k, 1);
        return;
    }
    infer_shape(n, 2);
    a->k_by_head = k->shape.rank == 4, a->v_by_head = v->shape.rank == 4;
    a->k = in_heads(n, k, a->heads);
    a->v = in_heads(n, v, a->heads);
}

/* Adds heads [from ...) of the bias to x [B][S][N][H]. */
static Tensor *head_bias(const Node *n, Tensor *x, int64_t from)
{
    const int64_t heads = x->shape.dim[2], size = x->shape.dim[3];
    Tensor *part = vector_part(n, n->in[3], from, i64_mul(heads, size));
    return expand_binary(n, "Add", x, expand_reshape(n, part, 2, (const int64_t[]){ heads, size }));
}

void expand_multi_head_attention(Node *n)
{
    Attention a = { .node = n,
                    .heads = heads_of(n),
                    .filter = node_float(n, "mask_filter_value", -10000.0f) };
    infer_shape(n, 0);
    set_qkv(&a);
    if (node_in(n, 8) || node_in(n, 9))
        fail_node(n, STATUS_UNSUPPORTED, NULL, "a shared past is not supported");
    a.batch = a.q->shape.dim[0];
    a.queries = a.q->shape.dim[1];
    if (node_in(n, 3)) {
        const int64_t size = i64_mul(a.heads, a.q->shape.dim[3]);
        a.q = head_bias(n, a.q, 0);
        if (!a.k_by_head)
            a.k = head_bias(n, a.k, size);
        if (!a.v_by_head)
            a.v = head_bias(n, a.v, 2 * size);
    }
    a.k = with_past(n, a.k, &a.k_by_head, node_in(n, 6), read(n, 1));
    a.v = with_past(n, a.v, &a.v_by_head, node_in(n, 7), read(n, 2));
    a.keys = key_count(a.k, a.k_by_head);
    if (node_in(n, 4))
        add_mask(&a, n->in[4]);
    if (node_int(n, "unidirectional", 0))
        add_causal(&a);
    if (node_in(n, 5))
        a.add[a.adds++] = n->in[5];
    Tensor *result[] = { attend(&a, node_float(n, "scale", 0.0f)), read(n, 1) ? a.k : NULL,
                         read(n, 2) ? a.v : NULL };
    expand_finish(n, 3, result);
}

/* Rows of the cache for every place of the sequence: [B or 1][S][1][R]. */
static Tensor *angles(const Node *n, Tensor *cache, int64_t steps)
{
    Tensor *place = n->in[1];
    if (tensor_count(place) == 1) { /* the first place */
        int64_t *v = NEW_ARRAY(n->graph->arena, int64_t, steps);
        for (int64_t i = 0; i < steps; i++)
            v[i] = i;
        place = expand_binary(n, "Add", expand_reshape(n, place, 2, (const int64_t[]){ 1, 1 }),
                              expand_i64s(n, steps, v));
    }
    Tensor *in[] = { cache, place };
    return expand_unsqueeze(n, expand_done(expand_node(n, "Gather", 2, in, 1)), 2);
}

Tensor *attend_rotate(const Node *n, Tensor *x, Tensor *cos, Tensor *sin, bool interleaved)
{
    const Shape s = x->shape;
    const int64_t half = s.dim[3] / 2, five[] = { s.dim[0], s.dim[1], s.dim[2],
                                                  interleaved ? half : 2, interleaved ? 2 : half };
    const int64_t four[] = { s.dim[0], s.dim[1], s.dim[2], half };
    const int axis = interleaved ? 4 : 3;
    Tensor *pair = expand_reshape(n, x, 5, five);
    Tensor *a = expand_reshape(n, expand_slice(n, pair, axis, 0, 1), 4, four),
           *b = expand_reshape(n, expand_slice(n, pair, axis, 1, 2), 4, four);
    Tensor *first =
        expand_binary(n, "Sub", expand_binary(n, "Mul", a, cos), expand_binary(n, "Mul", b, sin));
    Tensor *second =
        expand_binary(n, "Add", expand_binary(n, "Mul", b, cos), expand_binary(n, "Mul", a, sin));
    return expand_reshape(
        n, joined(n, expand_unsqueeze(n, first, axis), expand_unsqueeze(n, second, axis), axis), 4,
        s.dim);
}

void expand_ms_rotary(Node *n)
{
    const Shape s = *infer_shape(n, 0), cache = *infer_shape(n, 2);
    const bool first_heads = s.rank == 4;
    int64_t turned = node_int(n, "rotary_embedding_dim", 0), heads = node_int(n, "num_heads", 0);
    infer_shape(n, 1);
    infer_shape(n, 3);
    if (cache.rank != 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its caches have %d dimensions", cache.rank);
    if (!heads && s.rank == 3)
        heads = s.dim[2] / (turned ? turned : 2 * cache.dim[1]);
    Tensor *x = first_heads ? by_head(n, n->in[0]) : in_heads(n, n->in[0], i64_max(heads, 1));
    const int64_t size = x->shape.dim[3];
    if (!turned)
        turned = size;
    if (turned > size || turned != 2 * cache.dim[1])
        fail_node(n, STATUS_MALFORMED, NULL, "turns %lld of %lld elements with a cache of %lld",
                  (long long)turned, (long long)size, (long long)cache.dim[1]);
    Tensor *cos = angles(n, n->in[2], x->shape.dim[1]), *sin = angles(n, n->in[3], x->shape.dim[1]);
    Tensor *y = attend_rotate(n, expand_slice(n, x, 3, 0, turned), cos, sin,
                              node_int(n, "interleaved", 0) != 0);
    if (turned < size)
        y = joined(n, y, expand_slice(n, x, 3, turned, size), 3);
    y = first_heads ? by_head(n, y) : expand_reshape(n, y, s.rank, s.dim);
    expand_finish(n, 1, &y);
}
