/* SPDX-License-Identifier: Apache-2.0
 * Random nets of image operators, lowered to the real kernels. */
#ifndef TEST_RANDOM_NETS_H
#define TEST_RANDOM_NETS_H

#include "../passes/graphs.h"

#include <math.h>

#include "emit/weights.h"
#include "eval/eval.h"
#include "ops/lower_graph.h"
#include "forms/elide.h"
#include "plan/frontier.h"
#include "plan/plan.h"
#include "prove/check.h"

enum { MOST_MADE = 40 };

typedef struct Net {
    World w;
    uint64_t random;
    Tensor *made[MOST_MADE]; /* images of the graph */
    int n;
} Net;

static inline uint32_t rnd(Net *t, uint32_t n)
{
    uint64_t x = t->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    t->random = x;
    return (uint32_t)(x * UINT64_C(0x2545F4914F6CDD1D) >> 33) % n;
}

static inline float rnd_float(Net *t)
{
    return (float)rnd(t, 2001) / 1000.0f - 1.0f;
}

static inline Tensor *floats(Net *t, int rank, const int64_t *dims, float scale,
                             float offset)
{
    const Shape s = shape_of(rank, dims);
    const int64_t n = shape_count(&s);
    float *v = NEW_ARRAY(&t->w.arena, float, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = scale * rnd_float(t) + offset;
    return graph_add_constant(
        t->w.graph, NULL, recipe_memory(&t->w.store, DT_F32, rank, dims, v));
}

static inline Tensor *vector(Net *t, int64_t n, float scale, float offset)
{
    return floats(t, 1, &n, scale, offset);
}

/* The dims that inference will find are followed by hand. */
static inline Tensor *keep(Net *t, Tensor *y, int64_t images, int64_t c,
                           int64_t h, int64_t w)
{
    const int64_t dims[] = { images, c, h, w };
    y->shape = shape_of(4, dims);
    y->dtype = DT_F32;
    if (t->n < MOST_MADE)
        t->made[t->n++] = y;
    return y;
}

static inline Tensor *like(Net *t, Tensor *y, const Tensor *x)
{
    return keep(t, y, x->shape.dim[0], x->shape.dim[1], x->shape.dim[2],
                x->shape.dim[3]);
}

#define DIMS(x) \
    const int64_t N = (x)->shape.dim[0], C = (x)->shape.dim[1], \
                  H = (x)->shape.dim[2], W = (x)->shape.dim[3]

static inline Tensor *conv(Net *t, Tensor *x)
{
    DIMS(x);
    const int64_t k = 1 + 2 * rnd(t, 2), stride = k == 1 ? 1 : 1 + rnd(t, 2),
                  oc = 1 + rnd(t, rnd(t, 3) ? 12 : 40),
                  pad = rnd(t, 2) ? k / 2 : 0;
    const bool depthwise = rnd(t, 3) == 0;
    if (H + 2 * pad < k || W + 2 * pad < k)
        return NULL;
    const int64_t wd[] = { depthwise ? C : oc, depthwise ? 1 : C, k, k },
                  strides[] = { stride, stride },
                  pads[] = { pad, pad, pad, pad };
    Tensor *y = op(&t->w, "Conv", x, floats(t, 4, wd, 0.3f, 0.0f),
                   rnd(t, 2) ? vector(t, wd[0], 0.5f, 0.0f) : NULL);
    node_set_ints(y->producer, "strides", 2, strides);
    node_set_ints(y->producer, "pads", 4, pads);
    node_set_int(y->producer, "group", depthwise ? C : 1);
    return keep(t, y, N, wd[0], (H + 2 * pad - k) / stride + 1,
                (W + 2 * pad - k) / stride + 1);
}

static inline Tensor *deconv(Net *t, Tensor *x)
{
    DIMS(x);
    const int64_t k = 2 + rnd(t, 3), stride = 1 + rnd(t, 2), oc = 1 + rnd(t, 8),
                  pad = rnd(t, 2), dilation = rnd(t, 4) ? 1 : 2,
                  reach = (k - 1) * dilation + 1;
    const int64_t wd[] = { C, oc, k, k }, strides[] = { stride, stride },
                  pads[] = { pad, pad, pad, pad },
                  dilations[] = { dilation, dilation };
    const int64_t h = (H - 1) * stride + reach - 2 * pad,
                  w = (W - 1) * stride + reach - 2 * pad;
    if (h < 1 || w < 1 || h > 60 || w > 60)
        return NULL;
    Tensor *y =
        op(&t->w, "ConvTranspose", x, floats(t, 4, wd, 0.3f, 0.0f), NULL);
    node_set_ints(y->producer, "strides", 2, strides);
    node_set_ints(y->producer, "pads", 4, pads);
    node_set_ints(y->producer, "dilations", 2, dilations);
    return keep(t, y, N, oc, h, w);
}

static inline Tensor *pool(Net *t, Tensor *x)
{
    DIMS(x);
    const int64_t k = 2 + rnd(t, 2), stride = 1 + rnd(t, 2),
                  kernel[] = { k, k }, strides[] = { stride, stride };
    if (H < k || W < k)
        return NULL;
    Tensor *y = unary(&t->w, rnd(t, 2) ? "MaxPool" : "AveragePool", x);
    node_set_ints(y->producer, "kernel_shape", 2, kernel);
    node_set_ints(y->producer, "strides", 2, strides);
    return keep(t, y, N, C, (H - k) / stride + 1, (W - k) / stride + 1);
}

/* Zeros, edges or mirrored pixels around the image; some pools and convolutions take the zeros in.
 */
static inline Tensor *padded(Net *t, Tensor *x)
{
    DIMS(x);
    static const char *const modes[] = { "constant", "edge", "reflect" };
    const int64_t before = rnd(t, 2), after = rnd(t, 3),
                  pads[] = { 0, 0, before, after, 0, 0, after, before };
    if (H < 3 || W < 3 || H > 50 || W > 50)
        return NULL;
    Tensor *y = binary(&t->w, "Pad", x, ints(&t->w, 8, pads));
    node_set_string(y->producer, "mode", modes[rnd(t, 3)]);
    keep(t, y, N, C, H + before + after, W + before + after);
    return rnd(t, 2) ? pool(t, y) : y;
}

static inline Tensor *resize(Net *t, Tensor *x)
{
    DIMS(x);
    static const char *const modes[] = { "nearest", "linear", "cubic" };
    const float s = rnd(t, 2) ? 2.0f : 1.5f, scales[] = { 1, 1, s, s };
    const int64_t four = 4, h = (int64_t)floorf((float)H * s),
                  w = (int64_t)floorf((float)W * s);
    if (h > 60 || w > 60)
        return NULL;
    Tensor *in[] = { x, NULL,
                     graph_add_constant(t->w.graph, NULL,
                                        recipe_memory(&t->w.store, DT_F32, 1,
                                                      &four, scales)) };
    Tensor *y =
        graph_add_tensor(t->w.graph, NULL, DT_NONE, (Shape){ .rank = -1 });
    Node *n = graph_add_node(t->w.graph, "", "Resize", 3, in, 1, &y);
    n->index = (int)t->w.graph->node.n;
    node_set_string(n, "mode", modes[rnd(t, 3)]);
    return keep(t, y, N, C, h, w);
}

static inline Tensor *blocks(Net *t, Tensor *x)
{
    DIMS(x);
    const bool deep = rnd(t, 2) && C % 4 == 0;
    if (!deep && (H % 2 || W % 2))
        return NULL;
    Tensor *y = unary(&t->w, deep ? "DepthToSpace" : "SpaceToDepth", x);
    node_set_int(y->producer, "blocksize", 2);
    if (deep && rnd(t, 2))
        node_set_string(y->producer, "mode", "CRD");
    return deep ? keep(t, y, N, C / 4, 2 * H, 2 * W)
                : keep(t, y, N, 4 * C, H / 2, W / 2);
}

static inline Tensor *shuffle(Net *t, Tensor *x)
{
    DIMS(x);
    static const int64_t perm[] = { 0, 2, 1, 3, 4 };
    const int64_t g = C % 3 == 0 ? 3 : 2, wide[] = { N, g, C / g, H, W },
                  flat[] = { N, C, H, W };
    if (C % g)
        return NULL;
    Tensor *y = binary(&t->w, "Reshape", x, ints(&t->w, 5, wide));
    return like(t,
                binary(&t->w, "Reshape", transpose(&t->w, y, 5, perm),
                       ints(&t->w, 4, flat)),
                x);
}

static inline Tensor *slice(Net *t, Tensor *x)
{
    DIMS(x);
    const int64_t axis = 1 + rnd(t, 3), size = x->shape.dim[axis],
                  step = rnd(t, 3) ? 1 : 2;
    const int64_t from = rnd(t, (uint32_t)size),
                  to = from + 1 + rnd(t, (uint32_t)(size - from)),
                  count = (to - from + step - 1) / step;
    Tensor *in[] = { x, ints(&t->w, 1, &from), ints(&t->w, 1, &to),
                     ints(&t->w, 1, &axis), ints(&t->w, 1, &step) };
    Tensor *y =
        graph_add_tensor(t->w.graph, NULL, DT_NONE, (Shape){ .rank = -1 });
    Node *n = graph_add_node(t->w.graph, "", "Slice", 5, in, 1, &y);
    n->index = (int)t->w.graph->node.n;
    return keep(t, y, N, axis == 1 ? count : C, axis == 2 ? count : H,
                axis == 3 ? count : W);
}

/* Another image that differs from x along `axis` at most; x itself where there is none. */
static inline Tensor *partner(Net *t, const Tensor *x, int axis)
{
    Tensor *fits[MOST_MADE];
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        bool same = true;
        for (int d = 0; d < 4; d++)
            same = same &&
                   (d == axis || t->made[i]->shape.dim[d] == x->shape.dim[d]);
        if (same)
            fits[n++] = t->made[i];
    }
    return fits[rnd(t, (uint32_t)n)];
}

