/* SPDX-License-Identifier: Apache-2.0
 * A run that ends: loops decide while they run how often they turn. */
#ifndef INLAY_EVAL_COUNTED_H
#define INLAY_EVAL_COUNTED_H

#include "eval/eval.h"

/* Work of a run: multiplications, bytes that steps write, and a few for each call. */
typedef struct EvalBudget {
    const Program *program;
    int64_t left;
} EvalBudget;

/* What one run takes whose loops turn as often as their steps say. */
int64_t eval_work(const Program *program);
/* Is there time for so much to make constants of? Then it is counted. */
bool eval_has_time(Store *store, double work);
/* For EvalWrap, the context being an EvalBudget: steps end the run where nothing is left. */
void eval_count_steps(void *budget, Arena *arena, inlay_model *model,
                      int32_t base);
/* As eval_run(), but an error as soon as steps have done more work than that. */
int eval_run_within(Program *program, void *const *in, void *const *out,
                    int64_t work);

#endif
