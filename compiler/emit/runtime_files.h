/* SPDX-License-Identifier: Apache-2.0
 * The runtime's headers that a program needs, and their names in the output. */
#ifndef INLAY_EMIT_RUNTIME_FILES_H
#define INLAY_EMIT_RUNTIME_FILES_H

#include "base/io.h"
#include "emit/emitter.h"

/* The #include lines of NAME.c, each file once, and before them what the headers are told. */
Text runtime_includes(const Emitter *emitter);
/* Copies those files, and what they include, into src/. */
void runtime_copy(const Emitter *emitter, Output *output);

#endif