static inline Tensor *concat(Net *t, Tensor *x)
{
    const int axis = rnd(t, 3) ? 1 : 1 + (int)rnd(t, 3);
    Tensor *other = partner(t, x, axis);
    int64_t d[4];
    memcpy(d, x->shape.dim, sizeof d);
    d[axis] += other->shape.dim[axis];
    if (d[1] > 120 || d[2] > 60 || d[3] > 60)
        return NULL;
    Tensor *y = binary(&t->w, "Concat", x, other);
    node_set_int(y->producer, "axis", axis);
    return keep(t, y, d[0], d[1], d[2], d[3]);
}

static inline Tensor *normalize(Net *t, Tensor *x)
{
    DIMS(x);
    (void)N, (void)H, (void)W;
    Tensor *in[] = { x, vector(t, C, 0.5f, 1.0f), vector(t, C, 0.5f, 0.0f),
                     vector(t, C, 0.5f, 0.0f), vector(t, C, 0.4f, 1.0f) };
    Tensor *y =
        graph_add_tensor(t->w.graph, NULL, DT_NONE, (Shape){ .rank = -1 });
    Node *n =
        graph_add_node(t->w.graph, "", "BatchNormalization", 5, in, 1, &y);
    n->index = (int)t->w.graph->node.n;
    return like(t, y, x);
}

