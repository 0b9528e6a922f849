/* SPDX-License-Identifier: Apache-2.0
 * The last rows that a stream makes of its result: while they are made, the rings before it need
 * less and less. So they may lie where the pool begins. */
#include "base/size.h"
#include "schedule/pool.h"

/* Are the rows of the item made by this touch alone, one by one, for steps behind the stream? */
static bool leaves(const Deal *deal, const Touch *touch)
{
    const Operand *operand = touch->operand;
    const Item *item = touch_item(deal->all, touch);
    const Stream *stream = deal->stream;
    if (!operand->write || operand->scratch || operand->read)
        return false;
    if (item->outside || item->fixed || item->root->state)
        return false;
    if (item->first < stream->first || item->end <= stream->end)
        return false;
    if (!touch->by_row || touch->all_units || operand->part)
        return false;
    if (touch->row0 || touch->at || touch->lane)
        return false;
    return operand->rows == item->rows &&
           operand->row_bytes == item->row_bytes &&
           operand->rows * operand->row_bytes == tensor_bytes(item->root);
}

/* Does anything else of the stream touch it, or lie in its place? */
static bool is_shared(const Deal *deal, const Touch *result)
{
    const Stream *stream = deal->stream;
    const Touch *end = touch_begin(deal->all, stream->end);
    const Touch *touch = touch_begin(deal->all, stream->first);
    for (; touch < end; touch++)
        if (touch != result && touch->item == result->item)
            return true;
    for (size_t i = 0; i < stream->ring.n; i++)
        if (stream->ring.at[i].host == result->item)
            return true;
    return false;
}

void deal_find_result(Deal *deal)
{
    const Stream *stream = deal->stream;
    const Touch *end = touch_begin(deal->all, stream->end);
    const Touch *touch = touch_begin(deal->all, stream->first);
    if (stream->backward || stream->under >= 0)
        return;
    for (; touch < end && !deal->result; touch++)
        if (leaves(deal, touch) && !is_shared(deal, touch))
            deal->result = touch;
}

static int64_t row_bytes(const Deal *deal)
{
    return deal->result->operand->row_bytes;
}

int64_t deal_lead(const Deal *deal)
{
    const int32_t rows = deal->result->operand->rows;
    return (rows - deal->tail) * row_bytes(deal);
}

/* The most bytes alive in a call, `tail` rows of the result among them. */
static int64_t most_alive(const Deal *deal, const int64_t *alive, int32_t tail)
{
    const Stream *stream = deal->stream;
    const int32_t maker = deal->result->step - stream->first;
    int64_t first = tail - deal->result->operand->rows;
    int64_t most = 0;
    for (int32_t i = 0; i < stream->calls; i++) {
        first += stream->order[i] == maker;
        const int64_t made = i64_max(first, 0) * row_bytes(deal);
        most = i64_max(most, alive[i] + made);
    }
    return most;
}

/* They stay to the end, one behind the other from the pool's begin on. */
static void list_tail(Deal *deal)
{
    const Stream *stream = deal->stream;
    const int32_t maker = deal->result->step - stream->first;
    int32_t made = deal->tail - deal->result->operand->rows;
    for (int32_t i = 0; i < stream->calls; i++) {
        if (stream->order[i] != maker)
            continue;
        if (made >= 0)
            deal->row[deal->rows + made] = (Row){
                .first = deal->call[i],
                .last = stream->calls - 1,
                .bytes = row_bytes(deal),
                .at = made * row_bytes(deal),
                .over = -1,
                .under = -1,
            };
        made++;
    }
}

static bool fits(const Deal *deal, int32_t tail)
{
    const int64_t lead = (deal->result->operand->rows - tail) * row_bytes(deal);
    return lead % deal->all->align == 0;
}

void deal_find_tail(Deal *deal, const int64_t *alive)
{
    enum { MOST_TAIL = 16 };
    if (!deal->result || row_bytes(deal) % deal->unit)
        return;
    const int64_t most = i64_min(deal->result->operand->rows - 1, MOST_TAIL);
    int64_t least = deal->alive;
    for (int32_t tail = 1; tail <= most; tail++) {
        const int64_t bytes = most_alive(deal, alive, tail);
        const int64_t saved = tail * row_bytes(deal);
        if (bytes - saved >= least || !fits(deal, tail))
            continue;
        least = bytes - saved;
        deal->alive = bytes;
        deal->tail = tail;
    }
    if (deal->tail)
        list_tail(deal);
}

int64_t deal_shared(const Deal *deal)
{
    if (!deal->tail)
        return 0;
    return touch_item(deal->all, deal->result)->size - deal_lead(deal);
}

int64_t deal_beside(const Deal *deal, int64_t pool)
{
    const int64_t bytes = items_round(deal->all, pool);
    return i64_max(0, bytes - deal_shared(deal));
}
