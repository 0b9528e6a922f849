/* SPDX-License-Identifier: Apache-2.0
 * Products of 8-bit integers: MatMulInteger, QLinearMatMul, ConvInteger, QLinearConv.
 * Scales and zero points are operands: they may be made at run time. */
#include "kernels/qdot.h"

#include "base/size.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/typed.h"
#include "ops/window.h"

/* Where a product's operands stand in its node; -1: it has none. */
typedef struct Places {
    int a, b, za, zb, sa, sb, sy, zy, bias;
} Places;

static const Places matmul_integer = { 0, 1, 2, 3, -1, -1, -1, -1, -1 };
static const Places qlinear_matmul = { 0, 3, 2, 5, 1, 4, 6, 7, -1 };
static const Places conv_integer = { 0, 1, 2, 3, -1, -1, -1, -1, -1 };
static const Places qlinear_conv = { 0, 3, 2, 5, 1, 4, 6, 7, 8 };

static Tensor *at(const Node *n, int place)
{
    return place < 0 ? NULL : node_in(n, place);
}

static bool is_signed(const Tensor *t)
{
    return t->dtype == DT_I8;
}

static void check_bytes(const Node *n, int place)
{
    const DType t = n->in[place]->dtype;
    if (t != DT_I8 && t != DT_U8)
        fail_node(n, STATUS_UNSUPPORTED, "quantize to int8 or uint8", "input %d is of type %s",
                  place, dtype_name(t));
}

static int32_t out_kind(const Node *n, DType t)
{
    if (t == DT_I32)
        return INLAY_QOUT_I32;
    if (t == DT_U8)
        return INLAY_QOUT_U8;
    if (t == DT_I8)
        return INLAY_QOUT_I8;
    fail_node(n, STATUS_UNSUPPORTED, NULL, "its result is of type %s", dtype_name(t));
}

/* Batch dimensions of a matrix product, and its rows, columns, depth. A vector is a matrix of one
 * row or column. */
typedef struct Product {
    Shape batch, a, b; /* batches */
    int64_t m, n, k;
    bool a_vector, b_vector;
} Product;

static Shape batch_of(const Shape *s)
{
    return s->rank > 2 ? shape_of(s->rank - 2, s->dim) : shape_scalar();
}

static Product product_of(const Node *n, const Places *p)
{
    const Shape *a = infer_shape(n, p->a), *b = infer_shape(n, p->b);
    if (!a->rank || !b->rank)
        fail_node(n, STATUS_MALFORMED, NULL, "an operand is a scalar");
    Product r = {
        .a = batch_of(a), .b = batch_of(b), .a_vector = a->rank == 1, .b_vector = b->rank == 1
    };
    r.m = r.a_vector ? 1 : a->dim[a->rank - 2];
    r.k = a->dim[a->rank - 1];
    r.n = r.b_vector ? 1 : b->dim[b->rank - 1];
    if (b->dim[r.b_vector ? 0 : b->rank - 2] != r.k)
        fail_node(n, STATUS_MALFORMED, NULL, "matrices %s and %s do not fit",
                  shape_text(n->graph->arena, a), shape_text(n->graph->arena, b));
    r.batch = infer_broadcast(n, &r.a, &r.b);
    return r;
}

static Shape product_shape(const Product *r)
{
    Shape s = r->batch;
    if (!r->a_vector)
        s.dim[s.rank++] = r->m;
    if (!r->b_vector)
        s.dim[s.rank++] = r->n;
    return s;
}

void infer_matmul_integer(Node *n)
{
    const Product r = product_of(n, &matmul_integer);
    infer_out(n, 0, DT_I32, product_shape(&r));
}

/* Quantization of operands x, scale, zero point; a vector of scales lies along `axis`. */
static Tensor *requantized(const Node *n, const char *op, Tensor *x, Tensor *scale, Tensor *zero,
                           int axis)
{
    Tensor *in[] = { x, expand_cast(n, scale, DT_F32), zero };
    Node *made = expand_node(n, op, zero ? 3 : 2, in, 1);
    if (scale->shape.rank)
        node_set_int(made, "axis", axis);
    return expand_done(made);
}

