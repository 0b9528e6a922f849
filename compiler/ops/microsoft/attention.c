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
    int64_t batch;
    int64_t heads;
    int64_t queries;
    int64_t keys;
    int64_t past;  /* keys before those of the node */
    Tensor *query; /* [B][S][N][H] */
    Tensor *key;   /* so too; with a past, or given so: [B][N][T][H] */
    Tensor *value;
    bool k_by_head;
    bool v_by_head;
    Tensor *add
        [4]; /* masks: to be added to the scores; broadcast to [B][N][S][T] */
    int adds;
    float filter; /* what is added where a key is masked */
} Attention;

static int64_t heads_of(const Node *node)
{
    return infer_int(node, "num_heads", 0, 1);
}

/* x [B][S][N*H] as [B][S][N][H]. */
static Tensor *in_heads(const Node *node, Tensor *x, int64_t heads)
{
    const Shape *shape = &x->shape;
    if (shape->rank == 4)
        return x;
    if (shape->rank != 3 || shape->dim[2] % heads)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%s does not divide into %lld heads",
                  shape_text(node->graph->arena, shape), (long long)heads);
    const int64_t dims[] = {
        shape->dim[0],
        shape->dim[1],
        heads,
        shape->dim[2] / heads,
    };
    return expand_reshape(node, x, 4, dims);
}

/* With a past, or where the result is read, keys and values lie head by head. */
static Tensor *with_past(const Node *node, Tensor *x, bool *is_by_head,
                         Tensor *past, bool wanted)
{
    if (!past && !wanted)
        return x;
    if (!*is_by_head)
        x = attend_swap(node, x);
    *is_by_head = true;
    if (!past || !tensor_count(past))
        return x;
    return expand_concat(node, past, x, 2);
}

/* Where a condition holds 0, else the filter. */
static Tensor *penalty(const Attention *attention, Tensor *allowed)
{
    const Node *node = attention->node;
    const DType type = attention->query->dtype;
    const double filter = (double)attention->filter;
    Tensor *none = expand_number(node, 0.0, type);
    Tensor *masked = expand_number(node, filter, type);
    return expand_where(node, allowed, none, masked);
}

/* One number for each of the batch: [B] as [B][1]. */
static Tensor *limits(const Attention *attention, Tensor *mask, int64_t from)
{
    const Node *node = attention->node;
    const int64_t column[] = { attention->batch, 1 };
    Tensor *part = expand_slice(node, mask, 0, from, from + attention->batch);
    return expand_reshape(node, part, 2, column);
}

/* Keys before the lengths [B], or between starts and ends [2 B]. */
static Tensor *allowed_by_lengths(const Attention *attention, Tensor *mask)
{
    const Node *node = attention->node;
    const int64_t batch = attention->batch;
    Tensor *numbers = attend_numbers(node, attention->keys);
    Tensor *key = expand_cast(node, numbers, mask->dtype);
    Tensor *end = limits(attention, mask, 0);
    Tensor *before = expand_binary(node, "Less", key, end);
    if (mask->shape.dim[0] == batch)
        return before;
    Tensor *start = limits(attention, mask, batch);
    Tensor *behind = expand_binary(node, "GreaterOrEqual", key, start);
    return expand_binary(node, "And", before, behind);
}

static bool is_lengths(const Attention *attention, const Shape *mask)
{
    const int64_t batch = attention->batch;
    if (mask->rank != 1)
        return false;
    return mask->dim[0] == batch || mask->dim[0] == 2 * batch;
}

/* Is the mask [B][T] or [B][S][T]? */
static bool is_of_keys(const Attention *attention, const Shape *mask)
{
    if (mask->rank == 2)
        return mask->dim[1] == attention->keys;
    return mask->rank == 3 && mask->dim[1] == attention->queries &&
           mask->dim[2] == attention->keys;
}

static Tensor *allowed_keys(const Attention *attention, Tensor *mask)
{
    const Node *node = attention->node;
    if (is_lengths(attention, &mask->shape))
        return allowed_by_lengths(attention, mask);
    if (!is_of_keys(attention, &mask->shape))
        fail_node(node, STATUS_UNSUPPORTED,
                  "use a mask of lengths or of ones and zeros",
                  "a mask of shape %s is not supported",
                  shape_text(node->graph->arena, &mask->shape));
    Tensor *zero = expand_number(node, 0.0, mask->dtype);
    return expand_binary(node, "Greater", mask, zero);
}

