/* SPDX-License-Identifier: Apache-2.0
 * Preparation and encoding of features (ai.onnx.ml). Most are compositions of standard operators;
 * strings stay on the host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "kernels/lookup.h"
#include "kernels/ml_scores.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/ml_scores.h"
#include "ops/typed.h"

static _Noreturn void fail_strings(const Node *node)
{
    fail_node(node, STATUS_UNSUPPORTED, "encode strings as integers on the host, before the model",
              "works on strings");
}

static void need_numbers(const Node *node)
{
    infer_shape(node, 0); /* fails where it holds strings */
    if (node->in[0]->dtype == DT_C64 || node->in[0]->dtype == DT_C128)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "works on numbers, not %s",
                  dtype_name(node->in[0]->dtype));
}

/* (x - offset) * scale, in float32. */
void expand_scaler(Node *node)
{
    int64_t offsets, scales;
    need_numbers(node);
    const float *offset = node_floats(node, "offset", &offsets);
    const float *scale = node_floats(node, "scale", &scales);
    Tensor *x = expand_cast(node, node->in[0], DT_F32);
    if (offsets)
        x = expand_binary(node, "Sub", x, expand_floats(node, offsets, offset));
    if (scales)
        x = expand_binary(node, "Mul", x, expand_floats(node, scales, scale));
    expand_finish(node, 1, &x);
}

void expand_binarizer(Node *node)
{
    need_numbers(node);
    const DType type = node->in[0]->dtype;
    Tensor *x =
        expand_binary(node, "Greater", node->in[0],
                      expand_number(node, (double)node_float(node, "threshold", 0.0f), type));
    x = expand_cast(node, x, type);
    expand_finish(node, 1, &x);
}

/* Values that count as missing are replaced, column by column. */
void expand_imputer(Node *node)
{
    int64_t floats, ints;
    need_numbers(node);
    const DType type = node->in[0]->dtype;
    const float *f = node_floats(node, "imputed_value_floats", &floats);
    const int64_t *v = node_ints(node, "imputed_value_int64s", &ints);
    const bool is_float = floats > 0;
    const float lost = node_float(node, "replaced_value_float", 0.0f);
    const int64_t count = is_float ? floats : ints;
    if (!count)
        fail_node(node, STATUS_MALFORMED, NULL, "has no values to impute");
    Store *s = node->graph->store;
    Recipe *values = recipe_cast(s,
                                 is_float ? recipe_memory(s, DT_F32, 1, &count, f)
                                          : recipe_memory(s, DT_I64, 1, &count, v),
                                 type);
    Tensor *mask;
    Tensor *with = graph_add_constant(node->graph, NULL, values);
    if (is_float && isnan(lost))
        mask = expand_unary(node, "IsNaN", node->in[0]);
    else {
        Tensor *is = expand_number(
            node, is_float ? (double)lost : (double)node_int(node, "replaced_value_int64", 0),
            type);
        mask = expand_binary(node, "Equal", node->in[0], is);
    }
    Tensor *in[] = { mask, with, node->in[0] };
    Tensor *y = expand_done(expand_node(node, "Where", 3, in, 1));
    expand_finish(node, 1, &y);
}

void infer_normalizer(Node *node)
{
    int64_t rows, columns;
    ml_rows(node, &rows, &columns);
    infer_out(node, 0, DT_F32, node->in[0]->shape);
}

void lower_normalizer(Lower *lower, Node *node)
{
    static const char *const norms[] = { "MAX", "L1", "L2" };
    int64_t rows, columns;
    ml_rows(node, &rows, &columns);
    const char *said = node_string(node, "norm", "MAX");
    inlay_ml_scores_params params = {
        .n = i32_checked(rows), .k = i32_checked(columns), .out = i32_checked(columns), .kind = -1
    };
    for (int i = 0; i < 3; i++)
        if (!strcmp(norms[i], said))
            params.kind = i;
    if (params.kind < 0)
        fail_node(node, STATUS_MALFORMED, NULL, "norm is \"%s\"", said);
    Tensor *x = lower_as(lower, node, node->in[0], DT_F32);
    Step *step = lower_step(lower, node, "ml_normalize", &params);
    step_out(step, node->out[0]);
    step_in(step, x);
}

