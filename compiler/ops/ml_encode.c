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

static _Noreturn void fail_strings(const Node *n)
{
    fail_node(n, STATUS_UNSUPPORTED, "encode strings as integers on the host, before the model",
              "works on strings");
}

static void need_numbers(const Node *n)
{
    infer_shape(n, 0); /* fails where it holds strings */
    if (n->in[0]->dtype == DT_C64 || n->in[0]->dtype == DT_C128)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "works on numbers, not %s",
                  dtype_name(n->in[0]->dtype));
}

/* (x - offset) * scale, in float32. */
void expand_scaler(Node *n)
{
    int64_t offsets, scales;
    need_numbers(n);
    const float *offset = node_floats(n, "offset", &offsets),
                *scale = node_floats(n, "scale", &scales);
    Tensor *x = expand_cast(n, n->in[0], DT_F32);
    if (offsets)
        x = expand_binary(n, "Sub", x, expand_floats(n, offsets, offset));
    if (scales)
        x = expand_binary(n, "Mul", x, expand_floats(n, scales, scale));
    expand_finish(n, 1, &x);
}

void expand_binarizer(Node *n)
{
    need_numbers(n);
    const DType t = n->in[0]->dtype;
    Tensor *x = expand_binary(n, "Greater", n->in[0],
                              expand_number(n, (double)node_float(n, "threshold", 0.0f), t));
    x = expand_cast(n, x, t);
    expand_finish(n, 1, &x);
}

/* Values that count as missing are replaced, column by column. */
void expand_imputer(Node *n)
{
    int64_t floats, ints;
    need_numbers(n);
    const DType t = n->in[0]->dtype;
    const float *f = node_floats(n, "imputed_value_floats", &floats);
    const int64_t *v = node_ints(n, "imputed_value_int64s", &ints);
    const bool is_float = floats > 0;
    const float lost = node_float(n, "replaced_value_float", 0.0f);
    const int64_t count = is_float ? floats : ints;
    if (!count)
        fail_node(n, STATUS_MALFORMED, NULL, "has no values to impute");
    Store *s = n->graph->store;
    Recipe *values = recipe_cast(s,
                                 is_float ? recipe_memory(s, DT_F32, 1, &count, f)
                                          : recipe_memory(s, DT_I64, 1, &count, v),
                                 t);
    Tensor *mask, *with = graph_add_constant(n->graph, NULL, values);
    if (is_float && isnan(lost))
        mask = expand_unary(n, "IsNaN", n->in[0]);
    else {
        Tensor *is = expand_number(
            n, is_float ? (double)lost : (double)node_int(n, "replaced_value_int64", 0), t);
        mask = expand_binary(n, "Equal", n->in[0], is);
    }
    Tensor *in[] = { mask, with, n->in[0] };
    Tensor *y = expand_done(expand_node(n, "Where", 3, in, 1));
    expand_finish(n, 1, &y);
}

void infer_normalizer(Node *n)
{
    int64_t rows, columns;
    ml_rows(n, &rows, &columns);
    infer_out(n, 0, DT_F32, n->in[0]->shape);
}

void lower_normalizer(Lower *l, Node *n)
{
    static const char *const norms[] = { "MAX", "L1", "L2" };
    int64_t rows, columns;
    ml_rows(n, &rows, &columns);
    const char *said = node_string(n, "norm", "MAX");
    inlay_ml_scores_params p = {
        .n = i32_checked(rows), .k = i32_checked(columns), .out = i32_checked(columns), .kind = -1
    };
    for (int i = 0; i < 3; i++)
        if (!strcmp(norms[i], said))
            p.kind = i;
    if (p.kind < 0)
        fail_node(n, STATUS_MALFORMED, NULL, "norm is \"%s\"", said);
    Tensor *x = lower_as(l, n, n->in[0], DT_F32);
    Step *s = lower_step(l, n, "ml_normalize", &p);
    step_out(s, n->out[0]);
    step_in(s, x);
}

