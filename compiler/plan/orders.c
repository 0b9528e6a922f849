/* SPDX-License-Identifier: Apache-2.0
 * From an order on: the schedule makes streams, the order of those streams and of the other steps
 * is searched again, and what lives through the peak is let die before it or be born behind it, as
 * long as the peak falls. */
#include "plan/orders.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "plan/trial.h"
#include "schedule/order.h"
#include "schedule/order_slots.h"

enum { MOST_TURNS = 64, MOST_MOVED = 12 };

typedef struct Orders {
    Arena *arena;
    const Program *program;
    PlanOptions opt; /* walks are those of `work` */
    PlanWork *work;
    int32_t *best; /* numbers of the given order */
    int64_t least; /* its peak */
} Orders;

/* An order, its schedule, and what comes before what in it. */
typedef struct Turn {
    Program program;
    Trial trial;
    OrderProblem problem;
    int64_t peak;
    const Slot *worst; /* a slot with the peak; NULL: there are no steps */
} Turn;

/* Steps that change their place. */
typedef struct Move {
    const Turn *turn;
    bool *moved; /* by step */
} Move;

static size_t steps_of(const Orders *orders)
{
    return orders->program->step.n;
}

static bool goes_on(const Orders *orders)
{
    const PlanWork *left = orders->work;
    return left->steps > 0 && left->walks > 0;
}

Program orders_program(Arena *arena, const Program *program,
                       const int32_t *order)
{
    const size_t n = program->step.n;
    Step **step = NEW_ARRAY(arena, Step *, n + 1);
    for (size_t i = 0; i < n; i++)
        step[i] = program->step.at[order[i]];
    return program_with_steps(program, step, n);
}

static Program program_in(const Orders *orders, const int32_t *order)
{
    return orders_program(orders->arena, orders->program, order);
}

static Turn *turn_new(Orders *orders, const int32_t *order)
{
    const bool by_row = orders->opt.level >= PLAN_OVERLAP;
    Turn *turn = NEW(orders->arena, Turn);
    turn->program = program_in(orders, order);
    turn->trial = trial_new(&turn->program, &orders->opt);
    turn->problem = order_problem(orders->arena, &turn->trial.all, by_row,
                                  orders->opt.walked);
    turn->peak = turn->trial.schedule.peak;
    for (size_t i = 0; i < turn->trial.schedule.slot.n; i++) {
        const Slot *slot = turn->trial.schedule.slot.at + i;
        if (!turn->worst || slot->bytes > turn->worst->bytes)
            turn->worst = slot;
    }
    orders->work->steps -= (int64_t)steps_of(orders);
    return turn;
}

