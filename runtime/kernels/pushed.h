/* SPDX-License-Identifier: 0BSD
 * A run that takes its input row by row, from a caller who holds no frame: it goes on until it
 * needs a row, comes back, and goes on when the row is there. Where it stands lies in the arena. */
#ifndef INLAY_PUSHED_H
#define INLAY_PUSHED_H

#include "inlay_resume.h"

typedef struct inlay_input_params {
    int64_t bytes; /* of a row */
} inlay_input_params;

/* Row r0 of operand 0 is there: the caller wrote it. */
static inline int inlay_input(void *const *base, const inlay_step *s,
                              int32_t r0, int32_t r1)
{
    (void)base, (void)s, (void)r0, (void)r1;
    return 0;
}

/* Goes on in a list; *row: the awaited row of step `input` is there, and 0 once it is used. */
static inline int inlay_stream_on(const inlay_model *m, const inlay_segment *g,
                                  void *const *base, inlay_place *at,
                                  int32_t input, int *row)
{
    const int32_t entries = inlay_entries(g);
    int32_t i, n;
    for (i = 0; at->entry == 0 && !*row && i < g->count; i++)
        inlay_made(m, base)[i] = 0;
    for (; at->entry < entries; at->entry += n) {
        const uint8_t k = inlay_entry(g, at->entry);
        const inlay_step *s = m->step + g->first + k;
        const int is_input = g->first + k == input;
        int r;
        if (is_input && !*row)
            return INLAY_MORE;
        n = 1;
        if (is_input)
            *row = 0;
        else
            n = inlay_entries_alike(g, s, at->entry, entries);
        r = inlay_stream_units(m, g, base, k, n);
        if (r < 0)
            return -r;
    }
#ifdef INLAY_CHECK
    for (i = 0; i < g->count; i++)
        inlay_check_after(m, base, g->first + i);
#endif
    return INLAY_OK;
}

/* Begins (row 0) or goes on with the awaited row (row 1). 0: all is done; INLAY_MORE: a row is
 * awaited; or INLAY_E_..., then the run is over. INLAY_E_ARG: there is none to go on with. */
static inline int inlay_go_on(const inlay_model *m, void *const *base,
                              size_t place, int32_t input, int row)
{
    inlay_place *at = inlay_place_at(base, place);
    int r = INLAY_OK;
#ifdef INLAY_CHECK
    if (!row)
        inlay_check_begin(m, base);
#endif
    if (!row)
        at->segment = at->entry = 0;
    else if (at->segment < 0 || at->segment >= m->segments)
        return INLAY_E_ARG;
    while (at->segment < m->segments) {
        const inlay_segment *g = m->segment + at->segment;
        r = g->list ? inlay_stream_on(m, g, base, at, input, &row)
                    : inlay_run_layers(m, base, g->first, g->first + g->count);
        if (r == INLAY_MORE)
            return r;
        at->segment = r ? m->segments : at->segment + 1;
        at->entry = 0;
    }
#ifdef INLAY_CHECK
    if (!r)
        r = inlay_check_end(m);
#endif
    return r;
}

/* Where the awaited row of step `input` is to be written; NULL: none is. */
static inline void *inlay_input_row(const inlay_model *m, void *const *base,
                                    size_t place, int32_t input)
{
    const inlay_place *at = inlay_place_at(base, place);
    const uint16_t *made = inlay_made(m, base);
    if (at->segment < 0 || at->segment >= m->segments)
        return NULL;
    return inlay_row(base, m->step + input, 0,
                     made[input - m->segment[at->segment].first]);
}

#endif
