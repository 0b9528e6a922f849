/* SPDX-License-Identifier: Apache-2.0
 * Signals: DFT, STFT, windows, MelWeightMatrix; and TfIdfVectorizer over integers. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "kernels/fft.h"
#include "kernels/signal.h"
#include "ops/families.h"
#include "ops/nest.h"
#include "ops/typed.h"
#include "ops/values.h"

/* --- DFT, STFT --- */

/* Twiddles e^(-2 pi i k / n), [n][2]. */
static Tensor *twiddles(Lower *l, DType t, int64_t n)
{
    double *w = NEW_ARRAY(l->arena, double, 2 * n);
    const int64_t dims[2] = { n, 2 };
    for (int64_t k = 0; k < n; k++) {
        w[2 * k] = cos(-6.283185307179586476925 * (double)k / (double)n);
        w[2 * k + 1] = sin(-6.283185307179586476925 * (double)k / (double)n);
    }
    return lower_constant(
        l, recipe_cast(l->graph->store, recipe_memory(l->graph->store, DT_F64, 2, dims, w), t));
}

/* Length and table of a transform, and scratch: the length is known, or a value up to `most`. */
static void transform_operands(Lower *l, Node *n, Step *s, DType t, int64_t most, Tensor *length,
                               bool length_first, bool any_length)
{
    Tensor *given = length && (!length->value || any_length) ? lower_index(l, n, length) : NULL,
           *table = given || any_length ? NULL : twiddles(l, t, most);
    step_in(s, length_first ? given : table);
    step_in(s, length_first ? table : given);
    step_scratch(l, s, dtype_bytes(t, i64_mul(most, table ? 4 : 6)));
}

/* The axis: an attribute until opset 19, then operand 2. -1: a value at run time. */
static int dft_axis(const Node *n)
{
    const int rank = infer_shape(n, 0)->rank;
    int64_t count, axis = node_int(n, "axis", n->op->since < 20 ? 1 : -2);
    if (n->op->since >= 20 && node_in(n, 2)) {
        const int64_t *v = infer_ints(n, 2, &count);
        if (tensor_count(n->in[2]) != 1)
            fail_node(n, STATUS_MALFORMED, NULL, "its axis is not one number");
        if (!v)
            return -1;
        axis = *v;
    }
    const int a = node_axis(n, axis, rank);
    if (rank < 2 || a == rank - 1)
        fail_node(n, STATUS_MALFORMED, NULL, "its axis is that of real and imaginary parts");
    return a;
}

/* Inverse and one-sided: half a spectrum becomes a real signal. */
static bool dft_half(const Node *n)
{
    return node_int(n, "inverse", 0) && node_int(n, "onesided", 0);
}

/* The length or the axis is a value: the shape is the declared one, as far as it fits. */
static void infer_dft_declared(Node *n, int axis, const Shape *s)
{
    infer_declared(n, 0, n->in[0]->dtype);
    const Shape *y = &n->out[0]->shape;
    int others = 0;
    for (int i = 0; y->rank == s->rank && i < s->rank - 1; i++)
        others += axis < 0 ? y->dim[i] != s->dim[i] : i != axis && y->dim[i] != s->dim[i];
    if (y->rank != s->rank || y->dim[s->rank - 1] != (dft_half(n) ? 1 : 2) || others > (axis < 0))
        fail_node(n, STATUS_MALFORMED, NULL,
                  "its result is declared with a shape that does not fit");
}

void infer_dft(Node *n)
{
    const int axis = dft_axis(n);
    Shape s = *infer_shape(n, 0);
    const int64_t parts = s.dim[s.rank - 1];
    if (parts != 1 && parts != 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its last dimension is %lld, not 1 or 2",
                  (long long)parts);
    int64_t count;
    const int64_t *given = infer_ints(n, 1, &count);
    if (axis < 0 || (node_in(n, 1) && !given)) {
        infer_dft_declared(n, axis, &s);
        return;
    }
    const int64_t length = given && count == 1 ? *given
                           : dft_half(n)       ? 2 * (s.dim[axis] - 1)
                                               : s.dim[axis];
    if (length < 1)
        fail_node(n, STATUS_MALFORMED, NULL, "a transform of length %lld", (long long)length);
    s.dim[axis] = node_int(n, "onesided", 0) && !dft_half(n) ? length / 2 + 1 : length;
    s.dim[s.rank - 1] = dft_half(n) ? 1 : 2;
    infer_out(n, 0, n->in[0]->dtype, s);
}

