/* SPDX-License-Identifier: Apache-2.0
 * TreeEnsembleClassifier, TreeEnsembleRegressor, TreeEnsemble: the attributes of any of them become
 * one list of nodes, which is laid out true child first and written as the tables of
 * kernels/tree.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "kernels/tree.h"
#include "ops/families.h"
#include "ops/ml_scores.h"
#include "ops/typed.h"

/* A node as the file has it, or a leaf. */
typedef struct Branch {
    int64_t tree, id;    /* its name in the file */
    int64_t yes, no;     /* indices of the children, -1: none */
    int64_t vote, votes; /* a leaf's votes */
    int64_t place;       /* in the tables, -1: not yet */
    int64_t feature;
    double value;
    int mode;
    bool missing_true, child;
} Branch;

typedef struct Vote {
    int64_t target, leaf; /* leaf: index of the branch */
    double weight;
} Vote;

typedef struct Forest {
    const Node *node;
    Arena *arena;
    int64_t n, room, votes, roots, targets, members, features;
    Branch *branch;
    Vote *vote; /* those of a leaf side by side */
    int64_t *root;
    const double *member; /* sets, each ending with NaN */
    const double *base;
    int64_t bases;
    bool wide; /* float64 thresholds and weights */
} Forest;

static void fail_forest(const Forest *forest, const char *what, int64_t i)
{
    fail_node(forest->node, STATUS_MALFORMED, NULL, "%s %lld", what, (long long)i);
}

static const int64_t *ints_of(const Forest *forest, const char *name, int64_t count)
{
    int64_t have;
    const int64_t *v = node_ints(forest->node, name, &have);
    if (have != count && (have || count))
        fail_node(forest->node, STATUS_MALFORMED, NULL, "%s has %lld numbers, not %lld", name,
                  (long long)have, (long long)count);
    return v;
}

/* A list of numbers: an attribute of floats, or one of a tensor. */
static const double *numbers_of(const Forest *forest, const char *name, const char *as_tensor,
                                int64_t *count)
{
    const Attr *tensor = as_tensor ? node_attr(forest->node, as_tensor) : NULL;
    Store *s = forest->node->graph->store;
    if (tensor && tensor->tensor && recipe_count(tensor->tensor)) {
        *count = recipe_count(tensor->tensor);
        return node_values(forest->node, recipe_cast(s, tensor->tensor, DT_F64));
    }
    const float *v = name ? node_floats(forest->node, name, count) : NULL;
    double *wide = NEW_ARRAY(forest->arena, double, v ? *count : 0);
    if (!v)
        *count = 0;
    for (int64_t i = 0; v && i < *count; i++)
        wide[i] = (double)v[i];
    return wide;
}

static int mode_of(const Forest *forest, const char *name)
{
    static const char *const names[] = { "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF" };
    for (int i = 0; i < 8; i++)
        if (!strcmp(names[i], name))
            return i;
    fail_node(forest->node, STATUS_MALFORMED, NULL, "a node's mode is \"%s\"", name);
}

/* Names (tree, id) in order, each with the index of its branch. */
typedef struct Name {
    int64_t tree, id, at;
} Name;

