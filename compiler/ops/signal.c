/* SPDX-License-Identifier: Apache-2.0
 * Signals: DFT, STFT, windows, MelWeightMatrix; and TfIdfVectorizer over integers. */
#include <math.h>
#include <string.h>

#include "base/limits.h"
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
    Store *store = lower->store;
    const double turn = 6.283185307179586476925;
    const int64_t dims[2] = { n, 2 };
    if (n > LIMIT_TRANSFORM)
        fail_node(lower->node, STATUS_UNSUPPORTED, NULL,
                  "a transform of more than %d points", LIMIT_TRANSFORM);
    double *table = NEW_ARRAY(lower->arena, double, 2 * n);
    for (int64_t k = 0; k < n; k++) {
        table[2 * k] = cos(-turn * (double)k / (double)n);
        table[2 * k + 1] = sin(-turn * (double)k / (double)n);
    }
    Recipe *value = recipe_memory(store, DT_F64, 2, dims, table);
    return lower_constant(lower, recipe_cast(store, value, type));
}

/* Length and table of a transform, and scratch: the length is known, or a value up to `most`. */
static void transform_operands(Lower *lower, Step *s, DType type, int64_t most,
                               Tensor *length, bool length_first,
                               bool any_length)
{
    Tensor *given = length && (!length->value || any_length)
                        ? lower_index(lower, length)
                        : NULL;
    Tensor *table = given || any_length ? NULL : twiddles(lower, type, most);
    step_in(s, length_first ? given : table);
    step_in(s, length_first ? table : given);
    step_scratch(lower, s, dtype_bytes(type, i64_mul(most, table ? 4 : 6)));
}

