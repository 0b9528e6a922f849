/* SPDX-License-Identifier: Apache-2.0
 * Steps of products whose parameters are changed one by one. */
#ifndef UNIT_BOUNDS_PRODUCTS_H
#define UNIT_BOUNDS_PRODUCTS_H

#include "../plan/programs.h"

#include "bounds/bounds.h"

/* A field of the parameters by its number, and what is said then; NULL: it is right. */
typedef struct Change {
    int field;
    int32_t value;
    const char *why;
} Change;

/* A constant, or scratch. */
static inline Operand constant_operand(World *w, int64_t count, DType type)
{
    Operand operand = operand_of(add_image(w, 1, 1, count));
    operand.tensor->dtype = type;
    operand.row_bytes = tensor_bytes(operand.tensor);
    operand.pixel = 1;
    operand.read = true;
    return operand;
}

/* What is said of the step; NULL: nothing is. */
static inline void assert_said(World *w, const Step *step, const char *why)
{
    const BoundsFault fault = bounds_object(&w->arena, &w->program, step);
    if (!why) {
        assert_null(fault.why);
        return;
    }
    assert_non_null(fault.why);
    assert_string_equal(fault.why, why);
}

#endif
