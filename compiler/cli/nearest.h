/* SPDX-License-Identifier: Apache-2.0
 * A name that does not exist, and the one that was probably meant. */
#ifndef INLAY_CLI_NEAREST_H
#define INLAY_CLI_NEAREST_H

#include "base/arena.h"

/* The one of `names` (ended by NULL) that few changed letters separate from `text`; NULL: none. */
const char *nearest(const char *text, const char *const *names);
/* Ends with 64: `message` is the error, the help names the nearest or all. */
_Noreturn void fail_unknown(Arena *a, const char *message, const char *text,
                            const char *const *names);

#endif
