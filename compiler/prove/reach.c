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
static bool as_lowered(const ClaimStep *c)
{
    return c->lowered.n == 1 && !c->piece && !c->strip;
}

static void compare(const Prover *v, const Step *s, int k, int64_t stated, int64_t found)
{
    if (stated >= 0 && stated != found)
        fail_at(STATUS_LIMIT, v->loc, NULL,
                "step %d (%s), operand %d: it reaches %" PRId64
                " bytes, the manifest states %" PRId64,
                s->index, s->kernel->name, k, found, stated);
}

static void judge_whole(const Prover *v, const Step *s, const ClaimStep *c)
{
    Reach *reach = NEW_ARRAY(v->arena, Reach, s->n_operand + 1);
    const BoundsFault f = bounds_object(v->arena, v->program, s);
    if (f.why)
        fail_at(STATUS_LIMIT, v->loc, NULL, "step %d (%s): %s", s->index, s->kernel->name, f.why);
    bounds_of(v->program, s, reach);
    for (int k = 0; k < s->n_operand && (size_t)k < c->operand.n; k++)
        if (s->operand[k].tensor)
            compare(v, s, k, c->operand.at[k].reach, bounds_bytes(s->operand + k, reach + k));
}

static void judge_within(const Prover *v, const Step *s, const ClaimStep *c)
{
    for (int k = 0; k < s->n_operand && (size_t)k < c->operand.n; k++) {
        const Operand *o = s->operand + k;
        const int64_t room = o->tensor ? tensor_bytes(o->tensor) - o->offset : 0;
        if (c->operand.at[k].reach > room)
            compare(v, s, k, c->operand.at[k].reach, room);
    }
}

void claim_reach(const Program *p, const Claim *c, const char *path)
{
    Arena *a = &p->graph->store->scratch;
    const Prover v = { a, p, { .file = path, .byte = -1, .node = -1 } };
    for (size_t i = 0; i < p->step.n; i++) {
        const ArenaMark mark = arena_mark(a);
        const Step *s = p->step.at[i];
        if (as_lowered(c->step.at + i))
            judge_whole(&v, s, c->step.at + i);
        else
            judge_within(&v, s, c->step.at + i);
        arena_release(a, mark);
    }
}
