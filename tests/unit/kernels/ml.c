/* SPDX-License-Identifier: Apache-2.0
 * Classical models: ensembles against a walk over linked nodes, support vectors against plain sums,
 * scores and their transforms, lookups. */
#include "images.h"

#include "kernels/lookup.h"
#include "kernels/svm.h"
#include "kernels/tree.h"

static int run(inlay_kernel *k, const void *params, int operands, void **base)
{
    inlay_ref ref[12];
    for (int i = 0; i < operands; i++)
        ref[i] =
            (inlay_ref){ .cap = 1, .pix = 1, .base = base[i] ? i : INLAY_NONE };
    const inlay_step s = { k, params, ref, 1, 0 };
    return k(base, &s, 0, 1);
}

/* A tree of linked nodes; also written as tables, true side first. */
typedef struct Linked {
    int mode, feature, missing, target;
    double value, weight;
    struct Linked *yes, *no;
} Linked;

typedef struct Tables {
    int32_t root[8], node[4096], target[2048];
    double value[2048], weight[2048];
    float value_f[2048], weight_f[2048];
    int nodes, votes;
} Tables;

enum { FEATURES = 5, ROWS = 7 };

static const double members[] = { -0.5, 0.25, (double)NAN, 0.75, (double)NAN };
static const float members_f[] = { -0.5f, 0.25f, NAN, 0.75f, NAN };

static Linked *grow(Tables *t, int depth, int targets)
{
    Linked *n = calloc(1, sizeof *n);
    const int at = t->nodes++;
    const bool leaf = depth == 0 || rnd(6) == 0;
    n->mode = leaf ? INLAY_TREE_LEAF : (int)rnd(7);
    n->feature = (int)rnd(FEATURES);
    n->missing = (int)rnd(2);
    n->value = n->mode == INLAY_TREE_MEMBER ? (rnd(2) ? 0.0 : 3.0)
                                            : ((double)rnd(9) - 4.0) / 4.0;
    t->value[at] = n->value;
    t->value_f[at] = (float)n->value;
    if (leaf) {
        n->target = (int)rnd((uint32_t)targets);
        n->weight = (double)rnd_float();
        t->node[2 * at] = 16 + INLAY_TREE_LEAF * 2;
        t->node[2 * at + 1] = t->votes;
        t->target[t->votes] = n->target;
        t->weight[t->votes] = n->weight;
        t->weight_f[t->votes] = (float)n->weight;
        t->votes++;
        return n;
    }
    t->node[2 * at] = n->feature * 16 + n->mode * 2 + n->missing;
    n->yes = grow(t, depth - 1, targets);
    t->node[2 * at + 1] = t->nodes;
    n->no = grow(t, depth - 1, targets);
    return n;
}

static void fell(Linked *n)
{
    if (n->yes) {
        fell(n->yes);
        fell(n->no);
    }
    free(n);
}

static bool holds(const Linked *n, double x)
{
    switch (n->mode) {
    case INLAY_TREE_LEQ:
        return x <= n->value;
    case INLAY_TREE_LT:
        return x < n->value;
    case INLAY_TREE_GTE:
        return x >= n->value;
    case INLAY_TREE_GT:
        return x > n->value;
    case INLAY_TREE_EQ:
        return x == n->value;
    case INLAY_TREE_NEQ:
        return x != n->value;
    default:
        for (const double *m = members + (int)n->value; !isnan(*m); m++)
            if (x == *m)
                return true;
        return false;
    }
}

static const Linked *leaf_of(const Linked *n, const double *x)
{
    while (n->mode != INLAY_TREE_LEAF)
        n = holds(n, x[n->feature]) || (n->missing && isnan(x[n->feature]))
                ? n->yes
                : n->no;
    return n;
}