/* Columns side by side, each operand cut to or filled up to its number of them. */
void expand_feature_vectorizer(Node *n)
{
    int64_t count;
    const int64_t *dims = node_ints(n, "inputdimensions", &count);
    Tensor **in = NEW_ARRAY(n->graph->arena, Tensor *, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        const Shape *x = infer_shape(n, i);
        const int64_t rows = x->rank > 1 ? x->dim[0] : 1,
                      columns = rows ? shape_count(x) / rows : 0, shape[] = { rows, columns };
        const int64_t want = i < count ? dims[i] : columns;
        in[i] = expand_reshape(n, expand_cast(n, n->in[i], DT_F32), 2, shape);
        if (want < columns)
            in[i] = expand_slice(n, in[i], 1, 0, want);
        if (want <= columns)
            continue;
        const int64_t pads[] = { 0, 0, 0, want - columns };
        in[i] = expand_binary(n, "Pad", in[i], expand_i64s(n, 4, pads));
    }
    Tensor *y = in[0];
    if (n->n_in > 1) {
        Node *concat = expand_node(n, "Concat", n->n_in, in, 1);
        node_set_int(concat, "axis", 1);
        y = expand_done(concat);
    }
    expand_finish(n, 1, &y);
}

/* Elements of the last axis, by index. */
void expand_array_feature_extractor(Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const int64_t count = shape_count(infer_shape(n, 1));
    Tensor *in[] = { n->in[0], expand_reshape(n, n->in[1], 1, &count) };
    if (!x->rank)
        fail_node(n, STATUS_MALFORMED, NULL, "its input is a scalar");
    Node *gather = expand_node(n, "Gather", 2, in, 1);
    node_set_int(gather, "axis", x->rank - 1);
    Tensor *y = expand_done(gather);
    if (x->rank == 1)
        y = expand_reshape(n, y, 2, (const int64_t[]){ 1, count });
    expand_finish(n, 1, &y);
}

/* One column for each category: 1 where it is x's. */
void expand_one_hot_encoder(Node *n)
{
    int64_t count;
    const int64_t *cats = node_ints(n, "cats_int64s", &count);
    if (!count)
        fail_strings(n);
    need_numbers(n);
    Shape s = *infer_shape(n, 0);
    if (s.rank == MAX_RANK)
        fail_node(n, STATUS_UNSUPPORTED, NULL, "its result has more than %d dimensions", MAX_RANK);
    s.dim[s.rank++] = 1;
    Tensor *x = expand_reshape(n, expand_cast(n, n->in[0], DT_I64), s.rank, s.dim);
    x = expand_cast(n, expand_binary(n, "Equal", x, expand_i64s(n, count, cats)), DT_F32);
    expand_finish(n, 1, &x);
}

/* The tensor part of ZipMap: its probabilities, in the order of the class labels. */
void expand_zipmap(Node *n)
{
    infer_shape(n, 0);
    expand_finish(n, 1, n->in);
}

void expand_category_mapper(Node *n)
{
    fail_strings(n);
}

/* LabelEncoder: keys and values in one of several attributes each. */
typedef struct Labels {
    DType type; /* DT_NONE: there are none */
    int64_t n;
    const Recipe *value;
} Labels;

static Labels labels_of(const Node *n, const char *what)
{
    Arena *a = n->graph->arena;
    Store *s = n->graph->store;
    const Attr *t = node_attr(n, arena_printf(a, "%s_tensor", what)),
               *words = node_attr(n, arena_printf(a, "%s_strings", what));
    int64_t ints, floats;
    const int64_t *i = node_ints(n, arena_printf(a, "%s_int64s", what), &ints);
    const float *f = node_floats(n, arena_printf(a, "%s_floats", what), &floats);
    if ((words && words->n) || (t && t->tensor && recipe_dtype(t->tensor) == DT_STRING))
        fail_strings(n);
    if (t && t->tensor)
        return (Labels){ recipe_dtype(t->tensor), recipe_count(t->tensor), t->tensor };
    if (ints)
        return (Labels){ DT_I64, ints, recipe_memory(s, DT_I64, 1, &ints, i) };
    if (floats)
        return (Labels){ DT_F32, floats, recipe_memory(s, DT_F32, 1, &floats, f) };
    fail_strings(n); /* LabelEncoder-1: classes_strings */
}

