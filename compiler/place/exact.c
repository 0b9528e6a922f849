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
#include "place/skyline.h"

enum { BY_DURATION, BY_AREA, BY_SPAN };

/* Picks the section of least answers * (capacity / bias + slack) / failures; bias 0: without the
 * middle factor. */
typedef struct Rule {
    uint8_t bias, weighted, order;
} Rule;

static const Rule NARROW[] = {
    { 4, 1, BY_DURATION }, { 64, 1, BY_SPAN },    { 16, 1, BY_DURATION },
    { 0, 1, BY_DURATION }, { 0, 0, BY_DURATION }, { 2, 1, BY_DURATION },
    { 4, 1, BY_SPAN },
};

#define EACH(b) \
    { b, 0, BY_DURATION }, { b, 1, BY_DURATION }, { b, 0, BY_SPAN }, \
        { b, 1, BY_SPAN }, { b, 0, BY_AREA }, \
    { \
        b, 1, BY_AREA \
    }
static const Rule WIDE[SKY_RULES] = { EACH(16), EACH(0),  EACH(1),
                                      EACH(4),  EACH(64), EACH(2) };

/* A table of rules; the first round's nodes, and how they grow from cycle to cycle. */
typedef struct Schedule {
    const Rule *rule;
    int rules;
    uint64_t first, grow, shrink;
} Schedule;

static const Schedule NARROW_ROUNDS = { NARROW, sizeof NARROW / sizeof *NARROW,
                                        1000, 3, 2 };
static const Schedule WIDE_ROUNDS = { WIDE, SKY_RULES, 1500, 9, 8 };

/* ---- answers ---- */

/* Item i, whose sections all have floor y: does it rest at y in some placement that we look for?
 * Equal items go in order of their number, and so do items of one lifetime that lie directly on
 * each other. */
static bool rests_at(const Skyline *skyline, int i, int64_t y)
{
    if (skyline->twin[i] >= 0 && !skyline->placed[skyline->twin[i]])
        return false;
    const int s = skyline->first[i];
    const int below = (int)skyline->top_item[s];
    if (!skyline->p->mixed && below > i &&
        skyline->group[below] == skyline->group[i] && skyline->top[s] == y)
        return false;
    if (y == 0)
        return true;
    for (int t = s; t < skyline->last[i]; t++)
        if (place_up(skyline->top[t], skyline->p->align[i]) == y)
            return true;
    return false;
}

static bool may_rest(Skyline *skyline, int i, int64_t y)
{
    if (skyline->seen[i] == skyline->stamp)
        return skyline->rests[i];
    skyline->seen[i] = skyline->stamp;
    skyline->rests[i] = rests_at(skyline, i, y);
    return skyline->rests[i];
}

/* The part of time spanned by the open items of s that lie on its floor. */
static void reach(const Skyline *skyline, int s, int *from, int *to)
{
    *from = s;
    *to = s + 1;
    for (int k = 0; k < skyline->open_count[s]; k++) {
        const int i = skyline->open[s][k];
        if (skyline->earliest[i] > skyline->floor[s])
            continue;
        if (skyline->first[i] < *from)
            *from = skyline->first[i];
        if (skyline->last[i] > *to)
            *to = skyline->last[i];
    }
}

/* If nothing covers (s, y), the lowest item of s lies at its own earliest above y, or rests on an
 * open item of another section: the least of these is the next floor. */
static int64_t floor_above_hole(const Skyline *skyline, int s, int64_t y)
{
    int64_t best = INT64_MAX;
    for (int k = 0; k < skyline->open_count[s]; k++) {
        const int64_t e = skyline->earliest[skyline->open[s][k]];
        if (e > y)
            best = i64_min(best, e);
    }
    int from, to;
    reach(skyline, s, &from, &to);
    for (int t = from; t < to; t++) {
        for (int k = 0; t != s && k < skyline->open_count[t]; k++) {
            const int j = skyline->open[t][k];
            if (skyline->first[j] <= s && s < skyline->last[j])
                continue;
            best = i64_min(best, skyline->earliest[j] + skyline->p->size[j]);
        }
    }
    return best;
}

/* ---- the choice of the point ---- */

/* The score of section s; counting stops once it cannot be below `best`. */
static int64_t score(Skyline *skyline, int s, int64_t best)
{
    const int64_t y = skyline->floor[s];
    const int64_t slack = skyline->capacity - y - skyline->rest[s];
    const int64_t weight = skyline->weighted ? skyline->weight[s] : 1;
    const int64_t factor =
        skyline->bias
            ? ((skyline->capacity / skyline->bias + slack) >> skyline->shift) *
                  skyline->scale
            : (int64_t)1 << 20;
    int64_t answers = slack > 0;
    int64_t v = answers * factor / weight;
    const int64_t *earliest = skyline->earliest;
    const int32_t *open = skyline->open[s];
    const int32_t *end = open + skyline->open_count[s];
    for (; open < end && v < best; open++)
        if (earliest[*open] == y && may_rest(skyline, *open, y))
            v = ++answers * factor / weight;
    return v;
}

