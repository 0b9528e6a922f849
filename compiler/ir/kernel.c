/* SPDX-License-Identifier: Apache-2.0
 * Kernels by name. Their rows are compiled family by family from kernels.def. */
#include "ir/kernel.h"

#include <string.h>

static const KernelRow *find_in(const KernelFamily *family, const char *name)
{
    for (size_t i = 0; i < family->rows; i++)
        if (family->row[i].name[0] == name[0] &&
            !strcmp(family->row[i].name, name))
            return family->row + i;
    return NULL;
}

const KernelRow *kernel_find(const char *name)
{
    for (const KernelFamily *const *family = kernel_families; *family;
         family++) {
        const KernelRow *row = find_in(*family, name);
        if (row)
            return row;
    }
    return NULL;
}
