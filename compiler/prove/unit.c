/* SPDX-License-Identifier: Apache-2.0
 * One unit of a step: what it reads must be there, what it writes becomes its own. */
#include "prove/replay.h"

/* pixels: what goes pixel by pixel is left out, here and below. */
static bool check_reads(Check *check, const Step *step, int32_t u, bool pixels)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *o = step->operand + k;
        if (!watched(o) || !o->read || o->scratch ||
            (o->write && step->accumulates) || (pixels && o->pixels.tile))
            continue;
        if (!read_rows(check, o, rows_of(step, o, u)))
            return false;
    }
    return true;
}

/* A result that takes all units: claimed by the first, still there at each, complete with the last.
 */
static bool write_gradually(Check *check, const Operand *operand, bool first,
                            bool last)
{
    const int32_t flag = last ? 0 : INCOMPLETE;
    if (!first && !last && claimed(check, operand))
        return true;
    for (int32_t i = 0; i < operand->rows; i++) {
        const Piece piece = piece_of(operand, i);
        const bool whole =
            first || shadow_owns(&check->shadow, piece.begin, piece.end,
                                 piece.delta, piece.tag | INCOMPLETE);
        if (!whole)
            return object_at(check, operand, &piece,
                             "is overwritten while it is made");
        if (!first && !last)
            continue;
        if (!write_piece(check, operand, &piece, flag))
            return false;
    }
    return true;
}

/* The same for a part: its channels hold values only with the last unit. */
static bool write_part_gradually(Check *check, const Operand *operand,
                                 bool first, bool last)
{
    for (int32_t i = 0; i < operand->rows; i++) {
        const Piece piece = piece_of(operand, i);
        Lanes *l = check->lanes + piece.tag;
        const bool owned = shadow_owns(&check->shadow, piece.begin, piece.end,
                                       piece.delta, piece.tag);
        if (!inside(check, &piece))
            return object_at(check, operand, &piece, "leaves the arena");
        if (!first && !owned)
            return object_at(check, operand, &piece,
                             "is overwritten while it is made");
        if (!owned) {
            shadow_write(&check->shadow, piece.begin, piece.end, piece.delta,
                         piece.tag);
            lane_clear(l, piece.row);
        }
        if (last)
            lane_add(l, piece.row, piece.lane, piece.lane_end);
    }
    return true;
}

static bool write_rows(Check *check, const Operand *operand, Range range)
{
    for (int32_t i = range.lo; i < range.hi; i++) {
        const Piece piece = piece_of(operand, i);
        if (!write_piece(check, operand, &piece, 0))
            return false;
    }
    return true;
}

static bool check_write(Check *check, const Step *step, const Operand *operand,
                        int32_t u)
{
    const int32_t made = check->made[step->index];
    const bool first = made == 0;
    const bool last = made == step->units - 1;
    if (operand->scratch || step->units <= 1 || by_row(step, operand))
        return write_rows(check, operand, rows_of(step, operand, u));
    if (operand->part)
        return write_part_gradually(check, operand, first, last);
    return write_gradually(check, operand, first, last);
}

static bool check_writes(Check *check, const Step *step, int32_t u, bool pixels)
{
    for (int k = pixels; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!watched(operand) || !operand->write)
            continue;
        if (!check_write(check, step, operand, u))
            return false;
    }
    return true;
}

bool check_unit(Check *check, const Step *s, int32_t u)
{
    check->step = s;
    if (u < 0 || u >= s->units)
        return object(check, s->operand, "has no such row");
    if (s->pushed && u != check->made[s->index])
        return object(check, s->operand, "is handed in in another order");
    if (s->accumulates && u != check->made[s->index])
        return object(check, s->operand, "is not summed in ascending order");
    const bool pixels = goes_by_pixels(check, s, u);
    if (!check_reads(check, s, u, pixels) ||
        !check_apart(check, s, u, false, pixels))
        return false;
    if ((pixels && !check_pixels(check, s, u)) ||
        !check_writes(check, s, u, pixels))
        return false;
    check->made[s->index]++;
    return true;
}
