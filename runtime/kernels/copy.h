/* SPDX-License-Identifier: 0BSD
 * out[i] = in[i] over bytes: where a view is not possible (a graph output that is an input, a
 * constant ...). */
#ifndef INLAY_COPY_H
#define INLAY_COPY_H

#include "inlay_memory.h"
#include "inlay.h"

typedef struct inlay_copy_params {
    int64_t bytes; /* to copy */
} inlay_copy_params;

static inline int inlay_copy(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1)
{
    const inlay_copy_params *p = (const inlay_copy_params *)s->params;
    (void)r0, (void)r1;
    memmove(inlay_at(base, s, 0), inlay_at(base, s, 1), (size_t)p->bytes);
    return 0;
}

/* out[i] = 0. */
static inline int inlay_clear(void *const *base, const inlay_step *s,
                              int32_t r0, int32_t r1)
{
    (void)r0, (void)r1;
    memset(inlay_at(base, s, 0), 0,
           (size_t)((const inlay_copy_params *)s->params)->bytes);
    return 0;
}

#endif
