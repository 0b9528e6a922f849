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
static Tensor *twiddles(Lower *lower, DType type, int64_t n)
{
    double *w = NEW_ARRAY(lower->arena, double, 2 * n);
    const int64_t dims[2] = { n, 2 };
    for (int64_t k = 0; k < n; k++) {
        w[2 * k] = cos(-6.283185307179586476925 * (double)k / (double)n);
        w[2 * k + 1] = sin(-6.283185307179586476925 * (double)k / (double)n);
    }
    return lower_constant(lower, recipe_cast(lower->graph->store,
                                             recipe_memory(lower->graph->store, DT_F64, 2, dims, w),
                                             type));
}

/* Length and table of a transform, and scratch: the length is known, or a value up to `most`. */
static void transform_operands(Lower *lower, Node *node, Step *s, DType type, int64_t most,
                               Tensor *length, bool length_first, bool any_length)
{
    Tensor *given =
        length && (!length->value || any_length) ? lower_index(lower, node, length) : NULL;
    Tensor *table = given || any_length ? NULL : twiddles(lower, type, most);
    step_in(s, length_first ? given : table);
    step_in(s, length_first ? table : given);
    step_scratch(lower, s, dtype_bytes(type, i64_mul(most, table ? 4 : 6)));
}

/* The axis: an attribute until opset 19, then operand 2. -1: a value at run time. */
static int dft_axis(const Node *node)
{
    const int rank = infer_shape(node, 0)->rank;
    int64_t count;
    int64_t axis = node_int(node, "axis", node->op->since < 20 ? 1 : -2);
    if (node->op->since >= 20 && node_in(node, 2)) {
        const int64_t *v = infer_ints(node, 2, &count);
        if (tensor_count(node->in[2]) != 1)
            fail_node(node, STATUS_MALFORMED, NULL, "its axis is not one number");
        if (!v)
            return -1;
        axis = *v;
    }
    const int a = node_axis(node, axis, rank);
    if (rank < 2 || a == rank - 1)
        fail_node(node, STATUS_MALFORMED, NULL, "its axis is that of real and imaginary parts");
    return a;
}

/* Inverse and one-sided: half a spectrum becomes a real signal. */
static bool dft_half(const Node *node)
{
    return node_int(node, "inverse", 0) && node_int(node, "onesided", 0);
}

/* The length or the axis is a value: the shape is the declared one, as far as it fits. */
static void infer_dft_declared(Node *node, int axis, const Shape *s)
{
    infer_declared(node, 0, node->in[0]->dtype);
    const Shape *y = &node->out[0]->shape;
    int others = 0;
    for (int i = 0; y->rank == s->rank && i < s->rank - 1; i++)
        others += axis < 0 ? y->dim[i] != s->dim[i] : i != axis && y->dim[i] != s->dim[i];
    if (y->rank != s->rank || y->dim[s->rank - 1] != (dft_half(node) ? 1 : 2) ||
        others > (axis < 0))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result is declared with a shape that does not fit");
}

void infer_dft(Node *node)
{
    const int axis = dft_axis(node);
    Shape shape = *infer_shape(node, 0);
    const int64_t parts = shape.dim[shape.rank - 1];
    if (parts != 1 && parts != 2)
        fail_node(node, STATUS_MALFORMED, NULL, "its last dimension is %lld, not 1 or 2",
                  (long long)parts);
    int64_t count;
    const int64_t *given = infer_ints(node, 1, &count);
    if (axis < 0 || (node_in(node, 1) && !given)) {
        infer_dft_declared(node, axis, &shape);
        return;
    }
    const int64_t length = given && count == 1 ? *given
                           : dft_half(node)    ? 2 * (shape.dim[axis] - 1)
                                               : shape.dim[axis];
    if (length < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "a transform of length %lld", (long long)length);
    shape.dim[axis] = node_int(node, "onesided", 0) && !dft_half(node) ? length / 2 + 1 : length;
    shape.dim[shape.rank - 1] = dft_half(node) ? 1 : 2;
    infer_out(node, 0, node->in[0]->dtype, shape);
}

