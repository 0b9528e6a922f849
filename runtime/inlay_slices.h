/* SPDX-License-Identifier: 0BSD
 * A run in slices: it makes so many units, comes back, and goes on at the next call. Where it
 * stands lies in the arena, which is the run's until it is done or given up. */
#ifndef INLAY_SLICES_H
#define INLAY_SLICES_H

#include "inlay_resume.h"

typedef struct inlay_slice_place {
    inlay_place at; /* its entry is a step's number where there is no list */
    int32_t made;   /* units of that step */
} inlay_slice_place;

static inline inlay_slice_place *inlay_slices_at(void *const *base,
                                                 size_t place)
{
    return (inlay_slice_place *)(void *)inlay_place_at(base, place);
}

/* The next n units of step k, which runs alone; what its kernel returns. */
static inline int inlay_slice_units(const inlay_model *m, void *const *base,
                                    int32_t k, int32_t made, int32_t n)
{
    int r;
#ifdef INLAY_CHECK
    r = inlay_check_units(m, base, k, made, made + n);
    if (r >= 0 && made + n == m->step[k].units)
        inlay_check_after(m, base, k);
#else
    r = inlay_run_units(base, m->step + k, made, n);
#endif
    INLAY_ON_STEP(k);
    return r;
}

/* Of `left` units of a step how many its kernel makes in one call, `budget` at most. */
static inline int32_t inlay_slice_burst(const inlay_step *s, int32_t left,
                                        int32_t budget)
{
#ifdef INLAY_CHECK
    const int32_t most = 1;
    (void)s, (void)budget;
#else
    const int32_t most = s->backward == INLAY_UNIT_BY_UNIT ? 1 : budget;
#endif
    return left < most ? left : most;
}

/* Steps [first, end), one after the other. */
static inline int inlay_slice_layers(const inlay_model *m, void *const *base,
                                     inlay_slice_place *place, int32_t first,
                                     int32_t end, int32_t *budget)
{
    int32_t *entry = &place->at.entry;
    while (first + *entry < end) {
        const int32_t k = first + *entry;
        const inlay_step *s = m->step + k;
        const int32_t n = inlay_slice_burst(s, s->units - place->made, *budget);
        int r;
        if (*budget <= 0)
            return INLAY_MORE;
        r = inlay_slice_units(m, base, k, place->made, n);
        if (r < 0)
            return -r;
        *budget -= n;
        place->made += n;
        if (place->made < s->units)
            continue;
        place->made = 0;
        *entry = r ? r - 1 - first : *entry + 1;
    }
    return INLAY_OK;
}

/* A list. */
static inline int inlay_slice_stream(const inlay_model *m,
                                     const inlay_segment *g, void *const *base,
                                     inlay_place *at, int32_t *budget)
{
    const int32_t entries = inlay_entries(g);
    int32_t i;
    for (i = 0; at->entry == 0 && i < g->count; i++)
        inlay_made(m, base)[i] = 0;
    while (at->entry < entries) {
        const uint8_t k = inlay_entry(g, at->entry);
        const inlay_step *s = m->step + g->first + k;
        int32_t n = inlay_entries_alike(g, s, at->entry, entries);
        int r;
        if (*budget <= 0)
            return INLAY_MORE;
        n = n < *budget ? n : *budget;
        r = inlay_stream_units(m, g, base, k, n);
        if (r < 0)
            return -r;
        *budget -= n;
        at->entry += n;
    }
#ifdef INLAY_CHECK
    for (i = 0; i < g->count; i++)
        inlay_check_after(m, base, g->first + i);
#endif
    return INLAY_OK;
}

static inline void inlay_slices_begin(const inlay_model *m, void *const *base,
                                      size_t place)
{
    inlay_slice_place *to = inlay_slices_at(base, place);
#ifdef INLAY_CHECK
    inlay_check_begin(m, base);
#else
    (void)m;
#endif
    to->at.segment = to->at.entry = to->made = 0;
}

/* Goes on for `budget` units. 0: all is done; INLAY_MORE: it is not; or INLAY_E_..., then the run
 * is over. INLAY_E_ARG: there is none to go on with. */
static inline int inlay_slice(const inlay_model *m, void *const *base,
                              size_t place, int32_t budget)
{
    inlay_slice_place *here = inlay_slices_at(base, place);
    inlay_place *at = &here->at;
    const inlay_segment layers = { 0, m->steps, 0, 0, 0, 0, NULL };
    const inlay_segment *segment = m->segment ? m->segment : &layers;
    const int32_t segments = m->segment ? m->segments : 1;
    int r = INLAY_OK;
    if (at->segment < 0 || at->segment >= segments)
        return INLAY_E_ARG;
    while (at->segment < segments) {
        const inlay_segment *g = segment + at->segment;
        r = g->list ? inlay_slice_stream(m, g, base, at, &budget)
                    : inlay_slice_layers(m, base, here, g->first,
                                         g->first + g->count, &budget);
        if (r == INLAY_MORE)
            return r;
        at->segment = r ? segments : at->segment + 1;
        at->entry = 0;
    }
#ifdef INLAY_CHECK
    if (!r)
        r = inlay_check_end(m);
#endif
    return r;
}

#endif
