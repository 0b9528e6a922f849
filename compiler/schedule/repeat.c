/* SPDX-License-Identifier: Apache-2.0
 * Most of a walk comes again and again: where, from one goal to a later one, each step made some
 * units and all that its operands need moved on with what is there, the same calls follow as long
 * as no rule meets an end of its rows. They are listed instead of walked, with the same result. */
#include "schedule/repeat.h"

#include <string.h>

#include "base/size.h"

Repeat repeat_new(const Walk *walk)
{
    const size_t lanes = walk->lane.n;
    const size_t cells = walk->cell.n;
    return (Repeat){
        .made = NEW_ARRAY(walk->arena, int32_t, lanes + 1),
        .shift = NEW_ARRAY(walk->arena, int32_t, cells + 1),
        .moves = NEW_ARRAY(walk->arena, bool, cells + 1),
        .off = walk->hosted,
    };
}

/* What is compared with from now on; at most so many goals. */
static void remember(Repeat *repeat, const Walk *walk, int64_t budget,
                     int32_t goals)
{
    for (size_t k = 0; k < walk->lane.n; k++)
        repeat->made[k] = walk->lane.at[k].made;
    repeat->calls = walk->calls;
    repeat->budget = budget;
    repeat->most = goals;
    repeat->goals = 0;
}

static bool is_done(const Lane *lane)
{
    return lane->made == lane->units;
}

static int32_t moved(const Repeat *repeat, const Walk *walk, size_t lane)
{
    return walk->lane.at[lane].made - repeat->made[lane];
}

/* By how many rows do steps that still make rows of a cell move its end? False: one of them so, and
 * another otherwise. */
static bool find_shifts(Repeat *repeat, const Walk *walk)
{
    memset(repeat->moves, 0, walk->cell.n * sizeof *repeat->moves);
    for (size_t i = 0; i < walk->port.n; i++) {
        const Port *port = walk->port.at + i;
        const size_t lane = (size_t)port->lane;
        if (!port->write || is_done(walk->lane.at + lane))
            continue;
        int32_t *shift = repeat->shift + port->cell;
        bool *moves = repeat->moves + port->cell;
        int32_t by = 0;
        if (port->alike)
            by = moved(repeat, walk, lane);
        if (*moves && *shift != by)
            return false;
        *moves = true;
        *shift = by;
    }
    return true;
}

/* Does it matter which rows the operand needs? */
static bool counts(const Repeat *repeat, const Walk *walk, const Port *port)
{
    const Lane *lane = walk->lane.at + port->lane;
    if (port->write || is_done(lane))
        return false;
    return repeat->moves[port->cell] || port->cell == walk->under;
}

/* Do the rows of two units lie so far apart? */
static bool lie_apart(const Walk *walk, const Port *port, int32_t unit,
                      int32_t other, int32_t by)
{
    const Rows rows = port_rows(walk, port, unit);
    const Rows next = port_rows(walk, port, other);
    return next.lo - rows.lo == by && next.hi - rows.hi == by;
}

/* Rows by which the operand's need moved on. */
static int32_t shift_of(const Repeat *repeat, const Walk *walk,
                        const Port *port)
{
    if (repeat->moves[port->cell])
        return repeat->shift[port->cell];
    const int32_t was = repeat->made[port->lane];
    const int32_t made = walk->lane.at[port->lane].made;
    const Rows before = port_rows(walk, port, was);
    const Rows now = port_rows(walk, port, made);
    return now.lo - before.lo;
}

static bool needs_move(const Repeat *repeat, const Walk *walk)
{
    for (size_t i = 0; i < walk->port.n; i++) {
        const Port *port = walk->port.at + i;
        if (!counts(repeat, walk, port))
            continue;
        const int32_t by = shift_of(repeat, walk, port);
        const int32_t was = repeat->made[port->lane];
        const int32_t made = walk->lane.at[port->lane].made;
        if (!lie_apart(walk, port, was, made, by))
            return false;
    }
    return true;
}

/* Units of one step that follow one another are one call: do both these calls and the same again
 * begin anew? */
static bool calls_begin(const Repeat *repeat, const Walk *walk)
{
    const int32_t at = repeat->calls;
    const uint8_t first = walk->order[at];
    if (at && walk->order[at - 1] == first)
        return false;
    return walk->order[walk->calls - 1] != first;
}

/* Did the steps whose results leave make equal parts, so that they take turns as before? Mostly
 * the last one has not come to its turn. */
