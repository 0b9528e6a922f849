/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/passes.h"

static const PassRow rows[] = {
#define PASS(name, function, required, whole, what) \
    { #name, function, required, whole, what },
#include "passes/passes.def"
#undef PASS
};

const PassRow *pass_rows(int *count)
{
    *count = (int)(sizeof rows / sizeof *rows);
    return rows;
}
