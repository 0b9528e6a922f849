/* SPDX-License-Identifier: Apache-2.0
 * Tensors made in parts, by several steps: which channels, or columns, of each row hold values. */
#include "prove/replay.h"

#include "base/size.h"

static void add_cut(Arena *arena, Lanes *lanes, int64_t byte)
{
    for (size_t k = 0; k < lanes->cut.n; k++)
        if (lanes->cut.at[k] == byte)
            return;
    VEC_PUSH(arena, &lanes->cut, byte);
}

/* The flags of a row, one for each cut. */
static bool *lanes_of(const Lanes *lanes, int32_t row)
{
    return lanes->has + (size_t)row * lanes->cut.n;
}

/* Does lane k begin within the bytes [begin, end) of a pixel? */
static bool begins_in(const Lanes *lanes, size_t k, int64_t begin, int64_t end)
{
    const int64_t cut = lanes->cut.at[k];
    return cut >= begin && cut < end;
}

void lane_clear(Lanes *lanes, int32_t row)
{
    bool *has = lanes_of(lanes, row);
    memset(has, 0, lanes->cut.n * sizeof *has);
}

void lane_add(Lanes *lanes, int32_t row, int64_t begin, int64_t end)
{
    bool *has = lanes_of(lanes, row);
    for (size_t k = 0; k < lanes->cut.n; k++)
        if (begins_in(lanes, k, begin, end))
            has[k] = true;
}

bool lane_has(const Lanes *lanes, int32_t row, int64_t begin, int64_t end)
{
    const bool *has = lanes_of(lanes, row);
    for (size_t k = 0; k < lanes->cut.n; k++)
        if (begins_in(lanes, k, begin, end) && !has[k])
            return false;
    return true;
}

/* Where an operand that is a part of its tensor's pixels begins and ends in one. */
static void add_cuts(Check *check, const Operand *operand)
{
    int64_t at;
    const Tensor *tensor = version_of(operand, &at);
    Lanes *lanes = check->lanes + tensor->id;
    if (!lanes->pixel) {
        const int64_t rows = tensor_bytes(tensor) / operand->row_bytes;
        *lanes = (Lanes){
            .row_bytes = operand->row_bytes,
            .pixel = operand_pitch(operand),
            .rows = (int32_t)rows,
        };
        add_cut(check->arena, lanes, 0);
    }
    const int64_t begin = at % lanes->pixel;
    const int64_t bytes = operand->part * element_bits(operand) / 8;
    add_cut(check->arena, lanes, begin);
    add_cut(check->arena, lanes, begin + bytes);
}

static void add_cuts_of(Check *check, const Step *step)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (watched(operand) && operand->part)
            add_cuts(check, operand);
    }
}

void find_lanes(Check *check)
{
    const Program *program = check->program;
    const int ids = graph_root(program->graph)->next_id;
    check->lanes = NEW_ARRAY(check->arena, Lanes, ids);
    for (size_t i = 0; i < program->step.n; i++)
        add_cuts_of(check, program->step.at[i]);
    for (int i = 0; i < ids; i++) {
        Lanes *lanes = check->lanes + i;
        const size_t flags = (size_t)lanes->rows * lanes->cut.n;
        if (lanes->pixel)
            lanes->has = NEW_ARRAY(check->arena, bool, flags);
    }
}
