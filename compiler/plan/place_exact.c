/* SPDX-License-Identifier: Apache-2.0
 * Exact search of plain lifetimes: what covers this point? A node asks it of a
 * point just above a floor of the skyline; the answers - one of the items that
 * may rest there, or nothing - exclude each other, so no placement is met twice
 * and the point with the fewest answers can be asked first. Parts of time not
 * tied by an open item are solved one after the other. Rounds of bounded length
 * change the choice of the point and the order of the answers. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "plan/place_sky.h"

enum { BY_DURATION, BY_AREA, BY_SPAN };

/* Picks the section of least answers * (capacity / bias + slack) / failures; bias 0: without the
 * middle factor. */
typedef struct Rule {
    uint8_t bias, weighted, order;
} Rule;

static const Rule NARROW[] = {
    { 4, 1, BY_DURATION }, { 64, 1, BY_SPAN },    { 16, 1, BY_DURATION }, { 0, 1, BY_DURATION },
    { 0, 0, BY_DURATION }, { 2, 1, BY_DURATION }, { 4, 1, BY_SPAN },
};

#define EACH(b) \
    { b, 0, BY_DURATION }, { b, 1, BY_DURATION }, { b, 0, BY_SPAN }, { b, 1, BY_SPAN }, \
        { b, 0, BY_AREA }, \
    { \
        b, 1, BY_AREA \
    }
static const Rule WIDE[SKY_RULES] = { EACH(16), EACH(0), EACH(1), EACH(4), EACH(64), EACH(2) };

/* A table of rules; the first round's nodes, and how they grow from cycle to cycle. */
typedef struct Schedule {
    const Rule *rule;
    int rules;
    uint64_t first, grow, shrink;
} Schedule;

static const Schedule NARROW_ROUNDS = { NARROW, sizeof NARROW / sizeof *NARROW, 1000, 3, 2 };
static const Schedule WIDE_ROUNDS = { WIDE, SKY_RULES, 1500, 9, 8 };

/* ---- answers ---- */

/* Item i, whose sections all have floor y: does it rest at y in some placement that we look for?
 * Equal items go in order of their number, and so do items of one lifetime that lie directly on
 * each other. */
static bool rests_at(const Sky *sky, int i, int64_t y)
{
    if (sky->twin[i] >= 0 && !sky->placed[sky->twin[i]])
        return false;
    const int s = sky->first[i];
    const int below = (int)sky->top_item[s];
    if (!sky->p->mixed && below > i && sky->group[below] == sky->group[i] && sky->top[s] == y)
        return false;
    if (y == 0)
        return true;
    for (int t = s; t < sky->last[i]; t++)
        if (place_up(sky->top[t], sky->p->align[i]) == y)
            return true;
    return false;
}

static bool may_rest(Sky *sky, int i, int64_t y)
{
    if (sky->seen[i] == sky->stamp)
        return sky->rests[i];
    sky->seen[i] = sky->stamp;
    sky->rests[i] = rests_at(sky, i, y);
    return sky->rests[i];
}

/* The part of time spanned by the open items of s that lie on its floor. */
static void reach(const Sky *sky, int s, int *from, int *to)
{
    *from = s;
    *to = s + 1;
    for (int k = 0; k < sky->open_count[s]; k++) {
        const int i = sky->open[s][k];
        if (sky->earliest[i] > sky->floor[s])
            continue;
        if (sky->first[i] < *from)
            *from = sky->first[i];
        if (sky->last[i] > *to)
            *to = sky->last[i];
    }
}

/* If nothing covers (s, y), the lowest item of s lies at its own earliest above y, or rests on an
 * open item of another section: the least of these is the next floor. */
static int64_t floor_above_hole(const Sky *sky, int s, int64_t y)
{
    int64_t best = INT64_MAX;
    for (int k = 0; k < sky->open_count[s]; k++) {
        const int64_t e = sky->earliest[sky->open[s][k]];
        if (e > y)
            best = i64_min(best, e);
    }
    int from, to;
    reach(sky, s, &from, &to);
    for (int t = from; t < to; t++) {
        for (int k = 0; t != s && k < sky->open_count[t]; k++) {
            const int j = sky->open[t][k];
            if (sky->first[j] <= s && s < sky->last[j])
                continue;
            best = i64_min(best, sky->earliest[j] + sky->p->size[j]);
        }
    }
    return best;
}

/* ---- the choice of the point ---- */

/* The score of section s; counting stops once it cannot be below `best`. */
static int64_t score(Sky *sky, int s, int64_t best)
{
    const int64_t y = sky->floor[s];
    const int64_t slack = sky->capacity - y - sky->rest[s];
    const int64_t weight = sky->weighted ? sky->weight[s] : 1;
    const int64_t factor = sky->bias
                               ? ((sky->capacity / sky->bias + slack) >> sky->shift) * sky->scale
                               : (int64_t)1 << 20;
    int64_t answers = slack > 0;
    int64_t v = answers * factor / weight;
    const int64_t *earliest = sky->earliest;
    const int32_t *open = sky->open[s];
    const int32_t *end = open + sky->open_count[s];
    for (; open < end && v < best; open++)
        if (earliest[*open] == y && may_rest(sky, *open, y))
            v = ++answers * factor / weight;
    return v;
}

