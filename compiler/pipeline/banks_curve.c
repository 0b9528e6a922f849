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
    if (!recompile_run(again, true)) {
        const CurvePoints *curve = &again->compile.program->plan.curve;
        for (size_t i = 0; i < curve->n; i++) {
            CurvePoint point = curve->at[i];
            point.chosen = false;
            VEC_PUSH(&compile->arena, &compile->whole_curve, point);
        }
    }
    recompile_close(compile, again);
}

/* Does another plan need no more, of anything? */
static bool is_beaten(const CurvePoints *curve, const CurvePoint *point)
{
    for (size_t i = 0; i < curve->n; i++) {
        const CurvePoint *other = curve->at + i;
        const bool same = other->arena == point->arena &&
                          other->macs == point->macs &&
                          other->cost == point->cost;
        if (other != point && other->arena <= point->arena &&
            other->macs <= point->macs && other->cost <= point->cost &&
            (!same || other < point))
            return true;
    }
    return false;
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

void banks_join_curve(Compile *compile)
{
    Plan *plan = &compile->program->plan;
    CurvePoints all = { 0 };
    CurvePoints kept = { 0 };
    if (!compile->whole_curve.n)
        return;
    for (size_t i = 0; i < plan->curve.n; i++)
        VEC_PUSH(&compile->arena, &all, plan->curve.at[i]);
    for (size_t i = 0; i < compile->whole_curve.n; i++)
        VEC_PUSH(&compile->arena, &all, compile->whole_curve.at[i]);
    for (size_t i = 0; i < all.n; i++)
        if (all.at[i].chosen || !is_beaten(&all, all.at + i))
            VEC_PUSH(&compile->arena, &kept, all.at[i]);
    qsort(kept.at, kept.n, sizeof *kept.at, by_arena);
    plan->curve = kept;
}
