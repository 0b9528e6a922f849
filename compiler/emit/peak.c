/* SPDX-License-Identifier: Apache-2.0 */
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
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x < y ? -1 : x > y; /* as the plan lists them */
}

static void find_fullest(const Program *program, Peak *peak)
{
    for (int32_t k = 0; k < (int32_t)program->step.n; k++)
        if (program->plan.live[k] > peak->bytes) {
            peak->bytes = program->plan.live[k];
            peak->first = k;
            peak->end = k + 1;
        }
}

/* The steps of the stream that the peak lies in. */
static void widen(const Program *program, Peak *peak)
{
    for (size_t i = 0; i < program->plan.segment.n; i++) {
        const Segment *g = program->plan.segment.at + i;
        if (g->list && peak->first >= g->first &&
            peak->first < g->first + g->count) {
            peak->first = g->first;
            peak->end = g->first + g->count;
        }
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
    Peak peak = { 0 };
    find_fullest(program, &peak);
    if (!peak.bytes)
        return peak;
    widen(program, &peak);
    find_blocks(&peak, program);
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
    return text;
}
