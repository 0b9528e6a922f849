/* SPDX-License-Identifier: Apache-2.0
 * Attention of ai.onnx, and FlexAttention of ai.onnx.preview, as compositions. */
#include <math.h>

#include "base/size.h"
#include "ops/attend.h"
#include "ops/control.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/values.h"

Tensor *attend_swap(const Node *node, Tensor *x)
{
    static const int64_t perm[4] = { 0, 2, 1, 3 };
    return expand_transpose(node, x, perm);
}

Tensor *attend_turn_keys(const Node *node, Tensor *keys)
{
    static const int64_t perm[4] = { 0, 1, 3, 2 };
    return expand_transpose(node, keys, perm);
}

Tensor *attend_split(const Node *node, Tensor *tensor, int64_t heads)
{
    const Shape *shape = &tensor->shape;
    if (shape->rank == 4)
        return tensor;
    if (shape->rank != 3 || heads < 1 || shape->dim[2] % heads)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its heads do not divide the last dimension");
    const int64_t dims[4] = {
        shape->dim[0],
        shape->dim[1],
        heads,
        shape->dim[2] / heads,
    };
    return attend_swap(node, expand_reshape(node, tensor, 4, dims));
}

Tensor *attend_join(const Node *node, Tensor *tensor)
{
    const Shape *shape = &tensor->shape;
    const int64_t dims[3] = {
        shape->dim[0],
        shape->dim[2],
        i64_mul(shape->dim[1], shape->dim[3]),
    };
    return expand_reshape(node, attend_swap(node, tensor), 3, dims);
}

Tensor *attend_repeat(const Node *node, Tensor *tensor, int64_t times)
{
    Shape joined = tensor->shape;
    if (times == 1)
        return tensor;
    Tensor *apart = expand_unsqueeze(node, tensor, 2);
    Shape wide = apart->shape;
    wide.dim[2] = times;
    joined.dim[1] = i64_mul(joined.dim[1], times);
    Tensor *dims = expand_i64s(node, wide.rank, wide.dim);
    Tensor *all = expand_binary(node, "Expand", apart, dims);
    return expand_reshape(node, all, joined.rank, joined.dim);
}

Tensor *attend_matrix(const Node *node, int64_t rows, int64_t columns,
                      const float *values)
{
    Graph *graph = node->graph;
    const int64_t dims[2] = { rows, columns };
    Recipe *value = recipe_memory(graph->store, DT_F32, 2, dims, values);
    return graph_add_constant(graph, NULL, value);
}

Tensor *attend_unseen(const Node *node, DType type)
{
    return expand_number(node, -(double)INFINITY, type);
}

int64_t attend_turned(const Node *node, int64_t otherwise)
{
    const int64_t given = node_int(node, "rotary_embedding_dim", 0);
    return given ? given : otherwise;
}

Tensor *attend_cross(const Node *node, const char *op, Tensor *const *factor)
{
    Tensor *first = expand_mul(node, factor[0], factor[1]);
    Tensor *second = expand_mul(node, factor[2], factor[3]);
    return expand_binary(node, op, first, second);
}

/* A mask of truth values as something to add. */
static Tensor *bias_of_mask(const Node *node, Tensor *mask, DType type)
{
    if (mask->dtype != DT_BOOL)
        return expand_cast(node, mask, type);
    Tensor *seen = expand_number(node, 0.0, type);
    Tensor *unseen = attend_unseen(node, type);
    return expand_where(node, mask, seen, unseen);
}

/* Keys that a shorter mask does not name are not seen. */
static Tensor *padded_bias(const Node *node, Tensor *bias, int64_t columns)
{
    const int rank = bias->shape.rank;
    int64_t pads[2 * MAX_RANK] = { 0 };
    if (!rank)
        return bias;
    const int64_t named = bias->shape.dim[rank - 1];
    if (named == 1 || named >= columns)
        return bias;
    pads[2 * rank - 1] = columns - named;
    Tensor *around = expand_i64s(node, 2 * rank, pads);
    Tensor *unseen = attend_unseen(node, bias->dtype);
    return expand_op(node, "Pad", bias, around, unseen);
}