static void add_to_scores(Attention *attention, Tensor *bias)
{
    attention->add[attention->adds++] = bias;
}

/* Lengths [B]; ends and starts [2 B]; who may be seen [B][T] or [B][S][T]. [B][1] only stands where
 * a mask stands otherwise: ONNX Runtime masks nothing by it. */
static void add_mask(Attention *attention, Tensor *mask)
{
    const Node *node = attention->node;
    if (mask->shape.rank == 2 && mask->shape.dim[1] == 1)
        return;
    Tensor *allowed = allowed_keys(attention, mask);
    Tensor *add = penalty(attention, allowed);
    add = expand_unsqueeze(node, add, 1);
    if (add->shape.rank < 4)
        add = expand_unsqueeze(node, add, 2);
    add_to_scores(attention, add);
}

/* Query i is at key past + i. Keys behind it are masked, more than any other mask does; the last
 * query sees all, as in ONNX Runtime. */
static void add_causal(Attention *attention)
{
    const Node *node = attention->node;
    const DType type = attention->query->dtype;
    const float hidden = type == DT_F32 ? -FLT_MAX : attention->filter;
    const int64_t queries = attention->queries;
    const int64_t keys = attention->keys;
    const int64_t last = queries - 1;
    const int64_t count = i64_mul(queries, keys);
    float *mask = NEW_ARRAY(node->graph->arena, float, count);
    float *next = mask;
    for (int64_t i = 0; i < queries; i++)
        for (int64_t k = 0; k < keys; k++)
            *next++ = i < last && k > i + attention->past ? hidden : 0.0f;
    Tensor *bias = attend_matrix(node, queries, keys, mask);
    add_to_scores(attention, expand_cast(node, bias, type));
}

/* What products of queries and keys are scaled by. */
static double scale_of(const Attention *attention)
{
    const int64_t size = attention->query->shape.dim[3];
    const float given = node_float(attention->node, "scale", 0.0f);
    const float scale = 1.0f / sqrtf((float)size);
    return (double)(given <= 0.0f ? scale : given);
}

/* The keys as [B][N][H][T]. */
static Tensor *keys_of(const Attention *attention)
{
    static const int64_t perm[] = { 0, 2, 3, 1 };
    const Node *node = attention->node;
    if (attention->k_by_head)
        return attend_turn_keys(node, attention->key);
    return expand_transpose(node, attention->key, perm);
}

/* Queries times keys, with all that is added: [B][N][S][T]. */
static Tensor *scores_of(const Attention *attention)
{
    const Node *node = attention->node;
    const double scale = scale_of(attention);
    Tensor *scaled = expand_scaled(node, attention->query, scale);
    Tensor *query = attend_swap(node, scaled);
    Tensor *scores = expand_matmul(node, query, keys_of(attention));
    for (int i = 0; i < attention->adds; i++)
        scores = expand_add(node, scores, attention->add[i]);
    return scores;
}

static Tensor *attend(const Attention *attention)
{
    const Node *node = attention->node;
    Tensor *value = attention->value;
    if (!attention->v_by_head)
        value = attend_swap(node, value);
    Tensor *weight = expand_softmax(node, scores_of(attention));
    Tensor *sum = expand_matmul(node, weight, value);
    return attend_join(node, sum);
}

static int64_t key_count(const Tensor *k, bool is_by_head)
{
    return k->shape.dim[is_by_head ? 2 : 1];
}

/* Sizes of q, k, v in the packed projection. */
static void packed_sizes(const Node *node, int64_t all, int64_t *size)
{
    int64_t count;
    const int64_t *given = node_ints(node, "qkv_hidden_sizes", &count);
    for (int i = 0; i < 3; i++)
        size[i] = count == 3 ? given[i] : all / 3;
    if (size[0] + size[1] + size[2] != all)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its weights have %lld columns for q, k and v",
                  (long long)all);
}

