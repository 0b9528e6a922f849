/* SPDX-License-Identifier: Apache-2.0
 * The rows of some rings as rectangles: calls of the stream one way, bytes of the pool the other.
 * Several rules of thumb lay them out; what is alive at once is what none goes below. */
#include "schedule/deal.h"

#include <stdlib.h>

#include "base/size.h"

/* Beyond, a table takes more flash than its pool saves memory, and the planner's time. */
enum { MOST_ROWS = 1024 };

enum { LEAST_UNIT = 4 };

/* A row of a ring, alive from the call that makes it first to the last one that needs it. */
typedef struct Row {
    int32_t first,
        last; /* places in the stream's order; last < 0: it is not made */
    int64_t bytes, at;
} Row;

typedef struct Deal {
    Arena *arena;
    const Items *all;
    const Stream *stream;
    int32_t *
        ring_of; /* by item of the stream's touches, from `least` on; -1: it stays a ring */
    int32_t least; /* number of an item */
    int32_t *base; /* by ring: its first row in `row`; -1: it stays a ring */
    Row *row;
    int32_t rows;
    int32_t *call,
        *end; /* by place in the order: where its call begins, its last place */
    int64_t rings;       /* bytes that those take which are dealt */
    int64_t unit, alive; /* bytes alive at once */
} Deal;

/* ---- which rings ---- */

