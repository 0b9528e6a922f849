/* SPDX-License-Identifier: Apache-2.0
 * Gemm and MatMul. A constant right operand in float32 is packed and becomes a 1x1 convolution of
 * the rows of the left one; all else goes to the general product by strides. */
#include "kernels/matmul.h"

#include <math.h>

#include "base/size.h"
#include "kernels/conv_f32.h"
#include "kernels/dense_f32.h"
#include "kernels/window_plain.h"
#include "ops/epilogue.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/pack.h"

enum { MAX_BATCH = 6 };

/* The product as batches of matrices: y [batch][M][N]. */
typedef struct Product {
    int64_t m, n, k;
    Shape batch; /* of y */
    Shape y;
} Product;

/* A vector operand is a matrix of one row (left) or one column (right). */
static Shape as_matrix(const Node *n, int i)
{
    Shape s = *infer_shape(n, i);
    if (s.rank == 0)
        fail_node(n, STATUS_MALFORMED, NULL, "input %d is a scalar", i);
    if (s.rank == 1) {
        const int64_t d = s.dim[0];
        s = i == 0 ? (Shape){ .rank = 2, .dim = { 1, d } } : (Shape){ .rank = 2, .dim = { d, 1 } };
    }
    return s;
}

static Product product_of(const Node *n)
{
    Shape a = as_matrix(n, 0), b = as_matrix(n, 1);
    Product p = { .m = a.dim[a.rank - 2], .k = a.dim[a.rank - 1], .n = b.dim[b.rank - 1] };
    if (b.dim[b.rank - 2] != p.k)
        fail_node(n, STATUS_MALFORMED, NULL, "matrices %s and %s do not fit",
                  shape_text(n->graph->arena, &n->in[0]->shape),
                  shape_text(n->graph->arena, &n->in[1]->shape));
    a.rank -= 2, b.rank -= 2;
    p.batch = infer_broadcast(n, &a, &b);
    if (p.batch.rank > MAX_BATCH)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "more than %d batch dimensions", MAX_BATCH);
    p.y = p.batch;
    if (n->in[0]->shape.rank > 1)
        p.y.dim[p.y.rank++] = p.m;
    if (n->in[1]->shape.rank > 1)
        p.y.dim[p.y.rank++] = p.n;
    return p;
}

/* Operands of several types would be read wrongly. */
static void check_types(const Node *n)
{
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->dtype != n->in[0]->dtype)
            fail_node(n, STATUS_MALFORMED, NULL, "operands of types %s and %s",
                      dtype_name(n->in[0]->dtype), dtype_name(n->in[i]->dtype));
}

void infer_matmul(Node *n)
{
    check_types(n);
    const Product p = product_of(n);
    infer_out(n, 0, n->in[0]->dtype, p.y);
}

enum { SMALL_PRODUCT = 4096, SMALL_WIDTH = 4 };

/* Does the plain dense kernel serve it? Its code is small; the tiles are faster only on more. */
static bool is_small(const Node *n, int64_t rows, int64_t k, int64_t columns)
{
    const Epilogue e = epilogue_of(n);
    return rows == 1 && k <= SMALL_PRODUCT && columns <= SMALL_PRODUCT &&
           k * columns <= SMALL_PRODUCT && !epilogue_needs_pass(&e);
}

static void lower_dense(Lower *l, Node *n, Tensor *weights, Tensor *bias, int64_t k,
                        int64_t columns, Tensor *residual)
{
    const Epilogue e = epilogue_of(n);
    const int clamp = epilogue_clamp(&e);
    const inlay_dense_params p = { .k = i32_checked(k),
                                   .n = i32_checked(columns),
                                   .clamp = clamp,
                                   .a = clamp & 1 ? e.a : 0.0f,
                                   .b = clamp & 2 ? e.b : 0.0f };
    Step *s = lower_step(l, n, "dense_f32", &p);
    step_out(s, n->out[0]);
    step_in(s, n->in[0]);
    step_in(s, weights);
    step_in(s, bias);
    step_in(s, residual)->reuse = REUSE_ELEMENTWISE;
    s->macs = k * columns;
}

/* The matrix w as the kernel of that product wants it. */
static Tensor *pack_for(Lower *l, const Node *n, const Recipe *w, bool transposed, float alpha,
                        int64_t rows, int64_t k, int64_t columns)
{
    const int width = l->pack_width;
    if (is_small(n, rows, k, columns))
        l->pack_width = SMALL_WIDTH;
    Tensor *t = pack_matrix(l, w, transposed, alpha);
    l->pack_width = width;
    return t;
}

