/* SPDX-License-Identifier: Apache-2.0
 * Which rows of a pool may lie over which: where a unit is a call by itself, the row that it makes
 * over those that it is the last to need, as far as its kernel reads before it writes. */
#include "base/size.h"
#include "schedule/pool.h"

/* What the touches of a stream allow a row of their step's result. */
typedef struct Finder {
    const Deal *deal;
    Overlap *of; /* of each that is seen; neither equal nor by row: nothing */
    /* by step: which of those that are seen writes its result; -1: none of them */
    int32_t *made;
} Finder;

/* The step's first result, where its rows are dealt. */
static int32_t find_made(const Deal *deal, int32_t k)
{
    const int32_t number = deal->stream->first + k;
    const Touch *end = touch_end(deal->all, number);
    const Touch *touch = touch_begin(deal->all, number);
    while (touch < end && !touch->operand->write)
        touch++;
    for (int32_t s = deal->seen_of[k]; s < deal->seen_of[k + 1]; s++)
        if (deal->seen[s].touch == touch && !touch->operand->scratch)
            return s;
    return -1;
}

static void find_overlaps(Finder *finder)
{
    const Deal *deal = finder->deal;
    const int32_t steps = deal->stream->end - deal->stream->first;
    const int32_t n = deal->seen_of[steps];
    finder->of = NEW_ARRAY(deal->arena, Overlap, n + 1);
    finder->made = NEW_ARRAY(deal->arena, int32_t, steps + 1);
    for (int32_t k = 0; k < steps; k++)
        finder->made[k] = find_made(deal, k);
    for (int32_t s = 0; s < n; s++) {
        const Touch *touch = deal->seen[s].touch;
        if (!touch->operand->write)
            finder->of[s] =
                overlap_of_rows(deal->all, touch->step, touch->item);
    }
}

static int64_t round_up(int64_t bytes, int64_t unit)
{
    return i64_ceil_div(bytes, unit) * unit;
}

/* The rows of a touch that die where `made`, row number `over` of the deal, is made. */
static void allow(const Deal *deal, const Seen *seen, const Overlap *overlap,
                  int32_t unit, Row *made)
{
    int64_t far = overlap->forward;
    if (deal->stream->backward)
        far = overlap->backward;
    if (!overlap->by_row)
        far = INT64_MAX / 4;
    const Rows rows = seen_rows(deal, seen, unit);
    for (int32_t r = rows.lo; r < rows.hi; r++) {
        Row *row = seen->row + r;
        if (row->last != made->first)
            continue;
        if (row->first == made->first)
            continue;
        row->over = (int32_t)(made - deal->row);
        row->equal = overlap->equal;
        row->apart = round_up(far, deal->unit);
        if (made->under < 0 && row_saves(deal, row))
            made->under = (int32_t)(row - deal->row);
    }
}

/* What unit `unit` of step k makes at a place in the order. */
static void allow_unit(const Finder *finder, int32_t k, int32_t unit,
                       int32_t place)
{
    const Deal *deal = finder->deal;
    if (finder->made[k] < 0)
        return;
    Row *made = deal->seen[finder->made[k]].row + unit;
    if (made->first != place)
        return;
    for (int32_t s = deal->seen_of[k]; s < deal->seen_of[k + 1]; s++) {
        const Overlap *overlap = finder->of + s;
        if (overlap->equal || overlap->by_row)
            allow(deal, deal->seen + s, overlap, unit, made);
    }
}

void deal_find_over(const Deal *deal)
{
    const Stream *stream = deal->stream;
    const int32_t steps = stream->end - stream->first;
    int32_t *made = NEW_ARRAY(deal->arena, int32_t, steps + 1);
    Finder finder = { .deal = deal };
    find_overlaps(&finder);
    for (int32_t i = 0; i < stream->calls; i++) {
        const int32_t k = stream->order[i];
        int32_t unit = made[k];
        if (stream->backward)
            unit = items_step(deal->all, stream->first + k)->units - 1 - unit;
        made[k]++;
        if (deal->call[i] == deal->end[i])
            allow_unit(&finder, k, unit, i);
    }
}

int64_t row_saves(const Deal *deal, const Row *row)
{
    const int64_t in = row->bytes;
    const int64_t out = deal->row[row->over].bytes;
    const int64_t apart = i64_max(row->apart, 0);
    int64_t both = i64_max(out, apart + in);
    if (row->equal)
        return i64_min(in, out);
    if (deal->stream->backward)
        both = i64_max(in, apart + out);
    return i64_max(0, in + out - both);
}
