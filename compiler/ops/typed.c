/* SPDX-License-Identifier: Apache-2.0
 * Operands in the element type that a kernel wants. */
#include "ops/typed.h"

#include "base/size.h"
#include "ops/nest.h"

Tensor *lower_as(Lower *l, Node *n, Tensor *t, DType to)
{
    if (!t || t->dtype == to)
        return t;
    if (t->value)
        return lower_constant(l, recipe_cast(l->graph->store, t->value, to));
    Tensor *y = lower_temp(l, to, t->shape);
    lower_cast(l, n, y, t, true, 0);
    return y;
}

int32_t operand_count(const Tensor *t)
{
    return t ? i32_checked(i64_max(tensor_count(t), 1)) : 1;
}
