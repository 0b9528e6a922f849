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

#define INLAY_svm_FIELDS(F, N) \
    F(int32_t, n) /* rows of x */ \
    F(int32_t, features) \
    F(int32_t, vectors) /* support vectors; 0: linear */ \
    F(int32_t, classes) /* targets of a linear model */ \
    F(int32_t, out)     /* scores of a row of z */ \
    F(int32_t, kernel) \
    F(int32_t, post)      /* INLAY_POST_... */ \
    F(int32_t, one_class) /* regression: 1 or -1 by the sign */ \
    F(int32_t, probabilities) \
    F(int32_t, positive) /* no coefficient is negative */ \
    F(float, gamma) \
    F(float, coef0) \
    F(float, degree)
INLAY_PARAMS(svm);

static inline float inlay_svm_kernel(const inlay_svm_params *p, const float *a, const float *b)
{
    float sum = 0.0f;
    int32_t i;
    if (p->kernel == 2) {
        for (i = 0; i < p->features; i++)
            sum += (a[i] - b[i]) * (a[i] - b[i]);
        return expf(-p->gamma * sum);
    }
    for (i = 0; i < p->features; i++)
        sum += a[i] * b[i];
    if (p->kernel == 0)
        return sum;
    sum = p->gamma * sum + p->coef0;
    return p->kernel == 1 ? powf(sum, p->degree) : tanhf(sum);
}

/* Operands: z [n], x, coefficients, vectors, rho. */
static inline int inlay_svm_regress(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_svm_params *p = (const inlay_svm_params *)s->params;
    float *z = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1);
    const float *c = (const float *)inlay_at(base, s, 2);
    const float *v = (const float *)inlay_at(base, s, 3);
    const float *rho = (const float *)inlay_at(base, s, 4);
    int32_t i, j;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++, x += p->features) {
        float sum = rho[0];
        if (!p->vectors)
            sum += inlay_svm_kernel(p, x, c);
        for (j = 0; j < p->vectors; j++)
            sum += c[j] * inlay_svm_kernel(p, x, v + (ptrdiff_t)j * p->features);
        z[i] = p->one_class ? (sum > 0.0f ? 1.0f : -1.0f) : sum;
        if (p->post == INLAY_POST_PROBIT)
            z[i] = inlay_probit(z[i]);
    }
    return 0;
}

/* The decision of classes i and j from the kernel values k; first, count: their vectors. */
static inline float inlay_svm_pair(const inlay_svm_params *p, const float *c, const float *k,
                                   const int32_t *first, const int32_t *count, int32_t i, int32_t j)
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

/* Probabilities z [c] of classes from those of pairs r [c][c]: Wu, Lin and Weng's second method. q
 * [c][c], t [c]: scratch. */
static inline void inlay_svm_couple(int32_t c, const float *r, float *q, float *t, float *z)
{
    const float eps = 0.005f / (float)c;
    int32_t i, j, round;
    for (i = 0; i < c; i++) {
        z[i] = 1.0f / (float)c;
        q[i * c + i] = 0.0f;
        for (j = 0; j < c; j++)
            if (j != i) {
                q[i * c + i] += r[j * c + i] * r[j * c + i];
                q[i * c + j] = -r[j * c + i] * r[i * c + j];
            }
    }
    for (round = 0; round < 100; round++) {
        float all = 0.0f;
        float worst = 0.0f;
        for (i = 0; i < c; i++) {
            t[i] = 0.0f;
            for (j = 0; j < c; j++)
                t[i] += q[i * c + j] * z[j];
            all += z[i] * t[i];
        }
        for (i = 0; i < c; i++)
            worst = fabsf(t[i] - all) > worst ? fabsf(t[i] - all) : worst;
        if (worst < eps)
            break;
        for (i = 0; i < c; i++) {
            const float d = (all - t[i]) / q[i * c + i];
            z[i] += d;
            all = (all + d * (d * q[i * c + i] + 2.0f * t[i])) / (1.0f + d) / (1.0f + d);
            for (j = 0; j < c; j++) {
                t[j] = (t[j] + d * q[i * c + j]) / (1.0f + d);
                z[j] /= 1.0f + d;
            }
        }
    }
}