/* The length of the transform, or the most it can be. */
static int64_t transform_length(const Node *node, int operand, int64_t otherwise, int64_t bins,
                                bool onesided)
{
    int64_t count;
    const int64_t *given = infer_ints(node, operand, &count);
    if (given && (count != 1 || *given < 1))
        fail_node(node, STATUS_MALFORMED, NULL, "its length is no single value above 0");
    if (given)
        return *given;
    if (node_in(node, operand))
        return onesided ? 2 * bins - 1 : bins;
    return otherwise;
}

static int64_t dft_length(const Node *node, int axis)
{
    const Shape *x = &node->in[0]->shape;
    const Shape *y = &node->out[0]->shape;
    const bool half = dft_half(node);
    return transform_length(node, 1, half ? y->dim[axis] : x->dim[axis], y->dim[axis],
                            node_int(node, "onesided", 0) && !half);
}

void lower_dft(Lower *lower, Node *node)
{
    const Shape *x = &node->in[0]->shape;
    const Shape *y = &node->out[0]->shape;
    const int axis = dft_axis(node);
    const bool half = dft_half(node);
    inlay_dft_params params = { .parts = i32_checked(x->dim[x->rank - 1]),
                                .inverse = node_int(node, "inverse", 0) != 0,
                                .onesided = node_int(node, "onesided", 0) && !half,
                                .half = half };
    if (!tensor_count(node->out[0]))
        return;
    if (axis >= 0) {
        params.outer = shape_product(x, 0, axis);
        params.length = x->dim[axis];
        params.inner = shape_product(x, axis + 1, x->rank - 1);
        params.bins = y->dim[axis];
        params.n = dft_length(node, axis);
    }
    for (int i = 0; axis < 0 && i < x->rank - 1; i++) {
        params.n = i64_max(params.n, dft_length(node, i));
        params.nx[params.rank] = x->dim[i];
        params.ny[params.rank++] = y->dim[i];
    }
    Tensor *where = axis < 0 ? lower_index(lower, node, node->in[2]) : NULL;
    Tensor *length = node_in(node, 1);
    if (length && (axis < 0 || !length->value))
        length = lower_index(lower, node, length);
    Step *s = lower_step(lower, node, lower_kernel(lower, "dft", node->in[0]->dtype), &params);
    step_out(s, node->out[0]);
    step_in(s, node->in[0]);
    step_in(s, where);
    transform_operands(lower, node, s, node->in[0]->dtype, params.n, length, false, axis < 0);
}

/* STFT: inputs signal, frame_step, window, frame_length. */
void infer_stft(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    int64_t have_step, have_length;
    const int64_t *step = infer_ints(node, 1, &have_step);
    const int64_t *given = infer_ints(node, 3, &have_length);
    const int64_t window = node_in(node, 2) ? tensor_count(node->in[2]) : 0;
    const int64_t length = given ? *given : node_in(node, 3) ? 0 : window;
    if (x->rank < 2 || x->rank > 3 || (x->rank == 3 && x->dim[2] != 1 && x->dim[2] != 2))
        fail_node(node, STATUS_MALFORMED, NULL, "its signal is of shape %s",
                  shape_text(node->graph->arena, x));
    if (!node_in(node, 2) && !node_in(node, 3))
        fail_node(node, STATUS_MALFORMED, NULL, "has neither a window nor a frame length");
    if (length < 0 || length > x->dim[1])
        fail_node(node, STATUS_MALFORMED, NULL, "frames of %lld of %lld", (long long)length,
                  (long long)x->dim[1]);
    if (!step || !length) {
        infer_declared(node, 0, node->in[0]->dtype);
        const Shape *y = &node->out[0]->shape;
        if (y->rank != 4 || y->dim[0] != x->dim[0] || y->dim[1] < 1 || y->dim[2] < 1 ||
            y->dim[3] != 2)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "its result is declared with a shape that does not fit");
        return;
    }
    if (*step < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "frames of %lld every %lld of %lld",
                  (long long)length, (long long)*step, (long long)x->dim[1]);
    const int64_t dims[4] = { x->dim[0], (x->dim[1] - length) / *step + 1,
                              node_int(node, "onesided", 1) ? length / 2 + 1 : length, 2 };
    infer_out(node, 0, node->in[0]->dtype, shape_of(4, dims));
}

