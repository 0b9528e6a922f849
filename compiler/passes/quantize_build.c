/* SPDX-License-Identifier: Apache-2.0
 * An operator between DequantizeLinear and QuantizeLinear becomes the integer operator, by its
 * form in ops.def. Clips behind it become bounds of its result: quantization keeps the order. */
#include "passes/quantize_build.h"

#include <math.h>

#include "base/size.h"
#include "kernels/act.h"
#include "ops/act.h"
#include "ops/ops.h"

static void set_quantum(Node *node, const char *scale, const char *zero,
                        const Quantum *quantum)
{
    node_set_float(node, scale, (float)quantum->scale);
    node_set_int(node, zero, quantum->zero);
}

void build_copy_attrs(Node *made, const Node *node)
{
    const size_t bytes = (size_t)node->n_attr * sizeof *node->attr;
    made->attr = arena_copy(made->graph->arena, node->attr, bytes);
    made->n_attr = node->n_attr;
}

bool build_codes(const Build *build, const Tensor *tensor, Tensor **x,
                 Quantum *quantum)
{
    const uint64_t types = build->shorts ? T_SHORT : T_Q8;
    return quanta_codes(build->graph, tensor, types, x, quantum);
}

void build_operand(Node *node, const Quantum *a)
{
    set_quantum(node, "a_scale", "a_zero_point", a);
}

void build_result(const Build *build, Node *node)
{
    set_quantum(node, "y_scale", "y_zero_point", &build->y);
    node_set_int(node, "output_dtype", build->y.type);
    if (build->inside)
        node_set_int(node, "zero_inside", 1);
}

Node *build_insert(const Build *build, const char *op, Tensor *in, Shape shape)
{
    return quanta_insert(build->graph, build->q, "inlay", op, 1, &in,
                         build->y.type, shape);
}

/* ---- two operands ---- */

static Tensor *build_pair(Build *build, const char *op)
{
    Quantum a, b;
    Tensor *in[2];
    const Node *node = build->node;
    if (!build_codes(build, node->in[0], &in[0], &a) ||
        !build_codes(build, node->in[1], &in[1], &b))
        return NULL;
    Node *made = quanta_insert(build->graph, build->q, "inlay", op, 2, in,
                               build->y.type, build->q->out[0]->shape);
    build_operand(made, &a);
    set_quantum(made, "b_scale", "b_zero_point", &b);
    build_result(build, made);
    return made->out[0];
}

/* Sums of shorts are made in steps of the result, none of which is much smaller than the others. */
static bool sums_fit(const Build *build)
{
    enum { MOST = 1 << 10 };
    Quantum quantum;
    const double most = build->y.scale * MOST;
    for (int i = 0; build->shorts && i < 2; i++) {
        const Node *source = quanta_source(build->node->in[i]);
        if (source && quanta_one(build->graph, source, &quantum) &&
            quantum.scale > most)
            return false;
    }
    return true;
}

static Tensor *build_add(Build *build)
{
    if (!sums_fit(build))
        return NULL;
    return build_pair(build, "QAdd");
}

static Tensor *build_sub(Build *build)
{
    Tensor *y = build_add(build);
    if (y)
        node_set_int(y->producer, "subtract", 1);
    return y;
}

static Tensor *build_mul(Build *build)
{
    return build_pair(build, "QMul");
}

static Tensor *build_div(Build *build)
{
    return build_pair(build, "QDiv");
}

/* Slopes stay floats: they are constants. */
static Tensor *build_prelu(Build *build)
{
    Quantum a;
    Tensor *in[2];
    const Node *node = build->node;
    in[1] = node->in[1];
    if (!quanta_bytes(build->graph, node->in[0], &in[0], &a))
        return NULL;
    if (!in[1]->value || in[1]->dtype != DT_F32)
        return NULL;
    Node *made = quanta_insert(build->graph, build->q, "inlay", "QPrelu", 2, in,
                               build->y.type, build->q->out[0]->shape);
    build_operand(made, &a);
    build_result(build, made);
    return made->out[0];
}

/* Codes of 16 bits in other steps, or within other bounds. */
static Tensor *build_rescale(Build *build)
{
    Quantum a;
    const Node *source = build->node;
    if (!quanta_one(build->graph, source, &a) || !(DTYPE_BIT(a.type) & T_SHORT))
        return NULL;
    Node *made =
        build_insert(build, "QScale", source->in[0], build->q->out[0]->shape);
    build_operand(made, &a);
    build_result(build, made);
    return made->out[0];
}

