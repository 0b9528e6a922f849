/* SPDX-License-Identifier: Apache-2.0
 * A table of fixed room, since trials give back all memory that they take. The slots of the layouts
 * lie one after the other in a ring: the newest take the room of the oldest. */
#include "schedule/fit_known.h"

#include "base/mix.h"
#include "base/size.h"

/* Layouts in the table, and slots that there is room for by step and at most. */
enum { FITS = 1024, SLOTS_OF_STEP = 1024, MOST_SLOTS = 1 << 18 };

typedef struct KnownFit {
    uint64_t key;    /* 0: there is none */
    int64_t pool;    /* bytes that it came to, as deal_fit() says */
    int64_t enough;  /* bytes that would have ended the search */
    uint64_t behind; /* slots that were remembered with these */
} KnownFit;

struct FitsKnown {
    KnownFit fit[FITS];
    uint16_t *slot;
    uint64_t room, behind; /* slots; that were remembered, forgotten ones too */
};

FitsKnown *fits_known_new(Arena *arena, size_t steps)
{
    FitsKnown *known = NEW(arena, FitsKnown);
    known->room = MOST_SLOTS;
    if (steps < MOST_SLOTS / SLOTS_OF_STEP)
        known->room = (steps + 1) * SLOTS_OF_STEP;
    known->slot = NEW_ARRAY(arena, uint16_t, known->room);
    return known;
}

/* All that deal_fit() looks at, but for what is enough. */
static uint64_t key_of(const Deal *deal, const DealAim *aim)
{
    const int32_t rows = deal->rows + deal->tail;
    uint64_t key = mix_number((uint64_t)aim->most, aim->effort);
    key = mix_number(key, deal->rows);
    key = mix_number(key, deal->tail);
    key = mix_number(key, deal_shared(deal));
    key = mix_number(key, deal->alive);
    key = mix_number(key, deal->stream->backward);
    key = mix_number(key, deal->unit);
    for (int32_t i = 0; i < rows; i++) {
        const Row *row = deal->row + i;
        key = mix_number(key, row->first);
        key = mix_number(key, row->last);
        key = mix_number(key, row->bytes);
        key = mix_number(key, row->over);
        key = mix_number(key, row->under);
        key = mix_number(key, row->apart * 2 + row->equal);
        if (i >= deal->rows)
            key = mix_number(key, row->at);
    }
    return key ? key : 1;
}

/* Would the search come to the same end? It ends early where it comes to what is enough. */
static bool answers(const FitsKnown *known, const KnownFit *fit, uint64_t key,
                    int64_t enough)
{
    if (fit->key != key || known->behind - fit->behind > known->room)
        return false;
    const bool to_the_end = fit->pool > fit->enough && fit->pool > enough;
    return to_the_end || fit->enough == enough;
}

static void recall(const FitsKnown *known, const KnownFit *fit,
                   const Deal *deal)
{
    for (int32_t i = 0; i < deal->rows; i++) {
        const uint64_t place = fit->behind + (uint64_t)i;
        deal->row[i].at = known->slot[place % known->room] * deal->unit;
    }
}

static void remember(FitsKnown *known, const Deal *deal)
{
    for (int32_t i = 0; i < deal->rows; i++) {
        const Row *row = deal->row + i;
        const int64_t slot = row->last < 0 ? 0 : row->at / deal->unit;
        known->slot[known->behind++ % known->room] = (uint16_t)slot;
    }
}

int64_t deal_fit_known(FitsKnown *known, const Deal *deal, const DealAim *aim)
{
    if (!known || (uint64_t)deal->rows > known->room)
        return deal_fit(deal, aim);
    const uint64_t key = key_of(deal, aim);
    KnownFit *fit = known->fit + key % FITS;
    const int64_t enough = deal_enough(deal, aim);
    if (answers(known, fit, key, enough)) {
        recall(known, fit, deal);
        return fit->pool;
    }
    const int64_t pool = deal_fit(deal, aim);
    *fit = (KnownFit){ key, pool, enough, known->behind };
    remember(known, deal);
    return pool;
}
