/* SPDX-License-Identifier: 0BSD
 * RNN, GRU and LSTM in float32, all directions in one step.
 *
 *   RNN   h = f(x W + h R + b)
 *   GRU   z = f(x Wz + h Rz + bz), r = f(...), n = g(x Wn + (r h) Rn + bn)
 *         or g(x Wn + r (h Rn + rbn) + wbn); h = (1 - z) n + z h
 *   LSTM  i = f(x Wi + h Ri + Pi c + bi), f = f(...), g = g(...), c = f c + i g,
 *         o = f(... + Po c), h = o h(c)
 *
 * Inputs are projected for `chunk` time steps at a time, so that their weights are walked once for
 * all of them and no tensor of the whole projection exists. Weights are packed as
 * kernels/tile_f32.h wants them; narrow ones: recurrent_narrow.h. Operands: y, y_h, y_c, x, w, r,
 * rn, b, lengths (int32), h0, c0, peepholes, scratch. All but x, w, r, b and scratch may be left
 * out.
 *   w   for each direction the blocks of [G H] outputs from I inputs
 *   r   for each direction the blocks of [G H] outputs from H inputs; GRU: r those of z and r
 *       [2 H], rn those of n [H]
 *   b   for each direction the biases of w, of r and of rn, each filled up to fours
 *   peepholes [directions][3 H] */
#ifndef INLAY_RECURRENT_H
#define INLAY_RECURRENT_H

#include "inlay_memory.h"
#include "kernels/act.h"
#include "quant.h"
#include "tile_f32.h"

typedef struct inlay_recurrent_params {
    int32_t kind;       /* gates: 1 RNN, 3 GRU, 4 LSTM */
    int32_t directions; /* 1 or 2 */
    /* bit d: direction d goes from the last step to the first */
    int32_t reverse;
    int32_t steps;
    int32_t batch;
    int32_t input; /* features of x */
    int32_t hidden;
    int32_t chunk;        /* time steps projected at once */
    int32_t width;        /* of the packed weights */
    int32_t linear_first; /* GRU: linear_before_reset */
    int32_t coupled;      /* LSTM: f = 1 - i */
    /* LSTM, 1: h enters the recurrence rounded to 8 bits, with the scale of its rows
     * together */
    int32_t rounded;
    int32_t clipped; /* 1: inputs of activations are clipped */
    float clip;
    int32_t act[6]; /* INLAY_ACT_... of f, g, h, for each direction */
    float alpha[6];
    float beta[6];
    int64_t xs[2]; /* strides of x: step, batch; floats */
    int64_t ys[3]; /* strides of y: step, direction, batch */
    int64_t hs[2]; /* strides of h0, c0, y_h, y_c: direction, batch */
} inlay_recurrent_params;

/* y[i] no smaller than -most and no larger than most. */
static inline void inlay_gate_clip(float most, float *y, int32_t n)
{
    int32_t i;
    for (i = 0; i < n; i++) {
        const float low = y[i] < -most ? -most : y[i];
        y[i] = y[i] > most ? most : low;
    }
}

/* y[i] = act(y[i]) for activation k (0 f, 1 g, 2 h) of direction d. Clipped are the sums that enter
 * a gate, not the cell. */
INLAY_APART void inlay_gate(const inlay_recurrent_params *p, int32_t d,
                            int32_t k, float *y, int32_t n)
{
    const int32_t own = d * 3 + k;
    if (p->clipped && k < 2)
        inlay_gate_clip(p->clip, y, n);
    inlay_gate_act_f32(y, n, p->act[own], p->alpha[own], p->beta[own]);
}

/* Packed weights of all directions, and the outputs of those before this one. */
typedef struct inlay_gate_weights {
    const float *values;
    const struct inlay_stored *narrow; /* tile_narrow.h: instead of values */
    ptrdiff_t skip;
} inlay_gate_weights;

/* What one run needs: places in the scratch operand and in constants. */
typedef struct inlay_cell {
    const inlay_recurrent_params *p;
    int32_t d;             /* direction */
    int32_t gates;         /* G * H */
    int32_t padded;        /* that filled up to fours */
    float *g;              /* [chunk][batch][G H] */
    float *h;              /* [batch][H] */
    float *c;              /* [batch][H]; LSTM, else h */
    float *t;              /* [batch][H]; GRU or a rounded state, else h */
    inlay_tile *tile;      /* of all products */
    inlay_gate_weights w;  /* of the input */
    inlay_gate_weights r;  /* of the state */
    inlay_gate_weights rn; /* GRU: those of n */
    const float *bias;     /* of w */
    const float *rest;     /* of r */
    const float *last;     /* of rn */
    const float *peephole;
} inlay_cell;

