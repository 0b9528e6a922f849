/* SPDX-License-Identifier: 0BSD
 * A cache of keys or values gets new rows: TensorScatter. */
#ifndef INLAY_CACHE_H
#define INLAY_CACHE_H

#include "inlay_memory.h"
#include "inlay.h"

/* y = cache, then y[b][o][(at[b] + i) mod length] = update[b][o][i], count <= length.
 * Operands: y (out) and cache [B][outer][length][bytes], update [B][outer][count][bytes], at int64
 * [B] (left out: 0). A place that does not exist ends the run with INLAY_E_INDEX. */
typedef struct inlay_cache_params {
    int64_t batch;
    int64_t outer;
    int64_t length;
    int64_t count;    /* rows of the update */
    int64_t bytes;    /* of a row */
    int32_t circular; /* 1: rows go on at the beginning; 0: they must fit */
} inlay_cache_params;

/* The row at which index `at` begins, -1: none. */
static inline int64_t inlay_cache_first(const inlay_cache_params *p, int64_t at)
{
    if (at < 0 || p->length < 1)
        return -1;
    if (p->circular)
        return at % p->length;
    return at > p->length - p->count ? -1 : at;
}

/* The rows of one update, from row `first` of the cache on: returns where the next begins. */
static inline const unsigned char *inlay_cache_rows(const inlay_cache_params *p,
                                                    unsigned char *y,
                                                    const unsigned char *update,
                                                    int64_t first)
{
    const size_t row = (size_t)p->bytes;
    int64_t i;
    for (i = 0; i < p->count; i++, update += row) {
        const int64_t k = first + i;
        memcpy(y + (size_t)(k < p->length ? k : k - p->length) * row, update,
               row);
    }
    return update;
}

static inline int inlay_cache_update(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_cache_params *p = (const inlay_cache_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const void *cache = inlay_at(base, s, 1);
    const unsigned char *update = (const unsigned char *)inlay_at(base, s, 2);
    const int64_t *at = (const int64_t *)inlay_at(base, s, 3);
    const size_t block = (size_t)(p->length * p->bytes);
    int64_t b, o;
    (void)r0;
    (void)r1;
    memmove(y, cache, (size_t)(p->batch * p->outer) * block);
    for (b = 0; b < p->batch; b++) {
        const int64_t first = inlay_cache_first(p, at ? at[b] : 0);
        if (first < 0)
            return -INLAY_E_INDEX;
        for (o = 0; o < p->outer; o++, y += block)
            update = inlay_cache_rows(p, y, update, first);
    }
    return 0;
}

#endif