/* Does the step see row r of the item as its own row r? */
static bool sees_rows(const Touch *touch, const Item *item)
{
    const Operand *operand = touch->operand;
    return touch->by_row && !touch->row0 && !touch->at && !touch->all_units &&
           operand->rows == item->rows && operand->row_bytes == item->row_bytes;
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
    return sees_rows(touch, item) && has_columns(touch) && !step->pushed &&
           !(step->accumulates && touch->operand->write);
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
    return !item->whole && !item->outside && item->rows > 1 && ring->host < 0 &&
           !hosts_others(deal->stream, ring->item);
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

/* RowSlots have 16 bits. */
static int64_t unit_of(int64_t bytes)
{
    int64_t unit = LEAST_UNIT;
    while (bytes / unit > UINT16_MAX)
        unit *= 2;
    return unit;
}

static void new_rows(Deal *deal)
{
    const Stream *stream = deal->stream;
    deal->unit = unit_of(deal->rings);
    deal->row = NEW_ARRAY(deal->arena, Row, deal->rows + 1);
    for (size_t i = 0; i < stream->ring.n; i++) {
        const Item *item = deal->all->item.at + stream->ring.at[i].item;
        const int64_t units = i64_ceil_div(item->row_bytes, deal->unit);
        for (int32_t r = 0; deal->base[i] >= 0 && r < item->rows; r++)
            deal->row[deal->base[i] + r] = (Row){
                .first = INT32_MAX,
                .last = -1,
                .bytes = units * deal->unit,
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
        const bool same = i && stream->order[i] == stream->order[i - 1];
        deal->call[i] = same ? deal->call[i - 1] : i;
    }
    for (int32_t i = n - 1; i >= 0; i--) {
        const bool same = i + 1 < n && deal->call[i + 1] == deal->call[i];
        deal->end[i] = same ? deal->end[i + 1] : i;
    }
}

/* What the unit made at a place in the order touches is alive in its call. */
static void note_touch(const Deal *deal, const Touch *touch, int32_t unit,
                       int32_t place)
{
    const int32_t ring = *ring_of(deal, touch->item);
    if (ring < 0)
        return;
    const Rows rows = touch_rows(deal->all, touch, unit);
    for (int32_t r = rows.lo; r < rows.hi; r++) {
        Row *row = deal->row + deal->base[ring] + r;
        if (row->first > deal->call[place])
            row->first = deal->call[place];
        row->last = deal->end[place];
    }
}

static void note_lives(const Deal *deal)
{
    const Stream *stream = deal->stream;
    const int32_t steps = stream->end - stream->first;
    int32_t *made = NEW_ARRAY(deal->arena, int32_t, steps + 1);
    for (int32_t i = 0; i < stream->calls; i++) {
        const int32_t k = stream->order[i];
        const int32_t number = stream->first + k;
        const Step *step = items_step(deal->all, number);
        const Touch *end = touch_end(deal->all, number);
        const int32_t last = step->units - 1;
        const int32_t unit = stream->backward ? last - made[k] : made[k];
        made[k]++;
        for (const Touch *touch = touch_begin(deal->all, number); touch < end;
             touch++)
            note_touch(deal, touch, unit, i);
    }
}

static int64_t count_alive(const Deal *deal)
{
    const int32_t calls = deal->stream->calls;
    int64_t *more = NEW_ARRAY(deal->arena, int64_t, calls + 2);
    int64_t alive = 0;
    int64_t most = 0;
    for (int32_t i = 0; i < deal->rows; i++) {
        const Row *row = deal->row + i;
        if (row->last < 0)
            continue;
        more[row->first] += row->bytes;
        more[row->last + 1] -= row->bytes;
    }
    for (int32_t i = 0; i < calls; i++) {
        alive += more[i];
        most = i64_max(most, alive);
    }
    return most;
}

/* ---- slots ---- */

/* In which order rows are laid out. */
typedef enum Way {
    BY_BIRTH,  /* the first first */
    BY_BYTES,  /* the largest first, of equals the one that lives longest */
    BY_LENGTH, /* the one that lives longest first */
    BY_AREA,
    WAYS
} Way;

/* The greatest comes first. */
static int64_t key_of(const Row *row, Way way)
{
    const int64_t length = row->last - row->first + 1;
    const int64_t far = INT32_MAX;
    switch (way) {
    case BY_BYTES:
        return row->bytes * far + length;
    case BY_LENGTH:
        return length * far + i64_min(row->bytes, far - 1);
    case BY_AREA:
        return length * row->bytes;
    default:
        return -row->first;
    }
}

typedef struct Turn {
    int64_t key;
    int32_t row;
} Turn;

/* Of equal ones the first comes first. */
static int by_key(const void *a, const void *b)
{
    const Turn *x = a;
    const Turn *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Rows that have their places, listed for each few calls in which they live. */
typedef struct Placed {
    int32_t row, next; /* next: 1 + its number; 0: there is none */
} Placed;

enum { CALLS_OF_LIST = 16 };

typedef struct Layout {
    const Deal *deal;
    VEC(Placed) placed;
    int32_t *list; /* 1 + the number of its first; 0: it is empty */
    int32_t *near,
        n_near; /* rows that live at the same time as one, by their places */
} Layout;

static bool meet(const Row *row, const Row *other)
{
    return row->first <= other->last && other->first <= row->last;
}

static void add_near(Layout *layout, int32_t number)
{
    const Row *row = layout->deal->row;
    int32_t *near = layout->near;
    int32_t to = layout->n_near++;
    while (to && row[near[to - 1]].at > row[number].at) {
        near[to] = near[to - 1];
        to--;
    }
    near[to] = number;
}

/* A row stands in several lists: it is met in the first that both have. */
static void find_near(Layout *layout, const Row *row)
{
    const int32_t first = row->first / CALLS_OF_LIST;
    const int32_t last = row->last / CALLS_OF_LIST;
    layout->n_near = 0;
    for (int32_t k = first; k <= last; k++) {
        int32_t number = layout->list[k];
        while (number) {
            const Placed *placed = layout->placed.at + number - 1;
            const Row *other = layout->deal->row + placed->row;
            const bool met = k > first && other->first / CALLS_OF_LIST < k;
            if (!met && meet(row, other))
                add_near(layout, placed->row);
            number = placed->next;
        }
    }
}

/* The lowest place that is free for as long as the row lives. */
static int64_t lowest_place(Layout *layout, const Row *row)
{
    int64_t at = 0;
    find_near(layout, row);
    for (int32_t i = 0; i < layout->n_near; i++) {
        const Row *other = layout->deal->row + layout->near[i];
        if (other->at - at >= row->bytes)
            break;
        at = i64_max(at, other->at + other->bytes);
    }
    return at;
}

static void list_placed(Layout *layout, int32_t number)
{
    const Row *row = layout->deal->row + number;
    const int32_t last = row->last / CALLS_OF_LIST;
    for (int32_t k = row->first / CALLS_OF_LIST; k <= last; k++) {
        const Placed placed = { number, layout->list[k] };
        VEC_PUSH(layout->deal->arena, &layout->placed, placed);
        layout->list[k] = (int32_t)layout->placed.n;
    }
}

static Layout layout_new(const Deal *deal)
{
    const int32_t lists = deal->stream->calls / CALLS_OF_LIST + 1;
    return (Layout){
        .deal = deal,
        .list = NEW_ARRAY(deal->arena, int32_t, lists),
        .near = NEW_ARRAY(deal->arena, int32_t, deal->rows + 1),
    };
}

/* Gives the rows their places; returns the bytes of the pool, or stops where they would be `most`
 * or more. */
static int64_t lay_out(const Deal *deal, Way way, int64_t most)
{
    const ArenaMark mark = arena_mark(deal->arena);
    Layout layout = layout_new(deal);
    Turn *turn = NEW_ARRAY(deal->arena, Turn, deal->rows + 1);
    int64_t pool = 0;
    size_t n = 0;
    for (int32_t i = 0; i < deal->rows; i++)
        if (deal->row[i].last >= 0)
            turn[n++] = (Turn){ key_of(deal->row + i, way), i };
    qsort(turn, n, sizeof *turn, by_key);
    for (size_t i = 0; i < n && pool < most; i++) {
        Row *row = deal->row + turn[i].row;
        row->at = lowest_place(&layout, row);
        pool = i64_max(pool, row->at + row->bytes);
        list_placed(&layout, turn[i].row);
    }
    arena_release(deal->arena, mark);
    return pool;
}

/* The best way to lay them out in less than `most` bytes; WAYS: there is none. */
static Way find_best(const Deal *deal, int64_t most, int64_t *pool)
{
    Way best = WAYS;
    *pool = most;
    for (Way way = 0; way < WAYS && deal->alive < *pool; way++) {
        const int64_t bytes = lay_out(deal, way, *pool);
        if (bytes >= *pool)
            continue;
        *pool = bytes;
        best = way;
    }
    return best;
}

/* What stays of a deal. */
typedef struct Given {
    RowSlots *ring; /* of each ring */
    uint16_t *slot; /* of each of their rows */
} Given;

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
    new_rows(deal);
    list_calls(deal);
    note_lives(deal);
    deal->alive = count_alive(deal);
    const int64_t least = items_round(deal->all, deal->alive);
    return least < deal->rings &&
           deal->stream->bytes - deal->rings + least <= most;
}

/* False: the rings stay as they are. */
static bool deal_pool(Deal *deal, Stream *stream, int64_t most,
                      const Given *given)
{
    int64_t bytes;
    if (!prepare(deal, most))
        return false;
    const int64_t fits = most - stream->bytes + deal->rings;
    const int64_t less = i64_min(deal->rings - 1, fits);
    const Way way = find_best(deal, less + 1, &bytes);
    const int64_t pool = items_round(deal->all, bytes);
    if (way == WAYS || pool > less)
        return false;
    lay_out(deal, way, bytes + 1);
    give_slots(deal, stream, pool, given);
    stream->bytes += pool - deal->rings;
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
void deal_rows(Arena *arena, const Items *all, Stream *stream, int64_t most)
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
    const bool dealt = deal_pool(&deal, stream, i64_add(most, saved), &given);
    arena_release(arena, dealt ? mark : before);
}
