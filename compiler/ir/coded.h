/* SPDX-License-Identifier: Apache-2.0
 * A constant that is coded in flash (runtime/inlay_coded.h), and what it comes to. */
#ifndef INLAY_IR_CODED_H
#define INLAY_IR_CODED_H

#include <stdbool.h>

#include "ir/pair_code.h"
#include "ir/palette.h"
#include "ir/prefix_code.h"

enum { CODED_LEAST = 256 }; /* bytes of constants that may be coded */

typedef struct Coded {
    const Palette *palette; /* its channels have palettes; else NULL */
    bool
        paired; /* it is coded in pairs, of bytes; else the highest bytes are */
    PairCode pair;
    PrefixCode code;
    int width;   /* bytes of a value: 1, 2 or 4 */
    bool turned; /* floats: the sign is the lowest bit */
    int64_t values;
    uint64_t plain;  /* bytes of all values, uncoded */
    uint64_t bits;   /* of all code words, cells of escapes included */
    uint64_t bytes;  /* of all that is in flash */
    uint64_t bound;  /* bytes that no code of single highest bytes goes below */
    uint64_t source; /* byte of Program.uncoded at which the values begin */
    uint64_t at;     /* byte of Program.coded */
} Coded;

/* Is a constant of `plain` bytes to be coded in so many? */
bool coded_pays(uint64_t plain, uint64_t bytes);

#endif
