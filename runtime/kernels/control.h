/* SPDX-License-Identifier: 0BSD
 * Branches and loops: steps that go on elsewhere. A jump is returned as the number of the next step
 * plus one. */
#ifndef INLAY_CONTROL_H
#define INLAY_CONTROL_H

#include "inlay_memory.h"
#include "inlay.h"

/* Goes on at step `target`. No operands. */
typedef struct inlay_jump_params {
    int32_t target; /* number of a step */
} inlay_jump_params;

static inline int inlay_jump(void *const *base, const inlay_step *s, int32_t r0,
                             int32_t r1)
{
    (void)base, (void)r0, (void)r1;
    return (int)((const inlay_jump_params *)s->params)->target + 1;
}

/* Goes on at step `target` unless the condition (bool [1]) holds. Operands: condition. */
static inline int inlay_jump_unless(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    (void)r0, (void)r1;
    return *(const uint8_t *)inlay_at(base, s, 0)
               ? 0
               : (int)((const inlay_jump_params *)s->params)->target + 1;
}

/* Ends the run: a branch that does not fit the shapes this was compiled for. No operands. */
static inline int inlay_refuse(void *const *base, const inlay_step *s,
                               int32_t r0, int32_t r1)
{
    (void)base, (void)s, (void)r0, (void)r1;
    return -INLAY_E_SHAPE;
}

/* Begins a loop: counter = 0; goes on at step `target` where not one turn is to be made.
 * Operands: counter (int64 [1], out), trip count (int64 [1]) and condition (bool [1]), each may be
 * left out. */
typedef struct inlay_loop_params {
    /* number of a step: the one behind the loop at its begin, its first at its end */
    int32_t target;
    int64_t most; /* turns the outputs have room for; -1: any number */
} inlay_loop_params;

static inline int inlay_loop_goes_on(void *const *base, const inlay_step *s,
                                     int64_t turn)
{
    const int64_t *trip = (const int64_t *)inlay_at(base, s, 1);
    const uint8_t *condition = (const uint8_t *)inlay_at(base, s, 2);
    return (!trip || turn < *trip) && (!condition || *condition);
}

static inline int inlay_loop_begin(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    const inlay_loop_params *p = (const inlay_loop_params *)s->params;
    (void)r0, (void)r1;
    *(int64_t *)inlay_at(base, s, 0) = 0;
    return inlay_loop_goes_on(base, s, 0) ? 0 : (int)p->target + 1;
}

/* Ends a turn: counter += 1; goes on at the loop's first step while turns are left. Operands as
 * loop_begin. */
static inline int inlay_loop_end(void *const *base, const inlay_step *s,
                                 int32_t r0, int32_t r1)
{
    const inlay_loop_params *p = (const inlay_loop_params *)s->params;
    int64_t *counter = (int64_t *)inlay_at(base, s, 0);
    (void)r0, (void)r1;
    *counter += 1;
    if (!inlay_loop_goes_on(base, s, *counter))
        return 0;
    if (p->most >= 0 && *counter >= p->most)
        return -INLAY_E_SHAPE;
    return (int)p->target + 1;
}

/* One turn's slice of a sequence: out[c] = in[c][turn] or out[c][turn] = in[c] for `outer` blocks
 * of `bytes`. Operands of slice_load: slice (out), sequence, counter; of slice_store: sequence
 * (out), slice, counter. */
typedef struct inlay_slice_params {
    int64_t outer;   /* blocks: elements before the sequence's axis */
    int64_t bytes;   /* of a block: one place of the axis */
    int64_t length;  /* of the axis */
    int32_t reverse; /* 1: turn 0 is the last place */
} inlay_slice_params;

static inline size_t inlay_slice_at(const inlay_slice_params *p, int64_t turn,
                                    int64_t block)
{
    const int64_t place = p->reverse ? p->length - 1 - turn : turn;
    return (size_t)((block * p->length + place) * p->bytes);
}

static inline int inlay_slice_load(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    const inlay_slice_params *p = (const inlay_slice_params *)s->params;
    unsigned char *out = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *in = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t turn = *(const int64_t *)inlay_at(base, s, 2);
    int64_t k;
    (void)r0, (void)r1;
    if (turn < 0 || turn >= p->length)
        return -INLAY_E_SHAPE;
    for (k = 0; k < p->outer; k++)
        memcpy(out + k * p->bytes, in + inlay_slice_at(p, turn, k),
               (size_t)p->bytes);
    return 0;
}

static inline int inlay_slice_store(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_slice_params *p = (const inlay_slice_params *)s->params;
    unsigned char *out = (unsigned char *)inlay_at(base, s, 0);
    const unsigned char *in = (const unsigned char *)inlay_at(base, s, 1);
    const int64_t turn = *(const int64_t *)inlay_at(base, s, 2);
    int64_t k;
    (void)r0, (void)r1;
    if (turn < 0 || turn >= p->length)
        return -INLAY_E_SHAPE;
    for (k = 0; k < p->outer; k++)
        memcpy(out + inlay_slice_at(p, turn, k), in + k * p->bytes,
               (size_t)p->bytes);
    return 0;
}

#endif