/* Only sections of lowest runs are asked: all that can lie on their floor lies within the run. */
static int pick_section(Sky *sky, int a, int b)
{
    int best = -1;
    int64_t best_score = INT64_MAX;
    sky->stamp++;
    for (int s = a, e; s < b; s = e) {
        e = s + 1;
        if (sky->open_count[s] == 0)
            continue;
        while (e < b && sky->open_count[e] && sky->floor[e] == sky->floor[s])
            e++;
        if (s > a && sky->open_count[s - 1] && sky->floor[s - 1] < sky->floor[s])
            continue;
        if (e < b && sky->open_count[e] && sky->floor[e] < sky->floor[s])
            continue;
        for (int t = s; t < e; t++) {
            const int64_t v = score(sky, t, best_score);
            if (v >= best_score)
                continue;
            best_score = v;
            best = t;
        }
    }
    return best;
}

/* All that the search below [a, b) depends on: a state that failed once fails again, on any path
 * and in any round of the same capacity. */
static uint64_t state_key(const Sky *sky, int a, int b)
{
    uint64_t key =
        sky_mix(((uint64_t)a << 32 | (uint32_t)b) + (uint64_t)sky->capacity * 0xd6e8feb86659fd93u);
    for (int s = a; s < b; s++) {
        int64_t under = sky->top_item[s];
        if (under >= 0 && (sky->top[s] != sky->floor[s] || !sky->group_left[sky->group[under]]))
            under = -1;
        key +=
            sky_mix(sky_mix(sky_mix((uint64_t)sky->floor[s] + (uint64_t)s * 0x9e3779b97f4a7c15u) +
                            (uint64_t)sky->top[s]) +
                    (uint64_t)under);
        for (int k = sky->birth[s]; k < sky->birth[s + 1]; k++)
            if (!sky->placed[sky->born[k]])
                key ^= sky->item_key[sky->born[k]];
    }
    return key | 1;
}

/* ---- the tree, on a stack of frames ---- */

typedef enum Step { DESCEND, NEXT, STOP } Step;

static void list_answers(Sky *sky, SkyFrame *frame)
{
    frame->first = frame->next = sky->answer.n;
    for (int k = 0; k < sky->open_count[frame->section]; k++) {
        const int i = sky->open[frame->section][k];
        if (sky->earliest[i] != frame->y || !may_rest(sky, i, frame->y))
            continue;
        VEC_PUSH(sky->arena, &sky->answer, i);
        size_t at = sky->answer.n - 1;
        for (; at > frame->first && sky->rank[sky->answer.at[at - 1]] > sky->rank[i]; at--)
            sky->answer.at[at] = sky->answer.at[at - 1];
        sky->answer.at[at] = i;
    }
    frame->end = sky->answer.n;
    frame->hole = frame->y + sky->rest[frame->section] < sky->capacity;
}

/* Opens a node on sections [a, b), within its owner's range up to `limit`. */
static Step open_node(Sky *sky, int a, int b, int limit)
{
    if (sky->nodes >= sky->node_limit)
        return STOP;
    sky->nodes++;
    SkyFrame f = {
        .a = a, .b = b, .limit = limit, .mark = sky->trail.n, .key = state_key(sky, a, b)
    };
    if (sky->table[f.key >> (64 - sky->table_bits)] == f.key)
        return NEXT;
    f.section = pick_section(sky, a, b);
    f.y = sky->floor[f.section];
    list_answers(sky, &f);
    VEC_PUSH(sky->arena, &sky->frame, f);
    return NEXT;
}

static bool leave_hole(Sky *sky, SkyFrame *frame)
{
    frame->hole = false;
    const int64_t up = floor_above_hole(sky, frame->section, frame->y);
    if (up == INT64_MAX || up + sky->rest[frame->section] > sky->capacity)
        return false;
    sky_set_floor(sky, frame->section, up);
    return sky_propagate(sky);
}

/* Tries the next answer of the top node; a node without any fails, and with it the answer above it.
 */
static Step next_answer(Sky *sky, SkyFrame *f)
{
    sky_undo(sky, f->mark);
    while (f->next < f->end) {
        sky_put(sky, sky->answer.at[f->next++], f->y);
        if (sky_propagate(sky))
            return DESCEND;
        sky_undo(sky, f->mark);
    }
    if (f->hole) {
        if (leave_hole(sky, f))
            return DESCEND;
        sky_undo(sky, f->mark);
    }
    sky->table[f->key >> (64 - sky->table_bits)] = f->key;
    sky->answer.n = f->first;
    sky->frame.n--;
    return NEXT;
}

