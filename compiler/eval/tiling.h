/* SPDX-License-Identifier: Apache-2.0
 * How large the pieces are in which a chain of constant nodes is computed. */
#ifndef INLAY_EVAL_TILING_H
#define INLAY_EVAL_TILING_H

#include "ops/cut.h"

enum {
    LINKS = 12,              /* nodes computed together at most */
    CUT_AXES = 2 * MAX_RANK, /* of the results, and those gone through */
    PIECE_BYTES = 1 << 20,   /* all operands and results of a piece */
    MOST_PIECES = 1 << 20,   /* of one constant */
};

/* A node of a chain, and what of it is fixed. */
typedef struct Link {
    Node *node;
    const Later *makes;  /* its result, if that is a constant of its own */
    const Recipe **from; /* of each operand; NULL: left out */
    /* of each operand: number of the node before that makes it, -1: none */
    int *link;
    int8_t (*axis)[CUT_AXES]; /* of each operand: cut_axis() */
} Link;

/* What is computed together: the last node's result is what they are for, all have its shape. */
typedef struct Chain {
    int links;
    Link *link;
    int rank;
    int64_t dim[MAX_RANK];
} Chain;

/* Sizes of a piece along the axes of the result; and for each link along the axes that it goes
 * through. */
typedef struct Tiling {
    int64_t n[MAX_RANK];
    int64_t through[LINKS][MAX_RANK];
} Tiling;

/* Elements that link i goes through along axis `rank + a` of its result; 1: there is no such
 * axis. */
int64_t tiling_depth(const Chain *chain, int i, int a);
/* False: no pieces are small enough, or they are too many. */
bool tiling_find(const Chain *chain, Tiling *tiling);

#endif
