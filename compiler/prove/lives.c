/* SPDX-License-Identifier: Apache-2.0
 * Lives are read off the steps in their planned order; a loop lengthens those of what it reads. */
#include "prove/lives.h"

#include <assert.h>

#include "base/size.h"
#include "prove/replay.h"

int64_t lives_round_up(const Lives *lives, int64_t bytes)
{
    const int64_t align = lives->program->plan.arena_align;
    return i64_ceil_div(bytes, align) * align;
}

/* Step i's segment where that is a stream, else NULL; *next: a segment not behind it. */
static const Segment *stream_at(const Plan *plan, size_t *next, int32_t i)
{
    const Segment *segment = plan->segment.at;
    while (*next < plan->segment.n &&
           segment[*next].first + segment[*next].count <= i)
        ++*next;
    if (*next == plan->segment.n || !segment[*next].list)
        return NULL;
    return segment + *next;
}

static void list_slots(Lives *lives)
{
    const Program *program = lives->program;
    const int32_t steps = (int32_t)program->step.n;
    size_t segment = 0;
    int32_t i = 0;
    lives->slot_of = NEW_ARRAY(lives->arena, int32_t, steps);
    while (i < steps) {
        const Segment *s = stream_at(&program->plan, &segment, i);
        const int32_t end = s ? s->first + s->count : i + 1;
        for (int32_t k = i; k < end; k++)
            lives->slot_of[k] = (int32_t)lives->slot.n;
        VEC_PUSH(lives->arena, &lives->slot, ((Slot){ i, end, s }));
        i = end;
    }
}

Life *life_of(const Lives *lives, const Operand *operand)
{
    int64_t at;
    if (!watched(operand))
        return NULL;
    const Tensor *tensor = owner_of(operand, &at);
    return tensor->storage == STORE_ARENA ? lives->life + tensor->id : NULL;
}

static void meet_operand(Lives *lives, const Operand *operand, int32_t slot)
{
    int64_t at;
    Life *life = life_of(lives, operand);
    if (!life)
        return;
    const Tensor *tensor = owner_of(operand, &at);
    if (life->last < 0)
        *life = (Life){
            .first = slot,
            .scratch = operand->scratch,
            .bytes = lives_round_up(lives, operand_extent(operand, tensor)),
        };
    life->last = slot;
}

/* Loops that a step lies in, the outermost first. */
typedef struct Loops {
    int32_t *first; /* steps */
    int32_t n;
} Loops;

static void enter_loops(const Lives *lives, Loops *loops, int32_t step)
{
    Step *const *steps = lives->program->step.at;
    while (loops->n && steps[loops->first[loops->n - 1]]->loop_end < step)
        loops->n--;
    if (steps[step]->loop_end >= step)
        loops->first[loops->n++] = step;
}

