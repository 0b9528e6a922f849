/* SPDX-License-Identifier: Apache-2.0
 * Squeaky wheel optimization (Joslin, Clements 1999) of plain problems: a placement is built from
 * below, the lowest run of sections first. Where it becomes too high, some of the items that are
 * still missing there get a higher priority, and it is built anew. */
#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "place/problem.h"
#include "place/sections.h"

/* What makes an item the next one, and what it gets when it was missing. */
typedef struct Rule {
    int32_t wall; /* for each side on which it fills the run to its end */
    int32_t
        level; /* for each neighbour of the run that it comes to be level with */
    int32_t area;  /* if it is as large as the mean */
    int32_t noise; /* at most */
    int32_t blame;
} Rule;

static const Rule rules[] = {
    { .wall = 1000, .level = 300, .area = 100, .noise = 1000, .blame = 300 },
    { .wall = 300, .level = 300, .area = 100, .blame = 30 },
    { .wall = 1000, .level = 300, .area = 300, .noise = 1000, .blame = 100 },
};

enum {
    RULES = sizeof rules / sizeof *rules,
    SLICE =
        200, /* placements by a rule before it is the next one's turn, at first */
    PATIENCE = 300 /* failures in a row after which priorities are halved */
};

/* The floor of a section that lacks no item. */
#define CLOSED INT64_MAX

struct Squeaky {
    const Problem *p;
    Sections sections;
    int64_t *load;            /* sizes of a section's items */
    int64_t *share;           /* of an item: its area, 1024 is the mean */
    int64_t *priority[RULES]; /* of an item */
    uint64_t random, work;
    int rule, slice, left, failed;

    /* the placement under way, which is to be lower than `height` */
    int64_t height;
    int64_t *offset;
    bool *placed;
    int64_t *floor; /* of a section: all that is placed lies below it */
    int64_t *rest;  /* sizes that it lacks */
    /* runs of sections of one floor: where one ends, by its first, and begins, by its last */
    int32_t *end, *begin;
    /* as sections.born, those that lack first, and how many lack */
    int32_t *born, *lacking;
};

/* ---- runs ---- */

static void set_run(Squeaky *squeaky, int from, int to)
{
    squeaky->end[from] = to;
    squeaky->begin[to - 1] = from;
}

/* Sections of one floor, with the runs beside them that have the same. */
static void join_runs(Squeaky *squeaky, int from, int to)
{
    const int64_t *floor = squeaky->floor;
    if (to < squeaky->sections.n && floor[to] == floor[from])
        to = squeaky->end[to];
    if (from && floor[from - 1] == floor[from])
        from = squeaky->begin[from - 1];
    set_run(squeaky, from, to);
}

static void find_runs(Squeaky *squeaky, int from, int to)
{
    const int64_t *floor = squeaky->floor;
    int next;
    for (int s = from; s < to; s = next) {
        next = s + 1;
        while (next < to && floor[next] == floor[s])
            next++;
        join_runs(squeaky, s, next);
    }
}

/* The first section of the lowest run; -1: all sections are closed. */
static int lowest_run(Squeaky *squeaky)
{
    const int64_t *floor = squeaky->floor;
    int64_t least = CLOSED;
    int lowest = -1;
    for (int s = 0; s < squeaky->sections.n; s = squeaky->end[s]) {
        squeaky->work++;
        if (floor[s] >= least)
            continue;
        least = floor[s];
        lowest = s;
    }
    return lowest;
}

/* ---- items ---- */

static int64_t score_of(Squeaky *squeaky, int i, int from, int to)
{
    const Rule *rule = rules + squeaky->rule;
    const Sections *sections = &squeaky->sections;
    const int64_t *floor = squeaky->floor;
    const int64_t top = floor[from] + squeaky->p->size[i];
    int64_t score = squeaky->priority[squeaky->rule][i];
    score += rule->area * squeaky->share[i] / 1024;
    if (sections->first[i] == from) {
        score += rule->wall;
        score += from && floor[from - 1] == top ? rule->level : 0;
    }
    if (sections->last[i] == to) {
        score += rule->wall;
        score += to < sections->n && floor[to] == top ? rule->level : 0;
    }
    if (rule->noise)
        score +=
            (int64_t)(place_random(&squeaky->random) % (uint64_t)rule->noise);
    return score;
}

