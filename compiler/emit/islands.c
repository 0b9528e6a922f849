/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/islands.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/size.h"
#include "ops/ops.h"

/* A step that touches a float value. */
typedef struct Touch {
    const Tensor *value;
    int32_t step;
} Touch;

typedef struct Finder {
    const Program *program;
    Arena *arena;
    VEC(Touch) touch;
    /* of each step: another of its island; its own: none before it */
    int32_t *leader;
} Finder;

/* A value that steps make or read, not a constant and no scratch. */
static bool is_value(const Operand *operand)
{
    return operand->tensor && !operand->tensor->value && !operand->scratch;
}

static bool is_float(const Operand *operand)
{
    return is_value(operand) && dtype_is_float(operand->tensor->dtype);
}

static bool is_quantum(const Operand *operand)
{
    return is_value(operand) && DTYPE_BIT(operand->tensor->dtype) & T_Q16;
}

/* Does it read floats, and no quantized integers nor make them? */
static bool computes(const Step *step)
{
    bool floats = false;
    for (int i = 0; i < step->n_operand; i++) {
        const Operand *operand = step->operand + i;
        if (is_quantum(operand))
            return false;
        floats = floats || (i >= step->n_out && is_float(operand));
    }
    return floats;
}

/* Does it multiply or add quantized integers? */
static bool sums_integers(const Step *step)
{
    if (!step->macs || step->n_out >= step->n_operand)
        return false;
    const Operand *input = step->operand + step->n_out;
    return is_value(input) && DTYPE_BIT(input->tensor->dtype) & T_Q16;
}

/* Is anything computed with quantized integers? */
static bool is_quantized(const Program *program)
{
    for (size_t i = 0; i < program->step.n; i++)
        if (sums_integers(program->step.at[i]))
            return true;
    return false;
}

static int32_t leader_of(const Finder *finder, int32_t step)
{
    while (finder->leader[step] != step)
        step = finder->leader[step];
    return step;
}

static int by_value(const void *a, const void *b)
{
    const Touch *x = a;
    const Touch *y = b;
    const uintptr_t of_x = (uintptr_t)x->value;
    const uintptr_t of_y = (uintptr_t)y->value;
    if (of_x != of_y)
        return of_x < of_y ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

static void find_touches(Finder *finder)
{
    const Program *program = finder->program;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        finder->leader[i] = (int32_t)i;
        for (int k = 0; k < step->n_operand; k++) {
            const Operand *operand = step->operand + k;
            int64_t offset;
            if (!is_float(operand))
                continue;
            const Tensor *root = tensor_root(operand->tensor, &offset);
            const Touch touch = { root, (int32_t)i };
            VEC_PUSH(finder->arena, &finder->touch, touch);
        }
    }
    if (finder->touch.n)
        qsort(finder->touch.at, finder->touch.n, sizeof *finder->touch.at,
              by_value);
}

/* Does touch number i begin a value? */
static bool is_first(const Finder *finder, size_t i)
{
    const Touch *touch = finder->touch.at + i;
    return i == 0 || touch[0].value != touch[-1].value;
}

/* Steps that touch the same value are of one island, led by the first. */
static void join(Finder *finder)
{
    for (size_t i = 0; i < finder->touch.n; i++) {
        if (is_first(finder, i))
            continue;
        const Touch *touch = finder->touch.at + i;
        const int32_t a = leader_of(finder, touch[-1].step);
        const int32_t b = leader_of(finder, touch[0].step);
        finder->leader[a > b ? a : b] = a < b ? a : b;
    }
}

static void add_step(const Finder *finder, Island *island, const Step *step)
{
    VEC_PUSH(finder->arena, &island->step, step);
    island->macs = i64_add(island->macs, step->macs);
    for (int i = 0; i < step->n_out; i++) {
        const Operand *result = step->operand + i;
        if (is_value(result))
            island->elements =
                i64_add(island->elements, tensor_count(result->tensor));
    }
}

static int by_bytes(const void *a, const void *b)
{
    const Island *x = a;
    const Island *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->step.at[0]->index < y->step.at[0]->index ? -1 : 1;
}

/* An entry for each step; those of leaders are filled. */
static Island *fill(const Finder *finder)
{
    const Program *program = finder->program;
    Island *each = NEW_ARRAY(finder->arena, Island, program->step.n);
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        const int32_t leader = leader_of(finder, (int32_t)i);
        if (computes(step))
            add_step(finder, each + leader, step);
    }
    for (size_t i = 0; i < finder->touch.n; i++) {
        const Touch *touch = finder->touch.at + i;
        Island *island = each + leader_of(finder, touch->step);
        if (is_first(finder, i))
            island->bytes = i64_add(island->bytes, tensor_bytes(touch->value));
    }
    return each;
}

Islands islands_find(const Program *program)
{
    Islands islands = { 0 };
    Finder finder = { .program = program, .arena = program->graph->arena };
    if (!is_quantized(program))
        return islands;
    finder.leader = NEW_ARRAY(finder.arena, int32_t, program->step.n);
    find_touches(&finder);
    join(&finder);
    const Island *each = fill(&finder);
    for (size_t i = 0; i < program->step.n; i++)
        if (each[i].step.n)
            VEC_PUSH(finder.arena, &islands, each[i]);
    if (islands.n)
        qsort(islands.at, islands.n, sizeof *islands.at, by_bytes);
    return islands;
}

static void put_island(Text *text, const Island *island)
{
    const Step *first = island->step.at[0];
    text_print(text, "  %12" PRId64 "  step %d, %s ", island->bytes,
               first->index, step_name(first));
    text_cut(text, first->node ? first->node->name : "", 24);
    if (island->step.n > 1)
        text_print(text, " and %zu more", island->step.n - 1);
    text_print(text, ": %" PRId64 " results\n", island->elements);
}

Text islands_text(const Program *program, const Islands *islands, size_t most)
{
    Text text = text_new(program->graph->arena);
    size_t steps = 0;
    int64_t bytes = 0;
    if (!islands->n)
        return text;
    for (size_t i = 0; i < islands->n; i++) {
        steps += islands->at[i].step.n;
        bytes = i64_add(bytes, islands->at[i].bytes);
    }
    text_print(&text,
               "float     %zu of %zu steps compute with floats: %" PRId64
               " bytes of values\n",
               steps, program->step.n, bytes);
    for (size_t i = 0; i < islands->n && i < most; i++)
        put_island(&text, islands->at + i);
    if (islands->n > most)
        text_print(&text, "  and %zu more\n", islands->n - most);
    return text;
}