static void check_row(const inlay_tree_params *p, Linked *const *root,
                      const double *x, const double *z)
{
    double want[8] = { 0 };
    bool has[8] = { false };
    for (int i = 0; i < p->trees; i++) {
        const Linked *leaf = leaf_of(root[i], x);
        double *w = want + leaf->target;
        if (p->aggregate < 2)
            *w += leaf->weight;
        else if (!has[leaf->target] ||
                 (p->aggregate == 2 ? leaf->weight < *w : leaf->weight > *w))
            *w = leaf->weight;
        has[leaf->target] = true;
    }
    for (int k = 0; k < p->targets; k++) {
        if (p->aggregate == 0)
            want[k] /= p->trees;
        assert_true(fabs(z[k] - want[k]) < 1e-5);
    }
}

static void ensembles(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        Tables t = { .nodes = 0 };
        Linked *root[8];
        inlay_tree_params p = { .n = ROWS,
                                .features = FEATURES,
                                .targets = 1 + (int32_t)rnd(4),
                                .trees = 1 + (int32_t)rnd(6),
                                .aggregate = (int32_t)rnd(4),
                                .wide = 1 };
        for (int i = 0; i < p.trees; i++) {
            t.root[i] = t.nodes;
            root[i] = grow(&t, 5, p.targets);
        }
        double x[ROWS * FEATURES], z[ROWS * 4], scratch[16];
        float x_f[ROWS * FEATURES], z_f[ROWS * 4];
        for (int i = 0; i < ROWS * FEATURES; i++) {
            x[i] = rnd(10) ? ((double)rnd(17) - 8.0) / 8.0 : (double)NAN;
            x_f[i] = (float)x[i];
        }
        void *wide[12] = { z,        NULL,     x,
                           t.root,   t.node,   t.value,
                           t.target, t.weight, (void *)(uintptr_t)members,
                           NULL,     NULL,     scratch };
        run(inlay_tree_f64, &p, 12, wide);
        p.wide = 0;
        void *narrow[12] = { z_f,      NULL,       x_f,
                             t.root,   t.node,     t.value_f,
                             t.target, t.weight_f, (void *)(uintptr_t)members_f,
                             NULL,     NULL,       scratch };
        run(inlay_tree_f32, &p, 12, narrow);
        for (int i = 0; i < ROWS; i++)
            check_row(&p, root, x + i * FEATURES, z + i * p.targets);
        for (int i = 0; i < ROWS * p.targets; i++)
            assert_true(fabs((double)z_f[i] - z[i]) < 1e-5);
        for (int i = 0; i < p.trees; i++)
            fell(root[i]);
    }
}

/* One split; leaves vote for class 1 (0.8) and class 0 (0.6): the class with the larger score wins,
 * base values added. */
static void classes(void **state)
{
    (void)state;
    int32_t root = 0, node[] = { 0 * 16 + INLAY_TREE_LEQ * 2, 2,
                                 16 + INLAY_TREE_LEAF * 2,    0,
                                 32 + INLAY_TREE_LEAF * 2,    1 },
            target[] = { 1, 0, 2 };
    float value[3] = { 0.5f }, weight[] = { 0.8f, 0.6f, 0.5f },
          x[] = { 0.5f, 0.75f, NAN }, z[9];
    double base_values[] = { 0.0, 0.0, 0.2 }, scratch[8];
    int64_t label[3], labels[] = { 10, 20, 30 };
    inlay_tree_params p = { .n = 3,
                            .features = 1,
                            .targets = 3,
                            .trees = 1,
                            .aggregate = 1,
                            .classify = 1 };
    void *base[12] = { z,      label,  x,    &root, node,   value,
                       target, weight, NULL, NULL,  labels, scratch };
    run(inlay_tree_f32, &p, 12, base);
    const float want[9] = {
        0.0f, 0.8f, 0.0f, 0.6f, 0.0f, 0.5f, 0.6f, 0.0f, 0.5f
    };
    check_close(z, want, 9, 1.0);
    assert_int_equal(label[0], 20);
    assert_int_equal(label[1], 10);
    assert_int_equal(label[2], 10);
    p.bases = 3;
    base[9] = base_values;
    run(inlay_tree_f32, &p, 12, base);
    assert_int_equal(label[0], 20);
    assert_int_equal(label[1], 30);
}

