/* SPDX-License-Identifier: Apache-2.0
 * A pair takes the tensor between its steps out of the plan but for a few pixels of scratch. It
 * costs the place to cut between the two, and short inner loops, so the planner makes pairs only
 * where they lower the peak. */
#include "forms/pair.h"

#include "base/size.h"
#include "rules/rules.h"

/* Of a pair (rules.h), without those of its second step behind the addend. */
enum { OPERANDS = 8, OWN = 5 };

/* Its result is the arena's, all of it, and nobody's but the model's. */
static bool makes_own(const Step *step)
{
    const Operand *y = step->operand;
    return !y->part && y->tensor->storage == STORE_ARENA && y->tensor->slot < 0;
}

/* A first step that reads a state would do so later, when new bytes may be there. */
static bool reads_state(const Step *step)
{
    for (int k = 0; k < step->n_operand; k++) {
        int64_t at;
        Tensor *tensor = step->operand[k].tensor;
        if (tensor && tensor_root(tensor, &at)->state)
            return true;
    }
    return false;
}

/* Reads only what step `first` made, row by row. */
static bool reads_rows_of(const Step *second, const Step *first)
{
    const Operand *x = second->operand + 1;
    return x->tensor == first->operand[0].tensor && !x->part &&
           second->units == first->units &&
           second->operand[0].rows == second->units;
}

/* NULL: the two are no pair, or one that is made at another time. */
static const PairRule *pair_of(const Step *first, const Step *second,
                               bool always)
{
    const PairRule *rule = rules_pair(first, second);
    const bool pair = rule && rule->always == always && makes_own(first) &&
                      !reads_state(first) && reads_rows_of(second, first);
    return pair ? rule : NULL;
}

/* Of each tensor, by id: how many operands of the program are, or see into, it. */
static int *count_users(Arena *arena, const Program *program)
{
    int *n = NEW_ARRAY(arena, int, graph_root(program->graph)->next_id);
    for (size_t i = 0; i < program->step.n; i++)
        for (int k = 0; k < program->step.at[i]->n_operand; k++) {
            int64_t at;
            Tensor *t = program->step.at[i]->operand[k].tensor;
            if (t)
                n[tensor_root(t, &at)->id]++;
        }
    return n;
}

/* ---- chunks ---- */

/* Equal ones, none of them smaller than `least` but where the row is. */
static int32_t equal_chunks(int32_t width, int32_t least)
{
    const int32_t chunks = (width + least - 1) / least;
    return (width + chunks - 1) / chunks;
}

static int32_t first_chunk(const Chunk *chunk)
{
    const int32_t least = chunk->rule->chunk;
    if (chunk->rule->always)
        return equal_chunks(chunk->width, least);
    return (int32_t)i64_min(chunk->width, least);
}

/* As many pixels as the bytes hold, but for the least. */
static int32_t widest_chunk(const Chunk *chunk, int64_t bytes)
{
    const int32_t least = chunk->rule->chunk;
    const int64_t most = i64_max(bytes / chunk->bytes, least);
    return most < chunk->width ? (int32_t)(most / least * least) : chunk->width;
}

Step *pair_widened(Arena *arena, Step *step, int64_t bytes)
{
    Chunk chunk;
    if (!rules_chunk(step, step->params, &chunk) || chunk.rule->always)
        return step;
    const int32_t pixels = widest_chunk(&chunk, bytes);
    if (pixels == *chunk.pixels)
        return step;
    Step *wide = step_copy(arena, step);
    rules_chunk(wide, wide->params, &chunk);
    *chunk.pixels = pixels;
    if (wide->operand[1].pixels.tile)
        wide->operand[1].pixels.tile = pixels;
    Operand *scratch = wide->operand + wide->n_operand - 1;
    scratch->row_bytes = i64_mul(pixels, chunk.bytes);
    /* The same tensor in another size: no program has both. */
    scratch->tensor =
        arena_copy(arena, scratch->tensor, sizeof *scratch->tensor);
    scratch->tensor->shape = shape_vector(scratch->row_bytes);
    return wide;
}

int64_t pair_cost(const Step *step)
{
    Chunk chunk;
    if (!rules_chunk(step, step->params, &chunk))
        return 0;
    const int64_t chunks = i64_ceil_div(chunk.width, *chunk.pixels);
    return chunk.rule->set_up * (int64_t)step->units * chunks;
}