/* y[p][o] = q[p][o] + bias[o] + sum over k < taps: x[p][k] w[k][o] for `rows` rows p. */
typedef struct inlay_projection {
    int32_t rows;
    int32_t taps;
    int32_t outputs;
    const float *x;
    ptrdiff_t xs; /* floats from row to row */
    const inlay_gate_weights *w;
    const float *bias;
    float *y;
    const float *q; /* NULL: without */
    ptrdiff_t ys;   /* floats from row to row of y and of q */
} inlay_projection;

/* A product of so many taps, from row to row of x. */
INLAY_INLINE void inlay_project_taps(inlay_tile *t, const float *x,
                                     int32_t taps, ptrdiff_t xs)
{
    t->x = x;
    t->xs = xs;
    t->run = taps;
    t->plane_taps = taps;
    t->row_taps = taps;
    t->piece_taps = taps;
    t->taps = taps;
}

/* Rows of narrow weights may wait for others: inlay_tile_done(). */
INLAY_APART void inlay_project(const inlay_cell *k,
                               const inlay_projection *product)
{
    inlay_tile *t = k->tile;
    inlay_tiles call;
    inlay_project_taps(t, product->x, product->taps, product->xs);
    t->ys = product->ys;
    t->qs = product->ys;
    t->weights = product->w->values;
    t->narrow = product->w->narrow;
    t->skip = product->w->skip;
    t->bias = product->bias;
    t->channels = product->outputs;
    t->end = product->outputs;
    call.at = 0;
    call.tap = 0;
    call.y = product->y;
    call.q = product->q;
    inlay_tile_pixels(t, &call, product->rows);
}

/* Rows of the batch from b on, whose sequence reaches step s: how many; at most to the first that
 * ends. */
static inline int32_t inlay_alive(const inlay_recurrent_params *p,
                                  const int32_t *length, int32_t s, int32_t *b)
{
    int32_t e;
    if (!length)
        return *b ? 0 : p->batch;
    while (*b < p->batch && length[*b] <= s)
        (*b)++;
    for (e = *b; e < p->batch && length[e] > s; e++) {
    }
    return e - *b;
}

#include "kernels/recurrent_cells.inc.h"

/* The recurrence of rows [b, b + rows) of the batch at one step; g: their gates' inputs. */
static inline void inlay_cell_rows(const inlay_cell *k, float *g, int32_t b,
                                   int32_t rows)
{
    const inlay_recurrent_params *p = k->p;
    const int32_t n = p->hidden;
    const int gru = p->kind == 3;
    const ptrdiff_t at = (ptrdiff_t)b * n;
    float *h = k->h + at;
    float *t = k->t + at;
    inlay_projection product;
    g += (ptrdiff_t)b * k->gates;
    product.rows = rows;
    product.taps = n;
    product.outputs = gru ? 2 * n : k->gates;
    product.x = h;
    product.xs = n;
    product.w = &k->r;
    product.bias = k->rest;
    product.y = g;
    product.q = g;
    product.ys = k->gates;
    if (p->rounded) {
        inlay_round_state(t, h, rows * n);
        product.x = t;
    }
    inlay_project(k, &product);
    inlay_tile_done(k->tile);
    if (gru)
        inlay_gru_project(k, g, h, t, rows);
    inlay_cell_states(k, g, at, rows);
}

/* Rows of a state: [batch][H] with strides, NULL: zeros. */
static inline void inlay_state_in(const inlay_cell *k, float *to,
                                  const float *from)
{
    const inlay_recurrent_params *p = k->p;
    const size_t bytes = (size_t)p->hidden * sizeof(float);
    int32_t b;
    for (b = 0; b < p->batch; b++) {
        const int64_t at = k->d * p->hs[0] + b * p->hs[1];
        if (from)
            memcpy(to, from + at, bytes);
        else
            memset(to, 0, bytes);
        to += p->hidden;
    }
}

static inline void inlay_state_out(const inlay_cell *k, float *to,
                                   const float *from)
{
    const inlay_recurrent_params *p = k->p;
    const size_t bytes = (size_t)p->hidden * sizeof(float);
    int32_t b;
    for (b = 0; to && b < p->batch; b++) {
        const int64_t at = k->d * p->hs[0] + b * p->hs[1];
        memcpy(to + at, from, bytes);
        from += p->hidden;
    }
}

