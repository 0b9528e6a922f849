/* SPDX-License-Identifier: Apache-2.0
 * Linear models and support vector machines of ai.onnx.ml. A linear model is a Gemm, then its
 * scores. */
#include <string.h>

#include "base/size.h"
#include "kernels/ml_scores.h"
#include "kernels/svm.h"
#include "ops/expand.h"
#include "ops/families.h"
#include "ops/ml_scores.h"
#include "ops/typed.h"

int32_t ml_post(const Node *n)
{
    static const char *const names[] = { "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT" };
    const char *said = node_string(n, "post_transform", "NONE");
    for (int i = 0; i < 5; i++)
        if (!strcmp(names[i], said))
            return i;
    fail_node(n, STATUS_MALFORMED, NULL, "post_transform is \"%s\"", said);
}

void ml_rows(const Node *n, int64_t *rows, int64_t *columns)
{
    const Shape *x = infer_shape(n, 0);
    if (x->rank != 1 && x->rank != 2)
        fail_node(n, STATUS_MALFORMED, NULL, "its input has %d dimensions, not 2", x->rank);
    *rows = x->rank == 1 ? 1 : x->dim[0];
    *columns = x->dim[x->rank - 1];
}

int64_t ml_classes(const Node *n, const char *ints, const char *strings)
{
    const Attr *i = node_attr(n, ints), *s = node_attr(n, strings);
    if (!s || !s->n)
        return i ? i->n : 0;
    if (node_out(n, 0) && n->out[0]->uses)
        fail_node(n, STATUS_UNSUPPORTED,
                  "use the scores (the second output): their order is that of the class labels",
                  "its labels are strings, which stay on the host");
    return s->n;
}

Tensor *ml_labels(Lower *l, const Node *n, const char *ints, int64_t count)
{
    int64_t given;
    const int64_t *v = node_ints(n, ints, &given);
    int64_t *labels = NEW_ARRAY(l->arena, int64_t, count + 1);
    for (int64_t i = 0; i < count; i++)
        labels[i] = v && i < given ? v[i] : i;
    return lower_i64s(l, labels, count);
}

/* Coefficients as [targets][features] times the rows, plus intercepts. */
static Tensor *linear_scores(const Node *n, int64_t targets)
{
    int64_t rows, columns, count, biases;
    const float *c = node_floats(n, "coefficients", &count),
                *b = node_floats(n, "intercepts", &biases);
    ml_rows(n, &rows, &columns);
    if (targets < 1 || count != i64_mul(targets, columns))
        fail_node(n, STATUS_MALFORMED, NULL, "%lld coefficients for %lld targets of %lld features",
                  (long long)count, (long long)targets, (long long)columns);
    const int64_t dims[] = { targets, columns }, in_dims[] = { rows, columns };
    Tensor *w =
        graph_add_constant(n->graph, NULL, recipe_memory(n->graph->store, DT_F32, 2, dims, c));
    Tensor *in[3] = { expand_reshape(n, expand_cast(n, n->in[0], DT_F32), 2, in_dims), w,
                      biases ? expand_floats(n, biases, b) : NULL };
    if (biases && biases != targets)
        fail_node(n, STATUS_MALFORMED, NULL, "%lld intercepts for %lld targets", (long long)biases,
                  (long long)targets);
    Node *gemm = expand_node(n, "Gemm", biases ? 3 : 2, in, 1);
    node_set_int(gemm, "transB", 1);
    return expand_done(gemm);
}

static Node *scores_node(const Node *n, Tensor *scores, int outputs)
{
    Node *made = expand_inlay_node(n, "Scores", 1, &scores, outputs);
    node_set_string(made, "post_transform", node_string(n, "post_transform", "NONE"));
    return made;
}

void expand_linear_regressor(Node *n)
{
    Tensor *z = linear_scores(n, node_int(n, "targets", 1));
    if (ml_post(n))
        z = expand_done(scores_node(n, z, 1));
    expand_finish(n, 1, &z);
}

