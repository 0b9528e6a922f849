/* SPDX-License-Identifier: Apache-2.0
 * Bounds of classical models, whose tables are constants that the compiler made: they are walked.
 */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/signal.h"
#include "kernels/svm.h"
#include "kernels/tree.h"

/* Are elements [first, first + n) some of [0, end)? All come from numbers of 32 bits. */
static bool lies_in(int64_t first, int64_t n, int64_t end)
{
    return first >= 0 && n >= 0 && first + n <= end;
}

/* Scores of n rows of `out`, of which the kernel writes at least `least` at a time. */
static void touch_scores(Bounds *bounds, int64_t n, int64_t out, int64_t least)
{
    const int64_t rows = bounds_size(bounds, n);
    const Stretch row = span_of(i64_max(out, least));
    touch_span(bounds, 0, "scores", span_times(row, rows, out));
}

/* Operand k, the labels of classes, without which those of rows (operand 1) cannot be made. */
static void touch_labels(Bounds *bounds, int k, int64_t classes)
{
    touch(bounds, k, "labels", classes);
    if (touch_given(bounds, 1))
        touch_needs(bounds, k);
}

void bounds_ml_classify(Bounds *bounds)
{
    const inlay_ml_scores_params *p = bounds->params;
    const int64_t least = p->out > p->k ? 2 : 1;
    const int64_t out = bounds_size(bounds, p->out);
    const int64_t classes = bounds_size(bounds, p->k);
    const int64_t read = i64_max(classes, 1);
    const Stretch rows = span_times(span_of(read), p->n, classes);
    touch_scores(bounds, p->n, out, i64_max(classes, least));
    touch(bounds, 1, "labels of rows", p->n);
    touch_span(bounds, 2, "input", rows);
    touch_labels(bounds, 3, classes == 1 ? 2 : read);
}

void bounds_ml_normalize(Bounds *bounds)
{
    const inlay_ml_scores_params *p = bounds->params;
    const int64_t k = bounds_size(bounds, p->k);
    const int64_t rows = bounds_size(bounds, p->n);
    const Stretch row = span_of(i64_max(k, !p->kind));
    const Stretch all = span_times(row, rows, k);
    touch_box(bounds, 0, "result", p->n, k);
    touch_span(bounds, 1, "input", all);
}

/* The tables of an ensemble; any that is no constant stays NULL and is not believed. */
typedef struct Trees {
    const int32_t *root;
    const int32_t *node;
    const int32_t *target;
    int64_t roots;
    int64_t nodes;
    int64_t targets;
} Trees;

static bool read_trees(Bounds *bounds, Trees *trees)
{
    trees->root = bounds_values(bounds, 3, &trees->roots);
    trees->node = bounds_values(bounds, 4, &trees->nodes);
    trees->target = bounds_values(bounds, 6, &trees->targets);
    trees->nodes /= 2;
    bounds_refuse(bounds, !trees->root || !trees->node || !trees->target,
                  "its tables are no constants");
    return !bounds->wrong;
}

/* What a node is: a leaf, or how it compares. */
static int32_t kind_of(const int32_t *node)
{
    return node[0] >> 1 & 7;
}

/* Of all leaves: one more than the last vote. */
static int64_t check_nodes(Bounds *bounds, const Trees *trees, int64_t features)
{
    int64_t votes = 0;
    for (int64_t i = 0; i < trees->nodes; i++) {
        const int32_t *node = trees->node + 2 * i;
        const int64_t code = node[0];
        const int64_t other = node[1];
        if (kind_of(node) == INLAY_TREE_LEAF) {
            bounds_refuse(bounds, code < 0 || other < 0,
                          "a leaf of it has no votes");
            votes = i64_max(votes, (code >> 4) + other);
            continue;
        }
        bounds_refuse(bounds, code < 0 || code >> 4 >= features,
                      "a node of it asks for no feature");
        const int64_t nodes = trees->nodes;
        const bool last = i + 1 >= nodes;
        bounds_refuse(bounds, last || other < 0 || other >= nodes,
                      "a node of it has no child");
    }
    return votes;
}