/* The next part of [*from, limit) that has open items; false if there is none. */
static bool next_part(const Sky *sky, int *from, int *to, int limit)
{
    int s = *from;
    while (s < limit && sky->open_count[s] == 0)
        s++;
    if (s == limit)
        return false;
    *from = s++;
    while (s < limit && sky->crossing[s] > 0)
        s++;
    *to = s;
    return true;
}

/* Solves [from, limit) and, part by part, what its owners still have to solve. */
static Verdict search(Sky *sky)
{
    int from = 0;
    int to;
    int limit = sky->sections;
    for (Step step = DESCEND;;) {
        if (step == STOP)
            return UNDECIDED;
        SkyFrame *f = sky->frame.n ? &sky->frame.at[sky->frame.n - 1] : NULL;
        if (step == NEXT) {
            if (!f)
                return IMPOSSIBLE;
            step = next_answer(sky, f);
            from = f->a;
            limit = f->b;
        } else if (next_part(sky, &from, &to, limit)) {
            step = open_node(sky, from, to, limit);
        } else if (!f) {
            return FOUND;
        } else {
            from = f->b;
            limit = f->limit;
            sky->answer.n = f->first;
            sky->frame.n--;
        }
    }
}

/* ---- orders and rounds ---- */

typedef struct Ranked {
    uint64_t key;
    int32_t item;
} Ranked;

static int by_key(const void *a, const void *b)
{
    const Ranked *x = a;
    const Ranked *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int bits_above(uint64_t x, int bits)
{
    int shift = 0;
    while (x >> shift >> bits)
        shift++;
    return shift;
}

static uint64_t order_key(const Sky *sky, int i, int order, int shift)
{
    const uint64_t duration = (uint64_t)((int64_t)sky->p->end[i] - sky->p->begin[i]);
    if (order == BY_SPAN)
        return (uint64_t)(sky->last[i] - sky->first[i]);
    if (order == BY_DURATION)
        return duration;
    return duration * ((uint64_t)sky->p->size[i] >> shift);
}

/* From the second cycle on, keys vary by a tenth either way. */
static void rank_items(Sky *sky, int order, bool vary, uint64_t *state)
{
    const ArenaMark mark = arena_mark(sky->arena);
    Ranked *ranked = NEW_ARRAY(sky->arena, Ranked, sky->n);
    int64_t largest = 0;
    for (int i = 0; i < sky->n; i++)
        largest = i64_max(largest, sky->p->size[i]);
    const int shift = bits_above((uint64_t)largest, 20);
    for (int i = 0; i < sky->n; i++) {
        const uint64_t key = order_key(sky, i, order, shift);
        const uint64_t x = place_random(state) >> 32;
        ranked[i] = (Ranked){ vary ? key * (231 + x % 51) : key, i };
    }
    if (sky->n)
        qsort(ranked, (size_t)sky->n, sizeof *ranked, by_key);
    for (int i = 0; i < sky->n; i++)
        sky->rank[ranked[i].item] = i;
    arena_release(sky->arena, mark);
}

static void begin(Sky *sky, int64_t capacity)
{
    sky->capacity = capacity;
    sky->scale = capacity < 1 << 24 ? (1 << 24) / (capacity + 1) + 1 : 1;
    sky->shift = bits_above((uint64_t)capacity, 36);
    for (int k = 0; k < SKY_RULES * sky->sections; k++)
        sky->weights[k] = 1;
}

Verdict place_exact(Sky *sky, int64_t capacity, bool wide, uint64_t budget, int64_t *offset,
                    uint64_t *spent)
{
    const Schedule *plan = wide ? &WIDE_ROUNDS : &NARROW_ROUNDS;
    uint64_t state = PLACE_SEED;
    uint64_t used = 0;
    uint64_t limit = plan->first;
    Verdict verdict = UNDECIDED;
    begin(sky, capacity);
    for (int round = 0; verdict == UNDECIDED && used < budget; round++) {
        const int k = round % plan->rules;
        if (k == 0 && round)
            limit = limit * plan->grow / plan->shrink;
        sky->bias = plan->rule[k].bias;
        sky->weighted = plan->rule[k].weighted;
        sky->weight = sky->weights + (size_t)k * (size_t)sky->sections;
        rank_items(sky, plan->rule[k].order, round >= plan->rules, &state);
        sky->nodes = 0;
        sky->node_limit = limit < budget - used ? limit : budget - used;
        sky_mark_all(sky);
        verdict = sky_propagate(sky) ? search(sky) : IMPOSSIBLE;
        used += sky->nodes;
        sky->frame.n = sky->answer.n = 0;
        if (verdict == FOUND)
            memcpy(offset, sky->offset, sizeof *offset * (size_t)sky->n);
        sky_undo(sky, 0);
    }
    *spent += used + 1;
    return verdict;
}
