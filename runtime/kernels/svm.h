/* SPDX-License-Identifier: 0BSD
 * Support vector machines in float32.
 *
 *   kernel(a, b): 0 a.b; 1 (gamma a.b + coef0)^degree; 2 exp(-gamma |a - b|^2); 3 tanh(gamma a.b +
 *       coef0)
 *   svm_regress    z = sum over v: coefficient[v] kernel(x, vector[v]) + rho
 *   svm_classify   one decision for each pair of classes i < j, a vote for the one it names;
 *                  scores are the decisions,
 *                  or probabilities by Platt's scaling of each and the coupling of all pairs
 *
 * No support vectors: the coefficients are the vectors ([targets][features], all with rho[0]). */
#ifndef INLAY_SVM_H
#define INLAY_SVM_H

#include "ml_scores.h"

typedef struct inlay_svm_params {
    int32_t n; /* rows of x */
    int32_t features;
    int32_t vectors; /* support vectors; 0: linear */
    int32_t classes; /* targets of a linear model */
    int32_t out;     /* scores of a row of z */
    int32_t kernel;
    int32_t post;      /* INLAY_POST_... */
    int32_t one_class; /* regression: 1 or -1 by the sign */
    int32_t probabilities;
    int32_t positive; /* no coefficient is negative */
    float gamma;
    float coef0;
    float degree;
} inlay_svm_params;

static inline float inlay_svm_kernel(const inlay_svm_params *p, const float *a,
                                     const float *b)
{
    float sum = 0.0f;
    int32_t i;
    if (p->kernel == 2) {
        for (i = 0; i < p->features; i++) {
            const float d = a[i] - b[i];
            sum += d * d;
        }
        return expf(-p->gamma * sum);
    }
    for (i = 0; i < p->features; i++)
        sum += a[i] * b[i];
    if (p->kernel == 0)
        return sum;
    sum = p->gamma * sum + p->coef0;
    return p->kernel == 1 ? powf(sum, p->degree) : tanhf(sum);
}

/* The sum for one row x. */
static inline float inlay_svm_sum(const inlay_svm_params *p, const float *x,
                                  const float *coefficient, const float *vector,
                                  float rho)
{
    float sum = rho;
    int32_t j;
    if (!p->vectors)
        sum += inlay_svm_kernel(p, x, coefficient);
    for (j = 0; j < p->vectors; j++) {
        sum += coefficient[j] * inlay_svm_kernel(p, x, vector);
        vector += p->features;
    }
    if (!p->one_class)
        return sum;
    return sum > 0.0f ? 1.0f : -1.0f;
}

/* Operands: z [n], x, coefficients, vectors, rho. */
static inline int inlay_svm_regress(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_svm_params *p = (const inlay_svm_params *)s->params;
    float *z = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    const float *coefficient = (const float *)inlay_at(base, s, 2);
    const float *vector = (const float *)inlay_at(base, s, 3);
    const float *rho = (const float *)inlay_at(base, s, 4);
    int32_t i;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++) {
        z[i] = inlay_svm_sum(p, x, coefficient, vector, *rho);
        if (p->post == INLAY_POST_PROBIT)
            z[i] = inlay_probit(z[i]);
        x += p->features;
    }
    return 0;
}

/* The decision of classes i and j from the kernel values k; first, count: their vectors. */
static inline float inlay_svm_pair(const inlay_svm_params *p, const float *c,
                                   const float *k, const int32_t *first,
                                   const int32_t *count, int32_t i, int32_t j)
{
    const float *ci = c + (ptrdiff_t)(j - 1) * p->vectors;
    const float *cj = c + (ptrdiff_t)i * p->vectors;
    double sum = 0.0;
    int32_t m;
    for (m = first[i]; m < first[i] + count[i]; m++)
        sum += (double)ci[m] * (double)k[m];
    for (m = first[j]; m < first[j] + count[j]; m++)
        sum += (double)cj[m] * (double)k[m];
    return (float)sum;
}

