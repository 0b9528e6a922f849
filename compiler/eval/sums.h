/* SPDX-License-Identifier: Apache-2.0
 * What each step of a run writes, as a word for each: what a self-test on a device is held to. */
#ifndef INLAY_EVAL_SUMS_H
#define INLAY_EVAL_SUMS_H

#include "inlay_sums.h"
#include "ir/program.h"

/* The results of a step that are summed up; none where their bytes are not known to be the same in
 * every run. `near`: floating-point arithmetic had a part in them. */
typedef struct SumTable {
    inlay_sum *sum;
    int32_t sums;
    bool near;
} SumTable;

/* Of each step of the planned program. */
SumTable *sums_tables(Arena *arena, const Program *program);

/* Runs the program twice, in memory that held other bytes before: what differs then is no longer in
 * the tables. sum[i] becomes the word of step i. 0 or INLAY_E_..., as where a run takes more work
 * than that (eval/counted.h). */
int sums_run(Program *program, SumTable *table, int64_t work, void *const *in,
             void *const *out, StepSum *sum);

#endif