/* The axis: an attribute until opset 19, then operand 2. -1: a value at run time. */
static int dft_axis(const Node *node)
{
    const int rank = infer_shape(node, 0)->rank;
    const bool by_input = node->op->since >= 20;
    int64_t axis = node_int(node, "axis", by_input ? -2 : 1);
    if (by_input && node_in(node, 2)) {
        const int64_t *given = infer_number(node, 2);
        if (!given)
            return -1;
        axis = *given;
    }
    const int place = node_axis(node, axis, rank);
    if (rank < 2 || place == rank - 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its axis is that of real and imaginary parts");
    return place;
}

/* Inverse and one-sided: half a spectrum becomes a real signal. */
static bool dft_half(const Node *node)
{
    return node_int(node, "inverse", 0) && node_int(node, "onesided", 0);
}

/* The length or the axis is a value: the shape is the declared one, as far as it fits. */
static bool dft_fits(const Node *node, int axis, const Shape *x, const Shape *y)
{
    const int last = x->rank - 1;
    int others = 0;
    if (y->rank != x->rank)
        return false;
    for (int i = 0; i < last; i++)
        if (i != axis)
            others += y->dim[i] != x->dim[i];
    if (y->dim[last] != (dft_half(node) ? 1 : 2))
        return false;
    return others <= (axis < 0);
}

static void infer_dft_declared(Node *node, int axis, const Shape *x)
{
    infer_declared(node, 0, node_type(node));
    if (!dft_fits(node, axis, x, result_shape(node, 0)))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result is declared with a shape that does not fit");
}

/* The length of a transform whose axis has `size` entries. */
static int64_t known_length(const Node *node, int64_t size)
{
    const int64_t *given = infer_number(node, 1);
    int64_t length = size;
    if (dft_half(node))
        length = 2 * (size - 1);
    if (given)
        length = *given;
    if (length < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "a transform of length %lld",
                  (long long)length);
    return length;
}

void infer_dft(Node *node)
{
    const int axis = dft_axis(node);
    const bool half = dft_half(node);
    Shape shape = *infer_shape(node, 0);
    const int64_t parts = shape.dim[shape.rank - 1];
    if (parts != 1 && parts != 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its last dimension is %lld, not 1 or 2", (long long)parts);
    if (axis < 0 || (node_in(node, 1) && !infer_number(node, 1))) {
        infer_dft_declared(node, axis, &shape);
        return;
    }
    const int64_t length = known_length(node, shape.dim[axis]);
    shape.dim[axis] = length;
    if (node_int(node, "onesided", 0) && !half)
        shape.dim[axis] = length / 2 + 1;
    shape.dim[shape.rank - 1] = half ? 1 : 2;
    infer_out(node, 0, node_type(node), shape);
}

/* The length of the transform, or the most it can be. */
static int64_t transform_length(const Node *node, int operand,
                                int64_t otherwise, int64_t bins, bool onesided)
{
    const int64_t *given = infer_number(node, operand);
    if (given && *given < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "a transform of length %lld",
                  (long long)*given);
    if (given)
        return *given;
    if (node_in(node, operand))
        return onesided ? 2 * bins - 1 : bins;
    return otherwise;
}

static int64_t dft_length(const Node *node, int axis)
{
    const Shape *x = node_shape(node, 0);
    const Shape *y = result_shape(node, 0);
    const bool half = dft_half(node);
    return transform_length(node, 1, half ? y->dim[axis] : x->dim[axis],
                            y->dim[axis],
                            node_int(node, "onesided", 0) && !half);
}

/* The axis is known: its sizes, and the loops around it within a row. */
static void set_dft_axis(const Node *node, int axis, inlay_dft_params *params)
{
    const Shape *x = node_shape(node, 0);
    params->outer = 1;
    params->length = x->dim[axis];
    params->inner = shape_product(x, axis + 1, x->rank - 1);
    params->bins = node->out[0]->shape.dim[axis];
    params->n = dft_length(node, axis);
}

/* The axis is a value: the sizes of all. */
static void set_dft_axes(const Node *node, inlay_dft_params *params)
{
    const Shape *x = node_shape(node, 0);
    const Shape *y = result_shape(node, 0);
    params->rank = x->rank - 1;
    for (int i = 0; i < params->rank; i++) {
        params->n = i64_max(params->n, dft_length(node, i));
        params->nx[i] = x->dim[i];
        params->ny[i] = y->dim[i];
    }
}

static inlay_dft_params dft_params(const Node *node, int axis)
{
    const Shape *x = node_shape(node, 0);
    const bool half = dft_half(node);
    inlay_dft_params params = {
        .parts = i32_checked(x->dim[x->rank - 1]),
        .inverse = node_flag(node, "inverse", false),
        .onesided = node_int(node, "onesided", 0) && !half,
        .half = half,
    };
    if (axis >= 0)
        set_dft_axis(node, axis, &params);
    else
        set_dft_axes(node, &params);
    return params;
}

/* A row for each index of the axes before that of the transform. */
static void dft_rows(Step *step, int axis)
{
    const Shape *shape = node_shape(step->node, 0);
    const int32_t rows = i32_checked(shape_product(shape, 0, axis));
    const int64_t parts = shape->dim[shape->rank - 1];
    operand_rows(step->operand, rows, 2);
    operand_rows(step->operand + 1, rows, parts);
    step->operand[1].rule = (RowRule){ .kind = ROWS_SAME };
    step->units = rows;
}

void lower_dft(Lower *lower, Node *node)
{
    const int axis = dft_axis(node);
    const DType type = node_type(node);
    Tensor *where = NULL;
    Tensor *length = node_in(node, 1);
    if (!tensor_count(node->out[0]))
        return;
    const inlay_dft_params params = dft_params(node, axis);
    if (axis < 0)
        where = lower_index(lower, node->in[2]);
    if (length && (axis < 0 || !length->value))
        length = lower_index(lower, length);
    Step *step = lower_step(lower, lower_kernel(lower, "dft", type), &params);
    step_result(step, 0);
    step_operand(step, 0);
    step_in(step, where);
    transform_operands(lower, step, type, params.n, length, false, axis < 0);
    if (axis >= 0)
        dft_rows(step, axis);
}

/* STFT: inputs signal, frame_step, window, frame_length. */
static bool is_signal(const Shape *x)
{
    if (x->rank == 2)
        return true;
    return x->rank == 3 && (x->dim[2] == 1 || x->dim[2] == 2);
}

/* The length of a frame; 0: it is known when the model runs. */
static int64_t frame_length(const Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int64_t *given = infer_number(node, 3);
    int64_t length = 0;
    if (!node_in(node, 2) && !node_in(node, 3))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "has neither a window nor a frame length");
    if (given)
        length = *given;
    else if (!node_in(node, 3))
        length = tensor_count(node->in[2]);
    if (length < 0 || length > x->dim[1])
        fail_node(node, STATUS_MALFORMED, NULL, "frames of %lld of %lld",
                  (long long)length, (long long)x->dim[1]);
    return length;
}

static bool stft_fits(const Shape *x, const Shape *y)
{
    if (y->rank != 4 || y->dim[0] != x->dim[0])
        return false;
    return y->dim[1] >= 1 && y->dim[2] >= 1 && y->dim[3] == 2;
}

static void infer_stft_declared(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    infer_declared(node, 0, node_type(node));
    if (!stft_fits(x, result_shape(node, 0)))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result is declared with a shape that does not fit");
}

void infer_stft(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int64_t *step = infer_number(node, 1);
    if (!is_signal(x))
        fail_node(node, STATUS_MALFORMED, NULL, "its signal is of shape %s",
                  shape_text(node->graph->arena, x));
    const int64_t length = frame_length(node);
    if (!step || !length) {
        infer_stft_declared(node);
        return;
    }
    if (*step < 1)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "frames of %lld every %lld of %lld", (long long)length,
                  (long long)*step, (long long)x->dim[1]);
    Shape y = { .rank = 4 };
    y.dim[0] = x->dim[0];
    y.dim[1] = (x->dim[1] - length) / *step + 1;
    y.dim[2] = node_int(node, "onesided", 1) ? length / 2 + 1 : length;
    y.dim[3] = 2;
    infer_out(node, 0, node_type(node), y);
}