static BuildFn *const by_form[QUANTIZED_COUNT] = {
    [QUANTIZED_ADD] = build_add,
    [QUANTIZED_SUB] = build_sub,
    [QUANTIZED_MUL] = build_mul,
    [QUANTIZED_DIV] = build_div,
    [QUANTIZED_PRELU] = build_prelu,
    [QUANTIZED_CONV] = build_conv,
    [QUANTIZED_CHANNELS] = build_channels,
    [QUANTIZED_DECONV] = build_deconv,
    [QUANTIZED_PRODUCT] = build_product,
    [QUANTIZED_GEMM] = build_gemm,
    [QUANTIZED_POOL] = build_pool,
    [QUANTIZED_MEAN] = build_mean,
    [QUANTIZED_GLOBAL_MEAN] = build_global_mean,
    [QUANTIZED_SOFTMAX] = build_softmax,
    [QUANTIZED_NORM] = build_norm,
    [QUANTIZED_RMS_NORM] = build_rms_norm,
    [QUANTIZED_RESIZE] = build_resize,
};

/* Forms of codes of 16 bits. */
static const bool of_shorts[QUANTIZED_COUNT] = {
    [QUANTIZED_CONV] = true,        [QUANTIZED_PRODUCT] = true,
    [QUANTIZED_GEMM] = true,        [QUANTIZED_ADD] = true,
    [QUANTIZED_SUB] = true,         [QUANTIZED_MUL] = true,
    [QUANTIZED_POOL] = true,        [QUANTIZED_MEAN] = true,
    [QUANTIZED_GLOBAL_MEAN] = true,
};

bool quanta_takes_shorts(const Node *node)
{
    return of_shorts[quanta_form(node)];
}

/* Are there no integer operators of its codes? */
static bool stays_float(const Build *build)
{
    return build->shorts && graph_root(build->graph)->float_shorts;
}

static BuildFn *form_of(const Build *build)
{
    const QuantizedForm form = quanta_form(build->node);
    if (build->shorts && build->node &&
        node_is(build->node, "DequantizeLinear"))
        return build_rescale;
    return build->shorts && !of_shorts[form] ? NULL : by_form[form];
}

/* ---- bounds ---- */

/* A bound of a Clip: operand i or attribute; false: it is not known. */
static bool clip_bound(Graph *graph, const Node *node, int i, const char *name,
                       double otherwise, double *value)
{
    int64_t count;
    *value = otherwise;
    if (node_attr(node, name))
        *value = (double)node_float(node, name, 0.0f);
    if (!node_in(node, i))
        return true;
    const double *v = tensor_doubles(graph, node->in[i], &count);
    if (!v || count != 1)
        return false;
    *value = *v;
    return true;
}

/* The least and the largest result of a node that does nothing else; false: it does. */
static bool clips(Graph *graph, const Node *node, double *lo, double *hi)
{
    const ActRow *row = node->op ? act_of(node) : NULL;
    *lo = 0.0;
    *hi = (double)INFINITY;
    if (!row)
        return false;
    if (row->act == INLAY_ACT_RELU)
        return true;
    return row->act == INLAY_ACT_CLAMP &&
           clip_bound(graph, node, 1, "min", -(double)INFINITY, lo) &&
           clip_bound(graph, node, 2, "max", (double)INFINITY, hi) &&
           *lo <= *hi;
}

/* The node before q that is no clip, whose result goes nowhere else; NULL: there is none. */
static Node *behind_clips(Build *build)
{
    Tensor *x = build->q->in[0];
    for (;;) {
        Node *node = x->value ? NULL : x->producer;
        double lo, hi;
        if (build->shorts && node && quanta_source(x))
            return node;
        if (!node || node->dead || node->graph != build->graph ||
            x->uses != 1 || x->dynamic || x->dtype != DT_F32)
            return NULL;
        if (!clips(build->graph, node, &lo, &hi))
            return node;
        const int64_t least = quanta_round(&build->y, lo);
        const int64_t most = quanta_round(&build->y, hi);
        build->lo = i64_min(i64_max(build->lo, least), most);
        build->hi = i64_max(i64_min(build->hi, most), least);
        x = node->in[0];
    }
}

/* What makes y of shorts, perhaps under another shape or in another order, has its own bounds. */
static void bound_shorts(const Build *build, const Tensor *y)
{
    Node *node = y->producer;
    while (quanta_form(node) == QUANTIZED_MOVE)
        node = node->in[0]->producer;
    node_set_int(node, "lo", build->lo);
    node_set_int(node, "hi", build->hi);
}

/* y within the bounds of build, by a table: quanta_bound() may give them to what makes y. */
static Tensor *bounded(const Build *build, Tensor *y)
{
    int64_t entry[256];
    const int64_t least = quanta_least(build->y.type);
    const int64_t most = quanta_most(build->y.type);
    if (build->lo <= least && build->hi >= most)
        return y;
    if (build->shorts) {
        bound_shorts(build, y);
        return y;
    }
    for (int64_t i = least; i <= most; i++)
        entry[i & 255] = i64_max(build->lo, i64_min(build->hi, i));
    Node *made = build_insert(build, "Lookup", y, y->shape);
    node_set_int(made, "output_dtype", build->y.type);
    node_set_ints(made, "table", 256, entry);
    return made->out[0];
}

