/* SPDX-License-Identifier: Apache-2.0
 * Tensors made in parts, by several steps: which channels, or columns, of each row hold values. */
#include "prove/replay.h"

#include "base/size.h"

static void add_cut(Arena *a, Lanes *l, int64_t at)
{
    size_t i = l->cut.n;
    for (size_t k = 0; k < l->cut.n; k++)
        if (l->cut.at[k] == at)
            return;
    VEC_PUSH(a, &l->cut, at);
    for (; i && l->cut.at[i - 1] > at; i--)
        l->cut.at[i] = l->cut.at[i - 1];
    l->cut.at[i] = at;
}

void lane_clear(Lanes *l, int32_t row)
{
    memset(l->has + (size_t)row * l->cut.n, 0, l->cut.n * sizeof *l->has);
}

void lane_add(Lanes *l, int32_t row, int64_t begin, int64_t end)
{
    for (size_t k = 0; k < l->cut.n; k++)
        if (l->cut.at[k] >= begin && l->cut.at[k] < end)
            l->has[(size_t)row * l->cut.n + k] = true;
}

bool lane_has(const Lanes *l, int32_t row, int64_t begin, int64_t end)
{
    for (size_t k = 0; k < l->cut.n; k++)
        if (l->cut.at[k] >= begin && l->cut.at[k] < end && !l->has[(size_t)row * l->cut.n + k])
            return false;
    return true;
}

static void find_cuts(Check *c, const Operand *o)
{
    int64_t at;
    const Tensor *t = owner_of(o, &at);
    Lanes *l = c->lanes + t->id;
    if (!l->pixel) {
        *l = (Lanes){ .row_bytes = o->row_bytes,
                      .pixel = operand_pitch(o),
                      .rows = (int32_t)(tensor_bytes(t) / o->row_bytes) };
        add_cut(c->arena, l, 0);
    }
    add_cut(c->arena, l, at % l->pixel);
    add_cut(c->arena, l, at % l->pixel + o->part * element_bits(o) / 8);
}

void find_lanes(Check *c)
{
    const int ids = graph_root(c->program->graph)->next_id;
    c->lanes = NEW_ARRAY(c->arena, Lanes, ids + 1);
    for (size_t i = 0; i < c->program->step.n; i++)
        for (int k = 0; k < c->program->step.at[i]->n_operand; k++) {
            const Operand *o = c->program->step.at[i]->operand + k;
            if (watched(o) && o->part)
                find_cuts(c, o);
        }
    for (int i = 0; i < ids; i++)
        if (c->lanes[i].pixel)
            c->lanes[i].has =
                NEW_ARRAY(c->arena, bool, (size_t)c->lanes[i].rows * c->lanes[i].cut.n);
}
