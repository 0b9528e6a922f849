/* SPDX-License-Identifier: 0BSD
 * A cache of keys or values gets new rows: TensorScatter. */
#ifndef INLAY_CACHE_H
#define INLAY_CACHE_H

#include <string.h>

#include "inlay.h"

/* y = cache, then y[b][o][(at[b] + i) mod length] = update[b][o][i], count <= length.
 * Operands: y (out) and cache [B][outer][length][bytes], update [B][outer][count][bytes], at int64
 * [B] (left out: 0). A place that does not exist ends the run with INLAY_E_INDEX. */
#define INLAY_cache_FIELDS(F, N) \
    F(int64_t, batch) \
    F(int64_t, outer) \
    F(int64_t, length) \
    F(int64_t, count)    /* rows of the update */ \
    F(int64_t, bytes)    /* of a row */ \
    F(int32_t, circular) /* 1: rows go on at the beginning; 0: they must fit */
INLAY_PARAMS(cache);

/* The row at which index `at` begins, -1: none. */
static inline int64_t inlay_cache_first(const inlay_cache_params *p, int64_t at)
{
    if (at < 0 || p->length < 1)
        return -1;
    if (p->circular)
        return at % p->length;
    return at > p->length - p->count ? -1 : at;
}

static inline int inlay_cache_update(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_cache_params *p = (const inlay_cache_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *update = (const unsigned char *)inlay_at(base, s, 2);
    const int64_t *at = (const int64_t *)inlay_at(base, s, 3);
    const size_t row = (size_t)p->bytes;
    int64_t b, o, i;
    (void)r0, (void)r1;
    memmove(y, inlay_at(base, s, 1), (size_t)(p->batch * p->outer * p->length) * row);
    for (b = 0; b < p->batch; b++) {
        const int64_t first = inlay_cache_first(p, at ? at[b] : 0);
        if (first < 0)
            return -INLAY_E_INDEX;
        for (o = 0; o < p->outer; o++, y += (size_t)p->length * row)
            for (i = 0; i < p->count; i++, update += row) {
                const int64_t k = first + i < p->length ? first + i : first + i - p->length;
                memcpy(y + (size_t)k * row, update, row);
            }
    }
    return 0;
}

#endif
