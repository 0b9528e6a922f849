/* SPDX-License-Identifier: Apache-2.0
 * The kernel table: rows of runtime/kernels/kernels.def with their functions and the
 * descriptions of their parameters, all compiled from the runtime's own headers. */
#include "ir/kernel.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Generated: includes every header of kernels.def, and lists the structures. */
#include "kernels_all.h"

#define FIELD_1(type, name) { #type, #name, offsetof(PARAMS, name), sizeof(type), 0 },
#define FIELD_N(type, name, n) { #type, #name, offsetof(PARAMS, name), sizeof(type), n },
#include "kernels_fields.h" /* generated: one FieldRow table for each structure */

static const KernelRow rows[] = {
#define KERNEL(name, params, header) \
    { #name, \
      #params, \
      header, \
      inlay_##name, \
      params##_fields, \
      (int)(sizeof params##_fields / sizeof *params##_fields) - 1, \
      sizeof(inlay_##params##_params) },
#include "kernels/kernels.def"
#undef KERNEL
};

const KernelRow *kernel_rows(int *count)
{
    *count = (int)(sizeof rows / sizeof *rows);
    return rows;
}

const KernelRow *kernel_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].name[0] == name[0] && rows[i].name[1] == name[1] && !strcmp(rows[i].name, name))
            return rows + i;
    assert(!"unknown kernel");
    return NULL;
}
