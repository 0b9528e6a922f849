/* SPDX-License-Identifier: Apache-2.0
 * GroupQueryAttention of com.microsoft: attention with its cache. The cache [B][G][P][D] has room
 * for P keys; `length` of them precede the queries of each sequence (known when it runs), the new
 * ones follow, and the rest means nothing. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/attend.h"
#include "ops/families.h"

enum {
    QUERY,
    KEY,
    VALUE,
    PAST_KEY,
    PAST_VALUE,
    LENGTHS,
    TOTAL,
    COS,
    SIN,
    PLACES,
    BIAS,
    SINK,
    Q_NORM = 14,
    K_NORM = 15
};

typedef struct Grouped {
    Node *node;
    int64_t heads, groups, batch, steps, size, room;
    Tensor *query, *key, *value; /* [B][S][H or G][D] */
    Tensor *before;              /* [B] int64: keys before the first query */
} Grouped;

/* Heads [from, from + heads) of x [B][S][all D]. */
static Tensor *heads_of(const Grouped *grouped, Tensor *x, int64_t from,
                        int64_t heads)
{
    const Node *node = grouped->node;
    const Shape *shape = &x->shape;
    const int64_t first = i64_mul(from, grouped->size);
    const int64_t end = i64_mul(from + heads, grouped->size);
    if (shape->rank != 3 || shape->dim[0] != grouped->batch ||
        shape->dim[2] < end)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%s does not divide into %lld heads",
                  shape_text(node->graph->arena, shape), (long long)heads);
    const int64_t dims[] = {
        grouped->batch,
        shape->dim[1],
        heads,
        grouped->size,
    };
    Tensor *part = expand_slice(node, x, 2, first, end);
    return expand_reshape(node, part, 4, dims);
}

/* Heads, groups and sizes; where keys and values lie behind the queries, `packed`. */
static void set_sizes(Grouped *grouped, bool packed)
{
    const Node *node = grouped->node;
    const Shape *query = infer_shape(node, QUERY);
    const int64_t heads = node_int(node, "num_heads", 0);
    const int64_t groups = node_int(node, "kv_num_heads", 0);
    const bool positive = groups >= 1 && heads >= groups;
    if (query->rank != 3 || !positive || heads % groups)
        fail_node(node, STATUS_MALFORMED, NULL, "%lld heads over %lld groups",
                  (long long)heads, (long long)groups);
    int64_t parts = heads;
    if (packed)
        parts = i64_add(parts, i64_mul(2, groups));
    grouped->heads = heads;
    grouped->groups = groups;
    grouped->batch = query->dim[0];
    grouped->steps = query->dim[1];
    grouped->size = query->dim[2] / parts;
}

static void set_qkv(Grouped *grouped)
{
    const Node *node = grouped->node;
    const bool packed = !node_in(node, KEY);
    set_sizes(grouped, packed);
    const int64_t heads = grouped->heads;
    const int64_t groups = grouped->groups;
    Tensor *query = node->in[QUERY];
    Tensor *key = packed ? query : node->in[KEY];
    Tensor *value = packed ? query : node->in[VALUE];
    const int64_t key_at = packed ? heads : 0;
    const int64_t value_at = packed ? heads + groups : 0;
    query = heads_of(grouped, query, 0, heads);
    key = heads_of(grouped, key, key_at, groups);
    value = heads_of(grouped, value, value_at, groups);
    grouped->query = query;
    grouped->key = key;
    grouped->value = value;
    const int64_t steps = grouped->steps;
    if (key->shape.dim[1] != steps || value->shape.dim[1] != steps)
        fail_node(node, STATUS_UNSUPPORTED, NULL,
                  "has other numbers of keys and queries");
}

static Tensor *normed(const Grouped *grouped, Tensor *x, Tensor *weight)
{
    const Node *node = grouped->node;
    const float epsilon = node_float(node, "qk_norm_epsilon", 1e-6f);
    if (!weight)
        return x;
    Node *made = expand_of(node, "RMSNormalization", x, weight);
    node_set_int(made, "axis", -1);
    node_set_float(made, "epsilon", epsilon);
    return expand_done(made);
}

/* Angles of every place of the sequences: [B][S][1][R / 2]. */
/* The place of every query in its sequence: [B][S]. */
static Tensor *places_of(const Grouped *grouped)
{
    const Node *node = grouped->node;
    const int64_t column[] = { grouped->batch, 1 };
    const int64_t all = i64_mul(grouped->batch, grouped->steps);
    Tensor *given = node_in(node, PLACES);
    if (given && tensor_count(given) == all)
        return given;
    Tensor *first = expand_reshape(node, grouped->before, 2, column);
    Tensor *step = attend_numbers(node, grouped->steps);
    return expand_add(node, first, step);
}

static Tensor *angles(const Grouped *grouped, Tensor *cache)
{
    const Node *node = grouped->node;
    Tensor *place = places_of(grouped);
    Tensor *angle = expand_gather(node, cache, place, 0);
    return expand_unsqueeze(node, angle, 2);
}