/* Of the items that live within a run the one that comes next, as its place in `born`; -1: none. */
static int next_item(Squeaky *squeaky, int from, int to)
{
    const Sections *sections = &squeaky->sections;
    int64_t most = INT64_MIN;
    int best = -1;
    for (int s = from; s < to; s++) {
        const int end = sections->birth[s] + squeaky->lacking[s];
        for (int k = sections->birth[s]; k < end; k++) {
            const int i = squeaky->born[k];
            squeaky->work++;
            if (sections->last[i] > to)
                continue;
            const int64_t score = score_of(squeaky, i, from, to);
            if (score <= most)
                continue;
            most = score;
            best = k;
        }
    }
    squeaky->work += (uint64_t)(to - from);
    return best;
}

static void put_item(Squeaky *squeaky, int from, int to, int place)
{
    const int i = squeaky->born[place];
    const int first = squeaky->sections.first[i];
    const int last = squeaky->sections.last[i];
    const int64_t size = squeaky->p->size[i];
    const int64_t y = squeaky->floor[from];
    squeaky->lacking[first]--;
    squeaky->born[place] =
        squeaky->born[squeaky->sections.birth[first] + squeaky->lacking[first]];
    squeaky->offset[i] = y;
    squeaky->placed[i] = true;
    for (int s = first; s < last; s++) {
        squeaky->rest[s] -= size;
        squeaky->floor[s] = squeaky->rest[s] ? y + size : CLOSED;
    }
    squeaky->work += (uint64_t)(last - first);
    if (from < first)
        set_run(squeaky, from, first);
    if (last < to)
        set_run(squeaky, last, to);
    find_runs(squeaky, first, last);
}

/* Some of the items that section s lacks come earlier the next time. */
static void blame(Squeaky *squeaky, int s)
{
    const Sections *sections = &squeaky->sections;
    int64_t *priority = squeaky->priority[squeaky->rule];
    squeaky->work += (uint64_t)squeaky->p->n;
    for (int i = 0; i < squeaky->p->n; i++)
        if (!squeaky->placed[i] && sections->first[i] <= s &&
            s < sections->last[i] && place_random(&squeaky->random) % 2)
            priority[i] += rules[squeaky->rule].blame;
}

/* Nothing lives within the run: it is level with its lower neighbour then. False: too high. */
static bool raise_run(Squeaky *squeaky, int from, int to)
{
    int64_t *floor = squeaky->floor;
    int64_t level = CLOSED;
    if (from)
        level = floor[from - 1];
    if (to < squeaky->sections.n)
        level = i64_min(level, floor[to]);
    assert(level != CLOSED);
    for (int s = from; s < to; s++) {
        if (level + squeaky->rest[s] >= squeaky->height) {
            blame(squeaky, s);
            return false;
        }
        floor[s] = level;
    }
    join_runs(squeaky, from, to);
    return true;
}

/* ---- a placement ---- */

static void open_all(Squeaky *squeaky)
{
    const Sections *sections = &squeaky->sections;
    const size_t items = (size_t)squeaky->p->n;
    memcpy(squeaky->born, sections->born, items * sizeof *sections->born);
    memset(squeaky->placed, 0, items * sizeof *squeaky->placed);
    for (int s = 0; s < sections->n; s++) {
        squeaky->rest[s] = squeaky->load[s];
        squeaky->floor[s] = squeaky->load[s] ? 0 : CLOSED;
        squeaky->lacking[s] = sections->birth[s + 1] - sections->birth[s];
        set_run(squeaky, s, s + 1);
    }
    find_runs(squeaky, 0, sections->n);
    squeaky->work += items + (uint64_t)sections->n;
}

static bool build(Squeaky *squeaky)
{
    open_all(squeaky);
    for (int from; (from = lowest_run(squeaky)) >= 0;) {
        const int to = squeaky->end[from];
        const int place = next_item(squeaky, from, to);
        if (place >= 0)
            put_item(squeaky, from, to, place);
        else if (!raise_run(squeaky, from, to))
            return false;
    }
    return true;
}

