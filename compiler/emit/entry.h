/* SPDX-License-Identifier: Apache-2.0
 * The functions of the generated code: NAME_run(), or those that take an input row by row. */
#ifndef INLAY_EMIT_ENTRY_H
#define INLAY_EMIT_ENTRY_H

#include "emit/interface.h"

/* Of the header: prototypes, and where the weights come from. */
Text entry_declarations(const Emitter *emitter);
/* Of the source: by what the weights are known. */
void entry_seal(Text *text, const Emitter *emitter);
/* Of the source: the head of the function that does the work, its last statement, and the functions
 * around it. */
Text entry_head(const Emitter *emitter);
Text entry_call(const Emitter *emitter);
Text entry_functions(const Emitter *emitter);

#endif