static inline Tensor *elementwise(Net *t, Tensor *x)
{
    static const char *const names[] = { "Relu",      "Sigmoid",   "Tanh",
                                         "HardSwish", "LeakyRelu", "Abs" };
    DIMS(x);
    (void)N, (void)H, (void)W;
    const int64_t channels[] = { C, 1, 1 };
    switch (rnd(t, 5)) {
    case 0:
        return like(t,
                    binary(&t->w, rnd(t, 2) ? "Mul" : "Add", x,
                           floats(t, 3, channels, 0.5f, 1.0f)),
                    x);
    case 1:
        return like(
            t, binary(&t->w, "PRelu", x, floats(t, 3, channels, 0.2f, 0.1f)),
            x);
    case 2:
        return like(
            t, binary(&t->w, rnd(t, 3) ? "Add" : "Mul", x, partner(t, x, -1)),
            x);
    default:
        return like(t, unary(&t->w, names[rnd(t, 6)], x), x);
    }
}

/* Squeeze and excitation: x times what its mean says. */
static inline Tensor *excite(Net *t, Tensor *x)
{
    return like(
        t,
        binary(&t->w, "Mul", x,
               unary(&t->w, "Sigmoid", unary(&t->w, "GlobalAveragePool", x))),
        x);
}

typedef Tensor *MakeOp(Net *, Tensor *);

