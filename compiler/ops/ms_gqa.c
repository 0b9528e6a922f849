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
    Node *n;
    int64_t heads, groups, batch, steps, size, room;
    Tensor *q, *k, *v; /* [B][S][H or G][D] */
    Tensor *before;    /* [B] int64: keys before the first query */
} Grouped;

static bool read(const Node *node, int i)
{
    return node_out(node, i) && node->out[i]->uses;
}

/* Heads [from, from + heads) of x [B][S][all D]. */
static Tensor *heads_of(const Grouped *grouped, Tensor *x, int64_t from, int64_t heads)
{
    const Shape *s = &x->shape;
    if (s->rank != 3 || s->dim[0] != grouped->batch ||
        s->dim[2] < i64_mul(from + heads, grouped->size))
        fail_node(grouped->n, STATUS_MALFORMED, NULL, "%s does not divide into %lld heads",
                  shape_text(grouped->n->graph->arena, s), (long long)heads);
    x = expand_slice(grouped->n, x, 2, i64_mul(from, grouped->size),
                     i64_mul(from + heads, grouped->size));
    return expand_reshape(grouped->n, x, 4,
                          (const int64_t[]){ grouped->batch, s->dim[1], heads, grouped->size });
}

static void set_qkv(Grouped *grouped)
{
    Node *node = grouped->n;
    const Shape *q = infer_shape(node, QUERY);
    const bool packed = !node_in(node, KEY);
    grouped->heads = node_int(node, "num_heads", 0);
    grouped->groups = node_int(node, "kv_num_heads", 0);
    if (q->rank != 3 || grouped->groups < 1 || grouped->heads < grouped->groups ||
        grouped->heads % grouped->groups)
        fail_node(node, STATUS_MALFORMED, NULL, "%lld heads over %lld groups",
                  (long long)grouped->heads, (long long)grouped->groups);
    grouped->batch = q->dim[0];
    grouped->steps = q->dim[1];
    grouped->size = q->dim[2] / (packed ? grouped->heads + 2 * grouped->groups : grouped->heads);
    grouped->q = heads_of(grouped, node->in[QUERY], 0, grouped->heads);
    grouped->k = packed ? heads_of(grouped, node->in[QUERY], grouped->heads, grouped->groups)
                        : heads_of(grouped, node->in[KEY], 0, grouped->groups);
    grouped->v = packed ? heads_of(grouped, node->in[QUERY], grouped->heads + grouped->groups,
                                   grouped->groups)
                        : heads_of(grouped, node->in[VALUE], 0, grouped->groups);
    if (grouped->k->shape.dim[1] != grouped->steps || grouped->v->shape.dim[1] != grouped->steps)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "has other numbers of keys and queries");
}

static Tensor *normed(const Grouped *grouped, Tensor *x, Tensor *weight)
{
    if (!weight)
        return x;
    Tensor *in[] = { x, weight };
    Node *made = expand_node(grouped->n, "RMSNormalization", 2, in, 1);
    node_set_int(made, "axis", -1);
    node_set_float(made, "epsilon", node_float(grouped->n, "qk_norm_epsilon", 1e-6f));
    return expand_done(made);
}

/* Angles of every place of the sequences: [B][S][1][R / 2]. */
static Tensor *angles(const Grouped *grouped, Tensor *cache)
{
    const Node *node = grouped->n;
    Tensor *place = expand_binary(
        node, "Add",
        expand_reshape(node, grouped->before, 2, (const int64_t[]){ grouped->batch, 1 }),
        attend_numbers(node, grouped->steps));
    if (node_in(node, PLACES) &&
        tensor_count(node->in[PLACES]) == i64_mul(grouped->batch, grouped->steps))
        place = node->in[PLACES];
    Tensor *in[] = { cache, place };
    return expand_unsqueeze(node, expand_done(expand_node(node, "Gather", 2, in, 1)), 2);
}

