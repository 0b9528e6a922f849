/* SPDX-License-Identifier: Apache-2.0
 * jansson takes its memory from an arena, as everything does. It is never told that there is none:
 * that ends the compile with status 71, so nothing of jansson runs on a failed allocation, and what
 * it had made goes with the arena. */
#ifndef INLAY_BASE_JSON_MEMORY_H
#define INLAY_BASE_JSON_MEMORY_H

#include "base/arena.h"

/* From now on jansson's memory in this thread is of arena `a`, which may be released as a whole
 * once the values are no longer used; giving a value back early frees nothing. NULL: JSON may not
 * be used. */
void json_memory_use(Arena *arena);
/* That arena. */
Arena *json_memory(void);

#endif