/* Part [0] or [1] of a past or present [2][B][N][T][H]. */
static Tensor *past_part(const Node *node, Tensor *past, int64_t i)
{
    if (!past)
        return NULL;
    const Shape *shape = &past->shape;
    if (shape->rank != 5)
        fail_node(node, STATUS_MALFORMED, NULL, "its past has %d dimensions",
                  shape->rank);
    Tensor *part = expand_slice(node, past, 0, i, i + 1);
    return expand_reshape(node, part, 4, shape->dim + 1);
}

static Attention attention_of(const Node *node)
{
    return (Attention){
        .node = node,
        .heads = heads_of(node),
        .filter = node_float(node, "mask_filter_value", -10000.0f),
    };
}

/* Queries, keys and values of the projection. */
static void take_parts(Attention *attention, Tensor *all)
{
    const Node *node = attention->node;
    const int64_t heads = attention->heads;
    const int64_t end = all->shape.dim[2];
    int64_t size[3];
    packed_sizes(node, end, size);
    const int64_t value_at = size[0] + size[1];
    Tensor *query = expand_slice(node, all, 2, 0, size[0]);
    Tensor *key = expand_slice(node, all, 2, size[0], value_at);
    Tensor *value = expand_slice(node, all, 2, value_at, end);
    attention->query = in_heads(node, query, heads);
    attention->key = in_heads(node, key, heads);
    attention->value = in_heads(node, value, heads);
}

/* Keys and values with those of the past. */
static void take_past(Attention *attention, Tensor *keys, Tensor *values,
                      bool keys_read, bool values_read)
{
    const Node *node = attention->node;
    attention->batch = attention->query->shape.dim[0];
    attention->queries = attention->query->shape.dim[1];
    attention->past = -key_count(attention->key, attention->k_by_head);
    attention->key =
        with_past(node, attention->key, &attention->k_by_head, keys, keys_read);
    attention->value = with_past(node, attention->value, &attention->v_by_head,
                                 values, values_read);
    attention->keys = key_count(attention->key, attention->k_by_head);
    attention->past += attention->keys;
}

static void take_masks(Attention *attention, Tensor *mask, Tensor *bias)
{
    if (mask)
        add_mask(attention, mask);
    if (node_int(attention->node, "unidirectional", 0))
        add_causal(attention);
    if (bias)
        add_to_scores(attention, bias);
}

static Tensor *present_of(const Attention *attention)
{
    const Node *node = attention->node;
    if (!expand_reads(node, 1))
        return NULL;
    Tensor *keys = expand_unsqueeze(node, attention->key, 0);
    Tensor *values = expand_unsqueeze(node, attention->value, 0);
    return expand_concat(node, keys, values, 0);
}

/* What follows the projection all [B][S][q, k, v]. */
static void finish_attention(Node *node, Tensor *all, Tensor *mask,
                             Tensor *past, Tensor *bias)
{
    Attention attention = attention_of(node);
    const bool read = expand_reads(node, 1);
    if (node_int(node, "do_rotary", 0))
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "rotary embedding inside %s is not supported", node->op_type);
    take_parts(&attention, all);
    Tensor *keys = past_part(node, past, 0);
    Tensor *values = past_part(node, past, 1);
    take_past(&attention, keys, values, read, read);
    take_masks(&attention, mask, bias);
    Tensor *result[2];
    result[1] = present_of(&attention);
    result[0] = attend(&attention);
    expand_finish(node, 2, result);
}

static void check_projection(const Node *node)
{
    const int x = infer_shape(node, 0)->rank;
    const int w = infer_shape(node, 1)->rank;
    if (x != 3 || w != 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its input and weights have %d and %d dimensions", x, w);
}

static void refuse_shared_past(const Node *node, bool is_shared)
{
    if (is_shared)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "a shared past is not supported");
}

void expand_ms_attention(Node *node)
{
    Tensor *mask = node_in(node, 3);
    Tensor *past = node_in(node, 4);
    Tensor *bias = node_in(node, 5);
    check_projection(node);
    refuse_shared_past(node, node_in(node, 6));
    Tensor *all = expand_matmul(node, node->in[0], node->in[1]);
    if (node_in(node, 2))
        all = expand_add(node, all, node->in[2]);
    finish_attention(node, all, mask, past, bias);
}

