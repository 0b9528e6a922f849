/* SPDX-License-Identifier: Apache-2.0
 * Advice follows from what the blocks of the fullest step are. */
#include "emit/peak.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "rules/rules.h"

static int by_bytes(const void *a, const void *b)
{
    const Block *x = ((const PeakBlock *)a)->block;
    const Block *y = ((const PeakBlock *)b)->block;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void find_fullest(const Program *program, Peak *peak)
{
    for (int32_t k = 0; k < (int32_t)program->step.n; k++)
        if (program->plan.live[k] > peak->bytes)
            peak->bytes = program->plan.live[k], peak->first = k,
            peak->end = k + 1;
}

/* The steps of the stream that the peak lies in. */
static void widen(const Program *program, Peak *peak)
{
    for (size_t i = 0; i < program->plan.segment.n; i++) {
        const Segment *g = program->plan.segment.at + i;
        if (g->list && peak->first >= g->first &&
            peak->first < g->first + g->count)
            peak->first = g->first, peak->end = g->first + g->count;
    }
}

static PeakRole role_of(const Program *program, const Peak *peak,
                        const Block *block)
{
    PeakRole role = PEAK_KEPT;
    if (block->scratch || !block->tensor)
        return PEAK_SCRATCH;
    for (int32_t s = peak->first; s < peak->end; s++)
        for (int k = 0; k < program->step.at[s]->n_operand; k++) {
            const Operand *o = program->step.at[s]->operand + k;
            int64_t at;
            if (!o->tensor || tensor_root(o->tensor, &at) != block->tensor)
                continue;
            if (o->write)
                return PEAK_MADE;
            role = PEAK_READ;
        }
    return role;
}

const Step *block_maker(const Program *program, const Block *block)
{
    for (int32_t s = block->first;
         s < block->end && s < (int32_t)program->step.n; s++)
        for (int k = 0; k < program->step.at[s]->n_operand; k++) {
            const Operand *o = program->step.at[s]->operand + k;
            int64_t at;
            if (o->tensor && o->write &&
                tensor_root(o->tensor, &at) == block->tensor)
                return program->step.at[s];
        }
    return NULL;
}

/* Is the name but the tensor's number, which passes gave it? *columns: what is said of a strip of
 * such a tensor. */
static bool is_number(const char *name, int id, bool strip,
                      const char **columns)
{
    char *end;
    const long n = *name == '_' ? strtol(name + 1, &end, 10) : -1;
    *columns = n < 0 ? "" : end;
    return n >= 0 && ((!*end && n == id) || (strip && *end == '['));
}

/* A tensor that passes made has a number for a name: its maker says more. */
const char *block_name(const Program *program, const Block *block)
{
    Arena *a = program->graph->arena;
    if (!block->tensor)
        return "row counters";
    const Step *step = block_maker(program, block);
    if (step && block->scratch)
        return arena_printf(a, "scratch of step %d", step->index);
    const char *columns;
    if (!step || !step->node ||
        !is_number(block->tensor->name, block->tensor->id, step->strip > 0,
                   &columns))
        return block->tensor->name;
    return arena_printf(a, "step %d, %s %s%s", step->index, step->node->op_type,
                        step->node->name, columns);
}

const char *peak_role_name(PeakRole r)
{
    static const char *const name[] = { [PEAK_MADE] = "made",
                                        [PEAK_READ] = "read",
                                        [PEAK_KEPT] = "kept",
                                        [PEAK_SCRATCH] = "scratch" };
    return name[r];
}

/* ---- advice ---- */

static void advise(Arena *arena, Peak *peak, const char *text)
{
    VEC_PUSH(arena, &peak->advice, text);
}

static int64_t bytes_of(const Peak *peak, PeakRole role)
{
    int64_t n = 0;
    for (size_t i = 0; i < peak->block.n; i++)
        if (peak->block.at[i].role == role)
            n += peak->block.at[i].block->bytes;
    return n;
}

/* 32-bit floats of which int8 would take a quarter. */
static void advise_int8(Arena *arena, Peak *peak)
{
    int64_t n = 0;
    for (size_t i = 0; i < peak->block.n; i++) {
        const Block *b = peak->block.at[i].block;
        if (b->tensor && !b->scratch && b->tensor->dtype == DT_F32)
            n += b->bytes;
    }
    n = i64_min(n, peak->bytes); /* blocks may share bytes */
    if (n * 2 > peak->bytes)
        advise(arena, peak,
               arena_printf(arena,
                            "int8: %" PRId64
                            " of these bytes are float32, it takes a quarter",
                            n));
}

/* The step that a kept block waits for, or -1. */
static int32_t awaits(const Program *program, const Peak *peak,
                      const Block *block)
{
    for (int32_t s = peak->end; s < block->end && s < (int32_t)program->step.n;
         s++)
        for (int k = 0; k < program->step.at[s]->n_operand; k++) {
            const Operand *o = program->step.at[s]->operand + k;
            int64_t at;
            if (o->tensor && tensor_root(o->tensor, &at) == block->tensor)
                return s;
        }
    return -1;
}

static void advise_kept(Arena *arena, Peak *peak, const Program *program)
{
    const int64_t n = bytes_of(peak, PEAK_KEPT);
    if (n * 8 < peak->bytes)
        return;
    for (size_t i = 0; i < peak->block.n; i++) {
        const PeakBlock *b = peak->block.at + i;
        const int32_t s =
            b->role == PEAK_KEPT ? awaits(program, peak, b->block) : -1;
        if (s < 0)
            continue;
        advise(
            arena, peak,
            arena_printf(arena,
                         "an earlier last use than step %d of %.24s: %" PRId64
                         " wait",
                         s, b->name, n));
        return;
    }
}

/* Does the model see an image or a signal whose size can be chosen, and are the peak's blocks made
 * of its rows? */
static const Tensor *scalable_input(const Program *program, const Peak *peak)
{
    bool rows = false;
    for (int32_t s = peak->first; s < peak->end; s++)
        for (int k = 0; k < program->step.at[s]->n_operand; k++)
            rows |= program->step.at[s]->operand[k].rows > 1;
    const Tensor *largest = NULL;
    for (size_t i = 0; rows && i < program->graph->input.n; i++) {
        const Tensor *tensor = program->graph->input.at[i];
        if (tensor->shape.rank >= 3 &&
            (!largest || tensor_bytes(tensor) > tensor_bytes(largest)))
            largest = tensor;
    }
    return largest;
}

static void advise_size(Arena *arena, Peak *peak, const Program *program)
{
    const Tensor *in = scalable_input(program, peak);
    bool rings = false;
    for (size_t i = 0; i < peak->block.n; i++)
        rings |=
            peak->block.at[i].block->ring > 0 || peak->block.at[i].block->pool;
    if (in)
        advise(arena, peak,
               arena_printf(arena,
                            "an input of half the size (%s): about %s of it",
                            shape_text(arena, &in->shape),
                            rings ? "half" : "a quarter"));
}

static void advise_layout(Arena *arena, Peak *peak, const Program *program)
{
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *s = program->step.at[i];
        if (s->n_operand != 2 || !s->operand[1].tensor || !rules_moves(s))
            continue;
        int64_t at;
        const Tensor *made = tensor_root(s->operand[0].tensor, &at);
        const Tensor *from = tensor_root(s->operand[1].tensor, &at);
        if (from->storage != STORE_INPUT)
            continue;
        for (size_t k = 0; k < peak->block.n; k++) {
            const Block *b = peak->block.at[k].block;
            if (b->tensor != made || b->pool || b->bytes * 16 < peak->bytes)
                continue;
            advise(arena, peak,
                   arena_printf(arena,
                                "input %d channels last: its copy in that "
                                "layout takes %" PRId64 " bytes",
                                from->slot, b->bytes));
            return;
        }
    }
}

