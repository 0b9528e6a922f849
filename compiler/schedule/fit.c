/* SPDX-License-Identifier: Apache-2.0
 * Rows of a pool one after the other to the lowest place that is free for as long as they live. */
#include <stdlib.h>
#include <string.h>

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

enum { CALLS_OF_LIST = 16 };

/* A row that has its place, with what most others ask of it. */
typedef struct Placed {
    int64_t at, end;
    int32_t first, last;
    int32_t row, over;
} Placed;

/* Where a row must not begin: strictly between two places. */
typedef struct Gap {
    int64_t lo, hi;
} Gap;

typedef struct Layout {
    const Deal *deal;
    /* of each few calls: rows that live in them and have their places, the lowest first, how many
     * there are, and how many of them were passed in search of a place */
    Placed **list;
    int32_t *listed, *passed;
    bool *has_place; /* by row */
    /* by row: 1 + one of those that may lie over the same, or over it; 0: there is none */
    int32_t *next_under, *under;
    /* where the row that is placed must not begin because of those that it may lie over, or that
     * may lie over it */
    Gap *gap;
    int32_t gaps;
    const int64_t *room; /* of each row, beside it; NULL: there is none */
    int64_t seen;        /* rows that were looked at */
    size_t n;            /* rows that have their places, of an order */
} Layout;

static int32_t list_of(int32_t call)
{
    return call / CALLS_OF_LIST;
}

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

/* Of rows that the row may lie over. */
static void add_gap_under(Layout *layout, const Row *row, int32_t under)
{
    const Deal *deal = layout->deal;
    const Row *dying = deal->row + under;
    if (layout->has_place[under] && meet(row, dying))
        add_parts(layout, dying->at, gap_over(deal, dying, row), dying->equal);
}

/* Of the row that may lie over the row. */
static void add_gap_above(Layout *layout, const Row *row)
{
    const Deal *deal = layout->deal;
    if (row->over < 0 || !layout->has_place[row->over])
        return;
    const Row *made = deal->row + row->over;
    const Gap gap = gap_over(deal, row, made);
    if (meet(row, made))
        add_parts(layout, made->at, (Gap){ -gap.hi, -gap.lo }, row->equal);
}

static void find_gaps(Layout *layout, int32_t number)
{
    const Row *row = layout->deal->row + number;
    layout->gaps = 0;
    add_gap_above(layout, row);
    int32_t next = layout->under[number];
    while (next) {
        add_gap_under(layout, row, next - 1);
        next = layout->next_under[next - 1];
    }
}

/* The work for a row is that of a look at all others in the calls in which it lives. */
static void count_seen(Layout *layout, const Row *row)
{
    const int32_t last = list_of(row->last);
    for (int32_t k = list_of(row->first); k <= last; k++)
        layout->seen += layout->listed[k];
}

/* May the two lie nowhere over one another while both live? The answer is as good as random: it
 * comes without branches. */
static bool excludes(const Placed *placed, const Row *row, int32_t number)
{
    return (placed->first <= row->last) & (row->first <= placed->last) &
           (placed->over != number) & (placed->row != row->over);
}

/* The lowest place from `at` on that is beside the rows of a list, up to one that lies behind it
 * with the room that is needed. As places rise, rows that were passed stay below. */
static int64_t leave_rows(const Layout *layout, int32_t list, int32_t number,
                          int64_t needed, int64_t at)
{
    const Row *row = layout->deal->row + number;
    const Placed *placed = layout->list[list];
    const int32_t end = layout->listed[list];
    int32_t i = layout->passed[list];
    for (; i < end && placed[i].at - needed < at; i++) {
        const bool excluded = excludes(placed + i, row, number);
        at = i64_max(at, excluded ? placed[i].end : at);
    }
    layout->passed[list] = i;
    return at;
}

/* The same, beside what the gaps forbid. */
static int64_t leave_gaps(const Layout *layout, int64_t at, int64_t room)
{
    for (int32_t i = 0; i < layout->gaps; i++) {
        const Gap *gap = layout->gap + i;
        if (gap->lo - room < at && at < gap->hi)
            at = gap->hi;
    }
    return at;
}

/* The lowest place with so much room behind it that is free for as long as the row lives. */
static int64_t lowest_place(const Layout *layout, int32_t number, int64_t room)
{
    const Row *row = layout->deal->row + number;
    const int64_t needed = row->bytes + room;
    const int32_t first = list_of(row->first);
    const int32_t last = list_of(row->last);
    int64_t from, at = 0;
    for (int32_t k = first; k <= last; k++)
        layout->passed[k] = 0;
    do {
        from = at;
        for (int32_t k = first; k <= last; k++)
            at = leave_rows(layout, k, number, needed, at);
        at = leave_gaps(layout, at, room);
    } while (at > from);
    return at;
}

static bool is_free(const Layout *layout, int32_t number, int64_t at)
{
    const Row *row = layout->deal->row + number;
    const int32_t last = list_of(row->last);
    for (int32_t k = list_of(row->first); k <= last; k++) {
        const Placed *placed = layout->list[k];
        const Placed *end = placed + layout->listed[k];
        for (; placed < end && placed->at - row->bytes < at; placed++)
            if (at < placed->end && excludes(placed, row, number))
                return false;
    }
    return at >= 0 && leave_gaps(layout, at, 0) == at;
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
    return is_free(layout, number, at) ? at : -1;
}

