/* SPDX-License-Identifier: Apache-2.0
 * Which tensors are complete before a step makes its first unit follows from operands of which each
 * unit needs all rows; which are wholly read behind it, from the steps of which each unit needs one
 * of its rows. What is both is there as a whole. */
#include "prove/schedules.h"

#include "base/size.h"
#include "prove/replay.h"

/* Beyond so many bits in a table of sets a step counts by itself. */
enum { MOST_BITS = 1 << 25 };

typedef struct Bounds {
    Arena *arena;
    const Program *program;
    int32_t tensors;  /* ids */
    int32_t words;    /* of a set of tensors; 0: there are no sets */
    int32_t *maker;   /* by tensor: the step that alone writes it; -1 */
    int32_t *makers;  /* by tensor: how many */
    int64_t *bytes;   /* by tensor */
    int64_t *counted; /* by tensor: bytes in the sum at hand */
    uint64_t *before; /* by step: complete before its first unit */
    uint64_t *after;  /* by step: wholly read behind its first unit */
    uint64_t *with;   /* by tensor: complete when it is */
} Bounds;

static uint64_t *set_of(const Bounds *b, uint64_t *sets, int32_t i)
{
    return sets + (size_t)i * (size_t)b->words;
}

static void join(const Bounds *b, uint64_t *set, const uint64_t *other)
{
    for (int32_t i = 0; i < b->words; i++)
        set[i] |= other[i];
}

static void add(uint64_t *set, int32_t i)
{
    set[i / 64] |= (uint64_t)1 << i % 64;
}

static bool has(const uint64_t *set, int32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}

/* The tensor of the arena that owns the operand's bytes; NULL: it takes none, or is a state, which
 * lives through all steps. */
static const Tensor *owner_in_arena(const Operand *operand)
{
    int64_t at;
    if (!watched(operand))
        return NULL;
    const Tensor *owner = owner_of(operand, &at);
    return owner->storage == STORE_ARENA && !owner->state ? owner : NULL;
}

static bool is_whole(const Operand *operand)
{
    int64_t at;
    const Tensor *owner = owner_of(operand, &at);
    const int64_t bytes = i64_mul(operand->rows, operand->row_bytes);
    return at == 0 && !operand->part && bytes == tensor_bytes(owner);
}

/* The fewest rows that a unit needs. Windows are cut off at both ends. */
static int32_t least_rows(const Step *step, const Operand *operand)
{
    const bool table = operand->rule.kind == ROWS_TABLE;
    const int32_t stride = table ? 1 : (int32_t)i64_max(1, step->units - 1);
    int32_t least = step->units > 0 ? operand->rows : 0;
    for (int32_t u = 0; u < step->units; u += stride) {
        const Range rows = rows_of(step, operand, u);
        least = (int32_t)i64_min(least, i64_max(0, rows.hi - rows.lo));
    }
    return least;
}

/* Do all units together read all rows? Rules do not go back. */
static bool reads_all(const Step *step, const Operand *operand)
{
    const RowRule *rule = &operand->rule;
    if (step->units < 1 || !is_whole(operand))
        return false;
    const Range first = rows_of(step, operand, 0);
    const Range last = rows_of(step, operand, step->units - 1);
    if (first.lo > 0 || last.hi < operand->rows)
        return false;
    if (rule->kind == ROWS_WINDOW)
        return rule->stride <= rule->extent;
    return rule->kind != ROWS_TABLE || first.hi == operand->rows;
}

static bool needs_all(const Step *step, const Operand *operand)
{
    return is_whole(operand) && least_rows(step, operand) == operand->rows;
}

/* ---- sets ---- */

