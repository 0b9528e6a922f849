/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/traffic.h"

static int64_t rows_read(const Step *step, const Operand *operand)
{
    int64_t rows = 0;
    for (int32_t unit = 0; unit < step->units; unit++) {
        const Rows each = operand_rows_read(operand, unit);
        rows = i64_add(rows, i64_max(0, each.hi - each.lo));
    }
    return rows;
}

static int64_t bytes_of_rows(const Operand *operand, int64_t rows)
{
    const int64_t bytes = i64_mul(rows, operand->row_bytes);
    if (!operand->part || !operand->pixel)
        return bytes;
    return bytes / operand->pixel * operand->part;
}

static int64_t bytes_touched(const Step *step, const Operand *operand)
{
    int64_t at;
    const Tensor *root = tensor_root(operand->tensor, &at);
    const bool once = root->storage == STORE_WEIGHTS || operand->rows < 2;
    if (operand->scratch)
        return i64_mul(step->units, tensor_bytes(operand->tensor));
    if (once && !operand->part)
        return tensor_bytes(operand->tensor);
    if (once || operand->write)
        return bytes_of_rows(operand, operand->rows);
    return bytes_of_rows(operand, rows_read(step, operand));
}

int64_t operand_traffic(const Step *step, const Operand *operand)
{
    const int64_t ways = operand->read && operand->write ? 2 : 1;
    if (!operand->tensor)
        return 0;
    return i64_mul(ways, bytes_touched(step, operand));
}

int64_t program_traffic(const Program *program)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++)
            bytes = i64_add(bytes, operand_traffic(step, step->operand + k));
    }
    return bytes;
}