/* The outermost that begins behind a slot; -1: none does. */
static int32_t loop_behind(const Lives *lives, const Loops *loops, int32_t slot)
{
    int32_t lo = 0;
    int32_t hi = loops->n;
    while (lo < hi) {
        const int32_t middle = lo + (hi - lo) / 2;
        if (lives->slot_of[loops->first[middle]] > slot)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo < loops->n ? loops->first[lo] : -1;
}

/* What a loop reads from before it lives through its end, since the next round reads it again. */
static void extend_life(const Lives *lives, const Loops *loops, Life *life)
{
    const Program *program = lives->program;
    const int64_t steps = (int64_t)program->step.n;
    const int32_t loop = loop_behind(lives, loops, life->first);
    if (loop < 0)
        return;
    const int64_t end = program->step.at[loop]->loop_end;
    const int32_t last = lives->slot_of[i64_min(end, steps - 1)];
    if (last < life->last)
        return;
    life->kept = true;
    life->last = last;
}

static void extend_over_loops(Lives *lives)
{
    const int32_t steps = (int32_t)lives->program->step.n;
    Loops loops = { NEW_ARRAY(lives->arena, int32_t, steps), 0 };
    for (int32_t i = 0; i < steps; i++) {
        const Step *step = lives->program->step.at[i];
        enter_loops(lives, &loops, i);
        for (int k = 0; loops.n && k < step->n_operand; k++) {
            Life *life = life_of(lives, step->operand + k);
            if (life)
                extend_life(lives, &loops, life);
        }
    }
}

/* How an operand lets its tensor die in its last slot. */
static void judge_read(const Lives *lives, int32_t slot, const Operand *operand)
{
    Life *life = life_of(lives, operand);
    if (!life || life->last != slot || life->first == slot)
        return;
    const bool stream = lives->slot.at[slot].stream != NULL;
    if (operand->write || (!stream && operand->reuse == REUSE_NONE))
        life->one_piece = true;
    if (stream || !reuse_in_place(operand->reuse))
        life->elementwise = false;
}

static void judge_reads(const Lives *lives)
{
    for (size_t i = 0; i < lives->program->step.n; i++) {
        const Step *step = lives->program->step.at[i];
        for (int k = 0; k < step->n_operand; k++)
            judge_read(lives, lives->slot_of[i], step->operand + k);
    }
}

/* Does the step make its result k in the very place of an operand that lives in one slot only? */
static void judge_guest(const Lives *lives, const Step *step, int k,
                        const Operand *operand)
{
    const Operand *result = step->operand + k;
    const Life *made = life_of(lives, result);
    Life *life = life_of(lives, operand);
    if (!life || !made || life == made || operand->write)
        return;
    if (life->first != life->last)
        return;
    life->guest |= operand->row_bytes == result->row_bytes &&
                   in_place(step, result, operand);
}

static void judge_guests(const Lives *lives)
{
    for (size_t i = 0; i < lives->program->step.n; i++) {
        const Step *step = lives->program->step.at[i];
        for (int k = 0; k < step->n_out; k++)
            for (int n = step->n_out; n < step->n_operand; n++)
                judge_guest(lives, step, k, step->operand + n);
    }
}

/* Of the tensors that share a pool one stands for all of them. */
static void judge_pool(Lives *lives, const Operand *operand,
                       const Operand **first)
{
    int64_t at;
    int64_t first_at;
    if (!operand->slots)
        return;
    const Tensor *tensor = owner_of(operand, &at);
    if (!*first)
        *first = operand;
    const Tensor *standing = owner_of(*first, &first_at);
    Life *life = life_of(lives, operand);
    assert(life); /* slots are of the arena */
    if (standing != tensor && standing->offset == tensor->offset)
        life->guest = true;
}

/* Does the step read for the last time what lies where the tensor lies? */
static bool reads_under(const Lives *lives, const Step *step, int32_t slot,
                        const Tensor *tensor, const Life *life)
{
    const int64_t end = tensor->offset + life->bytes;
    for (int k = step->n_out; k < step->n_operand; k++) {
        int64_t at;
        const Operand *operand = step->operand + k;
        const Life *read = life_of(lives, operand);
        if (!read || !life_ends(read, slot))
            continue;
        const Tensor *under = owner_of(operand, &at);
        if (under->region == tensor->region && under->offset < end &&
            tensor->offset < under->offset + read->bytes)
            return true;
    }
    return false;
}

static bool lies_over_read(const Lives *lives, int32_t slot,
                           const Tensor *tensor, const Life *life)
{
    const Slot *s = lives->slot.at + slot;
    for (int32_t i = s->first; i < s->end; i++)
        if (reads_under(lives, lives->program->step.at[i], slot, tensor, life))
            return true;
    return false;
}

/* A tensor that a stream makes, and that lives on, may lie over the pool `standing` stands for.
 * Scratch does not, nor does what has slots. */
static void join_pool(Lives *lives, int32_t slot, const Operand *standing,
                      const Operand *made)
{
    int64_t at;
    Life *pool = life_of(lives, standing);
    Life *life = life_of(lives, made);
    if (!life || !made->write || life->met)
        return;
    if (life->first != slot || life->last <= slot)
        return;
    const Tensor *first = owner_of(standing, &at);
    const Tensor *tensor = owner_of(made, &at);
    const int64_t end = tensor->offset + life->bytes;
    if (first->region != tensor->region || tensor->offset > first->offset ||
        end <= first->offset)
        return;
    life->met = true;
    life->joined = !lies_over_read(lives, slot, tensor, life);
    pool->bytes = i64_max(0, first->offset + pool->bytes - end);
}

static void join_pools(Lives *lives, int32_t slot, const Operand *standing)
{
    const Slot *s = lives->slot.at + slot;
    for (int32_t i = s->first; i < s->end; i++) {
        const Step *step = lives->program->step.at[i];
        for (int k = 0; k < step->n_operand; k++)
            join_pool(lives, slot, standing, step->operand + k);
    }
}

static void judge_pools(Lives *lives)
{
    for (size_t s = 0; s < lives->slot.n; s++) {
        const Slot *slot = lives->slot.at + s;
        const Operand *first = NULL;
        for (int32_t i = slot->first; slot->stream && i < slot->end; i++) {
            const Step *step = lives->program->step.at[i];
            for (int k = 0; k < step->n_operand; k++)
                judge_pool(lives, step->operand + k, &first);
        }
        if (first)
            join_pools(lives, (int32_t)s, first);
    }
}

static void keep_input(Lives *lives, const Tensor *tensor)
{
    Life *life = lives->life + tensor->id;
    const int64_t bytes = lives_round_up(lives, tensor_bytes(tensor));
    if (life->last < 0)
        *life = (Life){ .last = 0, .bytes = bytes };
    life->first = -1;
    if (lives->program->plan.preserve_input || tensor->state)
        life->last = (int32_t)lives->slot.n;
}

/* Inputs in the arena are there before the first step, results after the last. */
static void keep_values(Lives *lives)
{
    const Graph *g = lives->program->graph;
    for (size_t i = 0; i < g->input.n; i++) {
        const Tensor *tensor = g->input.at[i];
        const bool by_row = graph_in_form(g, i) == IO_ROWS;
        if (tensor->storage == STORE_ARENA && !by_row)
            keep_input(lives, tensor);
    }
    for (size_t i = 0; i < graph_results(g); i++) {
        const Tensor *tensor = g->output.at[i];
        if (tensor->storage == STORE_ARENA && !tensor->state)
            lives->life[tensor->id].last = (int32_t)lives->slot.n;
    }
}

static void meet_operands(Lives *lives, size_t i)
{
    const Step *step = lives->program->step.at[i];
    const int32_t slot = lives->slot_of[i];
    for (int k = 0; k < step->n_operand; k++)
        meet_operand(lives, step->operand + k, slot);
}

Lives lives_find(Arena *arena, const Program *program)
{
    Lives lives = {
        .arena = arena,
        .program = program,
        .ids = graph_root(program->graph)->next_id,
    };
    list_slots(&lives);
    lives.life = NEW_ARRAY(arena, Life, lives.ids);
    for (int i = 0; i < lives.ids; i++)
        lives.life[i].last = -1;
    for (size_t i = 0; i < program->step.n; i++)
        meet_operands(&lives, i);
    keep_values(&lives);
    extend_over_loops(&lives);
    for (int i = 0; i < lives.ids; i++)
        lives.life[i].elementwise = true;
    judge_reads(&lives);
    judge_guests(&lives);
    judge_pools(&lives);
    return lives;
}

bool life_begins(const Lives *lives, const Life *life, int32_t slot)
{
    const bool stream = lives->slot.at[slot].stream != NULL;
    if (life->joined)
        return false;
    return !life->scratch && life->first == slot &&
           (life->last > slot || !stream);
}

bool life_ends(const Life *life, int32_t slot)
{
    return life->last == slot && life->first < slot && !life->kept;
}
