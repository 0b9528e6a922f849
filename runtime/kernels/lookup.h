/* SPDX-License-Identifier: 0BSD
 * LabelEncoder: y = values[the place of x among the keys], values[keys] where it is none of them.
 * Keys are sorted; NaN, if it is a key, is the last. Operands: y, x, keys, values [keys + 1]. */
#ifndef INLAY_LOOKUP_H
#define INLAY_LOOKUP_H

#include "inlay_memory.h"
#include "inlay.h"

typedef struct inlay_lookup_params {
    int32_t n; /* elements of x */
    int32_t keys;
    int32_t size; /* bytes of a value */
} inlay_lookup_params;

#define INLAY_FAMILY "lookup.inc.h"
#include "each_number.inc.h"
#undef INLAY_FAMILY

#endif
