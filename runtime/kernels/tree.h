/* SPDX-License-Identifier: 0BSD
 * Ensembles of decision trees, walked in place as tables.
 *
 * A node is two numbers, {code, other}: code = feature * 16 + mode * 2 + (missing values go to the
 * true side). The true child is the next node, the false child is `other`. A leaf has mode
 * INLAY_TREE_LEAF, its code / 16 is the number of its votes and `other` the first of them: target
 * and weight in two lists. values[node] is what is compared with; for INLAY_TREE_MEMBER the place
 * of its set in `members`, which ends with NaN.
 *
 * Operands: z [n][targets], label [n] (may be left out), x [n][features], roots, nodes, values,
 * leaf targets, leaf weights, members, base values (may be left out), labels, scratch. */
#ifndef INLAY_TREE_H
#define INLAY_TREE_H

#include "ml_scores.h"

typedef struct inlay_tree_params {
    int32_t n;        /* rows of x */
    int32_t features; /* of a row */
    int32_t targets;  /* scores of a row */
    int32_t trees;
    int32_t aggregate; /* 0 mean, 1 sum, 2 least, 3 largest */
    int32_t post;      /* INLAY_POST_... */
    int32_t classify;  /* 1: a class is chosen */
    int32_t one_class; /* of two classes the votes name only one */
    int32_t positive;  /* no vote is negative */
    int32_t bases;     /* how many base values */
    int32_t wide;      /* 1: z is of float64 */
} inlay_tree_params;

enum {
    INLAY_TREE_LEQ = 0,
    INLAY_TREE_LT = 1,
    INLAY_TREE_GTE = 2,
    INLAY_TREE_GT = 3,
    INLAY_TREE_EQ = 4,
    INLAY_TREE_NEQ = 5,
    INLAY_TREE_MEMBER = 6,
    INLAY_TREE_LEAF = 7
};

/* The scores z [2] of two classes, `has`: votes were given for it; which one is chosen. One score
 * stands for both where only one class is voted for; the rest is as the reference has it. */
static inline int32_t inlay_tree_binary(const inlay_tree_params *p, float *z,
                                        const uint8_t *has, const double *base)
{
    const int share = p->one_class && p->positive;
    float weight;
    if (p->bases == 2 && has[1]) {
        z[1] = (float)base[1] + z[0];
        z[0] = -z[1];
    } else if (p->bases == 2) {
        z[1] += (float)base[1];
        z[0] += (float)base[0];
    } else if (p->bases == 1) {
        z[0] += (float)base[0];
    }
    weight = has[1] ? z[1] : z[0];
    if (p->bases != 2 && !has[1]) {
        inlay_post_second(z, !share, p->post);
    } else {
        z[0] = has[0] ? z[0] : 0.0f;
        z[1] = has[1] ? z[1] : 0.0f;
        inlay_post(z, 2, p->post);
    }
    return weight > (share ? 0.5f : 0.0f);
}

#define INLAY_FAMILY "tree.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