static inlay_stft_params stft_params(const Node *node)
{
    const Shape *x = node_shape(node, 0);
    const Shape *y = result_shape(node, 0);
    const int64_t window = node_in(node, 2) ? tensor_count(node->in[2]) : 0;
    const bool onesided = node_flag(node, "onesided", true);
    return (inlay_stft_params){
        .batch = x->dim[0],
        .length = x->dim[1],
        .frames = y->dim[1],
        .bins = y->dim[2],
        .n = transform_length(node, 3, window, y->dim[2], onesided),
        .window = window,
        .parts = x->rank == 3 ? i32_checked(x->dim[2]) : 1,
        .onesided = onesided,
    };
}

void lower_stft(Lower *lower, Node *node)
{
    const DType type = node_type(node);
    const inlay_stft_params params = stft_params(node);
    Tensor *apart = lower_index(lower, node->in[1]);
    Tensor *length = node_in(node, 3);
    if (length && !length->value)
        length = lower_index(lower, length);
    Step *step = lower_step(lower, lower_kernel(lower, "stft", type), &params);
    const int64_t spectra = i64_mul(params.batch, params.frames);
    operand_rows(step_result(step, 0), i32_checked(spectra), 2);
    step->units = step->operand->rows;
    step_operand(step, 0);
    step_in(step, apart);
    step_operand(step, 2);
    transform_operands(lower, step, type, params.n, length, true, false);
}

/* --- windows, MelWeightMatrix: results of attribute output_datatype --- */

static DType output_type(const Node *node)
{
    const DType type = dtype_of_code(node_int(node, "output_datatype", 1));
    if (type == DT_NONE || type == DT_STRING || type == DT_C64 ||
        type == DT_C128)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its result is of no numeric type");
    return type;
}

