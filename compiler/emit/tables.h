/* SPDX-License-Identifier: Apache-2.0
 * The tables of NAME.c: what the runtime goes through. */
#ifndef INLAY_EMIT_TABLES_H
#define INLAY_EMIT_TABLES_H

#include "emit/emitter.h"

/* Rows of the array of base pointers, by name. */
Text table_bases(const Emitter *emitter);
/* Parameters and operands of all steps, also of each thread, and the steps. Equal tables are stored
 * once. */
typedef struct StepTables {
    Text tables;
    Text steps;
} StepTables;
StepTables table_steps(const Emitter *emitter);
/* The parameters of a step that are not 0, as C. */
Text table_params(Arena *arena, const Step *step);
/* Do they name constants of <math.h>? */
bool table_needs_math(const Emitter *emitter);
/* Have rows of some operand slots in a pool? */
bool table_has_slots(const Emitter *emitter);
/* Which steps run together. */
typedef struct SegmentTables {
    Text lists;
    Text segments;
} SegmentTables;
SegmentTables table_segments(const Emitter *emitter);
/* Which steps threads share. */
Text table_splits(const Emitter *emitter);
/* How many there are, and where the row counters lie. */
Text table_counts(const Emitter *emitter);

#endif
