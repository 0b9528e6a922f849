/* SPDX-License-Identifier: Apache-2.0 */
#include "prove/reach.h"

#include <inttypes.h>

#include "bounds/bounds.h"

typedef struct Prover {
    Arena *arena;
    const Program *program;
    Loc loc;
} Prover;

/* Its kernel and parameters are those of the step as lowered. */
static bool as_lowered(const ClaimStep *claim)
{
    return claim->lowered.n == 1 && !claim->piece && !claim->strip;
}

static void compare(const Prover *v, const Step *step, int k, int64_t stated, int64_t found)
{
    if (stated >= 0 && stated != found)
        fail_at(STATUS_LIMIT, v->loc, NULL,
                "step %d (%s), operand %d: it reaches %" PRId64
                " bytes, the manifest states %" PRId64,
                step->index, step->kernel->name, k, found, stated);
}

static void judge_whole(const Prover *v, const Step *step, const ClaimStep *claim)
{
    Reach *reach = NEW_ARRAY(v->arena, Reach, step->n_operand + 1);
    const BoundsFault fault = bounds_object(v->arena, v->program, step);
    if (fault.why)
        fail_at(STATUS_LIMIT, v->loc, NULL, "step %d (%s): %s", step->index, step->kernel->name,
                fault.why);
    bounds_of(v->program, step, reach);
    for (int k = 0; k < step->n_operand && (size_t)k < claim->operand.n; k++)
        if (step->operand[k].tensor)
            compare(v, step, k, claim->operand.at[k].reach,
                    bounds_bytes(step->operand + k, reach + k));
}

static void judge_within(const Prover *v, const Step *step, const ClaimStep *claim)
{
    for (int k = 0; k < step->n_operand && (size_t)k < claim->operand.n; k++) {
        const Operand *o = step->operand + k;
        const int64_t room = o->tensor ? tensor_bytes(o->tensor) - o->offset : 0;
        if (claim->operand.at[k].reach > room)
            compare(v, step, k, claim->operand.at[k].reach, room);
    }
}

void claim_reach(const Program *p, const Claim *claim, const char *path)
{
    Arena *arena = &p->graph->store->scratch;
    const Prover v = { arena, p, { .file = path, .byte = -1, .node = -1 } };
    for (size_t i = 0; i < p->step.n; i++) {
        const ArenaMark mark = arena_mark(arena);
        const Step *s = p->step.at[i];
        if (as_lowered(claim->step.at + i))
            judge_whole(&v, s, claim->step.at + i);
        else
            judge_within(&v, s, claim->step.at + i);
        arena_release(arena, mark);
    }
}
