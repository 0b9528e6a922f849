/* SPDX-License-Identifier: 0BSD
 * The part of recurrent.h for what a step makes of its gates: the new states of an RNN, an LSTM and
 * a GRU. */

static inline void inlay_rnn_cell(const inlay_cell *k, float *g, float *h)
{
    const int32_t n = k->p->hidden;
    inlay_gate(k->p, k->d, 0, g, n);
    memcpy(h, g, (size_t)n * sizeof *h);
}

/* gate[i] += peephole[i] * c[i] */
INLAY_APART void inlay_peep(float *gate, const float *peephole, const float *c,
                            int32_t n)
{
    int32_t i;
    for (i = 0; i < n; i++)
        gate[i] += peephole[i] * c[i];
}

/* LSTM: the new state c, from the inputs of the gates i, f and g. */
static inline void inlay_lstm_state(const inlay_cell *k, float *g, float *c)
{
    const int32_t n = k->p->hidden;
    float *in = g;
    float *forget = g + 2 * n;
    float *cell = g + 3 * n;
    int32_t i;
    inlay_gate(k->p, k->d, 0, in, n);
    if (k->p->coupled)
        for (i = 0; i < n; i++)
            forget[i] = 1.0f - in[i];
    else
        inlay_gate(k->p, k->d, 0, forget, n);
    inlay_gate(k->p, k->d, 1, cell, n);
    for (i = 0; i < n; i++)
        c[i] = forget[i] * c[i] + in[i] * cell[i];
}

static inline void inlay_lstm_cell(const inlay_cell *k, float *g, float *h,
                                   float *c)
{
    const int32_t n = k->p->hidden;
    const float *peephole = k->peephole;
    float *out = g + n;
    float *cell = g + 3 * n;
    int32_t i;
    if (peephole) {
        inlay_peep(g, peephole, c, n);
        inlay_peep(g + 2 * n, peephole + 2 * n, c, n);
    }
    inlay_lstm_state(k, g, c);
    memcpy(cell, c, (size_t)n * sizeof *c);
    if (peephole)
        inlay_peep(out, peephole + n, c, n);
    inlay_gate(k->p, k->d, 0, out, n);
    inlay_gate(k->p, k->d, 2, cell, n);
    for (i = 0; i < n; i++)
        h[i] = out[i] * cell[i];
}

/* t = h as it is after DynamicQuantizeLinear and DequantizeLinear. */
static inline void inlay_round_state(float *t, const float *h, int32_t n)
{
    float d;
    int32_t i;
    const int32_t zp = inlay_dynamic_range(h, n, &d);
    for (i = 0; i < n; i++)
        t[i] = (float)(inlay_saturate(h[i] / d, zp, 0, 255) - zp) * d;
}

/* GRU: the gates z and r of `rows` rows; t = r h, unless linear_before_reset. */
static inline void inlay_gru_gates(const inlay_cell *k, float *g,
                                   const float *h, float *t, int32_t rows)
{
    const inlay_recurrent_params *p = k->p;
    const int32_t n = p->hidden;
    const float *reset = g + n;
    int32_t i, j;
    for (j = 0; j < rows; j++) {
        inlay_gate(p, k->d, 0, g, 2 * n);
        if (!p->linear_first)
            for (i = 0; i < n; i++)
                t[i] = reset[i] * h[i];
        g += k->gates;
        reset += k->gates;
        h += n;
        t += n;
    }
}

/* GRU: the part of n that the recurrence gives, of `rows` rows: in g, or with linear_before_reset
 * in t. */
static inline void inlay_gru_project(const inlay_cell *k, float *g, float *h,
                                     float *t, int32_t rows)
{
    const inlay_recurrent_params *p = k->p;
    const int32_t n = p->hidden;
    inlay_projection product;
    product.rows = rows;
    product.taps = n;
    product.outputs = n;
    product.xs = n;
    product.w = &k->rn;
    product.bias = k->last;
    if (p->linear_first) {
        product.x = h;
        product.y = t;
        product.q = NULL;
        product.ys = n;
    } else {
        product.x = t;
        product.y = g + 2 * n;
        product.q = product.y;
        product.ys = k->gates;
    }
    inlay_gru_gates(k, g, h, t, rows);
    inlay_project(k, &product);
    inlay_tile_done(k->tile);
}

static inline void inlay_gru_cell(const inlay_cell *k, float *g, float *h,
                                  const float *t)
{
    const inlay_recurrent_params *p = k->p;
    const int32_t n = p->hidden;
    const float *z = g;
    const float *r = g + n;
    float *cell = g + 2 * n;
    int32_t i;
    if (p->linear_first)
        for (i = 0; i < n; i++)
            cell[i] += r[i] * t[i];
    inlay_gate(p, k->d, 1, cell, n);
    for (i = 0; i < n; i++)
        h[i] = cell[i] + z[i] * (h[i] - cell[i]);
}

/* The new states of rows of the batch, of which the first begins at element `at`; g: their gates'
 * inputs, with what the recurrence gives. */
static inline void inlay_cell_states(const inlay_cell *k, float *g,
                                     ptrdiff_t at, int32_t rows)
{
    const int32_t n = k->p->hidden;
    const int32_t kind = k->p->kind;
    float *h = k->h + at;
    float *c = k->c + at;
    float *t = k->t + at;
    int32_t j;
    for (j = 0; j < rows; j++) {
        if (kind == 1)
            inlay_rnn_cell(k, g, h);
        else if (kind == 3)
            inlay_gru_cell(k, g, h, t);
        else
            inlay_lstm_cell(k, g, h, c);
        g += k->gates;
        h += n;
        c += n;
        t += n;
    }
}
