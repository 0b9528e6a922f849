/* SPDX-License-Identifier: Apache-2.0
 * Preparation and encoding of features (ai.onnx.ml). Most are compositions of standard operators;
 * words are codes (ir/words.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "ir/words.h"
#include "kernels/lookup.h"
#include "kernels/ml_scores.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/ml/scores.h"
#include "ops/typed.h"

static void need_numbers(const Node *node)
{
    infer_shape(node, 0);
    if (node_type(node) == DT_C64 || node_type(node) == DT_C128)
        fail_node(node, STATUS_UNSUPPORTED, NULL, "works on numbers, not %s",
                  dtype_name(node_type(node)));
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
        x = expand_sub(node, x, expand_floats(node, offsets, offset));
    if (scales)
        x = expand_mul(node, x, expand_floats(node, scales, scale));
    expand_finish_one(node, x);
}

void expand_binarizer(Node *node)
{
    need_numbers(node);
    const DType type = node_type(node);
    const float limit = node_float(node, "threshold", 0.0f);
    Tensor *threshold = expand_number(node, (double)limit, type);
    Tensor *above = expand_binary(node, "Greater", node->in[0], threshold);
    Tensor *y = expand_cast(node, above, type);
    expand_finish_one(node, y);
}

/* Where operand 0 is what counts as missing. */
static Tensor *missing_values(const Node *node, bool is_float)
{
    Tensor *x = node->in[0];
    const float real = node_float(node, "replaced_value_float", 0.0f);
    const int64_t whole = node_int(node, "replaced_value_int64", 0);
    if (is_float && isnan(real))
        return expand_unary(node, "IsNaN", x);
    const double number = is_float ? (double)real : (double)whole;
    Tensor *missing = expand_number(node, number, x->dtype);
    return expand_binary(node, "Equal", x, missing);
}

/* Values that count as missing are replaced, column by column. */
void expand_imputer(Node *node)
{
    int64_t floats, ints;
    need_numbers(node);
    Store *store = node->graph->store;
    const float *real = node_floats(node, "imputed_value_floats", &floats);
    const int64_t *whole = node_ints(node, "imputed_value_int64s", &ints);
    Recipe *values = NULL;
    if (floats)
        values = recipe_memory(store, DT_F32, 1, &floats, real);
    else if (ints)
        values = recipe_memory(store, DT_I64, 1, &ints, whole);
    else
        fail_node(node, STATUS_MALFORMED, NULL, "has no values to impute");
    values = recipe_cast(store, values, node_type(node));
    Tensor *with = graph_add_constant(node->graph, NULL, values);
    Tensor *mask = missing_values(node, floats > 0);
    Tensor *y = expand_where(node, mask, with, node->in[0]);
    expand_finish_one(node, y);
}

void infer_normalizer(Node *node)
{
    int64_t rows, columns;
    ml_rows(node, &rows, &columns);
    infer_out(node, 0, DT_F32, node->in[0]->shape);
}

static int norm_kind(const Node *node)
{
    static const char *const norms[] = { "MAX", "L1", "L2" };
    const char *norm = node_string(node, "norm", "MAX");
    for (int i = 0; i < 3; i++)
        if (!strcmp(norms[i], norm))
            return i;
    fail_node(node, STATUS_MALFORMED, NULL, "norm is \"%s\"", norm);
}

void lower_normalizer(Lower *lower, Node *node)
{
    int64_t rows, columns;
    ml_rows(node, &rows, &columns);
    const inlay_ml_scores_params params = {
        .n = i32_checked(rows),
        .k = i32_checked(columns),
        .out = i32_checked(columns),
        .kind = norm_kind(node),
    };
    Tensor *x = lower_as(lower, node->in[0], DT_F32);
    Step *step = lower_step(lower, "ml_normalize", &params);
    step_result(step, 0);
    step_in(step, x);
}

