/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/lengths_states.h"

#include <inttypes.h>

#include "base/diag.h"
#include "base/size.h"
#include "prove/check.h"

static Tensor *state_of(const Program *program, size_t i)
{
    const Graph *graph = program->graph;
    return graph->input.at[graph->state.at[i].in];
}

/* What a state takes of the arena: what lies behind it is aligned. */
static int64_t room_of(const Program *program, size_t i)
{
    const size_t align = (size_t)program->plan.arena_align;
    const size_t bytes = (size_t)tensor_bytes(state_of(program, i));
    return (int64_t)size_align(bytes, align);
}

static void compare_sizes(const Lengths *lengths, const Program *program,
                          int32_t combination)
{
    if (!lengths->variant.n)
        return;
    const Program *first = lengths->variant.at[0]->program;
    for (size_t i = 0; i < program->graph->state.n; i++) {
        const Tensor *state = state_of(program, i);
        const int64_t most = tensor_bytes(state_of(first, i));
        const int64_t bytes = tensor_bytes(state);
        if (bytes != most)
            fail_at(STATUS_UNSUPPORTED, LOC_NONE,
                    "leave out --state for it: the caller hands it on; or give "
                    "one length, --dim T=64",
                    "state \"%s\" has %" PRId64 " bytes at %s and %" PRId64
                    " at the greatest lengths: what stays in the arena has one "
                    "size",
                    state->name, bytes, lengths_text(lengths, combination),
                    most);
    }
}

/* Where the bytes come to lie that are no state's: nothing else ever has the bytes of a state, so
 * that each tensor lies between two of them. */
static int64_t moved(const Program *program, const int64_t *before, int64_t at)
{
    int64_t to = at;
    for (size_t i = 0; i < program->graph->state.n; i++)
        if (before[i] > at)
            to += room_of(program, i);
    return to;
}

static void move_others(Arena *arena, const Program *program,
                        const int64_t *before)
{
    const int ids = graph_root(program->graph)->next_id;
    bool *seen = NEW_ARRAY(arena, bool, ids + 1);
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            int64_t at;
            if (!step->operand[k].tensor)
                continue;
            Tensor *root = tensor_root(step->operand[k].tensor, &at);
            if (root->storage != STORE_ARENA || root->state || seen[root->id])
                continue;
            seen[root->id] = true;
            root->offset = moved(program, before, root->offset);
        }
    }
}

static int64_t end_of(const Program *program)
{
    int64_t end = program->plan.arena_size;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            int64_t at;
            if (!step->operand[k].tensor)
                continue;
            const Tensor *root = tensor_root(step->operand[k].tensor, &at);
            if (root->storage == STORE_ARENA)
                end = i64_max(end, root->offset + tensor_bytes(root));
        }
    }
    return end;
}

void lengths_place_states(const Lengths *lengths, Program *program,
                          int32_t combination)
{
    const size_t states = program->graph->state.n;
    if (!states)
        return;
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    int64_t *before = NEW_ARRAY(scratch, int64_t, states + 1);
    int64_t to = 0;
    compare_sizes(lengths, program, combination);
    for (size_t i = 0; i < states; i++)
        before[i] = state_of(program, i)->offset;
    move_others(scratch, program, before);
    for (size_t i = 0; i < states; i++) {
        state_of(program, i)->offset = to;
        to += room_of(program, i);
    }
    program_place_states(program);
    program->plan.arena_size = end_of(program);
    program_link(program);
    plan_check(program);
    arena_release(scratch, mark);
}