static void infer_generated(Node *node, int rank, const int64_t *dims)
{
    if (!dims) {
        infer_declared(node, 0, output_type(node));
        if (node->out[0]->shape.rank != rank)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "its result is declared with another rank");
        return;
    }
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL, "a size of %lld",
                      (long long)dims[i]);
    infer_out(node, 0, output_type(node), shape_of(rank, dims));
}

void infer_signal_window(Node *node)
{
    infer_generated(node, 1, infer_number(node, 0));
}

/* a - b cos + c cos of twice the angle. */
static inlay_taper_params taper_params(const Node *node)
{
    inlay_taper_params params = {
        .n = tensor_count(node->out[0]),
        .periodic = node_flag(node, "periodic", true),
        .a = 25.0 / 46.0,
        .b = 1.0 - 25.0 / 46.0,
    };
    if (node_is(node, "HannWindow")) {
        params.a = 0.5;
        params.b = 0.5;
    }
    if (node_is(node, "BlackmanWindow")) {
        params.a = 0.42;
        params.b = 0.5;
        params.c = 0.08;
    }
    return params;
}

void lower_signal_window(Lower *lower, Node *node)
{
    const inlay_taper_params params = taper_params(node);
    const bool direct = node->out[0]->dtype == DT_F32;
    const char *kernel = direct ? "taper_f32" : "taper_f64";
    Tensor *size = lower_index(lower, node->in[0]);
    Tensor *y = node->out[0];
    if (!direct)
        y = lower_temp(lower, DT_F64, y->shape);
    if (!params.n)
        return;
    Step *step = lower_step(lower, kernel, &params);
    step_out(step, y);
    step_in(step, size);
    if (!direct)
        lower_cast(lower, node->out[0], y);
}

void infer_mel(Node *node)
{
    const int64_t *mels = infer_number(node, 0);
    const int64_t *length = infer_number(node, 1);
    if (!mels || !length) {
        infer_generated(node, 2, NULL);
        return;
    }
    const int64_t dims[] = { *length / 2 + 1, *mels };
    infer_generated(node, 2, dims);
}

void lower_mel(Lower *lower, Node *node)
{
    const inlay_mel_params params = {
        .bins = node->out[0]->shape.dim[0],
        .mels = node->out[0]->shape.dim[1],
    };
    Tensor *in[5];
    Tensor *y = lower_temp(lower, DT_F64, node->out[0]->shape);
    if (!tensor_count(y))
        return;
    for (int i = 0; i < 3; i++)
        in[i] = lower_index(lower, node->in[i]);
    for (int i = 3; i < 5; i++)
        in[i] = lower_as(lower, node->in[i], DT_F64);
    Step *step = lower_step(lower, "mel_f64", &params);
    step_out(step, y);
    for (int i = 0; i < 5; i++)
        step_in(step, in[i]);
    lower_cast(lower, node->out[0], y);
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

/* The lists of the attributes; *start: where the n-grams of each length begin in the pool. */
static Grams read_grams(const Node *node, const int64_t **start,
                        int64_t *lengths)
{
    Arena *arena = node->graph->arena;
    int64_t weights;
    Grams grams = { 0 };
    *start = node_ints(node, "ngram_counts", lengths);
    grams.token = node_ints(node, "pool_int64s", &grams.pool);
    grams.place = node_ints(node, "ngram_indexes", &grams.count);
    grams.weight = node_floats(node, "weights", &weights);
    if (!grams.pool)
        grams.token = node_codes(node, "pool_strings", &grams.pool);
    if (!grams.count || !*lengths || (weights && weights != grams.count))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its lists of n-grams do not fit together");
    grams.row = NEW_ARRAY(arena, int32_t, 3 * grams.count + 3);
    grams.scale = NEW_ARRAY(arena, float, grams.count + 1);
    return grams;
}

/* N-gram number `gram`, of `length` tokens from `at` on, is one that counts. */
static void add_gram(Grams *grams, int64_t gram, int64_t at, int64_t length)
{
    int32_t *row = grams->row + 3 * grams->rows;
    row[0] = i32_checked(at);
    row[1] = i32_checked(length);
    row[2] = i32_checked(grams->place[gram]);
    grams->scale[grams->rows] = grams->weight ? grams->weight[gram] : 1.0f;
    grams->rows++;
}

/* All n-grams of a length, which are tokens [at, end) of the pool; the first is number `gram`.
 * Returns the number of the next one. */
static int64_t add_grams(const Node *node, Grams *grams, int64_t gram,
                         int64_t at, int64_t end, int64_t length)
{
    const int64_t least = node_int(node, "min_gram_length", 1);
    const int64_t most = node_int(node, "max_gram_length", 1);
    if (at < 0 || end > grams->pool || end < at || (end - at) % length)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "ngram_counts do not fit the pool");
    for (; at < end; at += length) {
        if (gram >= grams->count || grams->place[gram] < 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "ngram_indexes do not fit the pool");
        if (length >= least && length <= most)
            add_gram(grams, gram, at, length);
        gram++;
    }
    return gram;
}

