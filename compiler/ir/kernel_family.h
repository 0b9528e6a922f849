/* SPDX-License-Identifier: Apache-2.0
 * What the files that are made from kernels.def share: the kernels of one header, with their
 * functions and the descriptions of their parameters, compiled from the runtime's own headers. */
#ifndef INLAY_IR_KERNEL_FAMILY_H
#define INLAY_IR_KERNEL_FAMILY_H

#include "ir/kernel.h"

typedef struct KernelFamily {
    const KernelRow *row;
    size_t rows;
} KernelFamily;

/* Ended by NULL. */
extern const KernelFamily *const kernel_families[];

/* A field of the structure PARAMS: one value, or n of them. */
#define FIELD(type, name) { #type, #name, offsetof(PARAMS, name), sizeof(type), 0 },
#define FIELDS(type, name, n) { #type, #name, offsetof(PARAMS, name), sizeof(type), n },

#define KERNEL_ROW(kernel, structure, header, reach, letters) \
    { \
        .name = #kernel, .params = #structure, .file = header, .run = inlay_##kernel, \
        .field = structure##_fields, \
        .fields = (int)(sizeof structure##_fields / sizeof(FieldRow)) - 1, \
        .params_size = sizeof(inlay_##structure##_params), .bounds = reach, .operands = letters, \
    }

#endif
