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

static bool read(const Node *n, int i)
{
    return node_out(n, i) && n->out[i]->uses;
}

/* Heads [from, from + heads) of x [B][S][all D]. */
static Tensor *heads_of(const Grouped *a, Tensor *x, int64_t from, int64_t heads)
{
    const Shape *s = &x->shape;
    if (s->rank != 3 || s->dim[0] != a->batch || s->dim[2] < i64_mul(from + heads, a->size))
        fail_node(a->n, STATUS_MALFORMED, NULL, "%s does not divide into %lld heads",
                  shape_text(a->n->graph->arena, s), (long long)heads);
    x = expand_slice(a->n, x, 2, i64_mul(from, a->size), i64_mul(from + heads, a->size));
    return expand_reshape(a->n, x, 4, (const int64_t[]){ a->batch, s->dim[1], heads, a->size });
}

static void set_qkv(Grouped *a)
{
    Node *n = a->n;
    const Shape *q = infer_shape(n, QUERY);
    const bool packed = !node_in(n, KEY);
    a->heads = node_int(n, "num_heads", 0);
    a->groups = node_int(n, "kv_num_heads", 0);
    if (q->rank != 3 || a->groups < 1 || a->heads < a->groups || a->heads % a->groups)
        fail_node(n, STATUS_MALFORMED, NULL, "%lld heads over %lld groups", (long long)a->heads,
                  (long long)a->groups);
    a->batch = q->dim[0];
    a->steps = q->dim[1];
    a->size = q->dim[2] / (packed ? a->heads + 2 * a->groups : a->heads);
    a->q = heads_of(a, n->in[QUERY], 0, a->heads);
    a->k = packed ? heads_of(a, n->in[QUERY], a->heads, a->groups)
                  : heads_of(a, n->in[KEY], 0, a->groups);
    a->v = packed ? heads_of(a, n->in[QUERY], a->heads + a->groups, a->groups)
                  : heads_of(a, n->in[VALUE], 0, a->groups);
    if (a->k->shape.dim[1] != a->steps || a->v->shape.dim[1] != a->steps)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "has other numbers of keys and queries");
}

static Tensor *normed(const Grouped *a, Tensor *x, Tensor *weight)
{
    if (!weight)
        return x;
    Tensor *in[] = { x, weight };
    Node *made = expand_node(a->n, "RMSNormalization", 2, in, 1);
    node_set_int(made, "axis", -1);
    node_set_float(made, "epsilon", node_float(a->n, "qk_norm_epsilon", 1e-6f));
    return expand_done(made);
}

/* Angles of every place of the sequences: [B][S][1][R / 2]. */
static Tensor *angles(const Grouped *a, Tensor *cache)
{
    const Node *n = a->n;
    Tensor *place =
        expand_binary(n, "Add", expand_reshape(n, a->before, 2, (const int64_t[]){ a->batch, 1 }),
                      attend_numbers(n, a->steps));
    if (node_in(n, PLACES) && tensor_count(n->in[PLACES]) == i64_mul(a->batch, a->steps))
        place = n->in[PLACES];
    Tensor *in[] = { cache, place };
    return expand_unsqueeze(n, expand_done(expand_node(n, "Gather", 2, in, 1)), 2);
}

static Tensor *turned(const Grouped *a, Tensor *x)
{
    const Node *n = a->n;
    const int64_t width = i64_mul(2, infer_shape(n, COS)->dim[1]);
    if (infer_shape(n, SIN)->rank != 2 || width > a->size)
        fail_node(n, STATUS_MALFORMED, NULL,
                  "its caches of cosines and sines do not fit a head of %lld", (long long)a->size);
    Tensor *part = attend_rotate(n, expand_slice(n, x, 3, 0, width), angles(a, n->in[COS]),
                                 angles(a, n->in[SIN]), node_int(n, "rotary_interleaved", 0) != 0);
    if (width == a->size)
        return part;
    Tensor *in[] = { part, expand_slice(n, x, 3, width, a->size) };
    Node *c = expand_node(n, "Concat", 2, in, 1);
    node_set_int(c, "axis", 3);
    return expand_done(c);
}