/* Factors or a result of 8-bit floats: there is nothing exact to keep, the product is one of
 * float32. */
static bool expand_float8(Node *n)
{
    if (!dtype_is_float(n->in[0]->dtype) && !dtype_is_float(n->in[3]->dtype) &&
        !dtype_is_float(n->in[7]->dtype))
        return false;
    const int a = infer_shape(n, 0)->rank, b = infer_shape(n, 3)->rank;
    Tensor *y = expand_binary(
        n, "MatMul", requantized(n, "DequantizeLinear", n->in[0], n->in[1], n->in[2], a - 2),
        requantized(n, "DequantizeLinear", n->in[3], n->in[4], n->in[5], b - 1));
    y = requantized(n, "QuantizeLinear", y, n->in[6], n->in[7], y->shape.rank - 2);
    expand_finish(n, 1, &y);
    return true;
}

void infer_qlinear_matmul(Node *n)
{
    if (expand_float8(n))
        return;
    const Product r = product_of(n, &qlinear_matmul);
    infer_out(n, 0, n->in[7]->dtype, product_shape(&r));
}

static void set_batch(inlay_qmatmul_params *p, const Node *n, const Product *r)
{
    int64_t as[MAX_RANK], bs[MAX_RANK];
    if (r->batch.rank > 6)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "has more than 8 dimensions");
    shape_broadcast_strides(&r->a, &r->batch, as);
    shape_broadcast_strides(&r->b, &r->batch, bs);
    p->rank = r->batch.rank;
    for (int i = 0; i < r->batch.rank; i++) {
        p->dims[i] = i32_checked(r->batch.dim[i]);
        p->as[i] = i32_checked(as[i]);
        p->bs[i] = i32_checked(bs[i]);
    }
}

/* The operands that follow the two factors, in the kernels' order: zero points, scales, those of
 * the result. */
enum { QUANT_OPERANDS = 6 };

static void quant_operands(Lower *l, Node *n, const Places *p, Tensor **q)
{
    q[0] = at(n, p->za);
    q[1] = at(n, p->zb);
    q[2] = lower_as(l, n, at(n, p->sa), DT_F32);
    q[3] = lower_as(l, n, at(n, p->sb), DT_F32);
    q[4] = lower_as(l, n, at(n, p->sy), DT_F32);
    q[5] = at(n, p->zy);
}

/* A scale or zero point: one for all, or one for each row or column, in each matrix or in all. */
static void check_count(const Node *n, int place, int64_t lines, int64_t batches)
{
    const Tensor *t = at(n, place);
    const int64_t count = t ? shape_count(infer_shape(n, place)) : 1;
    if (count != 1 && count != lines && count != i64_mul(lines, batches))
        fail_node(n, STATUS_MALFORMED, NULL, "its operand \"%s\" has %lld elements, 1 or %lld fit",
                  t->name, (long long)count, (long long)lines);
}

static void check_counts(const Node *n, const Places *p, const Product *r)
{
    const int64_t batches = shape_count(&r->batch);
    check_count(n, p->za, r->m, batches);
    check_count(n, p->sa, r->m, batches);
    check_count(n, p->zb, r->n, batches);
    check_count(n, p->sb, r->n, batches);
}

static void lower_product(Lower *l, Node *n, const Places *places)
{
    const Product r = product_of(n, places);
    check_counts(n, places, &r);
    Tensor *a = at(n, places->a), *b = at(n, places->b);
    check_bytes(n, places->a);
    check_bytes(n, places->b);
    inlay_qmatmul_params p = { .m = i32_checked(r.m),
                               .n = i32_checked(r.n),
                               .k = i32_checked(r.k),
                               .signs = is_signed(a) | is_signed(b) << 1,
                               .out = out_kind(n, n->out[0]->dtype),
                               .za = operand_count(at(n, places->za)),
                               .zb = operand_count(at(n, places->zb)),
                               .sa = operand_count(at(n, places->sa)),
                               .sb = operand_count(at(n, places->sb)) };
    set_batch(&p, n, &r);
    if (!tensor_count(n->out[0]))
        return;
    Tensor *q[QUANT_OPERANDS];
    quant_operands(l, n, places, q);
    Step *s = lower_step(l, n, "qmatmul", &p);
    step_out(s, n->out[0]);
    step_in(s, a);
    step_in(s, b);
    for (int i = 0; i < QUANT_OPERANDS; i++)
        step_in(s, q[i]);
    s->macs = i64_mul(tensor_count(n->out[0]), r.k);
}

