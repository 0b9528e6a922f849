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
static bool rests_at(const Sky *q, int i, int64_t y)
{
    if (q->twin[i] >= 0 && !q->placed[q->twin[i]])
        return false;
    const int s = q->first[i], below = (int)q->top_item[s];
    if (!q->p->mixed && below > i && q->group[below] == q->group[i] && q->top[s] == y)
        return false;
    if (y == 0)
        return true;
    for (int t = s; t < q->last[i]; t++)
        if (place_up(q->top[t], q->p->align[i]) == y)
            return true;
    return false;
}

static bool may_rest(Sky *q, int i, int64_t y)
{
    if (q->seen[i] == q->stamp)
        return q->rests[i];
    q->seen[i] = q->stamp;
    q->rests[i] = rests_at(q, i, y);
    return q->rests[i];
}

/* The part of time spanned by the open items of s that lie on its floor. */
static void reach(const Sky *q, int s, int *from, int *to)
{
    *from = s;
    *to = s + 1;
    for (int k = 0; k < q->open_count[s]; k++) {
        const int i = q->open[s][k];
        if (q->earliest[i] > q->floor[s])
            continue;
        if (q->first[i] < *from)
            *from = q->first[i];
        if (q->last[i] > *to)
            *to = q->last[i];
    }
}

/* If nothing covers (s, y), the lowest item of s lies at its own earliest above y, or rests on an
 * open item of another section: the least of these is the next floor. */
static int64_t floor_above_hole(const Sky *q, int s, int64_t y)
{
    int64_t best = INT64_MAX;
    for (int k = 0; k < q->open_count[s]; k++) {
        const int64_t e = q->earliest[q->open[s][k]];
        if (e > y)
            best = i64_min(best, e);
    }
    int from, to;
    reach(q, s, &from, &to);
    for (int t = from; t < to; t++) {
        for (int k = 0; t != s && k < q->open_count[t]; k++) {
            const int j = q->open[t][k];
            if (q->first[j] <= s && s < q->last[j])
                continue;
            best = i64_min(best, q->earliest[j] + q->p->size[j]);
        }
    }
    return best;
}

/* ---- the choice of the point ---- */

/* The score of section s; counting stops once it cannot be below `best`. */
static int64_t score(Sky *q, int s, int64_t best)
{
    const int64_t y = q->floor[s], slack = q->capacity - y - q->rest[s];
    const int64_t weight = q->weighted ? q->weight[s] : 1;
    const int64_t factor =
        q->bias ? ((q->capacity / q->bias + slack) >> q->shift) * q->scale : (int64_t)1 << 20;
    int64_t answers = slack > 0, v = answers * factor / weight;
    const int64_t *earliest = q->earliest;
    const int32_t *open = q->open[s], *end = open + q->open_count[s];
    for (; open < end && v < best; open++)
        if (earliest[*open] == y && may_rest(q, *open, y))
            v = ++answers * factor / weight;
    return v;
}