/* ---- quantization spelt with a division ---- */

/* The one number of operand 1 of `op`, whose result q alone reads; then *x is operand 0. */
static bool scalar_behind(const Build *build, const char *op, Tensor **x,
                          double *value)
{
    const Tensor *y = *x;
    const Node *node = y->value ? NULL : y->producer;
    if (!node || node->dead || !node_is(node, op) || y->uses != 1)
        return false;
    const Tensor *by = node->in[1];
    if (!by->value || tensor_count(by) != 1)
        return false;
    if (!shape_equal(&node->in[0]->shape, &y->shape))
        return false;
    *value = *tensor_doubles(build->graph, by, &(int64_t){ 0 });
    *x = node->in[0];
    return true;
}

/* round(x / scale + zero): QLinearAveragePool's, whose ties fall another way than those of
 * QuantizeLinear. */
static void divided_by_scale(Build *build)
{
    Tensor *x = build->q->in[0];
    double zero = 0.0;
    double scale = 0.0;
    if (build->y.zero || build->y.scale < 1.0 || build->y.scale > 1.0)
        return;
    const bool inside = scalar_behind(build, "Add", &x, &zero);
    if (!scalar_behind(build, "Div", &x, &scale) || !(scale > 0.0) ||
        !isfinite(scale) || zero < (double)quanta_least(build->y.type) ||
        zero > (double)quanta_most(build->y.type))
        return;
    Node *pool = x->value || x->uses != 1 ? NULL : x->producer;
    if (quanta_form(pool) != QUANTIZED_POOL)
        return;
    build->y.scale = scale;
    build->y.zero = (int64_t)nearbyint(zero);
    build->inside = inside;
    build->node = pool;
}

/* Where build->node adds constants to a product's last axis, the product, with a bias. */
static void take_bias(Build *build)
{
    const Node *add = build->node;
    if (quanta_form(add) != QUANTIZED_ADD || add->n_in != 2 ||
        node_attr(add, "axis"))
        return;
    const int constant = add->in[1]->value ? 1 : 0;
    const Tensor *y = add->in[!constant];
    Node *product = y->value || y->uses != 1 ? NULL : y->producer;
    if (quanta_form(product) != QUANTIZED_PRODUCT || node_in(product, 2))
        return;
    if (add->in[constant]->value &&
        shape_equal(&y->shape, &add->out[0]->shape)) {
        build->node = product;
        build->bias = add->in[constant];
    }
}

bool quanta_build(Graph *graph, Node *q)
{
    Build build = { .graph = graph, .q = q, .end = q };
    if (q->dead || !quanta_is_quantize(q) || q->out[0]->dynamic ||
        !quanta_one(graph, q, &build.y) || !(DTYPE_BIT(build.y.type) & T_Q16) ||
        !tensor_count(q->out[0]))
        return false;
    build.shorts = DTYPE_BIT(build.y.type) & T_SHORT;
    build.lo = quanta_least(build.y.type);
    build.hi = quanta_most(build.y.type);
    if (stays_float(&build))
        return false;
    divided_by_scale(&build);
    if (!build.node)
        build.node = behind_clips(&build);
    take_bias(&build);
    BuildFn *make = form_of(&build);
    Tensor *y = make ? make(&build) : NULL;
    if (!y)
        return false;
    quanta_take(graph, q, bounded(&build, y));
    return true;
}

/* What has a form that makes floats; NULL: it has none. */
static BuildFn *float_form(const Node *node)
{
    switch (quanta_form(node)) {
    case QUANTIZED_CONV:
    case QUANTIZED_DECONV:
    case QUANTIZED_PRODUCT:
    case QUANTIZED_GEMM:
        return by_form[quanta_form(node)];
    default:
        return NULL;
    }
}

bool quanta_float(Graph *graph, Node *node)
{
    Build build = { .graph = graph, .end = node, .node = node };
    take_bias(&build);
    BuildFn *make = float_form(build.node);
    if (!make || node->out[0]->dynamic || node->out[0]->dtype != DT_F32 ||
        !tensor_count(node->out[0]))
        return false;
    Tensor *y = make(&build);
    if (y)
        quanta_take(graph, node, y);
    return y != NULL;
}

bool quanta_float_sum(Graph *graph, Node *node)
{
    return quanta_form(node) == QUANTIZED_ADD && quanta_float(graph, node);
}
