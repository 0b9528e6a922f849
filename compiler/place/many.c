/* SPDX-License-Identifier: Apache-2.0
 * Placing for problems with too many pairs to list: items in order of birth, each at the lowest
 * place that is free then, and the same from the end backward; near linear in items and
 * overrides. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "place/problem.h"
#include "place/room.h"

/* More neighbours than this of an item, and of those that it may overlap, and it overlaps none. */
enum { MOST_NEIGHBOURS = 4096 };

/* Units that are taken in an item's name. Where items overlap they are the name's that ends last.
 */
typedef struct Piece {
    int64_t low, high;
    int32_t next;
} Piece;

typedef struct Many {
    Arena *a;
    const Problem *p;
    Room *room;
    const int32_t *begin, *end; /* in the direction at hand */
    int64_t *offset;            /* -1: not placed yet */
    int32_t *first;             /* piece of an item; -1: none */
    /* by item: the last item that it is a neighbour of, plus one */
    int32_t *seen;
    VEC(Piece) piece;
    int32_t spare;          /* pieces */
    VEC(int32_t) partner;   /* alive, of the item at hand */
    VEC(int32_t) neighbour; /* alive over those, and not to be overlapped */
} Many;

/* ---- pieces ---- */

static void add_piece(Many *many, int32_t item, int64_t low, int64_t high)
{
    int32_t k = many->spare;
    if (k >= 0) {
        many->spare = many->piece.at[k].next;
    } else {
        k = (int32_t)many->piece.n;
        VEC_PUSH(many->a, &many->piece, ((Piece){ 0 }));
    }
    many->piece.at[k] = (Piece){ low, high, many->first[item] };
    many->first[item] = k;
}

static void free_pieces(Many *many, int32_t item)
{
    for (int32_t k = many->first[item]; k >= 0; k = many->piece.at[k].next)
        room_free(many->room, many->piece.at[k].low, many->piece.at[k].high);
}

static void spare_piece(Many *many, int32_t k)
{
    many->piece.at[k].next = many->spare;
    many->spare = k;
}

static void forget_pieces(Many *many, int32_t item)
{
    int32_t next = many->first[item];
    while (next >= 0) {
        const int32_t k = next;
        next = many->piece.at[k].next;
        spare_piece(many, k);
    }
    many->first[item] = -1;
}

/* What is free of a range becomes the item's. */
static void take_free(Many *many, int32_t item, int64_t low, int64_t high)
{
    int64_t from, to;
    while (room_next(many->room, low, high, &from, &to)) {
        room_take(many->room, from, to);
        add_piece(many, item, from, to);
        low = to;
    }
}

static void take_pieces_again(Many *many, int32_t item)
{
    int32_t next = many->first[item];
    many->first[item] = -1;
    while (next >= 0) {
        const Piece piece = many->piece.at[next];
        spare_piece(many, next);
        next = piece.next;
        take_free(many, item, piece.low, piece.high);
    }
}

/* ---- one item ---- */

static bool is_alive(const Many *many, int32_t item, int32_t now)
{
    return many->offset[item] >= 0 && many->first[item] >= 0 &&
           many->end[item] > now;
}

/* Those that item i may overlap. */
static void list_partners(Many *many, int32_t i)
{
    const Problem *problem = many->p;
    const size_t end = problem->partners[i + 1];
    many->partner.n = 0;
    many->seen[i] = i + 1;
    for (size_t k = problem->partners[i]; k < end; k++) {
        const int32_t j = problem->partner[k].item;
        many->seen[j] = i + 1;
        if (is_alive(many, j, many->begin[i]))
            VEC_PUSH(many->a, &many->partner, j);
    }
}

static void add_neighbour(Many *many, int32_t i, int32_t other)
{
    const bool seen = many->seen[other] == i + 1;
    if (seen || many->offset[other] < 0 || many->end[other] <= many->begin[i])
        return;
    many->seen[other] = i + 1;
    VEC_PUSH(many->a, &many->neighbour, other);
}

