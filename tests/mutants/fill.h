/* SPDX-License-Identifier: Apache-2.0
 * Extreme inputs: the ends of types, NaN, infinities, indices about the ends of dimensions. */
#ifndef INLAY_MUTANTS_FILL_H
#define INLAY_MUTANTS_FILL_H

#include <stddef.h>
#include <stdint.h>

typedef struct DrivenValue {
    /* struct code of an element: f d e q i h b Q I H B ?, or x for others */
    char form;
    size_t bytes; /* of the buffer, exactly */
    int rank;     /* of an output that has real dimensions; -1: it has none */
    /* the longest dimension among the model's values: indices lie about it */
    long size;
} DrivenValue;

/* What an input is filled with. */
typedef enum Filling {
    ZEROS,
    SMALL,
    LEAST,
    MOST_POSITIVE,
    STRANGE,
    BITS,
    EXTREMES,
    INDICES,
    MIXED
} Filling;
enum { RUNS = MIXED + 4 };

typedef struct Random {
    uint64_t state;
} Random;

/* The state with which run k of a model begins, and what its inputs are filled with. */
Random random_for(uint64_t seed, int run);
Filling filling_for(int run);
const char *filling_text(Filling how);
void fill(Random *r, Filling how, const DrivenValue *v, unsigned char *to);

#endif