/* Rows of the batch without a step have zeros as their last state. */
static inline void inlay_state_unused(const inlay_cell *k, float *state,
                                      const int32_t *length)
{
    const size_t bytes = (size_t)k->p->hidden * sizeof(float);
    int32_t b;
    for (b = 0; length && b < k->p->batch; b++, state += k->p->hidden)
        if (length[b] == 0)
            memset(state, 0, bytes);
}

/* Projects steps [s, s + n) of the direction, as far as there are `steps`, of one row of the batch;
 * product->x: its first step. */
static inline void inlay_project_row(const inlay_cell *k,
                                     inlay_projection *product, int32_t s,
                                     int32_t n, int32_t steps)
{
    const inlay_recurrent_params *p = k->p;
    const int backward = p->reverse >> k->d & 1;
    const int64_t first = backward ? steps - 1 - s : s;
    const int32_t left = steps - s;
    if (left <= 0)
        return;
    product->rows = left < n ? left : n;
    product->x += first * p->xs[0];
    inlay_project(k, product);
}

/* The same of every row that has them. */
static inline void inlay_project_chunk(const inlay_cell *k, const float *x,
                                       const int32_t *length, int32_t s,
                                       int32_t n)
{
    const inlay_recurrent_params *p = k->p;
    const int backward = p->reverse >> k->d & 1;
    inlay_projection product;
    int32_t b;
    product.taps = p->input;
    product.outputs = k->gates;
    product.xs = (ptrdiff_t)(backward ? -p->xs[0] : p->xs[0]);
    product.w = &k->w;
    product.bias = k->bias;
    product.q = NULL;
    product.ys = (ptrdiff_t)p->batch * k->gates;
    for (b = 0; b < p->batch; b++) {
        const int32_t steps = length ? length[b] : p->steps;
        product.x = x + b * p->xs[1];
        product.y = k->g + (ptrdiff_t)b * k->gates;
        inlay_project_row(k, &product, s, n, steps);
    }
    inlay_tile_done(k->tile);
}

/* y's rows of step s: the new states of those that live, zeros behind the end of the others. */
static inline void inlay_put_step(const inlay_cell *k, float *y,
                                  const int32_t *length, int32_t s)
{
    const inlay_recurrent_params *p = k->p;
    const size_t bytes = (size_t)p->hidden * sizeof(float);
    int32_t b;
    for (b = 0; b < p->batch; b++) {
        const int32_t steps = length ? length[b] : p->steps;
        const int lives = s < steps;
        const int reversed = lives && (p->reverse >> k->d & 1);
        const int64_t at = reversed ? steps - 1 - s : s;
        float *to = y + k->d * p->ys[1] + b * p->ys[2];
        to += at * p->ys[0];
        if (lives)
            memcpy(to, k->h + (ptrdiff_t)b * p->hidden, bytes);
        else
            memset(to, 0, bytes);
    }
}

static inline void inlay_direction(const inlay_cell *k, float *y,
                                   const float *x, const int32_t *length)
{
    const inlay_recurrent_params *p = k->p;
    int32_t s, i, b, n;
    for (s = 0; s < p->steps; s += p->chunk) {
        const int32_t count = p->steps - s < p->chunk ? p->steps - s : p->chunk;
        inlay_project_chunk(k, x, length, s, count);
        for (i = 0; i < count; i++) {
            for (b = 0; (n = inlay_alive(p, length, s + i, &b)) > 0; b += n)
                inlay_cell_rows(k, k->g + (ptrdiff_t)i * p->batch * k->gates, b,
                                n);
            if (y)
                inlay_put_step(k, y, length, s + i);
        }
    }
}

/* Do all lengths, where there are some, lie inside 0 .. steps? */
static inline int inlay_lengths_fit(const inlay_recurrent_params *p,
                                    const int32_t *length)
{
    int32_t i;
    for (i = 0; length && i < p->batch; i++)
        if (length[i] < 0 || length[i] > p->steps)
            return 0;
    return 1;
}

/* Floats of b from direction to direction. */
static inline ptrdiff_t inlay_cell_biases(const inlay_recurrent_params *p)
{
    const ptrdiff_t n = p->hidden;
    const ptrdiff_t all = (p->kind * n + 3) / 4 * 4;
    if (p->kind == 3)
        return all + (2 * n + 3) / 4 * 4 + (n + 3) / 4 * 4;
    return 2 * all;
}

