/* SPDX-License-Identifier: Apache-2.0
 * Placing for problems with too many pairs to list: items in order of birth, each at the lowest
 * place that is free then, and the same from the end backward; near linear in items and
 * overrides. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "plan/place_internal.h"
#include "plan/place_room.h"

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
    int32_t *seen;              /* by item: the last item that it is a neighbour of, plus one */
    VEC(Piece) piece;
    int32_t spare;          /* pieces */
    VEC(int32_t) partner;   /* alive, of the item at hand */
    VEC(int32_t) neighbour; /* alive over those, and not to be overlapped */
} Many;

/* ---- pieces ---- */

static void add_piece(Many *m, int32_t item, int64_t low, int64_t high)
{
    int32_t k = m->spare;
    if (k >= 0) {
        m->spare = m->piece.at[k].next;
    } else {
        k = (int32_t)m->piece.n;
        VEC_PUSH(m->a, &m->piece, ((Piece){ 0 }));
    }
    m->piece.at[k] = (Piece){ low, high, m->first[item] };
    m->first[item] = k;
}

static void free_pieces(Many *m, int32_t item)
{
    for (int32_t k = m->first[item]; k >= 0; k = m->piece.at[k].next)
        room_free(m->room, m->piece.at[k].low, m->piece.at[k].high);
}

static void forget_pieces(Many *m, int32_t item)
{
    for (int32_t k = m->first[item], next; k >= 0; k = next) {
        next = m->piece.at[k].next;
        m->piece.at[k].next = m->spare;
        m->spare = k;
    }
    m->first[item] = -1;
}

/* What is free of a range becomes the item's. */
static void take_free(Many *m, int32_t item, int64_t low, int64_t high)
{
    int64_t from, to;
    while (room_next(m->room, low, high, &from, &to)) {
        room_take(m->room, from, to);
        add_piece(m, item, from, to);
        low = to;
    }
}

static void take_pieces_again(Many *m, int32_t item)
{
    const int32_t old = m->first[item];
    m->first[item] = -1;
    for (int32_t k = old, next; k >= 0; k = next) {
        const Piece piece = m->piece.at[k];
        next = piece.next;
        m->piece.at[k].next = m->spare;
        m->spare = k;
        take_free(m, item, piece.low, piece.high);
    }
}

/* ---- one item ---- */

static bool is_alive(const Many *m, int32_t item, int32_t now)
{
    return m->offset[item] >= 0 && m->first[item] >= 0 && m->end[item] > now;
}

/* Those that item i may overlap, and what it would meet there. False: too many. */
static bool list_neighbours(Many *m, int32_t i)
{
    const Problem *p = m->p;
    m->partner.n = m->neighbour.n = 0;
    m->seen[i] = i + 1;
    for (size_t k = p->partners[i]; k < p->partners[i + 1]; k++) {
        const int32_t j = p->partner[k].item;
        m->seen[j] = i + 1;
        if (is_alive(m, j, m->begin[i]))
            VEC_PUSH(m->a, &m->partner, j);
    }
    for (size_t n = 0; n < m->partner.n; n++) {
        const int32_t j = m->partner.at[n];
        for (size_t k = p->partners[j]; k < p->partners[j + 1]; k++) {
            const int32_t other = p->partner[k].item;
            if (m->neighbour.n + m->partner.n > MOST_NEIGHBOURS)
                return false;
            if (m->seen[other] == i + 1 || m->offset[other] < 0 || m->end[other] <= m->begin[i])
                continue;
            m->seen[other] = i + 1;
            VEC_PUSH(m->a, &m->neighbour, other);
        }
    }
    return true;
}

/* The lowest offset at or above y that the overrides of item i and its neighbours leave. */
static int64_t raise(const Many *m, int32_t i, int64_t y)
{
    const Problem *p = m->p;
    for (size_t k = p->partners[i]; k < p->partners[i + 1]; k++) {
        const Partner *with = p->partner + k;
        const int64_t at = m->offset[with->item];
        for (int32_t e = with->first; at >= 0 && e < with->first + with->arcs; e++) {
            const Arc *x = p->arc + e;
            const int64_t lo = at + (x->i == i ? x->lo : -x->hi),
                          hi = at + (x->i == i ? x->hi : -x->lo);
            if (lo < y && y < hi)
                y = place_up(hi, p->align[i]);
        }
    }
    for (size_t k = 0; k < m->neighbour.n; k++) {
        const int32_t j = m->neighbour.at[k];
        const int64_t end = m->offset[j] + p->size[j];
        if (y < end && m->offset[j] < y + p->size[i])
            y = place_up(end, p->align[i]);
    }
    return y;
}