/* The operand's pixels in the rows that the result has. */
static void product_rows(Operand *o, const Step *s, int64_t pixel)
{
    operand_rows(o, s->units, pixel);
    if (!o->tensor)
        return;
    o->strided = true;
    o->rule.kind = ROWS_SAME;
}

/* Operands of inlay_conv_...: the rows of [rows][K] times packed weights. */
static void lower_packed(Lower *l, Node *n, Tensor *weights, Tensor *bias, int64_t rows, int64_t k,
                         int64_t columns, Tensor *residual)
{
    const Epilogue e = epilogue_of(n);
    if (is_small(n, rows, k, columns)) {
        lower_dense(l, n, weights, bias, k, columns, residual);
        return;
    }
    const int64_t width =
        shape_has_rows(&n->out[0]->shape) ? shape_row_pixels(&n->out[0]->shape) : rows;
    const int32_t units = i32_checked(rows / width);
    inlay_conv_params p = { .id = 1,
                            .ih = units,
                            .iw = i32_checked(width),
                            .od = 1,
                            .oh = units,
                            .ow = i32_checked(width),
                            .kd = 1,
                            .kh = 1,
                            .kw = 1,
                            .sd = 1,
                            .sh = 1,
                            .sw = 1,
                            .dd = 1,
                            .dh = 1,
                            .dw = 1,
                            .groups = 1,
                            .ic = i32_checked(k),
                            .oc = i32_checked(columns),
                            .width = l->pack_width };
    p.clamp = epilogue_clamp(&e);
    p.act = epilogue_needs_pass(&e) ? e.act : INLAY_ACT_NONE;
    p.a = p.act || (p.clamp & 1) ? e.a : 0.0f;
    p.b = p.act || (p.clamp & 2) ? e.b : 0.0f;
    Step *s = lower_step(l, n, p.act ? "conv_act_f32" : "conv_f32", &p);
    s->units = units;
    product_rows(step_out(s, n->out[0]), s, columns);
    product_rows(step_in(s, n->in[0]), s, k);
    s->operand[1].reuse = REUSE_ROWS;
    s->operand[1].pixels = (PixelRule){ .stride = 1, .extent = 1, .tile = INLAY_TILE_MOST };
    step_in(s, weights);
    step_in(s, bias);
    Operand *q = step_in(s, residual);
    product_rows(q, s, columns);
    q->reuse = REUSE_ELEMENTWISE;
    s->macs = i64_mul(rows, i64_mul(k, columns));
}

/* Strides over p's batch of an operand whose batch dimensions are those of s; 0 where it is
 * broadcast. */
static void batch_strides(const Product *p, const Shape *s, int matrix_dims, int64_t *to)
{
    int64_t stride = 1;
    for (int i = 0; i < matrix_dims; i++)
        stride = i64_mul(stride, s->dim[s->rank - 1 - i]);
    for (int i = 0; i < MAX_BATCH; i++)
        to[i] = 0;
    for (int i = 0; i < s->rank - matrix_dims; i++) {
        const int64_t d = s->dim[s->rank - matrix_dims - 1 - i];
        to[MAX_BATCH - 1 - i] = d == 1 ? 0 : stride;
        stride = i64_mul(stride, d);
    }
    (void)p;
}

static void set_product(inlay_matmul_params *q, const Product *p)
{
    q->m = i32_checked(p->m), q->n = i32_checked(p->n), q->k = i32_checked(p->k);
    for (int i = 0; i < MAX_BATCH; i++)
        q->batch[i] = 1;
    for (int i = 0; i < p->batch.rank; i++)
        q->batch[MAX_BATCH - 1 - i] = i32_checked(p->batch.dim[p->batch.rank - 1 - i]);
}

static const char *general_kernel(Lower *l, DType t)
{
    return lower_kernel(l, "matmul", t == DT_I32 ? DT_U32 : t == DT_I64 ? DT_U64 : t);
}

/* c: added with q->beta, may be NULL; its strides are in q. e: what is done to the product after
 * that. */