static Tensor *turned(const Grouped *grouped, Tensor *x)
{
    const Node *node = grouped->n;
    const int64_t width = i64_mul(2, infer_shape(node, COS)->dim[1]);
    if (infer_shape(node, SIN)->rank != 2 || width > grouped->size)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its caches of cosines and sines do not fit a head of %lld",
                  (long long)grouped->size);
    Tensor *part =
        attend_rotate(node, expand_slice(node, x, 3, 0, width), angles(grouped, node->in[COS]),
                      angles(grouped, node->in[SIN]), node_int(node, "rotary_interleaved", 0) != 0);
    if (width == grouped->size)
        return part;
    Tensor *in[] = { part, expand_slice(node, x, 3, width, grouped->size) };
    Node *c = expand_node(node, "Concat", 2, in, 1);
    node_set_int(c, "axis", 3);
    return expand_done(c);
}

/* Keys that the present has room for: as declared, else the longest sequence or the past and the
 * new ones. */
static int64_t room_of(const Grouped *grouped)
{
    const Node *node = grouped->n;
    int64_t count;
    const Tensor *present = node_out(node, 1);
    const Tensor *past = node_in(node, PAST_KEY);
    const int64_t *total = infer_ints(node, TOTAL, &count);
    const int64_t kept = past ? infer_shape(node, PAST_KEY)->dim[2] : 0;
    if (present && shape_known(present->declared) && present->declared->rank == 4)
        return present->declared->dim[2];
    return total && count == 1 ? i64_max(kept, *total)
           : past              ? i64_add(kept, grouped->steps)
                               : grouped->steps;
}

/* x [B][S][G][D] behind the past, in the room of the present: [B][G][P][D]. */
static Tensor *kept(const Grouped *grouped, Tensor *past, Tensor *x)
{
    const Node *node = grouped->n;
    x = expand_transpose(node, x, (const int64_t[]){ 0, 2, 1, 3 });
    const Shape *s = past ? &past->shape : &x->shape;
    if (s->rank != 4 || s->dim[0] != grouped->batch || s->dim[1] != grouped->groups ||
        s->dim[3] != grouped->size || s->dim[2] > grouped->room || grouped->steps > grouped->room)
        fail_node(node, STATUS_MALFORMED, NULL, "a cache of %s does not fit",
                  shape_text(node->graph->arena, s));
    Tensor *base = past ? past : x;
    if (s->dim[2] < grouped->room) {
        Tensor *pad[] = { base, expand_i64s(node, 8,
                                            (const int64_t[]){ 0, 0, 0, 0, 0, 0,
                                                               grouped->room - s->dim[2], 0 }) };
        base = expand_done(expand_node(node, "Pad", 2, pad, 1));
    }
    if (!past)
        return base;
    Tensor *in[] = { base, x, grouped->before };
    Node *made = expand_node(node, "TensorScatter", 3, in, 1);
    node_set_int(made, "axis", 2);
    return expand_done(made);
}

/* Softmax over the keys, and over a further score that stands for none of them: a number of each
 * head, or 0. */
static Tensor *shares(const Grouped *grouped, Tensor *scores)
{
    const Node *node = grouped->n;
    const bool smooth = node_int(node, "smooth_softmax", -1) > 0;
    const Shape s = scores->shape;
    if (node_in(node, SINK) || smooth) {
        Tensor *sink = node_in(node, SINK)
                           ? expand_reshape(node, node->in[SINK], 4,
                                            (const int64_t[]){ 1, grouped->heads, 1, 1 })
                           : expand_number(node, 0.0, scores->dtype);
        Tensor *in[] = {
            scores, expand_binary(
                        node, "Expand", sink,
                        expand_i64s(node, 4, (const int64_t[]){ s.dim[0], s.dim[1], s.dim[2], 1 }))
        };
        Node *c = expand_node(node, "Concat", 2, in, 1);
        node_set_int(c, "axis", 3);
        scores = expand_done(c);
    }
    Node *softmax = expand_node(node, "Softmax", 1, &scores, 1);
    node_set_int(softmax, "axis", -1);
    return expand_slice(node, expand_done(softmax), 3, 0, s.dim[3]);
}

static void refuse_variants(const Node *node)
{
    if (node_int(node, "sliding_window_cache", 0))
        fail_node(node, STATUS_UNSUPPORTED, "export it with a cache of the whole sequence",
                  "a cache of the window's size is not supported");
    if (strcmp(node_string(node, "k_quant_type", "NONE"), "NONE") ||
        strcmp(node_string(node, "v_quant_type", "NONE"), "NONE"))
        fail_node(node, STATUS_UNSUPPORTED, "export it with a cache of floats",
                  "a quantized cache is not supported");
}