static bool goals_move(const Repeat *repeat, const Walk *walk)
{
    int64_t units = 0;
    int64_t made = 0;
    for (size_t i = walk->goal.n; i-- > 0;) {
        const size_t k = (size_t)walk->goal.at[i];
        const Lane *lane = walk->lane.at + k;
        if (is_done(lane))
            continue;
        const int32_t by = moved(repeat, walk, k);
        if (!by || (units && made * lane->units != by * units))
            return false;
        units = lane->units;
        made = by;
    }
    return made > 0;
}

/* Did each step either make a part of its units, in calls that began meanwhile, or nothing? */
static bool lanes_move(const Repeat *repeat, const Walk *walk)
{
    for (size_t k = 0; k < walk->lane.n; k++) {
        const Lane *lane = walk->lane.at + k;
        const int32_t by = moved(repeat, walk, k);
        if (by && (is_done(lane) || lane->called < repeat->made[k]))
            return false;
    }
    return true;
}

/* Do these units and all between them move on alike? Rules but for tables do so between the ends of
 * their rows; where nothing moves, the first may lie above them and the last behind. */
static bool move_alike(const Walk *walk, const Port *port, int32_t first,
                       int32_t last, int32_t by, int32_t shift)
{
    if (port->touch->operand->rule.kind == ROWS_TABLE ||
        !lie_apart(walk, port, last, last + by, shift))
        return false;
    return shift || lie_apart(walk, port, first, last, 0);
}

/* How often the operand's need goes on to move like that, up to `times`. */
static int64_t times_of_port(const Repeat *repeat, const Walk *walk,
                             const Port *port, int64_t times)
{
    const Lane *lane = walk->lane.at + port->lane;
    const int32_t by = moved(repeat, walk, (size_t)port->lane);
    const int32_t shift = shift_of(repeat, walk, port);
    if (!by)
        return times;
    const int32_t end = lane->made + (int32_t)times * by + lane->burst;
    int32_t unit = repeat->made[port->lane];
    if (move_alike(walk, port, unit, end - 1, by, shift))
        return times;
    while (unit < end && lie_apart(walk, port, unit, unit + by, shift))
        unit++;
    if (unit == end)
        return times;
    const int32_t left = unit - lane->burst - lane->made;
    return i64_max(0, left / by);
}

/* How often it all comes again before something ends; once more is walked. */
static int64_t times_of_walk(const Repeat *repeat, const Walk *walk,
                             int64_t budget)
{
    const int64_t visits = repeat->budget - budget;
    int64_t times = i64_max(0, budget - 1) / visits;
    for (size_t k = 0; k < walk->lane.n; k++) {
        const Lane *lane = walk->lane.at + k;
        const int32_t by = moved(repeat, walk, k);
        const int64_t left = lane->units - lane->made - lane->burst;
        if (by)
            times = i64_min(times, left / by - 1);
    }
    for (size_t i = 0; times > 0 && i < walk->port.n; i++) {
        const Port *port = walk->port.at + i;
        if (counts(repeat, walk, port))
            times = times_of_port(repeat, walk, port, times);
    }
    return times;
}

static void list_again(const Repeat *repeat, Walk *walk, int64_t *budget,
                       int64_t times)
{
    const int32_t period = walk->calls - repeat->calls;
    const uint8_t *calls = walk->order + repeat->calls;
    for (int64_t i = 0; i < times; i++) {
        uint8_t *next = walk->order + walk->calls;
        memcpy(next, calls, (size_t)period);
        walk->calls += period;
    }
    for (size_t k = 0; k < walk->lane.n; k++) {
        Lane *lane = walk->lane.at + k;
        const int32_t by = moved(repeat, walk, k) * (int32_t)times;
        lane->made += by;
        lane->called += by;
    }
    *budget -= times * (repeat->budget - *budget);
}

void repeat_goal(Repeat *repeat, Walk *walk, int64_t *budget)
{
    if (repeat->off)
        return;
    repeat->goals++;
    if (!repeat->most) {
        remember(repeat, walk, *budget, 1);
        return;
    }
    if (calls_begin(repeat, walk) && goals_move(repeat, walk) &&
        lanes_move(repeat, walk) && find_shifts(repeat, walk) &&
        needs_move(repeat, walk)) {
        const int64_t times = times_of_walk(repeat, walk, *budget);
        if (times > 0)
            list_again(repeat, walk, budget, times);
        remember(repeat, walk, *budget, 1);
        return;
    }
    if (repeat->goals >= repeat->most)
        remember(repeat, walk, *budget, 2 * repeat->most);
}
