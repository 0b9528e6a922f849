/* SPDX-License-Identifier: Apache-2.0
 * Dimensions that follow others: "past_sequence_length + 1" of exported decoders, 2*T. */
#ifndef INLAY_PIPELINE_DIM_TERMS_H
#define INLAY_PIPELINE_DIM_TERMS_H

#include <stdbool.h>

#include "base/arena.h"

/* The value of a dimension by its name, -1: it is open; NULL: none is called so. */
typedef const int64_t *DimLookup(const void *context, const char *name);

/* Is the text a sum of products (+ - * / //, no parentheses) of numbers and of names that lookup
 * knows? *value is its value, -1: one of them is open, or the value is no dimension. A quotient is
 * rounded down. */
bool dim_terms(Arena *arena, const char *text, DimLookup *lookup,
               const void *context, int64_t *value);
/* Is it more than one name? */
bool dim_is_terms(const char *text);

#endif
