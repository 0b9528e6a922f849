/* SPDX-License-Identifier: Apache-2.0
 * Bounds of classical models, whose tables are constants that the compiler made: they are walked.
 */
#include "bounds/families.h"
#include "bounds/reach.h"
#include "kernels/signal.h"
#include "kernels/svm.h"
#include "kernels/tree.h"

static int64_t product(Bounds *b, int64_t x, int64_t y)
{
    return sat_mul(bounds_size(b, x), bounds_size(b, y));
}

/* Scores of n rows of `out`, of which the kernel writes at least `least` at a time. */
static void touch_scores(Bounds *b, int64_t n, int64_t out, int64_t least)
{
    touch_span(b, 0, "scores", span_times(span_of(i64_max(out, least)), bounds_size(b, n), out));
}

void bounds_ml_classify(Bounds *b)
{
    const inlay_ml_scores_params *p = b->params;
    const int64_t least = p->out > p->k ? 2 : 1;
    touch_scores(b, p->n, bounds_size(b, p->out), i64_max(p->k, least));
    touch(b, 1, "labels of rows", p->n);
    touch_span(b, 2, "input", span_times(span_of(i64_max(p->k, 1)), p->n, bounds_size(b, p->k)));
    touch(b, 3, "labels", p->k == 1 ? 2 : i64_max(p->k, 1));
    if (touch_given(b, 1))
        touch_needs(b, 3);
}

void bounds_ml_normalize(Bounds *b)
{
    const inlay_ml_scores_params *p = b->params;
    const int64_t k = bounds_size(b, p->k);
    touch(b, 0, "result", product(b, p->n, k));
    touch_span(b, 1, "input", span_times(span_of(i64_max(k, !p->kind)), bounds_size(b, p->n), k));
}

/* The tables of an ensemble; any that is no constant stays NULL and is not believed. */
typedef struct Trees {
    const int32_t *root, *node, *target;
    int64_t roots, nodes, targets;
} Trees;

static bool read_trees(Bounds *b, Trees *t)
{
    t->root = bounds_values(b, 3, &t->roots);
    t->node = bounds_values(b, 4, &t->nodes);
    t->target = bounds_values(b, 6, &t->targets);
    t->nodes /= 2;
    bounds_refuse(b, !t->root || !t->node || !t->target, "its tables are no constants");
    return !b->wrong;
}

/* Of all leaves: one more than the last vote. */
static int64_t check_nodes(Bounds *b, const Trees *t, int64_t features)
{
    int64_t votes = 0;
    for (int64_t i = 0; i < t->nodes; i++) {
        const int64_t code = t->node[2 * i], other = t->node[2 * i + 1];
        if ((code >> 1 & 7) == INLAY_TREE_LEAF) {
            bounds_refuse(b, code < 0 || other < 0, "a leaf of it has no votes");
            votes = i64_max(votes, (code >> 4) + other);
            continue;
        }
        bounds_refuse(b, code < 0 || code >> 4 >= features, "a node of it asks for no feature");
        bounds_refuse(b, other < 0 || other >= t->nodes || i + 1 >= t->nodes,
                      "a node of it has no child");
    }
    return votes;
}

static void check_places(Bounds *b, const int32_t *place, int64_t n, int64_t end, const char *why)
{
    for (int64_t i = 0; i < n; i++)
        bounds_refuse(b, place[i] < 0 || place[i] >= end, why);
}

/* Sets of members: each begins within the list, which ends with NaN. */
static int64_t check_members(Bounds *b, const Trees *t, bool wide)
{
    int64_t values, members, last = 0;
    const void *value = bounds_values(b, 5, &values), *member = bounds_values(b, 8, &members);
    for (int64_t i = 0; i < t->nodes && i < values && value; i++) {
        if ((t->node[2 * i] >> 1 & 7) != INLAY_TREE_MEMBER)
            continue;
        const double at = wide ? ((const double *)value)[i] : (double)((const float *)value)[i];
        bounds_refuse(b, !(at >= 0 && at < (double)members), "a node of it has no members");
        last = members;
    }
    if (!last || !member)
        return last;
    const double end =
        wide ? ((const double *)member)[members - 1] : (double)((const float *)member)[members - 1];
    bounds_refuse(b, end == end, "its members have no end");
    return last;
}

static void tree_tables(Bounds *b, const inlay_tree_params *p, bool wide)
{
    Trees t;
    if (!read_trees(b, &t))
        return;
    const int64_t votes = check_nodes(b, &t, p->features);
    check_places(b, t.root, i64_min(t.roots, p->trees), t.nodes, "a tree of it has no root");
    check_places(b, t.target, t.targets, p->targets, "a leaf of it votes for no target");
    touch(b, 3, "roots", p->trees);
    touch(b, 4, "nodes", sat_mul(t.nodes, 2));
    touch(b, 5, "values", t.nodes);
    touch(b, 6, "targets of votes", votes);
    touch(b, 7, "weights of votes", votes);
    touch(b, 8, "members", check_members(b, &t, wide));
}

