/* SPDX-License-Identifier: Apache-2.0
 * What the units of steps read and write: rows, and the bytes that they come to. */
#ifndef INLAY_IR_TRAFFIC_H
#define INLAY_IR_TRAFFIC_H

#include "ir/program.h"

/* The rows of an operand that the unit reads. */
Rows operand_rows_read(const Operand *operand, int32_t unit);
/* Bytes that the units of the step read and write through an operand: each unit the rows that it
 * needs; what has no rows, and a constant, is read once. */
int64_t operand_traffic(const Step *step, const Operand *operand);
/* The same of all operands of all steps, each step taken once. */
int64_t program_traffic(const Program *program);

#endif
