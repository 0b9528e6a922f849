/* SPDX-License-Identifier: Apache-2.0
 * First the least possible peak (minimax over the paths), then the cheapest path under it. Streams
 * are walked only where a best path goes through them. */
#include "schedule/segment.h"

#include <assert.h>

#include "base/mix.h"
#include "base/size.h"
#include "schedule/finder.h"

enum { NARROW_TURNS = 8, LEAST_REACH = 4 };

/* Pins are of single tensors, and strips have narrow rings of their own. */
static bool options_deal(const PlanOptions *opt)
{
    return opt->slots && !opt->pins && !opt->strips;
}

/* Most steps of a stream. */
static int32_t reach_of(const PlanBudget *budget, int32_t steps)
{
    const int64_t edges_of_step = budget->edges / (steps + 1);
    const int64_t most = i64_min(STREAM_STEPS, edges_of_step);
    return (int32_t)i64_max(LEAST_REACH, most);
}

/* What knows its options, and no edges yet. */
static Finder *finder_new(Arena *a, const Items *all, const PlanOptions *opt)
{
    const PlanBudget budget = plan_budget(opt);
    const int32_t steps = (int32_t)all->program->step.n;
    Finder *finder = NEW(a, Finder);
    *finder = (Finder){
        .arena = a,
        .all = all,
        .opt = opt,
        .streams = opt->level >= PLAN_STREAM,
        .overlap = opt->level >= PLAN_OVERLAP,
        .slots = options_deal(opt),
        .pixels = opt->pixels ? opt->pixels : STREAM_PIXELS,
        .steps = steps,
        .walking = budget.curve_walks,
        .looking = budget.paths + budget.paths_of_step * steps,
        .reach = reach_of(&budget, steps),
    };
    if (opt->walked)
        finder->keys = walked_keys(a, all, finder->pixels);
    return finder;
}

static void add_edges(Finder *finder)
{
    Arena *arena = finder->arena;
    finder->best = NEW_ARRAY(arena, Best, finder->steps + 1);
    finder->changed = NEW_ARRAY(arena, bool, finder->steps + 1);
    if (finder->opt->strips)
        finder->strips = strips_new(arena, finder->all);
    finder_count(finder);
    finder_add_edges(finder);
}

Finder *schedule_open(Arena *a, const Items *all, const PlanOptions *opt)
{
    Finder *finder = finder_new(a, all, opt);
    add_edges(finder);
    return finder;
}

static Schedule take(Finder *finder, const Best *best)
{
    const Best *last = best + finder->steps;
    Schedule schedule = {
        .peak = last->peak,
        .work = last->work,
        .cost = last->cost,
    };
    int32_t *path = NEW_ARRAY(finder->arena, int32_t, finder->steps + 1);
    int32_t n = 0;
    for (int32_t k = finder->steps; k > 0; k = finder->edge.at[path[n++]].from)
        path[n] = best[k].edge;
    while (n--) {
        Edge *edge = finder->edge.at + path[n];
        const StripEdge *strip = strip_of_edge(finder, edge);
        finder_walk_again(finder, edge);
        const Slot slot = {
            .first = edge->from,
            .end = edge->to,
            .stream = edge->stream,
            .unjoined = edge->stream,
            .cut = strip ? strip->cut : (Cut){ 0 },
            .bytes = edge->bytes,
        };
        VEC_PUSH(finder->arena, &schedule.slot, slot);
    }
    return schedule;
}

bool schedule_under(Finder *finder, int64_t limit, Schedule *out)
{
    Best *best = finder->best;
    finder->most = i64_max(limit, 1);
    finder_find_path(finder, finder->most, false, best);
    while (!finder->steps || best[finder->steps].edge >= 0) {
        if (!finder_settle_path(finder, best))
            break;
        if (finder->looking < 0) {
            finder_give_up_edges(finder);
            finder_find_path(finder, finder->most, false, best);
            break;
        }
        finder_mend_path(finder, finder->most, best);
    }
    if (finder->steps && best[finder->steps].edge < 0)
        return false;
    *out = take(finder, best);
    return true;
}

/* The best path of streams that were walked: what is worse is of no use. True: edges were dropped.
 */