static void lower_general(Lower *l, Node *n, const inlay_matmul_params *q, Tensor *c,
                          const Epilogue *e, int64_t macs)
{
    Tensor *out = n->out[0],
           *y = e->act || e->residual ? lower_temp(l, out->dtype, out->shape) : out;
    Step *s = lower_step(l, n, general_kernel(l, out->dtype), q);
    step_out(s, y);
    step_in(s, n->in[0]);
    step_in(s, n->in[1]);
    step_in(s, c);
    s->macs = macs;
    if (y != out)
        lower_epilogue(l, n, e, y);
}

/* Is operand 1 one constant matrix, and the product one of rows by it? */
static bool is_packable(const Node *n, const Product *p)
{
    const Shape *b = &n->in[1]->shape;
    if (n->in[0]->dtype != DT_F32 || !n->in[1]->value || n->in[0]->value)
        return false;
    for (int i = 0; i < b->rank - 2; i++)
        if (b->dim[i] != 1)
            return false;
    return shape_count(&p->y) > 0 && p->k > 0;
}

void lower_matmul(Lower *l, Node *n)
{
    const Product p = product_of(n);
    const int64_t batches = shape_count(&p.batch), rows = i64_mul(batches, p.m);
    const Epilogue e = epilogue_of(n);
    Tensor *c = NULL;
    for (int i = 2; i < n->n_in; i++) /* a bias added by a pass: one number for each column */
        if (n->in[i] && n->in[i] != e.residual)
            c = n->in[i];
    if (is_packable(n, &p) && (!c || c->value)) {
        const int64_t dims[2] = { p.k, p.n };
        const Recipe *b = recipe_reshape(l->graph->store, n->in[1]->value, 2, dims);
        Tensor *bias = pack_bias(l, c ? c->value : NULL, 1, p.n);
        Tensor *packed = pack_for(l, n, b, false, 1.0f, rows, p.k, p.n);
        lower_packed(l, n, packed, bias, rows, p.k, p.n, e.residual);
        return;
    }
    const Shape a = as_matrix(n, 0), b = as_matrix(n, 1);
    inlay_matmul_params q = { .am = p.k, .ak = 1, .bk = p.n, .bn = 1, .alpha = 1.0f, .beta = 1.0f };
    set_product(&q, &p);
    batch_strides(&p, &a, 2, q.a_batch);
    batch_strides(&p, &b, 2, q.b_batch);
    q.cn = c && tensor_count(c) > 1;
    lower_general(l, n, &q, c, &e, i64_mul(rows, i64_mul(p.n, p.k)));
}

/* Gemm: y [M][N] = alpha A' B' + beta C. */
typedef struct GemmShape {
    int64_t m, n, k;
    bool trans_a, trans_b;
    float alpha, beta;
} GemmShape;

static GemmShape gemm_of(const Node *n)
{
    const Shape *a = infer_shape(n, 0), *b = infer_shape(n, 1);
    GemmShape g = { .trans_a = node_int(n, "transA", 0) != 0,
                    .trans_b = node_int(n, "transB", 0) != 0,
                    .alpha = node_float(n, "alpha", 1.0f),
                    .beta = node_float(n, "beta", 1.0f) };
    if (a->rank != 2 || b->rank != 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its operands have %d and %d dimensions, not two",
                  a->rank, b->rank);
    g.m = a->dim[g.trans_a], g.k = a->dim[!g.trans_a], g.n = b->dim[!g.trans_b];
    if (b->dim[g.trans_b] != g.k)
        fail_node(n, STATUS_MALFORMED, NULL, "matrices %s and %s do not fit",
                  shape_text(n->graph->arena, a), shape_text(n->graph->arena, b));
    return g;
}

static Tensor *gemm_c(const Node *n)
{
    const int64_t residual = node_int(n, "residual", -1);
    return residual == 2 ? NULL : node_in(n, 2);
}

static bool is_whole(float v)
{
    return v == floorf(v);
}

/* Integers times factors that are none. */
static void expand_fractional(Node *n)
{
    Tensor *in[] = { expand_cast(n, n->in[0], DT_F64), expand_cast(n, n->in[1], DT_F64),
                     expand_cast(n, node_in(n, 2), DT_F64) };
    Node *made = expand_node(n, "Gemm", in[2] ? 3 : 2, in, 1);
    expand_copy_attrs(made, n);
    Tensor *y = expand_cast(n, expand_done(made), n->in[0]->dtype);
    expand_finish(n, 1, &y);
}

