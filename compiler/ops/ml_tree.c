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

static void fail_forest(const Forest *f, const char *what, int64_t i)
{
    fail_node(f->node, STATUS_MALFORMED, NULL, "%s %lld", what, (long long)i);
}

static const int64_t *ints_of(const Forest *f, const char *name, int64_t count)
{
    int64_t have;
    const int64_t *v = node_ints(f->node, name, &have);
    if (have != count && (have || count))
        fail_node(f->node, STATUS_MALFORMED, NULL, "%s has %lld numbers, not %lld", name,
                  (long long)have, (long long)count);
    return v;
}

/* A list of numbers: an attribute of floats, or one of a tensor. */
static const double *numbers_of(const Forest *f, const char *name, const char *as_tensor,
                                int64_t *count)
{
    const Attr *tensor = as_tensor ? node_attr(f->node, as_tensor) : NULL;
    Store *s = f->node->graph->store;
    if (tensor && tensor->tensor && recipe_count(tensor->tensor)) {
        *count = recipe_count(tensor->tensor);
        return node_values(f->node, recipe_cast(s, tensor->tensor, DT_F64));
    }
    const float *v = name ? node_floats(f->node, name, count) : NULL;
    double *wide = NEW_ARRAY(f->arena, double, v ? *count : 0);
    if (!v)
        *count = 0;
    for (int64_t i = 0; v && i < *count; i++)
        wide[i] = (double)v[i];
    return wide;
}

static int mode_of(const Forest *f, const char *name)
{
    static const char *const names[] = { "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF" };
    for (int i = 0; i < 8; i++)
        if (!strcmp(names[i], name))
            return i;
    fail_node(f->node, STATUS_MALFORMED, NULL, "a node's mode is \"%s\"", name);
}

/* Names (tree, id) in order, each with the index of its branch. */
typedef struct Name {
    int64_t tree, id, at;
} Name;