void lower_matmul_integer(Lower *l, Node *n)
{
    lower_product(l, n, &matmul_integer);
}
void lower_qlinear_matmul(Lower *l, Node *n)
{
    lower_product(l, n, &qlinear_matmul);
}

/* Convolutions. */

static const int64_t *taps_of(const Node *n, const Places *p)
{
    const Shape *w = infer_shape(n, p->b);
    if (w->rank != infer_shape(n, 0)->rank)
        fail_node(n, STATUS_MALFORMED, NULL, "its weights have %d dimensions, its image %d",
                  w->rank, n->in[0]->shape.rank);
    return w->dim + 2;
}

static void infer_qconv(Node *n, const Places *p, DType t)
{
    const Window w = window_of(n, taps_of(n, p));
    const Shape *k = infer_shape(n, p->b);
    const int64_t groups = node_int(n, "group", 1);
    if (groups < 1 || w.channels % groups || k->dim[1] != w.channels / groups || k->dim[0] % groups)
        fail_node(n, STATUS_MALFORMED, NULL, "weights %s do not fit %lld channels in %lld groups",
                  shape_text(n->graph->arena, k), (long long)w.channels, (long long)groups);
    infer_out(n, 0, t, window_shape(&w, k->dim[0]));
}

void infer_conv_integer(Node *n)
{
    infer_qconv(n, &conv_integer, DT_I32);
}
void infer_qlinear_conv(Node *n)
{
    infer_qconv(n, &qlinear_conv, node_in(n, 7) ? n->in[7]->dtype : n->in[0]->dtype);
}

/* Weights [groups * OC][IC][taps...] -> [groups][taps][IC][OC]; depthwise: [taps][C]. Made at run
 * time where they are no constant. */
static Tensor *turned_weights(Lower *l, Node *n, Tensor *w, const inlay_qconv_params *p)
{
    const int64_t taps = i64_mul(i64_mul(p->kd, p->kh), p->kw);
    const bool depthwise = p->ic == 1 && p->oc == 1;
    const int64_t dims[4] = { depthwise ? 1 : p->groups, depthwise ? p->groups : p->oc, p->ic,
                              taps };
    static const int perm[4] = { 0, 3, 2, 1 };
    if (w->value)
        return lower_constant(
            l, recipe_transpose(l->graph->store, recipe_reshape(l->graph->store, w->value, 4, dims),
                                perm));
    const int64_t to[4] = { dims[0], dims[3], dims[2], dims[1] };
    Tensor *y = lower_temp(l, w->dtype, shape_of(4, to));
    Move m = { .rank = 4,
               .n = { to[0], to[1], to[2], to[3] },
               .x = { i64_mul(dims[1], i64_mul(dims[2], taps)), 1, taps, i64_mul(dims[2], taps) } };
    shape_strides(&y->shape, m.y);
    lower_move(l, n, y, w, &m);
    return y;
}

static inlay_qconv_params conv_params(const Window *w)
{
    inlay_conv_params c = { 0 };
    window_conv_params(w, &c);
    return (inlay_qconv_params){ .id = c.id,
                                 .ih = c.ih,
                                 .iw = c.iw,
                                 .od = c.od,
                                 .oh = c.oh,
                                 .ow = c.ow,
                                 .kd = c.kd,
                                 .kh = c.kh,
                                 .kw = c.kw,
                                 .sd = c.sd,
                                 .sh = c.sh,
                                 .sw = c.sw,
                                 .dd = c.dd,
                                 .dh = c.dh,
                                 .dw = c.dw,
                                 .pd = c.pd,
                                 .ph = c.ph,
                                 .pw = c.pw };
}

