/* SPDX-License-Identifier: 0BSD
 * LinearAttention in float32. Each head of keys has a state S [D][V]; for each of T steps, with
 * key k [D], value v [V]:
 *   S = exp(g) S (where there is a decay g, one number a head or one for each of D)
 *   u = b (v - S^T k) (where there is a rate b), else v;   S = S + k u^T;   y = scale S^T q for
 *       each query q [D] of the group */
#ifndef INLAY_LINEAR_ATTENTION_H
#define INLAY_LINEAR_ATTENTION_H

#include "inlay_memory.h"
#include "inlay.h"
#include "math_f32.h"

/* Operands: y [B][T][heads group V] and S [B][heads][D][V] (out); q [B][T][heads group D], k
 * [B][T][heads D], v [B][T][heads V], first S (left out: zeros), decay [B][T][heads decays], rate
 * [B][T][rates]; scratch [V]. */
typedef struct inlay_linear_attention_params {
    int32_t batch;
    int32_t steps;
    int32_t heads;
    int32_t group; /* queries a key */
    int32_t d;
    int32_t v;
    int32_t decays; /* 1 or d; 0: no decay */
    int32_t rates;  /* 1 or heads; 0: no rate */
    float scale;
} inlay_linear_attention_params;

/* y = a S^T x for S [D][V]. */
static inline void inlay_state_read(const float *s, const float *x, int32_t d,
                                    int32_t v, float a, float *y)
{
    int32_t i, j;
    memset(y, 0, (size_t)v * sizeof *y);
    for (i = 0; i < d; i++) {
        for (j = 0; j < v; j++)
            y[j] += s[j] * x[i];
        s += v;
    }
    for (j = 0; j < v; j++)
        y[j] *= a;
}

/* S = exp(g) S */
static inline void inlay_state_decay(const inlay_linear_attention_params *p,
                                     float *s, const float *decay)
{
    int32_t i, j;
    for (i = 0; i < p->d; i++) {
        const int32_t own = p->decays == 1 ? 0 : i;
        const float factor = inlay_exp_f(decay[own]);
        for (j = 0; j < p->v; j++)
            s[j] *= factor;
        s += p->v;
    }
}

/* S = S + k u^T */
static inline void inlay_state_add(const inlay_linear_attention_params *p,
                                   float *s, const float *k, const float *u)
{
    int32_t i, j;
    for (i = 0; i < p->d; i++) {
        for (j = 0; j < p->v; j++)
            s[j] += k[i] * u[j];
        s += p->v;
    }
}

/* One step of the state s of a head; u: scratch. */
static inline void inlay_state_step(const inlay_linear_attention_params *p,
                                    float *s, const float *k, const float *v,
                                    const float *decay, const float *rate,
                                    float *u)
{
    int32_t j;
    if (decay)
        inlay_state_decay(p, s, decay);
    if (!rate) {
        inlay_state_add(p, s, k, v);
        return;
    }
    inlay_state_read(s, k, p->d, p->v, 1.0f, u);
    for (j = 0; j < p->v; j++)
        u[j] = *rate * (v[j] - u[j]);
    inlay_state_add(p, s, k, u);
}

/* What the queries of a head read of its state. */
static inline void inlay_attention_read(void *const *base, const inlay_step *s,
                                        int32_t head, const float *state)
{
    const inlay_linear_attention_params *p =
        (const inlay_linear_attention_params *)s->params;
    const int32_t first = head * p->group;
    const float *q = (const float *)inlay_at(base, s, 2) + first * p->d;
    float *y = (float *)inlay_at(base, s, 0) + first * p->v;
    int32_t i;
    for (i = 0; i < p->group; i++) {
        inlay_state_read(state, q, p->d, p->v, p->scale, y);
        q += p->d;
        y += p->v;
    }
}

/* One head at one step; `at`: the step's number in all batches. */
static inline void inlay_attention_head(void *const *base, const inlay_step *s,
                                        int32_t at, int32_t h, float *state)
{
    const inlay_linear_attention_params *p =
        (const inlay_linear_attention_params *)s->params;
    const int32_t head = at * p->heads + h;
    const float *k = (const float *)inlay_at(base, s, 3) + head * p->d;
    const float *v = (const float *)inlay_at(base, s, 4) + head * p->v;
    const float *decay = (const float *)inlay_at(base, s, 6);
    const float *rate = (const float *)inlay_at(base, s, 7);
    float *scratch = (float *)inlay_at(base, s, 8);
    if (decay)
        decay += head * p->decays;
    if (rate)
        rate += at * p->rates + (p->rates == 1 ? 0 : h);
    inlay_state_step(p, state, k, v, decay, rate, scratch);
    inlay_attention_read(base, s, head, state);
}

static inline int inlay_linear_attention_f32(void *const *base,
                                             const inlay_step *s, int32_t r0,
                                             int32_t r1)
{
    const inlay_linear_attention_params *p =
        (const inlay_linear_attention_params *)s->params;
    const float *first = (const float *)inlay_at(base, s, 5);
    const int32_t one = p->d * p->v;
    const size_t floats = (size_t)p->batch * (size_t)p->heads * (size_t)one;
    float *state = (float *)inlay_at(base, s, 1);
    int32_t b, t, h;
    (void)r0;
    (void)r1;
    if (first)
        memcpy(state, first, floats * sizeof *state);
    else
        memset(state, 0, floats * sizeof *state);
    for (b = 0; b < p->batch; b++) {
        for (t = 0; t < p->steps; t++) {
            const int32_t at = b * p->steps + t;
            for (h = 0; h < p->heads; h++)
                inlay_attention_head(base, s, at, h, state + h * one);
        }
        state += p->heads * one;
    }
    return 0;
}

#endif