void bounds_tree(Bounds *b)
{
    const inlay_tree_params *p = b->params;
    const bool wide = b->reach[2].type == 'd';
    const int64_t targets = bounds_size(b, p->targets);
    const int64_t each = (wide ? 8 : 4) + 4 + 1; /* a sum, a score, a mark */
    bounds_refuse(b, p->classify && targets < 1, "it has no class");
    touch_as(b, 0, p->wide ? 'd' : 'f');
    touch(b, 0, "scores", product(b, p->n, targets));
    touch(b, 1, "labels of rows", p->n);
    touch(b, 2, "input", product(b, p->n, p->features));
    tree_tables(b, p, wide);
    touch(b, 9, "base values", p->bases);
    if (p->bases)
        touch_needs(b, 9);
    touch(b, 10, "labels", i64_max(targets, 1));
    if (touch_given(b, 1))
        touch_needs(b, 10);
    touch(b, 11, "scratch", sat_mul(targets, each));
}

void bounds_svm_regress(Bounds *b)
{
    const inlay_svm_params *p = b->params;
    touch(b, 0, "result", p->n);
    touch(b, 1, "input", product(b, p->n, p->features));
    touch(b, 2, "coefficients", p->vectors ? p->vectors : p->features);
    touch(b, 3, "support vectors", product(b, p->vectors, p->features));
    if (p->vectors)
        touch_needs(b, 3);
    touch(b, 4, "rho", 1);
}

/* Support vectors of each class. */
static void check_classes(Bounds *b, const inlay_svm_params *p)
{
    int64_t count;
    const int32_t *first = bounds_values(b, 7, &count);
    bounds_refuse(b, !first || count < sat_mul(2, p->classes), "it has no vectors of a class");
    for (int64_t i = 0; i < p->classes && !b->wrong; i++) {
        const int64_t begin = first[i], n = first[p->classes + i];
        bounds_refuse(b, begin < 0 || n < 0 || begin + n > p->vectors,
                      "a class of it has vectors that are none");
    }
}

static void svm_pairs(Bounds *b, const inlay_svm_params *p, int64_t pairs)
{
    const int64_t classes = p->classes;
    const int64_t couple = sat_add(sat_mul(2, sat_mul(classes, classes)), sat_mul(2, classes));
    check_classes(b, p);
    touch(b, 3, "coefficients", product(b, classes - 1, p->vectors));
    touch(b, 4, "support vectors", product(b, p->vectors, p->features));
    touch(b, 5, "rho", pairs);
    touch(b, 7, "vectors of classes", sat_mul(2, classes));
    touch(b, 8, "probabilities", p->probabilities ? sat_mul(2, pairs) : 0);
    if (p->probabilities)
        touch_needs(b, 8);
    touch_needs(b, 4);
    touch(b, 9, "scratch", sat_add(sat_add(p->vectors, pairs), couple));
    touch_needs(b, 9);
}

void bounds_svm_classify(Bounds *b)
{
    const inlay_svm_params *p = b->params;
    const int64_t classes = bounds_positive(b, p->classes);
    const int64_t pairs = sat_mul(classes, classes - 1) / 2;
    const int64_t decisions = p->classes == 2 ? 2 : pairs;
    const bool by_class = !p->vectors || p->probabilities;
    bounds_narrow(b, sat_mul(classes, classes));
    touch_scores(b, p->n, bounds_size(b, p->out), by_class ? classes : decisions);
    touch(b, 1, "labels of rows", p->n);
    touch(b, 2, "input", product(b, p->n, p->features));
    touch(b, 6, "labels", classes);
    if (touch_given(b, 1))
        touch_needs(b, 6);
    if (p->vectors) {
        svm_pairs(b, p, pairs);
        return;
    }
    touch(b, 3, "coefficients", product(b, classes, p->features));
    touch(b, 5, "rho", 1);
}

/* Grams: their tokens lie in the pool, their places in the result. */
static void check_grams(Bounds *b, const inlay_tfidf_params *p, int64_t pool)
{
    int64_t count;
    const int32_t *gram = bounds_values(b, 3, &count);
    bounds_refuse(b, !gram || count < sat_mul(3, p->grams), "its table of n-grams is short");
    for (int64_t i = 0; i < p->grams && !b->wrong; i++, gram += 3) {
        const int64_t first = gram[0], length = gram[1];
        bounds_refuse(b, first < 0 || length < 1 || first + length > pool,
                      "an n-gram of it leaves the pool");
        bounds_refuse(b, gram[2] < 0 || gram[2] >= p->out, "an n-gram of it has no place");
    }
}

void bounds_tfidf(Bounds *b)
{
    const inlay_tfidf_params *p = b->params;
    const int64_t pool = touch_given(b, 2) ? tensor_count(b->step->operand[2].tensor) : 0;
    bounds_size(b, p->skips);
    bounds_narrow(b, sat_add(p->skips, 1));
    check_grams(b, p, pool);
    touch_as(b, 1, p->wide ? 'l' : 'i');
    touch(b, 0, "result", product(b, p->batch, p->out));
    touch(b, 1, "input", product(b, p->batch, p->n));
    touch(b, 2, "pool", pool);
    touch(b, 3, "n-grams", sat_mul(3, bounds_size(b, p->grams)));
    touch(b, 4, "weights", p->mode ? p->grams : 0);
    if (p->mode)
        touch_needs(b, 4);
}
