/* SPDX-License-Identifier: Apache-2.0
 * What the driver is told of each model: its sizes, its values, how it is called. */
#ifndef INLAY_MUTANTS_DRIVE_H
#define INLAY_MUTANTS_DRIVE_H

#include <stddef.h>

typedef struct DrivenValue {
    char form;    /* struct code of an element: f d e q i h b Q I H B ?, or x for others */
    size_t bytes; /* of the buffer, exactly */
    int rank;     /* of an output that has real dimensions; -1: it has none */
    long size;    /* the longest dimension among the model's values: indices lie about it */
} DrivenValue;

typedef struct Driven {
    const char *name;
    size_t arena, align;
    int inputs, outputs;
    const DrivenValue *input, *output;
    int (*run)(void *arena, void *const *in, void *const *out, void *const *dims);
} Driven;

extern const Driven driven[];
extern const int driven_count;

#endif
