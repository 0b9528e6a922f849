/* SPDX-License-Identifier: Apache-2.0
 * The model's inputs and results as the generated code has them. */
#ifndef INLAY_EMIT_VALUES_H
#define INLAY_EMIT_VALUES_H

#include "emit/emitter.h"

/* The model's inputs, or its results. */
typedef struct Values {
    const char *kind;  /* "in" */
    const char *upper; /* "IN" */
    Tensor *const *tensor;
    size_t count;
    const IntegerScale *const
        *numbers; /* what the integers of each stand for */
} Values;

Values values_inputs(const Emitter *emitter);
Values values_outputs(const Emitter *emitter);
/* Does it lie in the arena, not with the caller? Of how many is that so? */
bool value_inside(const Tensor *tensor);
size_t values_inside(const Values *values);
/* Is it the input that the caller gives row by row? */
bool value_by_row(const Emitter *emitter, const Tensor *tensor);
/* How many elements of the API's type it has: dtype_element(). */
int64_t value_length(const Tensor *tensor);

#endif
