/* SPDX-License-Identifier: 0BSD
 * What runs have in common that stop and go on later: where they stand, which lies in the arena,
 * and the entries of a list by number. */
#ifndef INLAY_RESUME_H
#define INLAY_RESUME_H

#include "inlay.h"

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

#endif