/* The image as the kernel wants it: channels last. */
static Tensor *image_last(Lower *l, Node *n, Tensor *x, bool back, Tensor *to)
{
    const Shape *s = back ? &to->shape : &x->shape; /* channels first */
    const int64_t volume = shape_product(s, 2, s->rank), dims[3] = { s->dim[0], volume, s->dim[1] };
    Tensor *y = back ? to : lower_temp(l, x->dtype, shape_of(3, dims));
    Move m = { .rank = 3,
               .n = { dims[0], dims[1], dims[2] },
               .y = { i64_mul(volume, dims[2]), dims[2], 1 },
               .x = { i64_mul(volume, dims[2]), 1, volume } };
    if (back)
        m = (Move){ .rank = 3,
                    .n = { dims[0], dims[2], dims[1] },
                    .y = { i64_mul(volume, dims[2]), volume, 1 },
                    .x = { i64_mul(volume, dims[2]), 1, dims[2] } };
    lower_move(l, n, y, x, &m);
    return y;
}

/* Rows of an image of any layout of dims: `rows` of `channels` a pixel. */
static void conv_rows(Step *s, const inlay_qconv_params *p, int64_t images)
{
    operand_rows(s->operand, i32_checked(i64_mul(images, i64_mul(p->od, p->oh))),
                 i64_mul(p->groups, p->oc));
    operand_rows(s->operand + 1, i32_checked(i64_mul(images, i64_mul(p->id, p->ih))),
                 i64_mul(p->groups, p->ic));
    s->units = s->operand->rows;
    s->operand[0].strided = s->operand[1].strided = true;
    if (images == 1 && p->od == 1 && p->id == 1)
        operand_window(s->operand + 1, p->sh, p->ph, (p->kh - 1) * p->dh + 1);
}

static void lower_qconv_at(Lower *l, Node *n, const Places *places)
{
    Window w = window_of(n, taps_of(n, places));
    if (n->channels_last)
        window_upright(&w);
    Tensor *weights = at(n, places->b), *out = n->out[0], *zero = at(n, places->zb),
           *scale = at(n, places->sb);
    inlay_qconv_params p = conv_params(&w);
    check_bytes(n, places->a);
    check_bytes(n, places->b);
    p.groups = i32_checked(node_int(n, "group", 1));
    p.ic = i32_checked(w.channels / p.groups);
    p.oc = i32_checked(weights->shape.dim[0] / p.groups);
    p.signs = is_signed(n->in[0]) | is_signed(weights) << 1;
    p.out = out_kind(n, out->dtype);
    p.zw = operand_count(zero);
    p.sw_count = operand_count(scale);
    if (!tensor_count(out))
        return;
    Tensor *x = n->channels_last ? n->in[0] : image_last(l, n, n->in[0], false, NULL);
    Tensor *y = n->channels_last ? out : lower_temp(l, out->dtype, shape_vector(tensor_count(out)));
    Tensor *packed = turned_weights(l, n, weights, &p);
    Tensor *q[QUANT_OPERANDS];
    quant_operands(l, n, places, q);
    Step *s = lower_step(l, n, "qconv", &p);
    step_out(s, y);
    step_in(s, x);
    step_in(s, packed);
    for (int i = 0; i < QUANT_OPERANDS; i++)
        step_in(s, q[i]);
    step_in(s, at(n, places->bias));
    conv_rows(s, &p, w.images);
    s->macs = i64_mul(tensor_count(out), i64_mul(p.ic, i64_mul(p.kd, i64_mul(p.kh, p.kw))));
    if (y != out)
        image_last(l, n, y, true, out);
}

void lower_conv_integer(Lower *l, Node *n)
{
    lower_qconv_at(l, n, &conv_integer);
}
void lower_qlinear_conv(Lower *l, Node *n)
{
    lower_qconv_at(l, n, &qlinear_conv);
}