/* Keys that the present has room for: as declared, else the longest sequence or the past and the
 * new ones. */
static int64_t room_of(const Grouped *a)
{
    const Node *n = a->n;
    int64_t count;
    const Tensor *present = node_out(n, 1), *past = node_in(n, PAST_KEY);
    const int64_t *total = infer_ints(n, TOTAL, &count),
                  kept = past ? infer_shape(n, PAST_KEY)->dim[2] : 0;
    if (present && shape_known(present->declared) && present->declared->rank == 4)
        return present->declared->dim[2];
    return total && count == 1 ? i64_max(kept, *total) : past ? i64_add(kept, a->steps) : a->steps;
}

/* x [B][S][G][D] behind the past, in the room of the present: [B][G][P][D]. */
static Tensor *kept(const Grouped *a, Tensor *past, Tensor *x)
{
    const Node *n = a->n;
    x = expand_transpose(n, x, (const int64_t[]){ 0, 2, 1, 3 });
    const Shape *s = past ? &past->shape : &x->shape;
    if (s->rank != 4 || s->dim[0] != a->batch || s->dim[1] != a->groups || s->dim[3] != a->size ||
        s->dim[2] > a->room || a->steps > a->room)
        fail_node(n, STATUS_MALFORMED, NULL, "a cache of %s does not fit",
                  shape_text(n->graph->arena, s));
    Tensor *base = past ? past : x;
    if (s->dim[2] < a->room) {
        Tensor *pad[] = {
            base, expand_i64s(n, 8, (const int64_t[]){ 0, 0, 0, 0, 0, 0, a->room - s->dim[2], 0 })
        };
        base = expand_done(expand_node(n, "Pad", 2, pad, 1));
    }
    if (!past)
        return base;
    Tensor *in[] = { base, x, a->before };
    Node *made = expand_node(n, "TensorScatter", 3, in, 1);
    node_set_int(made, "axis", 2);
    return expand_done(made);
}

/* Softmax over the keys, and over a further score that stands for none of them: a number of each
 * head, or 0. */
static Tensor *shares(const Grouped *a, Tensor *scores)
{
    const Node *n = a->n;
    const bool smooth = node_int(n, "smooth_softmax", -1) > 0;
    const Shape s = scores->shape;
    if (node_in(n, SINK) || smooth) {
        Tensor *sink = node_in(n, SINK) ? expand_reshape(n, n->in[SINK], 4,
                                                         (const int64_t[]){ 1, a->heads, 1, 1 })
                                        : expand_number(n, 0.0, scores->dtype);
        Tensor *in[] = {
            scores,
            expand_binary(n, "Expand", sink,
                          expand_i64s(n, 4, (const int64_t[]){ s.dim[0], s.dim[1], s.dim[2], 1 }))
        };
        Node *c = expand_node(n, "Concat", 2, in, 1);
        node_set_int(c, "axis", 3);
        scores = expand_done(c);
    }
    Node *softmax = expand_node(n, "Softmax", 1, &scores, 1);
    node_set_int(softmax, "axis", -1);
    return expand_slice(n, expand_done(softmax), 3, 0, s.dim[3]);
}

static void refuse_variants(const Node *n)
{
    if (node_int(n, "sliding_window_cache", 0))
        fail_node(n, STATUS_UNSUPPORTED, "export it with a cache of the whole sequence",
                  "a cache of the window's size is not supported");
    if (strcmp(node_string(n, "k_quant_type", "NONE"), "NONE") ||
        strcmp(node_string(n, "v_quant_type", "NONE"), "NONE"))
        fail_node(n, STATUS_UNSUPPORTED, "export it with a cache of floats",
                  "a quantized cache is not supported");
}

