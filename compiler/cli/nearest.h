/* SPDX-License-Identifier: Apache-2.0
 * The end of a command line that has a name which does not exist. */
#ifndef INLAY_CLI_NEAREST_H
#define INLAY_CLI_NEAREST_H

#include "base/arena.h"
#include "base/nearest.h"

/* Ends with 64: `message` is the error, the help names the nearest or all. */
_Noreturn void fail_unknown(Arena *arena, const char *message, const char *text,
                            const char *const *names);

#endif