/* order[next[0]], order[next[1]] .. in place of the order. */
static void rearrange(Orders *orders, int32_t *order, const int32_t *next)
{
    const size_t n = steps_of(orders);
    int32_t *other = NEW_ARRAY(orders->arena, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        other[i] = order[next[i]];
    memcpy(order, other, n * sizeof *order);
}

/* Steps [first, end) that were moved, or that were not, come next; returns how many are listed. */
static int32_t list_steps(const Move *move, bool moved, int32_t first,
                          int32_t end, int32_t *next, int32_t put)
{
    for (int32_t s = first; s < end; s++) {
        if (move->moved[s] != moved)
            continue;
        next[put] = s;
        put++;
    }
    return put;
}

static void list_moved(const Move *move, int32_t at, int32_t n, int32_t *next)
{
    int32_t put = list_steps(move, false, 0, at, next, 0);
    put = list_steps(move, true, 0, n, next, put);
    list_steps(move, false, at, n, next, put);
}

/* Takes the moved steps out of their places and puts them in front of step `at`, where that lowers
 * the peak. */
static bool try_move(Orders *orders, int32_t *order, const Move *move,
                     int32_t at)
{
    const ArenaMark mark = arena_mark(orders->arena);
    const int32_t n = (int32_t)steps_of(orders);
    int32_t *next = NEW_ARRAY(orders->arena, int32_t, n + 1);
    int32_t *other =
        arena_copy(orders->arena, order, (size_t)n * sizeof *order);
    list_moved(move, at, n, next);
    rearrange(orders, other, next);
    const Program program = program_in(orders, other);
    const int64_t peak = move->turn->peak;
    const bool lower = trial_peak(&program, &orders->opt, peak) < peak;
    orders->work->steps -= n;
    if (lower)
        memcpy(order, other, (size_t)n * sizeof *order);
    arena_release(orders->arena, mark);
    return lower;
}

/* Does the step make, write or read the item? */
static bool touches(const OrderProblem *problem, int32_t step, int32_t item)
{
    for (int32_t k = problem->touch_of[step]; k < problem->touch_of[step + 1];
         k++) {
        if (problem->touch[k] == item)
            return true;
    }
    return false;
}

/* What touches the item from step `from` on, and what that needs. False: nothing does. */
static bool take_last(const Move *move, int32_t item, int32_t from)
{
    const OrderProblem *problem = &move->turn->problem;
    bool any = false;
    memset(move->moved, 0, (size_t)problem->steps * sizeof *move->moved);
    for (int32_t s = problem->steps; s-- > from;) {
        move->moved[s] |= touches(problem, s, item);
        any |= move->moved[s];
        for (int32_t k = problem->before_of[s];
             move->moved[s] && k < problem->before_of[s + 1]; k++) {
            const int32_t before = problem->before[k];
            if (before >= from)
                move->moved[before] = true;
        }
    }
    return any;
}

/* What touches the item before step `end`, and what needs that. False: nothing does. */
static bool take_first(const Move *move, int32_t item, int32_t end)
{
    const OrderProblem *problem = &move->turn->problem;
    bool any = false;
    memset(move->moved, 0, (size_t)problem->steps * sizeof *move->moved);
    for (int32_t s = 0; s < end; s++) {
        move->moved[s] = touches(problem, s, item);
        for (int32_t k = problem->before_of[s]; k < problem->before_of[s + 1];
             k++)
            move->moved[s] |= move->moved[problem->before[k]];
        any |= move->moved[s];
    }
    return any;
}

/* The first step that they may stand in front of. */
static int32_t earliest(const Move *move)
{
    const OrderProblem *problem = &move->turn->problem;
    int32_t at = 0;
    for (int32_t s = 0; s < problem->steps; s++) {
        for (int32_t k = problem->before_of[s];
             move->moved[s] && k < problem->before_of[s + 1]; k++) {
            const int32_t before = problem->before[k];
            if (!move->moved[before] && before >= at)
                at = before + 1;
        }
    }
    return at;
}

/* The item dies before the worst slot, as early as may be or at the last, or is born in it or
 * behind it. */
static bool move_item(Orders *orders, int32_t *order, const Move *move,
                      int32_t item)
{
    const int32_t first = move->turn->worst->first;
    const int32_t end = move->turn->worst->end;
    bool lower = false;
    if (take_last(move, item, first)) {
        const int32_t at = earliest(move);
        lower = try_move(orders, order, move, at);
        if (!lower && at < first)
            lower = try_move(orders, order, move, first);
    }
    if (!lower && take_first(move, item, first))
        lower = try_move(orders, order, move, first);
    if (!lower && take_first(move, item, end))
        lower = try_move(orders, order, move, end);
    return lower;
}

typedef struct Living {
    int64_t bytes;
    int32_t item;
} Living;

static int by_bytes(const void *a, const void *b)
{
    const Living *x = a;
    const Living *y = b;
    if (x->bytes > y->bytes)
        return -1;
    if (x->bytes < y->bytes)
        return 1;
    return x->item - y->item;
}

/* What is alive in the worst slot, the largest first. */
static size_t list_living(const Turn *turn, Living *living)
{
    const Items *all = &turn->trial.all;
    const int32_t first = turn->worst->first;
    const int32_t end = turn->worst->end;
    size_t n = 0;
    for (size_t i = 0; i < all->item.n; i++) {
        const Item *item = all->item.at + i;
        if (item->outside || item->scratch)
            continue;
        if (item->first >= end || item->end <= first)
            continue;
        living[n].bytes = item->size;
        living[n].item = (int32_t)i;
        n++;
    }
    qsort(living, n, sizeof *living, by_bytes);
    return n;
}

static bool move_any(Orders *orders, int32_t *order, const Turn *turn)
{
    const size_t items = turn->trial.all.item.n;
    Living *living = NEW_ARRAY(orders->arena, Living, items + 1);
    const Move move = {
        .turn = turn,
        .moved = NEW_ARRAY(orders->arena, bool, steps_of(orders) + 1),
    };
    const size_t n = list_living(turn, living);
    for (size_t i = 0; i < n && i < MOST_MOVED && goes_on(orders); i++) {
        if (move_item(orders, order, &move, living[i].item))
            return true;
    }
    return false;
}

/* The same steps and streams in the order that they need least in. */
static bool reorder_slots(Orders *orders, int32_t *order, const Turn *turn)
{
    const int64_t work = plan_budget(&orders->opt).slot_order;
    const Order better =
        order_slots(orders->arena, &turn->trial.all, &turn->problem,
                    &turn->trial.schedule, work, orders->opt.orders);
    if (!better.step || better.peak >= turn->peak)
        return false;
    rearrange(orders, order, better.step);
    return true;
}

/* Schedules the order, and changes it to one with a lower peak; false: there is none. */
static bool take_turn(Orders *orders, int32_t *order)
{
    const ArenaMark mark = arena_mark(orders->arena);
    const Turn *turn = turn_new(orders, order);
    if (turn->peak < orders->least)
        memcpy(orders->best, order, steps_of(orders) * sizeof *order);
    orders->least = i64_min(orders->least, turn->peak);
    bool lower = turn->worst && reorder_slots(orders, order, turn);
    if (turn->worst && !lower)
        lower = move_any(orders, order, turn);
    arena_release(orders->arena, mark);
    return lower;
}

int64_t orders_search(const Program *program, const PlanOptions *opt,
                      PlanWork *work, int32_t *best)
{
    const size_t n = program->step.n;
    Orders orders = {
        .arena = &program->graph->store->scratch,
        .program = program,
        .opt = *opt,
        .work = work,
        .best = best,
        .least = INT64_MAX,
    };
    orders.opt.walks = &work->walks;
    int32_t *order = NEW_ARRAY(orders.arena, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        order[i] = best[i] = (int32_t)i;
    for (int i = 0; i < MOST_TURNS && (!i || goes_on(&orders)); i++)
        if (!take_turn(&orders, order))
            break;
    return orders.least;
}
