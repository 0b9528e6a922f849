/* SPDX-License-Identifier: Apache-2.0
 * Results of a run against what is expected. */
#ifndef INLAY_CLI_COMPARE_H
#define INLAY_CLI_COMPARE_H

#include "cli/options.h"

/* --rtol and --atol, or the usual ones: |got - want| <= atol + rtol * |want|. Of floats of 16 bits
 * the usual ones are ten times as large. */
typedef struct Tolerance {
    double relative;
    double absolute;
    bool has_relative; /* it is given */
    bool has_absolute;
} Tolerance;

Tolerance tolerance_of(const Options *options);

/* Prints a line on the result: equal, how far off, or which value differs most. */
bool compare_values(Pieces *to, const Tensor *tensor, const void *got,
                    const void *want, Tolerance tolerance);

typedef struct Difference {
    int64_t count; /* of values that differ too much */
    double worst;  /* the largest distance */
    int64_t at;
    double got;
    double want;
} Difference;

/* The same in two steps, of types of whole bytes. */
Difference compare_find(const Tensor *tensor, const char *got, const char *want,
                        Tolerance tolerance);
void compare_print(Pieces *to, const Tensor *tensor, const Difference *found);

#endif