static void place_one(Many *m, int32_t i)
{
    const Problem *p = m->p;
    if (!list_neighbours(m, i))
        m->partner.n = m->neighbour.n = 0;
    for (size_t k = 0; k < m->partner.n; k++)
        free_pieces(m, m->partner.at[k]);
    int64_t y = room_find(m->room, p->size[i], p->align[i], 0);
    for (int64_t up; (up = raise(m, i, y)) != y;)
        y = room_find(m->room, p->size[i], p->align[i], up);
    m->offset[i] = y;
    for (size_t k = 0; k < m->partner.n; k++)
        if (m->end[m->partner.at[k]] >= m->end[i])
            take_pieces_again(m, m->partner.at[k]);
    take_free(m, i, y, y + p->size[i]);
    for (size_t k = 0; k < m->partner.n; k++)
        if (m->end[m->partner.at[k]] < m->end[i])
            take_pieces_again(m, m->partner.at[k]);
}

/* ---- all of them ---- */

typedef struct Ranked {
    int32_t time, item;
    int64_t size;
} Ranked;

static int by_time(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static Ranked *rank(const Many *m, const int32_t *time)
{
    const Problem *p = m->p;
    Ranked *r = NEW_ARRAY(m->a, Ranked, p->n + 1);
    for (int i = 0; i < p->n; i++)
        r[i] = (Ranked){ time[i], i, p->size[i] };
    qsort(r, (size_t)p->n, sizeof *r, by_time);
    return r;
}

/* What is pinned keeps its place all the time. */
static void take_pinned(Many *m)
{
    const Problem *p = m->p;
    int64_t from, to;
    for (int i = 0; i < p->n; i++) {
        if (p->pin[i] < 0)
            continue;
        m->offset[i] = p->pin[i];
        while (room_next(m->room, p->pin[i], p->pin[i] + p->size[i], &from, &to))
            room_take(m->room, from, to);
    }
}

static int64_t sweep(Many *m)
{
    const Problem *p = m->p;
    const Ranked *birth = rank(m, m->begin), *death = rank(m, m->end);
    for (int i = 0; i < p->n; i++)
        m->offset[i] = m->first[i] = -1;
    memset(m->seen, 0, sizeof *m->seen * (size_t)p->n);
    take_pinned(m);
    for (int k = 0, gone = 0; k < p->n; k++) {
        for (; death[gone].time <= birth[k].time; gone++) {
            free_pieces(m, death[gone].item);
            forget_pieces(m, death[gone].item);
        }
        if (p->pin[birth[k].item] < 0)
            place_one(m, birth[k].item);
    }
    return place_height(p, m->offset);
}

int64_t place_many(Arena *a, const Problem *p, bool backward, int64_t *offset)
{
    const ArenaMark mark = arena_mark(a);
    int32_t *begin = NEW_ARRAY(a, int32_t, p->n + 1), *end = NEW_ARRAY(a, int32_t, p->n + 1);
    for (int i = 0; i < p->n; i++) {
        begin[i] = backward ? -p->end[i] : p->begin[i];
        end[i] = backward ? -p->begin[i] : p->end[i];
    }
    Many m = { .a = a,
               .p = p,
               .room = room_new(a),
               .begin = begin,
               .end = end,
               .offset = offset,
               .first = NEW_ARRAY(a, int32_t, p->n + 1),
               .seen = NEW_ARRAY(a, int32_t, p->n + 1),
               .spare = -1 };
    const int64_t height = p->n ? sweep(&m) : 0;
    arena_release(a, mark);
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
    const Window *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->born != y->born)
        return x->born ? 1 : -1;
    return x->item < y->item ? -1 : x->item > y->item;
}

bool place_pins_meet(Arena *a, const Problem *p)
{
    const ArenaMark mark = arena_mark(a);
    VEC(Window) window = { 0 };
    for (int i = 0; i < p->n; i++) {
        const PlaceItem *it = p->item + p->from[i];
        const PlacePart whole = { 0, it->size, it->begin, it->end };
        for (int k = 0; p->pin[i] >= 0 && k < (it->parts ? it->parts : 1); k++) {
            const PlacePart w = it->parts ? it->part[k] : whole;
            const int64_t low = it->pin + w.offset, high = low + w.size;
            if (!w.size || w.begin >= w.end)
                continue;
            VEC_PUSH(a, &window, ((Window){ w.begin, true, i, low, high }));
            VEC_PUSH(a, &window, ((Window){ w.end, false, i, low, high }));
        }
    }
    if (window.n)
        qsort(window.at, window.n, sizeof *window.at, by_coming);
    Room *room = room_new(a);
    bool meet = false;
    for (size_t k = 0; k < window.n && !meet; k++) {
        const Window *w = window.at + k;
        int64_t from = 0, to = 0;
        if (!w->born) {
            room_free(room, w->low, w->high);
            continue;
        }
        meet = !room_next(room, w->low, w->high, &from, &to) || from > w->low || to < w->high;
        if (!meet)
            room_take(room, w->low, w->high);
    }
    arena_release(a, mark);
    return meet;
}
