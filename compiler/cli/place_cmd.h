/* SPDX-License-Identifier: Apache-2.0
 * Offsets for a problem in MiniMalloc's CSV form: the offset solver by itself. */
#ifndef INLAY_CLI_PLACE_CMD_H
#define INLAY_CLI_PLACE_CMD_H

#include <stdint.h>

#include "base/pieces.h"

/* Tenths of the usual work are done. The file's rows with their offsets go to `out`. With a
 * capacity (negative: none) it is the height to keep: status 1 and no rows if it cannot be kept, or
 * is not kept within the budget. Else the least height is sought. A malformed file is status 65, a
 * missing one 66. */
void place_file(Arena *arena, const char *path, int64_t capacity,
                int64_t tenths, Sink out);

#endif
