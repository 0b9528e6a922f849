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

static void forget_pieces(Many *many, int32_t item)
{
    for (int32_t k = many->first[item], next; k >= 0; k = next) {
        next = many->piece.at[k].next;
        many->piece.at[k].next = many->spare;
        many->spare = k;
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
    const int32_t old = many->first[item];
    many->first[item] = -1;
    for (int32_t k = old, next; k >= 0; k = next) {
        const Piece piece = many->piece.at[k];
        next = piece.next;
        many->piece.at[k].next = many->spare;
        many->spare = k;
        take_free(many, item, piece.low, piece.high);
    }
}

/* ---- one item ---- */

static bool is_alive(const Many *many, int32_t item, int32_t now)
{
    return many->offset[item] >= 0 && many->first[item] >= 0 &&
           many->end[item] > now;
}

/* Those that item i may overlap, and what it would meet there. False: too many. */
static bool list_neighbours(Many *many, int32_t i)
{
    const Problem *problem = many->p;
    many->partner.n = many->neighbour.n = 0;
    many->seen[i] = i + 1;
    for (size_t k = problem->partners[i]; k < problem->partners[i + 1]; k++) {
        const int32_t j = problem->partner[k].item;
        many->seen[j] = i + 1;
        if (is_alive(many, j, many->begin[i]))
            VEC_PUSH(many->a, &many->partner, j);
    }
    for (size_t n = 0; n < many->partner.n; n++) {
        const int32_t j = many->partner.at[n];
        for (size_t k = problem->partners[j]; k < problem->partners[j + 1];
             k++) {
            const int32_t other = problem->partner[k].item;
            if (many->neighbour.n + many->partner.n > MOST_NEIGHBOURS)
                return false;
            if (many->seen[other] == i + 1 || many->offset[other] < 0 ||
                many->end[other] <= many->begin[i])
                continue;
            many->seen[other] = i + 1;
            VEC_PUSH(many->a, &many->neighbour, other);
        }
    }
    return true;
}

/* The lowest offset at or above y that the overrides of item i and its neighbours leave. */
static int64_t raise(const Many *many, int32_t i, int64_t y)
{
    const Problem *problem = many->p;
    for (size_t k = problem->partners[i]; k < problem->partners[i + 1]; k++) {
        const Partner *with = problem->partner + k;
        const int64_t at = many->offset[with->item];
        for (int32_t e = with->first; at >= 0 && e < with->first + with->arcs;
             e++) {
            const Arc *x = problem->arc + e;
            const int64_t lo = at + (x->i == i ? x->lo : -x->hi);
            const int64_t hi = at + (x->i == i ? x->hi : -x->lo);
            if (lo < y && y < hi)
                y = place_up(hi, problem->align[i]);
        }
    }
    for (size_t k = 0; k < many->neighbour.n; k++) {
        const int32_t j = many->neighbour.at[k];
        const int64_t end = many->offset[j] + problem->size[j];
        if (y < end && many->offset[j] < y + problem->size[i])
            y = place_up(end, problem->align[i]);
    }
    return y;
}

static void place_one(Many *many, int32_t i)
{
    const Problem *problem = many->p;
    if (!list_neighbours(many, i))
        many->partner.n = many->neighbour.n = 0;
    for (size_t k = 0; k < many->partner.n; k++)
        free_pieces(many, many->partner.at[k]);
    int64_t y = room_find(many->room, problem->size[i], problem->align[i], 0);
    for (int64_t up; (up = raise(many, i, y)) != y;)
        y = room_find(many->room, problem->size[i], problem->align[i], up);
    many->offset[i] = y;
    for (size_t k = 0; k < many->partner.n; k++)
        if (many->end[many->partner.at[k]] >= many->end[i])
            take_pieces_again(many, many->partner.at[k]);
    take_free(many, i, y, y + problem->size[i]);
    for (size_t k = 0; k < many->partner.n; k++)
        if (many->end[many->partner.at[k]] < many->end[i])
            take_pieces_again(many, many->partner.at[k]);
}

/* ---- all of them ---- */

typedef struct Ranked {
    int32_t time, item;
    int64_t size;
} Ranked;

static int by_time(const void *a, const void *b)
{
    const Ranked *x = a;
    const Ranked *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static Ranked *rank(const Many *many, const int32_t *time)
{
    const Problem *problem = many->p;
    Ranked *ranked = NEW_ARRAY(many->a, Ranked, problem->n + 1);
    for (int i = 0; i < problem->n; i++)
        ranked[i] = (Ranked){ time[i], i, problem->size[i] };
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
        many->offset[i] = problem->pin[i];
        while (room_next(many->room, problem->pin[i],
                         problem->pin[i] + problem->size[i], &from, &to))
            room_take(many->room, from, to);
    }
}

static int64_t sweep(Many *many)
{
    const Problem *problem = many->p;
    const Ranked *birth = rank(many, many->begin);
    const Ranked *death = rank(many, many->end);
    for (int i = 0; i < problem->n; i++)
        many->offset[i] = many->first[i] = -1;
    memset(many->seen, 0, sizeof *many->seen * (size_t)problem->n);
    take_pinned(many);
    for (int k = 0, gone = 0; k < problem->n; k++) {
        for (; death[gone].time <= birth[k].time; gone++) {
            free_pieces(many, death[gone].item);
            forget_pieces(many, death[gone].item);
        }
        if (problem->pin[birth[k].item] < 0)
            place_one(many, birth[k].item);
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
    return x->item < y->item ? -1 : x->item > y->item;
}

bool place_pins_meet(Arena *arena, const Problem *problem)
{
    const ArenaMark mark = arena_mark(arena);
    VEC(Window) window = { 0 };
    for (int i = 0; i < problem->n; i++) {
        const PlaceItem *it = problem->item + problem->from[i];
        const PlacePart whole = { 0, it->size, it->begin, it->end };
        for (int k = 0; problem->pin[i] >= 0 && k < (it->parts ? it->parts : 1);
             k++) {
            const PlacePart w = it->parts ? it->part[k] : whole;
            const int64_t low = it->pin + w.offset;
            const int64_t high = low + w.size;
            if (!w.size || w.begin >= w.end)
                continue;
            VEC_PUSH(arena, &window, ((Window){ w.begin, true, i, low, high }));
            VEC_PUSH(arena, &window, ((Window){ w.end, false, i, low, high }));
        }
    }
    if (window.n)
        qsort(window.at, window.n, sizeof *window.at, by_coming);
    Room *room = room_new(arena);
    bool meet = false;
    for (size_t k = 0; k < window.n && !meet; k++) {
        const Window *w = window.at + k;
        int64_t from = 0;
        int64_t to = 0;
        if (!w->born) {
            room_free(room, w->low, w->high);
            continue;
        }
        meet = !room_next(room, w->low, w->high, &from, &to) || from > w->low ||
               to < w->high;
        if (!meet)
            room_take(room, w->low, w->high);
    }
    arena_release(arena, mark);
    return meet;
}