/* The matrix of the coupling, of probabilities of pairs r [c][c]; z begins with equal shares. */
static inline void inlay_svm_matrix(int32_t c, const float *r, float *q,
                                    float *z)
{
    int32_t i, j;
    for (i = 0; i < c; i++) {
        z[i] = 1.0f / (float)c;
        q[i * c + i] = 0.0f;
        for (j = 0; j < c; j++) {
            if (j == i)
                continue;
            q[i * c + i] += r[j * c + i] * r[j * c + i];
            q[i * c + j] = -r[j * c + i] * r[i * c + j];
        }
    }
}

/* t = q z; returns z.t. */
static inline float inlay_svm_product(int32_t c, const float *q, float *t,
                                      const float *z)
{
    float all = 0.0f;
    int32_t i, j;
    for (i = 0; i < c; i++) {
        t[i] = 0.0f;
        for (j = 0; j < c; j++)
            t[i] += q[i * c + j] * z[j];
        all += z[i] * t[i];
    }
    return all;
}

/* One round of the coupling: each z[i] in its turn. */
static inline void inlay_svm_round(int32_t c, const float *q, float *t,
                                   float *z, float all)
{
    int32_t i, j;
    for (i = 0; i < c; i++) {
        const float d = (all - t[i]) / q[i * c + i];
        const float scale = 1.0f + d;
        z[i] += d;
        all = (all + d * (d * q[i * c + i] + 2.0f * t[i])) / scale / scale;
        for (j = 0; j < c; j++) {
            t[j] = (t[j] + d * q[i * c + j]) / scale;
            z[j] /= scale;
        }
    }
}

/* Probabilities z [c] of classes from those of pairs r [c][c]: Wu, Lin and Weng's second method. q
 * [c][c], t [c]: scratch. */
static inline void inlay_svm_couple(int32_t c, const float *r, float *q,
                                    float *t, float *z)
{
    const float least = 0.005f / (float)c;
    int32_t i, round;
    inlay_svm_matrix(c, r, q, z);
    for (round = 0; round < 100; round++) {
        const float all = inlay_svm_product(c, q, t, z);
        float worst = 0.0f;
        for (i = 0; i < c; i++) {
            const float off = fabsf(t[i] - all);
            worst = off > worst ? off : worst;
        }
        if (worst < least)
            break;
        inlay_svm_round(c, q, t, z, all);
    }
}

/* The operands of a classifier, and its scratch. */
typedef struct inlay_svm_model {
    const float *coefficient;
    const float *vector;
    const float *rho;
    const float *platt;
    const int32_t *first; /* vector of each class ... */
    const int32_t *count; /* ... and how many it has */
    float *kernel;        /* of x and each vector */
    float *decision;      /* of each pair */
    float *pair;          /* probabilities, [classes][classes] */
    int32_t *vote;        /* for each class */
} inlay_svm_model;

/* The class with most votes. */
static inline int32_t inlay_svm_most_votes(const int32_t *vote, int32_t classes)
{
    int32_t best = 0;
    int32_t i;
    for (i = 1; i < classes; i++)
        if (vote[i] > vote[best])
            best = i;
    return best;
}

/* The decisions of all pairs and the votes; returns the class with most votes. */
static inline int32_t inlay_svm_vote(const inlay_svm_params *p,
                                     const inlay_svm_model *m)
{
    int32_t pair = 0;
    int32_t i, j;
    for (i = 0; i < p->classes; i++)
        m->vote[i] = 0;
    for (i = 0; i < p->classes; i++)
        for (j = i + 1; j < p->classes; j++) {
            const float sum = inlay_svm_pair(p, m->coefficient, m->kernel,
                                             m->first, m->count, i, j);
            const float decision = m->rho[pair] + sum;
            m->decision[pair] = decision;
            m->vote[decision > 0.0f ? i : j]++;
            pair++;
        }
    return inlay_svm_most_votes(m->vote, p->classes);
}

/* Platt's probability of a decision, kept off 0 and 1. */
static inline float inlay_svm_platt(float decision, float a, float b)
{
    const float w = 1.0f - inlay_logistic(decision * a + b);
    const float least = w > 1.0e-7f ? w : 1.0e-7f;
    return least < 1.0f - 1.0e-7f ? least : 1.0f - 1.0e-7f;
}