void lower_stft(Lower *lower, Node *node)
{
    const Shape *x = &node->in[0]->shape;
    const Shape *y = &node->out[0]->shape;
    const int64_t window = node_in(node, 2) ? tensor_count(node->in[2]) : 0;
    const bool onesided = node_int(node, "onesided", 1) != 0;
    const int64_t length = transform_length(node, 3, window, y->dim[2], onesided);
    const inlay_stft_params params = { .batch = x->dim[0],
                                       .length = x->dim[1],
                                       .frames = y->dim[1],
                                       .bins = y->dim[2],
                                       .n = length,
                                       .window = window,
                                       .parts = x->rank == 3 ? i32_checked(x->dim[2]) : 1,
                                       .onesided = onesided };
    Tensor *step = lower_index(lower, node, node->in[1]);
    Tensor *given = node_in(node, 3);
    if (given && !given->value)
        given = lower_index(lower, node, given);
    Step *s = lower_step(lower, node, lower_kernel(lower, "stft", node->in[0]->dtype), &params);
    step_out(s, node->out[0]);
    step_in(s, node->in[0]);
    step_in(s, step);
    step_in(s, node_in(node, 2));
    transform_operands(lower, node, s, node->in[0]->dtype, length, given, true, false);
}

/* --- windows, MelWeightMatrix: results of attribute output_datatype --- */

static DType output_type(const Node *node)
{
    const DType type = dtype_of_code(node_int(node, "output_datatype", 1));
    if (type == DT_NONE || type == DT_STRING || type == DT_C64 || type == DT_C128)
        fail_node(node, STATUS_MALFORMED, NULL, "its result is of no numeric type");
    return type;
}

static void infer_generated(Node *node, int rank, const int64_t *dims)
{
    if (!dims) {
        infer_declared(node, 0, output_type(node));
        if (node->out[0]->shape.rank != rank)
            fail_node(node, STATUS_MALFORMED, NULL, "its result is declared with another rank");
        return;
    }
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL, "a size of %lld", (long long)dims[i]);
    infer_out(node, 0, output_type(node), shape_of(rank, dims));
}

void infer_signal_window(Node *node)
{
    int64_t count;
    infer_generated(node, 1, infer_ints(node, 0, &count));
}

void lower_signal_window(Lower *lower, Node *node)
{
    const bool hann = node_is(node, "HannWindow");
    const bool black = node_is(node, "BlackmanWindow");
    const double a = hann ? 0.5 : black ? 0.42 : 25.0 / 46.0;
    const inlay_taper_params params = { .n = tensor_count(node->out[0]),
                                        .periodic = node_int(node, "periodic", 1) != 0,
                                        .a = a,
                                        .b = hann || black ? 0.5 : 1.0 - a,
                                        .c = black ? 0.08 : 0.0 };
    const bool direct = node->out[0]->dtype == DT_F32;
    Tensor *size = lower_index(lower, node, node->in[0]);
    Tensor *y = direct ? node->out[0] : lower_temp(lower, DT_F64, node->out[0]->shape);
    if (!params.n)
        return;
    Step *s = lower_step(lower, node, direct ? "taper_f32" : "taper_f64", &params);
    step_out(s, y);
    step_in(s, size);
    if (!direct)
        lower_cast(lower, node, node->out[0], y, true, 0);
}

void infer_mel(Node *node)
{
    int64_t mels, length;
    const int64_t *m = infer_ints(node, 0, &mels);
    const int64_t *d = infer_ints(node, 1, &length);
    infer_generated(node, 2, m && d ? (const int64_t[]){ *d / 2 + 1, *m } : NULL);
}

