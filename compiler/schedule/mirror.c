/* SPDX-License-Identifier: Apache-2.0
 * Where all that the units of a range need lies the same from the last row on, the stream backward
 * makes the same calls as the one forward: it is not walked. */
#include "base/size.h"
#include "schedule/stream.h"

/* Is what unit u reads of so many rows, seen from the last row, what the last unit but u reads? */
static bool table_mirrors(const RowRule *rule, int32_t units, int32_t rows)
{
    for (int32_t u = 0; u < units; u++) {
        const Rows *unit = rule->table + u;
        const Rows *other = rule->table + units - 1 - u;
        if (unit->lo != rows - other->hi || unit->hi != rows - other->lo)
            return false;
    }
    return true;
}

static bool rule_mirrors(const RowRule *rule, int32_t units, int32_t rows)
{
    const int64_t last = (units - 1) * (int64_t)rule->stride;
    switch (rule->kind) {
    case ROWS_SAME:
    case ROWS_UNIT:
        return rows == units;
    case ROWS_WINDOW:
        return rows + 2 * (int64_t)rule->pad == last + rule->extent;
    case ROWS_TABLE:
        return table_mirrors(rule, units, rows);
    default:
        return true;
    }
}

static bool touch_mirrors(const Items *all, const Touch *touch)
{
    const Operand *operand = touch->operand;
    const int32_t behind =
        touch_item(all, touch)->rows - touch->row0 - operand->rows;
    if (!touch->by_row)
        return true;
    if (touch->row0 != behind)
        return false;
    return operand->write ||
           rule_mirrors(&operand->rule, items_step(all, touch->step)->units,
                        operand->rows);
}

bool stream_mirrors(const Items *all, int32_t first, int32_t end)
{
    const Touch *last = touch_begin(all, end);
    for (const Touch *touch = touch_begin(all, first); touch < last; touch++)
        if (!touch->operand->scratch && !touch_mirrors(all, touch))
            return false;
    return true;
}

Stream stream_mirror(Arena *arena, const Items *all, const Stream *forward)
{
    Stream stream = *forward;
    stream.backward = true;
    stream.ring.at = arena_copy(arena, forward->ring.at,
                                forward->ring.n * sizeof *forward->ring.at);
    stream.ring.room = forward->ring.n;
    if (forward->under >= 0) {
        stream.distance += tensor_bytes(all->item.at[forward->under].root);
        stream.distance -= tensor_bytes(all->item.at[forward->over].root);
    }
    return stream;
}
