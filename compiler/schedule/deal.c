/* SPDX-License-Identifier: Apache-2.0
 * The rows of some rings as rectangles: calls of the stream one way, bytes of the pool the other.
 * What is alive at once is what no layout goes below. */
#include "schedule/deal.h"

#include "base/size.h"
#include "schedule/fit_known.h"
#include "schedule/pool.h"

/* Beyond, a table takes more flash than its pool saves memory, and the planner's time. */
enum { MOST_ROWS = 2048 };

enum { LEAST_UNIT = 4 };

/* ---- which rings ---- */

/* Does the step see row r of the item as its own row r? */
static bool sees_rows(const Touch *touch, const Item *item)
{
    const Operand *operand = touch->operand;
    if (!touch->by_row || touch->all_units)
        return false;
    if (touch->row0 || touch->at)
        return false;
    return operand->rows == item->rows && operand->row_bytes == item->row_bytes;
}

/* Kernels see rows of one pixel, as signals in time have them, as one row of many. */
static bool has_columns(const Touch *touch)
{
    const Operand *operand = touch->operand;
    const int64_t bits = dtype_bits(operand->tensor->dtype);
    return operand->row_bytes * 8 > operand->pixel * bits;
}

static bool touch_allows(const Deal *deal, const Touch *touch)
{
    const Step *step = items_step(deal->all, touch->step);
    const Item *item = touch_item(deal->all, touch);
    if (step->pushed)
        return false;
    if (step->accumulates && touch->operand->write)
        return false;
    return sees_rows(touch, item) && has_columns(touch);
}

static bool hosts_others(const Stream *stream, int32_t item)
{
    for (size_t i = 0; i < stream->ring.n; i++)
        if (stream->ring.at[i].host == item)
            return true;
    return false;
}

static bool ring_allows(const Deal *deal, const Ring *ring)
{
    const Item *item = deal->all->item.at + ring->item;
    if (item->whole || item->outside)
        return false;
    if (item->rows < 2 || ring->host >= 0)
        return false;
    return !hosts_others(deal->stream, ring->item);
}

static int32_t *ring_of(const Deal *deal, int32_t item)
{
    return deal->ring_of + item - deal->least;
}

/* Room for all items that the stream touches. */
static void list_items(Deal *deal, const Touch *begin, const Touch *end)
{
    int32_t most = 0;
    deal->least = INT32_MAX;
    for (const Touch *touch = begin; touch < end; touch++) {
        deal->least = (int32_t)i64_min(deal->least, touch->item);
        most = (int32_t)i64_max(most, touch->item);
    }
    const int32_t items = begin < end ? most - deal->least + 1 : 0;
    deal->ring_of = NEW_ARRAY(deal->arena, int32_t, items + 1);
    for (int32_t i = 0; i < items; i++)
        deal->ring_of[i] = -1;
}

/* Which rings take part: those all of whose touches allow it. */
static void choose_rings(Deal *deal)
{
    const Stream *stream = deal->stream;
    const Touch *begin = touch_begin(deal->all, stream->first);
    const Touch *end = touch_begin(deal->all, stream->end);
    list_items(deal, begin, end);
    for (size_t i = 0; i < stream->ring.n; i++)
        if (ring_allows(deal, stream->ring.at + i))
            *ring_of(deal, stream->ring.at[i].item) = (int32_t)i;
    for (const Touch *touch = begin; touch < end; touch++)
        if (!touch_allows(deal, touch))
            *ring_of(deal, touch->item) = -1;
}

/* ---- their rows ---- */

static void list_rows(Deal *deal)
{
    const Stream *stream = deal->stream;
    deal->base = NEW_ARRAY(deal->arena, int32_t, stream->ring.n + 1);
    for (size_t i = 0; i < stream->ring.n; i++) {
        const Ring *ring = stream->ring.at + i;
        const Item *item = deal->all->item.at + ring->item;
        deal->base[i] = -1;
        if (*ring_of(deal, ring->item) < 0)
            continue;
        deal->base[i] = deal->rows;
        deal->rows += item->rows;
        deal->rings += items_round(deal->all, ring->rows * item->row_bytes);
    }
}

/* Bytes of the widest element of the rows that are dealt. */
static int64_t widest_element(const Deal *deal)
{
    const Stream *stream = deal->stream;
    const Item *items = deal->all->item.at;
    int64_t widest = 0;
    for (size_t i = 0; i < stream->ring.n; i++) {
        const int32_t number = stream->ring.at[i].item;
        const Tensor *root = items[number].root;
        const int64_t bits = dtype_bits(root->dtype);
        if (deal->base[i] < 0)
            continue;
        widest = i64_max(widest, bits / 8);
    }
    return widest;
}

/* RowSlots have 16 bits, and elements lie aligned. */
static int64_t unit_of(const Deal *deal)
{
    int64_t unit = widest_element(deal);
    unit = i64_max(unit, LEAST_UNIT);
    while (deal->rings / unit > UINT16_MAX)
        unit *= 2;
    return unit;
}