static Tensor *turned(const Grouped *grouped, Tensor *x)
{
    const Node *node = grouped->node;
    const int64_t size = grouped->size;
    const Shape *cosines = infer_shape(node, COS);
    const Shape *sines = infer_shape(node, SIN);
    const int64_t width = i64_mul(2, cosines->dim[1]);
    const bool interleaved = node_flag(node, "rotary_interleaved", false);
    if (sines->rank != 2 || width > size)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its caches of cosines and sines do not fit a head of %lld",
                  (long long)size);
    Tensor *cos = angles(grouped, node->in[COS]);
    Tensor *sin = angles(grouped, node->in[SIN]);
    Tensor *part = expand_slice(node, x, 3, 0, width);
    part = attend_rotate(node, part, cos, sin, interleaved);
    if (width == size)
        return part;
    Tensor *rest = expand_slice(node, x, 3, width, size);
    return expand_concat(node, part, rest, 3);
}

/* Keys that the present has room for: as declared, else the longest sequence or the past and the
 * new ones. */
static int64_t room_of(const Grouped *grouped)
{
    const Node *node = grouped->node;
    const Tensor *present = node_out(node, 1);
    const Tensor *past = node_in(node, PAST_KEY);
    const int64_t *total = infer_number(node, TOTAL);
    const int64_t kept = past ? infer_shape(node, PAST_KEY)->dim[2] : 0;
    if (present && shape_known(present->declared) &&
        present->declared->rank == 4)
        return present->declared->dim[2];
    if (total)
        return i64_max(kept, *total);
    return i64_add(kept, grouped->steps);
}

/* x [B][S][G][D] behind the past, in the room of the present: [B][G][P][D]. */
static bool cache_fits(const Grouped *grouped, const Shape *cache)
{
    if (cache->rank != 4 || cache->dim[0] != grouped->batch)
        return false;
    if (cache->dim[1] != grouped->groups || cache->dim[3] != grouped->size)
        return false;
    return cache->dim[2] <= grouped->room && grouped->steps <= grouped->room;
}

/* `more` zeros behind `axis` of a tensor of four dimensions. */
static Tensor *padded(const Node *node, Tensor *tensor, int axis, int64_t more)
{
    int64_t pads[8] = { 0 };
    if (!more)
        return tensor;
    pads[4 + axis] = more;
    return expand_binary(node, "Pad", tensor, expand_i64s(node, 8, pads));
}

static Tensor *kept(const Grouped *grouped, Tensor *past, Tensor *x)
{
    const Node *node = grouped->node;
    x = attend_swap(node, x);
    Tensor *base = past ? past : x;
    if (!cache_fits(grouped, &base->shape))
        fail_node(node, STATUS_MALFORMED, NULL, "a cache of %s does not fit",
                  shape_text(node->graph->arena, &base->shape));
    base = padded(node, base, 2, grouped->room - base->shape.dim[2]);
    if (!past)
        return base;
    Node *made = expand_of(node, "TensorScatter", base, x, grouped->before);
    node_set_int(made, "axis", 2);
    return expand_done(made);
}

/* Softmax over the keys, and over a further score that stands for none of them: a number of each
 * head, or 0. */
/* The further score [B][H][S][1]; NULL: there is none. */
static Tensor *sink_of(const Grouped *grouped, const Tensor *scores)
{
    const Node *node = grouped->node;
    const bool smooth = node_int(node, "smooth_softmax", -1) > 0;
    const int64_t dims[] = { 1, grouped->heads, 1, 1 };
    Tensor *given = node_in(node, SINK);
    Shape wide = scores->shape;
    if (!given && !smooth)
        return NULL;
    Tensor *sink;
    if (given)
        sink = expand_reshape(node, given, 4, dims);
    else
        sink = expand_number(node, 0.0, scores->dtype);
    wide.dim[3] = 1;
    Tensor *to = expand_i64s(node, wide.rank, wide.dim);
    return expand_binary(node, "Expand", sink, to);
}

static Tensor *shares(const Grouped *grouped, Tensor *scores)
{
    const Node *node = grouped->node;
    const int64_t keys = scores->shape.dim[3];
    Tensor *sink = sink_of(grouped, scores);
    if (sink)
        scores = expand_concat(node, scores, sink, 3);
    Tensor *share = expand_softmax(node, scores);
    return expand_slice(node, share, 3, 0, keys);
}

static void refuse_variants(const Node *node)
{
    if (node_int(node, "sliding_window_cache", 0))
        fail_node(node, STATUS_UNSUPPORTED,
                  "export it with a cache of the whole sequence",
                  "a cache of the window's size is not supported");
    if (strcmp(node_string(node, "k_quant_type", "NONE"), "NONE") ||
        strcmp(node_string(node, "v_quant_type", "NONE"), "NONE"))
        fail_node(node, STATUS_UNSUPPORTED, "export it with a cache of floats",
                  "a quantized cache is not supported");
}

