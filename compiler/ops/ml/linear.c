/* SPDX-License-Identifier: Apache-2.0
 * Linear models and support vector machines of ai.onnx.ml. A linear model is a Gemm, then its
 * scores. */
#include <string.h>

#include "base/size.h"
#include "kernels/ml_scores.h"
#include "kernels/svm.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/ml/scores.h"
#include "ops/typed.h"

int32_t ml_post(const Node *node)
{
    static const char *const names[] = { "NONE", "SOFTMAX", "LOGISTIC",
                                         "SOFTMAX_ZERO", "PROBIT" };
    const char *said = node_string(node, "post_transform", "NONE");
    for (int i = 0; i < 5; i++)
        if (!strcmp(names[i], said))
            return i;
    fail_node(node, STATUS_MALFORMED, NULL, "post_transform is \"%s\"", said);
}

void ml_rows(const Node *node, int64_t *rows, int64_t *columns)
{
    const Shape *x = infer_shape(node, 0);
    if (x->rank != 1 && x->rank != 2)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its input has %d dimensions, not 2", x->rank);
    *rows = x->rank == 1 ? 1 : x->dim[0];
    *columns = x->dim[x->rank - 1];
}

ClassLabels ml_labels(const Node *node, const char *ints)
{
    ClassLabels labels = { .type = DT_STRING };
    labels.at = node_codes(node, "classlabels_strings", &labels.n);
    if (labels.n)
        return labels;
    labels.type = DT_I64;
    labels.at = node_ints(node, ints, &labels.n);
    return labels;
}

Tensor *ml_label_table(Lower *lower, const ClassLabels *labels, int64_t count)
{
    int64_t *label = NEW_ARRAY(lower->arena, int64_t, count + 1);
    const int64_t named = labels->n;
    for (int64_t i = 0; i < count; i++)
        label[i] = i < named ? labels->at[i] : i;
    return lower_i64s(lower, label, count);
}

/* Coefficients as [targets][features] times the rows, plus intercepts. */
/* The intercepts; NULL: there are none. */
static Tensor *linear_bias(const Node *node, int64_t targets)
{
    int64_t count;
    const float *bias = node_floats(node, "intercepts", &count);
    if (!count)
        return NULL;
    if (count != targets)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld intercepts for %lld targets", (long long)count,
                  (long long)targets);
    return expand_floats(node, count, bias);
}

static Tensor *linear_weights(const Node *node, int64_t targets,
                              int64_t columns)
{
    int64_t count;
    const float *weight = node_floats(node, "coefficients", &count);
    const int64_t dims[] = { targets, columns };
    if (targets < 1 || count != i64_mul(targets, columns))
        fail_node(node, STATUS_MALFORMED, NULL,
                  "%lld coefficients for %lld targets of %lld features",
                  (long long)count, (long long)targets, (long long)columns);
    Store *store = node->graph->store;
    Recipe *value = recipe_memory(store, DT_F32, 2, dims, weight);
    return graph_add_constant(node->graph, NULL, value);
}

static Tensor *linear_scores(const Node *node, int64_t targets)
{
    int64_t dims[2];
    ml_rows(node, &dims[0], &dims[1]);
    Tensor *weights = linear_weights(node, targets, dims[1]);
    Tensor *bias = linear_bias(node, targets);
    Tensor *x = expand_cast(node, node->in[0], DT_F32);
    x = expand_reshape(node, x, 2, dims);
    Node *gemm = expand_of(node, "Gemm", x, weights, bias);
    node_set_int(gemm, "transB", 1);
    return expand_done(gemm);
}

static Node *scores_node(const Node *node, Tensor *scores, int outputs)
{
    Node *made = expand_inlay_node(node, "Scores", 1, &scores, outputs);
    node_set_string(made, "post_transform",
                    node_string(node, "post_transform", "NONE"));
    return made;
}

void expand_linear_regressor(Node *node)
{
    Tensor *z = linear_scores(node, node_int(node, "targets", 1));
    if (ml_post(node))
        z = expand_done(scores_node(node, z, 1));
    expand_finish_one(node, z);
}

void expand_linear_classifier(Node *node)
{
    int64_t targets;
    node_floats(node, "intercepts", &targets);
    const ClassLabels labels = ml_labels(node, "classlabels_ints");
    if (!targets)
        targets = labels.n;
    Node *made = scores_node(node, linear_scores(node, targets), 2);
    node_set_int(made, "second", targets == 1 && labels.n == 2);
    node_set_int(made, "label_type", labels.type);
    if (labels.n && labels.n >= targets)
        node_set_ints(made, "labels", labels.n, labels.at);
    expand_done(made);
    Tensor *result[2] = { made->out[1], made->out[0] };
    expand_finish(node, 2, result);
}

