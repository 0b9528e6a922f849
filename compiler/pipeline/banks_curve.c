/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/banks_curve.h"

#include <stdlib.h>

#include "pipeline/recompile.h"

void banks_note_curve(Compile *compile)
{
    static const Banks none;
    Recompile *again = NEW(&compile->arena, Recompile);
    recompile_open(compile, again, STAGE_PLAN);
    again->compile.estimate = true;
    again->compile.banks = &none;
    again->compile.recompute_chosen = true;
    if (!recompile_run(again, true)) {
        const CurvePoints *curve = &again->compile.program->plan.curve;
        for (size_t i = 0; i < curve->n; i++)
            VEC_PUSH(&compile->arena, &compile->whole_curve, curve->at[i]);
    }
    recompile_close(compile, again);
}

/* The arena of the plan without a limit. */
static int64_t chosen_of(const CurvePoints *curve)
{
    for (size_t i = 0; i < curve->n; i++)
        if (curve->at[i].chosen)
            return curve->at[i].arena;
    return 0;
}

static int64_t least_of(const CurvePoints *curve)
{
    return curve->n ? curve->at[curve->n - 1].arena : 0;
}

/* The cheapest first. */
static int by_arena(const void *a, const void *b)
{
    const CurvePoint *one = a;
    const CurvePoint *other = b;
    if (one->arena == other->arena)
        return 0;
    return one->arena > other->arena ? -1 : 1;
}

/* A limit takes what find_banks() (pipeline/banks.c) takes: no banks where those are of no use, and
 * none where it holds by computing things twice. */
void banks_join_curve(Compile *compile)
{
    const CurvePoints *whole = &compile->whole_curve;
    Plan *plan = &compile->program->plan;
    const int64_t without = chosen_of(whole);
    const int64_t with = chosen_of(&plan->curve);
    CurvePoints all = { 0 };
    if (!whole->n)
        return;
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *point = plan->curve.at + i;
        const bool between = point->arena >= with && point->arena < without;
        if (between || point->arena < least_of(whole))
            VEC_PUSH(&compile->arena, &all, *point);
    }
    for (size_t i = 0; i < whole->n; i++) {
        CurvePoint point = whole->at[i];
        point.chosen = false;
        if (point.arena >= without || point.arena < with)
            VEC_PUSH(&compile->arena, &all, point);
    }
    qsort(all.at, all.n, sizeof *all.at, by_arena);
    plan->curve = all;
}