static Grams grams_of(const Node *node)
{
    const int64_t *start;
    int64_t lengths;
    int64_t gram = 0;
    Grams grams = read_grams(node, &start, &lengths);
    for (int64_t k = 0; k < lengths; k++) {
        const bool last = k + 1 == lengths;
        const int64_t end = last ? grams.pool : start[k + 1];
        gram = add_grams(node, &grams, gram, start[k], end, k + 1);
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
        fail_node(node, STATUS_MALFORMED, NULL, "its input is of rank %d",
                  x->rank);
    Shape y = *x;
    y.dim[x->rank - 1] = grams.out;
    infer_out(node, 0, DT_F32, y);
}

static int tfidf_mode(const Node *node)
{
    static const char *const modes[] = { "TF", "IDF", "TFIDF" };
    const char *mode = node_string(node, "mode", "TF");
    for (int i = 0; i < 3; i++)
        if (!strcmp(mode, modes[i]))
            return i;
    fail_node(node, STATUS_MALFORMED, NULL, "unknown mode \"%s\"", mode);
}

static inlay_tfidf_params tfidf_params(const Node *node, const Grams *grams)
{
    const Shape *x = node_shape(node, 0);
    const int64_t skips = i64_max(0, node_int(node, "max_skip_count", 0));
    return (inlay_tfidf_params){
        .batch = x->rank == 2 ? i32_checked(x->dim[0]) : 1,
        .n = i32_checked(x->dim[x->rank - 1]),
        .out = i32_checked(grams->out),
        .grams = grams->rows,
        .skips = i32_checked(skips),
        .mode = tfidf_mode(node),
        .wide = node_type(node) == DT_I64,
    };
}

/* Each n-gram is looked for at each element, with each skip. */
static int64_t tfidf_looks(const Node *node, const inlay_tfidf_params *params,
                           const Grams *grams)
{
    int64_t each = 0;
    for (int g = 0; g < grams->rows; g++)
        each += grams->row[3 * g + 1] > 1 ? (int64_t)params->skips + 1 : 1;
    return i64_mul(tensor_count(node->in[0]), each);
}

void lower_tfidf(Lower *lower, Node *node)
{
    const Grams grams = grams_of(node);
    const inlay_tfidf_params params = tfidf_params(node, &grams);
    const int64_t rows = i64_max(1, grams.rows);
    const int64_t numbers = i64_max(1, 3 * (int64_t)grams.rows);
    Step *step = lower_step(lower, "tfidf", &params);
    step->looks = tfidf_looks(node, &params, &grams);
    step_result(step, 0);
    step_operand(step, 0);
    step_in(step, lower_i64s(lower, grams.token, grams.pool));
    step_in(step, lower_i32s(lower, grams.row, numbers));
    step_in(step, lower_floats(lower, grams.scale, rows));
}
