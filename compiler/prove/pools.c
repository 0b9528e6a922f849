/* SPDX-License-Identifier: Apache-2.0 */
#include "prove/pools.h"

#include "base/size.h"

/* A pool as its operands state it, and where the last of their rows ends in it. */
typedef struct Pool {
    int64_t offset, bytes, end;
    int region;
} Pool;

typedef VEC(Pool) Pools;

static Pool pool_of(const Operand *operand)
{
    int64_t at;
    const Tensor *root = tensor_root(operand->tensor, &at);
    const RowSlots *slots = operand->slots;
    const int64_t units = i64_ceil_div(operand->row_bytes, slots->unit);
    Pool pool = {
        .offset = root->offset,
        .bytes = slots->pool,
        .region = root->region,
    };
    for (int32_t r = 0; r < slots->rows; r++)
        pool.end = i64_max(pool.end, (slots->slot[r] + units) * slots->unit);
    return pool;
}

static void add_pool(Arena *arena, Pools *pools, const Pool *pool)
{
    for (size_t i = 0; i < pools->n; i++) {
        Pool *known = pools->at + i;
        if (known->offset != pool->offset || known->bytes != pool->bytes ||
            known->region != pool->region)
            continue;
        known->end = i64_max(known->end, pool->end);
        return;
    }
    VEC_PUSH(arena, pools, *pool);
}

bool pools_are_tight(Arena *arena, const Program *program, int64_t align)
{
    Pools pools = { 0 };
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            if (!step->operand[k].slots)
                continue;
            const Pool pool = pool_of(step->operand + k);
            add_pool(arena, &pools, &pool);
        }
    }
    for (size_t i = 0; i < pools.n; i++) {
        const Pool *pool = pools.at + i;
        if (i64_ceil_div(pool->end, align) * align != pool->bytes)
            return false;
    }
    return true;
}
