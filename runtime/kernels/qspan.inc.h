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
    int32_t most = INLAY_QTILE_P;
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
    span.n = inlay_qtile_size(row->pixels - done, INLAY_QTILE_P);
    span.c = backward ? row->pixels - done - span.n : done;
    span.way = INLAY_QLIES;
    if (span.c >= row->left && span.c + span.n <= row->right)
        return span;
    span.way = INLAY_QSEGMENT;
    if (inlay_qsegment_room(params, tile, span.n) >= 0)
        return span;
#endif
    (void)tile;
    return inlay_qspan_apart(params, row, done, backward);
}

#endif