/* Two classes of which only one is voted for. */
static void two_classes(void **state)
{
    (void)state;
    int32_t root = 0, node[] = { 16 + INLAY_TREE_LEAF * 2, 0 }, target = 0;
    float value = 0.0f, weight = 0.7f, x = 0.0f, z[2];
    double scratch[4];
    int64_t label, labels[] = { 3, 4 };
    inlay_tree_params p = { .n = 1,
                            .features = 1,
                            .targets = 2,
                            .trees = 1,
                            .aggregate = 1,
                            .classify = 1,
                            .one_class = 1,
                            .positive = 1 };
    void *base[12] = { z,       &label,  &x,   &root, node,   &value,
                       &target, &weight, NULL, NULL,  labels, scratch };
    run(inlay_tree_f32, &p, 12, base);
    check_close(z, (const float[]){ 0.3f, 0.7f }, 2, 1.0);
    assert_int_equal(label, 4);
    p.positive = 0;
    weight = -0.7f;
    run(inlay_tree_f32, &p, 12, base);
    check_close(z, (const float[]){ 0.7f, -0.7f }, 2, 1.0);
    assert_int_equal(label, 3);
    p.post = INLAY_POST_LOGISTIC;
    run(inlay_tree_f32, &p, 12, base);
    check_close(z, (const float[]){ 0.66818777f, 0.33181223f }, 2, 1.0);
}

static double kernel_of(const inlay_svm_params *p, const float *a,
                        const float *b)
{
    double dot = 0.0, distance = 0.0;
    for (int i = 0; i < p->features; i++) {
        dot += (double)a[i] * (double)b[i];
        distance +=
            ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    }
    switch (p->kernel) {
    case 0:
        return dot;
    case 1:
        return pow((double)p->gamma * dot + (double)p->coef0,
                   (double)p->degree);
    case 2:
        return exp(-(double)p->gamma * distance);
    default:
        return tanh((double)p->gamma * dot + (double)p->coef0);
    }
}

static void svm_regression(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        const inlay_svm_params p = { .n = 3,
                                     .features = 1 + (int32_t)rnd(8),
                                     .vectors = 1 + (int32_t)rnd(9),
                                     .kernel = (int32_t)rnd(4),
                                     .gamma = 0.3f,
                                     .coef0 = 0.2f,
                                     .degree = 3.0f };
        float *x = rnd_floats((size_t)(3 * p.features)),
              *v = rnd_floats((size_t)(p.vectors * p.features)),
              *c = rnd_floats((size_t)p.vectors), rho = 0.4f, z[3], want[3];
        for (int i = 0; i < 3; i++) {
            double sum = (double)rho;
            for (int k = 0; k < p.vectors; k++)
                sum += (double)c[k] *
                       kernel_of(&p, x + i * p.features, v + k * p.features);
            want[i] = (float)sum;
        }
        void *base[5] = { z, x, c, v, &rho };
        run(inlay_svm_regress, &p, 5, base);
        check_close(z, want, 3, 3.0);
        free(x);
        free(v);
        free(c);
    }
}

/* Three classes with one vector each: decisions of the pairs by hand, votes, probabilities that sum
 * to one. */