void infer_label_encoder(Node *n)
{
    infer_out(n, 0, labels_of(n, "values").type, *infer_shape(n, 0));
}

/* The value of what is no key. */
static Recipe *default_label(const Node *n, DType t)
{
    Store *s = n->graph->store;
    const Attr *a = node_attr(n, "default_tensor");
    const int64_t i = node_int(n, "default_int64", -1), one = 1;
    const float f = node_float(n, "default_float", -0.0f);
    if (a && a->tensor)
        return recipe_cast(s, recipe_reshape(s, a->tensor, 1, &one), t);
    return dtype_is_float(t) ? recipe_cast(s, recipe_memory(s, DT_F32, 1, &one, &f), t)
                             : recipe_cast(s, recipe_memory(s, DT_I64, 1, &one, &i), t);
}

typedef struct Key {
    double f;
    int64_t i, at;
} Key;

static int compare_ints(const void *a, const void *b)
{
    const Key *x = a, *y = b;
    if (x->i != y->i)
        return x->i < y->i ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* NaN last. */
static int compare_floats(const void *a, const void *b)
{
    const Key *x = a, *y = b;
    if (isnan(x->f) || isnan(y->f))
        return isnan(x->f) && isnan(y->f) ? (x->at > y->at) - (x->at < y->at)
               : isnan(x->f)              ? 1
                                          : -1;
    if (x->f < y->f || x->f > y->f)
        return x->f < y->f ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static Key *sorted_keys(Lower *l, const Node *n, const Labels *k, bool is_float)
{
    Store *s = l->graph->store;
    Key *key = NEW_ARRAY(l->arena, Key, k->n);
    const void *v = node_values(n, recipe_cast(s, k->value, is_float ? DT_F64 : DT_I64));
    for (int64_t i = 0; i < k->n; i++)
        key[i] = is_float ? (Key){ .f = ((const double *)v)[i], .at = i }
                          : (Key){ .i = ((const int64_t *)v)[i], .at = i };
    if (k->n)
        qsort(key, (size_t)k->n, sizeof *key, is_float ? compare_floats : compare_ints);
    return key;
}

void lower_label_encoder(Lower *l, Node *n)
{
    const Labels k = labels_of(n, "keys"), v = labels_of(n, "values");
    const bool is_float = dtype_is_float(k.type);
    if (k.n != v.n || k.n < 1)
        fail_node(n, STATUS_MALFORMED, NULL, "has %lld keys for %lld values", (long long)k.n,
                  (long long)v.n);
    const Key *key = sorted_keys(l, n, &k, is_float);
    const int64_t size = dtype_bytes(v.type, 1), all = k.n + 1;
    unsigned char *value = arena_alloc(l->arena, (size_t)(all * size));
    const unsigned char *from = node_values(n, v.value);
    double *f = NEW_ARRAY(l->arena, double, k.n);
    int64_t *i = NEW_ARRAY(l->arena, int64_t, k.n);
    for (int64_t j = 0; j < k.n; j++) {
        f[j] = key[j].f, i[j] = key[j].i;
        memcpy(value + j * size, from + key[j].at * size, (size_t)size);
    }
    memcpy(value + k.n * size, recipe_values(l->graph->store, l->arena, default_label(n, v.type)),
           (size_t)size);
    const inlay_lookup_params p = { .n = i32_checked(tensor_count(n->out[0])),
                                    .keys = i32_checked(k.n),
                                    .size = (int32_t)size };
    Tensor *x = lower_as(l, n, n->in[0], is_float ? DT_F64 : DT_I64);
    Tensor *keys = is_float ? lower_constant(l, recipe_memory(l->graph->store, DT_F64, 1, &k.n, f))
                            : lower_i64s(l, i, k.n);
    Tensor *values = lower_constant(l, recipe_memory(l->graph->store, v.type, 1, &all, value));
    Step *s = lower_step(l, n, is_float ? "lookup_f64" : "lookup_i64", &p);
    step_out(s, n->out[0]);
    step_in(s, x);
    step_in(s, keys);
    step_in(s, values);
}
