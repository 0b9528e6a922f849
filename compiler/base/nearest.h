/* SPDX-License-Identifier: Apache-2.0
 * Of the names that exist, the one that was probably meant. */
#ifndef INLAY_BASE_NEAREST_H
#define INLAY_BASE_NEAREST_H

#include "base/arena.h"

/* The one of `names` (ended by NULL) that few changed letters separate from `text`; NULL: none. */
const char *nearest(const char *text, const char *const *names);
/* Ends with 64, on the command line a name that does not exist: `message` is the error, the help
 * names the nearest one or all. */
_Noreturn void fail_unknown(Arena *arena, const char *message, const char *text,
                            const char *const *names);

#endif
