/* SPDX-License-Identifier: Apache-2.0
 * What the driver is told of each model: its sizes, its values, how it is called. */
#ifndef INLAY_MUTANTS_DRIVE_H
#define INLAY_MUTANTS_DRIVE_H

#include "fill.h"

typedef struct Driven {
    const char *name;
    size_t arena, align;
    int inputs, outputs;
    const DrivenValue *input, *output;
    int (*run)(void *arena, void *const *in, void *const *out,
               void *const *dims);
} Driven;

extern const Driven driven[];
extern const int driven_count;

#endif
