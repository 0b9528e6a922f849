/* SPDX-License-Identifier: Apache-2.0
 * The state of the exact search of plain lifetimes. Time is cut at every birth
 * and death into sections. Each keeps a floor that all its open (not yet placed)
 * items lie at or above; every change goes to one trail and can be undone.
 * At rest: floor = least earliest of the open items, earliest = highest floor of
 * the item's sections (rounded up to its alignment), floor + rest <= capacity. */
#ifndef INLAY_PLACE_SKYLINE_H
#define INLAY_PLACE_SKYLINE_H

#include "base/vec.h"
#include "place/problem.h"

typedef struct SkylineChange { /* where == NULL: item `old` was placed */
    int64_t *where, old;
} SkylineChange;

/* Sections to look at again; each at most once. */
typedef struct SkylineQueue {
    int32_t *at;
    bool *in;
    int n;
} SkylineQueue;

/* A branching node: what covers the point (section, y)? */
typedef struct SkylineFrame {
    /* solves sections [a, b); its owner goes on in [b, limit) */
    int a, b, limit;
    int section;
    int64_t y;
    size_t mark;             /* of the trail */
    size_t first, next, end; /* answers */
    bool hole;               /* whether "nothing" is still to be answered */
    uint64_t key;
} SkylineFrame;

struct Skyline {
    Arena *arena;
    const Problem *p;
    int n, sections;
    int64_t capacity;
    /* item i lives in sections first[i] .. last[i] - 1 */
    int32_t *first, *last;
    int64_t *earliest, *offset;
    bool *placed;
    /* items of one lifetime, by their first; how many are open */
    int32_t *group, *group_left;
    int32_t *twin; /* the previous equal item, or -1 */
    int32_t *rank; /* in which answers are tried */

    int32_t *birth, *born; /* see Sections */
    int32_t **open;        /* items of a section, the open ones first */
    int32_t *open_count;
    int32_t **slot; /* open[s][slot[i][s - first[i]]] == i */
    /* top: end of the highest placed item, at most the floor */
    int64_t *floor, *top;
    int64_t *top_item;
    /* an open item whose earliest is the floor; while it stays, so does the floor */
    int64_t *holder;
    int64_t *rest; /* sum of the open sizes */
    /* open items alive on both sides of the border before s */
    int32_t *crossing;
    /* failures met in a section, plus one: one row a rule */
    int64_t *weight, *weights;

    /* scratch of one hole: highest base and lowest roof from it to a section */
    int64_t *base, *roof;

    SkylineQueue raised, stale, touched;
    VEC(SkylineChange) trail;
    VEC(SkylineFrame) frame;
    VEC(int32_t) answer;

    int32_t *seen, stamp; /* memo of may_rest() in one node */
    bool *rests;
    uint64_t *table, *item_key; /* table: keys of states that fail */
    int table_bits;
    /* of the rule; scores are capacity * scale >> shift at most, per answer */
    int64_t bias, scale;
    int shift;
    bool weighted;
    uint64_t nodes, node_limit;
};

enum { SKY_RULES = 36 }; /* rows of weights */

void skyline_set_floor(Skyline *skyline, int s, int64_t y);
void skyline_put(Skyline *skyline, int i, int64_t y);
void skyline_undo(Skyline *skyline, size_t mark);
void skyline_mark_all(Skyline *skyline);
/* To the fixed point; false if some section overflows or an open item fits into a closed hole. */
bool skyline_propagate(Skyline *skyline);

static inline uint64_t skyline_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

#endif