/* ---- both as one ---- */

static void join_operands(Arena *arena, Step *step, const Step *first,
                          const Step *second)
{
    step->n_operand = OPERANDS + second->n_operand - OWN;
    step->room = step->n_operand;
    step->operand = NEW_ARRAY(arena, Operand, step->n_operand);
    step->operand[0] = second->operand[0];
    for (int k = 1; k <= 3; k++)
        step->operand[k] = first->operand[k];
    for (int k = 2; k < second->n_operand; k++)
        step->operand[k + 2] = second->operand[k];
}

/* The kernel of both, for weights as the second step has them. */
static const KernelRow *kernel_of(Arena *arena, const PairRule *rule,
                                  const Step *second)
{
    const char *suffix = pair_suffix(rule, second);
    return kernel_find(arena_printf(arena, "%s%s", rule->both, suffix));
}

/* Of a row, pixels are read a chunk at a time. */
static void read_by_chunks(Operand *x, int32_t pixels)
{
    if (x->reuse == REUSE_ELEMENTWISE) {
        x->reuse = REUSE_ROWS;
        x->pixels = (PixelRule){ .stride = 1, .extent = 1 };
    }
    x->pixels.tile = pixels;
}

static Step *join_steps(Arena *arena, const Program *program, const Step *first,
                        const Step *second, const PairRule *rule)
{
    Step *step = arena_copy(arena, second, sizeof *second);
    const int32_t both[] = { first->lowered[0], second->lowered[0] };
    Chunk chunk;
    step->kernel = kernel_of(arena, rule, second);
    step->params = arena_alloc(arena, step->kernel->params_size);
    rule->join(first, second, step->params);
    rules_chunk(step, step->params, &chunk);
    *chunk.pixels = first_chunk(&chunk);
    step->macs = i64_add(first->macs, second->macs);
    step->lowered = arena_copy(arena, both, sizeof both);
    step->n_lowered = 2;
    join_operands(arena, step, first, second);
    read_by_chunks(step->operand + 1, *chunk.pixels);
    step->operand[step->n_operand - 1] =
        operand_of_scratch(program->graph, i64_mul(*chunk.pixels, chunk.bytes));
    return step;
}

/* ---- the program anew ---- */

typedef struct Pairing {
    const Program *program;
    const bool *chosen; /* by step; NULL: all are */
    bool always;
} Pairing;

/* Of step i and the next. */
static const PairRule *pair_at(const Pairing *pairing, size_t i)
{
    Step *const *step = pairing->program->step.at + i;
    if (i + 1 >= pairing->program->step.n)
        return NULL;
    if (pairing->chosen && !(pairing->chosen[i] && pairing->chosen[i + 1]))
        return NULL;
    return pair_of(step[0], step[1], pairing->always);
}

static bool any_pair(const Pairing *pairing)
{
    bool any = false;
    for (size_t i = 0; i < pairing->program->step.n; i++) {
        const Step *step = pairing->program->step.at[i];
        if (step_jumps(step))
            return false;
        any = any || pair_at(pairing, i);
    }
    return any;
}

static bool pair_all(Arena *arena, const Program *program, const bool *chosen,
                     bool always, Steps *out)
{
    const Pairing pairing = { program, chosen, always };
    bool any = false;
    *out = (Steps){ 0 };
    if (!any_pair(&pairing))
        return false;
    Arena *scratch = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    const int ids = graph_root(program->graph)->next_id;
    const int *users = count_users(scratch, program);
    for (size_t i = 0; i < program->step.n; i++) {
        Step *step = program->step.at[i];
        const PairRule *rule = pair_at(&pairing, i);
        const int id = rule ? step->operand[0].tensor->id : ids;
        if (id < ids && users[id] == 2) {
            i++;
            step = join_steps(arena, program, step, program->step.at[i], rule);
            any = true;
        }
        VEC_PUSH(arena, &out->step, step);
    }
    arena_release(scratch, mark);
    return any;
}

bool pair_steps(Arena *arena, const Program *program, const bool *chosen,
                Steps *out)
{
    return pair_all(arena, program, chosen, false, out);
}

bool pair_affine(Arena *arena, const Program *program, Steps *out)
{
    return pair_all(arena, program, NULL, true, out);
}