static int compare_names(const void *a, const void *b)
{
    const Name *x = a;
    const Name *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static Name *sorted_names(const Forest *forest)
{
    Name *name = NEW_ARRAY(forest->arena, Name, forest->n);
    for (int64_t i = 0; i < forest->n; i++)
        name[i] = (Name){ forest->branch[i].tree, forest->branch[i].id, i };
    if (forest->n)
        qsort(name, (size_t)forest->n, sizeof *name, compare_names);
    for (int64_t i = 1; i < forest->n; i++)
        if (!compare_names(name + i - 1, name + i))
            fail_forest(forest, "two nodes have the number", name[i].id);
    return name;
}

static int64_t branch_named(const Forest *forest, const Name *names, int64_t tree, int64_t id)
{
    const Name key = { tree, id, 0 };
    const Name *found =
        forest->n ? bsearch(&key, names, (size_t)forest->n, sizeof key, compare_names) : NULL;
    if (!found)
        fail_forest(forest, "there is no node", id);
    return found->at;
}

static int64_t child(Forest *forest, int64_t at)
{
    if (at < 0 || at >= forest->n)
        fail_forest(forest, "there is no node", at);
    if (forest->branch[at].child)
        fail_forest(forest, "two nodes have the same child: node", at);
    forest->branch[at].child = true;
    return at;
}

/* Roots are the branches that are nobody's child. */
static void find_roots(Forest *forest)
{
    forest->root = NEW_ARRAY(forest->arena, int64_t, forest->n);
    for (int64_t i = 0; i < forest->n; i++)
        if (!forest->branch[i].child)
            forest->root[forest->roots++] = i;
    if (!forest->roots)
        fail_node(forest->node, STATUS_MALFORMED, NULL, "has no tree");
}

static int compare_votes(const void *a, const void *b)
{
    const Vote *x = a;
    const Vote *y = b;
    return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

/* Votes by leaf, in the file's order within one (sorted by insertion place: qsort is not stable).
 */
static void read_votes(Forest *forest, const Name *names, const char *kind)
{
    Arena *a = forest->arena;
    int64_t count, weights;
    node_ints(forest->node, arena_printf(a, "%s_nodeids", kind), &count);
    const int64_t *node = ints_of(forest, arena_printf(a, "%s_nodeids", kind), count);
    const int64_t *tree = ints_of(forest, arena_printf(a, "%s_treeids", kind), count);
    const int64_t *target = ints_of(forest, arena_printf(a, "%s_ids", kind), count);
    const double *weight = numbers_of(forest, arena_printf(a, "%s_weights", kind),
                                      arena_printf(a, "%s_weights_as_tensor", kind), &weights);
    if (weights != count)
        fail_node(forest->node, STATUS_MALFORMED, NULL, "has %lld weights for %lld leaves",
                  (long long)weights, (long long)count);
    forest->votes = count;
    forest->vote = NEW_ARRAY(a, Vote, count);
    for (int64_t i = 0; i < count; i++)
        forest->vote[i] =
            (Vote){ target[i], branch_named(forest, names, tree[i], node[i]), weight[i] };
    if (count)
        qsort(forest->vote, (size_t)count, sizeof *forest->vote, compare_votes);
    for (int64_t i = 0; i < count; i++) {
        Branch *b = forest->branch + forest->vote[i].leaf;
        if (!b->votes++)
            b->vote = i;
    }
}

static void read_branches(Forest *forest)
{
    int64_t n, values, tracks;
    node_ints(forest->node, "nodes_nodeids", &n);
    const int64_t *id = ints_of(forest, "nodes_nodeids", n);
    const int64_t *tree = ints_of(forest, "nodes_treeids", n);
    const int64_t *feature = ints_of(forest, "nodes_featureids", n);
    const int64_t *yes = ints_of(forest, "nodes_truenodeids", n);
    const int64_t *no = ints_of(forest, "nodes_falsenodeids", n);
    const int64_t *missing = node_ints(forest->node, "nodes_missing_value_tracks_true", &tracks);
    const Attr *modes = node_attr(forest->node, "nodes_modes");
    const double *value = numbers_of(forest, "nodes_values", "nodes_values_as_tensor", &values);
    if (values != n || !modes || modes->n != n)
        fail_node(forest->node, STATUS_MALFORMED, NULL, "its lists of nodes differ in length");
    forest->n = n;
    forest->branch = NEW_ARRAY(forest->arena, Branch, n);
    for (int64_t i = 0; i < n; i++)
        forest->branch[i] = (Branch){ .tree = tree[i],
                                      .id = id[i],
                                      .yes = -1,
                                      .no = -1,
                                      .place = -1,
                                      .feature = feature[i],
                                      .value = value[i],
                                      .mode = mode_of(forest, modes->strings[i]),
                                      .missing_true = i < tracks && missing[i] };
    const Name *names = sorted_names(forest);
    for (int64_t i = 0; i < n; i++) {
        Branch *b = forest->branch + i;
        if (b->mode == INLAY_TREE_LEAF)
            continue;
        b->yes = child(forest, branch_named(forest, names, tree[i], yes[i]));
        b->no = child(forest, branch_named(forest, names, tree[i], no[i]));
    }
    find_roots(forest);
    read_votes(forest, names, node_attr(forest->node, "class_nodeids") ? "class" : "target");
}

/* Sets, the last of which may lack its NaN. */
static void read_members(Forest *forest)
{
    int64_t count;
    const double *v = numbers_of(forest, NULL, "membership_values", &count);
    double *all = NEW_ARRAY(forest->arena, double, count + 1);
    if (count)
        memcpy(all, v, (size_t)count * sizeof *v);
    all[count] = (double)NAN;
    forest->member = all;
    forest->members = count + 1;
}

/* TreeEnsemble-5: children are indices; leaves are lists of their own, appended to the branches. */
static int64_t child_5(Forest *forest, int64_t at, bool leaf, int64_t leaves)
{
    const int64_t first = forest->n - leaves;
    if (at < 0 || at >= (leaf ? leaves : first))
        fail_forest(forest, "there is no node or leaf", at);
    if (leaf) { /* a leaf may be shared: each place gets a copy */
        forest->branch[forest->room] = forest->branch[first + at];
        return forest->room++;
    }
    return child(forest, at);
}

/* The place behind the set that begins at `at`. */
static int64_t next_set(const Forest *forest, int64_t at)
{
    while (at < forest->members && !isnan(forest->member[at]))
        at++;
    if (at >= forest->members)
        fail_node(forest->node, STATUS_MALFORMED, NULL,
                  "membership_values has fewer sets than there are nodes that want one");
    return at + 1;
}

static void read_branches_5(Forest *forest)
{
    Arena *a = forest->arena;
    Store *store = forest->node->graph->store;
    int64_t n;
    int64_t splits;
    int64_t leaves;
    int64_t weights;
    int64_t at = 0;
    node_ints(forest->node, "nodes_featureids", &n);
    node_ints(forest->node, "leaf_targetids", &leaves);
    const int64_t *feature = ints_of(forest, "nodes_featureids", n);
    const int64_t *yes = ints_of(forest, "nodes_truenodeids", n);
    const int64_t *no = ints_of(forest, "nodes_falsenodeids", n);
    const int64_t *yes_leaf = ints_of(forest, "nodes_trueleafs", n);
    const int64_t *no_leaf = ints_of(forest, "nodes_falseleafs", n);
    const int64_t *target = ints_of(forest, "leaf_targetids", leaves);
    int64_t tracks;
    const int64_t *missing = node_ints(forest->node, "nodes_missing_value_tracks_true", &tracks);
    const Attr *modes = node_attr(forest->node, "nodes_modes");
    const double *split = numbers_of(forest, NULL, "nodes_splits", &splits);
    const double *weight = numbers_of(forest, NULL, "leaf_weights", &weights);
    read_members(forest);
    if (splits != n || weights != leaves || !modes || !modes->tensor ||
        recipe_count(modes->tensor) != n)
        fail_node(forest->node, STATUS_MALFORMED, NULL, "its lists of nodes differ in length");
    const uint8_t *mode = node_values(forest->node, recipe_cast(store, modes->tensor, DT_U8));
    forest->n = forest->room = n + leaves;
    forest->branch = NEW_ARRAY(a, Branch, forest->n + 2 * n);
    forest->vote = NEW_ARRAY(a, Vote, leaves);
    forest->votes = leaves;
    for (int64_t i = 0; i < leaves; i++) {
        forest->branch[n + i] =
            (Branch){ .mode = INLAY_TREE_LEAF, .vote = i, .votes = 1, .place = -1, .child = true };
        forest->vote[i] = (Vote){ target[i], n + i, weight[i] };
    }
    for (int64_t i = 0; i < n; i++) {
        Branch *b = forest->branch + i;
        if (mode[i] > INLAY_TREE_MEMBER)
            fail_forest(forest, "a node's mode is", mode[i]);
        const bool was_child = b->child;
        *b = (Branch){ .place = -1,
                       .feature = feature[i],
                       .value = split[i],
                       .mode = mode[i],
                       .child = was_child,
                       .missing_true = i < tracks && missing[i] };
        if (mode[i] == INLAY_TREE_MEMBER) {
            b->value = (double)at;
            at = next_set(forest, at);
        }
        b->yes = child_5(forest, yes[i], yes_leaf[i] != 0, leaves);
        b->no = child_5(forest, no[i], no_leaf[i] != 0, leaves);
    }
    forest->n = forest->room;
    const int64_t *roots = node_ints(forest->node, "tree_roots", &forest->roots);
    forest->root = NEW_ARRAY(a, int64_t, forest->roots);
    for (int64_t i = 0; i < forest->roots; i++) {
        if (roots[i] < 0 || roots[i] >= n)
            fail_forest(forest, "there is no node", roots[i]);
        forest->root[i] = roots[i];
    }
}

/* The tables: two numbers a node, its value, roots, votes. */
typedef struct Tables {
    int32_t *node, *root, *target;
    double *value, *weight;
    int64_t nodes, votes;
} Tables;

static void place_branch(const Forest *forest, Tables *tables, Branch *branch)
{
    if (branch->place >= 0)
        fail_node(forest->node, STATUS_MALFORMED, NULL, "its nodes form a cycle");
    branch->place = tables->nodes++;
    tables->value[branch->place] = branch->value;
    if (branch->mode != INLAY_TREE_LEAF) {
        if (branch->feature < 0 || branch->feature >= forest->features)
            fail_forest(forest, "there is no feature", branch->feature);
        tables->node[2 * branch->place] =
            i32_checked(branch->feature * 16 + branch->mode * 2 + branch->missing_true);
        return;
    }
    tables->node[2 * branch->place] = i32_checked(branch->votes * 16 + INLAY_TREE_LEAF * 2);
    tables->node[2 * branch->place + 1] = i32_checked(tables->votes);
    for (int64_t k = branch->vote; k < branch->vote + branch->votes; k++, tables->votes++) {
        if (forest->vote[k].target < 0 || forest->vote[k].target >= forest->targets)
            fail_forest(forest, "there is no target", forest->vote[k].target);
        tables->target[tables->votes] = (int32_t)forest->vote[k].target;
        tables->weight[tables->votes] = forest->vote[k].weight;
    }
}

/* Depth first, true side first: the true child is the next node. */
static void place_tree(const Forest *forest, Tables *tables, int64_t root, int64_t *stack)
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

static int64_t targets_of(const Node *n)
{
    const int64_t t = is_classifier(n) ? ml_classes(n, "classlabels_int64s", "classlabels_strings")
                                       : node_int(n, "n_targets", 1);
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
        infer_out(n, 0, DT_I64, shape_vector(rows));
    infer_out(n, is_classifier(n), is_v5(n) && n->in[0]->dtype == DT_F64 ? DT_F64 : DT_F32, z);
}

static int32_t tree_post(const Node *n)
{
    static const int32_t numbers[] = { INLAY_POST_NONE, INLAY_POST_SOFTMAX, INLAY_POST_LOGISTIC,
                                       INLAY_POST_SOFTMAX_ZERO, INLAY_POST_PROBIT };
    const int64_t i = is_v5(n) ? node_int(n, "post_transform", 0) : 0;
    if (i < 0 || i > 4)
        fail_node(n, STATUS_MALFORMED, NULL, "post_transform is %lld", (long long)i);
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

static Tensor *number_table(Lower *lower, const double *v, int64_t count, bool wide)
{
    const int64_t n = i64_max(count, 1);
    double *all = NEW_ARRAY(lower->arena, double, n);
    if (count)
        memcpy(all, v, (size_t)count * sizeof *v);
    Recipe *recipe = recipe_memory(lower->graph->store, DT_F64, 1, &n, all);
    return lower_constant(lower, wide ? recipe : recipe_cast(lower->graph->store, recipe, DT_F32));
}

static Forest forest_of(Lower *lower, const Node *n)
{
    int64_t rows;
    Forest forest = { .node = n,
                      .arena = lower->arena,
                      .targets = targets_of(n),
                      .wide = n->in[0]->dtype == DT_F64 };
    ml_rows(n, &rows, &forest.features);
    forest.base = numbers_of(&forest, "base_values", "base_values_as_tensor", &forest.bases);
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

void lower_tree(Lower *lower, Node *n)
{
    const Forest forest = forest_of(lower, n);
    const Tables tables = tables_of(&forest);
    const bool classify = is_classifier(n);
    Tensor *z = node_out(n, classify);
    inlay_tree_params params = { .n = i32_checked(
                                     n->in[0]->shape.rank == 1 ? 1 : n->in[0]->shape.dim[0]),
                                 .features = i32_checked(forest.features),
                                 .targets = (int32_t)forest.targets,
                                 .trees = i32_checked(forest.roots),
                                 .aggregate = tree_aggregate(n),
                                 .post = tree_post(n),
                                 .classify = classify,
                                 .bases = i32_checked(forest.bases) };
    vote_facts(&forest, &params);
    if (!z)
        z = lower_temp(lower, DT_F32, shape_of(2, (const int64_t[]){ params.n, forest.targets }));
    params.wide = z->dtype == DT_F64;
    Tensor *in[] = { lower_as(lower, n, n->in[0], forest.wide ? DT_F64 : DT_F32),
                     lower_i32s(lower, tables.root, forest.roots),
                     lower_i32s(lower, tables.node, 2 * tables.nodes),
                     number_table(lower, tables.value, tables.nodes, forest.wide),
                     lower_i32s(lower, tables.target, i64_max(tables.votes, 1)),
                     number_table(lower, tables.weight, tables.votes, forest.wide),
                     number_table(lower, forest.member, forest.members, forest.wide),
                     forest.bases ? number_table(lower, forest.base, forest.bases, true) : NULL,
                     classify ? ml_labels(lower, n, "classlabels_int64s", forest.targets) : NULL };
    Step *step = lower_step(lower, n, forest.wide ? "tree_f64" : "tree_f32", &params);
    step_out(step, z);
    step_out(step, classify ? node_out(n, 0) : NULL);
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        step_in(step, in[i]);
    step_scratch(lower, step, i64_mul(forest.targets, 13));
}