static bool narrow(Finder *finder)
{
    const ArenaMark mark = arena_mark(finder->arena);
    Best *known = NEW_ARRAY(finder->arena, Best, finder->steps + 1);
    finder_find_path(finder, 0, true, known);
    const int64_t peak = known[finder->steps].peak;
    arena_release(finder->arena, mark);
    if (peak >= finder->most)
        return false;
    finder->most = peak;
    finder_drop_edges(finder, i64_max(peak, finder->opt->arena_limit));
    return true;
}

/* No path has a lower peak than the best one over bounds: below it edges need not be told apart. */
static void raise_floor(Finder *finder)
{
    const Best *last = finder->best + finder->steps;
    if (last->peak <= finder->floor)
        return;
    const bool first = !finder->floor;
    finder->floor = last->peak;
    /* Later, what is not led through edges that grew stays: it is only one of several paths. Pools
     * are laid out of what is walked: there the paths of least peaks everywhere come first. */
    if (first && !finder->slots)
        finder_find_path(finder, 0, false, finder->best);
}

/* The least peak. When it is only to be compared with `most`, it may stop above that. */
static int64_t seek_least(Finder *finder, int64_t most)
{
    const Best *last = finder->best + finder->steps;
    finder->most = most ? most : INT64_MAX;
    if (most)
        finder_drop_edges(finder, i64_max(most, finder->opt->arena_limit));
    for (int turn = 0;; turn++) {
        if (finder->looking < 0) {
            finder_give_up_edges(finder);
            finder_find_path(finder, 0, false, finder->best);
            return last->peak;
        }
        const bool dropped =
            !finder->bounding && turn % NARROW_TURNS == 0 && narrow(finder);
        if (dropped || !turn)
            finder_find_path(finder, 0, false, finder->best);
        else
            finder_mend_path(finder, 0, finder->best);
        raise_floor(finder);
        if ((most && last->peak > most) ||
            !finder_settle_path(finder, finder->best))
            return last->peak;
    }
}

static int64_t settle_least(Finder *finder, int64_t most)
{
    finder->seeking = true;
    finder->floor = 0;
    const int64_t peak = seek_least(finder, most);
    finder->seeking = false;
    finder->floor = 0;
    return peak;
}

/* A pool that was laid out in haste may yet become so much smaller: by a part in so many. */
enum { HASTE = 3 };

/* No pool is laid out where what is alive in it is too much already. */
static int64_t find_least(Finder *finder, int64_t most)
{
    if (!finder->slots || !most)
        return settle_least(finder, most);
    finder->bounding = true;
    const int64_t bound = settle_least(finder, most);
    finder->bounding = false;
    if (bound > most)
        return NEVER;
    finder_drop_edges(finder, i64_max(most, finder->opt->arena_limit));
    return settle_least(finder, most + most / HASTE);
}

/* What walks a schedule may take, of those that are left to all of a search. */
static int64_t walks_left(const PlanOptions *opt)
{
    const int64_t usual = plan_budget(opt).walks;
    const int64_t left = opt->walks ? i64_max(0, *opt->walks) : usual;
    return i64_min(usual, left);
}

/* The same, within what walks are left to all schedules of a search. */
static int64_t find_least_in_all(Finder *finder, int64_t most)
{
    const PlanOptions *opt = finder->opt;
    const int64_t walks = walks_left(opt);
    finder->walking = walks;
    const int64_t peak = find_least(finder, most);
    if (opt->walks)
        *opt->walks -= walks - finder->walking;
    return peak;
}

/* What is remembered of the peak of these steps; NULL: nothing can be. Pools are laid out up to a
 * limit only. */
static WalkedRange *remembered_peak(const Finder *finder)
{
    const Items *all = finder->all;
    const PlanOptions *opt = finder->opt;
    if (!opt->walked || finder->slots)
        return NULL;
    uint64_t key =
        walked_key(all, 0, finder->steps, &finder->keys, WALKED_PEAK);
    key = mix_number(key, opt->goal);
    key = mix_number(key, opt->arena_limit);
    for (int32_t k = 0; k < finder->steps; k++)
        key = mix_number(key, stream_takes(all, k) && !items_jumped(all, k));
    return walked_find(opt->walked, key);
}

/* A search that ran out of work has found nothing that is worth to be remembered. */
static void remember_peak(const Finder *finder, int64_t most, int64_t peak,
                          WalkedRange *range)
{
    if (finder->walking <= 0 || finder->looking < 0)
        return;
    if (!most || peak <= most)
        range->bytes = peak;
    else
        range->beyond = i64_max(range->beyond, most);
}

