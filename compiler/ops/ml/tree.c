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
#include "ops/ml/scores.h"
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
    fail_node(forest->node, STATUS_MALFORMED, NULL, "%s %lld", what,
              (long long)i);
}

static const int64_t *ints_of(const Forest *forest, const char *name,
                              int64_t count)
{
    int64_t have;
    const int64_t *v = node_ints(forest->node, name, &have);
    if (have != count && (have || count))
        fail_node(forest->node, STATUS_MALFORMED, NULL,
                  "%s has %lld numbers, not %lld", name, (long long)have,
                  (long long)count);
    return v;
}

/* A list of numbers: an attribute of floats, or one of a tensor. */
static const double *numbers_of(const Forest *forest, const char *name,
                                const char *as_tensor, int64_t *count)
{
    const Attr *tensor = as_tensor ? node_attr(forest->node, as_tensor) : NULL;
    Store *s = forest->node->graph->store;
    if (tensor && tensor->tensor && recipe_count(tensor->tensor)) {
        *count = recipe_count(tensor->tensor);
        return node_values(forest->node,
                           recipe_cast(s, tensor->tensor, DT_F64));
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
    static const char *const names[] = { "BRANCH_LEQ",    "BRANCH_LT",
                                         "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",     "BRANCH_NEQ",
                                         "BRANCH_MEMBER", "LEAF" };
    for (int i = 0; i < 8; i++)
        if (!strcmp(names[i], name))
            return i;
    fail_node(forest->node, STATUS_MALFORMED, NULL, "a node's mode is \"%s\"",
              name);
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

static int64_t branch_named(const Forest *forest, const Name *names,
                            int64_t tree, int64_t id)
{
    const Name key = { tree, id, 0 };
    const Name *found = forest->n ? bsearch(&key, names, (size_t)forest->n,
                                            sizeof key, compare_names)
                                  : NULL;
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
/* The attribute of that kind ("class" or "target") and name. */
static const char *of_kind(const Forest *forest, const char *kind,
                           const char *name)
{
    return arena_printf(forest->arena, "%s_%s", kind, name);
}

/* The first vote of each leaf, and how many it has. */
static void count_votes(const Forest *forest)
{
    for (int64_t i = 0; i < forest->votes; i++) {
        Branch *leaf = forest->branch + forest->vote[i].leaf;
        if (!leaf->votes)
            leaf->vote = i;
        leaf->votes++;
    }
}

/* The lists of votes; their number becomes the forest's. */
typedef struct VoteLists {
    const int64_t *node, *tree, *target;
    const double *weight;
} VoteLists;

static VoteLists vote_lists(Forest *forest, const char *kind)
{
    const char *nodes = of_kind(forest, kind, "nodeids");
    const char *trees = of_kind(forest, kind, "treeids");
    const char *targets = of_kind(forest, kind, "ids");
    const char *weights = of_kind(forest, kind, "weights");
    const char *tensor = of_kind(forest, kind, "weights_as_tensor");
    int64_t count, given;
    node_ints(forest->node, nodes, &count);
    const VoteLists lists = {
        .node = ints_of(forest, nodes, count),
        .tree = ints_of(forest, trees, count),
        .target = ints_of(forest, targets, count),
        .weight = numbers_of(forest, weights, tensor, &given),
    };
    if (given != count)
        fail_node(forest->node, STATUS_MALFORMED, NULL,
                  "has %lld weights for %lld leaves", (long long)given,
                  (long long)count);
    forest->votes = count;
    return lists;
}

static void read_votes(Forest *forest, const Name *names, const char *kind)
{
    const VoteLists lists = vote_lists(forest, kind);
    const int64_t count = forest->votes;
    forest->vote = NEW_ARRAY(forest->arena, Vote, count);
    for (int64_t i = 0; i < count; i++)
        forest->vote[i] = (Vote){
            .target = lists.target[i],
            .leaf = branch_named(forest, names, lists.tree[i], lists.node[i]),
            .weight = lists.weight[i],
        };
    if (count)
        qsort(forest->vote, (size_t)count, sizeof *forest->vote, compare_votes);
    count_votes(forest);
}

/* The lists that name the nodes of the older operators and their children. */
typedef struct NodeLists {
    const int64_t *id, *tree, *yes, *no;
} NodeLists;

static NodeLists node_lists(const Forest *forest)
{
    const int64_t count = forest->n;
    return (NodeLists){
        .id = ints_of(forest, "nodes_nodeids", count),
        .tree = ints_of(forest, "nodes_treeids", count),
        .yes = ints_of(forest, "nodes_truenodeids", count),
        .no = ints_of(forest, "nodes_falsenodeids", count),
    };
}

/* The branches without their children. */
static void make_branches(Forest *forest, const NodeLists *lists)
{
    const Node *node = forest->node;
    const Attr *modes = node_attr(node, "nodes_modes");
    int64_t values, tracks;
    const int64_t *feature = ints_of(forest, "nodes_featureids", forest->n);
    const int64_t *missing =
        node_ints(node, "nodes_missing_value_tracks_true", &tracks);
    const double *value =
        numbers_of(forest, "nodes_values", "nodes_values_as_tensor", &values);
    if (values != forest->n || !modes || modes->n != forest->n)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its lists of nodes differ in length");
    forest->branch = NEW_ARRAY(forest->arena, Branch, forest->n);
    for (int64_t i = 0; i < forest->n; i++)
        forest->branch[i] = (Branch){
            .tree = lists->tree[i],
            .id = lists->id[i],
            .yes = -1,
            .no = -1,
            .place = -1,
            .feature = feature[i],
            .value = value[i],
            .mode = mode_of(forest, modes->strings[i]),
            .missing_true = i < tracks && missing[i],
        };
}

static void read_branches(Forest *forest)
{
    node_ints(forest->node, "nodes_nodeids", &forest->n);
    const NodeLists lists = node_lists(forest);
    make_branches(forest, &lists);
    const Name *names = sorted_names(forest);
    for (int64_t i = 0; i < forest->n; i++) {
        Branch *branch = forest->branch + i;
        const int64_t tree = lists.tree[i];
        if (branch->mode == INLAY_TREE_LEAF)
            continue;
        branch->yes =
            child(forest, branch_named(forest, names, tree, lists.yes[i]));
        branch->no =
            child(forest, branch_named(forest, names, tree, lists.no[i]));
    }
    find_roots(forest);
    const bool classes = node_attr(forest->node, "class_nodeids") != NULL;
    read_votes(forest, names, classes ? "class" : "target");
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
                  "membership_values has fewer sets than there are nodes that "
                  "want one");
    return at + 1;
}

/* The lists of TreeEnsemble-5: of `splits` nodes and `leaves` leaves. */
typedef struct SplitLists {
    int64_t splits, leaves, tracks;
    const int64_t *feature, *yes, *no, *yes_leaf, *no_leaf, *missing;
    const double *value;
    const uint8_t *mode;
} SplitLists;

static SplitLists split_lists(const Forest *forest)
{
    const Node *node = forest->node;
    SplitLists lists;
    int64_t values;
    node_ints(node, "nodes_featureids", &lists.splits);
    node_ints(node, "leaf_targetids", &lists.leaves);
    const int64_t count = lists.splits;
    lists.feature = ints_of(forest, "nodes_featureids", count);
    lists.yes = ints_of(forest, "nodes_truenodeids", count);
    lists.no = ints_of(forest, "nodes_falsenodeids", count);
    lists.yes_leaf = ints_of(forest, "nodes_trueleafs", count);
    lists.no_leaf = ints_of(forest, "nodes_falseleafs", count);
    lists.missing =
        node_ints(node, "nodes_missing_value_tracks_true", &lists.tracks);
    lists.value = numbers_of(forest, NULL, "nodes_splits", &values);
    const Attr *modes = node_attr(node, "nodes_modes");
    if (values != count || !modes || !modes->tensor ||
        recipe_count(modes->tensor) != count)
        fail_node(node, STATUS_MALFORMED, NULL,
                  "its lists of nodes differ in length");
    Store *store = node->graph->store;
    lists.mode = node_values(node, recipe_cast(store, modes->tensor, DT_U8));
    return lists;
}

/* The leaves, with a vote each, behind the nodes. */
static void add_leaves(Forest *forest, const SplitLists *lists)
{
    const int64_t first = lists->splits;
    const int64_t leaves = lists->leaves;
    int64_t weights;
    const int64_t *target = ints_of(forest, "leaf_targetids", leaves);
    const double *weight = numbers_of(forest, NULL, "leaf_weights", &weights);
    if (weights != leaves)
        fail_node(forest->node, STATUS_MALFORMED, NULL,
                  "its lists of nodes differ in length");
    forest->vote = NEW_ARRAY(forest->arena, Vote, leaves);
    forest->votes = leaves;
    for (int64_t i = 0; i < leaves; i++) {
        forest->branch[first + i] = (Branch){
            .mode = INLAY_TREE_LEAF,
            .vote = i,
            .votes = 1,
            .place = -1,
            .child = true,
        };
        forest->vote[i] = (Vote){ target[i], first + i, weight[i] };
    }
}

/* Node i with its children; *set: where the next set of members begins. */
static void add_split(Forest *forest, const SplitLists *lists, int64_t i,
                      int64_t *set)
{
    Branch *branch = forest->branch + i;
    const int64_t leaves = lists->leaves;
    if (lists->mode[i] > INLAY_TREE_MEMBER)
        fail_forest(forest, "a node's mode is", lists->mode[i]);
    *branch = (Branch){
        .place = -1,
        .feature = lists->feature[i],
        .value = lists->value[i],
        .mode = lists->mode[i],
        .child = branch->child,
        .missing_true = i < lists->tracks && lists->missing[i],
    };
    if (branch->mode == INLAY_TREE_MEMBER) {
        branch->value = (double)*set;
        *set = next_set(forest, *set);
    }
    branch->yes =
        child_5(forest, lists->yes[i], lists->yes_leaf[i] != 0, leaves);
    branch->no = child_5(forest, lists->no[i], lists->no_leaf[i] != 0, leaves);
}

static void read_roots(Forest *forest, int64_t splits)
{
    const int64_t *roots =
        node_ints(forest->node, "tree_roots", &forest->roots);
    forest->root = NEW_ARRAY(forest->arena, int64_t, forest->roots);
    for (int64_t i = 0; i < forest->roots; i++) {
        if (roots[i] < 0 || roots[i] >= splits)
            fail_forest(forest, "there is no node", roots[i]);
        forest->root[i] = roots[i];
    }
}

static void read_branches_5(Forest *forest)
{
    const SplitLists lists = split_lists(forest);
    int64_t set = 0;
    read_members(forest);
    forest->n = lists.splits + lists.leaves;
    forest->room = forest->n;
    forest->branch =
        NEW_ARRAY(forest->arena, Branch, forest->n + 2 * lists.splits);
    add_leaves(forest, &lists);
    for (int64_t i = 0; i < lists.splits; i++)
        add_split(forest, &lists, i, &set);
    forest->n = forest->room;
    read_roots(forest, lists.splits);
}

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

static int64_t targets_of(const Node *n)
{
    const int64_t t = is_classifier(n) ? ml_classes(n, "classlabels_int64s",
                                                    "classlabels_strings")
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
    infer_out(n, is_classifier(n),
              is_v5(n) && n->in[0]->dtype == DT_F64 ? DT_F64 : DT_F32, z);
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
    Recipe *recipe = recipe_memory(lower->graph->store, DT_F64, 1, &n, all);
    return lower_constant(
        lower,
        wide ? recipe : recipe_cast(lower->graph->store, recipe, DT_F32));
}

static Forest forest_of(Lower *lower, const Node *n)
{
    int64_t rows;
    Forest forest = { .node = n,
                      .arena = lower->arena,
                      .targets = targets_of(n),
                      .wide = n->in[0]->dtype == DT_F64 };
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

static void tree_operands(Lower *lower, Node *node, const Forest *forest,
                          Tensor **in)
{
    const Tables tables = tables_of(forest);
    const bool wide = forest->wide;
    const int64_t votes = i64_max(tables.votes, 1);
    in[0] = lower_as(lower, node, node->in[0], wide ? DT_F64 : DT_F32);
    in[1] = lower_i32s(lower, tables.root, forest->roots);
    in[2] = lower_i32s(lower, tables.node, 2 * tables.nodes);
    in[3] = number_table(lower, tables.value, tables.nodes, wide);
    in[4] = lower_i32s(lower, tables.target, votes);
    in[5] = number_table(lower, tables.weight, tables.votes, wide);
    in[6] = number_table(lower, forest->member, forest->members, wide);
    if (forest->bases)
        in[7] = number_table(lower, forest->base, forest->bases, true);
    if (is_classifier(node))
        in[8] = ml_labels(lower, node, "classlabels_int64s", forest->targets);
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
    Step *step = lower_step(lower, node, kernel, &params);
    step_out(step, scores);
    step_out(step, classify ? node_out(node, 0) : NULL);
    for (int i = 0; i < TREE_OPERANDS; i++)
        step_in(step, in[i]);
    step_scratch(lower, step, i64_mul(forest.targets, 13));
}