/* The row keeps room beside it for those that come to lie over it. */
static int64_t find_place(Layout *layout, int32_t number)
{
    count_seen(layout, layout->deal->row + number);
    find_gaps(layout, number);
    const int64_t over = place_over(layout, number);
    if (over >= 0 || !layout->room)
        return over >= 0 ? over : lowest_place(layout, number, 0);
    const int64_t room = layout->room[number];
    const int64_t at = lowest_place(layout, number, room);
    return layout->deal->stream->backward ? at : at + room;
}

/* The first of a list that lies higher. */
static int32_t first_above(const Layout *layout, int32_t list, int64_t at)
{
    int32_t first = 0;
    int32_t end = layout->listed[list];
    while (first < end) {
        const int32_t middle = first + (end - first) / 2;
        if (layout->list[list][middle].at > at)
            end = middle;
        else
            first = middle + 1;
    }
    return first;
}

static void insert(Layout *layout, int32_t list, const Placed *placed)
{
    const int32_t i = first_above(layout, list, placed->at);
    const int32_t above = layout->listed[list] - i;
    Placed *put = layout->list[list] + i;
    memmove(put + 1, put, (size_t)above * sizeof *put);
    *put = *placed;
    layout->listed[list]++;
}

static void list_placed(Layout *layout, int32_t number)
{
    const Row *row = layout->deal->row + number;
    const int32_t last = list_of(row->last);
    const Placed placed = {
        .at = row->at,
        .end = row->at + row->bytes,
        .first = row->first,
        .last = row->last,
        .row = number,
        .over = row->over,
    };
    for (int32_t k = list_of(row->first); k <= last; k++)
        insert(layout, k, &placed);
    layout->has_place[number] = true;
}

/* Rows whose places were taken from them leave the list. */
static void clear_list(Layout *layout, int32_t list)
{
    Placed *placed = layout->list[list];
    int32_t kept = 0;
    for (int32_t i = 0; i < layout->listed[list]; i++) {
        placed[kept] = placed[i];
        kept += layout->has_place[placed[i].row];
    }
    layout->listed[list] = kept;
}

/* Room in each list for all rows that live then. */
static void new_lists(Layout *layout, int32_t lists, int32_t rows)
{
    const Deal *deal = layout->deal;
    Arena *arena = deal->arena;
    layout->list = NEW_ARRAY(arena, Placed *, lists);
    layout->listed = NEW_ARRAY(arena, int32_t, lists);
    layout->passed = NEW_ARRAY(arena, int32_t, lists);
    for (int32_t i = 0; i < rows; i++) {
        const Row *row = deal->row + i;
        for (int32_t k = list_of(row->first);
             row->last >= 0 && k <= list_of(row->last); k++)
            layout->passed[k]++;
    }
    for (int32_t k = 0; k < lists; k++)
        layout->list[k] = NEW_ARRAY(arena, Placed, layout->passed[k] + 1);
}

static void list_under(Layout *layout, int32_t rows)
{
    for (int32_t i = 0; i < rows; i++) {
        const int32_t over = layout->deal->row[i].over;
        if (over < 0)
            continue;
        layout->next_under[i] = layout->under[over];
        layout->under[over] = i + 1;
    }
}

static Layout layout_new(const Deal *deal, const int64_t *room)
{
    Arena *arena = deal->arena;
    const int32_t lists = deal->stream->calls / CALLS_OF_LIST + 1;
    const int32_t rows = deal->rows + deal->tail;
    Layout layout = {
        .deal = deal,
        .has_place = NEW_ARRAY(arena, bool, rows + 1),
        .next_under = NEW_ARRAY(arena, int32_t, rows + 1),
        .under = NEW_ARRAY(arena, int32_t, rows + 1),
        .room = room,
        .gap = NEW_ARRAY(arena, Gap, 2 * rows + 2),
    };
    new_lists(&layout, lists, rows);
    list_under(&layout, rows);
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
    int32_t first = INT32_MAX;
    int32_t last = -1;
    for (size_t k = i; k < layout->n; k++) {
        const int32_t number = fit->turn[k].row;
        const Row *row = fit->deal->row + number;
        layout->has_place[number] = false;
        first = (int32_t)i64_min(first, list_of(row->first));
        last = (int32_t)i64_max(last, list_of(row->last));
    }
    for (int32_t k = first; k <= last; k++)
        clear_list(layout, k);
    if (i < layout->n)
        layout->n = i;
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

int64_t deal_enough(const Deal *deal, const DealAim *aim)
{
    return i64_max(deal->alive, aim->enough + deal_shared(deal));
}

int64_t deal_fit(const Deal *deal, const DealAim *aim)
{
    const int64_t most = aim->most + deal_shared(deal);
    Fit fit = {
        .deal = deal,
        .turn = NEW_ARRAY(deal->arena, Turn, deal->rows + 1),
        .least = most + 1,
        .enough = deal_enough(deal, aim),
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