static bool sees(const Band *band, int64_t query, int64_t key)
{
    const int64_t place = query + band->before;
    if (band->right >= 0 && key > place + band->right)
        return false;
    return band->left < 0 || key >= place - band->left;
}

/* Constant [rows][columns]: 0 where a query may see a key, minus infinity elsewhere. */
static Tensor *fixed_band(const Node *node, const Band *band)
{
    const int64_t rows = band->rows;
    const int64_t columns = band->columns;
    const int64_t count = i64_mul(rows, columns);
    float *bias = NEW_ARRAY(node->graph->arena, float, count);
    float *next = bias;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++)
            *next++ = sees(band, i, k) ? 0.0f : -INFINITY;
    return attend_matrix(node, rows, columns, bias);
}

Tensor *attend_numbers(const Node *node, int64_t count)
{
    int64_t *number = NEW_ARRAY(node->graph->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        number[i] = i;
    return expand_i64s(node, count, number);
}

static Tensor *plus(const Node *node, Tensor *tensor, int64_t number)
{
    if (!number)
        return tensor;
    Tensor *more = expand_i64(node, number);
    return expand_add(node, tensor, more);
}

/* The places of the queries: [B][1][rows][1]. */
static Tensor *places_of(const Node *node, const Band *band)
{
    const int64_t column[2] = { band->rows, 1 };
    Tensor *numbers = attend_numbers(node, band->rows);
    Tensor *query = expand_reshape(node, numbers, 2, column);
    Tensor *first = plus(node, band->lengths, -band->rows);
    return expand_add(node, first, query);
}

/* The same where the offsets are lengths read at run time: [B][1][rows][columns]. */
static Tensor *band_of_lengths(const Node *node, const Band *band, DType type)
{
    Tensor *upper = NULL;
    Tensor *lower = NULL;
    Tensor *place = places_of(node, band);
    Tensor *key = attend_numbers(node, band->columns);
    if (band->right >= 0) {
        Tensor *last = plus(node, place, band->right);
        upper = expand_binary(node, "LessOrEqual", key, last);
    }
    if (band->left >= 0) {
        Tensor *first = plus(node, place, -band->left);
        lower = expand_binary(node, "GreaterOrEqual", key, first);
    }
    Tensor *seen = upper ? upper : lower;
    if (upper && lower)
        seen = expand_binary(node, "And", upper, lower);
    return bias_of_mask(node, seen, type);
}

Tensor *attend_band(const Node *node, const Band *band, DType type)
{
    if (band->left < 0 && band->right < 0)
        return NULL;
    if (band->lengths && !band->before)
        return band_of_lengths(node, band, type);
    return expand_cast(node, fixed_band(node, band), type);
}

static Tensor *added(const Node *node, Tensor *a, Tensor *b)
{
    if (a && b)
        return expand_add(node, a, b);
    return a ? a : b;
}

Tensor *attend_softcap(const Node *node, Tensor *tensor, float cap)
{
    if (!(cap > 0.0f))
        return tensor;
    Tensor *limit = expand_number(node, (double)cap, tensor->dtype);
    Tensor *share = expand_div(node, tensor, limit);
    Tensor *bent = expand_unary(node, "Tanh", share);
    return expand_scaled(node, bent, (double)cap);
}

/* Which keys lie within the sequences, by their lengths, as something to add. */
static Tensor *length_bias(const Node *node, const Band *band, DType type)
{
    Tensor *key = attend_numbers(node, band->columns);
    Tensor *within = expand_binary(node, "Less", key, band->lengths);
    return bias_of_mask(node, within, type);
}

/* The lengths of the sequences: operand 6 as [B][1][1][1]. */
static Tensor *lengths_of(const Node *node)
{
    Tensor *given = node_in(node, 6);
    if (!given)
        return NULL;
    const int64_t dims[4] = { tensor_count(given), 1, 1, 1 };
    return expand_reshape(node, expand_cast(node, given, DT_I64), 4, dims);
}

/* The mask as something to add; NULL: there is none. */
static Tensor *given_bias(const Node *node, int64_t columns, DType type)
{
    Tensor *mask = node_in(node, 3);
    if (!mask)
        return NULL;
    Tensor *bias = bias_of_mask(node, mask, type);
    return padded_bias(node, bias, columns);
}

/* Everything that is added to the products of queries and keys; NULL: nothing. */
static Tensor *attention_bias(const Node *node, const Tensor *query,
                              const Tensor *key, int64_t before)
{
    const DType type = query->dtype;
    const int64_t columns = key->shape.dim[2];
    Tensor *bias = given_bias(node, columns, type);
    Band band = {
        .rows = query->shape.dim[2],
        .columns = columns,
        .left = node_int(node, "left_window_size", -1),
        .right = node_int(node, "right_window_size", -1),
        .before = before,
        .lengths = lengths_of(node),
    };
    if (node_int(node, "is_causal", 0))
        band.right = 0;
    Tensor *seen = attend_band(node, &band, type);
    bias = added(node, bias, seen);
    if (!band.lengths)
        return bias;
    Tensor *within = length_bias(node, &band, type);
    return added(node, bias, within);
}

/* Is it known that no element is true? */
static bool is_never(const Node *node, const Tensor *condition)
{
    int64_t count;
    const double *value = tensor_doubles(node->graph, condition, &count);
    if (!value)
        return false;
    for (int64_t i = 0; i < count; i++)
        if (value[i] > 0)
            return false;
    return true;
}

/* Queries that see no key at all, [..][S][1]; NULL: it is known that there are none. */
static Tensor *blind_queries(const Node *node, Tensor *bias)
{
    Tensor *last = expand_i64(node, -1);
    Tensor *most = expand_binary(node, "ReduceMax", bias, last);
    Tensor *unseen = attend_unseen(node, bias->dtype);
    Tensor *blind = expand_binary(node, "Equal", most, unseen);
    return is_never(node, blind) ? NULL : blind;
}

static DType require_float(const Node *node, int64_t code)
{
    const DType type = dtype_of_code(code);
    if (!dtype_is_float(type))
        fail_node(node, STATUS_MALFORMED, NULL, "softmax_precision is %lld",
                  (long long)code);
    return type;
}

/* Softmax; a query that sees no key at all weighs them all 0. */
static Tensor *weights(const Node *node, Tensor *product, Tensor *bias)
{
    const int64_t precision = node_int(node, "softmax_precision", 0);
    const DType type = product->dtype;
    const DType wide = require_float(node, precision ? precision : type);
    Tensor *scores = expand_cast(node, product, wide);
    Tensor *weight = expand_cast(node, expand_softmax(node, scores), type);
    Tensor *blind = bias ? blind_queries(node, bias) : NULL;
    if (!blind)
        return weight;
    Tensor *none = expand_number(node, 0.0, type);
    return expand_where(node, blind, none, weight);
}

/* How many heads of queries share one of keys [B][H][..][..]. */
static int64_t heads_each(const Node *node, const Tensor *queries,
                          const Tensor *keys)
{
    const int64_t all = queries->shape.dim[1];
    const int64_t shared = keys->shape.dim[1];
    if (shared < 1 || all % shared)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "the heads of keys do not divide those of queries");
    return all / shared;
}

