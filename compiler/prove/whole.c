/* SPDX-License-Identifier: Apache-2.0
 * A step that runs as a whole, all units at once: where no result touches bytes of another operand,
 * the order of its units makes no difference. */
#include "prove/replay.h"

enum {
    MAX_PIECES =
        16, /* operands: those of longer concatenations are looked at unit by unit */
};

/* All rows of the operand as one piece? */
static bool one_piece(const Check *check, const Operand *operand, Piece *piece)
{
    const Range all = { 0, operand->rows };
    *piece = piece_of(operand, 0);
    return operand->rows == 1 || rows_joined(check, operand, all, piece);
}

/* Is each element of the result written where the same one is read? */
static bool same_elements(const Step *step, const Operand *out,
                          const Operand *in)
{
    return in_place(step, out, in) && by_row(step, out) &&
           in->rule.kind == ROWS_SAME && in->rows == step->units &&
           in->row_bytes == out->row_bytes &&
           element_bits(in) == element_bits(out);
}

/* Does operand k, which is written, touch bytes of another one? */
static bool touches_another(const Step *step, const Piece *piece, int k)
{
    const Operand *out = step->operand + k;
    for (int i = 0; i < step->n_operand; i++) {
        const Operand *other = step->operand + i;
        if (i == k || !watched(other) || same_elements(step, out, other))
            continue;
        if (piece[i].begin < piece[k].end && piece[k].begin < piece[i].end)
            return true;
    }
    return false;
}

/* Does operand k hold what the step reads, or is it there to be written? */
static bool is_ready(const Check *check, const Step *step, const Piece *piece,
                     int k)
{
    const Operand *operand = step->operand + k;
    const bool sums = operand->write && step->accumulates;
    if (operand->read && !operand->scratch && !sums &&
        why_unreadable(check, piece + k))
        return false;
    if (!operand->write)
        return true;
    return inside(check, piece + k) && !touches_another(step, piece, k);
}

static bool all_ready(const Check *check, const Step *step, Piece *piece)
{
    for (int k = 0; k < step->n_operand; k++)
        if (watched(step->operand + k) &&
            !one_piece(check, step->operand + k, piece + k))
            return false;
    for (int k = 0; k < step->n_operand; k++)
        if (watched(step->operand + k) && !is_ready(check, step, piece, k))
            return false;
    return true;
}

bool check_at_once(Check *check, const Step *step)
{
    Piece piece[MAX_PIECES];
    if (step->n_operand > MAX_PIECES || !all_ready(check, step, piece))
        return false;
    for (int k = 0; k < step->n_operand; k++)
        if (watched(step->operand + k) && step->operand[k].write)
            write_piece(check, step->operand + k, piece + k, 0);
    check->made[step->index] = step->units;
    return true;
}