static void new_rows(Deal *deal)
{
    const Stream *stream = deal->stream;
    deal->unit = unit_of(deal);
    const int32_t tail = deal->result ? deal->result->operand->rows : 0;
    deal->row = NEW_ARRAY(deal->arena, Row, deal->rows + tail + 1);
    for (size_t i = 0; i < stream->ring.n; i++) {
        const Item *item = deal->all->item.at + stream->ring.at[i].item;
        const int64_t units = i64_ceil_div(item->row_bytes, deal->unit);
        for (int32_t r = 0; deal->base[i] >= 0 && r < item->rows; r++)
            deal->row[deal->base[i] + r] = (Row){
                .first = INT32_MAX,
                .last = -1,
                .bytes = units * deal->unit,
                .over = -1,
                .under = -1,
            };
    }
}

/* Units of a step that follow one another are one call, which may touch its rows in any order. */
static void list_calls(Deal *deal)
{
    const Stream *stream = deal->stream;
    const int32_t n = stream->calls;
    deal->call = NEW_ARRAY(deal->arena, int32_t, n + 1);
    deal->end = NEW_ARRAY(deal->arena, int32_t, n + 1);
    for (int32_t i = 0; i < n; i++) {
        deal->call[i] = i;
        if (i && stream->order[i] == stream->order[i - 1])
            deal->call[i] = deal->call[i - 1];
    }
    for (int32_t i = n - 1; i >= 0; i--) {
        deal->end[i] = i;
        if (i + 1 < n && deal->call[i + 1] == deal->call[i])
            deal->end[i] = deal->end[i + 1];
    }
}

/* Do units touch rows of the same number? Rows that are dealt are those of their items. */
static bool is_alike(const Deal *deal, const Touch *touch)
{
    const Operand *operand = touch->operand;
    const RowKind kind = operand->rule.kind;
    if (operand->write)
        return true;
    return (kind == ROWS_SAME || kind == ROWS_UNIT) &&
           operand->rows == items_step(deal->all, touch->step)->units;
}

static void list_seen(Deal *deal)
{
    const Stream *stream = deal->stream;
    const int32_t steps = stream->end - stream->first;
    const Touch *touch = touch_begin(deal->all, stream->first);
    const Touch *last = touch_begin(deal->all, stream->end);
    deal->seen = NEW_ARRAY(deal->arena, Seen, last - touch + 1);
    deal->seen_of = NEW_ARRAY(deal->arena, int32_t, steps + 1);
    int32_t n = 0;
    for (int32_t k = 0; k < steps; k++) {
        const Touch *end = touch_end(deal->all, stream->first + k);
        deal->seen_of[k] = n;
        for (; touch < end; touch++) {
            const int32_t ring = *ring_of(deal, touch->item);
            if (ring < 0)
                continue;
            deal->seen[n] = (Seen){
                .touch = touch,
                .row = deal->row + deal->base[ring],
                .alike = is_alike(deal, touch),
            };
            n++;
        }
    }
    deal->seen_of[steps] = n;
}

/* What the unit made at a place in the order touches is alive in its call. */
static void note_seen(const Deal *deal, const Seen *seen, int32_t unit,
                      int32_t place)
{
    const int32_t first = deal->call[place];
    const int32_t last = deal->end[place];
    const Rows rows = seen_rows(deal, seen, unit);
    for (int32_t r = rows.lo; r < rows.hi; r++) {
        Row *row = seen->row + r;
        if (row->first > first)
            row->first = first;
        row->last = last;
    }
}

static void note_lives(const Deal *deal)
{
    const Stream *stream = deal->stream;
    const int32_t steps = stream->end - stream->first;
    int32_t *made = NEW_ARRAY(deal->arena, int32_t, steps + 1);
    for (int32_t i = 0; i < stream->calls; i++) {
        const int32_t k = stream->order[i];
        int32_t unit = made[k];
        if (stream->backward)
            unit = items_step(deal->all, stream->first + k)->units - 1 - unit;
        made[k]++;
        for (int32_t s = deal->seen_of[k]; s < deal->seen_of[k + 1]; s++)
            note_seen(deal, deal->seen + s, unit, i);
    }
}

/* Bytes alive in each call. */
static int64_t *count_alive(Deal *deal)
{
    const int32_t calls = deal->stream->calls;
    int64_t *more = NEW_ARRAY(deal->arena, int64_t, calls + 2);
    int64_t *saved = NEW_ARRAY(deal->arena, int64_t, calls + 1);
    int64_t alive = 0;
    for (int32_t i = 0; i < deal->rows; i++) {
        const Row *row = deal->row + i;
        if (row->last < 0)
            continue;
        more[row->first] += row->bytes;
        more[row->last + 1] -= row->bytes;
        if (row->over >= 0)
            saved[row->last] += row_saves(deal, row);
    }
    for (int32_t i = 0; i < calls; i++) {
        alive += more[i];
        more[i] = alive - saved[i];
        deal->alive = i64_max(deal->alive, more[i]);
    }
    return more;
}

