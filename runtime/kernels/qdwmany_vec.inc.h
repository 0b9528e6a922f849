/* SPDX-License-Identifier: 0BSD
 * Results of qdwmany_packed.h in the lanes of the vectors of qdwmany_lanes.inc.h. */

/* The lanes of the block's vectors. */
static inline void inlay_qmany_places_set(const inlay_qmany *m,
                                          inlay_qmany_tile *tile)
{
    const int32_t times = m->params->oc;
    int32_t channel[INLAY_QDW_LANES] = { 0 };
    int32_t at = tile->part;
    int32_t c = 0;
    int32_t j;
    for (j = 0; j < tile->of.n; j++) {
        channel[j] = c;
        if (++at == times) {
            at = 0;
            c++;
        }
    }
    for (j = 0; j < tile->of.n; j += INLAY_QMANY_LANES)
        tile->places[j / INLAY_QMANY_LANES] =
            inlay_qmany_places_of(m, channel + j, tile->of.n - j);
}

/* Adds taps of a row of x. */
INLAY_INLINE void inlay_qmany_insides(const inlay_qmany *m,
                                      const inlay_qdw_line *line,
                                      const inlay_qmany_places *places,
                                      const int8_t *w, inlay_qmany_vector *sum,
                                      int32_t taps, const int pixels)
{
    const uint8_t *x = line->x;
    int32_t k;
    int p;
    for (k = taps; k > 0; k--, x += line->tap, w += m->all) {
        const inlay_qmany_vector weight = inlay_qmany_weights(places, w);
        INLAY_UNROLL
        for (p = 0; p < pixels; p++) {
            const inlay_qmany_vector v =
                inlay_qmany_numbers(places, x + p * line->pixel);
            sum[p] = inlay_qmany_add(sum[p], v, weight);
        }
    }
}

/* The same of three adjacent columns at stride one. The first of the tile's lies beside x with skip
 * bit 0, the last with bit 1. */
INLAY_INLINE void inlay_qmany_three(const inlay_qmany *m,
                                    const inlay_qdw_line *line,
                                    const inlay_qmany_places *places,
                                    const int8_t *w, inlay_qmany_vector *sum,
                                    int32_t skip)
{
    int k, p;
    INLAY_UNROLL
    for (k = 0; k < 3; k++, w += m->all) {
        const inlay_qmany_vector weight = inlay_qmany_weights(places, w);
        const uint8_t *x = line->x + k * line->tap;
        INLAY_UNROLL
        for (p = 0; p < INLAY_QMANY_PIXELS; p++, x += line->tap) {
            inlay_qmany_vector v;
            if (inlay_qmany_skips(skip, p + k))
                v = inlay_qmany_same(m->job.of.zero);
            else
                v = inlay_qmany_numbers(places, x);
            sum[p] = inlay_qmany_add(sum[p], v, weight);
        }
    }
}

/* Adds taps beside x, whose weights begin at w. */
INLAY_INLINE inlay_qmany_vector
inlay_qmany_zeros(const inlay_qmany *m, const inlay_qmany_places *places,
                  const int8_t *w, int32_t taps, inlay_qmany_vector sum)
{
    const inlay_qmany_vector zero = inlay_qmany_same(m->job.of.zero);
    for (; taps > 0; taps--, w += m->all)
        sum = inlay_qmany_add(sum, zero, inlay_qmany_weights(places, w));
    return sum;
}

/* Adds a row of the window of a pixel, which may lie beside x in part. */
INLAY_INLINE void inlay_qmany_part(const inlay_qmany *m,
                                   const inlay_qmany_tile *tile,
                                   const inlay_qdw_line *line,
                                   const inlay_qmany_places *places,
                                   const int8_t *w, inlay_qmany_vector *sum)
{
    const int32_t last = tile->from + tile->taps;
    const int32_t after = m->params->kw - last;
    *sum = inlay_qmany_zeros(m, places, w, tile->from, *sum);
    inlay_qmany_insides(m, line, places, w + tile->from * m->all, sum,
                        tile->taps, 1);
    *sum = inlay_qmany_zeros(m, places, w + last * m->all, after, *sum);
}

/* The results of the block from j on that are in lanes. */
INLAY_INLINE void inlay_qmany_lanes(const inlay_qmany *m,
                                    inlay_qmany_tile *tile, int32_t j,
                                    const int near, const int pixels)
{
    const inlay_qmany_places places = tile->places[j / INLAY_QMANY_LANES];
    const int32_t kw = near ? 3 : m->params->kw;
    const int8_t *w = m->job.of.weights + tile->of.channel + j;
    inlay_qmany_vector sum[INLAY_QMANY_PIXELS];
    int32_t h;
    int p;
    INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        sum[p] = inlay_qmany_take(m->job.start + j);
    for (h = 0; h < m->rows; h++, w += kw * m->all) {
        const inlay_qdw_line *line = tile->line + h;
        if (near)
            inlay_qmany_three(m, line, &places, w, sum, tile->skip);
        else if (pixels > 1)
            inlay_qmany_insides(m, line, &places, w, sum, kw, pixels);
        else
            inlay_qmany_part(m, tile, line, &places, w, sum);
    }
    INLAY_UNROLL
    for (p = 0; p < pixels; p++)
        inlay_qmany_put(tile->sum + p * INLAY_QDW_LANES + j, sum[p]);
}

/* The results of the block in whole vectors, or all of them where lanes can be left out; returns
 * the first that is left. */
INLAY_INLINE int32_t inlay_qmany_vectors(const inlay_qmany *m,
                                         inlay_qmany_tile *tile, const int near,
                                         const int pixels)
{
    const int32_t least = INLAY_QMANY_LANES == INLAY_QDW_LANES ? 1 : 4;
    int32_t j;
    for (j = 0; tile->of.n - j >= least; j += INLAY_QMANY_LANES)
        inlay_qmany_lanes(m, tile, j, near, pixels);
    return j;
}
