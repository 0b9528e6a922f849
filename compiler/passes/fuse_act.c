/* SPDX-License-Identifier: Apache-2.0
 * Epilogues: a residual Add, then an activation, go into the Conv, ConvTranspose, Gemm or MatMul
 * before them (attributes of ops/epilogue.h), so that their tensor never exists; not where that
 * would keep a larger one. An activation goes into BatchNormalization, too. Requires: types and
 * shapes. Ensures: same results but for rounding. */
#include <math.h>

#include "ops/act.h"
#include "kernels/act.h"
#include "ops/epilogue.h"
#include "ops/ops.h"
#include "passes/passes.h"

typedef struct Act {
    int act;
    float a, b;
} Act;

static bool bound(Graph *graph, const Node *node, int i, const char *attr,
                  float otherwise, float *value)
{
    *value = node->n_in > 1 ? otherwise : node_float(node, attr, otherwise);
    if (!node_in(node, i))
        return true;
    int64_t count;
    const double *v = tensor_doubles(graph, node->in[i], &count);
    if (!v || count != 1)
        return false;
    *value = (float)v[0];
    return true;
}

static bool clip_of(Graph *graph, const Node *node, Act *a)
{
    a->act = INLAY_ACT_CLAMP;
    return bound(graph, node, 1, "min", -INFINITY, &a->a) &&
           bound(graph, node, 2, "max", INFINITY, &a->b);
}

static bool fused_act(Graph *graph, const Node *node, Act *act)
{
    const ActRow *row = act_of(node);
    if (!row)
        return false;
    if (row->act == INLAY_ACT_CLAMP)
        return clip_of(graph, node, act);
    *act = (Act){ row->act, act_a(row, node), act_b(row, node) };
    if (row->act == INLAY_ACT_RELU)
        *act = (Act){ INLAY_ACT_CLAMP, 0.0f, INFINITY };
    return row->act == INLAY_ACT_RELU || row->uses & INLAY_ACT_FUSED;
}

/* The node that made tensor and may still take an epilogue; `readers` are to be its only uses. */
static Node *host_of(const Tensor *tensor, int readers)
{
    Node *node = tensor ? tensor->producer : NULL;
    if (!node || node->dead || tensor->uses != readers ||
        tensor->dtype != DT_F32 || node_attr(node, "act"))
        return NULL;
    return node->op->flags & OP_EPILOGUE ? node : NULL;
}

/* The same, of one that takes an activation only. */
static Node *norm_of(const Tensor *tensor)
{
    Node *node = tensor ? tensor->producer : NULL;
    if (!node || node->dead || tensor->uses != 1 || tensor->dtype != DT_F32 ||
        node_attr(node, "act") || !node_is(node, "BatchNormalization"))
        return NULL;
    if (batchnorm_trains(node))
        return NULL;
    for (int i = 1; i < 5; i++)
        if (!node->in[i]->value)
            return NULL;
    return node;
}

static void take_output(Node *host, Node *node)
{
    Tensor *out = node->out[0];
    graph_kill(node);
    host->out[0] = out;
    out->producer = host;
}

static void set_act(Node *host, Act a)
{
    node_set_int(host, "act", a.act);
    node_set_float(host, "act_a", a.a);
    node_set_float(host, "act_b", a.b);
}

static bool fuse_activation(Graph *graph, Node *node)
{
    Act act;
    Node *host = node->n_in ? host_of(node->in[0], 1) : NULL;
    if (!host && node->n_in)
        host = norm_of(node->in[0]);
    if (!host || !fused_act(graph, node, &act))
        return false;
    set_act(host, act);
    take_output(host, node);
    return true;
}

/* x * sigmoid(x), both x the same result. */
static bool fuse_silu(Node *node)
{
    if (!node_is(node, "Mul"))
        return false;
    for (int k = 0; k < 2; k++) {
        Node *sigmoid = node->in[k]->producer;
        if (!sigmoid || sigmoid->dead || !node_is(sigmoid, "Sigmoid") ||
            sigmoid->in[0] != node->in[1 - k] || node->in[k]->uses != 1)
            continue;
        Node *host = host_of(node->in[1 - k], 2);
        if (!host)
            continue;
        set_act(host, (Act){ INLAY_ACT_SWISH, 1.0f, 0.0f });
        graph_kill(sigmoid);
        take_output(host, node);
        return true;
    }
    return false;
}

/* ---- residuals ---- */

/* Nodes between a value and one that is made of it: beyond, it is taken to be. */
enum { MOST_BETWEEN = 1024 };

/* The way back from a value. */
typedef struct Trace {
    const Graph *graph;
    int first, last; /* places of the nodes that are followed */
    bool *seen;      /* by place, from the first on */
    const Node **left;
    int n; /* of left */
} Trace;