/* ---- slots ---- */

/* What stays of a deal. */
typedef struct Given {
    RowSlots *ring; /* of each ring */
    uint16_t *slot; /* of each of their rows */
} Given;

/* Does some row of the ring lie over one that it is made of? */
static bool lies_over(const Deal *deal, int32_t base, int32_t rows)
{
    for (int32_t i = 0; i < deal->rows; i++) {
        const Row *row = deal->row + i;
        if (row->over < base || row->over >= base + rows)
            continue;
        const Row *made = deal->row + row->over;
        const int64_t end = row->at + row->bytes;
        const int64_t made_end = made->at + made->bytes;
        if (made->at >= end)
            continue;
        if (row->at < made_end)
            return true;
    }
    return false;
}

static void give_slots(const Deal *deal, Stream *stream, int64_t pool,
                       const Given *given)
{
    uint16_t *slot = given->slot;
    for (size_t i = 0; i < stream->ring.n; i++) {
        Ring *ring = stream->ring.at + i;
        const int32_t rows = deal->all->item.at[ring->item].rows;
        if (deal->base[i] < 0)
            continue;
        for (int32_t r = 0; r < rows; r++) {
            const Row *row = deal->row + deal->base[i] + r;
            const int64_t at = row->last < 0 ? 0 : row->at / deal->unit;
            slot[r] = (uint16_t)at;
        }
        given->ring[i] = (RowSlots){ rows, (int32_t)deal->unit, pool, slot };
        ring->slots = given->ring + i;
        ring->over = lies_over(deal, deal->base[i], rows);
        slot += rows;
    }
}

/* Are there rings to be dealt, and would their rows fit? */
static bool prepare(Deal *deal, int64_t most)
{
    choose_rings(deal);
    list_rows(deal);
    if (!deal->rows)
        return false;
    deal_find_result(deal);
    new_rows(deal);
    list_seen(deal);
    list_calls(deal);
    note_lives(deal);
    deal_find_over(deal);
    deal_find_tail(deal, count_alive(deal));
    const int64_t least = deal_beside(deal, deal->alive);
    return least < deal->rings &&
           deal->stream->bytes - deal->rings + least <= most;
}

/* False: the rings stay as they are. */
static bool deal_pool(Deal *deal, Stream *stream, const DealAim *aim,
                      const Given *given)
{
    /* Rings of which no row is ever made stay what they are: a slot has room for a row. */
    if (!prepare(deal, aim->most) || !deal->alive)
        return false;
    const int64_t others = stream->bytes - deal->rings;
    stream->least = others + deal_beside(deal, deal->alive);
    if (aim->effort == DEAL_NONE)
        return false;
    /* The same layout is to be found again, whatever the most bytes are then. */
    const DealAim own = {
        .effort = aim->effort,
        .most = deal->rings - 1,
        .enough = aim->enough - others,
    };
    const int64_t pool = deal_fit_known(aim->fits, deal, &own);
    const int64_t beside = deal_beside(deal, pool);
    if (beside > own.most || beside > aim->most - others)
        return false;
    give_slots(deal, stream, items_round(deal->all, pool), given);
    stream->bytes += beside - deal->rings;
    if (deal->tail) {
        stream->tail = deal->result->item;
        stream->lead = deal_lead(deal);
    }
    return true;
}

/* What a stream's result may save by lying over its input. */
static int64_t saved_at_most(const Items *all, const Stream *stream)
{
    if (stream->under < 0)
        return 0;
    return i64_min(all->item.at[stream->under].size,
                   all->item.at[stream->over].size);
}

static int64_t count_rows(const Items *all, const Stream *stream)
{
    int64_t rows = 0;
    for (size_t i = 0; i < stream->ring.n; i++)
        rows += all->item.at[stream->ring.at[i].item].rows;
    return rows;
}

/* What stays comes first: there are many streams, and what a deal needs for itself is larger. */
void deal_rows(Arena *arena, const Items *all, Stream *stream,
               const DealAim *given_aim)
{
    Deal deal = { .arena = arena, .all = all, .stream = stream };
    const int64_t rows = count_rows(all, stream);
    const int64_t saved = saved_at_most(all, stream);
    const ArenaMark before = arena_mark(arena);
    if (!rows || rows > MOST_ROWS)
        return;
    const Given given = {
        .ring = NEW_ARRAY(arena, RowSlots, stream->ring.n),
        .slot = NEW_ARRAY(arena, uint16_t, rows),
    };
    const ArenaMark mark = arena_mark(arena);
    DealAim aim = *given_aim;
    aim.most = i64_add(aim.most, saved);
    const bool dealt = deal_pool(&deal, stream, &aim, &given);
    arena_release(arena, dealt ? mark : before);
}