/* Bounds by place, and the bias given, cut or filled to the room. */
static Tensor *masked(const Grouped *grouped, Tensor *scores)
{
    const Node *node = grouped->n;
    const int64_t window = node_int(node, "local_window_size", -1);
    const bool causal = node_int(node, "causal", 1) != 0;
    Tensor *lengths = expand_reshape(
        node, expand_binary(node, "Add", grouped->before, expand_i64s(node, 1, &grouped->steps)), 4,
        (const int64_t[]){ grouped->batch, 1, 1, 1 });
    const Sight sight = {
        grouped->steps, grouped->room, window > 0 ? window - 1 : -1, causal ? 0 : -1, 0, lengths
    };
    if (node_in(node, BIAS)) {
        Tensor *bias = node->in[BIAS];
        const Shape b = *infer_shape(node, BIAS);
        const int64_t width = b.rank == 4 ? b.dim[3] : 0;
        if (width < 1)
            fail_node(node, STATUS_MALFORMED, NULL, "its bias is of shape %s",
                      shape_text(node->graph->arena, &b));
        if (width < grouped->room) {
            Tensor *pad[] = { bias, expand_i64s(node, 8,
                                                (const int64_t[]){ 0, 0, 0, 0, 0, 0, 0,
                                                                   grouped->room - width }) };
            bias = expand_done(expand_node(node, "Pad", 2, pad, 1));
        }
        scores = expand_binary(node, "Add", scores, expand_slice(node, bias, 3, 0, grouped->room));
    }
    if (causal || window > 0)
        return expand_binary(node, "Add", scores, attend_sight(node, &sight, scores->dtype));
    Tensor *in[] = { expand_binary(node, "Less", attend_numbers(node, grouped->room), lengths),
                     scores, expand_number(node, -(double)INFINITY, scores->dtype) };
    return expand_done(expand_node(node, "Where", 3, in, 1));
}

void expand_group_query_attention(Node *node)
{
    Grouped grouped = { .n = node };
    refuse_variants(node);
    infer_shape(node, LENGTHS);
    set_qkv(&grouped);
    grouped.room = room_of(&grouped);
    const int64_t ahead = 1 - grouped.steps;
    const int64_t times = grouped.heads / grouped.groups;
    const int64_t none = 0;
    const int64_t mode = node_int(node, "qk_output", 0);
    Tensor *length =
        expand_reshape(node, expand_cast(node, node->in[LENGTHS], DT_I64), 1, &grouped.batch);
    grouped.before =
        expand_binary(node, "Max", expand_binary(node, "Add", length, expand_i64s(node, 1, &ahead)),
                      expand_i64s(node, 1, &none));
    grouped.q = normed(&grouped, grouped.q, node_in(node, Q_NORM));
    grouped.k = normed(&grouped, grouped.k, node_in(node, K_NORM));
    if (node_int(node, "do_rotary", 0)) {
        grouped.q = turned(&grouped, grouped.q);
        grouped.k = turned(&grouped, grouped.k);
    }
    Tensor *keys = kept(&grouped, node_in(node, PAST_KEY), grouped.k);
    Tensor *values = kept(&grouped, node_in(node, PAST_VALUE), grouped.v);
    float scale = node_float(node, "scale", 0.0f);
    if (scale <= 0.0f)
        scale = 1.0f / sqrtf((float)grouped.size);
    Tensor *q = expand_transpose(
        node,
        expand_binary(node, "Mul", grouped.q, expand_number(node, (double)scale, grouped.q->dtype)),
        (const int64_t[]){ 0, 2, 1, 3 });
    Tensor *scores = expand_binary(
        node, "MatMul", q,
        expand_transpose(node, attend_repeat(node, keys, times), (const int64_t[]){ 0, 1, 3, 2 }));
    scores = masked(&grouped, attend_softcap(node, scores, node_float(node, "softcap", 0.0f)));
    Tensor *share = shares(&grouped, scores);
    Tensor *y =
        attend_join(node, expand_binary(node, "MatMul", share, attend_repeat(node, values, times)));
    Tensor *result[] = { y, read(node, 1) ? keys : NULL, read(node, 2) ? values : NULL,
                         read(node, 3) ? (mode == 1 ? scores : share) : NULL };
    expand_finish(node, 4, result);
}
