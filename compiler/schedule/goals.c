/* SPDX-License-Identifier: Apache-2.0
 * Goals go in step: the next is one that has made the smallest part of its units. Those that have
 * made as little as the last one come in turn, so that not all of them are looked at each time. */
#include "schedule/goals.h"

/* Has the one made a smaller part of its units than the other? */
static bool is_behind(const Lane *one, const Lane *other)
{
    return (int64_t)one->made * other->units <
           (int64_t)other->made * one->units;
}

/* The next goal that has made as little as the last one had; the number of goals: there is none.
 * No goal before it has: the last one was the first of those that had made least. */
static size_t goal_in_turn(const Walk *walk, const GoalTurn *turn)
{
    if (!turn->lane.units)
        return walk->goal.n;
    for (size_t i = turn->goal + 1; i < walk->goal.n; i++) {
        const Lane *lane = walk->lane.at + walk->goal.at[i];
        if (lane->made < lane->units && !is_behind(&turn->lane, lane))
            return i;
    }
    return walk->goal.n;
}

/* The first of the goals that have made the smallest part; the number of goals: all are done. */
static size_t least_goal(const Walk *walk)
{
    size_t best = walk->goal.n;
    for (size_t i = 0; i < walk->goal.n; i++) {
        const Lane *lane = walk->lane.at + walk->goal.at[i];
        if (lane->made == lane->units)
            continue;
        if (best == walk->goal.n ||
            is_behind(lane, walk->lane.at + walk->goal.at[best]))
            best = i;
    }
    return best;
}

int goals_next(const Walk *walk, GoalTurn *turn)
{
    size_t goal = goal_in_turn(walk, turn);
    if (goal == walk->goal.n)
        goal = least_goal(walk);
    if (goal == walk->goal.n)
        return -1;
    const int lane = walk->goal.at[goal];
    *turn = (GoalTurn){ goal, walk->lane.at[lane] };
    return lane;
}