void infer_gemm(Node *n)
{
    check_types(n);
    if (dtype_is_integer(n->in[0]->dtype) &&
        !(is_whole(node_float(n, "alpha", 1.0f)) && is_whole(node_float(n, "beta", 1.0f)))) {
        infer_shape(n, 0);
        expand_fractional(n);
        return;
    }
    const GemmShape g = gemm_of(n);
    const int64_t dims[2] = { g.m, g.n };
    const Shape y = shape_of(2, dims);
    if (gemm_c(n)) {
        const Shape all = infer_broadcast(n, &y, infer_shape(n, 2));
        if (!shape_equal(&all, &y))
            fail_node(n, STATUS_MALFORMED, NULL, "C %s does not fit %s",
                      shape_text(n->graph->arena, &n->in[2]->shape),
                      shape_text(n->graph->arena, &y));
    }
    infer_out(n, 0, n->in[0]->dtype, y);
}

/* Size of C along rows and columns: 1 where it is broadcast. */
static int64_t c_rows(const Shape *c)
{
    return c->rank == 2 ? c->dim[0] : 1;
}
static int64_t c_columns(const Shape *c)
{
    return c->rank ? c->dim[c->rank - 1] : 1;
}

/* A constant C that is the same in every row, as the bias; NULL where there is no C. */
static Recipe *gemm_bias(Lower *l, const GemmShape *g, const Tensor *c)
{
    Store *s = l->graph->store;
    const int64_t size = c_columns(&c->shape), dims[2] = { 1, g->n };
    Recipe *r = recipe_reshape(s, c->value, 1, &size);
    if (g->beta != 1.0f)
        r = recipe_mul(s, r, recipe_number(s, g->beta));
    return recipe_expand(s, r, 2, dims);
}

/* A C that differs from row to row and can be added as it lies: it has the shape of y and the
 * factor 1. */
static Tensor *gemm_added(Lower *l, const GemmShape *g, Tensor *c)
{
    Store *s = l->graph->store;
    const int64_t dims[2] = { g->m, g->n };
    const Shape y = shape_of(2, dims);
    if (g->beta == 1.0f && shape_equal(&c->shape, &y))
        return c;
    if (!c->value)
        return NULL;
    Recipe *r = c->value;
    if (g->beta != 1.0f)
        r = recipe_mul(s, r, recipe_number(s, g->beta));
    return lower_constant(l, recipe_expand(s, r, 2, dims));
}

/* The packed form; false where C or the residual do not fit it. */
static bool lower_gemm_packed(Lower *l, Node *n, const GemmShape *g, Tensor *c, Tensor *residual)
{
    Tensor *added = residual;
    Recipe *bias = NULL;
    if (n->in[0]->dtype != DT_F32 || !n->in[1]->value || g->trans_a || n->in[0]->value)
        return false;
    if (g->m * g->n * g->k == 0)
        return false;
    if (c && c->value && c_rows(&c->shape) == 1)
        bias = gemm_bias(l, g, c);
    else if (c && residual)
        return false;
    else if (c && !(added = gemm_added(l, g, c)))
        return false;
    Tensor *packed_bias = pack_bias(l, bias, 1, g->n);
    Tensor *packed = pack_for(l, n, n->in[1]->value, g->trans_b, g->alpha, g->m, g->k, g->n);
    lower_packed(l, n, packed, packed_bias, g->m, g->k, g->n, added);
    return true;
}

void lower_gemm(Lower *l, Node *n)
{
    const GemmShape g = gemm_of(n);
    const Epilogue e = epilogue_of(n);
    Tensor *c = gemm_c(n);
    if (lower_gemm_packed(l, n, &g, c, e.residual))
        return;
    const Product p = { .m = g.m, .n = g.n, .k = g.k, .batch = { .rank = 0 } };
    inlay_matmul_params q = { .am = g.trans_a ? 1 : g.k,
                              .ak = g.trans_a ? g.m : 1,
                              .bk = g.trans_b ? 1 : g.n,
                              .bn = g.trans_b ? g.k : 1,
                              .alpha = g.alpha,
                              .beta = c ? g.beta : 1.0f };
    set_product(&q, &p);
    if (c) {
        q.cm = c_rows(&c->shape) > 1 ? c_columns(&c->shape) : 0;
        q.cn = c_columns(&c->shape) > 1 ? 1 : 0;
    }
    lower_general(l, n, &q, c, &e, i64_mul(g.m, i64_mul(g.n, g.k)));
}