void expand_linear_classifier(Node *n)
{
    int64_t targets, ints;
    node_floats(n, "intercepts", &targets);
    const int64_t classes = ml_classes(n, "classlabels_ints", "classlabels_strings"),
                  *labels = node_ints(n, "classlabels_ints", &ints);
    if (!targets)
        targets = classes;
    Node *made = scores_node(n, linear_scores(n, targets), 2);
    node_set_int(made, "second", targets == 1 && classes == 2);
    if (ints && ints >= targets)
        node_set_ints(made, "labels", ints, labels);
    expand_done(made);
    Tensor *result[2] = { made->out[1], made->out[0] };
    expand_finish(n, 2, result);
}

/* inlay.Scores: scores [N][K] -> scores after the transform, and the label of the class they
 * choose. */
static bool has_second(const Node *n)
{
    return node_int(n, "second", 0) != 0;
}

void infer_scores(Node *n)
{
    const Shape *x = infer_shape(n, 0);
    const int64_t dims[] = { x->dim[0], has_second(n) ? 2 : x->dim[1] };
    infer_out(n, 0, DT_F32, shape_of(2, dims));
    infer_out(n, 1, DT_I64, shape_vector(x->dim[0]));
}

void lower_scores(Lower *l, Node *n)
{
    const Shape *x = &n->in[0]->shape;
    const inlay_ml_scores_params p = { .n = i32_checked(x->dim[0]),
                                       .k = i32_checked(x->dim[1]),
                                       .out = i32_checked(n->out[0]->shape.dim[1]),
                                       .post = ml_post(n) };
    Step *s = lower_step(l, n, "ml_classify", &p);
    step_out(s, n->out[0]);
    step_out(s, node_out(n, 1));
    step_in(s, n->in[0]);
    step_in(s, ml_labels(l, n, "labels", i64_max(p.k, 2)));
}

/* Support vector machines. */

static inlay_svm_params svm_params(const Node *n)
{
    static const char *const kernels[] = { "LINEAR", "POLY", "RBF", "SIGMOID" };
    int64_t rows, columns, count;
    const char *said = node_string(n, "kernel_type", "LINEAR");
    const float *k = node_floats(n, "kernel_params", &count);
    ml_rows(n, &rows, &columns);
    inlay_svm_params p = {
        .n = i32_checked(rows), .features = i32_checked(columns), .post = ml_post(n), .kernel = -1
    };
    for (int i = 0; i < 4; i++)
        if (!strcmp(kernels[i], said))
            p.kernel = i;
    if (p.kernel < 0)
        fail_node(n, STATUS_MALFORMED, NULL, "kernel_type is \"%s\"", said);
    if (count >= 3)
        p.gamma = k[0], p.coef0 = k[1], p.degree = k[2];
    return p;
}

/* A list of at least `least` floats as a constant; NULL where it is empty and may be. */
static Tensor *float_list(Lower *l, const Node *n, const char *name, int64_t least)
{
    int64_t count;
    const float *v = node_floats(n, name, &count);
    if (count < least)
        fail_node(n, STATUS_MALFORMED, NULL, "%s has %lld values, not %lld", name, (long long)count,
                  (long long)least);
    return count ? lower_floats(l, v, count) : NULL;
}

void infer_svm_regressor(Node *n)
{
    int64_t rows, columns;
    ml_rows(n, &rows, &columns);
    infer_out(n, 0, DT_F32, shape_of(2, (const int64_t[]){ rows, 1 }));
}

void lower_svm_regressor(Lower *l, Node *n)
{
    inlay_svm_params p = svm_params(n);
    p.vectors = i32_checked(node_int(n, "n_supports", 0));
    p.one_class = node_int(n, "one_class", 0) != 0;
    if (!p.vectors)
        p.kernel = 0;
    Tensor *x = lower_as(l, n, n->in[0], DT_F32),
           *c = float_list(l, n, "coefficients", p.vectors ? p.vectors : p.features);
    Tensor *v = float_list(l, n, "support_vectors", i64_mul(p.vectors, p.features)),
           *rho = float_list(l, n, "rho", 1);
    Step *s = lower_step(l, n, "svm_regress", &p);
    step_out(s, n->out[0]);
    step_in(s, x);
    step_in(s, c);
    step_in(s, v);
    step_in(s, rho);
}

typedef struct Classes {
    int64_t classes, vectors, pairs, out;
    bool probabilities;
} Classes;