/* Columns side by side, each operand cut to or filled up to its number of them. */
void expand_feature_vectorizer(Node *node)
{
    int64_t count;
    const int64_t *dims = node_ints(node, "inputdimensions", &count);
    Tensor **in = NEW_ARRAY(node->graph->arena, Tensor *, node->n_in);
    for (int i = 0; i < node->n_in; i++) {
        const Shape *x = infer_shape(node, i);
        const int64_t rows = x->rank > 1 ? x->dim[0] : 1;
        const int64_t columns = rows ? shape_count(x) / rows : 0;
        const int64_t shape[] = { rows, columns };
        const int64_t want = i < count ? dims[i] : columns;
        in[i] = expand_reshape(node, expand_cast(node, node->in[i], DT_F32), 2, shape);
        if (want < columns)
            in[i] = expand_slice(node, in[i], 1, 0, want);
        if (want <= columns)
            continue;
        const int64_t pads[] = { 0, 0, 0, want - columns };
        in[i] = expand_binary(node, "Pad", in[i], expand_i64s(node, 4, pads));
    }
    Tensor *y = in[0];
    if (node->n_in > 1) {
        Node *concat = expand_node(node, "Concat", node->n_in, in, 1);
        node_set_int(concat, "axis", 1);
        y = expand_done(concat);
    }
    expand_finish(node, 1, &y);
}

/* Elements of the last axis, by index. */
void expand_array_feature_extractor(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int64_t count = shape_count(infer_shape(node, 1));
    Tensor *in[] = { node->in[0], expand_reshape(node, node->in[1], 1, &count) };
    if (!x->rank)
        fail_node(node, STATUS_MALFORMED, NULL, "its input is a scalar");
    Node *gather = expand_node(node, "Gather", 2, in, 1);
    node_set_int(gather, "axis", x->rank - 1);
    Tensor *y = expand_done(gather);
    if (x->rank == 1)
        y = expand_reshape(node, y, 2, (const int64_t[]){ 1, count });
    expand_finish(node, 1, &y);
}

/* One column for each category: 1 where it is x's. */
void expand_one_hot_encoder(Node *node)
{
    int64_t count;
    const int64_t *cats = node_ints(node, "cats_int64s", &count);
    if (!count)
        fail_strings(node);
    need_numbers(node);
    Shape s = *infer_shape(node, 0);
    if (s.rank == MAX_RANK)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions",
                  MAX_RANK);
    s.dim[s.rank++] = 1;
    Tensor *x = expand_reshape(node, expand_cast(node, node->in[0], DT_I64), s.rank, s.dim);
    x = expand_cast(node, expand_binary(node, "Equal", x, expand_i64s(node, count, cats)), DT_F32);
    expand_finish(node, 1, &x);
}

/* The tensor part of ZipMap: its probabilities, in the order of the class labels. */
void expand_zipmap(Node *node)
{
    infer_shape(node, 0);
    expand_finish(node, 1, node->in);
}

void expand_category_mapper(Node *node)
{
    fail_strings(node);
}

/* LabelEncoder: keys and values in one of several attributes each. */
typedef struct Labels {
    DType type; /* DT_NONE: there are none */
    int64_t n;
    const Recipe *value;
} Labels;

static Labels labels_of(const Node *node, const char *what)
{
    Arena *a = node->graph->arena;
    Store *s = node->graph->store;
    const Attr *t = node_attr(node, arena_printf(a, "%s_tensor", what));
    const Attr *words = node_attr(node, arena_printf(a, "%s_strings", what));
    int64_t ints, floats;
    const int64_t *i = node_ints(node, arena_printf(a, "%s_int64s", what), &ints);
    const float *f = node_floats(node, arena_printf(a, "%s_floats", what), &floats);
    if ((words && words->n) || (t && t->tensor && recipe_dtype(t->tensor) == DT_STRING))
        fail_strings(node);
    if (t && t->tensor)
        return (Labels){ recipe_dtype(t->tensor), recipe_count(t->tensor), t->tensor };
    if (ints)
        return (Labels){ DT_I64, ints, recipe_memory(s, DT_I64, 1, &ints, i) };
    if (floats)
        return (Labels){ DT_F32, floats, recipe_memory(s, DT_F32, 1, &floats, f) };
    fail_strings(node); /* LabelEncoder-1: classes_strings */
}