/* The same with a projection of 8-bit integers. */
void expand_qattention(Node *node)
{
    Tensor *mask = node_in(node, 5);
    Tensor *past = node_in(node, 8);
    check_projection(node);
    Tensor *const *in = node->in;
    Tensor *x_zero = node_in(node, 6);
    Tensor *w_zero = node_in(node, 7);
    Tensor *sums =
        expand_op(node, "MatMulInteger", in[0], in[1], x_zero, w_zero);
    Tensor *scale = expand_mul(node, in[3], in[4]);
    Tensor *all = expand_cast(node, sums, scale->dtype);
    all = expand_mul(node, all, scale);
    all = expand_add(node, all, in[2]);
    finish_attention(node, all, mask, past, NULL);
}

/* Part i of x [B][S][N][parts][H]. */
static Tensor *unpacked(const Node *node, Tensor *x, int64_t i)
{
    const Shape *shape = &x->shape;
    Tensor *part = expand_slice(node, x, 3, i, i + 1);
    const int64_t dims[] = {
        shape->dim[0],
        shape->dim[1],
        shape->dim[2],
        shape->dim[4],
    };
    return expand_reshape(node, part, 4, dims);
}

/* The operands of MultiHeadAttention in any of their forms, without bias and past. */
static void set_qkv(Attention *attention)
{
    const Node *node = attention->node;
    const int64_t heads = attention->heads;
    Tensor *query = node->in[0];
    Tensor *key = node_in(node, 1);
    if (query->shape.rank == 5) {
        attention->query = unpacked(node, query, 0);
        attention->key = unpacked(node, query, 1);
        attention->value = unpacked(node, query, 2);
        return;
    }
    infer_shape(node, 1);
    attention->query = in_heads(node, query, heads);
    if (key->shape.rank == 5) {
        attention->key = unpacked(node, key, 0);
        attention->value = unpacked(node, key, 1);
        return;
    }
    attention->k_by_head = key->shape.rank == 4;
    attention->v_by_head = infer_shape(node, 2)->rank == 4;
    attention->key = in_heads(node, key, heads);
    attention->value = in_heads(node, node->in[2], heads);
}

/* Adds heads [from ...) of the bias to x [B][S][N][H]. */
static Tensor *head_bias(const Node *node, Tensor *x, int64_t from)
{
    const int64_t dims[] = { x->shape.dim[2], x->shape.dim[3] };
    const int64_t end = from + i64_mul(dims[0], dims[1]);
    Tensor *part = expand_slice(node, node->in[3], 0, from, end);
    Tensor *bias = expand_reshape(node, part, 2, dims);
    return expand_add(node, x, bias);
}

static void add_bias(Attention *attention)
{
    const Node *node = attention->node;
    const int64_t width = attention->query->shape.dim[3];
    const int64_t size = i64_mul(attention->heads, width);
    attention->query = head_bias(node, attention->query, 0);
    if (!attention->k_by_head)
        attention->key = head_bias(node, attention->key, size);
    if (!attention->v_by_head)
        attention->value = head_bias(node, attention->value, 2 * size);
}

void expand_multi_head_attention(Node *node)
{
    Attention attention = attention_of(node);
    const bool keys_read = expand_reads(node, 1);
    const bool values_read = expand_reads(node, 2);
    infer_shape(node, 0);
    set_qkv(&attention);
    refuse_shared_past(node, node_in(node, 8) || node_in(node, 9));
    if (node_in(node, 3))
        add_bias(&attention);
    take_past(&attention, node_in(node, 6), node_in(node, 7), keys_read,
              values_read);
    take_masks(&attention, node_in(node, 4), node_in(node, 5));
    Tensor *result[3] = { attend(&attention) };
    if (keys_read)
        result[1] = attention.key;
    if (values_read)
        result[2] = attention.value;
    expand_finish(node, 3, result);
}

/* Rows of the cache for every place of the sequence: [B or 1][S][1][R]. */
static Tensor *angles(const Node *node, Tensor *cache, int64_t steps)
{
    const int64_t one[] = { 1, 1 };
    Tensor *place = node->in[1];
    if (tensor_count(place) == 1) { /* the first place */
        Tensor *first = expand_reshape(node, place, 2, one);
        Tensor *number = attend_numbers(node, steps);
        place = expand_add(node, first, number);
    }
    Tensor *angle = expand_gather(node, cache, place, 0);
    return expand_unsqueeze(node, angle, 2);
}