static int compare_names(const void *a, const void *b)
{
    const Name *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static Name *sorted_names(const Forest *f)
{
    Name *name = NEW_ARRAY(f->arena, Name, f->n);
    for (int64_t i = 0; i < f->n; i++)
        name[i] = (Name){ f->branch[i].tree, f->branch[i].id, i };
    if (f->n)
        qsort(name, (size_t)f->n, sizeof *name, compare_names);
    for (int64_t i = 1; i < f->n; i++)
        if (!compare_names(name + i - 1, name + i))
            fail_forest(f, "two nodes have the number", name[i].id);
    return name;
}

static int64_t branch_named(const Forest *f, const Name *names, int64_t tree, int64_t id)
{
    const Name key = { tree, id, 0 };
    const Name *found = f->n ? bsearch(&key, names, (size_t)f->n, sizeof key, compare_names) : NULL;
    if (!found)
        fail_forest(f, "there is no node", id);
    return found->at;
}

static int64_t child(Forest *f, int64_t at)
{
    if (at < 0 || at >= f->n)
        fail_forest(f, "there is no node", at);
    if (f->branch[at].child)
        fail_forest(f, "two nodes have the same child: node", at);
    f->branch[at].child = true;
    return at;
}

/* Roots are the branches that are nobody's child. */
static void find_roots(Forest *f)
{
    f->root = NEW_ARRAY(f->arena, int64_t, f->n);
    for (int64_t i = 0; i < f->n; i++)
        if (!f->branch[i].child)
            f->root[f->roots++] = i;
    if (!f->roots)
        fail_node(f->node, STATUS_MALFORMED, NULL, "has no tree");
}

static int compare_votes(const void *a, const void *b)
{
    const Vote *x = a, *y = b;
    return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

/* Votes by leaf, in the file's order within one (sorted by insertion place: qsort is not stable).
 */
static void read_votes(Forest *f, const Name *names, const char *kind)
{
    Arena *a = f->arena;
    int64_t count, weights;
    node_ints(f->node, arena_printf(a, "%s_nodeids", kind), &count);
    const int64_t *node = ints_of(f, arena_printf(a, "%s_nodeids", kind), count),
                  *tree = ints_of(f, arena_printf(a, "%s_treeids", kind), count);
    const int64_t *target = ints_of(f, arena_printf(a, "%s_ids", kind), count);
    const double *weight = numbers_of(f, arena_printf(a, "%s_weights", kind),
                                      arena_printf(a, "%s_weights_as_tensor", kind), &weights);
    if (weights != count)
        fail_node(f->node, STATUS_MALFORMED, NULL, "has %lld weights for %lld leaves",
                  (long long)weights, (long long)count);
    f->votes = count;
    f->vote = NEW_ARRAY(a, Vote, count);
    for (int64_t i = 0; i < count; i++)
        f->vote[i] = (Vote){ target[i], branch_named(f, names, tree[i], node[i]), weight[i] };
    if (count)
        qsort(f->vote, (size_t)count, sizeof *f->vote, compare_votes);
    for (int64_t i = 0; i < count; i++) {
        Branch *b = f->branch + f->vote[i].leaf;
        if (!b->votes++)
            b->vote = i;
    }
}

static void read_branches(Forest *f)
{
    int64_t n, values, tracks;
    node_ints(f->node, "nodes_nodeids", &n);
    const int64_t *id = ints_of(f, "nodes_nodeids", n), *tree = ints_of(f, "nodes_treeids", n),
                  *feature = ints_of(f, "nodes_featureids", n);
    const int64_t *yes = ints_of(f, "nodes_truenodeids", n),
                  *no = ints_of(f, "nodes_falsenodeids", n);
    const int64_t *missing = node_ints(f->node, "nodes_missing_value_tracks_true", &tracks);
    const Attr *modes = node_attr(f->node, "nodes_modes");
    const double *value = numbers_of(f, "nodes_values", "nodes_values_as_tensor", &values);
    if (values != n || !modes || modes->n != n)
        fail_node(f->node, STATUS_MALFORMED, NULL, "its lists of nodes differ in length");
    f->n = n;
    f->branch = NEW_ARRAY(f->arena, Branch, n);
    for (int64_t i = 0; i < n; i++)
        f->branch[i] = (Branch){ .tree = tree[i],
                                 .id = id[i],
                                 .yes = -1,
                                 .no = -1,
                                 .place = -1,
                                 .feature = feature[i],
                                 .value = value[i],
                                 .mode = mode_of(f, modes->strings[i]),
                                 .missing_true = i < tracks && missing[i] };
    const Name *names = sorted_names(f);
    for (int64_t i = 0; i < n; i++) {
        Branch *b = f->branch + i;
        if (b->mode == INLAY_TREE_LEAF)
            continue;
        b->yes = child(f, branch_named(f, names, tree[i], yes[i]));
        b->no = child(f, branch_named(f, names, tree[i], no[i]));
    }
    find_roots(f);
    read_votes(f, names, node_attr(f->node, "class_nodeids") ? "class" : "target");
}

/* Sets, the last of which may lack its NaN. */
static void read_members(Forest *f)
{
    int64_t count;
    const double *v = numbers_of(f, NULL, "membership_values", &count);
    double *all = NEW_ARRAY(f->arena, double, count + 1);
    if (count)
        memcpy(all, v, (size_t)count * sizeof *v);
    all[count] = (double)NAN;
    f->member = all;
    f->members = count + 1;
}

/* TreeEnsemble-5: children are indices; leaves are lists of their own, appended to the branches. */
static int64_t child_5(Forest *f, int64_t at, bool leaf, int64_t leaves)
{
    const int64_t first = f->n - leaves;
    if (at < 0 || at >= (leaf ? leaves : first))
        fail_forest(f, "there is no node or leaf", at);
    if (leaf) { /* a leaf may be shared: each place gets a copy */
        f->branch[f->room] = f->branch[first + at];
        return f->room++;
    }
    return child(f, at);
}

/* The place behind the set that begins at `at`. */
static int64_t next_set(const Forest *f, int64_t at)
{
    while (at < f->members && !isnan(f->member[at]))
        at++;
    if (at >= f->members)
        fail_node(f->node, STATUS_MALFORMED, NULL,
                  "membership_values has fewer sets than there are nodes that want one");
    return at + 1;
}

static void read_branches_5(Forest *f)
{
    Arena *a = f->arena;
    Store *store = f->node->graph->store;
    int64_t n, splits, leaves, weights, at = 0;
    node_ints(f->node, "nodes_featureids", &n);
    node_ints(f->node, "leaf_targetids", &leaves);
    const int64_t *feature = ints_of(f, "nodes_featureids", n),
                  *yes = ints_of(f, "nodes_truenodeids", n),
                  *no = ints_of(f, "nodes_falsenodeids", n);
    const int64_t *yes_leaf = ints_of(f, "nodes_trueleafs", n),
                  *no_leaf = ints_of(f, "nodes_falseleafs", n),
                  *target = ints_of(f, "leaf_targetids", leaves);
    int64_t tracks;
    const int64_t *missing = node_ints(f->node, "nodes_missing_value_tracks_true", &tracks);
    const Attr *modes = node_attr(f->node, "nodes_modes");
    const double *split = numbers_of(f, NULL, "nodes_splits", &splits),
                 *weight = numbers_of(f, NULL, "leaf_weights", &weights);
    read_members(f);
    if (splits != n || weights != leaves || !modes || !modes->tensor ||
        recipe_count(modes->tensor) != n)
        fail_node(f->node, STATUS_MALFORMED, NULL, "its lists of nodes differ in length");
    const uint8_t *mode = node_values(f->node, recipe_cast(store, modes->tensor, DT_U8));
    f->n = f->room = n + leaves;
    f->branch = NEW_ARRAY(a, Branch, f->n + 2 * n);
    f->vote = NEW_ARRAY(a, Vote, leaves);
    f->votes = leaves;
    for (int64_t i = 0; i < leaves; i++) {
        f->branch[n + i] =
            (Branch){ .mode = INLAY_TREE_LEAF, .vote = i, .votes = 1, .place = -1, .child = true };
        f->vote[i] = (Vote){ target[i], n + i, weight[i] };
    }
    for (int64_t i = 0; i < n; i++) {
        Branch *b = f->branch + i;
        if (mode[i] > INLAY_TREE_MEMBER)
            fail_forest(f, "a node's mode is", mode[i]);
        const bool was_child = b->child;
        *b = (Branch){ .place = -1,
                       .feature = feature[i],
                       .value = split[i],
                       .mode = mode[i],
                       .child = was_child,
                       .missing_true = i < tracks && missing[i] };
        if (mode[i] == INLAY_TREE_MEMBER) {
            b->value = (double)at;
            at = next_set(f, at);
        }
        b->yes = child_5(f, yes[i], yes_leaf[i] != 0, leaves);
        b->no = child_5(f, no[i], no_leaf[i] != 0, leaves);
    }
    f->n = f->room;
    const int64_t *roots = node_ints(f->node, "tree_roots", &f->roots);
    f->root = NEW_ARRAY(a, int64_t, f->roots);
    for (int64_t i = 0; i < f->roots; i++) {
        if (roots[i] < 0 || roots[i] >= n)
            fail_forest(f, "there is no node", roots[i]);
        f->root[i] = roots[i];
    }
}

/* The tables: two numbers a node, its value, roots, votes. */
typedef struct Tables {
    int32_t *node, *root, *target;
    double *value, *weight;
    int64_t nodes, votes;
} Tables;

static void place_branch(const Forest *f, Tables *t, Branch *b)
{
    if (b->place >= 0)
        fail_node(f->node, STATUS_MALFORMED, NULL, "its nodes form a cycle");
    b->place = t->nodes++;
    t->value[b->place] = b->value;
    if (b->mode != INLAY_TREE_LEAF) {
        if (b->feature < 0 || b->feature >= f->features)
            fail_forest(f, "there is no feature", b->feature);
        t->node[2 * b->place] = i32_checked(b->feature * 16 + b->mode * 2 + b->missing_true);
        return;
    }
    t->node[2 * b->place] = i32_checked(b->votes * 16 + INLAY_TREE_LEAF * 2);
    t->node[2 * b->place + 1] = i32_checked(t->votes);
    for (int64_t k = b->vote; k < b->vote + b->votes; k++, t->votes++) {
        if (f->vote[k].target < 0 || f->vote[k].target >= f->targets)
            fail_forest(f, "there is no target", f->vote[k].target);
        t->target[t->votes] = (int32_t)f->vote[k].target;
        t->weight[t->votes] = f->vote[k].weight;
    }
}

/* Depth first, true side first: the true child is the next node. */
static void place_tree(const Forest *f, Tables *t, int64_t root, int64_t *stack)
{
    int64_t depth = 0;
    stack[depth++] = root;
    while (depth) {
        const int64_t at = stack[--depth];
        Branch *b = f->branch + (at < 0 ? -1 - at : at);
        if (at < 0) { /* back at a branch: its false side follows */
            t->node[2 * b->place + 1] = (int32_t)t->nodes;
            stack[depth++] = b->no;
            continue;
        }
        place_branch(f, t, b);
        if (b->mode == INLAY_TREE_LEAF)
            continue;
        stack[depth++] = -1 - at;
        stack[depth++] = b->yes;
    }
}

static Tables tables_of(const Forest *f)
{
    Arena *a = f->arena;
    int64_t copies = f->votes;
    for (int64_t i = 0; i < f->n; i++)
        copies = i64_add(copies, f->branch[i].votes);
    Tables t = { .node = NEW_ARRAY(a, int32_t, 2 * f->n),
                 .root = NEW_ARRAY(a, int32_t, f->roots),
                 .value = NEW_ARRAY(a, double, f->n),
                 .target = NEW_ARRAY(a, int32_t, copies + 1),
                 .weight = NEW_ARRAY(a, double, copies + 1) };
    int64_t *stack = NEW_ARRAY(a, int64_t, 2 * f->n + 4);
    for (int64_t i = 0; i < f->roots; i++) {
        t.root[i] = (int32_t)t.nodes;
        place_tree(f, &t, f->root[i], stack);
    }
    return t;
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

static Tensor *number_table(Lower *l, const double *v, int64_t count, bool wide)
{
    const int64_t n = i64_max(count, 1);
    double *all = NEW_ARRAY(l->arena, double, n);
    if (count)
        memcpy(all, v, (size_t)count * sizeof *v);
    Recipe *r = recipe_memory(l->graph->store, DT_F64, 1, &n, all);
    return lower_constant(l, wide ? r : recipe_cast(l->graph->store, r, DT_F32));
}

static Forest forest_of(Lower *l, const Node *n)
{
    int64_t rows;
    Forest f = {
        .node = n, .arena = l->arena, .targets = targets_of(n), .wide = n->in[0]->dtype == DT_F64
    };
    ml_rows(n, &rows, &f.features);
    f.base = numbers_of(&f, "base_values", "base_values_as_tensor", &f.bases);
    if (is_v5(n))
        read_branches_5(&f);
    else
        read_branches(&f);
    return f;
}

/* Do the votes of a classifier name one class only, and is none negative? */
static void vote_facts(const Forest *f, inlay_tree_params *p)
{
    p->one_class = p->positive = 1;
    for (int64_t i = 0; i < f->votes; i++) {
        if (f->vote[i].target != f->vote[0].target)
            p->one_class = 0;
        if (f->vote[i].weight < 0.0)
            p->positive = 0;
    }
}

void lower_tree(Lower *l, Node *n)
{
    const Forest f = forest_of(l, n);
    const Tables t = tables_of(&f);
    const bool classify = is_classifier(n);
    Tensor *z = node_out(n, classify);
    inlay_tree_params p = { .n =
                                i32_checked(n->in[0]->shape.rank == 1 ? 1 : n->in[0]->shape.dim[0]),
                            .features = i32_checked(f.features),
                            .targets = (int32_t)f.targets,
                            .trees = i32_checked(f.roots),
                            .aggregate = tree_aggregate(n),
                            .post = tree_post(n),
                            .classify = classify,
                            .bases = i32_checked(f.bases) };
    vote_facts(&f, &p);
    if (!z)
        z = lower_temp(l, DT_F32, shape_of(2, (const int64_t[]){ p.n, f.targets }));
    p.wide = z->dtype == DT_F64;
    Tensor *in[] = { lower_as(l, n, n->in[0], f.wide ? DT_F64 : DT_F32),
                     lower_i32s(l, t.root, f.roots),
                     lower_i32s(l, t.node, 2 * t.nodes),
                     number_table(l, t.value, t.nodes, f.wide),
                     lower_i32s(l, t.target, i64_max(t.votes, 1)),
                     number_table(l, t.weight, t.votes, f.wide),
                     number_table(l, f.member, f.members, f.wide),
                     f.bases ? number_table(l, f.base, f.bases, true) : NULL,
                     classify ? ml_labels(l, n, "classlabels_int64s", f.targets) : NULL };
    Step *s = lower_step(l, n, f.wide ? "tree_f64" : "tree_f32", &p);
    step_out(s, z);
    step_out(s, classify ? node_out(n, 0) : NULL);
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        step_in(s, in[i]);
    step_scratch(l, s, i64_mul(f.targets, 13));
}
