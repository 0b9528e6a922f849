/* SPDX-License-Identifier: Apache-2.0
 * One unit of a step: what it reads must be there, what it writes becomes its own. */
#include "prove/replay.h"

/* pixels: what goes pixel by pixel is left out, here and below. */
static bool check_reads(Check *c, const Step *s, int32_t u, bool pixels)
{
    for (int k = 0; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        if (!watched(o) || !o->read || o->scratch || (o->write && s->accumulates) ||
            (pixels && o->pixels.tile))
            continue;
        const Range r = rows_of(s, o, u);
        for (int32_t i = r.lo; i < r.hi; i++) {
            const Piece p = piece_of(o, i);
            if (!read_piece(c, o, &p))
                return false;
        }
    }
    return true;
}

/* A result that takes all units: claimed by the first, still there at each, complete with the last.
 */
static bool write_gradually(Check *c, const Step *s, const Operand *o, bool first, bool last)
{
    for (int32_t i = 0; i < o->rows; i++) {
        const Piece p = piece_of(o, i);
        if (!first && !shadow_owns(&c->shadow, p.begin, p.end, p.delta, p.tag | INCOMPLETE))
            return object_at(c, o, &p, "is overwritten while it is made");
        if ((first || last) && !write_piece(c, o, &p, last ? 0 : INCOMPLETE))
            return false;
    }
    (void)s;
    return true;
}

/* The same for a part: its channels hold values only with the last unit. */
static bool write_part_gradually(Check *c, const Operand *o, bool first, bool last)
{
    for (int32_t i = 0; i < o->rows; i++) {
        const Piece p = piece_of(o, i);
        Lanes *l = c->lanes + p.tag;
        const bool owned = shadow_owns(&c->shadow, p.begin, p.end, p.delta, p.tag);
        if (!inside(c, &p))
            return object_at(c, o, &p, "leaves the arena");
        if (!first && !owned)
            return object_at(c, o, &p, "is overwritten while it is made");
        if (!owned) {
            shadow_write(&c->shadow, p.begin, p.end, p.delta, p.tag);
            lane_clear(l, p.row);
        }
        if (last)
            lane_add(l, p.row, p.lane, p.lane_end);
    }
    return true;
}

static bool check_writes(Check *c, const Step *s, int32_t u, bool pixels)
{
    const int32_t made = c->made[s->index];
    for (int k = pixels; k < s->n_operand; k++) {
        const Operand *o = s->operand + k;
        if (!watched(o) || !o->write)
            continue;
        if (!o->scratch && s->units > 1 && !by_row(s, o)) {
            const bool first = made == 0, last = made == s->units - 1;
            if (!(o->part ? write_part_gradually(c, o, first, last)
                          : write_gradually(c, s, o, first, last)))
                return false;
            continue;
        }
        const Range r = rows_of(s, o, u);
        for (int32_t i = r.lo; i < r.hi; i++) {
            const Piece p = piece_of(o, i);
            if (!write_piece(c, o, &p, 0))
                return false;
        }
    }
    return true;
}

bool check_unit(Check *c, const Step *s, int32_t u)
{
    c->step = s;
    if (u < 0 || u >= s->units)
        return object(c, s->operand, "has no such row");
    if (s->pushed && u != c->made[s->index])
        return object(c, s->operand, "is handed in in another order");
    if (s->accumulates && u != c->made[s->index])
        return object(c, s->operand, "is not summed in ascending order");
    const bool pixels = goes_by_pixels(s, u);
    if (!check_reads(c, s, u, pixels) || !check_apart(c, s, u, false, pixels))
        return false;
    if ((pixels && !check_pixels(c, s, u)) || !check_writes(c, s, u, pixels))
        return false;
    c->made[s->index]++;
    return true;
}