/* Only sections of lowest runs are asked: all that can lie on their floor lies within the run. */
static int pick_section(Skyline *skyline, int a, int b)
{
    int best = -1;
    int64_t best_score = INT64_MAX;
    skyline->stamp++;
    for (int s = a, e; s < b; s = e) {
        e = s + 1;
        if (skyline->open_count[s] == 0)
            continue;
        while (e < b && skyline->open_count[e] &&
               skyline->floor[e] == skyline->floor[s])
            e++;
        if (s > a && skyline->open_count[s - 1] &&
            skyline->floor[s - 1] < skyline->floor[s])
            continue;
        if (e < b && skyline->open_count[e] &&
            skyline->floor[e] < skyline->floor[s])
            continue;
        for (int t = s; t < e; t++) {
            const int64_t v = score(skyline, t, best_score);
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
static uint64_t state_key(const Skyline *skyline, int a, int b)
{
    uint64_t key =
        skyline_mix(((uint64_t)a << 32 | (uint32_t)b) +
                    (uint64_t)skyline->capacity * 0xd6e8feb86659fd93u);
    for (int s = a; s < b; s++) {
        int64_t under = skyline->top_item[s];
        if (under >= 0 && (skyline->top[s] != skyline->floor[s] ||
                           !skyline->group_left[skyline->group[under]]))
            under = -1;
        key += skyline_mix(
            skyline_mix(skyline_mix((uint64_t)skyline->floor[s] +
                                    (uint64_t)s * 0x9e3779b97f4a7c15u) +
                        (uint64_t)skyline->top[s]) +
            (uint64_t)under);
        for (int k = skyline->birth[s]; k < skyline->birth[s + 1]; k++)
            if (!skyline->placed[skyline->born[k]])
                key ^= skyline->item_key[skyline->born[k]];
    }
    return key | 1;
}

/* ---- the tree, on a stack of frames ---- */

typedef enum Step { DESCEND, NEXT, STOP } Step;

static void list_answers(Skyline *skyline, SkylineFrame *frame)
{
    frame->first = frame->next = skyline->answer.n;
    for (int k = 0; k < skyline->open_count[frame->section]; k++) {
        const int i = skyline->open[frame->section][k];
        if (skyline->earliest[i] != frame->y || !may_rest(skyline, i, frame->y))
            continue;
        VEC_PUSH(skyline->arena, &skyline->answer, i);
        size_t at = skyline->answer.n - 1;
        for (; at > frame->first &&
               skyline->rank[skyline->answer.at[at - 1]] > skyline->rank[i];
             at--)
            skyline->answer.at[at] = skyline->answer.at[at - 1];
        skyline->answer.at[at] = i;
    }
    frame->end = skyline->answer.n;
    frame->hole = frame->y + skyline->rest[frame->section] < skyline->capacity;
}

/* Opens a node on sections [a, b), within its owner's range up to `limit`. */
static Step open_node(Skyline *skyline, int a, int b, int limit)
{
    if (skyline->nodes >= skyline->node_limit)
        return STOP;
    skyline->nodes++;
    SkylineFrame f = { .a = a,
                       .b = b,
                       .limit = limit,
                       .mark = skyline->trail.n,
                       .key = state_key(skyline, a, b) };
    if (skyline->table[f.key >> (64 - skyline->table_bits)] == f.key)
        return NEXT;
    f.section = pick_section(skyline, a, b);
    f.y = skyline->floor[f.section];
    list_answers(skyline, &f);
    VEC_PUSH(skyline->arena, &skyline->frame, f);
    return NEXT;
}

static bool leave_hole(Skyline *skyline, SkylineFrame *frame)
{
    frame->hole = false;
    const int64_t up = floor_above_hole(skyline, frame->section, frame->y);
    if (up == INT64_MAX ||
        up + skyline->rest[frame->section] > skyline->capacity)
        return false;
    skyline_set_floor(skyline, frame->section, up);
    return skyline_propagate(skyline);
}

/* Tries the next answer of the top node; a node without any fails, and with it the answer above it.
 */
static Step next_answer(Skyline *skyline, SkylineFrame *f)
{
    skyline_undo(skyline, f->mark);
    while (f->next < f->end) {
        skyline_put(skyline, skyline->answer.at[f->next++], f->y);
        if (skyline_propagate(skyline))
            return DESCEND;
        skyline_undo(skyline, f->mark);
    }
    if (f->hole) {
        if (leave_hole(skyline, f))
            return DESCEND;
        skyline_undo(skyline, f->mark);
    }
    skyline->table[f->key >> (64 - skyline->table_bits)] = f->key;
    skyline->answer.n = f->first;
    skyline->frame.n--;
    return NEXT;
}

/* The next part of [*from, limit) that has open items; false if there is none. */
static bool next_part(const Skyline *skyline, int *from, int *to, int limit)
{
    int s = *from;
    while (s < limit && skyline->open_count[s] == 0)
        s++;
    if (s == limit)
        return false;
    *from = s++;
    while (s < limit && skyline->crossing[s] > 0)
        s++;
    *to = s;
    return true;
}

/* Solves [from, limit) and, part by part, what its owners still have to solve. */
static Verdict search(Skyline *skyline)
{
    int from = 0;
    int to;
    int limit = skyline->sections;
    for (Step step = DESCEND;;) {
        if (step == STOP)
            return UNDECIDED;
        SkylineFrame *f =
            skyline->frame.n ? &skyline->frame.at[skyline->frame.n - 1] : NULL;
        if (step == NEXT) {
            if (!f)
                return IMPOSSIBLE;
            step = next_answer(skyline, f);
            from = f->a;
            limit = f->b;
        } else if (next_part(skyline, &from, &to, limit)) {
            step = open_node(skyline, from, to, limit);
        } else if (!f) {
            return FOUND;
        } else {
            from = f->b;
            limit = f->limit;
            skyline->answer.n = f->first;
            skyline->frame.n--;
        }
    }
}

/* ---- orders and rounds ---- */

static int bits_above(uint64_t x, int bits)
{
    int shift = 0;
    while (x >> shift >> bits)
        shift++;
    return shift;
}

static uint64_t order_key(const Skyline *skyline, int i, int order, int shift)
{
    const uint64_t duration =
        (uint64_t)((int64_t)skyline->p->end[i] - skyline->p->begin[i]);
    if (order == BY_SPAN)
        return (uint64_t)(skyline->last[i] - skyline->first[i]);
    if (order == BY_DURATION)
        return duration;
    return duration * ((uint64_t)skyline->p->size[i] >> shift);
}

/* From the second cycle on, keys vary by a tenth either way. */
static void rank_items(Skyline *skyline, int order, bool vary, uint64_t *state)
{
    const ArenaMark mark = arena_mark(skyline->arena);
    Ranked *ranked = NEW_ARRAY(skyline->arena, Ranked, skyline->n);
    int64_t largest = 0;
    for (int i = 0; i < skyline->n; i++)
        largest = i64_max(largest, skyline->p->size[i]);
    const int shift = bits_above((uint64_t)largest, 20);
    for (int i = 0; i < skyline->n; i++) {
        const uint64_t key = order_key(skyline, i, order, shift);
        const uint64_t x = place_random(state) >> 32;
        ranked[i] = (Ranked){ vary ? key * (231 + x % 51) : key, i };
    }
    if (skyline->n)
        qsort(ranked, (size_t)skyline->n, sizeof *ranked, place_by_key);
    for (int i = 0; i < skyline->n; i++)
        skyline->rank[ranked[i].item] = i;
    arena_release(skyline->arena, mark);
}

static void begin(Skyline *skyline, int64_t capacity)
{
    skyline->capacity = capacity;
    skyline->scale = capacity < 1 << 24 ? (1 << 24) / (capacity + 1) + 1 : 1;
    skyline->shift = bits_above((uint64_t)capacity, 36);
    for (int k = 0; k < SKY_RULES * skyline->sections; k++)
        skyline->weights[k] = 1;
}

/* One search by rule k, within so many nodes. */
static Verdict search_by(Skyline *skyline, const Rule *rule, int k,
                         uint64_t nodes)
{
    const size_t row = (size_t)k * (size_t)skyline->sections;
    skyline->bias = rule->bias;
    skyline->weighted = rule->weighted;
    skyline->weight = skyline->weights + row;
    skyline->nodes = 0;
    skyline->node_limit = nodes;
    skyline_mark_all(skyline);
    return skyline_propagate(skyline) ? search(skyline) : IMPOSSIBLE;
}

static void start_again(Skyline *skyline)
{
    skyline->frame.n = 0;
    skyline->answer.n = 0;
    skyline_undo(skyline, 0);
}

Verdict place_exact(Skyline *skyline, int64_t capacity, bool wide,
                    uint64_t budget, int64_t *offset, uint64_t *spent)
{
    const Schedule *plan = wide ? &WIDE_ROUNDS : &NARROW_ROUNDS;
    const size_t items = (size_t)skyline->n;
    uint64_t state = PLACE_SEED;
    uint64_t used = 0;
    uint64_t limit = plan->first;
    Verdict verdict = UNDECIDED;
    begin(skyline, capacity);
    for (int round = 0; verdict == UNDECIDED && used < budget; round++) {
        const int k = round % plan->rules;
        const uint64_t left = budget - used;
        if (k == 0 && round)
            limit = limit * plan->grow / plan->shrink;
        rank_items(skyline, plan->rule[k].order, round >= plan->rules, &state);
        verdict =
            search_by(skyline, plan->rule + k, k, limit < left ? limit : left);
        used += skyline->nodes;
        if (verdict == FOUND)
            memcpy(offset, skyline->offset, sizeof *offset * items);
        start_again(skyline);
    }
    *spent += used + 1;
    return verdict;
}