static Classes svm_classes(const Node *n)
{
    int64_t count, probabilities;
    const int64_t *each = node_ints(n, "vectors_per_class", &count);
    Classes c = { .classes = ml_classes(n, "classlabels_ints", "classlabels_strings") };
    node_floats(n, "prob_a", &probabilities);
    for (int64_t i = 0; i < count; i++)
        c.vectors = i64_add(c.vectors, each[i]);
    if (c.classes < 1 || c.vectors < 0 || (c.vectors && count != c.classes))
        fail_node(n, STATUS_MALFORMED, NULL, "vectors_per_class has %lld numbers for %lld classes",
                  (long long)count, (long long)c.classes);
    c.pairs = c.classes * (c.classes - 1) / 2;
    c.probabilities = c.vectors && probabilities > 0;
    c.out = !c.vectors || c.probabilities || c.classes == 2 ? c.classes : c.pairs;
    return c;
}

void infer_svm_classifier(Node *n)
{
    int64_t rows, columns;
    const Classes c = svm_classes(n);
    ml_rows(n, &rows, &columns);
    infer_out(n, 0, DT_I64, shape_vector(rows));
    infer_out(n, 1, DT_F32, shape_of(2, (const int64_t[]){ rows, c.out }));
}

/* The first support vector of each class, then how many it has. */
static Tensor *class_vectors(Lower *l, const Node *n, int64_t classes)
{
    int64_t count;
    const int64_t *each = node_ints(n, "vectors_per_class", &count);
    int32_t *v = NEW_ARRAY(l->arena, int32_t, 2 * classes);
    for (int64_t i = 0, at = 0; i < count; i++) {
        if (each[i] < 0)
            fail_node(n, STATUS_MALFORMED, NULL, "vectors_per_class has a negative number");
        v[i] = i32_checked(at);
        v[classes + i] = i32_checked(each[i]);
        at += each[i];
    }
    return lower_i32s(l, v, 2 * classes);
}

static bool all_positive(const Node *n, const char *name)
{
    int64_t count;
    const float *v = node_floats(n, name, &count);
    for (int64_t i = 0; i < count; i++)
        if (v[i] < 0.0f)
            return false;
    return true;
}

static Tensor *platt(Lower *l, const Node *n, int64_t pairs)
{
    int64_t as, bs;
    const float *a = node_floats(n, "prob_a", &as), *b = node_floats(n, "prob_b", &bs);
    if (as < pairs || bs < pairs)
        fail_node(n, STATUS_MALFORMED, NULL, "prob_a and prob_b are shorter than %lld",
                  (long long)pairs);
    float *both = NEW_ARRAY(l->arena, float, 2 * pairs);
    memcpy(both, a, (size_t)pairs * sizeof *a);
    memcpy(both + pairs, b, (size_t)pairs * sizeof *b);
    return lower_floats(l, both, 2 * pairs);
}

void lower_svm_classifier(Lower *l, Node *n)
{
    const Classes c = svm_classes(n);
    inlay_svm_params p = svm_params(n);
    p.vectors = i32_checked(c.vectors);
    p.classes = i32_checked(c.classes);
    p.out = i32_checked(c.out);
    p.probabilities = c.probabilities;
    p.positive = all_positive(n, "coefficients");
    if (!p.vectors)
        p.kernel = 0;
    Tensor *x = lower_as(l, n, n->in[0], DT_F32), *z = node_out(n, 1);
    Tensor *in[] = { x,
                     float_list(l, n, "coefficients",
                                p.vectors ? i64_mul(c.classes - 1, c.vectors)
                                          : i64_mul(c.classes, p.features)),
                     float_list(l, n, "support_vectors", i64_mul(c.vectors, p.features)),
                     float_list(l, n, "rho", p.vectors ? c.pairs : 1),
                     ml_labels(l, n, "classlabels_ints", c.classes),
                     class_vectors(l, n, c.classes),
                     c.probabilities ? platt(l, n, c.pairs) : NULL };
    if (!z)
        z = lower_temp(l, DT_F32, shape_of(2, (const int64_t[]){ p.n, c.out }));
    Step *s = lower_step(l, n, "svm_classify", &p);
    step_out(s, z);
    step_out(s, node_out(n, 0));
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        step_in(s, in[i]);
    step_scratch(l, s,
                 4 * (c.vectors + c.pairs + 2 * i64_mul(c.classes, c.classes) + 2 * c.classes));
}