/* inlay.Scores: scores [N][K] -> scores after the transform, and the label of the class they
 * choose. */
static bool has_second(const Node *node)
{
    return node_flag(node, "second", false);
}

void infer_scores(Node *node)
{
    const Shape *x = infer_shape(node, 0);
    const int64_t rows = x->dim[0];
    const int64_t dims[] = { rows, has_second(node) ? 2 : x->dim[1] };
    const int64_t code = node_int(node, "label_type", DT_I64);
    infer_out(node, 0, DT_F32, shape_of(2, dims));
    infer_out(node, 1, dtype_of_code(code), shape_vector(rows));
}

void lower_scores(Lower *lower, Node *node)
{
    const Shape *x = node_shape(node, 0);
    const Shape *scores = result_shape(node, 0);
    const inlay_ml_scores_params params = {
        .n = i32_checked(x->dim[0]),
        .k = i32_checked(x->dim[1]),
        .out = i32_checked(scores->dim[1]),
        .post = ml_post(node),
    };
    const ClassLabels labels = ml_labels(node, "labels");
    Step *step = lower_step(lower, "ml_classify", &params);
    step_result(step, 0);
    step_result(step, 1);
    step_operand(step, 0);
    step_in(step, ml_label_table(lower, &labels, i64_max(params.k, 2)));
}

/* Support vector machines. */

static inlay_svm_params svm_params(const Node *node)
{
    static const char *const kernels[] = { "LINEAR", "POLY", "RBF", "SIGMOID" };
    int64_t rows, columns, count;
    const char *said = node_string(node, "kernel_type", "LINEAR");
    const float *k = node_floats(node, "kernel_params", &count);
    ml_rows(node, &rows, &columns);
    inlay_svm_params params = {
        .n = i32_checked(rows),
        .features = i32_checked(columns),
        .post = ml_post(node),
        .kernel = -1,
    };
    for (int i = 0; i < 4; i++)
        if (!strcmp(kernels[i], said))
            params.kernel = i;
    if (params.kernel < 0)
        fail_node(node, STATUS_MALFORMED, NULL, "kernel_type is \"%s\"", said);
    if (count >= 3) {
        params.gamma = k[0];
        params.coef0 = k[1];
        params.degree = k[2];
    }
    return params;
}

/* A list of at least `least` floats as a constant; NULL where it is empty and may be. */
static Tensor *float_list(Lower *lower, const Node *node, const char *name,
                          int64_t least)
{
    int64_t count;
    const float *v = node_floats(node, name, &count);
    if (count < least)
        fail_node(node, STATUS_MALFORMED, NULL, "%s has %lld values, not %lld",
                  name, (long long)count, (long long)least);
    return count ? lower_floats(lower, v, count) : NULL;
}

void infer_svm_regressor(Node *node)
{
    int64_t rows, columns;
    ml_rows(node, &rows, &columns);
    infer_out(node, 0, DT_F32, shape_of(2, (const int64_t[]){ rows, 1 }));
}

void lower_svm_regressor(Lower *lower, Node *node)
{
    inlay_svm_params params = svm_params(node);
    params.vectors = i32_checked(node_int(node, "n_supports", 0));
    params.one_class = node_flag(node, "one_class", false);
    if (!params.vectors)
        params.kernel = 0;
    Tensor *x = lower_as(lower, node->in[0], DT_F32);
    Tensor *c = float_list(lower, node, "coefficients",
                           params.vectors ? params.vectors : params.features);
    Tensor *tensor = float_list(lower, node, "support_vectors",
                                i64_mul(params.vectors, params.features));
    Tensor *rho = float_list(lower, node, "rho", 1);
    Step *step = lower_step(lower, "svm_regress", &params);
    step_result(step, 0);
    step_in(step, x);
    step_in(step, c);
    step_in(step, tensor);
    step_in(step, rho);
}

typedef struct Classes {
    ClassLabels labels;
    int64_t classes, vectors, pairs, out;
    bool probabilities;
} Classes;

static Classes svm_classes(const Node *node)
{
    int64_t count;
    int64_t probabilities;
    const int64_t *each = node_ints(node, "vectors_per_class", &count);
    Classes c = { .labels = ml_labels(node, "classlabels_ints") };
    const int64_t classes = c.labels.n;
    c.classes = classes;
    node_floats(node, "prob_a", &probabilities);
    for (int64_t i = 0; i < count; i++)
        c.vectors = i64_add(c.vectors, each[i]);
    const bool fits = !c.vectors || count == classes;
    if (classes < 1 || c.vectors < 0 || !fits)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "vectors_per_class has %lld numbers for %lld classes",
                  (long long)count, (long long)classes);
    c.pairs = classes * (classes - 1) / 2;
    c.probabilities = c.vectors && probabilities > 0;
    const bool by_pair = c.vectors && !c.probabilities && classes != 2;
    c.out = by_pair ? c.pairs : classes;
    return c;
}

