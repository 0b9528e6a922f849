/* SPDX-License-Identifier: 0BSD
 * Template of losses. Included by loss.h. */

/* The classes of one place, `step` apart: y = x - log sum_c exp(x) */
static inline void inlay_typed(log_softmax_one)(INLAY_T *y, const INLAY_T *x,
                                                int64_t n, ptrdiff_t step)
{
    INLAY_T most = x[0];
    INLAY_T sum = 0;
    int64_t k;
    for (k = 1; k < n; k++)
        most = x[k * step] > most ? x[k * step] : most;
    for (k = 0; k < n; k++)
        sum += INLAY_F(exp)(x[k * step] - most);
    sum = INLAY_F(log)(sum);
    for (k = 0; k < n; k++)
        y[k * step] = x[k * step] - most - sum;
}

/* Operands: log probabilities [N][C][D] (out), scores [N][C][D]. */
static inline int inlay_typed(log_softmax_classes)(void *const *base,
                                                   const inlay_step *s,
                                                   int32_t r0, int32_t r1)
{
    const inlay_loss_params *p = (const inlay_loss_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const int64_t image = p->c * p->d;
    const ptrdiff_t step = (ptrdiff_t)p->d;
    int64_t i, d;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++) {
        for (d = 0; d < p->d; d++)
            inlay_typed(log_softmax_one)(y + d, x + d, p->c, step);
        y += image;
        x += image;
    }
    return 0;
}

/* Place i of x, which counts with *weight (0: not at all); 0: its label does not exist. */
static inline int inlay_typed(nll_place)(const inlay_loss_params *p,
                                         const INLAY_T *x, int64_t i,
                                         const void *labels,
                                         const INLAY_T *weights, INLAY_T *loss,
                                         INLAY_T *weight)
{
    const int64_t image = i / p->d;
    const int64_t label = inlay_label(p, labels, i);
    int64_t at;
    *loss = 0;
    *weight = 0;
    if (p->has_ignore && label == p->ignore)
        return 1;
    if (label < 0 || label >= p->c)
        return 0;
    *weight = weights ? weights[label] : 1;
    at = (image * p->c + label) * p->d + i % p->d;
    *loss = -x[at] * *weight;
    return 1;
}

/* Operands: loss (out), log probabilities [N][C][D], labels [N][D], class weights [C] (may be left
 * out). loss = -w[label] x[n][label][d]; the mean is divided by the sum of the weights that
 * counted. */
static inline int inlay_typed(nll_loss)(void *const *base, const inlay_step *s,
                                        int32_t r0, int32_t r1)
{
    const inlay_loss_params *p = (const inlay_loss_params *)s->params;
    INLAY_T *loss = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const void *labels = inlay_at(base, s, 2);
    const INLAY_T *weights = (const INLAY_T *)inlay_at(base, s, 3);
    double sum = 0.0;
    double weight = 0.0;
    int64_t i;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n * p->d; i++) {
        INLAY_T one, w;
        if (!inlay_typed(nll_place)(p, x, i, labels, weights, &one, &w))
            return -INLAY_E_INDEX;
        if (!p->reduction)
            loss[i] = one;
        sum += (double)one;
        weight += (double)w;
    }
    if (p->reduction == 2)
        sum /= weight;
    if (p->reduction)
        *loss = (INLAY_T)sum;
    return 0;
}