/* Operand i as rows, cut to or filled up to `width` columns (-1: as it is). */
static Tensor *vectorized(const Node *node, int i, int64_t width)
{
    const Shape *x = infer_shape(node, i);
    const int64_t rows = x->rank > 1 ? x->dim[0] : 1;
    const int64_t columns = rows ? shape_count(x) / rows : 0;
    const int64_t dims[] = { rows, columns };
    Tensor *wide = expand_cast(node, node->in[i], DT_F32);
    Tensor *part = expand_reshape(node, wide, 2, dims);
    if (width < 0 || width == columns)
        return part;
    if (width < columns)
        return expand_slice(node, part, 1, 0, width);
    const int64_t pads[] = { 0, 0, 0, width - columns };
    return expand_binary(node, "Pad", part, expand_i64s(node, 4, pads));
}

/* Columns side by side, each operand cut to or filled up to its number of them. */
void expand_feature_vectorizer(Node *node)
{
    int64_t count;
    const int64_t *width = node_ints(node, "inputdimensions", &count);
    Tensor **in = NEW_ARRAY(node->graph->arena, Tensor *, node->n_in);
    for (int i = 0; i < node->n_in; i++) {
        if (i < count && width[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "has a negative number of columns");
        in[i] = vectorized(node, i, i < count ? width[i] : -1);
    }
    Tensor *all = in[0];
    if (node->n_in > 1) {
        Node *concat = expand_node(node, "Concat", node->n_in, in, 1);
        node_set_int(concat, "axis", 1);
        all = expand_done(concat);
    }
    expand_finish_one(node, all);
}

/* Elements of the last axis, by index. */
void expand_array_feature_extractor(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int64_t count = shape_count(infer_shape(node, 1));
    if (!x->rank)
        fail_node(node, STATUS_MALFORMED, NULL, "its input is a scalar");
    Tensor *index = expand_reshape(node, node->in[1], 1, &count);
    Tensor *y = expand_gather(node, node->in[0], index, x->rank - 1);
    if (x->rank == 1)
        y = expand_reshape(node, y, 2, (const int64_t[]){ 1, count });
    expand_finish_one(node, y);
}

/* The categories that attribute cats_int64s or cats_strings lists, of the input's type. */
static Recipe *categories_of(const Node *node)
{
    int64_t numbers, words;
    Store *store = node->graph->store;
    const int64_t *number = node_ints(node, "cats_int64s", &numbers);
    const int64_t *code = node_codes(node, "cats_strings", &words);
    const bool takes_words = node_type(node) == DT_STRING;
    if (takes_words ? !words : !numbers)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "lists no categories for an input of %s",
                  dtype_name(node_type(node)));
    if (takes_words)
        return recipe_memory(store, DT_STRING, 1, &words, code);
    return recipe_memory(store, DT_I64, 1, &numbers, number);
}

/* One column for each category: 1 where it is x's. */
void expand_one_hot_encoder(Node *node)
{
    need_numbers(node);
    Recipe *categories = categories_of(node);
    const DType type = recipe_dtype(categories);
    Shape s = *infer_shape(node, 0);
    infer_rank(node, s.rank + 1);
    s.dim[s.rank++] = 1;
    Tensor *x = expand_cast(node, node->in[0], type);
    x = expand_reshape(node, x, s.rank, s.dim);
    x = expand_binary(node, "Equal", x,
                      graph_add_constant(node->graph, NULL, categories));
    x = expand_cast(node, x, DT_F32);
    expand_finish_one(node, x);
}

/* The tensor part of ZipMap: its probabilities, in the order of the class labels. */
void expand_zipmap(Node *node)
{
    infer_shape(node, 0);
    expand_finish(node, 1, node->in);
}

/* LabelEncoder, CategoryMapper: keys or values. */
typedef struct Labels {
    DType type;
    int64_t n; /* 0: there are none */
    Recipe *value;
} Labels;

static Labels list_labels(const Node *node, DType type, int64_t count,
                          const void *value)
{
    Store *store = node->graph->store;
    return (Labels){
        .type = type,
        .n = count,
        .value = recipe_memory(store, type, 1, &count, value ? value : ""),
    };
}

static Labels list_words(const Node *node, const char *name)
{
    int64_t count;
    const int64_t *code = node_codes(node, name, &count);
    return list_labels(node, DT_STRING, count, code);
}

