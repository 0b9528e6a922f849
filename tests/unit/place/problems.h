/* SPDX-License-Identifier: Apache-2.0
 * Small offset problems for tests, random and fixed, and their least height by
 * trying every offset byte by byte: slow, and nothing in common with the solver. */
#ifndef INLAY_TEST_PLACE_CASES_H
#define INLAY_TEST_PLACE_CASES_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "place/place.h"

enum { MOST_ITEMS = 16, MOST_PARTS = 64, MOST_ARCS = 64 };

typedef struct Case {
    int n, parts, arcs;
    PlaceItem item[MOST_ITEMS];
    PlacePart part[MOST_PARTS];
    PlaceArc arc[MOST_ARCS];
} Case;

static uint64_t random_state = 88172645463325252u;

static int below(int n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)((random_state >> 20) % (uint64_t)n);
}

static inline void add_item(Case *c, int64_t size, int begin, int end)
{
    assert_true(c->n < MOST_ITEMS);
    c->item[c->n++] = (PlaceItem){ .size = size, .begin = begin, .end = end };
}

/* ---- brute force ---- */

static inline int64_t gcd_of(int64_t a, int64_t b)
{
    return b ? gcd_of(b, a % b) : a;
}

static inline int64_t unit_of(const Case *c)
{
    int64_t unit = 0;
    for (int i = 0; i < c->n; i++) {
        const PlaceItem *x = &c->item[i];
        if (x->size > 0)
            unit = gcd_of(x->pinned      ? x->pin
                          : x->align > 1 ? x->align
                                         : 1,
                          unit);
    }
    return unit ? unit : 1;
}

static inline bool part_takes(const PlacePart *p, int step, int64_t byte)
{
    return p->begin <= step && step < p->end && p->offset <= byte &&
           byte < p->offset + p->size;
}

/* Which part of x takes the byte at the step, counted from 1; 0: none. */
static inline int taken_by(const PlaceItem *x, int step, int64_t byte)
{
    const PlacePart all = { 0, x->size, x->begin, x->end };
    if (!x->parts)
        return part_takes(&all, step, byte);
    for (int k = 0; k < x->parts; k++)
        if (part_takes(&x->part[k], step, byte))
            return k + 1;
    return 0;
}

static inline bool named(const Case *c, int i, int j, int part_i, int part_j)
{
    for (int k = 0; k < c->arcs; k++) {
        const PlaceArc *x = &c->arc[k];
        if (x->i == i && x->j == j && (!x->of_i || x->of_i == part_i) &&
            (!x->of_j || x->of_j == part_j))
            return true;
        if (x->i == j && x->j == i && (!x->of_i || x->of_i == part_j) &&
            (!x->of_j || x->of_j == part_i))
            return true;
    }
    return false;
}

static inline bool pair_fits(const Case *c, int i, int64_t u, int j, int64_t v)
{
    for (int k = 0; k < c->arcs; k++) {
        const PlaceArc *x = &c->arc[k];
        if (x->i == i && x->j == j && x->lo < u - v && u - v < x->hi)
            return false;
        if (x->i == j && x->j == i && x->lo < v - u && v - u < x->hi)
            return false;
    }
    for (int step = 0; step < 24; step++) {
        for (int64_t byte = 0; byte < c->item[i].size; byte++) {
            const int a = taken_by(&c->item[i], step, byte),
                      b = taken_by(&c->item[j], step, byte + u - v);
            if (a && b && !named(c, i, j, a, b))
                return false;
        }
    }
    return true;
}

/* Which distances of two items are allowed. */
enum { FARTHEST = 64 };
typedef struct Distances {
    bool fits[MOST_ITEMS][MOST_ITEMS][2 * FARTHEST + 1];
} Distances;

static inline bool any_offsets(const Case *c, const Distances *d, int i,
                               int64_t height, int64_t *offset)
{
    if (i == c->n)
        return true;
    const PlaceItem *x = &c->item[i];
    const int64_t step = x->pinned || x->align <= 1 ? 1 : x->align;
    for (int64_t y = x->pinned ? x->pin : 0; y + x->size <= height; y += step) {
        bool fits = true;
        for (int j = 0; j < i && fits; j++)
            fits = d->fits[i][j][y - offset[j] + FARTHEST];
        offset[i] = y;
        if (fits && any_offsets(c, d, i + 1, height, offset))
            return true;
        if (x->pinned)
            return false;
    }
    return false;
}

