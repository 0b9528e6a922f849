/* SPDX-License-Identifier: 0BSD
 * Ensembles of trees for one element type. Included by tree.h. */

/* The tables of an ensemble, and the scores of the row in work. */
typedef struct inlay_typed(tree_tables)
{
    const int32_t *root, *node, *target;
    const INLAY_T *value, *weight, *member;
    INLAY_T *sum; /* scores, [targets] */
    float *score; /* the same as the result has them */
    uint8_t *has; /* 1: someone voted for it */
}
inlay_typed(tree_tables);

/* Is x one of the members, of which NaN is the end? */
static inline int inlay_typed(tree_member)(const INLAY_T *member, INLAY_T x)
{
    for (; *member == *member; member++)
        if (x >= *member && x <= *member)
            return 1;
    return 0;
}

/* Does feature x go to the true side of a node with this value? */
static inline int inlay_typed(tree_true)(int32_t mode, INLAY_T x, INLAY_T value,
                                         const INLAY_T *member)
{
    switch (mode) {
    case INLAY_TREE_LEQ:
        return x <= value;
    case INLAY_TREE_LT:
        return x < value;
    case INLAY_TREE_GTE:
        return x >= value;
    case INLAY_TREE_GT:
        return x > value;
    case INLAY_TREE_EQ:
        return x >= value && x <= value;
    case INLAY_TREE_NEQ:
        return !(x >= value && x <= value);
    default:
        return inlay_typed(tree_member)(member + (ptrdiff_t)value, x);
    }
}

/* The leaf that row x comes to from node i. */
static inline int32_t inlay_typed(tree_leaf)(const inlay_typed(tree_tables) *
                                                 tables,
                                             const INLAY_T *x, int32_t i)
{
    for (;;) {
        const int32_t code = tables->node[2 * i];
        const int32_t mode = code >> 1 & 7;
        INLAY_T feature;
        if (mode == INLAY_TREE_LEAF)
            return i;
        feature = x[code >> 4];
        if (inlay_typed(tree_true)(mode, feature, tables->value[i],
                                   tables->member) ||
            ((code & 1) && feature != feature))
            i++;
        else
            i = tables->node[2 * i + 1];
    }
}

/* The score of one target as it was, with one more vote. */
static inline INLAY_T inlay_typed(tree_vote)(int32_t aggregate, INLAY_T was,
                                             int has, INLAY_T vote)
{
    if (aggregate < 2)
        return was + vote;
    if (!has || (aggregate == 2 ? vote < was : vote > was))
        return vote;
    return was;
}

/* All votes for row x. */
static inline void inlay_typed(tree_votes)(const inlay_tree_params *p,
                                           const inlay_typed(tree_tables) *
                                               tables,
                                           const INLAY_T *x)
{
    int32_t i, k;
    for (k = 0; k < p->targets; k++) {
        tables->sum[k] = 0;
        tables->has[k] = 0;
    }
    for (i = 0; i < p->trees; i++) {
        const int32_t leaf = inlay_typed(tree_leaf)(tables, x, tables->root[i]);
        const int32_t first = tables->node[2 * leaf + 1];
        const int32_t votes = tables->node[2 * leaf] >> 4;
        for (k = first; k < first + votes; k++) {
            const int32_t target = tables->target[k];
            tables->sum[target] =
                inlay_typed(tree_vote)(p->aggregate, tables->sum[target],
                                       tables->has[target], tables->weight[k]);
            tables->has[target] = 1;
        }
    }
    for (k = 0; k < p->targets && p->aggregate == 0; k++)
        tables->sum[k] /= (INLAY_T)p->trees;
}

/* The target with the greatest score of those that someone voted for, -1: none. */
static inline int32_t inlay_typed(tree_best)(const inlay_tree_params *p,
                                             const inlay_typed(tree_tables) *
                                                 tables)
{
    int32_t best = -1;
    int32_t k;
    for (k = 0; k < p->targets; k++) {
        if (!tables->has[k])
            continue;
        if (best < 0 || tables->sum[k] > tables->sum[best])
            best = k;
    }
    return best;
}

/* Scores of the row in work; returns the class that is chosen, -1: none. */
static inline int32_t inlay_typed(tree_scores)(const inlay_tree_params *p,
                                               const inlay_typed(tree_tables) *
                                                   tables,
                                               const double *bases)
{
    float *z = tables->score;
    const int binary = p->classify && p->targets == 2;
    int32_t chosen, k;
    if ((!p->classify || p->targets > 2) && p->bases == p->targets)
        for (k = 0; k < p->targets; k++) {
            tables->sum[k] += (INLAY_T)bases[k];
            tables->has[k] = 1;
        }
    for (k = 0; k < p->targets; k++)
        z[k] = (float)tables->sum[k];
    if (binary)
        return inlay_tree_binary(p, z, tables->has, bases);
    chosen = inlay_typed(tree_best)(p, tables);
    if (p->targets > 1 || p->post == INLAY_POST_PROBIT)
        inlay_post(z, p->targets, p->post);
    return chosen;
}

static inline void inlay_typed(tree_open)(void *const *base,
                                          const inlay_step *s,
                                          inlay_typed(tree_tables) * tables)
{
    const inlay_tree_params *p = (const inlay_tree_params *)s->params;
    tables->root = (const int32_t *)inlay_at(base, s, 3);
    tables->node = (const int32_t *)inlay_at(base, s, 4);
    tables->value = (const INLAY_T *)inlay_at(base, s, 5);
    tables->target = (const int32_t *)inlay_at(base, s, 6);
    tables->weight = (const INLAY_T *)inlay_at(base, s, 7);
    tables->member = (const INLAY_T *)inlay_at(base, s, 8);
    tables->sum = (INLAY_T *)inlay_at(base, s, 11);
    tables->score = (float *)(void *)(tables->sum + p->targets);
    tables->has = (uint8_t *)(tables->score + p->targets);
}

/* Scores of row i of the result, of those in work. */
static inline void
inlay_typed(tree_store)(const inlay_tree_params *p, void *y, int32_t i,
                        const inlay_typed(tree_tables) * tables)
{
    const float *z = tables->score;
    const ptrdiff_t first = (ptrdiff_t)i * p->targets;
    int32_t k;
    if (!p->wide)
        memcpy((float *)y + first, z, (size_t)p->targets * sizeof *z);
    for (k = 0; k < p->targets && p->wide; k++)
        ((double *)y)[first + k] =
            p->post ? (double)z[k] : (double)tables->sum[k];
}

static inline int inlay_typed(tree)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_tree_params *p = (const inlay_tree_params *)s->params;
    int64_t *label = (int64_t *)inlay_at(base, s, 1);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 2);
    const double *bases = (const double *)inlay_at(base, s, 9);
    const int64_t *labels = (const int64_t *)inlay_at(base, s, 10);
    inlay_typed(tree_tables) tables;
    int32_t i;
    (void)r0;
    (void)r1;
    inlay_typed(tree_open)(base, s, &tables);
    for (i = 0; i < p->n; i++, x += p->features) {
        int32_t chosen;
        inlay_typed(tree_votes)(p, &tables, x);
        chosen = inlay_typed(tree_scores)(p, &tables, bases);
        if (label)
            label[i] = labels[chosen < 0 ? 0 : chosen];
        inlay_typed(tree_store)(p, inlay_at(base, s, 0), i, &tables);
    }
    return 0;
}
