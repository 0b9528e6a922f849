/* SPDX-License-Identifier: Apache-2.0
 * Weights that are replaced while runs use them (runtime/inlay_update.h): during which steps each
 * constant is in use. Knows no operator. */
#ifndef INLAY_EMIT_UPDATES_H
#define INLAY_EMIT_UPDATES_H

#include "emit/emitter.h"

/* How a run and a writer keep apart: --update. */
typedef enum UpdatePolicy {
    UPDATE_NONE,
    UPDATE_TAGS,
    UPDATE_FENCE
} UpdatePolicy;

/* Their names, ended by NULL. */
extern const char *const update_policies[];

/* Steps [first, end). Those of a stream run among one another, and where steps jump all may. */
typedef struct StepSpan {
    int32_t first, end;
} StepSpan;

/* Of each constant, by its number, from its first use to its last; equal: it is not used. */
StepSpan *update_uses(const Program *program);

/* A line for each constant of the blob: the steps of its first and last use. */
void update_report(Text *text, const Program *program);

/* Tables of the source, and the number of constants as a macro of the header. */
Text update_tables(const Emitter *emitter);
Text update_tensors(const Emitter *emitter);

#endif