/* What item i would meet there. False: too many. */
static bool list_neighbours(Many *many, int32_t i)
{
    const Problem *problem = many->p;
    many->neighbour.n = 0;
    for (size_t n = 0; n < many->partner.n; n++) {
        const int32_t j = many->partner.at[n];
        const size_t end = problem->partners[j + 1];
        for (size_t k = problem->partners[j]; k < end; k++) {
            if (many->neighbour.n + many->partner.n > MOST_NEIGHBOURS)
                return false;
            add_neighbour(many, i, problem->partner[k].item);
        }
    }
    return true;
}

/* The lowest offset at or above y that the overrides of item i and a placed partner leave. */
static int64_t raise_over_partner(const Many *many, int32_t i,
                                  const Partner *partner, int64_t y)
{
    const Problem *problem = many->p;
    const int64_t at = many->offset[partner->item];
    for (int32_t k = 0; k < partner->arcs; k++) {
        const Arc *arc = problem->arc + partner->first + k;
        const bool forward = arc->i == i;
        const int64_t lo = at + (forward ? arc->lo : -arc->hi);
        const int64_t hi = at + (forward ? arc->hi : -arc->lo);
        if (lo < y && y < hi)
            y = place_up(hi, problem->align[i]);
    }
    return y;
}

/* The same of all its overrides and of its neighbours. */
static int64_t raise(const Many *many, int32_t i, int64_t y)
{
    const Problem *problem = many->p;
    const size_t partners_end = problem->partners[i + 1];
    for (size_t k = problem->partners[i]; k < partners_end; k++) {
        const Partner *partner = problem->partner + k;
        if (many->offset[partner->item] >= 0)
            y = raise_over_partner(many, i, partner, y);
    }
    for (size_t k = 0; k < many->neighbour.n; k++) {
        const int32_t j = many->neighbour.at[k];
        const int64_t begin = many->offset[j];
        const int64_t end = begin + problem->size[j];
        if (y < end && begin < y + problem->size[i])
            y = place_up(end, problem->align[i]);
    }
    return y;
}

static int64_t find_offset(const Many *many, int32_t i)
{
    const int64_t size = many->p->size[i];
    const int64_t align = many->p->align[i];
    int64_t y = room_find(many->room, size, align, 0);
    int64_t raised = raise(many, i, y);
    while (raised != y) {
        y = room_find(many->room, size, align, raised);
        raised = raise(many, i, y);
    }
    return y;
}

/* Partners that end before item i, or that do not, take their pieces again. */
static void restore_partners(Many *many, int32_t i, bool before)
{
    for (size_t k = 0; k < many->partner.n; k++) {
        const int32_t j = many->partner.at[k];
        if ((many->end[j] < many->end[i]) == before)
            take_pieces_again(many, j);
    }
}

static void place_one(Many *many, int32_t i)
{
    list_partners(many, i);
    if (!list_neighbours(many, i)) {
        many->partner.n = 0;
        many->neighbour.n = 0;
    }
    for (size_t k = 0; k < many->partner.n; k++)
        free_pieces(many, many->partner.at[k]);
    const int64_t y = find_offset(many, i);
    many->offset[i] = y;
    restore_partners(many, i, false);
    take_free(many, i, y, y + many->p->size[i]);
    restore_partners(many, i, true);
}

/* ---- all of them ---- */

typedef struct Timed {
    int32_t time, item;
    int64_t size;
} Timed;

static int by_time(const void *a, const void *b)
{
    const Timed *x = a;
    const Timed *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return 0;
}

static Timed *rank(const Many *many, const int32_t *time)
{
    const Problem *problem = many->p;
    Timed *ranked = NEW_ARRAY(many->a, Timed, problem->n + 1);
    for (int i = 0; i < problem->n; i++)
        ranked[i] = (Timed){ time[i], i, problem->size[i] };
    qsort(ranked, (size_t)problem->n, sizeof *ranked, by_time);
    return ranked;
}