static void check_places(Bounds *bounds, const int32_t *place, int64_t n,
                         int64_t end, const char *why)
{
    for (int64_t i = 0; i < n; i++)
        bounds_refuse(bounds, !lies_in(place[i], 1, end), why);
}

/* Element i of a table of float64 (wide) or float32. */
static double number_at(const void *table, int64_t i, bool wide)
{
    if (wide)
        return ((const double *)table)[i];
    return (double)((const float *)table)[i];
}

/* Sets of members: each begins within the list, which ends with NaN. */
static int64_t check_members(Bounds *bounds, const Trees *trees, bool wide)
{
    int64_t values;
    int64_t members;
    int64_t last = 0;
    const void *value = bounds_values(bounds, 5, &values);
    const void *member = bounds_values(bounds, 8, &members);
    for (int64_t i = 0; i < trees->nodes && i < values && value; i++) {
        if (kind_of(trees->node + 2 * i) != INLAY_TREE_MEMBER)
            continue;
        const double at = number_at(value, i, wide);
        bounds_refuse(bounds, !(at >= 0 && at < (double)members),
                      "a node of it has no members");
        last = members;
    }
    if (!last || !member)
        return last;
    const double end = number_at(member, members - 1, wide);
    bounds_refuse(bounds, end == end, "its members have no end");
    return last;
}

static void tree_tables(Bounds *bounds, const inlay_tree_params *params,
                        bool wide)
{
    Trees t;
    if (!read_trees(bounds, &t))
        return;
    const int64_t votes = check_nodes(bounds, &t, params->features);
    const int64_t trees = params->trees;
    const int64_t roots = i64_min(t.roots, trees);
    check_places(bounds, t.root, roots, t.nodes, "a tree of it has no root");
    check_places(bounds, t.target, t.targets, params->targets,
                 "a leaf of it votes for no target");
    touch(bounds, 3, "roots", trees);
    touch_box(bounds, 4, "nodes", t.nodes, 2);
    touch(bounds, 5, "values", t.nodes);
    touch(bounds, 6, "targets of votes", votes);
    touch(bounds, 7, "weights of votes", votes);
    const int64_t members = check_members(bounds, &t, wide);
    touch(bounds, 8, "members", members);
}

void bounds_tree(Bounds *bounds)
{
    const inlay_tree_params *p = bounds->params;
    const bool wide = bounds->reach[2].type == 'd';
    const int64_t targets = bounds_size(bounds, p->targets);
    const int64_t sum = wide ? 8 : 4;
    const int64_t each = sum + 4 + 1; /* and a score, a mark */
    bounds_refuse(bounds, p->classify && targets < 1, "it has no class");
    touch_as(bounds, 0, p->wide ? 'd' : 'f');
    const int64_t rows = p->n;
    touch_box(bounds, 0, "scores", rows, targets);
    touch(bounds, 1, "labels of rows", rows);
    touch_box(bounds, 2, "input", rows, p->features);
    tree_tables(bounds, p, wide);
    touch(bounds, 9, "base values", p->bases);
    if (p->bases)
        touch_needs(bounds, 9);
    touch_labels(bounds, 10, i64_max(targets, 1));
    touch_box(bounds, 11, "scratch", targets, each);
}

void bounds_svm_regress(Bounds *bounds)
{
    const inlay_svm_params *p = bounds->params;
    touch(bounds, 0, "result", p->n);
    touch_box(bounds, 1, "input", p->n, p->features);
    const int64_t vectors = p->vectors;
    const int64_t features = p->features;
    touch(bounds, 2, "coefficients", vectors ? vectors : features);
    touch_box(bounds, 3, "support vectors", vectors, features);
    if (vectors)
        touch_needs(bounds, 3);
    touch(bounds, 4, "rho", 1);
}

/* Support vectors of each class. */
static void check_classes(Bounds *bounds, const inlay_svm_params *params)
{
    int64_t count;
    const int32_t *first = bounds_values(bounds, 7, &count);
    bounds_refuse(bounds, !first || count < sat_mul(2, params->classes),
                  "it has no vectors of a class");
    for (int64_t i = 0; i < params->classes && !bounds->wrong; i++) {
        const int64_t begin = first[i];
        const int64_t n = first[params->classes + i];
        bounds_refuse(bounds, !lies_in(begin, n, params->vectors),
                      "a class of it has vectors that are none");
    }
}