/* The length of the transform, or the most it can be. */
static int64_t transform_length(const Node *n, int operand, int64_t otherwise, int64_t bins,
                                bool onesided)
{
    int64_t count;
    const int64_t *given = infer_ints(n, operand, &count);
    if (given && count == 1)
        return *given;
    if (node_in(n, operand))
        return onesided ? 2 * bins - 1 : bins;
    return otherwise;
}

static int64_t dft_length(const Node *n, int axis)
{
    const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    const bool half = dft_half(n);
    return transform_length(n, 1, half ? y->dim[axis] : x->dim[axis], y->dim[axis],
                            node_int(n, "onesided", 0) && !half);
}

void lower_dft(Lower *l, Node *n)
{
    const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    const int axis = dft_axis(n);
    const bool half = dft_half(n);
    inlay_dft_params p = { .parts = i32_checked(x->dim[x->rank - 1]),
                           .inverse = node_int(n, "inverse", 0) != 0,
                           .onesided = node_int(n, "onesided", 0) && !half,
                           .half = half };
    if (!tensor_count(n->out[0]))
        return;
    if (axis >= 0) {
        p.outer = shape_product(x, 0, axis);
        p.length = x->dim[axis];
        p.inner = shape_product(x, axis + 1, x->rank - 1);
        p.bins = y->dim[axis];
        p.n = dft_length(n, axis);
    }
    for (int i = 0; axis < 0 && i < x->rank - 1; i++) {
        p.n = i64_max(p.n, dft_length(n, i));
        p.nx[p.rank] = x->dim[i];
        p.ny[p.rank++] = y->dim[i];
    }
    Tensor *where = axis < 0 ? lower_index(l, n, n->in[2]) : NULL, *length = node_in(n, 1);
    if (length && (axis < 0 || !length->value))
        length = lower_index(l, n, length);
    Step *s = lower_step(l, n, lower_kernel(l, "dft", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    step_in(s, n->in[0]);
    step_in(s, where);
    transform_operands(l, n, s, n->in[0]->dtype, p.n, length, false, axis < 0);
}

/* STFT: inputs signal, frame_step, window, frame_length. */
void infer_stft(Node *n)
{
    const Shape *x = infer_shape(n, 0);
    int64_t have_step, have_length;
    const int64_t *step = infer_ints(n, 1, &have_step), *given = infer_ints(n, 3, &have_length);
    const int64_t window = node_in(n, 2) ? tensor_count(n->in[2]) : 0, length = given ? *given
                                                                                : node_in(n, 3)
                                                                                    ? 0
                                                                                    : window;
    if (x->rank < 2 || x->rank > 3 || (x->rank == 3 && x->dim[2] != 1 && x->dim[2] != 2))
        fail_node(n, STATUS_MALFORMED, NULL, "its signal is of shape %s",
                  shape_text(n->graph->arena, x));
    if (!node_in(n, 2) && !node_in(n, 3))
        fail_node(n, STATUS_MALFORMED, NULL, "has neither a window nor a frame length");
    if (!step || !length) {
        infer_declared(n, 0, n->in[0]->dtype);
        const Shape *y = &n->out[0]->shape;
        if (y->rank != 4 || y->dim[0] != x->dim[0] || y->dim[1] < 1 || y->dim[2] < 1 ||
            y->dim[3] != 2)
            fail_node(n, STATUS_MALFORMED, NULL,
                      "its result is declared with a shape that does not fit");
        return;
    }
    if (*step < 1 || length < 1 || length > x->dim[1])
        fail_node(n, STATUS_MALFORMED, NULL, "frames of %lld every %lld of %lld", (long long)length,
                  (long long)*step, (long long)x->dim[1]);
    const int64_t dims[4] = { x->dim[0], (x->dim[1] - length) / *step + 1,
                              node_int(n, "onesided", 1) ? length / 2 + 1 : length, 2 };
    infer_out(n, 0, n->in[0]->dtype, shape_of(4, dims));
}

void lower_stft(Lower *l, Node *n)
{
    const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    const int64_t window = node_in(n, 2) ? tensor_count(n->in[2]) : 0;
    const bool onesided = node_int(n, "onesided", 1) != 0;
    const int64_t length = transform_length(n, 3, window, y->dim[2], onesided);
    const inlay_stft_params p = { .batch = x->dim[0],
                                  .length = x->dim[1],
                                  .frames = y->dim[1],
                                  .bins = y->dim[2],
                                  .n = length,
                                  .window = window,
                                  .parts = x->rank == 3 ? i32_checked(x->dim[2]) : 1,
                                  .onesided = onesided };
    Tensor *step = lower_index(l, n, n->in[1]), *given = node_in(n, 3);
    if (given && !given->value)
        given = lower_index(l, n, given);
    Step *s = lower_step(l, n, lower_kernel(l, "stft", n->in[0]->dtype), &p);
    step_out(s, n->out[0]);
    step_in(s, n->in[0]);
    step_in(s, step);
    step_in(s, node_in(n, 2));
    transform_operands(l, n, s, n->in[0]->dtype, length, given, true, false);
}

/* --- windows, MelWeightMatrix: results of attribute output_datatype --- */

static DType output_type(const Node *n)
{
    const DType t = dtype_of_code(node_int(n, "output_datatype", 1));
    if (t == DT_NONE || t == DT_STRING || t == DT_C64 || t == DT_C128)
        fail_node(n, STATUS_MALFORMED, NULL, "its result is of no numeric type");
    return t;
}

static void infer_generated(Node *n, int rank, const int64_t *dims)
{
    if (!dims) {
        infer_declared(n, 0, output_type(n));
        if (n->out[0]->shape.rank != rank)
            fail_node(n, STATUS_MALFORMED, NULL, "its result is declared with another rank");
        return;
    }
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0)
            fail_node(n, STATUS_MALFORMED, NULL, "a size of %lld", (long long)dims[i]);
    infer_out(n, 0, output_type(n), shape_of(rank, dims));
}

void infer_signal_window(Node *n)
{
    int64_t count;
    infer_generated(n, 1, infer_ints(n, 0, &count));
}

void lower_signal_window(Lower *l, Node *n)
{
    const bool hann = node_is(n, "HannWindow"), black = node_is(n, "BlackmanWindow");
    const double a = hann ? 0.5 : black ? 0.42 : 25.0 / 46.0;
    const inlay_taper_params p = { .n = tensor_count(n->out[0]),
                                   .periodic = node_int(n, "periodic", 1) != 0,
                                   .a = a,
                                   .b = hann || black ? 0.5 : 1.0 - a,
                                   .c = black ? 0.08 : 0.0 };
    const bool direct = n->out[0]->dtype == DT_F32;
    Tensor *size = lower_index(l, n, n->in[0]),
           *y = direct ? n->out[0] : lower_temp(l, DT_F64, n->out[0]->shape);
    if (!p.n)
        return;
    Step *s = lower_step(l, n, direct ? "taper_f32" : "taper_f64", &p);
    step_out(s, y);
    step_in(s, size);
    if (!direct)
        lower_cast(l, n, n->out[0], y, true, 0);
}

void infer_mel(Node *n)
{
    int64_t mels, length;
    const int64_t *m = infer_ints(n, 0, &mels), *d = infer_ints(n, 1, &length);
    infer_generated(n, 2, m && d ? (const int64_t[]){ *d / 2 + 1, *m } : NULL);
}

void lower_mel(Lower *l, Node *n)
{
    const inlay_mel_params p = { .bins = n->out[0]->shape.dim[0], .mels = n->out[0]->shape.dim[1] };
    Tensor *in[5], *y = lower_temp(l, DT_F64, n->out[0]->shape);
    if (!tensor_count(y))
        return;
    for (int i = 0; i < 5; i++)
        in[i] = i < 3 ? lower_index(l, n, n->in[i]) : lower_as(l, n, n->in[i], DT_F64);
    Step *s = lower_step(l, n, "mel_f64", &p);
    step_out(s, y);
    for (int i = 0; i < 5; i++)
        step_in(s, in[i]);
    lower_cast(l, n, n->out[0], y, true, 0);
}

/* --- TfIdfVectorizer --- */

typedef struct Grams {
    int64_t count, pool, out;
    const int64_t *token, *place;
    const float *weight;
    int32_t *row; /* first, length, place of each that counts */
    float *scale;
    int rows;
} Grams;

static Grams grams_of(const Node *n)
{
    Grams g = { 0 };
    int64_t lengths, weights;
    const int64_t least = node_int(n, "min_gram_length", 1),
                  most = node_int(n, "max_gram_length", 1),
                  *start = node_ints(n, "ngram_counts", &lengths);
    g.token = node_ints(n, "pool_int64s", &g.pool);
    g.place = node_ints(n, "ngram_indexes", &g.count);
    g.weight = node_floats(n, "weights", &weights);
    if (node_attr(n, "pool_strings") && !g.pool)
        fail_node(n, STATUS_UNSUPPORTED, "encode the words as integers before the model",
                  "its pool holds strings");
    if (!g.count || !lengths || (weights && weights != g.count))
        fail_node(n, STATUS_MALFORMED, NULL, "its lists of n-grams do not fit together");
    g.row = NEW_ARRAY(n->graph->arena, int32_t, 3 * g.count + 3);
    g.scale = NEW_ARRAY(n->graph->arena, float, g.count + 1);
    int64_t gram = 0;
    for (int64_t k = 0; k < lengths; k++) {
        const int64_t end = k + 1 < lengths ? start[k + 1] : g.pool;
        if (start[k] < 0 || end > g.pool || end < start[k] || (end - start[k]) % (k + 1))
            fail_node(n, STATUS_MALFORMED, NULL, "ngram_counts do not fit the pool");
        for (int64_t at = start[k]; at < end; at += k + 1, gram++) {
            if (gram >= g.count || g.place[gram] < 0)
                fail_node(n, STATUS_MALFORMED, NULL, "ngram_indexes do not fit the pool");
            if (k + 1 < least || k + 1 > most)
                continue;
            const int32_t row[3] = { i32_checked(at), i32_checked(k + 1),
                                     i32_checked(g.place[gram]) };
            memcpy(g.row + 3 * g.rows, row, sizeof row);
            g.scale[g.rows++] = g.weight ? g.weight[gram] : 1.0f;
        }
    }
    for (int64_t i = 0; i < g.count; i++)
        g.out = i64_max(g.out, i64_add(g.place[i], 1));
    return g;
}

void infer_tfidf(Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const Grams g = grams_of(n);
    if (x->rank < 1 || x->rank > 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its input is of rank %d", x->rank);
    infer_out(n, 0, DT_F32,
              x->rank == 1 ? shape_vector(g.out)
                           : shape_of(2, (const int64_t[]){ x->dim[0], g.out }));
}

void lower_tfidf(Lower *l, Node *n)
{
    static const char *const modes[] = { "TF", "IDF", "TFIDF" };
    const Shape *x = &n->in[0]->shape;
    const Grams g = grams_of(n);
    inlay_tfidf_params p = { .batch = x->rank == 2 ? i32_checked(x->dim[0]) : 1,
                             .n = i32_checked(x->dim[x->rank - 1]),
                             .out = i32_checked(g.out),
                             .grams = g.rows,
                             .skips = i32_checked(i64_max(0, node_int(n, "max_skip_count", 0))),
                             .mode = -1,
                             .wide = n->in[0]->dtype == DT_I64 };
    for (int i = 0; i < 3; i++)
        if (!strcmp(node_string(n, "mode", "TF"), modes[i]))
            p.mode = i;
    if (p.mode < 0)
        fail_node(n, STATUS_MALFORMED, NULL, "unknown mode \"%s\"", node_string(n, "mode", ""));
    Step *s = lower_step(l, n, "tfidf", &p);
    step_out(s, n->out[0]);
    step_in(s, n->in[0]);
    step_in(s, lower_i64s(l, g.token, g.pool));
    step_in(s, lower_i32s(l, g.row, i64_max(1, 3 * (int64_t)g.rows)));
    step_in(s, lower_floats(l, g.scale, i64_max(1, g.rows)));
}
