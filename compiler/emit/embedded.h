/* SPDX-License-Identifier: Apache-2.0
 * Text files built into the compiler: the runtime's headers and the templates. */
#ifndef INLAY_EMIT_EMBEDDED_H
#define INLAY_EMIT_EMBEDDED_H

#include <stddef.h>

typedef struct EmbeddedFile {
    const char *name, *text;
    size_t length;
} EmbeddedFile;

/* Ended by a NULL name. */
extern const EmbeddedFile runtime_files[];
extern const EmbeddedFile template_files[];

#endif