static void find_makers(Bounds *b)
{
    b->maker = NEW_ARRAY(b->arena, int32_t, b->tensors);
    b->makers = NEW_ARRAY(b->arena, int32_t, b->tensors);
    b->bytes = NEW_ARRAY(b->arena, int64_t, b->tensors);
    for (size_t i = 0; i < b->program->step.n; i++) {
        const Step *step = b->program->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            const Operand *operand = step->operand + k;
            const Tensor *owner = owner_in_arena(operand);
            if (!owner)
                continue;
            b->bytes[owner->id] = tensor_bytes(owner);
            if (!operand->write)
                continue;
            b->maker[owner->id] = (int32_t)i;
            b->makers[owner->id]++;
        }
    }
}

/* Does each unit of the step need one of the step that alone makes the operand? */
static bool needs_maker(const Bounds *b, const Step *step,
                        const Operand *operand, const Tensor *owner)
{
    return b->makers[owner->id] == 1 && least_rows(step, operand) > 0;
}

/* `before`: what is complete before the step, by the operand; `done`: behind all its units. */
static void add_read(const Bounds *b, const Step *step, const Operand *operand,
                     uint64_t *before, uint64_t *done)
{
    const Tensor *owner = owner_in_arena(operand);
    if (!owner || operand->write)
        return;
    const uint64_t *with = set_of(b, b->with, owner->id);
    if (needs_all(step, operand)) {
        add(before, owner->id);
        join(b, before, with);
    } else if (needs_maker(b, step, operand, owner)) {
        join(b, before, set_of(b, b->before, b->maker[owner->id]));
    }
    if (reads_all(step, operand)) {
        add(done, owner->id);
        join(b, done, with);
    }
}

/* Steps come behind those that make what they read. */
static void find_before(Bounds *b, int32_t i)
{
    const Step *step = b->program->step.at[i];
    uint64_t *before = set_of(b, b->before, i);
    uint64_t *done = NEW_ARRAY(b->arena, uint64_t, b->words);
    for (int k = step->n_out; k < step->n_operand; k++)
        add_read(b, step, step->operand + k, before, done);
    join(b, done, before);
    for (int k = 0; k < step->n_operand; k++) {
        const Tensor *owner = owner_in_arena(step->operand + k);
        if (owner && step->operand[k].write)
            join(b, set_of(b, b->with, owner->id), done);
    }
}

/* From the last step on: what it reads whole is read behind those that it needs. */
static void find_after(Bounds *b, int32_t i)
{
    const Step *step = b->program->step.at[i];
    uint64_t *whole = NEW_ARRAY(b->arena, uint64_t, b->words);
    join(b, whole, set_of(b, b->after, i));
    for (int k = step->n_out; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        const Tensor *owner = owner_in_arena(operand);
        if (!owner || operand->write)
            continue;
        if (reads_all(step, operand))
            add(whole, owner->id);
    }
    for (int k = step->n_out; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        const Tensor *owner = owner_in_arena(operand);
        if (!owner || operand->write)
            continue;
        if (needs_maker(b, step, operand, owner))
            join(b, set_of(b, b->after, b->maker[owner->id]), whole);
    }
}

static void find_sets(Bounds *b)
{
    const int32_t steps = (int32_t)b->program->step.n;
    const int64_t rows = (int64_t)steps + b->tensors;
    if (program_jumps(b->program) || rows * b->tensors > MOST_BITS)
        return;
    b->words = (int32_t)i64_ceil_div(b->tensors, 64);
    b->before = NEW_ARRAY(b->arena, uint64_t, (int64_t)b->words * steps);
    b->after = NEW_ARRAY(b->arena, uint64_t, (int64_t)b->words * steps);
    b->with = NEW_ARRAY(b->arena, uint64_t, (int64_t)b->words * b->tensors);
    const ArenaMark mark = arena_mark(b->arena);
    for (int32_t i = 0; i < steps; i++) {
        find_before(b, i);
        arena_release(b->arena, mark);
    }
    for (int32_t i = steps; i-- > 0;) {
        find_after(b, i);
        arena_release(b->arena, mark);
    }
}

/* ---- sums ---- */

