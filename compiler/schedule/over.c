/* SPDX-License-Identifier: Apache-2.0
 * Which rows of a pool may lie over which: where a unit is a call by itself, the row that it makes
 * over those that it is the last to need, as far as its kernel reads before it writes. */
#include "base/size.h"
#include "schedule/pool.h"

/* What the touches of a stream allow a row of their step's result. */
typedef struct Finder {
    const Deal *deal;
    const Touch *begin; /* of the stream's touches */
    Overlap *of;        /* of each; neither equal nor by row: nothing */
} Finder;

static void find_overlaps(Finder *finder)
{
    const Deal *deal = finder->deal;
    const Stream *stream = deal->stream;
    const Touch *end = touch_begin(deal->all, stream->end);
    const Touch *touch = touch_begin(deal->all, stream->first);
    finder->begin = touch;
    finder->of = NEW_ARRAY(deal->arena, Overlap, end - touch + 1);
    for (Overlap *of = finder->of; touch < end; touch++) {
        if (!touch->operand->write && deal_row(deal, touch, 0))
            *of = overlap_of_rows(deal->all, touch->step, touch->item);
        of++;
    }
}

static int64_t round_up(int64_t bytes, int64_t unit)
{
    return i64_ceil_div(bytes, unit) * unit;
}

/* The rows of a touch that die where `made`, row number `over` of the deal, is made. */
static void allow(const Finder *finder, const Touch *touch, int32_t unit,
                  Row *made)
{
    const Deal *deal = finder->deal;
    const Overlap *overlap = finder->of + (touch - finder->begin);
    int64_t far = overlap->forward;
    if (deal->stream->backward)
        far = overlap->backward;
    if (!overlap->by_row)
        far = INT64_MAX / 4;
    if (!overlap->equal && !overlap->by_row)
        return;
    const Rows rows = touch_rows(deal->all, touch, unit);
    for (int32_t r = rows.lo; r < rows.hi; r++) {
        Row *row = deal_row(deal, touch, r);
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

/* The row that unit `unit` of the step makes; NULL: none that is dealt. */
static Row *row_made(const Deal *deal, int32_t number, int32_t unit)
{
    const Touch *end = touch_end(deal->all, number);
    const Touch *touch = touch_begin(deal->all, number);
    while (touch < end && !touch->operand->write)
        touch++;
    if (touch == end || touch->operand->scratch)
        return NULL;
    if (!deal_row(deal, touch, 0))
        return NULL;
    return deal_row(deal, touch, unit);
}

static void allow_unit(const Finder *finder, int32_t number, int32_t unit,
                       int32_t place)
{
    const Deal *deal = finder->deal;
    Row *made = row_made(deal, number, unit);
    const Touch *end = touch_end(deal->all, number);
    const Touch *touch = touch_begin(deal->all, number);
    if (!made || made->first != place)
        return;
    for (; touch < end; touch++)
        if (!touch->operand->write && deal_row(deal, touch, 0))
            allow(finder, touch, unit, made);
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
        const int32_t number = stream->first + k;
        const Step *step = items_step(deal->all, number);
        int32_t unit = made[k];
        if (stream->backward)
            unit = step->units - 1 - unit;
        made[k]++;
        if (deal->call[i] == deal->end[i])
            allow_unit(&finder, number, unit, i);
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
