/* SPDX-License-Identifier: Apache-2.0
 * Templates are real C files: a line `//@ name` is replaced by the section of that name,
 * identifiers that begin with model_ or MODEL_ take the model's prefix. */
#ifndef INLAY_EMIT_TEMPLATE_H
#define INLAY_EMIT_TEMPLATE_H

#include "emit/text.h"

typedef struct Section {
    const char *name;
    Text text;
} Section;

/* The template built in as `file`, with its n sections filled in; each must be used, and none may
 * be missing (asserted). */
Text template_fill(Arena *arena, const char *file, const char *model, const Section *section,
                   int n);

#endif
