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

#define INLAY_tree_FIELDS(F, N) \
    F(int32_t, n)        /* rows of x */ \
    F(int32_t, features) /* of a row */ \
    F(int32_t, targets)  /* scores of a row */ \
    F(int32_t, trees) \
    F(int32_t, aggregate) /* 0 mean, 1 sum, 2 least, 3 largest */ \
    F(int32_t, post)      /* INLAY_POST_... */ \
    F(int32_t, classify)  /* 1: a class is chosen */ \
    F(int32_t, one_class) /* of two classes the votes name only one */ \
    F(int32_t, positive)  /* no vote is negative */ \
    F(int32_t, bases)     /* how many base values */ \
    F(int32_t, wide)      /* 1: z is of float64 */
INLAY_PARAMS(tree);

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

/* Two classes: one score where only one class is voted for, the rest as the reference has it. z,
 * has: [2]. */
static inline int32_t inlay_tree_binary(const inlay_tree_params *p, float *z, const uint8_t *has,
                                        const double *base)
{
    const int has1 = has[1];
    const int one = p->bases != 2 && !has1;
    int chosen;
    float weight;
    if (p->bases == 2 && has1) {
        z[1] = (float)base[1] + z[0];
        z[0] = -z[1];
    } else if (p->bases == 2) {
        z[1] += (float)base[1];
        z[0] += (float)base[0];
    } else if (p->bases == 1)
        z[0] += (float)base[0];
    weight = has1 ? z[1] : z[0];
    chosen = weight > (p->one_class && p->positive ? 0.5f : 0.0f);
    if (one) {
        inlay_post_second(z, !p->one_class || !p->positive, p->post);
    } else {
        if (!has[0])
            z[0] = 0.0f;
        if (!has1)
            z[1] = 0.0f;
        inlay_post(z, 2, p->post);
    }
    return chosen;
}

#define INLAY_TREE(name, T) \
    static inline int inlay_tree_goes_##name(int32_t mode, T x, T v, const T *members) \
    { \
        switch (mode) { \
        case INLAY_TREE_LEQ: \
            return x <= v; \
        case INLAY_TREE_LT: \
            return x < v; \
        case INLAY_TREE_GTE: \
            return x >= v; \
        case INLAY_TREE_GT: \
            return x > v; \
        case INLAY_TREE_EQ: \
            return x >= v && x <= v; \
        case INLAY_TREE_NEQ: \
            return !(x >= v && x <= v); \
        default: \
            for (members += (ptrdiff_t)v; *members == *members; members++) \
                if (x >= *members && x <= *members) \
                    return 1; \
            return 0; \
        } \
    } \
    static inline int32_t inlay_tree_leaf_##name(const int32_t *node, const T *value, \
                                                 const T *members, const T *x, int32_t i) \
    { \
        for (;;) { \
            const int32_t code = node[2 * i], mode = code >> 1 & 7; \
            T v; \
            if (mode == INLAY_TREE_LEAF) \
                return i; \
            v = x[code >> 4]; \
            i = inlay_tree_goes_##name(mode, v, value[i], members) || ((code & 1) && v != v) \
                    ? i + 1 \
                    : node[2 * i + 1]; \
        } \
    } \
    /* The score of one target as it was, with one more vote. */ \
    static inline T inlay_tree_vote_##name(int32_t aggregate, T was, int has, T w) \
    { \
        if (aggregate < 2) \
            return was + w; \
        return !has || (aggregate == 2 ? w < was : w > was) ? w : was; \
    } \
    static inline int inlay_tree_##name(void *const *base, const inlay_step *s, int32_t r0, \
                                        int32_t r1) \
    { \
        const inlay_tree_params *p = (const inlay_tree_params *)s->params; \
        void *out = inlay_at(base, s, 0); \
        int64_t *label = (int64_t *)inlay_at(base, s, 1); \
        const T *x = (const T *)inlay_at(base, s, 2); \
        const int32_t *roots = (const int32_t *)inlay_at(base, s, 3), \
                      *node = (const int32_t *)inlay_at(base, s, 4), \
                      *target = (const int32_t *)inlay_at(base, s, 6); \
        const T *value = (const T *)inlay_at(base, s, 5), \
                *weight = (const T *)inlay_at(base, s, 7), \
                *members = (const T *)inlay_at(base, s, 8); \
        const double *bases = (const double *)inlay_at(base, s, 9); \
        const int64_t *labels = (const int64_t *)inlay_at(base, s, 10); \
        T *sum = (T *)inlay_at(base, s, 11); \
        float *z = (float *)(void *)(sum + p->targets); \
        uint8_t *has = (uint8_t *)(z + p->targets); \
        int32_t i, t, k, chosen; \
        (void)r0, (void)r1; \
        for (i = 0; i < p->n; i++, x += p->features) { \
            for (k = 0; k < p->targets; k++) \
                sum[k] = 0, has[k] = 0; \
            for (t = 0; t < p->trees; t++) { \
                const int32_t leaf = inlay_tree_leaf_##name(node, value, members, x, roots[t]), \
                              first = node[2 * leaf + 1]; \
                for (k = first; k < first + (node[2 * leaf] >> 4); k++) { \
                    T *one = sum + target[k]; \
                    *one = inlay_tree_vote_##name(p->aggregate, *one, has[target[k]], weight[k]); \
                    has[target[k]] = 1; \
                } \
            } \
            if (p->aggregate == 0) \
                for (k = 0; k < p->targets; k++) \
                    sum[k] /= (T)p->trees; \
            if (!p->classify || p->targets > 2) \
                for (k = 0; k < p->targets; k++) { \
                    if (p->bases == p->targets) \
                        sum[k] += (T)bases[k], has[k] = 1; \
                    else if (p->targets == 1 && p->bases == 1) \
                        sum[k] += (T)bases[0]; \
                } \
            for (k = 0; k < p->targets; k++) \
                z[k] = (float)sum[k]; \
            if (p->classify && p->targets == 2) { \
                chosen = inlay_tree_binary(p, z, has, bases); \
            } else { \
                for (chosen = -1, k = 0; k < p->targets; k++) \
                    if (has[k] && (chosen < 0 || sum[k] > sum[chosen])) \
                        chosen = k; \
                if (p->targets > 1 || p->post == INLAY_POST_PROBIT) \
                    inlay_post(z, p->targets, p->post); \
            } \
            if (label) \
                label[i] = labels[chosen < 0 ? 0 : chosen]; \
            for (k = 0; k < p->targets; k++) { \
                if (p->wide) \
                    ((double *)out)[(ptrdiff_t)i * p->targets + k] = \
                        p->post ? (double)z[k] : (double)sum[k]; \
                else \
                    ((float *)out)[(ptrdiff_t)i * p->targets + k] = z[k]; \
            } \
        } \
        return 0; \
    }
INLAY_TREE(f32, float)
INLAY_TREE(f64, double)

#endif