/* The finder has no edges yet, and gets them where the peak is not known. */
static int64_t find_peak(Finder *finder, int64_t most)
{
    WalkedRange *range = remembered_peak(finder);
    if (range && range->bytes != WALKED_NOT)
        return range->bytes;
    if (range && most && most <= range->beyond)
        return most + 1;
    const uint64_t key = range ? range->key : 0;
    add_edges(finder);
    const int64_t peak = find_least_in_all(finder, most);
    if (range)
        remember_peak(finder, most, peak,
                      walked_find(finder->opt->walked, key));
    return peak;
}

int64_t schedule_peak(Arena *arena, const Items *all, const PlanOptions *opt,
                      int64_t most)
{
    return find_peak(finder_new(arena, all, opt), most);
}

static Slot *worst_slot(const Schedule *schedule)
{
    Slot *worst = schedule->slot.at;
    for (size_t i = 1; i < schedule->slot.n; i++)
        if (schedule->slot.at[i].bytes > worst->bytes)
            worst = schedule->slot.at + i;
    return worst;
}

/* The most bytes that are alive outside of the slot. */
static int64_t worst_but(const Schedule *schedule, const Slot *slot)
{
    int64_t worst = 0;
    for (size_t i = 0; i < schedule->slot.n; i++)
        if (schedule->slot.at + i != slot)
            worst = i64_max(worst, schedule->slot.at[i].bytes);
    return worst;
}

/* May a closer pool be of use? */
static bool may_fit_closer(const Finder *finder, const Slot *slot)
{
    const PlanOptions *opt = finder->opt;
    if (!slot->stream || slot->bytes <= opt->arena_limit)
        return false;
    const int64_t least =
        slot->bytes - slot->stream->bytes + slot->stream->least;
    return !opt->below || least < opt->below;
}

/* The stream at the peak gets a closer pool, as long as that lowers the peak. */
static void fit_closer(Finder *finder, Schedule *schedule)
{
    while (schedule->slot.n) {
        Slot *slot = worst_slot(schedule);
        const int64_t bytes = slot->bytes;
        schedule->peak = bytes;
        if (!may_fit_closer(finder, slot))
            return;
        const int64_t enough =
            i64_max(worst_but(schedule, slot), finder->opt->arena_limit);
        slot->bytes = finder_fit_closer(finder, enough, &slot->stream);
        slot->unjoined = slot->stream;
        if (slot->bytes >= bytes)
            return;
    }
}

static bool join_units(Finder *finder, Schedule *schedule, int64_t most)
{
    bool joined = false;
    for (size_t i = 0; i < schedule->slot.n; i++) {
        Slot *slot = schedule->slot.at + i;
        if (slot->stream)
            finder_join_units(finder, &slot->stream, most);
        joined |= slot->stream != slot->unjoined;
    }
    return joined;
}

/* Is the peak no lower than one that is known? */
static bool is_useless(const PlanOptions *opt, int64_t peak)
{
    return opt->below && peak >= opt->below;
}

/* Where the peak was only remembered, all is walked anew. False: that takes more walks than are
 * left. */
static bool take_under(Finder *finder, int64_t limit, Schedule *out)
{
    if (!finder->best) {
        add_edges(finder);
        finder->walking = walks_left(finder->opt);
    }
    return schedule_under(finder, limit, out);
}

Schedule schedule_find(Arena *arena, const Items *all, const PlanOptions *opt)
{
    Finder *finder = finder_new(arena, all, opt);
    const int64_t most = opt->below ? opt->below - 1 : 0;
    const int64_t peak = find_peak(finder, most);
    const int64_t limit = i64_max(peak, opt->arena_limit);
    Schedule schedule = { .peak = peak };
    if (most && peak > most + most / HASTE)
        return schedule;
    if (!take_under(finder, limit, &schedule)) {
        finder = schedule_open(arena, all, opt);
        schedule.peak = find_least_in_all(finder, most);
        const bool found = schedule_under(
            finder, i64_max(schedule.peak, opt->arena_limit), &schedule);
        assert(found);
        (void)found;
    }
    if (finder->slots)
        fit_closer(finder, &schedule);
    if (opt->join && !is_useless(opt, schedule.peak))
        schedule.joined = join_units(finder, &schedule,
                                     i64_max(schedule.peak, opt->arena_limit));
    return schedule;
}