/* Keys or values, each head of them for all heads of queries that share it. */
static Tensor *for_all_heads(const Node *node, const Tensor *queries,
                             Tensor *shared)
{
    const int64_t times = heads_each(node, queries, shared);
    return attend_repeat(node, shared, times);
}

static double scale_of(const Node *node, const Tensor *queries)
{
    if (node_attr(node, "scale"))
        return node_double(node, "scale", 1.0f);
    return 1.0 / sqrt((double)queries->shape.dim[3]);
}

/* Keys or values [B][H][T][D] of operand i, behind the past ones of operand `past`. */
static Tensor *with_past(const Node *node, int i, int past)
{
    const int64_t heads = node_int(node, "kv_num_heads", 0);
    Tensor *all = attend_split(node, node->in[i], heads);
    if (!node_in(node, past))
        return all;
    infer_shape(node, past);
    return expand_concat(node, node->in[past], all, 2);
}

/* Products of queries and keys, each scaled by the root of the factor. */
static Tensor *scaled_product(const Node *node, Tensor *queries, Tensor *keys)
{
    const double root = sqrt(scale_of(node, queries));
    Tensor *query = expand_scaled(node, queries, root);
    Tensor *repeated = for_all_heads(node, queries, keys);
    Tensor *key = expand_scaled(node, repeated, root);
    return expand_matmul(node, query, attend_turn_keys(node, key));
}