/* Arrays of [batch][H] in the scratch operand. */
static inline int32_t inlay_cell_copies(const inlay_recurrent_params *p)
{
    return 1 + (p->kind == 4) + (p->kind == 3 || p->rounded);
}

/* The parts of the scratch operand. */
static inline void inlay_cell_scratch(inlay_cell *k, float *scratch)
{
    const inlay_recurrent_params *p = k->p;
    const ptrdiff_t state = (ptrdiff_t)p->batch * p->hidden;
    const int32_t copies = inlay_cell_copies(p);
    k->gates = p->kind * p->hidden;
    k->padded = (k->gates + 3) / 4 * 4;
    k->h = scratch;
    k->c = p->kind == 4 ? k->h + state : k->h;
    k->t = k->h + (copies - 1) * state;
    k->g = k->h + copies * state;
}

/* The weights and the biases of direction k->d. */
static inline void inlay_cell_weights(void *const *base, const inlay_step *s,
                                      inlay_cell *k)
{
    const ptrdiff_t d = k->d;
    const ptrdiff_t n = k->p->hidden;
    const ptrdiff_t rows = k->p->kind == 3 ? (2 * n + 3) / 4 * 4 : k->padded;
    k->w.skip = d * k->padded;
    k->r.skip = d * rows;
    k->rn.skip = d * ((n + 3) / 4 * 4);
    k->bias = (const float *)inlay_at(base, s, 7);
    k->bias += d * inlay_cell_biases(k->p);
    k->rest = k->bias + k->padded;
    k->last = k->rest + rows;
    k->peephole = (const float *)inlay_at(base, s, 11);
    if (k->peephole)
        k->peephole += d * 3 * n;
}

/* Weights and first states of direction k->d. */
static inline void inlay_cell_open(void *const *base, const inlay_step *s,
                                   inlay_cell *k)
{
    const float *h = (const float *)inlay_at(base, s, 9);
    const float *c = (const float *)inlay_at(base, s, 10);
    inlay_cell_weights(base, s, k);
    inlay_state_in(k, k->h, h);
    if (k->p->kind == 4)
        inlay_state_in(k, k->c, c);
}

/* Direction k->d, from its first states to its results. */
static inline void inlay_one_direction(void *const *base, const inlay_step *s,
                                       inlay_cell *k)
{
    const float *x = (const float *)inlay_at(base, s, 3);
    const int32_t *length = (const int32_t *)inlay_at(base, s, 8);
    float *y = (float *)inlay_at(base, s, 0);
    inlay_cell_open(base, s, k);
    inlay_direction(k, y, x, length);
    inlay_state_unused(k, k->h, length);
    if (k->p->kind == 4)
        inlay_state_unused(k, k->c, length);
    inlay_state_out(k, (float *)inlay_at(base, s, 1), k->h);
    inlay_state_out(k, (float *)inlay_at(base, s, 2), k->c);
}

/* All directions, of weights that k knows. Fails where a length lies outside 0 .. steps. */
static inline int inlay_recurrent_by(void *const *base, const inlay_step *s,
                                     inlay_cell *k, inlay_tile_run *make,
                                     float *scratch)
{
    inlay_tile tile;
    k->p = (const inlay_recurrent_params *)s->params;
    if (!inlay_lengths_fit(k->p, (const int32_t *)inlay_at(base, s, 8)))
        return -INLAY_E_INDEX;
    inlay_tile_product(&tile, make, NULL, 0, 0, k->p->width);
    tile.apart = k->w.narrow != NULL;
    k->tile = &tile;
    inlay_cell_scratch(k, scratch);
    for (k->d = 0; k->d < k->p->directions; k->d++)
        inlay_one_direction(base, s, k);
    return 0;
}

/* The whole sequence is one unit. */
static inline int inlay_recurrent_f32(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    float *scratch = (float *)inlay_at(base, s, 12);
    inlay_cell k;
    (void)r0;
    (void)r1;
    k.w.values = (const float *)inlay_at(base, s, 4);
    k.w.narrow = NULL;
    k.r.values = (const float *)inlay_at(base, s, 5);
    k.r.narrow = NULL;
    k.rn.values = (const float *)inlay_at(base, s, 6);
    k.rn.narrow = NULL;
    return inlay_recurrent_by(base, s, &k, inlay_rows_run, scratch);
}

#endif