void infer_svm_classifier(Node *node)
{
    int64_t rows, columns;
    const Classes c = svm_classes(node);
    ml_rows(node, &rows, &columns);
    infer_out(node, 0, c.labels.type, shape_vector(rows));
    infer_out(node, 1, DT_F32, shape_of(2, (const int64_t[]){ rows, c.out }));
}

/* The first support vector of each class, then how many it has. */
static Tensor *class_vectors(Lower *lower, const Node *node, int64_t classes)
{
    int64_t count;
    const int64_t *each = node_ints(node, "vectors_per_class", &count);
    int32_t *v = NEW_ARRAY(lower->arena, int32_t, 2 * classes);
    for (int64_t i = 0, at = 0; i < count; i++) {
        if (each[i] < 0)
            fail_node(node, STATUS_MALFORMED, NULL,
                      "vectors_per_class has a negative number");
        v[i] = i32_checked(at);
        v[classes + i] = i32_checked(each[i]);
        at += each[i];
    }
    return lower_i32s(lower, v, 2 * classes);
}

static bool all_positive(const Node *node, const char *name)
{
    int64_t count;
    const float *v = node_floats(node, name, &count);
    for (int64_t i = 0; i < count; i++)
        if (v[i] < 0.0f)
            return false;
    return true;
}

static Tensor *platt(Lower *lower, const Node *node, int64_t pairs)
{
    int64_t as;
    int64_t bs;
    const size_t bytes = (size_t)pairs * sizeof(float);
    const float *a = node_floats(node, "prob_a", &as);
    const float *b = node_floats(node, "prob_b", &bs);
    if (as < pairs || bs < pairs)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "prob_a and prob_b are shorter than %lld", (long long)pairs);
    float *both = NEW_ARRAY(lower->arena, float, 2 * pairs);
    memcpy(both, a, bytes);
    memcpy(both + pairs, b, bytes);
    return lower_floats(lower, both, 2 * pairs);
}

static inlay_svm_params classifier_params(const Node *node,
                                          const Classes *classes)
{
    inlay_svm_params params = svm_params(node);
    params.vectors = i32_checked(classes->vectors);
    params.classes = i32_checked(classes->classes);
    params.out = i32_checked(classes->out);
    params.probabilities = classes->probabilities;
    params.positive = all_positive(node, "coefficients");
    if (!params.vectors)
        params.kernel = 0;
    return params;
}

/* The lists of the model, in the order of the kernel's operands. */
enum { SVM_LISTS = 6 };

static void classifier_lists(Lower *lower, const Node *node,
                             const Classes *classes, int64_t features,
                             Tensor **list)
{
    const int64_t vectors = classes->vectors;
    const int64_t count = classes->classes;
    int64_t weights = i64_mul(count, features);
    if (vectors)
        weights = i64_mul(count - 1, vectors);
    const int64_t numbers = i64_mul(vectors, features);
    const int64_t limits = vectors ? classes->pairs : 1;
    list[0] = float_list(lower, node, "coefficients", weights);
    list[1] = float_list(lower, node, "support_vectors", numbers);
    list[2] = float_list(lower, node, "rho", limits);
    list[3] = ml_label_table(lower, &classes->labels, count);
    list[4] = class_vectors(lower, node, count);
    if (classes->probabilities)
        list[5] = platt(lower, node, classes->pairs);
}

static int64_t classifier_scratch(const Classes *classes)
{
    const int64_t square = i64_mul(classes->classes, classes->classes);
    const int64_t numbers = classes->vectors + classes->pairs;
    return 4 * (numbers + 2 * square + 2 * classes->classes);
}

void lower_svm_classifier(Lower *lower, Node *node)
{
    const Classes classes = svm_classes(node);
    const inlay_svm_params params = classifier_params(node, &classes);
    const int64_t dims[] = { params.n, classes.out };
    Tensor *list[SVM_LISTS] = { NULL };
    Tensor *x = lower_as(lower, node->in[0], DT_F32);
    const Shape shape = shape_of(2, dims);
    Tensor *scores = node_out(node, 1);
    classifier_lists(lower, node, &classes, params.features, list);
    if (!scores)
        scores = lower_temp(lower, DT_F32, shape);
    Step *step = lower_step(lower, "svm_classify", &params);
    step_out(step, scores);
    step_result(step, 0);
    step_in(step, x);
    for (int i = 0; i < SVM_LISTS; i++)
        step_in(step, list[i]);
    step_scratch(lower, step, classifier_scratch(&classes));
}
