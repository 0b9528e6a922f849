/* SPDX-License-Identifier: Apache-2.0
 * What the units of steps read and write: rows, and the bytes that they come to. */
#ifndef INLAY_IR_TRAFFIC_H
#define INLAY_IR_TRAFFIC_H

#include "base/size.h"
#include "ir/program.h"

static inline Rows operand_window_rows(const RowRule *rule, int32_t unit,
                                       int32_t rows)
{
    const int64_t lo = (int64_t)unit * rule->stride - rule->pad;
    const int64_t hi = lo + rule->extent;
    return (Rows){
        .lo = (int32_t)i64_min(i64_max(lo, 0), rows),
        .hi = (int32_t)i64_max(i64_min(hi, rows), 0),
    };
}

/* The rows of an operand that the unit reads. Planning asks for them all the time. */
static inline Rows operand_rows_read(const Operand *operand, int32_t unit)
{
    const RowRule *rule = &operand->rule;
    const Rows all = { 0, operand->rows };
    const Rows one = { unit, unit + 1 };
    switch (rule->kind) {
    case ROWS_SAME:
    case ROWS_UNIT:
        return unit < operand->rows ? one : all;
    case ROWS_WINDOW:
        return operand_window_rows(rule, unit, operand->rows);
    case ROWS_TABLE:
        return rule->table[unit];
    default:
        return all;
    }
}

/* Bytes that the units of the step read and write through an operand: each unit the rows that it
 * needs; what has no rows, and a constant, is read once. */
int64_t operand_traffic(const Step *step, const Operand *operand);
/* The same of all operands of all steps, each step taken once. */
int64_t program_traffic(const Program *program);

#endif