void infer_label_encoder(Node *node)
{
    infer_out(node, 0, labels_of(node, "values").type, *infer_shape(node, 0));
}

/* The value of what is no key. */
static Recipe *default_label(const Node *node, DType type)
{
    Store *s = node->graph->store;
    const Attr *attr = node_attr(node, "default_tensor");
    const int64_t i = node_int(node, "default_int64", -1);
    const int64_t one = 1;
    const float f = node_float(node, "default_float", -0.0f);
    if (attr && attr->tensor)
        return recipe_cast(s, recipe_reshape(s, attr->tensor, 1, &one), type);
    return dtype_is_float(type) ? recipe_cast(s, recipe_memory(s, DT_F32, 1, &one, &f), type)
                                : recipe_cast(s, recipe_memory(s, DT_I64, 1, &one, &i), type);
}

typedef struct Key {
    double f;
    int64_t i, at;
} Key;

static int compare_ints(const void *a, const void *b)
{
    const Key *x = a;
    const Key *y = b;
    if (x->i != y->i)
        return x->i < y->i ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* NaN last. */
static int compare_floats(const void *a, const void *b)
{
    const Key *x = a;
    const Key *y = b;
    if (isnan(x->f) || isnan(y->f))
        return isnan(x->f) && isnan(y->f) ? (x->at > y->at) - (x->at < y->at)
               : isnan(x->f)              ? 1
                                          : -1;
    if (x->f < y->f || x->f > y->f)
        return x->f < y->f ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static Key *sorted_keys(Lower *lower, const Node *node, const Labels *k, bool is_float)
{
    Store *s = lower->graph->store;
    Key *key = NEW_ARRAY(lower->arena, Key, k->n);
    const void *v = node_values(node, recipe_cast(s, k->value, is_float ? DT_F64 : DT_I64));
    for (int64_t i = 0; i < k->n; i++)
        key[i] = is_float ? (Key){ .f = ((const double *)v)[i], .at = i }
                          : (Key){ .i = ((const int64_t *)v)[i], .at = i };
    if (k->n)
        qsort(key, (size_t)k->n, sizeof *key, is_float ? compare_floats : compare_ints);
    return key;
}

void lower_label_encoder(Lower *lower, Node *node)
{
    const Labels k = labels_of(node, "keys");
    const Labels v = labels_of(node, "values");
    const bool is_float = dtype_is_float(k.type);
    if (k.n != v.n || k.n < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "has %lld keys for %lld values", (long long)k.n,
                  (long long)v.n);
    const Key *key = sorted_keys(lower, node, &k, is_float);
    const int64_t size = dtype_bytes(v.type, 1);
    const int64_t all = k.n + 1;
    unsigned char *value = arena_alloc(lower->arena, (size_t)(all * size));
    const unsigned char *from = node_values(node, v.value);
    double *f = NEW_ARRAY(lower->arena, double, k.n);
    int64_t *i = NEW_ARRAY(lower->arena, int64_t, k.n);
    for (int64_t j = 0; j < k.n; j++) {
        f[j] = key[j].f, i[j] = key[j].i;
        memcpy(value + j * size, from + key[j].at * size, (size_t)size);
    }
    memcpy(value + k.n * size,
           recipe_values(lower->graph->store, lower->arena, default_label(node, v.type)),
           (size_t)size);
    const inlay_lookup_params params = { .n = i32_checked(tensor_count(node->out[0])),
                                         .keys = i32_checked(k.n),
                                         .size = (int32_t)size };
    Tensor *x = lower_as(lower, node, node->in[0], is_float ? DT_F64 : DT_I64);
    Tensor *keys =
        is_float ? lower_constant(lower, recipe_memory(lower->graph->store, DT_F64, 1, &k.n, f))
                 : lower_i64s(lower, i, k.n);
    Tensor *values =
        lower_constant(lower, recipe_memory(lower->graph->store, v.type, 1, &all, value));
    Step *step = lower_step(lower, node, is_float ? "lookup_f64" : "lookup_i64", &params);
    step_out(step, node->out[0]);
    step_in(step, x);
    step_in(step, keys);
    step_in(step, values);
}
