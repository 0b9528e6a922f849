/* SPDX-License-Identifier: Apache-2.0
 * The attributes of TreeEnsembleClassifier, TreeEnsembleRegressor or TreeEnsemble become one list
 * of nodes and one of votes. */
#include "ops/ml/forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "kernels/tree.h"
#include "ops/infer.h"

void fail_forest(const Forest *forest, const char *what, int64_t i)
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
const double *numbers_of(const Forest *forest, const char *name,
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
    if (x->leaf != y->leaf)
        return x->leaf > y->leaf ? 1 : -1;
    return (x->listed > y->listed) - (x->listed < y->listed);
}

/* The attribute of that kind ("class" or "target") and name. */
static const char *of_kind(const Forest *forest, const char *kind,
                           const char *name)
{
    return arena_printf(forest->arena, "%s_%s", kind, name);
}

/* The first vote of each leaf, and how many it has. Where there is one target, ONNX Runtime takes
 * the first alone; so do the paths of decisions that skl2onnx writes. */
static void count_votes(const Forest *forest)
{
    const bool many = forest->targets > 1;
    for (int64_t i = 0; i < forest->votes; i++) {
        Branch *leaf = forest->branch + forest->vote[i].leaf;
        if (!leaf->votes)
            leaf->vote = i;
        if (many || !leaf->votes)
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
            .listed = i,
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

void read_branches(Forest *forest)
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
        forest->vote[i] = (Vote){ target[i], first + i, weight[i], i };
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

void read_branches_5(Forest *forest)
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
