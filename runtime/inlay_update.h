/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: weights in RAM, some tensors of which are replaced while runs use them. There is
 * one writer, in an interrupt or another task, and one run at a time. Neither waits for the other:
 * a run that met bytes of two versions ends with INLAY_E_UPDATED, and is made again.
 *
 * Tags (policy dirty-tag): begin() opens a generation, and put() marks a tensor with it before its
 * first byte. A run takes the generation that was committed when it began; behind each call of a
 * step it looks whether a tensor that the step may have read has a later mark. So a run that is not
 * reported used exactly the weights that were committed when it began.
 *
 * Places (policy fence): the run says before each call which steps it is in; put() says which
 * tensor it writes, then looks where the run is, and leaves the tensor alone where it is in use. A
 * run that comes to a tensor which is being written ends. So each tensor that a run uses is whole.
 *
 * Each side writes first, and then reads what the other one wrote: one of them sees the other. */
#ifndef INLAY_UPDATE_H
#define INLAY_UPDATE_H

#include "inlay.h"
#include "inlay_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef INLAY_LIVE
#define INLAY_LIVE
/* What writer and run know of each other. All 0 at first, but for what the caller sets. */
typedef struct inlay_live {
    void *weights; /* the caller's: what NAME_weights_open() gave, in RAM */
    volatile uint32_t begun, committed; /* generations */
    uint32_t from;                      /* that of the run */
    /* steps [first, end) that the run may be in; none: equal */
    volatile int32_t first, end;
    volatile int32_t writing; /* the tensor that is written, and 1; or 0 */
} inlay_live;
#endif

enum {
    INLAY_E_UPDATED = 10, /* the run met weights of two versions */
    INLAY_E_BUSY = 11     /* the tensor is in use */
};

/* Where a tensor lies in the weights, and the steps [first, end) from its first use to its last. */
typedef struct inlay_tensor {
    uint32_t at, bytes; /* 0 bytes: it is none of them */
    int32_t first, end;
} inlay_tensor;

/* Of a step: the steps [first, end) that may be called before all of them are done, and where those
 * that may come next end. */
typedef struct inlay_span {
    int32_t first, end, next;
} inlay_span;

typedef struct inlay_updates {
    const inlay_tensor *tensor;
    const inlay_span *span; /* of each step */
    int32_t tensors, steps;
} inlay_updates;

/* Where the other side may come between; tests define it. */
#ifndef INLAY_UPDATE_POINT
#define INLAY_UPDATE_POINT() ((void)0)
#endif

/* What stands before it in the code happens before what stands behind it. */
static inline void inlay_update_barrier(void)
{
#if defined __GNUC__
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    INLAY_UPDATE_POINT();
}

/* Does the tensor's use meet steps [first, end)? */
static inline int inlay_update_meets(const inlay_tensor *t, int32_t first,
                                     int32_t end)
{
    return t->first < end && first < t->end;
}

/* ---- the run ---- */

/* Tags: was a tensor that step i may have read marked since the run began? */
static inline int inlay_tags_changed(const inlay_updates *u,
                                     const inlay_live *live,
                                     const volatile uint32_t *tag, int32_t i)
{
    const inlay_span *span = u->span + i;
    int32_t k;
    inlay_update_barrier();
    if (live->begun == live->from)
        return 0;
    for (k = 0; k < u->tensors; k++)
        if (inlay_update_meets(u->tensor + k, span->first, span->end) &&
            tag[k] - live->from - 1 < UINT32_C(0x7fffffff))
            return 1;
    return 0;
}

/* Places: the run goes on to steps [first, end). Is one of their tensors being written? */
static inline int inlay_fence_met(const inlay_updates *u, inlay_live *live,
                                  int32_t first, int32_t end)
{
    int32_t writing;
    /* It never says less than where it is: the far end first. */
    live->end = end;
    inlay_update_barrier();
    live->first = first;
    inlay_update_barrier();
    writing = live->writing;
    inlay_update_barrier();
    return writing && inlay_update_meets(u->tensor + (writing - 1), first, end);
}

/* Behind a call of step i: what may be called next? */
static inline int inlay_fence_step(const inlay_updates *u, inlay_live *live,
                                   int32_t i)
{
    const inlay_span *span = u->span + i;
    const int alone = span->end - span->first == 1;
    return inlay_fence_met(u, live, alone ? span->end : span->first,
                           span->next);
}

/* Before the first call. */
static inline int inlay_fence_begin(const inlay_updates *u, inlay_live *live)
{
    return inlay_fence_met(u, live, 0, u->span->end);
}

/* The run is over. */
static inline void inlay_fence_end(inlay_live *live)
{
    inlay_update_barrier();
    live->end = 0;
    inlay_update_barrier();
    live->first = 0;
}

/* ---- the writer ---- */

static inline void inlay_update_begin(inlay_live *live)
{
    live->begun = live->committed + 1;
    inlay_update_barrier();
}

static inline void inlay_update_commit(inlay_live *live)
{
    inlay_update_barrier();
    live->committed = live->begun;
}

/* INLAY_E_ARG: it is none of the blob, has another size, or nothing was begun. */
static inline int inlay_update_wrong(const inlay_updates *u,
                                     const inlay_live *live, int32_t k,
                                     const void *bytes, size_t size)
{
    if (!live->weights || !bytes || k < 0 || k >= u->tensors)
        return 1;
    return !u->tensor[k].bytes || u->tensor[k].bytes != size ||
           live->begun == live->committed;
}

/* The bytes of tensor k, a word at a time. */
static inline void inlay_update_write(const inlay_updates *u,
                                      const inlay_live *live, int32_t k,
                                      const void *bytes)
{
    const inlay_tensor *t = u->tensor + k;
    const unsigned char *from = (const unsigned char *)bytes;
    unsigned char *to = (unsigned char *)live->weights + t->at;
    uint32_t i, n;
    for (i = 0; i < t->bytes; i += n) {
        n = t->bytes - i < 4 ? t->bytes - i : 4;
        memcpy(to + i, from + i, n);
        INLAY_UPDATE_POINT();
    }
}

static inline int inlay_tags_put(const inlay_updates *u, inlay_live *live,
                                 volatile uint32_t *tag, int32_t k,
                                 const void *bytes, size_t size)
{
    if (inlay_update_wrong(u, live, k, bytes, size))
        return INLAY_E_ARG;
    tag[k] = live->begun;
    inlay_update_barrier();
    inlay_update_write(u, live, k, bytes);
    inlay_update_barrier();
    return INLAY_OK;
}

static inline int inlay_fence_put(const inlay_updates *u, inlay_live *live,
                                  int32_t k, const void *bytes, size_t size)
{
    int busy;
    if (inlay_update_wrong(u, live, k, bytes, size))
        return INLAY_E_ARG;
    live->writing = k + 1;
    inlay_update_barrier();
    busy = inlay_update_meets(u->tensor + k, live->first, live->end);
    if (!busy)
        inlay_update_write(u, live, k, bytes);
    inlay_update_barrier();
    live->writing = 0;
    if (busy)
        return INLAY_E_BUSY;
    return INLAY_OK;
}

#ifdef __cplusplus
}
#endif
#endif
