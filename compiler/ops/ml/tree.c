/* SPDX-License-Identifier: Apache-2.0
 * TreeEnsembleClassifier, TreeEnsembleRegressor, TreeEnsemble: their nodes (ops/ml/forest.h) are
 * laid out true child first and written as the tables of kernels/tree.h. */
#include <string.h>

#include "base/size.h"
#include "kernels/tree.h"
#include "ops/families.h"
#include "ops/ml/forest.h"
#include "ops/ml/scores.h"
#include "ops/typed.h"

/* The tables: two numbers a node, its value, roots, votes. */
typedef struct Tables {
    int32_t *node, *root, *target;
    double *value, *weight;
    int64_t nodes, votes;
} Tables;

/* The votes of a leaf. */
static void place_votes(const Forest *forest, Tables *tables,
                        const Branch *leaf)
{
    for (int64_t i = 0; i < leaf->votes; i++) {
        const Vote *vote = forest->vote + leaf->vote + i;
        if (vote->target < 0 || vote->target >= forest->targets)
            fail_forest(forest, "there is no target", vote->target);
        tables->target[tables->votes] = (int32_t)vote->target;
        tables->weight[tables->votes] = vote->weight;
        tables->votes++;
    }
}

static void place_branch(const Forest *forest, Tables *tables, Branch *branch)
{
    if (branch->place >= 0)
        fail_node(forest->node, STATUS_MALFORMED, NULL,
                  "its nodes form a cycle");
    branch->place = tables->nodes++;
    tables->value[branch->place] = branch->value;
    int32_t *node = tables->node + 2 * branch->place;
    if (branch->mode == INLAY_TREE_LEAF) {
        node[0] = i32_checked(branch->votes * 16 + INLAY_TREE_LEAF * 2);
        node[1] = i32_checked(tables->votes);
        place_votes(forest, tables, branch);
        return;
    }
    if (branch->feature < 0 || branch->feature >= forest->features)
        fail_forest(forest, "there is no feature", branch->feature);
    const int64_t test = branch->mode * 2 + branch->missing_true;
    node[0] = i32_checked(branch->feature * 16 + test);
}

/* Depth first, true side first: the true child is the next node. */
static void place_tree(const Forest *forest, Tables *tables, int64_t root,
                       int64_t *stack)
{
    int64_t depth = 0;
    stack[depth++] = root;
    while (depth) {
        const int64_t at = stack[--depth];
        Branch *b = forest->branch + (at < 0 ? -1 - at : at);
        if (at < 0) { /* back at a branch: its false side follows */
            tables->node[2 * b->place + 1] = (int32_t)tables->nodes;
            stack[depth++] = b->no;
            continue;
        }
        place_branch(forest, tables, b);
        if (b->mode == INLAY_TREE_LEAF)
            continue;
        stack[depth++] = -1 - at;
        stack[depth++] = b->yes;
    }
}

static Tables tables_of(const Forest *forest)
{
    Arena *a = forest->arena;
    int64_t copies = forest->votes;
    for (int64_t i = 0; i < forest->n; i++)
        copies = i64_add(copies, forest->branch[i].votes);
    Tables tables = { .node = NEW_ARRAY(a, int32_t, 2 * forest->n),
                      .root = NEW_ARRAY(a, int32_t, forest->roots),
                      .value = NEW_ARRAY(a, double, forest->n),
                      .target = NEW_ARRAY(a, int32_t, copies + 1),
                      .weight = NEW_ARRAY(a, double, copies + 1) };
    int64_t *stack = NEW_ARRAY(a, int64_t, 2 * forest->n + 4);
    for (int64_t i = 0; i < forest->roots; i++) {
        tables.root[i] = (int32_t)tables.nodes;
        place_tree(forest, &tables, forest->root[i], stack);
    }
    return tables;
}

static bool is_v5(const Node *n)
{
    return !strcmp(n->op_type, "TreeEnsemble");
}
static bool is_classifier(const Node *n)
{
    return !strcmp(n->op_type, "TreeEnsembleClassifier");
}

static const char LABELS[] = "classlabels_int64s";

static int64_t targets_of(const Node *n)
{
    const int64_t t =
        is_classifier(n) ? ml_labels(n, LABELS).n : node_int(n, "n_targets", 1);
    if (t < 1 || t > INT32_MAX)
        fail_node(n, STATUS_MALFORMED, NULL, "has %lld targets", (long long)t);
    return t;
}

void infer_tree(Node *n)
{
    int64_t rows, columns;
    ml_rows(n, &rows, &columns);
    const Shape z = shape_of(2, (const int64_t[]){ rows, targets_of(n) });
    if (is_classifier(n))
        infer_out(n, 0, ml_labels(n, LABELS).type, shape_vector(rows));
    infer_out(n, is_classifier(n),
              is_v5(n) && node_type(n) == DT_F64 ? DT_F64 : DT_F32, z);
}

