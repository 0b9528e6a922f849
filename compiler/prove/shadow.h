/* SPDX-License-Identifier: Apache-2.0
 * Who wrote each byte last: ranges of addresses with a tag, for the plan's checker. */
#ifndef INLAY_PROVE_SHADOW_H
#define INLAY_PROVE_SHADOW_H

#include <stdbool.h>

#include "base/vec.h"

/* Bytes [begin, end) are bytes begin + delta .. of the tensor `tag`. */
typedef struct ShadowSpan {
    int64_t begin, end, delta;
    int32_t tag;
} ShadowSpan;

typedef struct Shadow {
    Arena *arena;
    VEC(ShadowSpan) span; /* sorted, disjoint */
} Shadow;

void shadow_write(Shadow *shadow, int64_t begin, int64_t end, int64_t delta,
                  int32_t tag);
bool shadow_owns(const Shadow *shadow, int64_t begin, int64_t end,
                 int64_t delta, int32_t tag);

#endif
