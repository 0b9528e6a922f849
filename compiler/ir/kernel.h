/* SPDX-License-Identifier: Apache-2.0
 * Kernels as the compiler sees them: one row each, from runtime/kernels/kernels.def. */
#ifndef INLAY_IR_KERNEL_H
#define INLAY_IR_KERNEL_H

#include <stddef.h>

#include "inlay.h"

/* One field of a parameter structure. */
typedef struct FieldRow {
    const char *type, *name;
    size_t offset, size; /* size of one element */
    int count;           /* elements; 0: a scalar */
} FieldRow;

/* What a step of the kernel may touch of its operands: bounds/reach.h. */
typedef struct Bounds Bounds;
typedef void KernelBounds(Bounds *b);

/* What else the planner may rely on: rules/rules.h. */
typedef struct KernelRules KernelRules;

typedef struct KernelRow {
    const char *name;   /* "conv_f32": the function is inlay_conv_f32 */
    const char *params; /* "conv": the structure is inlay_conv_params */
    const char *file;   /* the header it lies in */
    inlay_kernel *run;
    const FieldRow *field;
    int fields;
    size_t params_size;
    KernelBounds *bounds;
    const char *operands;     /* letters of kernels.def */
    const KernelRules *rules; /* NULL: it states none */
} KernelRow;

/* The kernels of one header. */
typedef struct KernelFamily {
    const KernelRow *row;
    size_t rows;
} KernelFamily;

/* Ended by NULL. */
extern const KernelFamily *const kernel_families[];

/* The row of that name; NULL: there is none. */
const KernelRow *kernel_find(const char *name);

#endif