static void svm_classes(void **state)
{
    (void)state;
    inlay_svm_params p = { .n = 1,
                           .features = 1,
                           .vectors = 3,
                           .classes = 3,
                           .out = 3,
                           .gamma = 1.0f };
    float x[] = { 2.0f }, v[] = { 1.0f, -1.0f, 0.5f },
          c[] = { 0.5f, 0.25f, -1.0f, 0.75f, -0.5f, 2.0f },
          rho[] = { 0.1f, 0.2f, -3.0f }, z[3];
    float ab[] = { -1.0f, -1.0f, -1.0f, 0.0f, 0.1f, 0.2f }, scratch[64];
    int64_t label, labels[] = { 7, 8, 9 };
    int32_t first[] = { 0, 1, 2, 1, 1, 1 };
    void *base[10] = { z, &label, x, c, v, rho, labels, first, NULL, scratch };
    run(inlay_svm_classify, &p, 10, base);
    /* kernels 2, -2, 1: (0,1): .5 * 2 + .25 * -2 + .1; (0,2): .75 * 2 - 1 * 1 + .2; (1,2): -.5 * -2
     * + 2 * 1 - 3 */
    check_close(z, (const float[]){ 0.6f, 0.7f, 0.0f }, 3, 1.0);
    assert_int_equal(label, 7);
    p.probabilities = 1;
    base[8] = ab;
    run(inlay_svm_classify, &p, 10, base);
    assert_true(fabsf(z[0] + z[1] + z[2] - 1.0f) < 1e-4f);
    assert_true(z[0] > z[1] && z[0] > z[2]);
}

static void scores(void **state)
{
    (void)state;
    float x[] = { 1.0f, 3.0f, 2.0f, -1.0f, -2.0f, 0.0f }, z[6];
    int64_t label[2], labels[] = { 5, 6, 7 };
    inlay_ml_scores_params p = {
        .n = 2, .k = 3, .out = 3, .post = INLAY_POST_SOFTMAX
    };
    void *base[4] = { z, label, x, labels };
    run(inlay_ml_classify, &p, 4, base);
    check_close(z,
                (const float[]){ 0.09003057f, 0.66524096f, 0.24472847f,
                                 0.24472847f, 0.09003057f, 0.66524096f },
                6, 1.0);
    assert_int_equal(label[0], 6);
    assert_int_equal(label[1], 7);
    assert_true(fabsf(inlay_probit(0.5f)) < 1e-6f);
    assert_true(fabsf(inlay_probit(0.8413447f) - 1.0f) < 0.01f);
}

static void normalize(void **state)
{
    (void)state;
    float x[] = { 3.0f, -4.0f, 0.0f, 0.0f }, y[4];
    void *base[2] = { y, x };
    inlay_ml_scores_params p = { .n = 2, .k = 2, .out = 2, .kind = 2 };
    run(inlay_ml_normalize, &p, 2, base);
    check_close(y, (const float[]){ 0.6f, -0.8f, 0.0f, 0.0f }, 4, 1.0);
    p.kind = 1;
    run(inlay_ml_normalize, &p, 2, base);
    check_close(y, (const float[]){ 3.0f / 7.0f, -4.0f / 7.0f, 0.0f, 0.0f }, 4,
                1.0);
}

static void lookups(void **state)
{
    (void)state;
    int64_t keys[] = { -5, 0, 3 }, x[] = { 3, 4, -5, 0, -6 };
    double keys_f[] = { -1.5, 2.0, (double)NAN },
           x_f[] = { (double)NAN, 2.0, 0.0, -1.5 };
    float values[] = { 1.0f, 2.0f, 3.0f, 9.0f }, y[5];
    inlay_lookup_params p = { .n = 5, .keys = 3, .size = 4 };
    void *base[4] = { y, x, keys, values };
    run(inlay_lookup_i64, &p, 4, base);
    check_close(y, (const float[]){ 3.0f, 9.0f, 1.0f, 2.0f, 9.0f }, 5, 1.0);
    void *base_f[4] = { y, x_f, keys_f, values };
    p.n = 4;
    run(inlay_lookup_f64, &p, 4, base_f);
    check_close(y, (const float[]){ 3.0f, 2.0f, 9.0f, 1.0f }, 4, 1.0);
    p.keys = 2; /* NaN is no key */
    run(inlay_lookup_f64, &p, 4, base_f);
    check_close(y, (const float[]){ 3.0f, 2.0f, 3.0f, 1.0f }, 4, 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ensembles),   cmocka_unit_test(classes),
        cmocka_unit_test(two_classes), cmocka_unit_test(svm_regression),
        cmocka_unit_test(svm_classes), cmocka_unit_test(scores),
        cmocka_unit_test(normalize),   cmocka_unit_test(lookups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