/* The scores and the bias given, which is cut or filled to the room. */
static Tensor *biased(const Grouped *grouped, Tensor *scores)
{
    const Node *node = grouped->node;
    Tensor *bias = node_in(node, BIAS);
    if (!bias)
        return scores;
    const Shape *shape = infer_shape(node, BIAS);
    const int64_t width = shape->rank == 4 ? shape->dim[3] : 0;
    if (width < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its bias is of shape %s",
                  shape_text(node->graph->arena, shape));
    if (width < grouped->room)
        bias = padded(node, bias, 3, grouped->room - width);
    bias = expand_slice(node, bias, 3, 0, grouped->room);
    return expand_add(node, scores, bias);
}

/* The lengths of the sequences with the new keys: [B][1][1][1]. */
static Tensor *lengths_of(const Grouped *grouped)
{
    const Node *node = grouped->node;
    const int64_t dims[] = { grouped->batch, 1, 1, 1 };
    Tensor *steps = expand_i64(node, grouped->steps);
    Tensor *length = expand_add(node, grouped->before, steps);
    return expand_reshape(node, length, 4, dims);
}

/* Bounds by place, and the bias. */
static Tensor *masked(const Grouped *grouped, Tensor *scores)
{
    const Node *node = grouped->node;
    const DType type = scores->dtype;
    const int64_t window = node_int(node, "local_window_size", -1);
    const bool causal = node_flag(node, "causal", true);
    const Band band = {
        .rows = grouped->steps,
        .columns = grouped->room,
        .left = window > 0 ? window - 1 : -1,
        .right = causal ? 0 : -1,
        .lengths = lengths_of(grouped),
    };
    scores = biased(grouped, scores);
    Tensor *bounds = attend_band(node, &band, type);
    if (bounds)
        return expand_add(node, scores, bounds);
    Tensor *key = attend_numbers(node, grouped->room);
    Tensor *within = expand_binary(node, "Less", key, band.lengths);
    Tensor *unseen = attend_unseen(node, type);
    return expand_where(node, within, scores, unseen);
}

/* Keys before the first query of each sequence: its length, less the new ones but for one. */
static Tensor *before_of(const Grouped *grouped)
{
    const Node *node = grouped->node;
    const int64_t ahead = 1 - grouped->steps;
    Tensor *given = expand_cast(node, node->in[LENGTHS], DT_I64);
    Tensor *length = expand_reshape(node, given, 1, &grouped->batch);
    Tensor *back = expand_i64(node, ahead);
    Tensor *before = expand_add(node, length, back);
    return expand_binary(node, "Max", before, expand_i64(node, 0));
}

/* Queries times keys [B][G][P][D], scaled, capped and masked: [B][H][S][P]. */
static Tensor *scores_of(const Grouped *grouped, Tensor *keys)
{
    const Node *node = grouped->node;
    const int64_t times = grouped->heads / grouped->groups;
    const float cap = node_float(node, "softcap", 0.0f);
    float scale = node_float(node, "scale", 0.0f);
    if (scale <= 0.0f)
        scale = 1.0f / sqrtf((float)grouped->size);
    Tensor *query = expand_scaled(node, grouped->query, (double)scale);
    query = attend_swap(node, query);
    Tensor *repeated = attend_repeat(node, keys, times);
    Tensor *key = attend_turn_keys(node, repeated);
    Tensor *scores = expand_matmul(node, query, key);
    scores = attend_softcap(node, scores, cap);
    return masked(grouped, scores);
}

static void norm_and_turn(Grouped *grouped)
{
    const Node *node = grouped->node;
    grouped->query = normed(grouped, grouped->query, node_in(node, Q_NORM));
    grouped->key = normed(grouped, grouped->key, node_in(node, K_NORM));
    if (!node_int(node, "do_rotary", 0))
        return;
    grouped->query = turned(grouped, grouped->query);
    grouped->key = turned(grouped, grouped->key);
}

/* Each share times the values [B][G][P][D]: [B][S][H D]. */
static Tensor *weighed(const Grouped *grouped, Tensor *share, Tensor *values)
{
    const Node *node = grouped->node;
    const int64_t times = grouped->heads / grouped->groups;
    Tensor *value = attend_repeat(node, values, times);
    Tensor *sum = expand_matmul(node, share, value);
    return attend_join(node, sum);
}

void expand_group_query_attention(Node *node)
{
    Grouped grouped = { .node = node };
    refuse_variants(node);
    infer_shape(node, LENGTHS);
    set_qkv(&grouped);
    grouped.room = room_of(&grouped);
    grouped.before = before_of(&grouped);
    norm_and_turn(&grouped);
    Tensor *past_keys = node_in(node, PAST_KEY);
    Tensor *past_values = node_in(node, PAST_VALUE);
    Tensor *keys = kept(&grouped, past_keys, grouped.key);
    Tensor *values = kept(&grouped, past_values, grouped.value);
    Tensor *scores = scores_of(&grouped, keys);
    Tensor *share = shares(&grouped, scores);
    Tensor *result[4] = { weighed(&grouped, share, values) };
    if (expand_reads(node, 1))
        result[1] = keys;
    if (expand_reads(node, 2))
        result[2] = values;
    if (expand_reads(node, 3))
        result[3] = node_int(node, "qk_output", 0) == 1 ? scores : share;
    expand_finish(node, 4, result);
}
