/* SPDX-License-Identifier: 0BSD
 * Which pixels of a row qconv_packed.h makes at once: those with a clipped window by themselves,
 * or, where their windows can be gathered together, in one tile with others. */
#ifndef INLAY_QSPAN_H
#define INLAY_QSPAN_H

/* Pixels of a row that are made at once, and how. */
typedef struct inlay_qspan {
    int32_t c, n;
    inlay_qway way;
} inlay_qspan;

/* Those with a clipped window by themselves, the others by themselves. */
static inline inlay_qspan inlay_qspan_apart(const inlay_qpacked_params *params,
                                            const inlay_qrow *row, int32_t done,
                                            int backward)
{
    const int32_t c = backward ? row->pixels - 1 - done : done;
    const int gathered = c < row->left || c >= row->right;
    const int32_t first = inlay_qrow_first(row, c);
    int32_t most = gathered ? INLAY_QTILE_P : row->most;
    inlay_qspan span;
    if (gathered && inlay_qpacked_windows(params) < most)
        most = inlay_qpacked_windows(params);
    span.n = backward ? c + 1 - first : inlay_qrow_end(row, c) - c;
    span.n = inlay_qtile_size(span.n, most);
    span.c = backward ? c + 1 - span.n : c;
    span.way = gathered ? INLAY_QWINDOWS : INLAY_QLIES;
    return span;
}

/* Are windows of which all rows lie in x gathered all the same? Where their rows are short, a row
 * of many channels costs more than to gather it once for all of them; and pixels whose windows are
 * clipped then go with the others, two by two. Copies of bytes without vectors are slow. */
static inline int inlay_qspan_gathers(const inlay_qpacked_params *params,
                                      const inlay_qrow *row)
{
    const int32_t rows = params->kd * params->kh;
    const int32_t run = params->kw * params->ic;
    return INLAY_QL == 1 && rows > 1 && row->pixels <= params->ow &&
           inlay_qpacked_windows(params) > 1 && run + 12 < params->oc;
}

#if INLAY_QSEGMENTS
/* The most pixels from c on whose windows fit in scratch together. */
static inline int32_t inlay_qspan_fit(const inlay_qpacked_params *params,
                                      const inlay_qtile *tile, int32_t n,
                                      int32_t most)
{
    while (n < most && inlay_qsegment_room(params, tile, n + 1) >= 0)
        n++;
    return n;
}

/* Goes on with the tiles that follow and are read alike: all that lie, or those of a row whose
 * windows are all clipped. The last pixels of a row with clipped ones stay together. */
static inline void inlay_qspan_extend(const inlay_qpacked_params *params,
                                      const inlay_qtile *tile,
                                      const inlay_qrow *row, inlay_qspan *span)
{
    const int32_t left = row->pixels - span->c;
    const int32_t tiles = (left + INLAY_QTILE_P - 1) / INLAY_QTILE_P;
    const int32_t last = row->right < row->pixels ? left / tiles : 0;
    int32_t most = left < row->most ? left : row->most;
    if (span->way == INLAY_QSEGMENT) {
        if (row->left == row->right)
            span->n = inlay_qspan_fit(params, tile, span->n, most);
        return;
    }
    if (most > left - last)
        most = left - last;
    if (span->c + most > row->right)
        most = row->right - span->c;
    if (most > span->n)
        span->n = most;
}

/* Is a row with clipped windows gathered as a whole? Then y may lie over it, unless it is gathered
 * once for each group. */
static inline int inlay_qspan_whole(const inlay_qpacked_params *params,
                                    const inlay_qtile *tile,
                                    const inlay_qrow *row)
{
    const int clipped = row->left > 0 || row->right < row->pixels;
    const int apart = row->most > INLAY_QTILE_P;
    return clipped && (apart || params->groups == 1) &&
           inlay_qsegment_room(params, tile, row->pixels) >= 0;
}

/* The next tile, or where y lies apart the next ones; n 0: windows are gathered one by one. */
static inline inlay_qspan inlay_qspan_tile(const inlay_qpacked_params *params,
                                           const inlay_qtile *tile,
                                           const inlay_qrow *row, int32_t done,
                                           int backward)
{
    const int apart = row->most > INLAY_QTILE_P;
    const int32_t left = row->pixels - done;
    inlay_qspan span;
    span.n = inlay_qtile_size(left, INLAY_QTILE_P);
    span.way = INLAY_QSEGMENT;
    if (!done && inlay_qspan_whole(params, tile, row))
        span.n = left;
    span.c = backward ? left - span.n : done;
    if (span.n == row->pixels && span.n > INLAY_QTILE_P)
        return span;
    if (span.c >= row->left && span.c + span.n <= row->right)
        span.way = INLAY_QLIES;
    else if (inlay_qsegment_room(params, tile, span.n) < 0)
        span.n = 0;
    if (apart && span.n)
        inlay_qspan_extend(params, tile, row, &span);
    return span;
}
#endif

/* The next pixels of a row of which `done` are made. */
static inline inlay_qspan inlay_qspan_of(const inlay_qpacked_params *params,
                                         const inlay_qtile *tile,
                                         const inlay_qrow *row, int32_t done,
                                         int backward)
{
    inlay_qspan span;
    if (inlay_qspan_gathers(params, row)) {
        const int32_t windows = inlay_qpacked_windows(params);
        const int32_t most = windows < INLAY_QTILE_P ? windows : INLAY_QTILE_P;
        span.n = inlay_qtile_size(row->pixels - done, most);
        span.c = backward ? row->pixels - done - span.n : done;
        span.way = INLAY_QWINDOWS;
        return span;
    }
#if INLAY_QSEGMENTS
    span = inlay_qspan_tile(params, tile, row, done, backward);
    if (span.n)
        return span;
#endif
    (void)tile;
    return inlay_qspan_apart(params, row, done, backward);
}

#endif