/* Depth, too: a transposed convolution and a convolution of volumes. */
static inline void random_volumes_net(Net *t, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->random = seed * 2654435761u + 88172645463325252u;
    world_open(&t->w);
    int64_t dims[5] = { 1 + rnd(t, 2), 1 + rnd(t, 5), 1, 1, 1 },
            kernel[5] = { dims[1], 1 + rnd(t, 20) }, size[3][3];
    for (int i = 0; i < 3; i++) {
        dims[2 + i] = 2 + rnd(t, 5);
        kernel[2 + i] = 1 + rnd(t, 4);
        size[0][i] = 1 + rnd(t, 3);
        size[1][i] = 1 + rnd(t, 3);
    }
    int64_t pads[6] = { 0 };
    for (int i = 0; i < 3; i++)
        pads[i] = rnd(t, 2) && (dims[2 + i] - 1) * size[0][i] > 2 ? 1 : 0;
    Tensor *x = input(&t->w, 5, dims),
           *y = op(&t->w, "ConvTranspose", x, floats(t, 5, kernel, 0.3f, 0.0f),
                   vector(t, kernel[1], 0.5f, 0.0f));
    node_set_ints(y->producer, "strides", 3, size[0]);
    node_set_ints(y->producer, "dilations", 3, size[1]);
    node_set_ints(y->producer, "pads", 6, pads);
    const int64_t next[5] = { 3, kernel[1], 1 + rnd(t, 2), 1 + rnd(t, 2), 1 };
    finish(&t->w, op(&t->w, "Conv", unary(&t->w, "Relu", y),
                     floats(t, 5, next, 0.3f, 0.0f), NULL));
}

/* Some of the n kinds of operators after x, one of them making the result. */
static inline void go_on(Net *t, Tensor *x, MakeOp *const *ops, size_t n)
{
    const int length = 3 + (int)rnd(t, 14);
    for (int i = 0; i < length; i++) {
        Tensor *from = rnd(t, 4) ? x : t->made[rnd(t, (uint32_t)t->n)],
               *y = ops[rnd(t, (uint32_t)n)](t, from);
        if (y)
            x = y;
    }
    if (!x->producer)
        x = like(t, unary(&t->w, "Relu", x), x);
    finish(&t->w, x);
}

static inline void random_net(Net *t, uint64_t seed)
{
    static MakeOp *const ops[] = { conv,      conv,        conv,        deconv,
                                   pool,      resize,      blocks,      shuffle,
                                   slice,     slice,       concat,      concat,
                                   normalize, elementwise, elementwise, excite,
                                   padded };
    memset(t, 0, sizeof *t);
    t->random = seed * 2654435761u + 88172645463325252u;
    world_open(&t->w);
    const int64_t dims[] = { rnd(t, 6) ? 1 : 2, 1 + rnd(t, 12), 6 + rnd(t, 20),
                             6 + rnd(t, 20) };
    Tensor *x =
        keep(t, input(&t->w, 4, dims), dims[0], dims[1], dims[2], dims[3]);
    go_on(t, x, ops, sizeof ops / sizeof *ops);
}

/* Along a signal [N][C][1][L]; with a window of three rows of which one is there, too. */
static inline Tensor *line_conv(Net *t, Tensor *x)
{
    DIMS(x);
    const int64_t k = 1 + rnd(t, 7), stride = 1 + rnd(t, 3),
                  dilation = 1 + rnd(t, 3), reach = (k - 1) * dilation + 1,
                  before = rnd(t, (uint32_t)reach + 1),
                  after = rnd(t, (uint32_t)reach + 1);
    const int64_t thick = rnd(t, 4) ? 1 : 3,
                  groups = rnd(t, 3)            ? 1
                           : rnd(t, 2) || C % 2 ? C
                                                : 2,
                  oc = groups == C ? C
                                   : groups * (1 + rnd(t, rnd(t, 3) ? 12 : 40));
    const int64_t wd[] = { oc, C / groups, thick, k },
                  strides[] = { 1, stride },
                  pads[] = { thick / 2, before, thick / 2, after },
                  dilations[] = { 1, dilation };
    if (H > 1 || W + before + after < reach)
        return NULL;
    Tensor *y = op(&t->w, "Conv", x, floats(t, 4, wd, 0.3f, 0.0f),
                   rnd(t, 2) ? vector(t, oc, 0.5f, 0.0f) : NULL);
    node_set_ints(y->producer, "strides", 2, strides);
    node_set_ints(y->producer, "pads", 4, pads);
    node_set_ints(y->producer, "dilations", 2, dilations);
    node_set_int(y->producer, "group", groups);
    return keep(t, y, N, oc, 1, (W + before + after - reach) / stride + 1);
}

