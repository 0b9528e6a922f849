/* SPDX-License-Identifier: Apache-2.0
 * Ensembles of trees as one list of nodes, whichever operator they come from. */
#ifndef INLAY_OPS_ML_FOREST_H
#define INLAY_OPS_ML_FOREST_H

#include "ops/lower.h"

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
    int64_t listed; /* its place in the model's lists */
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

/* The node is malformed: `what` and a number. */
_Noreturn void fail_forest(const Forest *forest, const char *what, int64_t i);
/* A list of numbers: an attribute of floats, or one of a tensor. */
const double *numbers_of(const Forest *forest, const char *name,
                         const char *as_tensor, int64_t *count);
/* Branches, votes and roots of TreeEnsembleClassifier and TreeEnsembleRegressor; of TreeEnsemble-5,
 * with the members of its sets. */
void read_branches(Forest *forest);
void read_branches_5(Forest *forest);

#endif
