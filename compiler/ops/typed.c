/* SPDX-License-Identifier: Apache-2.0
 * Operands in the element type that a kernel reads. */
#include "ops/typed.h"

#include "base/size.h"
#include "ops/nest.h"

Tensor *lower_as(Lower *lower, Tensor *tensor, DType to)
{
    if (!tensor || tensor->dtype == to)
        return tensor;
    if (tensor->value)
        return lower_constant(lower,
                              recipe_cast(lower->store, tensor->value, to));
    Tensor *y = lower_temp(lower, to, tensor->shape);
    lower_cast(lower, y, tensor);
    return y;
}

int32_t operand_count(const Tensor *tensor)
{
    return tensor ? i32_checked(i64_max(tensor_count(tensor), 1)) : 1;
}