/* Inputs that were asked into the arena. */
static void advise_inputs(Arena *arena, Peak *peak, const Program *program)
{
    for (size_t i = 0; i < program->graph->input.n; i++)
        for (size_t k = 0; k < peak->block.n; k++)
            if (peak->block.at[k].block->tensor ==
                    program->graph->input.at[i] &&
                !program->graph->input.at[i]->state)
                advise(arena, peak,
                       arena_printf(
                           arena,
                           "input %zu left with the caller (--io): %" PRId64
                           " bytes",
                           i, peak->block.at[k].block->bytes));
}

/* Windows at the peak can go in strips, which nobody has asked for. */
static void advise_strips(Arena *arena, Peak *peak, const Program *program)
{
    bool windows = false;
    for (int32_t s = peak->first; s < peak->end; s++)
        for (int k = 0; k < program->step.at[s]->n_operand; k++)
            windows |= program->step.at[s]->operand[k].rule.kind == ROWS_WINDOW;
    if (windows && !program->plan.curve.n)
        advise(arena, peak,
               "--arena-limit: some columns computed twice; --curve shows the "
               "price");
}

static void advise_scratch(Arena *arena, Peak *peak, const Program *program)
{
    const int64_t n = bytes_of(peak, PEAK_SCRATCH);
    if (n * 4 > peak->bytes)
        advise(arena, peak,
               arena_printf(arena, "%" PRId64 " bytes are scratch of %s", n,
                            program->step.at[peak->first]->kernel->name));
}