/* Only sections of lowest runs are asked: all that can lie on their floor lies within the run. */
static int pick_section(Sky *q, int a, int b)
{
    int best = -1;
    int64_t best_score = INT64_MAX;
    q->stamp++;
    for (int s = a, e; s < b; s = e) {
        e = s + 1;
        if (q->open_count[s] == 0)
            continue;
        while (e < b && q->open_count[e] && q->floor[e] == q->floor[s])
            e++;
        if (s > a && q->open_count[s - 1] && q->floor[s - 1] < q->floor[s])
            continue;
        if (e < b && q->open_count[e] && q->floor[e] < q->floor[s])
            continue;
        for (int t = s; t < e; t++) {
            const int64_t v = score(q, t, best_score);
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
static uint64_t state_key(const Sky *q, int a, int b)
{
    uint64_t key =
        sky_mix(((uint64_t)a << 32 | (uint32_t)b) + (uint64_t)q->capacity * 0xd6e8feb86659fd93u);
    for (int s = a; s < b; s++) {
        int64_t under = q->top_item[s];
        if (under >= 0 && (q->top[s] != q->floor[s] || !q->group_left[q->group[under]]))
            under = -1;
        key += sky_mix(sky_mix(sky_mix((uint64_t)q->floor[s] + (uint64_t)s * 0x9e3779b97f4a7c15u) +
                               (uint64_t)q->top[s]) +
                       (uint64_t)under);
        for (int k = q->birth[s]; k < q->birth[s + 1]; k++)
            if (!q->placed[q->born[k]])
                key ^= q->item_key[q->born[k]];
    }
    return key | 1;
}

/* ---- the tree, on a stack of frames ---- */

typedef enum Step { DESCEND, NEXT, STOP } Step;

static void list_answers(Sky *q, SkyFrame *f)
{
    f->first = f->next = q->answer.n;
    for (int k = 0; k < q->open_count[f->section]; k++) {
        const int i = q->open[f->section][k];
        if (q->earliest[i] != f->y || !may_rest(q, i, f->y))
            continue;
        VEC_PUSH(q->arena, &q->answer, i);
        size_t at = q->answer.n - 1;
        for (; at > f->first && q->rank[q->answer.at[at - 1]] > q->rank[i]; at--)
            q->answer.at[at] = q->answer.at[at - 1];
        q->answer.at[at] = i;
    }
    f->end = q->answer.n;
    f->hole = f->y + q->rest[f->section] < q->capacity;
}

/* Opens a node on sections [a, b), within its owner's range up to `limit`. */
static Step open_node(Sky *q, int a, int b, int limit)
{
    if (q->nodes >= q->node_limit)
        return STOP;
    q->nodes++;
    SkyFrame f = { .a = a, .b = b, .limit = limit, .mark = q->trail.n, .key = state_key(q, a, b) };
    if (q->table[f.key >> (64 - q->table_bits)] == f.key)
        return NEXT;
    f.section = pick_section(q, a, b);
    f.y = q->floor[f.section];
    list_answers(q, &f);
    VEC_PUSH(q->arena, &q->frame, f);
    return NEXT;
}

static bool leave_hole(Sky *q, SkyFrame *f)
{
    f->hole = false;
    const int64_t up = floor_above_hole(q, f->section, f->y);
    if (up == INT64_MAX || up + q->rest[f->section] > q->capacity)
        return false;
    sky_set_floor(q, f->section, up);
    return sky_propagate(q);
}

/* Tries the next answer of the top node; a node without any fails, and with it the answer above it.
 */
static Step next_answer(Sky *q, SkyFrame *f)
{
    sky_undo(q, f->mark);
    while (f->next < f->end) {
        sky_put(q, q->answer.at[f->next++], f->y);
        if (sky_propagate(q))
            return DESCEND;
        sky_undo(q, f->mark);
    }
    if (f->hole) {
        if (leave_hole(q, f))
            return DESCEND;
        sky_undo(q, f->mark);
    }
    q->table[f->key >> (64 - q->table_bits)] = f->key;
    q->answer.n = f->first;
    q->frame.n--;
    return NEXT;
}

/* The next part of [*from, limit) that has open items; false if there is none. */
static bool next_part(const Sky *q, int *from, int *to, int limit)
{
    int s = *from;
    while (s < limit && q->open_count[s] == 0)
        s++;
    if (s == limit)
        return false;
    *from = s++;
    while (s < limit && q->crossing[s] > 0)
        s++;
    *to = s;
    return true;
}

/* Solves [from, limit) and, part by part, what its owners still have to solve. */
static Verdict search(Sky *q)
{
    int from = 0, to, limit = q->sections;
    for (Step step = DESCEND;;) {
        if (step == STOP)
            return UNDECIDED;
        SkyFrame *f = q->frame.n ? &q->frame.at[q->frame.n - 1] : NULL;
        if (step == NEXT) {
            if (!f)
                return IMPOSSIBLE;
            step = next_answer(q, f);
            from = f->a;
            limit = f->b;
        } else if (next_part(q, &from, &to, limit)) {
            step = open_node(q, from, to, limit);
        } else if (!f) {
            return FOUND;
        } else {
            from = f->b;
            limit = f->limit;
            q->answer.n = f->first;
            q->frame.n--;
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
    const Ranked *x = a, *y = b;
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

static uint64_t order_key(const Sky *q, int i, int order, int shift)
{
    const uint64_t duration = (uint64_t)((int64_t)q->p->end[i] - q->p->begin[i]);
    if (order == BY_SPAN)
        return (uint64_t)(q->last[i] - q->first[i]);
    if (order == BY_DURATION)
        return duration;
    return duration * ((uint64_t)q->p->size[i] >> shift);
}

/* From the second cycle on, keys vary by a tenth either way. */
static void rank_items(Sky *q, int order, bool vary, uint64_t *state)
{
    const ArenaMark mark = arena_mark(q->arena);
    Ranked *r = NEW_ARRAY(q->arena, Ranked, q->n);
    int64_t largest = 0;
    for (int i = 0; i < q->n; i++)
        largest = i64_max(largest, q->p->size[i]);
    const int shift = bits_above((uint64_t)largest, 20);
    for (int i = 0; i < q->n; i++) {
        const uint64_t key = order_key(q, i, order, shift), x = place_random(state) >> 32;
        r[i] = (Ranked){ vary ? key * (231 + x % 51) : key, i };
    }
    if (q->n)
        qsort(r, (size_t)q->n, sizeof *r, by_key);
    for (int i = 0; i < q->n; i++)
        q->rank[r[i].item] = i;
    arena_release(q->arena, mark);
}

static void begin(Sky *q, int64_t capacity)
{
    q->capacity = capacity;
    q->scale = capacity < 1 << 24 ? (1 << 24) / (capacity + 1) + 1 : 1;
    q->shift = bits_above((uint64_t)capacity, 36);
    for (int k = 0; k < SKY_RULES * q->sections; k++)
        q->weights[k] = 1;
}

Verdict place_exact(Sky *q, int64_t capacity, bool wide, uint64_t budget, int64_t *offset,
                    uint64_t *spent)
{
    const Schedule *plan = wide ? &WIDE_ROUNDS : &NARROW_ROUNDS;
    uint64_t state = PLACE_SEED, used = 0, limit = plan->first;
    Verdict verdict = UNDECIDED;
    begin(q, capacity);
    for (int round = 0; verdict == UNDECIDED && used < budget; round++) {
        const int k = round % plan->rules;
        if (k == 0 && round)
            limit = limit * plan->grow / plan->shrink;
        q->bias = plan->rule[k].bias;
        q->weighted = plan->rule[k].weighted;
        q->weight = q->weights + (size_t)k * (size_t)q->sections;
        rank_items(q, plan->rule[k].order, round >= plan->rules, &state);
        q->nodes = 0;
        q->node_limit = limit < budget - used ? limit : budget - used;
        sky_mark_all(q);
        verdict = sky_propagate(q) ? search(q) : IMPOSSIBLE;
        used += q->nodes;
        q->frame.n = q->answer.n = 0;
        if (verdict == FOUND)
            memcpy(offset, q->offset, sizeof *offset * (size_t)q->n);
        sky_undo(q, 0);
    }
    *spent += used + 1;
    return verdict;
}
