/* SPDX-License-Identifier: Apache-2.0
 * Epilogues: a residual Add, then an activation, go into the Conv, ConvTranspose, Gemm or MatMul
 * before them (attributes of ops/epilogue.h), so that their tensor never exists; an activation into
 * BatchNormalization, too. Requires: types and shapes. Ensures: same results but for rounding. */
#include <math.h>
#include <string.h>

#include "ops/act.h"
#include "ops/epilogue.h"
#include "ops/ops.h"
#include "passes/passes.h"

typedef struct Act {
    int act;
    float a, b;
} Act;

static bool bound(Graph *g, const Node *n, int i, const char *attr, float otherwise, float *value)
{
    *value = n->n_in > 1 ? otherwise : node_float(n, attr, otherwise);
    if (!node_in(n, i))
        return true;
    int64_t count;
    const double *v = tensor_doubles(g, n->in[i], &count);
    if (!v || count != 1)
        return false;
    *value = (float)v[0];
    return true;
}

static Act gelu_of(const Node *n)
{
    const bool by_tanh = !strcmp(node_string(n, "approximate", "none"), "tanh");
    return (Act){ by_tanh ? INLAY_ACT_GELU_TANH : INLAY_ACT_GELU, 0.0f, 0.0f };
}

static bool clip_of(Graph *g, const Node *n, Act *a)
{
    a->act = INLAY_ACT_CLAMP;
    return bound(g, n, 1, "min", -INFINITY, &a->a) && bound(g, n, 2, "max", INFINITY, &a->b);
}

static bool act_of(Graph *g, const Node *n, Act *a)
{
    const ActRow *row = act_row(n->op_type);
    if (node_is(n, "Clip"))
        return clip_of(g, n, a);
    if (node_is(n, "Relu"))
        *a = (Act){ INLAY_ACT_CLAMP, 0.0f, INFINITY };
    else if (node_is(n, "Gelu"))
        *a = gelu_of(n);
    else if (row && (row->uses & INLAY_ACT_FUSED))
        *a = (Act){ row->act, act_a(row, n), act_b(row, n) };
    else
        return false;
    return true;
}

/* The node that made t and may still take an epilogue; `readers` are to be its only uses. */
static Node *host_of(const Tensor *t, int readers)
{
    Node *n = t ? t->producer : NULL;
    if (!n || n->dead || t->uses != readers || t->dtype != DT_F32 || node_attr(n, "act"))
        return NULL;
    return node_is(n, "Conv") || node_is(n, "ConvTranspose") || node_is(n, "Gemm") ||
                   node_is(n, "MatMul")
               ? n
               : NULL;
}

/* The same, of one that takes an activation only. */
static Node *norm_of(const Tensor *t)
{
    Node *n = t ? t->producer : NULL;
    if (!n || n->dead || t->uses != 1 || t->dtype != DT_F32 || node_attr(n, "act") ||
        !node_is(n, "BatchNormalization"))
        return NULL;
    if (node_int(n, "training_mode", 0))
        return NULL;
    for (int i = 1; i < 5; i++)
        if (!n->in[i]->value)
            return NULL;
    return n;
}

static void take_output(Node *host, Node *n)
{
    Tensor *out = n->out[0];
    graph_kill(n);
    host->out[0] = out;
    out->producer = host;
}

static void set_act(Node *host, Act a)
{
    node_set_int(host, "act", a.act);
    node_set_float(host, "act_a", a.a);
    node_set_float(host, "act_b", a.b);
}

static bool fuse_activation(Graph *g, Node *n)
{
    Act a;
    Node *host = n->n_in ? host_of(n->in[0], 1) : NULL;
    if (!host && n->n_in)
        host = norm_of(n->in[0]);
    if (!host || !act_of(g, n, &a))
        return false;
    set_act(host, a);
    take_output(host, n);
    return true;
}

/* x * sigmoid(x), both x the same result. */
static bool fuse_silu(Node *n)
{
    if (!node_is(n, "Mul"))
        return false;
    for (int k = 0; k < 2; k++) {
        Node *sigmoid = n->in[k]->producer;
        if (!sigmoid || sigmoid->dead || !node_is(sigmoid, "Sigmoid") ||
            sigmoid->in[0] != n->in[1 - k] || n->in[k]->uses != 1)
            continue;
        Node *host = host_of(n->in[1 - k], 2);
        if (!host)
            continue;
        set_act(host, (Act){ INLAY_ACT_SWISH, 1.0f, 0.0f });
        graph_kill(sigmoid);
        take_output(host, n);
        return true;
    }
    return false;
}

static bool fuse_residual(Node *n)
{
    if ((!node_is(n, "Add") && (!node_is(n, "Sum") || n->n_in != 2)) || n->in[0] == n->in[1] ||
        !shape_equal(&n->in[0]->shape, &n->in[1]->shape))
        return false;
    Node *left = host_of(n->in[0], 1), *right = host_of(n->in[1], 1);
    const bool take_right = right && !node_attr(right, "residual") &&
                            (!left || right->order > left->order || node_attr(left, "residual"));
    Node *host = take_right ? right : left;
    if (!host || node_attr(host, "residual"))
        return false;
    Tensor *in[4] = { host->in[0], host->in[1], node_in(host, 2), n->in[take_right ? 0 : 1] };
    node_set_inputs(host, 4, in);
    node_set_int(host, "residual", 3);
    take_output(host, n);
    return true;
}

void pass_fuse_act(Graph *g)
{
    graph_sort(g);
    for (size_t i = 0; i < g->node.n; i++) {
        Node *n = g->node.at[i];
        if (n->dead || !n->n_in || !n->in[0])
            continue;
        if (!fuse_silu(n) && !fuse_residual(n))
            fuse_activation(g, n);
    }
    graph_sort(g);
}