static void trace_value(Trace *trace, const Tensor *tensor)
{
    const Node *node = tensor ? tensor->producer : NULL;
    if (!node || node->graph != trace->graph || node->order < trace->first ||
        node->order > trace->last)
        return;
    bool *seen = trace->seen + (node->order - trace->first);
    if (*seen)
        return;
    *seen = true;
    trace->left[trace->n] = node;
    trace->n++;
}

/* Goes back until it meets the first node or nothing is left. */
static bool trace_meets(Trace *trace)
{
    while (trace->n && !trace->seen[0]) {
        trace->n--;
        const Node *node = trace->left[trace->n];
        for (int i = 0; i < node->n_in; i++)
            trace_value(trace, node->in[i]);
    }
    return trace->seen[0];
}

/* Is the value made of what node `on` makes? */
static bool depends(const Tensor *tensor, const Node *on)
{
    Arena *scratch = &on->graph->store->scratch;
    const Node *maker = tensor->producer;
    if (!maker || maker->graph != on->graph || maker->order < on->order)
        return false;
    const int between = maker->order - on->order;
    if (between > MOST_BETWEEN)
        return true;
    const ArenaMark mark = arena_mark(scratch);
    Trace trace = {
        .graph = on->graph,
        .first = on->order,
        .last = maker->order,
        .seen = NEW_ARRAY(scratch, bool, between + 1),
        .left = NEW_ARRAY(scratch, const Node *, between + 1),
    };
    trace_value(&trace, tensor);
    const bool met = trace_meets(&trace);
    arena_release(scratch, mark);
    return met;
}

/* Would the host keep its input, larger than its result, until a residual is there that is made of
 * that input? So it is with the laterals of a pyramid: they had better run early. */
static bool waits(const Node *host, const Tensor *residual)
{
    const Tensor *x = host->in[0];
    if (!x || !x->producer || x->producer->graph != host->graph ||
        !shape_known(&x->shape) || !shape_known(&residual->shape))
        return false;
    return tensor_bytes(x) > tensor_bytes(residual) &&
           depends(residual, x->producer);
}

/* The node that may take operand 1 - k of a sum as its residual, and makes operand k; NULL: none.
 */
static Node *residual_host(const Node *sum, int k)
{
    Node *host = host_of(sum->in[k], 1);
    if (!host || node_attr(host, "residual") || waits(host, sum->in[1 - k]))
        return NULL;
    return host;
}

/* By Node.order: nodes on the longest way to it. */
static int32_t *longest_ways(const Graph *graph)
{
    const size_t n = graph->node.n;
    int32_t *way = NEW_ARRAY(&graph->store->scratch, int32_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        const Node *node = graph->node.at[i];
        int32_t longest = 0;
        for (int k = 0; k < node->n_in; k++) {
            const Node *maker = node->in[k] ? node->in[k]->producer : NULL;
            if (maker && maker->graph == graph && maker->order < node->order)
                longest = (int32_t)i64_max(longest, way[maker->order]);
        }
        way[node->order] = longest + 1;
    }
    return way;
}

/* Is the host's input there all the time, as what a body is given is? */
static bool stays(const Node *host)
{
    const Graph *graph = host->graph;
    const Tensor *x = host->in[0];
    const bool inside = x && x->producer && x->producer->graph == graph;
    return graph->parent && !inside;
}

/* Of two hosts that make a sum, does the other run last? Its input waits for what the first one
 * makes: rather one that is there anyway, then the one with the longest way to it, however the file
 * lists them. */
static bool runs_last(const Node *other, const Node *host, const int32_t *way)
{
    if (stays(other) != stays(host))
        return stays(other);
    return way[other->order] >= way[host->order];
}

static bool fuse_residual(Node *node, const int32_t *way)
{
    if ((!node_is(node, "Add") && (!node_is(node, "Sum") || node->n_in != 2)) ||
        node->in[0] == node->in[1] ||
        !shape_equal(&node->in[0]->shape, &node->in[1]->shape))
        return false;
    Node *left = residual_host(node, 0);
    Node *right = residual_host(node, 1);
    const bool take_right = right && (!left || runs_last(right, left, way));
    Node *host = take_right ? right : left;
    if (!host)
        return false;
    Tensor *in[4] = { host->in[0], host->in[1], node_in(host, 2),
                      node->in[take_right ? 0 : 1] };
    node_set_inputs(host, 4, in);
    node_set_int(host, "residual", 3);
    take_output(host, node);
    return true;
}

void pass_fuse_act(Graph *graph)
{
    Arena *scratch = &graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    graph_sort(graph);
    const int32_t *way = longest_ways(graph);
    for (size_t i = 0; i < graph->node.n; i++) {
        Node *n = graph->node.at[i];
        if (n->dead || !n->n_in || !n->in[0])
            continue;
        if (!fuse_silu(n) && !fuse_residual(n, way))
            fuse_activation(graph, n);
    }
    arena_release(scratch, mark);
    graph_sort(graph);
}
