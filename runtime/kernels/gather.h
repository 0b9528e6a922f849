/* SPDX-License-Identifier: 0BSD
 * Reading by index. Indices are int64, negative ones count from the end; one outside its axis ends
 * the run with INLAY_E_INDEX.
 *
 * gather           y [outer][k][run] = x[outer][I[k]][run], x is [outer][n][run]
 * gather_elements  y[at] = x[at with at[axis] = I[at]]
 * gather_nd        y [batch][k][run] = x[batch][I[batch][k][0]][I[batch][k][1]]...[run], where the
 *                  axes between batch and run may lie in any order: each has its step */
#ifndef INLAY_GATHER_H
#define INLAY_GATHER_H

#include "inlay_memory.h"
#include "index.h"

typedef struct inlay_gather_params {
    int32_t outer;
    int32_t n;   /* size of the axis in x */
    int32_t k;   /* indices */
    int64_t run; /* bytes */
} inlay_gather_params;

/* The common sizes of an element are one load and one store each. */
static inline void inlay_copy_run(unsigned char *y, const unsigned char *x,
                                  size_t n)
{
    if (n == 4)
        memcpy(y, x, 4);
    else if (n == 8)
        memcpy(y, x, 8);
    else if (n == 1)
        *y = *x;
    else
        memcpy(y, x, n);
}

static inline int inlay_gather(void *const *base, const inlay_step *s,
                               int32_t r0, int32_t r1)
{
    const inlay_gather_params *p = (const inlay_gather_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    const size_t run = (size_t)p->run;
    int32_t o, k;
    (void)r0, (void)r1;
    for (o = 0; o < p->outer; o++, x += run * (size_t)p->n)
        for (k = 0; k < p->k; k++, y += run) {
            const int64_t i = inlay_index(index[k], p->n);
            if (i < 0)
                return -INLAY_E_INDEX;
            inlay_copy_run(y, x + (size_t)i * run, run);
        }
    return 0;
}

/* Both of rank `rank`; the axis differs in size. */
typedef struct inlay_gather_elements_params {
    int32_t rank;
    int32_t axis;
    int32_t size; /* bytes of an element */
    int32_t x[8]; /* dims of x */
    int32_t y[8]; /* dims of the indices */
} inlay_gather_elements_params;

/* The last dimension of y: n elements, from x on in x; `step` bytes from index to index, `next` to
 * the next place of the last dimension. Returns 0: an index is outside. */
INLAY_INLINE int inlay_gather_line(const inlay_gather_elements_params *p,
                                   unsigned char *y, const unsigned char *x,
                                   const int64_t *index, size_t step,
                                   size_t next, const size_t size)
{
    const int32_t n = p->y[p->rank - 1];
    const int64_t most = p->x[p->axis];
    int32_t k;
    for (k = 0; k < n; k++, x += next, y += size) {
        const int64_t i = inlay_index(index[k], most);
        if (i < 0)
            return 0;
        inlay_copy_run(y, x + (size_t)i * step, size);
    }
    return 1;
}

/* The same of elements of any size; of words, where there are vectors, it is code of its own. */
static inline int inlay_gather_any(const inlay_gather_elements_params *p,
                                   unsigned char *y, const unsigned char *x,
                                   const int64_t *index, size_t step,
                                   size_t next)
{
#if defined __SSE2__ || defined __aarch64__
    if (p->size == 4 && step == 4 && next == 0)
        return inlay_gather_line(p, y, x, index, 4, 0, 4);
    if (p->size == 4)
        return inlay_gather_line(p, y, x, index, step, next, 4);
#endif
    return inlay_gather_line(p, y, x, index, step, next, (size_t)p->size);
}

/* Bytes of x from one index of the axis to the next. */
static inline size_t inlay_gather_step(const inlay_gather_elements_params *p)
{
    size_t step = (size_t)p->size;
    int32_t d;
    for (d = p->axis + 1; d < p->rank; d++)
        step *= (size_t)p->x[d];
    return step;
}

static inline int inlay_gather_elements(void *const *base, const inlay_step *s,
                                        int32_t r0, int32_t r1)
{
    const inlay_gather_elements_params *p =
        (const inlay_gather_elements_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    const size_t size = (size_t)p->size;
    const int32_t last = p->rank - 1;
    const size_t step = inlay_gather_step(p);
    int32_t at[8] = { 0 };
    (void)r0, (void)r1;
    do {
        const size_t first = inlay_element_at(at, p->x, p->rank, p->axis, 0);
        if (!inlay_gather_any(p, y, x + size * first, index, step,
                              p->axis == last ? 0 : size))
            return -INLAY_E_INDEX;
        y += size * (size_t)p->y[last];
        index += p->y[last];
    } while (inlay_next_index(at, p->y, last));
    return 0;
}

typedef struct inlay_gather_nd_params {
    int32_t batch;   /* batches, in which x and the indices agree */
    int32_t k;       /* index vectors of a batch */
    int32_t depth;   /* length of an index vector */
    int64_t run;     /* bytes of what one vector names */
    int32_t n[8];    /* sizes of the axes the vector runs over */
    int32_t step[8]; /* runs from one place of each to the next */
} inlay_gather_nd_params;

/* The run that an index vector names; -1: an index is outside of its axis. */
static inline int64_t inlay_named_run(const inlay_gather_nd_params *p,
                                      const int64_t *index)
{
    int64_t run = 0;
    int32_t d;
    for (d = 0; d < p->depth; d++) {
        const int64_t i = inlay_index(index[d], p->n[d]);
        if (i < 0)
            return -1;
        run += i * p->step[d];
    }
    return run;
}

static inline int inlay_gather_nd(void *const *base, const inlay_step *s,
                                  int32_t r0, int32_t r1)
{
    const inlay_gather_nd_params *p = (const inlay_gather_nd_params *)s->params;
    unsigned char *y = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *x = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t *index = (const int64_t *)inlay_at(base, s, 2);
    const size_t run = (size_t)p->run;
    size_t step = run;
    int32_t b, k;
    (void)r0, (void)r1;
    for (k = 0; k < p->depth; k++)
        step *= (size_t)p->n[k];
    for (b = 0; b < p->batch; b++, x += step)
        for (k = 0; k < p->k; k++, index += p->depth, y += run) {
            const int64_t at = inlay_named_run(p, index);
            if (at < 0)
                return -INLAY_E_INDEX;
            inlay_copy_run(y, x + (size_t)at * run, run);
        }
    return 0;
}

#endif
