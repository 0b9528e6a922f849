/* SPDX-License-Identifier: 0BSD
 * A run that takes its input row by row, from a caller who holds no frame: it goes on until it
 * needs a row, comes back, and goes on when the row is there. Where it stands lies in the arena. */
#ifndef INLAY_PUSHED_H
#define INLAY_PUSHED_H

#include "inlay.h"

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

/* In the arena for as long as the run lasts; then segment == segments. */
typedef struct inlay_place {
    int32_t segment, entry; /* the next to be run */
} inlay_place;

static inline inlay_place *inlay_place_at(void *const *base, size_t place)
{
    return (inlay_place *)(void *)((unsigned char *)base[INLAY_ARENA] + place);
}

/* Entry e of a periodic list. */
static inline uint8_t inlay_entry(const inlay_segment *g, int32_t e)
{
    const int32_t periods = g->period * g->repeats;
    if (e < g->prologue)
        return g->list[e];
    if (e < g->prologue + periods)
        return g->list[g->prologue + (e - g->prologue) % g->period];
    return g->list[e - periods + g->period];
}

/* How many units of each step of a streamed segment are made. */
static inline uint16_t *inlay_made(const inlay_model *m, void *const *base)
{
    unsigned char *arena = (unsigned char *)base[INLAY_ARENA];
    return (uint16_t *)(void *)(arena + m->state);
}

static inline int32_t inlay_entries(const inlay_segment *g)
{
    return g->prologue + g->period * g->repeats + g->epilogue;
}

/* From entry e of `entries` on, how many name the same step s, where its kernel may make them in
 * one call. */
static inline int32_t inlay_entries_alike(const inlay_segment *g,
                                          const inlay_step *s, int32_t e,
                                          int32_t entries)
{
    const uint8_t k = inlay_entry(g, e);
    int32_t n = 1;
    if (s->backward == INLAY_UNIT_BY_UNIT)
        return n;
    while (e + n < entries && inlay_entry(g, e + n) == k)
        n++;
    return n;
}

/* The next n units of step k of a segment. What its kernel returns. */
static inline int inlay_stream_units(const inlay_model *m,
                                     const inlay_segment *g, void *const *base,
                                     uint8_t k, int32_t n)
{
    uint16_t *made = inlay_made(m, base) + k;
    const int32_t before = *made;
    int r;
#ifdef INLAY_CHECK
    r = inlay_check_units(m, base, g->first + k, before, before + n);
#else
    r = inlay_run_units(base, m->step + g->first + k, before, n);
#endif
    INLAY_ON_STEP(g->first + k);
    if (r >= 0)
        *made = (uint16_t)(before + n);
    return r;
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
