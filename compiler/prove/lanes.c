/* SPDX-License-Identifier: Apache-2.0
 * Tensors made in parts, by several steps: which channels, or columns, of each row hold values. */
#include "prove/replay.h"

#include "base/size.h"

static void add_cut(Arena *arena, Lanes *lanes, int64_t at)
{
    size_t i = lanes->cut.n;
    for (size_t k = 0; k < lanes->cut.n; k++)
        if (lanes->cut.at[k] == at)
            return;
    VEC_PUSH(arena, &lanes->cut, at);
    for (; i && lanes->cut.at[i - 1] > at; i--)
        lanes->cut.at[i] = lanes->cut.at[i - 1];
    lanes->cut.at[i] = at;
}

void lane_clear(Lanes *lanes, int32_t row)
{
    memset(lanes->has + (size_t)row * lanes->cut.n, 0,
           lanes->cut.n * sizeof *lanes->has);
}

void lane_add(Lanes *lanes, int32_t row, int64_t begin, int64_t end)
{
    for (size_t k = 0; k < lanes->cut.n; k++)
        if (lanes->cut.at[k] >= begin && lanes->cut.at[k] < end)
            lanes->has[(size_t)row * lanes->cut.n + k] = true;
}

bool lane_has(const Lanes *lanes, int32_t row, int64_t begin, int64_t end)
{
    for (size_t k = 0; k < lanes->cut.n; k++)
        if (lanes->cut.at[k] >= begin && lanes->cut.at[k] < end &&
            !lanes->has[(size_t)row * lanes->cut.n + k])
            return false;
    return true;
}

static void find_cuts(Check *check, const Operand *operand)
{
    int64_t at;
    const Tensor *tensor = owner_of(operand, &at);
    Lanes *l = check->lanes + tensor->id;
    if (!l->pixel) {
        *l = (Lanes){ .row_bytes = operand->row_bytes,
                      .pixel = operand_pitch(operand),
                      .rows = (int32_t)(tensor_bytes(tensor) /
                                        operand->row_bytes) };
        add_cut(check->arena, l, 0);
    }
    add_cut(check->arena, l, at % l->pixel);
    add_cut(check->arena, l,
            at % l->pixel + operand->part * element_bits(operand) / 8);
}

void find_lanes(Check *check)
{
    const int ids = graph_root(check->program->graph)->next_id;
    check->lanes = NEW_ARRAY(check->arena, Lanes, ids + 1);
    for (size_t i = 0; i < check->program->step.n; i++)
        for (int k = 0; k < check->program->step.at[i]->n_operand; k++) {
            const Operand *o = check->program->step.at[i]->operand + k;
            if (watched(o) && o->part)
                find_cuts(check, o);
        }
    for (int i = 0; i < ids; i++)
        if (check->lanes[i].pixel)
            check->lanes[i].has =
                NEW_ARRAY(check->arena, bool,
                          (size_t)check->lanes[i].rows * check->lanes[i].cut.n);
}
