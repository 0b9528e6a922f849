/* SPDX-License-Identifier: Apache-2.0
 * Nothing is estimated: the model is planned for each size of images that may be the smallest to be
 * computed twice, and the fewest multiplications are taken. */
#include "pipeline/recompute.h"

#include <stdlib.h>

#include "pipeline/banks.h"
#include "pipeline/recompile.h"

enum { MOST_SIZES = 8 };

/* Bytes of images, from which on they are computed twice. */
typedef struct Sizes {
    int64_t least[MOST_SIZES + 2];
    int n;
} Sizes;

/* The largest first. */
static int by_bytes(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    if (x == y)
        return 0;
    return x > y ? -1 : 1;
}

/* Each size of gated images once, the largest ones; before them none. */
static Sizes sizes_of(const Graph *graph)
{
    Sizes sizes = { .n = 1 };
    if (!graph->gated.n)
        return sizes;
    qsort(graph->gated.at, graph->gated.n, sizeof *graph->gated.at, by_bytes);
    for (size_t i = 0; i < graph->gated.n && sizes.n <= MOST_SIZES; i++)
        if (graph->gated.at[i] != sizes.least[sizes.n - 1])
            sizes.least[sizes.n++] = graph->gated.at[i];
    return sizes;
}

/* A plan beside, with images of so many bytes or more computed twice. */
typedef struct Attempt {
    Compile *compile;
    Recompile *again;
    int64_t least;
    /* its curve is noted; else it is planned for the limit, if there is one */
    bool curve;
    Sizes sizes;         /* of the images that there are */
    int64_t arena, macs; /* -1: there is no plan */
    int64_t macs_once;   /* with nothing computed twice */
} Attempt;

static void note_curve(Compile *compile, const CurvePoints *curve)
{
    for (size_t i = 0; i < curve->n; i++) {
        CurvePoint point = curve->at[i];
        point.chosen = false;
        VEC_PUSH(&compile->arena, &compile->recompute_curve, point);
    }
}

/* A plan that the limit does not take is one, too. */
static void make_plan(void *context)
{
    Attempt *attempt = context;
    Recompile *again = attempt->again;
    if (recompile_run(again, true))
        return;
    attempt->sizes = sizes_of(again->compile.graph);
    const bool asked = attempt->curve || again->options.arena_limit;
    if (!asked || attempt->sizes.n == 1)
        return;
    again->last = STAGE_PLAN;
    const Status status = recompile_run(again, true);
    if (status && status != STATUS_LIMIT)
        return;
    const Program *program = again->compile.program;
    attempt->arena = program->plan.arena_size;
    attempt->macs = program_macs(program);
    attempt->macs_once = program->plan.macs_once;
    if (attempt->curve)
        note_curve(attempt->compile, &program->plan.curve);
}

/* Whatever fails, what was opened is closed. */
static Attempt plan_beside(Compile *compile, int64_t least, bool curve)
{
    Attempt attempt = {
        .compile = compile,
        .again = NEW(&compile->arena, Recompile),
        .least = least,
        .curve = curve,
        .sizes = { .n = 1 },
        .arena = -1,
    };
    Recompile *again = attempt.again;
    Diag diag = { .out = diag_now->out, .quiet = true };
    recompile_open(compile, again, STAGE_LOWER);
    again->options.curve = curve;
    again->options.dump_after = NULL;
    if (curve)
        again->options.arena_limit = NULL;
    again->compile.estimate = true;
    again->compile.recompute = least;
    again->compile.recompute_chosen = true;
    if (least)
        banks_skip(&again->compile);
    else
        again->compile.banks = compile->banks;
    (void)protect(&diag, make_plan, &attempt);
    recompile_close(compile, again);
    return attempt;
}

/* Does it hold the limit with fewer multiplications, or, where neither does, come nearer to it? */
static bool is_better(const Attempt *attempt, const Attempt *best,
                      int64_t limit)
{
    if (attempt->arena < 0)
        return false;
    if (attempt->arena > limit)
        return attempt->arena < best->arena;
    return best->arena > limit || attempt->macs < best->macs;
}

/* What stays as a whole is no larger than the limit. */
static int64_t choose_for(Compile *compile, const Attempt *plain, int64_t limit)
{
    const Sizes *sizes = &plain->sizes;
    Attempt best = *plain;
    const bool planned = plain->arena >= 0;
    const bool holds = plain->arena <= limit;
    if (!planned || (holds && plain->macs <= plain->macs_once))
        return 0;
    for (int i = 1; i < sizes->n; i++) {
        if (i + 1 < sizes->n && sizes->least[i + 1] > limit)
            continue;
        const Attempt attempt = plan_beside(compile, sizes->least[i], false);
        if (is_better(&attempt, &best, limit))
            best = attempt;
    }
    return best.least;
}

/* Of all sizes but the one that is taken. */
static void note_curves(Compile *compile, const Sizes *sizes)
{
    for (int i = 0; i < sizes->n; i++)
        if (sizes->least[i] != compile->recompute)
            (void)plan_beside(compile, sizes->least[i], true);
}

void recompute_choose(Compile *compile)
{
    const Options *options = compile->options;
    const long long *limit = options->arena_limit;
    if (compile->recompute_chosen)
        return;
    compile->recompute_chosen = true;
    if (!(limit || options->curve) || !banks_may_choose(compile))
        return;
    const Attempt plain = plan_beside(compile, 0, false);
    if (plain.sizes.n == 1)
        return;
    if (limit)
        compile->recompute = choose_for(compile, &plain, *limit);
    if (options->curve)
        note_curves(compile, &plain.sizes);
    if (compile->recompute)
        banks_skip(compile);
}

/* ---- the curve ---- */

/* From the largest arena on; of equal ones the cheapest first. */
static int by_arena(const void *a, const void *b)
{
    const CurvePoint *x = a;
    const CurvePoint *y = b;
    if (x->arena != y->arena)
        return x->arena > y->arena ? -1 : 1;
    if (x->macs != y->macs)
        return x->macs < y->macs ? -1 : 1;
    if (x->cost == y->cost)
        return 0;
    return x->cost < y->cost ? -1 : 1;
}

/* Is there one behind it that takes as little work, or, of equal arenas, before it? */
static bool is_beaten(const CurvePoints *all, size_t point)
{
    const CurvePoint *p = all->at + point;
    for (size_t i = 0; i < all->n; i++) {
        const CurvePoint *q = all->at + i;
        const bool as_small =
            q->arena == p->arena ? i < point : q->arena < p->arena;
        const bool equal = q->macs == p->macs && q->cost <= p->cost;
        if (as_small && (q->macs < p->macs || equal))
            return true;
    }
    return false;
}

void recompute_join_curve(Compile *compile)
{
    CurvePoints *curve = &compile->program->plan.curve;
    CurvePoints all = { 0 };
    CurvePoints kept = { 0 };
    if (!compile->recompute_curve.n)
        return;
    for (size_t i = 0; i < curve->n; i++)
        VEC_PUSH(&compile->arena, &all, curve->at[i]);
    for (size_t i = 0; i < compile->recompute_curve.n; i++)
        VEC_PUSH(&compile->arena, &all, compile->recompute_curve.at[i]);
    qsort(all.at, all.n, sizeof *all.at, by_arena);
    for (size_t i = 0; i < all.n; i++)
        if (all.at[i].chosen || !is_beaten(&all, i))
            VEC_PUSH(&compile->arena, &kept, all.at[i]);
    *curve = kept;
}