/* The most bytes alive at once where nothing is special; a start for the heights to try. */
static inline int64_t load_of(const Case *c)
{
    int64_t most = 0;
    if (c->arcs || c->parts)
        return 0;
    for (int step = 0; step < 24; step++) {
        int64_t sum = 0;
        for (int i = 0; i < c->n; i++)
            sum += c->item[i].begin <= step && step < c->item[i].end
                       ? c->item[i].size
                       : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

/* The least height in whole units; -1 if it is above `most`. */
static inline int64_t brute_force(const Case *c, int64_t most)
{
    static Distances d;
    int64_t offset[MOST_ITEMS];
    const int64_t unit = unit_of(c);
    assert_true(most <= FARTHEST);
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < i; j++)
            for (int u = -FARTHEST; u <= FARTHEST; u++)
                d.fits[i][j][u + FARTHEST] = pair_fits(c, i, u, j, 0);
    for (int64_t h = (load_of(c) + unit - 1) / unit * unit; h <= most;
         h += unit)
        if (any_offsets(c, &d, 0, h, offset))
            return h;
    return -1;
}

/* ---- random cases ---- */

static inline void plain_case(Case *c, int n, int largest)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < n; i++) {
        const int begin = below(6);
        add_item(c, 1 + below(largest), begin, begin + 1 + below(5));
    }
}

/* As many bytes alive at every step as can be: now and then the optimum is higher than that. */
static inline void flat_case(Case *c, int n, int steps)
{
    int load[16] = { 0 };
    const int most = 3 + below(3);
    memset(c, 0, sizeof *c);
    for (int tries = 0; tries < 200 && c->n < n; tries++) {
        const int begin = below(steps), end = begin + 1 + below(steps - begin),
                  size = 1 + below(3);
        bool fits = true;
        for (int s = begin; s < end; s++)
            fits = fits && load[s] + size <= most;
        for (int s = begin; fits && s < end; s++)
            load[s] += size;
        if (fits)
            add_item(c, size, begin, end);
    }
}

/* Two parts side by side, as in a concat; lifetimes of their own. */
static inline void give_parts(Case *c, PlaceItem *x)
{
    const int64_t first = 1 + below((int)x->size);
    x->part = c->part + c->parts;
    c->part[c->parts++] = (PlacePart){ 0, first, x->begin, x->end };
    if (first < x->size)
        c->part[c->parts++] =
            (PlacePart){ first, x->size - first, x->begin + below(2),
                         x->end + below(2) };
    x->parts = (int32_t)(c->part + c->parts - x->part);
}

static inline void add_override(Case *c, int i, int j)
{
    const int kind = below(4);
    PlaceArc x = PLACE_SHARE(i, j);
    if (kind > 0)
        x.lo = -below((int)c->item[i].size + 1);
    if (kind > 1)
        x.hi = kind == 2 ? c->item[j].size
                         : c->item[j].size - c->item[i].size + below(3);
    if (c->item[i].parts && below(2))
        x.of_i = 1 + below(c->item[i].parts);
    if (c->item[j].parts && below(2))
        x.of_j = 1 + below(c->item[j].parts);
    c->arc[c->arcs++] = x;
    if (below(4) == 0) {
        const int lo = below(13) - 6;
        c->arc[c->arcs++] =
            (PlaceArc){ .i = j, .j = i, .lo = lo, .hi = lo + 2 + below(3) };
    }
}

/* Parts, overrides, alignments and pins in any mixture. */
static inline void mixed_case(Case *c, int n)
{
    static const int64_t aligns[][3] = {
        { 0, 1, 1 }, { 1, 2, 4 }, { 2, 2, 2 }, { 2, 4, 6 }, { 1, 3, 2 }
    };
    const int64_t *align = aligns[below(2) ? 0 : below(5)];
    const bool parts = below(2), overrides = below(3) > 0, pins = below(4) == 0;
    plain_case(c, n, 5);
    for (int i = 0; i < n; i++) {
        PlaceItem *x = &c->item[i];
        x->align = align[below(3)];
        if (parts && below(3) == 0)
            give_parts(c, x);
        if (pins && below(4) == 0) {
            x->pinned = true;
            x->pin = (x->align > 1 ? x->align : 1) * below(3);
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (overrides && i != j && c->arcs < MOST_ARCS - 2 && below(6) == 0)
                add_override(c, i, j);
}

#endif
