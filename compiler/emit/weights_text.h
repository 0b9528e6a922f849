/* SPDX-License-Identifier: Apache-2.0
 * NAME_weights.c: the blob as an array of words, or a few lines that include its file. */
#ifndef INLAY_EMIT_WEIGHTS_TEXT_H
#define INLAY_EMIT_WEIGHTS_TEXT_H

#include "base/io.h"
#include "ir/program.h"

/* An array whose elements are right on machines of either byte order; `blob` is complete. */
void weights_text(const Program *program, Output *output, const char *name,
                  File *blob);
/* NAME_constants.h: Program.code as an array of the same kind, for NAME.c alone. */
void weights_constants(const Program *program, Output *output,
                       const char *name);
/* For gcc and clang: the assembler includes NAME_weights.bin, `blob`, which build systems do not
 * see; so the text has its checksum. */
void weights_incbin(const Program *program, Output *output, const char *name,
                    File *blob);

#endif