void lower_mel(Lower *lower, Node *node)
{
    const inlay_mel_params params = { .bins = node->out[0]->shape.dim[0],
                                      .mels = node->out[0]->shape.dim[1] };
    Tensor *in[5];
    Tensor *y = lower_temp(lower, DT_F64, node->out[0]->shape);
    if (!tensor_count(y))
        return;
    for (int i = 0; i < 5; i++)
        in[i] = i < 3 ? lower_index(lower, node, node->in[i])
                      : lower_as(lower, node, node->in[i], DT_F64);
    Step *s = lower_step(lower, node, "mel_f64", &params);
    step_out(s, y);
    for (int i = 0; i < 5; i++)
        step_in(s, in[i]);
    lower_cast(lower, node, node->out[0], y, true, 0);
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

static Grams grams_of(const Node *node)
{
    Grams grams = { 0 };
    int64_t lengths, weights;
    const int64_t least = node_int(node, "min_gram_length", 1);
    const int64_t most = node_int(node, "max_gram_length", 1);
    const int64_t *start = node_ints(node, "ngram_counts", &lengths);
    grams.token = node_ints(node, "pool_int64s", &grams.pool);
    grams.place = node_ints(node, "ngram_indexes", &grams.count);
    grams.weight = node_floats(node, "weights", &weights);
    if (node_attr(node, "pool_strings") && !grams.pool)
        fail_node(node, STATUS_UNSUPPORTED, "encode the words as integers before the model",
                  "its pool holds strings");
    if (!grams.count || !lengths || (weights && weights != grams.count))
        fail_node(node, STATUS_MALFORMED, NULL, "its lists of n-grams do not fit together");
    grams.row = NEW_ARRAY(node->graph->arena, int32_t, 3 * grams.count + 3);
    grams.scale = NEW_ARRAY(node->graph->arena, float, grams.count + 1);
    int64_t gram = 0;
    for (int64_t k = 0; k < lengths; k++) {
        const int64_t end = k + 1 < lengths ? start[k + 1] : grams.pool;
        if (start[k] < 0 || end > grams.pool || end < start[k] || (end - start[k]) % (k + 1))
            fail_node(node, STATUS_MALFORMED, NULL, "ngram_counts do not fit the pool");
        for (int64_t at = start[k]; at < end; at += k + 1, gram++) {
            if (gram >= grams.count || grams.place[gram] < 0)
                fail_node(node, STATUS_MALFORMED, NULL, "ngram_indexes do not fit the pool");
            if (k + 1 < least || k + 1 > most)
                continue;
            const int32_t row[3] = { i32_checked(at), i32_checked(k + 1),
                                     i32_checked(grams.place[gram]) };
            memcpy(grams.row + 3 * grams.rows, row, sizeof row);
            grams.scale[grams.rows++] = grams.weight ? grams.weight[gram] : 1.0f;
        }
    }
    for (int64_t i = 0; i < grams.count; i++)
        grams.out = i64_max(grams.out, i64_add(grams.place[i], 1));
    return grams;
}

void infer_tfidf(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const Grams grams = grams_of(node);
    if (x->rank < 1 || x->rank > 2)
        fail_node(node, STATUS_MALFORMED, NULL, "its input is of rank %d", x->rank);
    infer_out(node, 0, DT_F32,
              x->rank == 1 ? shape_vector(grams.out)
                           : shape_of(2, (const int64_t[]){ x->dim[0], grams.out }));
}

void lower_tfidf(Lower *lower, Node *node)
{
    static const char *const modes[] = { "TF", "IDF", "TFIDF" };
    const Shape *x = &node->in[0]->shape;
    const Grams g = grams_of(node);
    inlay_tfidf_params params = { .batch = x->rank == 2 ? i32_checked(x->dim[0]) : 1,
                                  .n = i32_checked(x->dim[x->rank - 1]),
                                  .out = i32_checked(g.out),
                                  .grams = g.rows,
                                  .skips =
                                      i32_checked(i64_max(0, node_int(node, "max_skip_count", 0))),
                                  .mode = -1,
                                  .wide = node->in[0]->dtype == DT_I64 };
    for (int i = 0; i < 3; i++)
        if (!strcmp(node_string(node, "mode", "TF"), modes[i]))
            params.mode = i;
    if (params.mode < 0)
        fail_node(node, STATUS_MALFORMED, NULL, "unknown mode \"%s\"",
                  node_string(node, "mode", ""));
    Step *s = lower_step(lower, node, "tfidf", &params);
    step_out(s, node->out[0]);
    step_in(s, node->in[0]);
    step_in(s, lower_i64s(lower, g.token, g.pool));
    step_in(s, lower_i32s(lower, g.row, i64_max(1, 3 * (int64_t)g.rows)));
    step_in(s, lower_floats(lower, g.scale, i64_max(1, g.rows)));
}