static inline Tensor *line_deconv(Net *t, Tensor *x)
{
    DIMS(x);
    const int64_t k = 1 + rnd(t, 6), stride = 1 + rnd(t, 4), oc = 1 + rnd(t, 8),
                  pad = rnd(t, 3), dilation = rnd(t, 3) ? 1 : 1 + rnd(t, 3);
    const int64_t wd[] = { C, oc, 1, k }, strides[] = { 1, stride },
                  pads[] = { 0, pad, 0, pad }, dilations[] = { 1, dilation };
    const int64_t w = (W - 1) * stride + (k - 1) * dilation + 1 - 2 * pad;
    if (H > 1 || w < 1 || w > 120)
        return NULL;
    Tensor *y =
        op(&t->w, "ConvTranspose", x, floats(t, 4, wd, 0.3f, 0.0f), NULL);
    node_set_ints(y->producer, "strides", 2, strides);
    node_set_ints(y->producer, "pads", 4, pads);
    node_set_ints(y->producer, "dilations", 2, dilations);
    return keep(t, y, N, oc, 1, w);
}

static inline Tensor *line_pool(Net *t, Tensor *x)
{
    DIMS(x);
    const int64_t k = 2 + rnd(t, 4), stride = 1 + rnd(t, 3),
                  kernel[] = { 1, k }, strides[] = { 1, stride };
    if (H > 1 || W < k)
        return NULL;
    Tensor *y = unary(&t->w, rnd(t, 2) ? "MaxPool" : "AveragePool", x);
    node_set_ints(y->producer, "kernel_shape", 2, kernel);
    node_set_ints(y->producer, "strides", 2, strides);
    return keep(t, y, N, C, 1, (W - k) / stride + 1);
}

static inline void random_signal(Net *t, uint64_t seed)
{
    static MakeOp *const ops[] = {
        line_conv, line_conv,   line_conv,   line_conv, line_deconv, line_pool,
        resize,    shuffle,     slice,       slice,     concat,      concat,
        normalize, elementwise, elementwise, excite
    };
    memset(t, 0, sizeof *t);
    t->random = seed * 2654435761u + 88172645463325252u;
    world_open(&t->w);
    const int64_t dims[] = { rnd(t, 6) ? 1 : 2, 1 + rnd(t, 24), 1,
                             10 + rnd(t, 50) };
    Tensor *x =
        keep(t, input(&t->w, 4, dims), dims[0], dims[1], dims[2], dims[3]);
    go_on(t, x, ops, sizeof ops / sizeof *ops);
}

static inline void run_passes(World *w, bool all)
{
    int n;
    const PassRow *p = pass_rows(&n);
    for (int i = 0; i < n; i++)
        if (all || p[i].required)
            p[i].run(w->graph);
}

typedef void MakeNet(Net *, uint64_t seed);

/* The input and the result lie where the forms say; status 69 where the input cannot come by rows.
 */
static inline Program *lowered_as(Net *t, MakeNet *make, uint64_t seed,
                                  bool all_passes, IoForm in, IoForm out)
{
    make(t, seed);
    t->w.graph->in_form = arena_copy(&t->w.arena, &in, sizeof in);
    t->w.graph->out_form = arena_copy(&t->w.arena, &out, sizeof out);
    run_passes(&t->w, all_passes);
    const LowerOptions options = {
        .family = family_of_target(NULL),
        .narrow = true,
    };
    return lower_graph(t->w.graph, &options);
}

static inline Program *lowered(Net *t, MakeNet *make, uint64_t seed,
                               bool all_passes)
{
    return lowered_as(t, make, seed, all_passes, IO_CALLER, IO_CALLER);
}

/* Some copies fall away by chance, before the planner chooses among the others. */
static inline void elide_some(Net *t, Program *p)
{
    uint8_t *way = NEW_ARRAY(&t->w.arena, uint8_t, p->step.n + 1);
    Steps out;
    for (size_t i = 0; i < p->step.n; i++)
        way[i] = (uint8_t)rnd(t, (uint32_t)elide_ways(p, p->step.at[i]));
    if (elide_copies(&t->w.arena, p, way, &out)) {
        *p = program_with(&t->w.arena, p, &out);
        program_take_steps(p, p->step.at, p->step.n);
    }
}

#endif