static void advise_place(Arena *arena, Peak *peak, const Program *program)
{
    const Plan *plan = &program->plan;
    if (plan->arena_size > plan->lower_bound && !plan->region.n)
        advise(arena, peak,
               arena_printf(arena,
                            "a better placement could save at most %" PRId64
                            " bytes",
                            plan->arena_size - plan->lower_bound));
}

static void find_blocks(Peak *peak, const Program *program)
{
    for (size_t i = 0; i < program->plan.block.n; i++) {
        const Block *block = program->plan.block.at + i;
        const bool alive = block->first < peak->end && block->end > peak->first;
        if (!alive || !block->bytes)
            continue;
        const PeakBlock found = {
            .block = block,
            .name = block_name(program, block),
            .role = role_of(program, peak, block),
        };
        VEC_PUSH(program->graph->arena, &peak->block, found);
    }
    qsort(peak->block.at, peak->block.n, sizeof *peak->block.at, by_bytes);
}

Peak peak_find(const Program *program)
{
    Arena *arena = program->graph->arena;
    Peak peak = { 0 };
    find_fullest(program, &peak);
    if (!peak.bytes)
        return peak;
    widen(program, &peak);
    find_blocks(&peak, program);
    advise_int8(arena, &peak);
    advise_size(arena, &peak, program);
    advise_kept(arena, &peak, program);
    advise_layout(arena, &peak, program);
    advise_inputs(arena, &peak, program);
    advise_strips(arena, &peak, program);
    advise_scratch(arena, &peak, program);
    advise_place(arena, &peak, program);
    return peak;
}

static void put_block(Text *text, const PeakBlock *peak)
{
    const Block *block = peak->block;
    text_print(text, "  %12" PRId64 "  %-7s  ", block->bytes,
               peak_role_name(peak->role));
    const bool some = block->ring || block->pool;
    text_cut(text, peak->name, some ? 40 : 50); /* 80 columns */
    if (block->pool)
        text_put(text, " and others");
    if (block->ring)
        text_print(text, " (%d rows)", block->ring);
    text_put(text, "\n");
}

Text peak_text(Arena *arena, const Peak *peak, size_t most)
{
    Text text = text_new(arena);
    const int32_t last = peak->end - 1;
    if (!peak->bytes)
        return text;
    text_print(&text, "peak      %" PRId64 " bytes in use, ", peak->bytes);
    if (last == peak->first)
        text_print(&text, "step %d\n", peak->first);
    else
        text_print(&text, "steps %d to %d, row by row\n", peak->first, last);
    for (size_t i = 0; i < peak->block.n && i < most; i++)
        put_block(&text, peak->block.at + i);
    if (peak->block.n > most)
        text_print(&text, "  and %zu more\n", peak->block.n - most);
    for (size_t i = 0; i < peak->advice.n; i++) {
        text_put(&text, i ? "          " : "shrink    ");
        text_comment(&text, peak->advice.at[i]);
        text_put(&text, "\n");
    }
    return text;
}