static int32_t tree_post(const Node *n)
{
    static const int32_t numbers[] = { INLAY_POST_NONE, INLAY_POST_SOFTMAX,
                                       INLAY_POST_LOGISTIC,
                                       INLAY_POST_SOFTMAX_ZERO,
                                       INLAY_POST_PROBIT };
    const int64_t i = is_v5(n) ? node_int(n, "post_transform", 0) : 0;
    if (i < 0 || i > 4)
        fail_node(n, STATUS_MALFORMED, NULL, "post_transform is %lld",
                  (long long)i);
    return is_v5(n) ? numbers[i] : ml_post(n);
}

static int32_t tree_aggregate(const Node *n)
{
    static const char *const names[] = { "AVERAGE", "SUM", "MIN", "MAX" };
    if (is_classifier(n))
        return 1;
    if (is_v5(n))
        return (int32_t)(node_int(n, "aggregate_function", 1) & 3);
    for (int i = 0; i < 4; i++)
        if (!strcmp(names[i], node_string(n, "aggregate_function", "SUM")))
            return i;
    fail_node(n, STATUS_MALFORMED, NULL, "aggregate_function is unknown");
}

static Tensor *number_table(Lower *lower, const double *v, int64_t count,
                            bool wide)
{
    const int64_t n = i64_max(count, 1);
    double *all = NEW_ARRAY(lower->arena, double, n);
    if (count)
        memcpy(all, v, (size_t)count * sizeof *v);
    Recipe *recipe = recipe_memory(lower->store, DT_F64, 1, &n, all);
    return lower_constant(
        lower, wide ? recipe : recipe_cast(lower->store, recipe, DT_F32));
}

static Forest forest_of(Lower *lower, const Node *n)
{
    int64_t rows;
    Forest forest = { .node = n,
                      .arena = lower->arena,
                      .targets = targets_of(n),
                      .wide = node_type(n) == DT_F64 };
    ml_rows(n, &rows, &forest.features);
    forest.base = numbers_of(&forest, "base_values", "base_values_as_tensor",
                             &forest.bases);
    if (is_v5(n))
        read_branches_5(&forest);
    else
        read_branches(&forest);
    return forest;
}

/* Do the votes of a classifier name one class only, and is none negative? */
static void vote_facts(const Forest *forest, inlay_tree_params *params)
{
    params->one_class = params->positive = 1;
    for (int64_t i = 0; i < forest->votes; i++) {
        if (forest->vote[i].target != forest->vote[0].target)
            params->one_class = 0;
        if (forest->vote[i].weight < 0.0)
            params->positive = 0;
    }
}

static inlay_tree_params tree_params(const Node *node, const Forest *forest)
{
    int64_t rows, columns;
    ml_rows(node, &rows, &columns);
    inlay_tree_params params = {
        .n = i32_checked(rows),
        .features = i32_checked(forest->features),
        .targets = (int32_t)forest->targets,
        .trees = i32_checked(forest->roots),
        .aggregate = tree_aggregate(node),
        .post = tree_post(node),
        .classify = is_classifier(node),
        .bases = i32_checked(forest->bases),
    };
    vote_facts(forest, &params);
    return params;
}

/* The operands of the kernel, in order. */
enum { TREE_OPERANDS = 9 };

static Tensor *class_labels(Lower *lower, const Node *node, int64_t classes)
{
    const ClassLabels labels = ml_labels(node, LABELS);
    return ml_label_table(lower, &labels, classes);
}

static void tree_operands(Lower *lower, Node *node, const Forest *forest,
                          Tensor **in)
{
    const Tables tables = tables_of(forest);
    const bool wide = forest->wide;
    const int64_t votes = i64_max(tables.votes, 1);
    in[0] = lower_as(lower, node->in[0], wide ? DT_F64 : DT_F32);
    in[1] = lower_i32s(lower, tables.root, forest->roots);
    in[2] = lower_i32s(lower, tables.node, 2 * tables.nodes);
    in[3] = number_table(lower, tables.value, tables.nodes, wide);
    in[4] = lower_i32s(lower, tables.target, votes);
    in[5] = number_table(lower, tables.weight, tables.votes, wide);
    in[6] = number_table(lower, forest->member, forest->members, wide);
    if (forest->bases)
        in[7] = number_table(lower, forest->base, forest->bases, true);
    if (is_classifier(node))
        in[8] = class_labels(lower, node, forest->targets);
}

void lower_tree(Lower *lower, Node *node)
{
    const Forest forest = forest_of(lower, node);
    const bool classify = is_classifier(node);
    const char *kernel = forest.wide ? "tree_f64" : "tree_f32";
    inlay_tree_params params = tree_params(node, &forest);
    const int64_t dims[] = { params.n, forest.targets };
    Tensor *in[TREE_OPERANDS] = { NULL };
    Tensor *scores = node_out(node, classify);
    if (!scores)
        scores = lower_temp(lower, DT_F32, shape_of(2, dims));
    params.wide = scores->dtype == DT_F64;
    tree_operands(lower, node, &forest, in);
    Step *step = lower_step(lower, kernel, &params);
    step_out(step, scores);
    step_out(step, classify ? node_out(node, 0) : NULL);
    for (int i = 0; i < TREE_OPERANDS; i++)
        step_in(step, in[i]);
    step_scratch(lower, step, i64_mul(forest.targets, 13));
}
