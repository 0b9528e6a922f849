/* SPDX-License-Identifier: Apache-2.0
 * Weights are rounded before it is known which steps have windows, as much else follows from their
 * numbers. Those that were rounded for nothing are left out, and it is tried again. */
#include "pipeline/palettes.h"

#include "pipeline/recompile.h"

/* Numbers of weights that stay as they are. */
typedef VEC(int32_t) Left;

/* Was the weight rounded for nothing? */
static bool is_idle(const WeightSlot *slot)
{
    const Coded *coded = slot->coded;
    if (!slot->palette || (coded && coded->palette))
        return false;
    if (!coded)
        return true;
    const int64_t bytes =
        palette_bytes(slot->palette, coded->values, coded->width);
    return bytes < 0 || (uint64_t)bytes < coded->bytes;
}

/* false: there are none. */
static bool leave_idle(Arena *arena, const Program *program, Left *left)
{
    const size_t before = left->n;
    for (size_t i = 0; i < program->weight.n; i++) {
        const WeightSlot *slot = program->weight.at + i;
        if (is_idle(slot))
            VEC_PUSH(arena, left, slot->palette->number);
    }
    return left->n != before;
}

/* With the weights that are left; false: there are no more of them, or it fails. */
static bool try_again(Compile *compile, PaletteAsk *ask, Left *left)
{
    Recompile *again = NEW(&compile->arena, Recompile);
    ask->left = (int)left->n;
    ask->number = left->at;
    recompile_open(compile, again, STAGE_LOWER);
    again->options.curve = 0;
    again->compile.palette = ask;
    again->compile.recompute = compile->recompute;
    again->compile.recompute_chosen = true;
    bool more = false;
    if (!recompile_run(again, true))
        more = leave_idle(&compile->arena, again->compile.program, left);
    recompile_close(compile, again);
    return more;
}

PaletteAsk palettes_ask(Compile *compile)
{
    const int palette = compile->options->palette;
    Left left = { 0 };
    PaletteAsk ask = { .values = palette == PALETTES_OF_16 ? 16 : 4 };
    if (compile->palette)
        return *compile->palette;
    if (!palette)
        return (PaletteAsk){ .values = 0 };
    while (try_again(compile, &ask, &left))
        continue;
    return ask;
}