static bool lives_through(const Bounds *b, int32_t step, int32_t tensor)
{
    return b->words && has(set_of(b, b->before, step), tensor) &&
           has(set_of(b, b->after, step), tensor);
}

static int64_t bytes_of_unit(const Step *step, const Operand *operand)
{
    const int64_t pitch = operand_pitch(operand);
    int64_t row = operand->row_bytes;
    if (operand->part && pitch < 1) /* elements below a byte: not counted */
        return 0;
    if (operand->part)
        row = row / pitch * operand->part * element_bits(operand) / 8;
    const int64_t bytes = i64_mul(least_rows(step, operand), row);
    return i64_min(bytes, tensor_bytes(operand->tensor));
}

/* What the operand adds to a sum in which its tensor may have been counted. */
static int64_t add_unit(const Bounds *b, int32_t i, const Operand *operand)
{
    const Tensor *owner = owner_in_arena(operand);
    const Step *step = b->program->step.at[i];
    if (!owner || lives_through(b, i, owner->id))
        return 0;
    int64_t *counted = b->counted + owner->id;
    const int64_t bytes = bytes_of_unit(step, operand);
    const int64_t more = i64_max(0, bytes - *counted);
    *counted += more;
    return more;
}

static void forget_counted(const Bounds *b, const Step *step)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Tensor *owner = owner_in_arena(step->operand + k);
        if (owner)
            b->counted[owner->id] = 0;
    }
}

/* What a unit reads, or writes, beside what lives through the step; a tensor counts once. */
static int64_t sum_of(const Bounds *b, int32_t i, bool write)
{
    const Step *step = b->program->step.at[i];
    int64_t sum = 0;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->scratch && operand->write == write)
            sum += add_unit(b, i, operand);
    }
    forget_counted(b, step);
    return sum;
}

static int64_t scratch_of(const Step *step)
{
    int64_t sum = 0;
    for (int k = step->n_out; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (operand->scratch && owner_in_arena(operand))
            sum += tensor_bytes(operand->tensor);
    }
    return sum;
}

/* Of the tensors of one word of a set. */
static int64_t sum_word(const Bounds *b, int32_t word, uint64_t set)
{
    int32_t tensor = word * 64;
    int64_t sum = 0;
    for (; set; set >>= 1) {
        if (set & 1)
            sum += b->bytes[tensor];
        tensor++;
    }
    return sum;
}

/* All of what lives through the step; 0 where there are no sets. */
static int64_t sum_through(const Bounds *b, int32_t step)
{
    if (!b->words)
        return 0;
    const uint64_t *before = set_of(b, b->before, step);
    const uint64_t *after = set_of(b, b->after, step);
    int64_t sum = 0;
    for (int32_t i = 0; i < b->words; i++)
        sum += sum_word(b, i, before[i] & after[i]);
    return sum;
}

static int64_t bytes_at(const Bounds *b, int32_t i)
{
    const int64_t through = sum_through(b, i);
    const int64_t read = sum_of(b, i, false);
    const int64_t made = sum_of(b, i, true);
    return through + i64_max(read, made) + scratch_of(b->program->step.at[i]);
}

static int64_t states_bytes(const Graph *graph)
{
    int64_t sum = 0;
    for (size_t i = 0; i < graph->state.n; i++)
        sum += tensor_bytes(graph->input.at[graph->state.at[i].in]);
    return sum;
}

int64_t schedules_bound(const Program *program)
{
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const int64_t align = i64_max(1, program->plan.arena_align);
    Bounds b = {
        .arena = scratch,
        .program = program,
        .tensors = graph_root(program->graph)->next_id,
    };
    int64_t most = 0;
    b.counted = NEW_ARRAY(scratch, int64_t, b.tensors);
    find_makers(&b);
    find_sets(&b);
    for (size_t i = 0; i < program->step.n; i++)
        most = i64_max(most, bytes_at(&b, (int32_t)i));
    arena_release(scratch, mark);
    most += states_bytes(program->graph);
    return i64_ceil_div(most, align) * align;
}