/* The values weighed, in the type of the queries. */
static Tensor *weighed(const Node *node, Tensor *weight, Tensor *values,
                       const Tensor *queries)
{
    Tensor *share = expand_cast(node, weight, values->dtype);
    Tensor *value = for_all_heads(node, queries, values);
    Tensor *sum = expand_matmul(node, share, value);
    return expand_cast(node, sum, queries->dtype);
}

/* What the last result is a copy of: 0 the products, 1 capped, 2 with the mask, 3 weights. */
static int64_t scores_mode(const Node *node)
{
    const int64_t mode = node_int(node, "qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "qk_matmul_output_mode is %lld, not 0 to 3", (long long)mode);
    return mode;
}

/* The stages of the scores that the last result may be a copy of, and the weights. */
typedef struct Scores {
    Tensor *stage[4];
} Scores;

/* `before`: keys of the past. */
static Scores scores_of(const Node *node, Tensor *query, Tensor *key,
                        int64_t before)
{
    const float cap = node_float(node, "softcap", 0.0f);
    Tensor *product = scaled_product(node, query, key);
    Tensor *bias = attention_bias(node, query, key, before);
    Tensor *capped = attend_softcap(node, product, cap);
    Tensor *biased = added(node, capped, bias);
    Tensor *weight = weights(node, biased, bias);
    return (Scores){ .stage = { product, capped, biased, weight } };
}

void expand_attention(Node *node)
{
    for (int i = 0; i < 3; i++)
        infer_shape(node, i);
    const bool flat = infer_shape(node, 0)->rank == 3;
    const int64_t heads = node_int(node, "q_num_heads", 0);
    int64_t before = 0;
    if (node_in(node, 4))
        before = infer_shape(node, 4)->dim[2];
    Tensor *query = attend_split(node, node->in[0], heads);
    Tensor *key = with_past(node, 1, 4);
    Tensor *value = with_past(node, 2, 5);
    const Scores scores = scores_of(node, query, key, before);
    Tensor *sum = weighed(node, scores.stage[3], value, query);
    Tensor *result[4] = {
        flat ? attend_join(node, sum) : sum,
        key,
        value,
        scores.stage[scores_mode(node)],
    };
    expand_finish(node, 4, result);
}

/* The subgraph that is attribute `name`, from one tensor to one of its shape; x itself where there
 * is none. */
static Tensor *modified(Node *node, const char *name, Tensor *x)
{
    Tensor *y;
    if (!node_attr(node, name))
        return x;
    const Graph *body = control_body(node, name);
    if (body->input.n != 1 || body->output.n != 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%s is not from one tensor to one", name);
    control_expand(node, body, &x, &y);
    if (!shape_equal(&x->shape, &y->shape) || x->dtype != y->dtype)
        fail_node(node, STATUS_MALFORMED, NULL, "%s changes shape or type",
                  name);
    return y;
}

/* The type that scores are computed in: float32 at least, where no other is asked for. */
static DType score_type(const Node *node)
{
    const int64_t precision = node_int(node, "softmax_precision", 0);
    if (precision)
        return require_float(node, precision);
    return node_type(node) == DT_F64 ? DT_F64 : DT_F32;
}

void expand_flex_attention(Node *node)
{
    for (int i = 0; i < 3; i++)
        if (infer_shape(node, i)->rank != 4)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "its operands must have four dimensions");
    Tensor *query = node->in[0];
    Tensor *repeated = for_all_heads(node, query, node->in[1]);
    Tensor *key = attend_turn_keys(node, repeated);
    Tensor *product = expand_matmul(node, query, key);
    Tensor *scores = expand_scaled(node, product, scale_of(node, query));
    scores = expand_cast(node, scores, score_type(node));
    scores = modified(node, "score_mod", scores);
    Tensor *weight = expand_softmax(node, scores);
    weight = modified(node, "prob_mod", weight);
    Tensor *sum = weighed(node, weight, node->in[2], query);
    expand_finish_one(node, sum);
}
