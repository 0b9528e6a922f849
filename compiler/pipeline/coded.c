/* SPDX-License-Identifier: Apache-2.0
 * Plans are made as values: first without windows, then with those that should fit, until they do.
 */
#include "pipeline/coded.h"

#include <string.h>

#include "base/size.h"
#include "emit/weights.h"
#include "forms/coded.h"
#include "forms/fetch.h"
#include "pipeline/plan_options.h"
#include "plan/trial.h"

enum { TRIES = 8, LARGEST_ROOM = 1 << 20 };

typedef struct Rooms {
    const Program *program;
    PlanOptions plan;
    int64_t memory; /* bytes that the plan may take */
    int64_t missing;
    int64_t *of; /* each step: its window */
} Rooms;

/* ---- what is free ---- */

/* Is the slot a step that runs by itself, as a whole? */
static bool is_one(const Slot *slot, const Step *step)
{
    return slot->end - slot->first == 1 && !slot->stream && !slot->cut.n &&
           step->n_lowered == 1 && !step->strip;
}

/* What a slot leaves free, for the steps that it does. */
static void note_slot(Rooms *rooms, const Trial *trial, const Slot *slot)
{
    for (int32_t k = slot->first; k < slot->end; k++) {
        const Step *step = trial->program->step.at[k];
        const int64_t free = i64_max(0, rooms->memory - slot->bytes);
        const int64_t room = is_one(slot, step) ? free : 0;
        for (int32_t i = 0; i < step->n_lowered; i++)
            rooms->of[step->lowered[i]] =
                i64_min(rooms->of[step->lowered[i]], room);
    }
}

/* The bytes that the plan without windows takes, and so many more. */
static void find_memory(Rooms *rooms, int64_t more)
{
    Arena *scratch = &rooms->program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Trial trial = plan_find(rooms->program, &rooms->plan);
    rooms->memory =
        i64_max(i64_add(trial.plan.arena_size, more), rooms->plan.arena_limit);
    rooms->missing = trial.plan.region_missing;
    arena_release(scratch, mark);
}

/* What is free in a plan of that level. */
static void find_rooms(Rooms *rooms, PlanLevel level)
{
    Arena *scratch = &rooms->program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    PlanOptions options = rooms->plan;
    if (!options.level || options.level > level)
        options.level = level;
    const Trial trial = plan_find(rooms->program, &options);
    for (size_t i = 0; i < rooms->program->step.n; i++)
        rooms->of[i] = LARGEST_ROOM;
    for (size_t i = 0; i < trial.schedule.slot.n; i++)
        note_slot(rooms, &trial, trial.schedule.slot.at + i);
    arena_release(scratch, mark);
}

/* ---- what fits ---- */

/* The window of a planned step becomes smaller by so many bytes; false: it has none. */
static bool narrow_room(Rooms *rooms, const Step *step, int64_t less)
{
    if (!step->fetch)
        return false;
    int64_t *room = rooms->of + step->lowered[0];
    *room = i64_max(0, *room - less);
    return true;
}

static bool narrow_slot(Rooms *rooms, const Trial *trial, size_t i,
                        int64_t less)
{
    const Slot *slot = trial->schedule.slot.at + i;
    bool any = false;
    for (int32_t k = slot->first; k < slot->end; k++)
        any |= narrow_room(rooms, trial->program->step.at[k], less);
    return any;
}

/* The nearest steps that decode, before and behind, kept a slot from being part of a stream: they
 * go without a window. */
static bool close_beside(Rooms *rooms, const Trial *trial, size_t i)
{
    const size_t n = trial->schedule.slot.n;
    size_t before = i;
    size_t behind = i + 1;
    bool any = false;
    while (before && !narrow_slot(rooms, trial, before - 1, LARGEST_ROOM))
        before--;
    any = before != 0;
    while (behind < n && !narrow_slot(rooms, trial, behind, LARGEST_ROOM))
        behind++;
    return any || behind < n;
}

/* Slots that need too much get smaller windows, or a longer stream; false: there is none. */
static bool close_rooms(Rooms *rooms, const Trial *trial)
{
    bool any = false;
    for (size_t i = 0; i < trial->schedule.slot.n; i++) {
        const int64_t bytes = trial->schedule.slot.at[i].bytes;
        if (bytes > rooms->memory)
            any |= narrow_slot(rooms, trial, i, bytes - rooms->memory) ||
                   close_beside(rooms, trial, i);
    }
    return any;
}

static void halve_rooms(Rooms *rooms)
{
    for (size_t i = 0; i < rooms->program->step.n; i++)
        rooms->of[i] /= 2;
}

/* The program with steps and constants of its own, which may be changed. */
static Program copy_of(const Program *program)
{
    Arena *arena = program->graph->arena;
    const size_t n = program->step.n;
    Step **step = NEW_ARRAY(arena, Step *, n + 1);
    for (size_t i = 0; i < n; i++)
        step[i] = step_copy(arena, program->step.at[i]);
    Program copy = program_with_steps(program, step, n);
    copy.weight.at = arena_copy(arena, program->weight.at,
                                program->weight.n * sizeof *copy.weight.at);
    copy.weight.room = copy.weight.n;
    return copy;
}

/* Does the plan of the program with those windows need no more than without? Else there are fewer
 * afterwards. */
static bool fits(Rooms *rooms, const Program *with)
{
    Arena *scratch = &with->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const Trial trial = plan_find(with, &rooms->plan);
    const bool small = trial.plan.arena_size <= rooms->memory &&
                       trial.plan.region_missing <= rooms->missing;
    if (!small && !close_rooms(rooms, &trial))
        halve_rooms(rooms);
    arena_release(scratch, mark);
    return small;
}

/* With the windows that are there, or fewer; false: with none. */
static bool fetch_into(Rooms *rooms, Program *program, FetchOptions *options)
{
    for (int i = 0; i < TRIES; i++) {
        Program with = copy_of(program);
        fetch_steps(&with, options);
        if (!with.stream.steps)
            return false;
        if (fits(rooms, &with)) {
            *program = with;
            return true;
        }
    }
    return false;
}

/* Windows where each step by itself has room: streams that steps which decode were part of are
 * shorter then. Where that takes too much, only for steps that were in no stream. */
static void fetch_within(Compile *compile, FetchOptions *options)
{
    static const PlanLevel levels[] = { PLAN_OVERLAP, PLAN_STREAM };
    Program *program = compile->program;
    Rooms rooms = { .program = program, .plan = plan_options(compile) };
    rooms.of = NEW_ARRAY(program->graph->arena, int64_t, program->step.n + 1);
    options->room = rooms.of;
    find_memory(&rooms, options->window);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        find_rooms(&rooms, levels[i]);
        if (fetch_into(&rooms, program, options))
            return;
    }
    memset(rooms.of, 0, program->step.n * sizeof *rooms.of);
    fetch_steps(program, options);
}

void coded_steps(Compile *compile)
{
    const Options *given = compile->options;
    FetchOptions options = {
        .window = given->window ? *given->window : 0,
        .whole = given->slices,
        .coded = true,
    };
    coded_choose(compile->program);
    fetch_within(compile, &options);
}

void coded_layout(Program *program)
{
    coded_write(program);
    weights_layout(program, UINT64_MAX);
}