static void svm_pairs(Bounds *bounds, const inlay_svm_params *params,
                      int64_t pairs)
{
    const int64_t classes = params->classes;
    const int64_t vectors = params->vectors;
    const int64_t square = sat_mul(classes, classes);
    const int64_t couple = sat_mul(2, sat_add(square, classes));
    const int64_t scratch = sat_add(vectors, pairs);
    check_classes(bounds, params);
    touch_box(bounds, 3, "coefficients", classes - 1, vectors);
    touch_box(bounds, 4, "support vectors", vectors, params->features);
    touch_needs(bounds, 4);
    touch(bounds, 5, "rho", pairs);
    touch_box(bounds, 7, "vectors of classes", 2, classes);
    if (params->probabilities) {
        touch_box(bounds, 8, "probabilities", 2, pairs);
        touch_needs(bounds, 8);
    }
    touch(bounds, 9, "scratch", sat_add(scratch, couple));
    touch_needs(bounds, 9);
}

/* Scores that the kernel writes at a time: of classes, or of pairs of them. */
static int64_t svm_scores(const inlay_svm_params *params, int64_t classes,
                          int64_t pairs)
{
    if (!params->vectors || params->probabilities)
        return classes;
    return classes == 2 ? 2 : pairs;
}

void bounds_svm_classify(Bounds *bounds)
{
    const inlay_svm_params *p = bounds->params;
    const int64_t classes = bounds_positive(bounds, p->classes);
    const int64_t pairs = sat_mul(classes, classes - 1) / 2;
    const int64_t least = svm_scores(p, classes, pairs);
    bounds_narrow(bounds, sat_mul(classes, classes));
    const int64_t out = bounds_size(bounds, p->out);
    touch_scores(bounds, p->n, out, least);
    touch(bounds, 1, "labels of rows", p->n);
    touch_box(bounds, 2, "input", p->n, p->features);
    touch_labels(bounds, 6, classes);
    if (p->vectors) {
        svm_pairs(bounds, p, pairs);
        return;
    }
    touch_box(bounds, 3, "coefficients", classes, p->features);
    touch(bounds, 5, "rho", 1);
}

/* Grams: their tokens lie in the pool, their places in the result. */
static void check_grams(Bounds *bounds, const inlay_tfidf_params *params,
                        int64_t pool)
{
    int64_t count;
    const int32_t *gram = bounds_values(bounds, 3, &count);
    bounds_refuse(bounds, !gram || count < sat_mul(3, params->grams),
                  "its table of n-grams is short");
    const int64_t grams = params->grams;
    for (int64_t i = 0; i < grams && !bounds->wrong; i++, gram += 3) {
        const int64_t length = gram[1];
        const bool lies = length > 0 && lies_in(gram[0], length, pool);
        bounds_refuse(bounds, !lies, "an n-gram of it leaves the pool");
        bounds_refuse(bounds, !lies_in(gram[2], 1, params->out),
                      "an n-gram of it has no place");
    }
}

void bounds_tfidf(Bounds *bounds)
{
    const inlay_tfidf_params *p = bounds->params;
    const Operand *grams = bounds->step->operand + 2;
    const bool pooled = touch_given(bounds, 2);
    const int64_t pool = pooled ? tensor_count(grams->tensor) : 0;
    bounds_size(bounds, p->skips);
    bounds_narrow(bounds, sat_add(p->skips, 1));
    check_grams(bounds, p, pool);
    const char token = p->wide ? 'l' : 'i';
    touch_as(bounds, 1, token);
    touch_box(bounds, 0, "result", p->batch, p->out);
    touch_box(bounds, 1, "input", p->batch, p->n);
    touch(bounds, 2, "pool", pool);
    touch_box(bounds, 3, "n-grams", 3, p->grams);
    touch(bounds, 4, "weights", p->mode ? p->grams : 0);
    if (p->mode)
        touch_needs(bounds, 4);
}
