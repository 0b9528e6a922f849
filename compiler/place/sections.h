/* SPDX-License-Identifier: Apache-2.0
 * Time cut at every birth and death into sections, in each of which the same items are alive. */
#ifndef INLAY_PLACE_SECTIONS_H
#define INLAY_PLACE_SECTIONS_H

#include "place/problem.h"

typedef struct Sections {
    int n;
    /* item i lives in sections first[i] .. last[i] - 1 */
    int32_t *first, *last;
    /* items whose first section is s: born[birth[s]] .. born[birth[s + 1] - 1] */
    int32_t *birth, *born;
} Sections;

Sections place_sections(Arena *arena, const Problem *problem);

#endif
