/* SPDX-License-Identifier: Apache-2.0 */
#include "prove/reach.h"

#include <inttypes.h>

#include "bounds/bounds.h"

typedef struct Prover {
    Arena *arena;
    const Program *program;
    Loc loc;
} Prover;

static void compare(const Prover *prover, const Step *step, int k,
                    int64_t stated, int64_t found)
{
    if (stated < 0)
        fail_at(STATUS_LIMIT, prover->loc,
                "compile the model anew: manifests of this compiler state it",
                "step %d (%s), operand %d: how far it reaches is not stated",
                step->index, step->kernel->name, k);
    if (stated != found)
        fail_at(STATUS_LIMIT, prover->loc, NULL,
                "step %d (%s), operand %d: it reaches %" PRId64
                " bytes, the manifest states %" PRId64,
                step->index, step->kernel->name, k, found, stated);
}

static void judge(const Prover *prover, const Step *step,
                  const ClaimStep *claim)
{
    Reach *reach = NEW_ARRAY(prover->arena, Reach, step->n_operand);
    const BoundsFault fault =
        bounds_judge(prover->arena, prover->program, step, reach);
    if (fault.why)
        fail_at(STATUS_LIMIT, prover->loc, NULL, "step %d (%s): %s",
                step->index, step->kernel->name, fault.why);
    for (int k = 0; k < step->n_operand; k++)
        if (step->operand[k].tensor)
            compare(prover, step, k, claim->operand.at[k].reach,
                    bounds_bytes(step->operand + k, reach + k));
}

void claim_reach(const Program *program, const Claim *claim, const char *path)
{
    Arena *arena = &program->graph->store->scratch;
    const Prover prover = {
        .arena = arena,
        .program = program,
        .loc = { .file = path, .byte = -1, .node = -1 },
    };
    for (size_t i = 0; i < program->step.n; i++) {
        const ArenaMark mark = arena_mark(arena);
        judge(&prover, program->step.at[i], claim->step.at + i);
        arena_release(arena, mark);
    }
}
