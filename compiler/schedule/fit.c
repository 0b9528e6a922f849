/* SPDX-License-Identifier: Apache-2.0
 * Rows of a pool one after the other to the lowest place that is free for as long as they live. */
#include <stdlib.h>

#include "base/size.h"
#include "schedule/pool.h"

/* Layouts of each order, rows that found no place coming earlier, and rows that they look at. */
enum { TRIES = 60, QUICK_TRIES = 8, ROWS_OF_TRIES = 160000 };

/* In which order rows are laid out at first. */
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

/* Where a row must not begin: strictly between two places. */
typedef struct Gap {
    int64_t lo, hi;
} Gap;

typedef struct Layout {
    const Deal *deal;
    VEC(Placed) placed;
    int32_t *list; /* 1 + the number of its first; 0: it is empty */
    /* where the row that is placed must not begin */
    Gap *gap;
    int32_t gaps;
    const int64_t *room; /* of each row, beside it; NULL: there is none */
    int64_t seen;        /* rows that were looked at */
    size_t n;            /* rows that have their places, of an order */
} Layout;

static bool meet(const Row *row, const Row *other)
{
    return row->first <= other->last && other->first <= row->last;
}

static void add_gap(Layout *layout, Gap gap)
{
    layout->gap[layout->gaps++] = gap;
}

/* Where a row must not begin that may lie over one that dies, seen from where that begins. */
static Gap gap_over(const Deal *deal, const Row *dying, const Row *made)
{
    if (deal->stream->backward)
        return (Gap){ -made->bytes, i64_min(dying->apart, dying->bytes) };
    return (Gap){ -i64_min(dying->apart, made->bytes), dying->bytes };
}

/* Of a gap, seen from `at`, those parts in which `equal` places are left out. */
static void add_parts(Layout *layout, int64_t at, Gap gap, bool equal)
{
    if (equal && gap.lo < 0 && gap.hi > 0) {
        add_gap(layout, (Gap){ at + gap.lo, at });
        gap.lo = 0;
    }
    add_gap(layout, (Gap){ at + gap.lo, at + gap.hi });
}

/* Where the row must not begin because of one that has its place. */
static void avoid(Layout *layout, int32_t number, int32_t placed)
{
    const Deal *deal = layout->deal;
    const Row *row = deal->row + number;
    const Row *other = deal->row + placed;
    if (other->over == number) {
        add_parts(layout, other->at, gap_over(deal, other, row), other->equal);
        return;
    }
    if (row->over == placed) {
        const Gap gap = gap_over(deal, row, other);
        add_parts(layout, other->at, (Gap){ -gap.hi, -gap.lo }, row->equal);
        return;
    }
    add_gap(layout, (Gap){ other->at - row->bytes, other->at + other->bytes });
}

/* A row stands in several lists: it is met in the first that both have. */
static void find_gaps(Layout *layout, int32_t number)
{
    const Row *row = layout->deal->row + number;
    const int32_t first = row->first / CALLS_OF_LIST;
    const int32_t last = row->last / CALLS_OF_LIST;
    layout->gaps = 0;
    for (int32_t k = first; k <= last; k++) {
        int32_t next = layout->list[k];
        while (next) {
            const Placed *placed = layout->placed.at + next - 1;
            const Row *other = layout->deal->row + placed->row;
            const bool met = k > first && other->first / CALLS_OF_LIST < k;
            if (!met && meet(row, other))
                avoid(layout, number, placed->row);
            next = placed->next;
            layout->seen++;
        }
    }
}

/* The lowest place from `at` on that none of the gaps forbids, seen once in the order in which they
 * stand: one that was seen early may forbid it yet. */
static int64_t leave_gaps(const Layout *layout, int64_t at, int64_t room)
{
    const Gap *gap = layout->gap + layout->gaps;
    while (gap-- > layout->gap)
        if (gap->lo - room < at && at < gap->hi)
            at = gap->hi;
    return at;
}

/* The lowest place with so much room behind it that is free for as long as the row lives. The gaps
 * stand in any order: a few looks at all of them cost no more than to sort them. */