/* Bounds by place, and the bias given, cut or filled to the room. */
static Tensor *masked(const Grouped *a, Tensor *scores)
{
    const Node *n = a->n;
    const int64_t window = node_int(n, "local_window_size", -1);
    const bool causal = node_int(n, "causal", 1) != 0;
    Tensor *lengths =
        expand_reshape(n, expand_binary(n, "Add", a->before, expand_i64s(n, 1, &a->steps)), 4,
                       (const int64_t[]){ a->batch, 1, 1, 1 });
    const Sight s = {
        a->steps, a->room, window > 0 ? window - 1 : -1, causal ? 0 : -1, 0, lengths
    };
    if (node_in(n, BIAS)) {
        Tensor *bias = n->in[BIAS];
        const Shape b = *infer_shape(n, BIAS);
        const int64_t width = b.rank == 4 ? b.dim[3] : 0;
        if (width < 1)
            fail_node(n, STATUS_MALFORMED, NULL, "its bias is of shape %s",
                      shape_text(n->graph->arena, &b));
        if (width < a->room) {
            Tensor *pad[] = {
                bias, expand_i64s(n, 8, (const int64_t[]){ 0, 0, 0, 0, 0, 0, 0, a->room - width })
            };
            bias = expand_done(expand_node(n, "Pad", 2, pad, 1));
        }
        scores = expand_binary(n, "Add", scores, expand_slice(n, bias, 3, 0, a->room));
    }
    if (causal || window > 0)
        return expand_binary(n, "Add", scores, attend_sight(n, &s, scores->dtype));
    Tensor *in[] = { expand_binary(n, "Less", attend_numbers(n, a->room), lengths), scores,
                     expand_number(n, -(double)INFINITY, scores->dtype) };
    return expand_done(expand_node(n, "Where", 3, in, 1));
}

void expand_group_query_attention(Node *n)
{
    Grouped a = { .n = n };
    refuse_variants(n);
    infer_shape(n, LENGTHS);
    set_qkv(&a);
    a.room = room_of(&a);
    const int64_t ahead = 1 - a.steps, times = a.heads / a.groups, none = 0,
                  mode = node_int(n, "qk_output", 0);
    Tensor *length = expand_reshape(n, expand_cast(n, n->in[LENGTHS], DT_I64), 1, &a.batch);
    a.before = expand_binary(n, "Max", expand_binary(n, "Add", length, expand_i64s(n, 1, &ahead)),
                             expand_i64s(n, 1, &none));
    a.q = normed(&a, a.q, node_in(n, Q_NORM));
    a.k = normed(&a, a.k, node_in(n, K_NORM));
    if (node_int(n, "do_rotary", 0)) {
        a.q = turned(&a, a.q);
        a.k = turned(&a, a.k);
    }
    Tensor *keys = kept(&a, node_in(n, PAST_KEY), a.k),
           *values = kept(&a, node_in(n, PAST_VALUE), a.v);
    float scale = node_float(n, "scale", 0.0f);
    if (scale <= 0.0f)
        scale = 1.0f / sqrtf((float)a.size);
    Tensor *q = expand_transpose(
        n, expand_binary(n, "Mul", a.q, expand_number(n, (double)scale, a.q->dtype)),
        (const int64_t[]){ 0, 2, 1, 3 });
    Tensor *scores = expand_binary(
        n, "MatMul", q,
        expand_transpose(n, attend_repeat(n, keys, times), (const int64_t[]){ 0, 1, 3, 2 }));
    scores = masked(&a, attend_softcap(n, scores, node_float(n, "softcap", 0.0f)));
    Tensor *share = shares(&a, scores),
           *y = attend_join(n, expand_binary(n, "MatMul", share, attend_repeat(n, values, times)));
    Tensor *result[] = { y, read(n, 1) ? keys : NULL, read(n, 2) ? values : NULL,
                         read(n, 3) ? (mode == 1 ? scores : share) : NULL };
    expand_finish(n, 4, result);
}
