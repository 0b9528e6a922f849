/* SPDX-License-Identifier: Apache-2.0
 * A run of the model on made-up inputs, done here, for a test that goes with the code. */
#ifndef INLAY_EMIT_GOLDEN_H
#define INLAY_EMIT_GOLDEN_H

#include "emit/emitter.h"
#include "eval/sums.h"

/* Values of a result that the test compares. */
typedef struct GoldenResult {
    int64_t count; /* 0: this result is not compared */
    int64_t step;  /* of elements, from one to the next */
    double *value;
} GoldenResult;

typedef struct Golden {
    const Emitter *emitter;
    GoldenResult *result; /* one for each; NULL: there is no test */
    /* of a self-test: what of each step is summed up, and its words; NULL: it is none */
    SumTable *table;
    StepSum *sum;
} Golden;

/* Runs the planned program where that is little work, all inputs and results lie with the caller
 * and the weights are linked; there is no test either where no result has a finite number. */
Golden golden_run(const Emitter *emitter, Program *program);
/* The same for a self-test, however much work it is; status 78 where there is none. */
Golden golden_run_summed(const Emitter *emitter, Program *program);

/* Is a run a plain call: all inputs and results lie with the caller, and nothing survives it? */
bool golden_plain_call(const Emitter *emitter);
/* How far a result may be from the one made here, as two numbers of C: in all, and in parts of its
 * size. */
const char *golden_allowed(DType dtype);

/* Parts of NAME_golden.h. */
Text golden_arenas(const Golden *golden);
Text golden_buffers(const Golden *golden);
Text golden_regions(const Golden *golden);
Text golden_inputs(const Golden *golden);
Text golden_outputs(const Golden *golden);
Text golden_compare(const Golden *golden);

#endif
