/* SPDX-License-Identifier: Apache-2.0
 * Memory, inputs and results in the generated code: members of the header, macros of states, and
 * the statements that take them all from the caller. */
#ifndef INLAY_EMIT_INTERFACE_H
#define INLAY_EMIT_INTERFACE_H

#include "emit/emitter.h"

/* ---- of the header ---- */

/* Members of NAME_arenas, NAME_inputs, NAME_outputs. */
Text interface_arenas(const Emitter *emitter);
Text interface_inputs(const Emitter *emitter);
Text interface_outputs(const Emitter *emitter);
/* Does anything survive from run to run? Macros that say where, and the statements that begin anew.
 */
bool has_states(const Emitter *emitter);
Text interface_states(const Emitter *emitter);
Text interface_reset(const Emitter *emitter);
/* Does one lie in the arena that is written before a run? Does a result? */
bool inputs_inside(const Emitter *emitter);
bool outputs_inside(const Emitter *emitter);

/* ---- of the source ---- */

/* Is there an input or output in a buffer of the caller? */
bool has_buffers(const Emitter *emitter);
/* Room on the stack for real dimensions that the caller does not ask for. */
Text interface_dims(const Emitter *emitter);
/* What the parameter `arena` points to. */
const char *interface_memory(const Emitter *emitter);
/* Statements: each region's pointer, and those of inputs and outputs. */
Text interface_regions(const Emitter *emitter);
Text interface_values(const Emitter *emitter);
/* The pointers to the weights of other models. */
Text interface_lenders(const Emitter *emitter);

#endif
