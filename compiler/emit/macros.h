/* SPDX-License-Identifier: Apache-2.0
 * Macros of the generated header: sizes, shapes, scales and names, for programs and tools. */
#ifndef INLAY_EMIT_MACROS_H
#define INLAY_EMIT_MACROS_H

#include "emit/emitter.h"

/* Bytes of the arena, or of each region, and of the weights; RAM; what the code was made from; and
 * where inputs and results that lie in the arena begin. */
Text macros_sizes(const Emitter *emitter);
/* Bytes, elements and dimensions of each value, scale and zero point of integers. */
Text macros_facts(const Emitter *emitter);
/* Is a value of the model words? */
bool has_labels(const Emitter *emitter);
/* The words that integers of inputs and results are codes of. */
Text macros_labels(const Emitter *emitter);
/* Of the input that comes row by row. */
Text macros_rows(const Emitter *emitter);
/* Of a run that is cut into slices, and of one that threads share. */
Text macros_units(const Emitter *emitter);
Text macros_threads(const Emitter *emitter);

#endif
