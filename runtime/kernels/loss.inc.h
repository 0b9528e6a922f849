/* SPDX-License-Identifier: 0BSD
 * Template of losses. Included by loss.h.
 * INLAY_T: the element type; INLAY_C(1.0) a constant of it, INLAY_F(floor) a function of <math.h>,
 * INLAY_N(name) a name. */

/* Operands: log probabilities [N][C][D] (out), scores [N][C][D].  y = x - log sum_c exp(x) */
static inline int INLAY_N(log_softmax_classes)(void *const *base, const inlay_step *s, int32_t r0,
                                               int32_t r1)
{
    const inlay_loss_params *p = (const inlay_loss_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    int64_t i, k, d;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++)
        for (d = 0; d < p->d; d++) {
            const size_t at = (size_t)(i * p->c * p->d + d);
            INLAY_T most = x[at];
            INLAY_T sum = INLAY_C(0.0);
            for (k = 1; k < p->c; k++)
                most = x[at + (size_t)(k * p->d)] > most ? x[at + (size_t)(k * p->d)] : most;
            for (k = 0; k < p->c; k++)
                sum += INLAY_F(exp)(x[at + (size_t)(k * p->d)] - most);
            sum = INLAY_F(log)(sum);
            for (k = 0; k < p->c; k++)
                y[at + (size_t)(k * p->d)] = x[at + (size_t)(k * p->d)] - most - sum;
        }
    return 0;
}

/* Operands: loss (out), log probabilities [N][C][D], labels [N][D], class weights [C] (may be left
 * out). loss = -w[label] x[n][label][d]; the mean is divided by the sum of the weights that
 * counted. */
static inline int INLAY_N(nll_loss)(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_loss_params *p = (const inlay_loss_params *)s->params;
    INLAY_T *loss = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *weight = (const INLAY_T *)inlay_at(base, s, 3);
    const void *labels = inlay_at(base, s, 2);
    double sum = 0.0;
    double weights = 0.0;
    int64_t i, d;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++)
        for (d = 0; d < p->d; d++) {
            const int64_t label = inlay_label(p, labels, i * p->d + d);
            const int skip = p->has_ignore && label == p->ignore;
            INLAY_T one = INLAY_C(0.0);
            INLAY_T w = INLAY_C(0.0);
            if (!skip && (label < 0 || label >= p->c))
                return -INLAY_E_INDEX;
            if (!skip) {
                w = weight ? weight[label] : INLAY_C(1.0);
                one = -x[(i * p->c + label) * p->d + d] * w;
            }
            if (!p->reduction)
                loss[i * p->d + d] = one;
            sum += (double)one;
            weights += (double)w;
        }
    if (p->reduction)
        *loss = (INLAY_T)(p->reduction == 2 ? sum / weights : sum);
    return 0;
}

#undef INLAY_T
#undef INLAY_C
#undef INLAY_F
#undef INLAY_N