/* One of each pair: x [B][S][H][R] as [B][S][H][R / 2]. */
static Tensor *half_of(const Node *node, Tensor *x, int64_t which,
                       bool interleaved)
{
    const int axis = interleaved ? 4 : 3;
    Shape apart = x->shape;
    Shape half = x->shape;
    half.dim[3] /= 2;
    apart.rank = 5;
    apart.dim[3] = interleaved ? half.dim[3] : 2;
    apart.dim[4] = interleaved ? 2 : half.dim[3];
    Tensor *pairs = expand_reshape(node, x, apart.rank, apart.dim);
    Tensor *part = expand_slice(node, pairs, axis, which, which + 1);
    return expand_reshape(node, part, half.rank, half.dim);
}

Tensor *attend_rotate(const Node *node, Tensor *x, Tensor *cos, Tensor *sin,
                      bool interleaved)
{
    const int axis = interleaved ? 4 : 3;
    const Shape shape = x->shape;
    Tensor *a = half_of(node, x, 0, interleaved);
    Tensor *b = half_of(node, x, 1, interleaved);
    Tensor *difference[] = { a, cos, b, sin };
    Tensor *first = attend_cross(node, "Sub", difference);
    Tensor *sum[] = { b, cos, a, sin };
    Tensor *second = attend_cross(node, "Add", sum);
    first = expand_unsqueeze(node, first, axis);
    second = expand_unsqueeze(node, second, axis);
    Tensor *both = expand_concat(node, first, second, axis);
    return expand_reshape(node, both, shape.rank, shape.dim);
}

/* x [B][S][H][D], whatever the order of the operand's dimensions. */
static Tensor *rotary_operand(const Node *node, int64_t turned)
{
    const Shape *shape = infer_shape(node, 0);
    int64_t heads = node_int(node, "num_heads", 0);
    if (shape->rank == 4)
        return attend_swap(node, node->in[0]);
    if (!heads && shape->rank == 3)
        heads = shape->dim[2] / turned;
    return in_heads(node, node->in[0], i64_max(heads, 1));
}

/* How many elements of each head are turned, by the caches of cosines and sines. */
static int64_t turned_by_cache(const Node *node)
{
    const Shape *cache = infer_shape(node, 2);
    infer_shape(node, 1);
    infer_shape(node, 3);
    if (cache->rank != 2)
        fail_node(node, STATUS_MALFORMED, NULL, "its caches have %d dimensions",
                  cache->rank);
    return i64_mul(2, cache->dim[1]);
}

static void check_turned(const Node *node, int64_t turned, int64_t size)
{
    const int64_t asked = attend_turned(node, size);
    if (asked > size || asked != turned)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "turns %lld of %lld elements with a cache of %lld",
                  (long long)asked, (long long)size, (long long)turned / 2);
}

/* The first `turned` elements of each head turned, the rest as they are. */
static Tensor *partly_turned(const Node *node, Tensor *x, int64_t turned,
                             AttendAngles *angles_at)
{
    const int64_t steps = x->shape.dim[1];
    const int64_t size = x->shape.dim[3];
    const bool interleaved = node_flag(node, "interleaved", false);
    Tensor *cos = angles_at(node, node->in[2], steps);
    Tensor *sin = angles_at(node, node->in[3], steps);
    Tensor *part = expand_slice(node, x, 3, 0, turned);
    part = attend_rotate(node, part, cos, sin, interleaved);
    if (turned == size)
        return part;
    Tensor *rest = expand_slice(node, x, 3, turned, size);
    return expand_concat(node, part, rest, 3);
}

void attend_turn(Node *node, AttendAngles *angles_at)
{
    const Shape shape = *infer_shape(node, 0);
    const int64_t turned = turned_by_cache(node);
    const int64_t width = attend_turned(node, i64_max(turned, 1));
    Tensor *x = rotary_operand(node, width);
    check_turned(node, turned, x->shape.dim[3]);
    Tensor *y = partly_turned(node, x, turned, angles_at);
    if (shape.rank == 4)
        y = attend_swap(node, y);
    else
        y = expand_reshape(node, y, shape.rank, shape.dim);
    expand_finish_one(node, y);
}

void expand_ms_rotary(Node *node)
{
    attend_turn(node, angles);
}