static int64_t lowest_place(const Layout *layout, int64_t room)
{
    int64_t from, at = 0;
    do {
        from = at;
        at = leave_gaps(layout, from, room);
    } while (at > from);
    return at;
}

static bool is_free(const Layout *layout, int64_t at)
{
    for (int32_t i = 0; i < layout->gaps; i++)
        if (layout->gap[i].lo < at && at < layout->gap[i].hi)
            return false;
    return at >= 0;
}

static int64_t apart_of(const Row *row)
{
    return row->equal ? 0 : i64_max(row->apart, 0);
}

/* Where the row lies just over one that it is made of; -1: there is none, or it is not free. */
static int64_t place_over(const Layout *layout, int32_t number)
{
    const Deal *deal = layout->deal;
    const int32_t under = deal->row[number].under;
    if (under < 0 || !layout->room)
        return -1;
    const Row *row = deal->row + under;
    const int64_t apart = apart_of(row);
    const int64_t at =
        deal->stream->backward ? row->at + apart : row->at - apart;
    return is_free(layout, at) ? at : -1;
}

/* The row keeps room beside it for those that come to lie over it. */
static int64_t find_place(Layout *layout, int32_t number)
{
    find_gaps(layout, number);
    const int64_t over = place_over(layout, number);
    if (over >= 0 || !layout->room)
        return over >= 0 ? over : lowest_place(layout, 0);
    const int64_t room = layout->room[number];
    const int64_t at = lowest_place(layout, room);
    return layout->deal->stream->backward ? at : at + room;
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

/* Of the row that was listed last. */
static void unlist_placed(Layout *layout, int32_t number)
{
    const Row *row = layout->deal->row + number;
    for (int32_t k = row->last / CALLS_OF_LIST; k >= row->first / CALLS_OF_LIST;
         k--)
        layout->list[k] = layout->placed.at[--layout->placed.n].next;
}

static Layout layout_new(const Deal *deal, const int64_t *room)
{
    const int32_t lists = deal->stream->calls / CALLS_OF_LIST + 1;
    Layout layout = {
        .deal = deal,
        .list = NEW_ARRAY(deal->arena, int32_t, lists),
        .room = room,
        .gap = NEW_ARRAY(deal->arena, Gap, 2 * (deal->rows + deal->tail) + 1),
    };
    for (int32_t k = 0; k < deal->tail; k++)
        list_placed(&layout, deal->rows + k);
    return layout;
}

/* The best layout so far, and the order of the next. */
typedef struct Fit {
    const Deal *deal;
    Turn *turn;
    size_t n;
    /* bytes that the best of these orders takes, and the best of all */
    int64_t pool, least;
    int64_t enough;      /* no layout needs to be smaller */
    int64_t *at;         /* where rows lie in the best of all */
    const int64_t *room; /* that rows keep beside them; NULL: none */
} Fit;

static void sort_rows(Fit *fit, Way way)
{
    const Deal *deal = fit->deal;
    fit->n = 0;
    for (int32_t i = 0; i < deal->rows; i++)
        if (deal->row[i].last >= 0)
            fit->turn[fit->n++] = (Turn){ key_of(deal->row + i, way), i };
    qsort(fit->turn, fit->n, sizeof *fit->turn, by_key);
}

static int64_t end_of(const Fit *fit, size_t i)
{
    const Row *row = fit->deal->row + fit->turn[i].row;
    return row->at + row->bytes;
}

/* All rows have their places. */
static void keep_places(Fit *fit)
{
    fit->pool = 0;
    for (size_t i = 0; i < fit->n; i++)
        fit->pool = i64_max(fit->pool, end_of(fit, i));
    if (fit->pool >= fit->least)
        return;
    fit->least = fit->pool;
    for (int32_t i = 0; i < fit->deal->rows; i++)
        fit->at[i] = fit->deal->row[i].at;
}

/* Lays out the rest of the rows in their order, up to one that would make the pool no smaller than
 * the best of these orders. False: there is none, this layout is the best. */
static bool lay_out(Fit *fit, Layout *layout)
{
    for (; layout->n < fit->n; layout->n++) {
        const int32_t number = fit->turn[layout->n].row;
        fit->deal->row[number].at = find_place(layout, number);
        if (end_of(fit, layout->n) >= fit->pool)
            return true;
        list_placed(layout, number);
    }
    keep_places(fit);
    return false;
}

/* Rows of the order from the i-th on have no places any more. */
static void cut(const Fit *fit, Layout *layout, size_t i)
{
    while (layout->n > i)
        unlist_placed(layout, fit->turn[--layout->n].row);
}

static size_t first_at_end(const Fit *fit)
{
    size_t i = 0;
    while (i < fit->n && end_of(fit, i) < fit->pool)
        i++;
    return i;
}

/* The row that found no place comes before the i-th. */
static void take_earlier(const Fit *fit, Layout *layout, size_t i)
{
    const size_t from = layout->n;
    const Turn turn = fit->turn[from];
    cut(fit, layout, i);
    for (size_t k = from; k > i; k--)
        fit->turn[k] = fit->turn[k - 1];
    fit->turn[i] = turn;
}

/* A row that found no place comes earlier in the next layout: first of all, or by a quarter of
 * those before it. What comes before stays where it is. Layouts of `pool` bytes are of no use. */
static void try_orders(Fit *fit, bool first, int tries, int64_t pool)
{
    const ArenaMark mark = arena_mark(fit->deal->arena);
    Layout layout = layout_new(fit->deal, fit->room);
    fit->pool = pool;
    for (int i = 0; i < tries && layout.seen < ROWS_OF_TRIES; i++) {
        const bool failed = lay_out(fit, &layout);
        const size_t n = layout.n;
        if (fit->least <= fit->enough)
            break;
        if (failed)
            take_earlier(fit, &layout, first ? 0 : n - n / 4);
        else
            cut(fit, &layout, first_at_end(fit));
    }
    arena_release(fit->deal->arena, mark);
}

static void try_way(Fit *fit, Way way, DealEffort effort)
{
    if (fit->least <= fit->enough)
        return;
    sort_rows(fit, way);
    if (effort == DEAL_QUICK) {
        try_orders(fit, false, QUICK_TRIES, fit->least);
        return;
    }
    try_orders(fit, false, TRIES, INT64_MAX);
    sort_rows(fit, way);
    try_orders(fit, true, TRIES, INT64_MAX);
}

/* What rows that come to lie over one, and over one another, are apart in all. */
static const int64_t *find_rooms(const Deal *deal)
{
    int64_t *room = NEW_ARRAY(deal->arena, int64_t, deal->rows + 1);
    Turn *turn = NEW_ARRAY(deal->arena, Turn, deal->rows + 1);
    for (int32_t i = 0; i < deal->rows; i++)
        turn[i] = (Turn){ deal->row[i].last, i };
    qsort(turn, (size_t)deal->rows, sizeof *turn, by_key);
    for (int32_t i = 0; i < deal->rows; i++) {
        const int32_t number = turn[i].row;
        const Row *row = deal->row + number;
        if (row->over >= 0 && deal->row[row->over].under == number)
            room[number] = apart_of(row) + room[row->over];
    }
    return room;
}

int64_t deal_fit(const Deal *deal, const DealAim *aim)
{
    int64_t more = 0; /* that the pool may have, as it lies over the result */
    if (deal->tail)
        more = touch_item(deal->all, deal->result)->size - deal_lead(deal);
    const int64_t most = aim->most + more;
    Fit fit = {
        .deal = deal,
        .turn = NEW_ARRAY(deal->arena, Turn, deal->rows + 1),
        .least = most + 1,
        .enough = i64_max(deal->alive, aim->enough + more),
        .at = NEW_ARRAY(deal->arena, int64_t, deal->rows + 1),
    };
    for (Way way = 0; way < WAYS; way++)
        try_way(&fit, way, aim->effort);
    fit.room = find_rooms(deal);
    try_way(&fit, BY_BIRTH, aim->effort);
    for (int32_t i = 0; i < deal->rows && fit.least <= most; i++)
        deal->row[i].at = fit.at[i];
    return fit.least;
}