static Labels list_ints(const Node *node, const char *name)
{
    int64_t count;
    const int64_t *number = node_ints(node, name, &count);
    return list_labels(node, DT_I64, count, number);
}

/* In one of several attributes. */
static Labels labels_of(const Node *node, const char *what)
{
    Arena *arena = node->graph->arena;
    const Attr *tensor =
        node_attr(node, arena_printf(arena, "%s_tensor", what));
    Recipe *given = tensor ? tensor->tensor : NULL;
    int64_t floats;
    const float *real =
        node_floats(node, arena_printf(arena, "%s_floats", what), &floats);
    if (given)
        return (Labels){ recipe_dtype(given), recipe_count(given), given };
    if (floats)
        return list_labels(node, DT_F32, floats, real);
    const Labels words =
        list_words(node, arena_printf(arena, "%s_strings", what));
    if (words.n)
        return words;
    return list_ints(node, arena_printf(arena, "%s_int64s", what));
}

/* Words and their numbers, which turn into each other (CategoryMapper, LabelEncoder-1). */
typedef struct Dictionary {
    Labels words;
    Labels numbers;
} Dictionary;

static Dictionary dictionary_of(const Node *node)
{
    Dictionary d = { .words = list_words(node, "cats_strings") };
    if (d.words.n) {
        d.numbers = list_ints(node, "cats_int64s");
        return d;
    }
    d.words = list_words(node, "classes_strings");
    int64_t *number = NEW_ARRAY(node->graph->arena, int64_t, d.words.n + 1);
    for (int64_t i = 0; i < d.words.n; i++)
        number[i] = i;
    d.numbers = list_labels(node, DT_I64, d.words.n, number);
    return d;
}

/* After lowering words are integers: what the keys are is noted while they are not. */
static const char TAKES_WORDS[] = "takes_words";

static Labels keys_of(const Node *node)
{
    const Dictionary d = dictionary_of(node);
    if (!d.words.n)
        return labels_of(node, "keys");
    return node_int(node, TAKES_WORDS, 0) ? d.words : d.numbers;
}

static Labels values_of(const Node *node)
{
    const Dictionary d = dictionary_of(node);
    if (!d.words.n)
        return labels_of(node, "values");
    return node_int(node, TAKES_WORDS, 0) ? d.numbers : d.words;
}

void infer_label_encoder(Node *node)
{
    const bool takes_words = node_type(node) == DT_STRING;
    node_set_int(node, TAKES_WORDS, takes_words);
    if (takes_words != (keys_of(node).type == DT_STRING))
        fail_node(node, STATUS_MALFORMED, NULL, "its input is %s, its keys %s",
                  dtype_name(node_type(node)), dtype_name(keys_of(node).type));
    infer_out(node, 0, values_of(node).type, *infer_shape(node, 0));
}

static Recipe *default_word(const Node *node)
{
    static const int64_t one = 1;
    Store *store = node->graph->store;
    const char *word = node_string(node, "default_string", "_Unused");
    const int64_t code = words_code(store, word);
    return recipe_memory(store, DT_STRING, 1, &one, &code);
}

static Recipe *default_tensor(const Node *node, const Recipe *value, DType type)
{
    static const int64_t one = 1;
    Store *store = node->graph->store;
    const bool is_word = recipe_dtype(value) == DT_STRING;
    if (recipe_count(value) != 1 || is_word != (type == DT_STRING))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "default_tensor is not one element of %s", dtype_name(type));
    return recipe_cast(store, recipe_reshape(store, value, 1, &one), type);
}

/* The value of what is no key. */
static Recipe *default_label(const Node *node, DType type)
{
    Store *store = node->graph->store;
    const Attr *attr = node_attr(node, "default_tensor");
    const int64_t whole = node_int(node, "default_int64", -1);
    const float real = node_float(node, "default_float", -0.0f);
    const int64_t one = 1;
    Recipe *value;
    if (attr && attr->tensor)
        return default_tensor(node, attr->tensor, type);
    if (type == DT_STRING)
        value = default_word(node);
    else if (dtype_is_float(type))
        value = recipe_memory(store, DT_F32, 1, &one, &real);
    else
        value = recipe_memory(store, DT_I64, 1, &one, &whole);
    return recipe_cast(store, value, type);
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
    if (isnan(x->f) != isnan(y->f))
        return isnan(x->f) ? 1 : -1;
    if (x->f < y->f)
        return -1;
    if (x->f > y->f)
        return 1;
    return (x->at > y->at) - (x->at < y->at);
}