static void count_failure(Squeaky *squeaky)
{
    squeaky->failed++;
    if (squeaky->failed % PATIENCE)
        return;
    for (int i = 0; i < squeaky->p->n; i++)
        squeaky->priority[squeaky->rule][i] /= 2;
}

/* Each rule has its turn, which becomes longer. */
static void next_turn(Squeaky *squeaky)
{
    if (squeaky->left-- > 0)
        return;
    squeaky->rule = (squeaky->rule + 1) % RULES;
    if (!squeaky->rule)
        squeaky->slice += squeaky->slice / 2;
    squeaky->left = squeaky->slice;
    squeaky->failed = 0;
}

int64_t place_squeaky(Squeaky *squeaky, int64_t height, int64_t goal,
                      uint64_t work, int64_t *offset)
{
    const size_t items = (size_t)squeaky->p->n;
    const uint64_t end = squeaky->work + work;
    squeaky->height = height;
    while (squeaky->height > goal && squeaky->work < end) {
        next_turn(squeaky);
        if (!build(squeaky)) {
            count_failure(squeaky);
            continue;
        }
        squeaky->failed = 0;
        squeaky->height = place_height(squeaky->p, squeaky->offset);
        memcpy(offset, squeaky->offset, items * sizeof *offset);
    }
    return squeaky->height;
}

/* ---- setting up ---- */

/* Sizes are cut to 20 bits, so that no sum of areas overflows. */
static int64_t coarse_area(const Squeaky *squeaky, int i, int64_t most)
{
    const Sections *sections = &squeaky->sections;
    const int64_t coarse = squeaky->p->size[i] / (most / (1 << 20) + 1);
    return coarse * (sections->last[i] - sections->first[i]) + 1;
}

static void weigh_items(Squeaky *squeaky)
{
    const Problem *problem = squeaky->p;
    int64_t most = 0;
    for (int i = 0; i < problem->n; i++)
        most = i64_max(most, problem->size[i]);
    int64_t sum = 0;
    for (int i = 0; i < problem->n; i++)
        sum += coarse_area(squeaky, i, most);
    const int64_t mean = problem->n ? sum / problem->n : 1;
    for (int i = 0; i < problem->n; i++)
        squeaky->share[i] = coarse_area(squeaky, i, most) * 1024 / mean;
}

static void load_sections(Squeaky *squeaky)
{
    const Sections *sections = &squeaky->sections;
    for (int i = 0; i < squeaky->p->n; i++)
        for (int s = sections->first[i]; s < sections->last[i]; s++)
            squeaky->load[s] += squeaky->p->size[i];
}

static void make_room(Squeaky *squeaky, Arena *arena, int items, int sections)
{
    squeaky->load = NEW_ARRAY(arena, int64_t, sections);
    squeaky->share = NEW_ARRAY(arena, int64_t, items);
    for (int k = 0; k < RULES; k++)
        squeaky->priority[k] = NEW_ARRAY(arena, int64_t, items);
    squeaky->offset = NEW_ARRAY(arena, int64_t, items);
    squeaky->placed = NEW_ARRAY(arena, bool, items);
    squeaky->floor = NEW_ARRAY(arena, int64_t, sections);
    squeaky->rest = NEW_ARRAY(arena, int64_t, sections);
    squeaky->end = NEW_ARRAY(arena, int32_t, sections);
    squeaky->begin = NEW_ARRAY(arena, int32_t, sections);
    squeaky->born = NEW_ARRAY(arena, int32_t, items);
    squeaky->lacking = NEW_ARRAY(arena, int32_t, sections);
}

Squeaky *place_squeaky_new(Arena *arena, const Problem *problem)
{
    Squeaky *squeaky = NEW(arena, Squeaky);
    *squeaky = (Squeaky){
        .p = problem,
        .sections = place_sections(arena, problem),
        .random = PLACE_SEED,
        .slice = SLICE,
        .left = SLICE,
    };
    make_room(squeaky, arena, problem->n, squeaky->sections.n);
    load_sections(squeaky);
    weigh_items(squeaky);
    return squeaky;
}
