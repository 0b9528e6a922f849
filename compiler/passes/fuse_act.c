/* SPDX-License-Identifier: Apache-2.0
 * Epilogues: a residual Add, then an activation, go into the Conv, ConvTranspose, Gemm or MatMul
 * before them (attributes of ops/epilogue.h), so that their tensor never exists; an activation into
 * BatchNormalization, too. Requires: types and shapes. Ensures: same results but for rounding. */
#include <math.h>
#include <string.h>

#include "ops/epilogue.h"
#include "ops/ops.h"
#include "passes/passes.h"

typedef struct ActRow {
    const char *op;
    int act;
    const char *a_name, *b_name;
    float a, b; /* defaults of the attributes */
} ActRow;

static const ActRow rows[] = {
    { "Relu", INLAY_ACT_CLAMP, "", "", 0.0f, INFINITY },
    { "LeakyRelu", INLAY_ACT_LEAKY, "alpha", "", 0.01f, 0.0f },
    { "Sigmoid", INLAY_ACT_SIGMOID, "", "", 0.0f, 0.0f },
    { "Tanh", INLAY_ACT_TANH, "", "", 0.0f, 0.0f },
    { "HardSigmoid", INLAY_ACT_HARD_SIGMOID, "alpha", "beta", 0.2f, 0.5f },
    { "HardSwish", INLAY_ACT_HARD_SWISH, "", "", 0.0f, 0.0f },
    { "Swish", INLAY_ACT_SILU, "alpha", "", 1.0f, 0.0f },
    { "Elu", INLAY_ACT_ELU, "alpha", "", 1.0f, 0.0f },
    { "Softplus", INLAY_ACT_SOFTPLUS, "", "", 0.0f, 0.0f },
    { "Mish", INLAY_ACT_MISH, "", "", 0.0f, 0.0f },
    { "Selu", INLAY_ACT_SELU, "alpha", "gamma", 1.67326319217681884765625f,
      1.05070102214813232421875f },
    { "Softsign", INLAY_ACT_SOFTSIGN, "", "", 0.0f, 0.0f },
};

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

static bool act_of(Graph *g, const Node *n, Act *a)
{
    if (node_is(n, "Clip")) {
        a->act = INLAY_ACT_CLAMP;
        return bound(g, n, 1, "min", -INFINITY, &a->a) && bound(g, n, 2, "max", INFINITY, &a->b);
    }
    if (node_is(n, "Gelu")) {
        *a = (Act){ strcmp(node_string(n, "approximate", "none"), "tanh") ? INLAY_ACT_GELU
                                                                          : INLAY_ACT_GELU_TANH,
                    0.0f, 0.0f };
        return true;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (node_is(n, rows[i].op)) {
            *a = (Act){ rows[i].act, rows[i].a, rows[i].b };
            if (*rows[i].a_name)
                a->a = node_float(n, rows[i].a_name, rows[i].a);
            if (*rows[i].b_name)
                a->b = node_float(n, rows[i].b_name, rows[i].b);
            return true;
        }
    return false;
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
        set_act(host, (Act){ INLAY_ACT_SILU, 1.0f, 0.0f });
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