/* The decisions of all pairs and the votes; returns the class with most votes. */
static inline int32_t inlay_svm_vote(const inlay_svm_params *p, const float *c, const float *k,
                                     const float *rho, const int32_t *first, const int32_t *count,
                                     float *decision, int32_t *vote)
{
    int32_t i;
    int32_t j;
    int32_t pair = 0;
    int32_t best = 0;
    for (i = 0; i < p->classes; i++)
        vote[i] = 0;
    for (i = 0; i < p->classes; i++)
        for (j = i + 1; j < p->classes; j++, pair++) {
            decision[pair] = inlay_svm_pair(p, c, k, first, count, i, j) + rho[pair];
            vote[decision[pair] > 0.0f ? i : j]++;
        }
    for (i = 1; i < p->classes; i++)
        if (vote[i] > vote[best])
            best = i;
    return best;
}

/* Operands: z [n][out], label [n] (may be left out), x, coefficients, vectors, rho, labels, first
 * vector and number of vectors of each class [2][classes], Platt's a and b [2][pairs] (may be left
 * out), scratch. */
static inline int inlay_svm_classify(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_svm_params *p = (const inlay_svm_params *)s->params;
    const int32_t c = p->classes;
    const int32_t pairs = c * (c - 1) / 2;
    float *z = (float *)inlay_at(base, s, 0);
    int64_t *label = (int64_t *)inlay_at(base, s, 1);
    const float *x = (const float *)inlay_at(base, s, 2);
    const float *coefficient = (const float *)inlay_at(base, s, 3);
    const float *v = (const float *)inlay_at(base, s, 4);
    const float *rho = (const float *)inlay_at(base, s, 5);
    const float *platt = (const float *)inlay_at(base, s, 8);
    const int64_t *labels = (const int64_t *)inlay_at(base, s, 6);
    const int32_t *first = (const int32_t *)inlay_at(base, s, 7);
    float *k = (float *)inlay_at(base, s, 9);
    float *decision = k + p->vectors;
    float *r = decision + pairs;
    float *q = r + c * c;
    float *t = q + c * c;
    int32_t *vote = (int32_t *)(void *)(t + c);
    int32_t i, j, m, best;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++, x += p->features, z += p->out) {
        if (!p->vectors) {
            for (j = 0; j < c; j++)
                z[j] = inlay_svm_kernel(p, x, coefficient + (ptrdiff_t)j * p->features) + rho[0];
            best = inlay_argmax(z, c);
            if (c == 2 && (p->positive ? z[best] >= 0.5f : z[best] > 0.0f))
                best = 1;
            inlay_post(z, c, p->post);
        } else {
            for (j = 0; j < p->vectors; j++)
                k[j] = inlay_svm_kernel(p, x, v + (ptrdiff_t)j * p->features);
            best = inlay_svm_vote(p, coefficient, k, rho, first, first + c, decision, vote);
            if (p->probabilities) {
                for (m = 0, j = 0; j < c; j++) {
                    int32_t o;
                    for (o = j + 1; o < c; o++, m++) {
                        const float w =
                            1.0f - inlay_logistic(decision[m] * platt[m] + platt[pairs + m]);
                        const float u = w > 1.0e-7f ? w : 1.0e-7f;
                        r[j * c + o] = u < 1.0f - 1.0e-7f ? u : 1.0f - 1.0e-7f;
                        r[o * c + j] = 1.0f - r[j * c + o];
                    }
                }
                inlay_svm_couple(c, r, q, t, z);
                inlay_post(z, c, p->post);
            } else {
                memcpy(z, decision, (size_t)pairs * sizeof *z);
                if (c == 2)
                    inlay_post_second(z, p->post == INLAY_POST_NONE, p->post);
                else
                    inlay_post(z, pairs, p->post);
            }
        }
        if (label)
            label[i] = labels[best];
    }
    return 0;
}

#endif
