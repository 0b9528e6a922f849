/* SPDX-License-Identifier: Apache-2.0
 * Inputs and results in the generated code: their structures, their places, and the base pointers
 * of a run. */
#ifndef INLAY_EMIT_INTERFACE_H
#define INLAY_EMIT_INTERFACE_H

#include "emit/source.h"
#include "emit/text.h"

typedef struct Emitter {
    Arena *arena;
    const Program *p;
    const char *name, *upper;
    WeightsForm form;
    int *params_of, *refs_of; /* by step: the numbers of its parameter structure and its operands
                                 (equal ones are shared) */
} Emitter;

static inline bool has_weights(const Emitter *emitter)
{
    return emitter->p->weight_bytes != 0;
}
/* Are they linked into the program? */
static inline bool has_symbol(const Emitter *emitter)
{
    return has_weights(emitter) && emitter->form != WEIGHTS_BIN;
}

/* Macros of the header: bytes of the arena, or of each region and the structure of their pointers.
 */
void interface_arena(Text *text, const Emitter *emitter);
/* The type of the parameter `arena` before the name. */
const char *interface_arena_type(const Emitter *emitter);
/* The statements that fill `base` from it. */
void interface_arena_bases(Text *text, const Emitter *emitter);
/* Macros of the header: where inputs and results that lie in the arena begin. */
void interface_offsets(Text *text, const Emitter *emitter);
/* NAME_inputs, NAME_outputs and what a caller must know of them. */
Text interface_structs(const Emitter *emitter);
/* Checks what the caller gave and fills `base`. */
Text interface_bases(const Emitter *emitter);

#endif
