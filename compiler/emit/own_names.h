/* SPDX-License-Identifier: Apache-2.0
 * What a generated source file calls its own tables and functions. Where several models share one
 * source file, each model's get its name behind theirs. */
#ifndef INLAY_EMIT_OWN_NAMES_H
#define INLAY_EMIT_OWN_NAMES_H

#include "emit/text.h"

/* The C text of a model with `steps` as `steps_of_kws`, `params0` as `params0_of_kws` and so on.
 * Comments, strings and members of structures stay as they are. */
Text own_names(Arena *arena, const Text *text, const char *model);

#endif
