/* SPDX-License-Identifier: 0BSD
 * A run on threads that the caller has: the units of a large step are shared among them, each with
 * scratch of its own. What is not split runs as ever. There is no code for threads here. */
#ifndef INLAY_THREADS_H
#define INLAY_THREADS_H

#include "inlay.h"

enum { INLAY_MOST_THREADS = 64 };

/* A step that is split, and the operands that each thread but the first has instead of the step's;
 * NULL: they have no scratch. */
typedef struct inlay_split {
    int32_t step, operands;
    const inlay_ref *own;
} inlay_split;

/* Calls work(job, k) for each k of [0, n), in any order, several at a time or not, and comes back
 * when all are done. */
typedef void inlay_parallel(void *context, int n,
                            void (*work)(void *job, int k), void *job);

typedef struct inlay_team {
    const inlay_split *split; /* in ascending order of their steps */
    int32_t splits, threads;
    inlay_parallel *parallel;
    void *context;
} inlay_team;

/* One step, shared. */
typedef struct inlay_job {
    void *const *base;
    const inlay_step *step;
    const inlay_split *split;
    int32_t shares;
    int result[INLAY_MOST_THREADS]; /* of each share's kernel */
} inlay_job;

/* Of so many units, shared by so many, the first that is share k's. */
static inline int32_t inlay_share(int32_t units, int32_t shares, int32_t k)
{
    return (int32_t)((int64_t)units * k / shares);
}

static inline void inlay_make_share(void *given, int k)
{
    inlay_job *job = (inlay_job *)given;
    const int32_t units = job->step->units;
    inlay_step step = *job->step;
    if (k && job->split->own)
        step.ref =
            job->split->own + (size_t)(k - 1) * (size_t)job->split->operands;
    job->result[k] =
        step.run(job->base, &step, inlay_share(units, job->shares, k),
                 inlay_share(units, job->shares, k + 1));
}

/* What the first kernel says that failed. */
static inline int inlay_run_split(const inlay_model *m, void *const *base,
                                  const inlay_team *team,
                                  const inlay_split *split)
{
    inlay_job job;
    int32_t k = 0;
    job.base = base;
    job.step = m->step + split->step;
    job.split = split;
    job.shares =
        job.step->units < team->threads ? job.step->units : team->threads;
    team->parallel(team->context, job.shares, inlay_make_share, &job);
    while (k < job.shares - 1 && !job.result[k])
        k++;
    return job.result[k];
}

/* The first of the splits whose step is k, or one after it. */
static inline int32_t inlay_next_split(const inlay_team *team, int32_t k)
{
    int32_t lo = 0, hi = team->splits;
    while (lo < hi) {
        const int32_t middle = lo + (hi - lo) / 2;
        if (team->split[middle].step < k)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Steps [first, end), one after the other: those that are split on all threads. */
static inline int inlay_run_shared(const inlay_model *m, void *const *base,
                                   const inlay_team *team, int32_t first,
                                   int32_t end)
{
    int32_t i = first;
    while (i < end) {
        const int32_t next = inlay_next_split(team, i);
        const inlay_step *s = m->step + i;
        const int split = next < team->splits && team->split[next].step == i;
        const int r = split ? inlay_run_split(m, base, team, team->split + next)
                            : s->run(base, s, 0, s->units);
        INLAY_ON_STEP(i);
        if (r < 0)
            return -r;
        i = r ? r - 1 : i + 1;
    }
    return INLAY_OK;
}

/* Runs all steps; 0 or INLAY_E_... What watches its plan (INLAY_CHECK) does so on one thread. */
static inline int inlay_run_team(const inlay_model *m, void *const *base,
                                 const inlay_team *team)
{
#ifdef INLAY_CHECK
    (void)team;
    return inlay_run(m, base);
#else
    int32_t i;
    int r = INLAY_OK;
    if (!m->segment)
        return inlay_run_shared(m, base, team, 0, m->steps);
    for (i = 0; !r && i < m->segments; i++) {
        const inlay_segment *g = m->segment + i;
        r = g->list ? inlay_run_stream(m, g, base)
                    : inlay_run_shared(m, base, team, g->first,
                                       g->first + g->count);
    }
    return r;
#endif
}

#endif