/* Probabilities of all classes from the decisions. */
static inline void inlay_svm_probabilities(const inlay_svm_params *p,
                                           const inlay_svm_model *m, float *z)
{
    const int32_t c = p->classes;
    const float *a = m->platt;
    const float *b = m->platt + c * (c - 1) / 2;
    float *q = m->pair + c * c;
    int32_t pair = 0;
    int32_t i, j;
    for (i = 0; i < c; i++)
        for (j = i + 1; j < c; j++) {
            const float decision = m->decision[pair];
            const float share = inlay_svm_platt(decision, a[pair], b[pair]);
            m->pair[i * c + j] = share;
            m->pair[j * c + i] = 1.0f - share;
            pair++;
        }
    inlay_svm_couple(c, m->pair, q, q + c * c, z);
    inlay_post(z, c, p->post);
}

/* Scores of row x by the coefficients alone; returns the class. */
static inline int32_t inlay_svm_linear(const inlay_svm_params *p,
                                       const inlay_svm_model *m, const float *x,
                                       float *z)
{
    const int32_t c = p->classes;
    int32_t best, j;
    for (j = 0; j < c; j++) {
        const float *vector = m->coefficient + (ptrdiff_t)j * p->features;
        z[j] = inlay_svm_kernel(p, x, vector) + m->rho[0];
    }
    best = inlay_argmax(z, c);
    if (c == 2 && (p->positive ? z[best] >= 0.5f : z[best] > 0.0f))
        best = 1;
    inlay_post(z, c, p->post);
    return best;
}

/* Scores of row x by the support vectors; returns the class. */
static inline int32_t inlay_svm_row(const inlay_svm_params *p,
                                    const inlay_svm_model *m, const float *x,
                                    float *z)
{
    const int32_t c = p->classes;
    const int32_t pairs = c * (c - 1) / 2;
    int32_t best, j;
    for (j = 0; j < p->vectors; j++) {
        const float *vector = m->vector + (ptrdiff_t)j * p->features;
        m->kernel[j] = inlay_svm_kernel(p, x, vector);
    }
    best = inlay_svm_vote(p, m);
    if (p->probabilities) {
        inlay_svm_probabilities(p, m, z);
        return best;
    }
    memcpy(z, m->decision, (size_t)pairs * sizeof *z);
    if (c == 2)
        inlay_post_second(z, p->post == INLAY_POST_NONE, p->post);
    else
        inlay_post(z, pairs, p->post);
    return best;
}

static inline void inlay_svm_open(void *const *base, const inlay_step *s,
                                  inlay_svm_model *m)
{
    const inlay_svm_params *p = (const inlay_svm_params *)s->params;
    const int32_t c = p->classes;
    m->coefficient = (const float *)inlay_at(base, s, 3);
    m->vector = (const float *)inlay_at(base, s, 4);
    m->rho = (const float *)inlay_at(base, s, 5);
    m->first = (const int32_t *)inlay_at(base, s, 7);
    m->count = m->first + c;
    m->platt = (const float *)inlay_at(base, s, 8);
    m->kernel = (float *)inlay_at(base, s, 9);
    m->decision = m->kernel + p->vectors;
    m->pair = m->decision + c * (c - 1) / 2;
    m->vote = (int32_t *)(void *)(m->pair + 2 * c * c + c);
}

/* Operands: z [n][out], label [n] (may be left out), x, coefficients, vectors, rho, labels, first
 * vector and number of vectors of each class [2][classes], Platt's a and b [2][pairs] (may be left
 * out), scratch. */
static inline int inlay_svm_classify(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_svm_params *p = (const inlay_svm_params *)s->params;
    float *z = (float *)inlay_at(base, s, 0);
    int64_t *label = (int64_t *)inlay_at(base, s, 1);
    const float *x = (const float *)inlay_at(base, s, 2);
    const int64_t *labels = (const int64_t *)inlay_at(base, s, 6);
    inlay_svm_model model;
    int32_t i;
    (void)r0;
    (void)r1;
    inlay_svm_open(base, s, &model);
    for (i = 0; i < p->n; i++) {
        const int32_t best = p->vectors ? inlay_svm_row(p, &model, x, z)
                                        : inlay_svm_linear(p, &model, x, z);
        if (label)
            label[i] = labels[best];
        x += p->features;
        z += p->out;
    }
    return 0;
}

#endif
