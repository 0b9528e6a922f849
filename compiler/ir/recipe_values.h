/* SPDX-License-Identifier: Apache-2.0
 * Changes of values along a run: casts, products and sums, with operands that step along it. */
#ifndef INLAY_IR_RECIPE_VALUES_H
#define INLAY_IR_RECIPE_VALUES_H

#include "ir/convert.h"
#include "ir/recipe_form.h"

/* The operands of all changes at one element: v[m] is that of change m, step[m] from one element of
 * a run to the next. */
typedef struct Operands {
    const float *v[CHANGES];
    int64_t step[CHANGES];
} Operands;

/* How the elements of a part become those of the result. */
typedef struct Path {
    const Part *part;
    size_t in_size, out_size; /* of a working element */
    /* one cast to the float32 of the result, then products and sums only */
    bool in_place;
} Path;

Path path_of(const Part *part, DType out);
/* n elements in a row of the result. */
void change_values(const Path *path, const uint8_t *in, uint8_t *to, int64_t n,
                   const Operands *operands);

typedef union Buffer {
    float f[CONVERT_RUN];
    uint64_t any[2 * CONVERT_RUN];
} Buffer;

/* One change of n elements in *now (type) with v[0], v[step], ...; *now holds the result. */
void change_run(const Change *change, const float *v, int64_t step, DType type,
                Buffer **now, Buffer **spare, int n);

#endif
