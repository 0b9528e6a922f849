/* SPDX-License-Identifier: Apache-2.0
 * Runs lowered programs in this process, with the runtime's own kernels. */
#ifndef INLAY_EVAL_EVAL_H
#define INLAY_EVAL_EVAL_H

#include "ir/program.h"

/* Gives every arena tensor a place of its own; returns the bytes needed. */
int64_t eval_place_apart(Program *program);
/* All constants of the program in memory, as the blob lays them out (offsets are set where they are
 * not). */
unsigned char *eval_weights(Arena *arena, Program *program);
/* Runs a planned program. in[i], out[i]: the caller's buffers. 0 or INLAY_E_... */
int eval_run(Program *program, void *const *in, void *const *out);
/* Is told before each step, and with the number of steps at the end. */
typedef void EvalNotice(void *context, int32_t step, void *const *base);
typedef struct EvalWatch {
    EvalNotice *before;
    void *context;
} EvalWatch;
/* The same, watched; then the plan is one layer by layer (PLAN_SIMPLE). NULL: nobody watches. */
int eval_run_watched(Program *program, void *const *in, void *const *out,
                     const EvalWatch *watch);
/* Puts other steps in place of the model's; the base pointer of that index is the wrapper's own. */
typedef void EvalWrapFunction(void *context, Arena *arena, inlay_model *model,
                              int32_t base);
typedef struct EvalWrap {
    EvalWrapFunction *wrap;
    void *context;
    void *base;
} EvalWrap;
/* The same as eval_run_in(), with wrapped steps. */
int eval_run_wrapped(Program *program, unsigned char *const *memory,
                     void *const *in, void *const *out, const EvalWrap *wrap);
/* The same in memory of its own. */
int eval_run_alone(Program *program, void *const *in, void *const *out,
                   const EvalWrap *wrap);
/* The same in the caller's memory: an area of 64-aligned bytes for each region, whatever they hold.
 */
int eval_run_in(Program *program, unsigned char *const *memory, void *const *in,
                void *const *out);
const char *eval_error_text(int error);

#endif