/* What is pinned keeps its place all the time. */
static void take_pinned(Many *many)
{
    const Problem *problem = many->p;
    int64_t from, to;
    for (int i = 0; i < problem->n; i++) {
        if (problem->pin[i] < 0)
            continue;
        const int64_t low = problem->pin[i];
        const int64_t high = low + problem->size[i];
        many->offset[i] = low;
        while (room_next(many->room, low, high, &from, &to))
            room_take(many->room, from, to);
    }
}

static int64_t sweep(Many *many)
{
    const Problem *problem = many->p;
    const Timed *birth = rank(many, many->begin);
    const Timed *death = rank(many, many->end);
    for (int i = 0; i < problem->n; i++)
        many->offset[i] = many->first[i] = -1;
    memset(many->seen, 0, sizeof *many->seen * (size_t)problem->n);
    take_pinned(many);
    int gone = 0;
    for (int k = 0; k < problem->n; k++) {
        const int32_t born = birth[k].item;
        for (; death[gone].time <= birth[k].time; gone++) {
            free_pieces(many, death[gone].item);
            forget_pieces(many, death[gone].item);
        }
        if (problem->pin[born] < 0)
            place_one(many, born);
    }
    return place_height(problem, many->offset);
}

int64_t place_many(Arena *arena, const Problem *problem, bool backward,
                   int64_t *offset)
{
    const ArenaMark mark = arena_mark(arena);
    int32_t *begin = NEW_ARRAY(arena, int32_t, problem->n + 1);
    int32_t *end = NEW_ARRAY(arena, int32_t, problem->n + 1);
    for (int i = 0; i < problem->n; i++) {
        begin[i] = backward ? -problem->end[i] : problem->begin[i];
        end[i] = backward ? -problem->begin[i] : problem->end[i];
    }
    Many many = { .a = arena,
                  .p = problem,
                  .room = room_new(arena),
                  .begin = begin,
                  .end = end,
                  .offset = offset,
                  .first = NEW_ARRAY(arena, int32_t, problem->n + 1),
                  .seen = NEW_ARRAY(arena, int32_t, problem->n + 1),
                  .spare = -1 };
    const int64_t height = problem->n ? sweep(&many) : 0;
    arena_release(arena, mark);
    return height;
}

/* Windows of pinned items, each as it comes and goes. */
typedef struct Window {
    int32_t time;
    bool born;
    int32_t item;
    int64_t low, high;
} Window;

static int by_coming(const void *a, const void *b)
{
    const Window *x = a;
    const Window *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->born != y->born)
        return x->born ? 1 : -1;
    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return 0;
}

typedef VEC(Window) Windows;

static void list_windows(Arena *arena, const PlaceItem *item, int32_t i,
                         Windows *window)
{
    for (int k = 0; k < place_parts(item); k++) {
        const PlacePart part = place_part(item, k);
        Window coming = {
            .time = part.begin,
            .born = true,
            .item = i,
            .low = item->pin + part.offset,
            .high = item->pin + part.offset + part.size,
        };
        if (!place_part_lives(&part))
            continue;
        VEC_PUSH(arena, window, coming);
        coming.time = part.end;
        coming.born = false;
        VEC_PUSH(arena, window, coming);
    }
}

/* False: some of it is taken. */
static bool open_window(Room *room, const Window *window)
{
    int64_t from = 0;
    int64_t to = 0;
    if (!room_next(room, window->low, window->high, &from, &to))
        return false;
    if (from > window->low || to < window->high)
        return false;
    room_take(room, window->low, window->high);
    return true;
}

bool place_pins_meet(Arena *arena, const Problem *problem)
{
    const ArenaMark mark = arena_mark(arena);
    Windows window = { 0 };
    for (int i = 0; i < problem->n; i++)
        if (problem->pin[i] >= 0)
            list_windows(arena, place_item(problem, i), i, &window);
    if (window.n)
        qsort(window.at, window.n, sizeof *window.at, by_coming);
    Room *room = room_new(arena);
    bool meet = false;
    for (size_t k = 0; k < window.n && !meet; k++) {
        const Window *at = window.at + k;
        if (at->born)
            meet = !open_window(room, at);
        else
            room_free(room, at->low, at->high);
    }
    arena_release(arena, mark);
    return meet;
}