static Key *sorted_keys(Lower *lower, const Node *node, const Labels *k,
                        bool is_float)
{
    Store *s = lower->store;
    Key *key = NEW_ARRAY(lower->arena, Key, k->n);
    Recipe *numbers = words_integers(s, k->value);
    numbers = recipe_cast(s, numbers, is_float ? DT_F64 : DT_I64);
    const void *v = node_values(node, numbers);
    for (int64_t i = 0; i < k->n; i++) {
        key[i] = (Key){ .at = i };
        if (is_float)
            key[i].f = ((const double *)v)[i];
        else
            key[i].i = ((const int64_t *)v)[i];
    }
    if (k->n)
        qsort(key, (size_t)k->n, sizeof *key,
              is_float ? compare_floats : compare_ints);
    return key;
}

/* The keys in order, as numbers of the type that they are compared in. */
static Tensor *key_table(Lower *lower, const Key *key, int64_t count,
                         bool is_float)
{
    double *real = NEW_ARRAY(lower->arena, double, count);
    int64_t *whole = NEW_ARRAY(lower->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++) {
        real[i] = key[i].f;
        whole[i] = key[i].i;
    }
    if (!is_float)
        return lower_i64s(lower, whole, count);
    Store *store = lower->store;
    return lower_constant(lower, recipe_memory(store, DT_F64, 1, &count, real));
}

/* The values in the order of the keys, and the default behind them. */
static Tensor *value_table(Lower *lower, const Node *node, const Key *key,
                           const Labels *labels)
{
    Store *store = lower->store;
    const size_t size = (size_t)dtype_bytes(labels->type, 1);
    const int64_t all = labels->n + 1;
    const unsigned char *from = node_values(node, labels->value);
    const void *otherwise =
        recipe_values(store, lower->arena, default_label(node, labels->type));
    unsigned char *value = arena_alloc(lower->arena, (size_t)all * size);
    unsigned char *to = value;
    for (int64_t i = 0; i < labels->n; i++) {
        memcpy(to, from + (size_t)key[i].at * size, size);
        to += size;
    }
    memcpy(to, otherwise, size);
    const DType type = labels->type == DT_STRING ? DT_I64 : labels->type;
    return lower_constant(lower, recipe_memory(store, type, 1, &all, value));
}

static void check_labels(const Node *node, const Labels *keys,
                         const Labels *values)
{
    if (keys->n != values->n || keys->n < 1)
        fail_node(node, STATUS_MALFORMED, NULL, "has %lld keys for %lld values",
                  (long long)keys->n, (long long)values->n);
}

void lower_label_encoder(Lower *lower, Node *node)
{
    const Labels keys = keys_of(node);
    const Labels values = values_of(node);
    const bool is_float = dtype_is_float(keys.type);
    const char *kernel = is_float ? "lookup_f64" : "lookup_i64";
    const DType type = is_float ? DT_F64 : DT_I64;
    check_labels(node, &keys, &values);
    const Key *key = sorted_keys(lower, node, &keys, is_float);
    const inlay_lookup_params params = {
        .n = i32_checked(tensor_count(node->out[0])),
        .keys = i32_checked(keys.n),
        .size = (int32_t)dtype_bytes(values.type, 1),
    };
    Tensor *x = lower_as(lower, node->in[0], type);
    Tensor *key_list = key_table(lower, key, keys.n, is_float);
    Tensor *value_list = value_table(lower, node, key, &values);
    Step *step = lower_step(lower, kernel, &params);
    step_result(step, 0);
    step_in(step, x);
    step_in(step, key_list);
    step_in(step, value_list);
}
