/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_memory.h"

#include <assert.h>
#include <jansson.h>

static _Thread_local Arena *memory;

static void *take(size_t bytes)
{
    assert(memory);
    return arena_buffer(memory, bytes);
}

static void give_back(void *p)
{
    (void)p;
}

void json_memory_use(Arena *arena)
{
    memory = arena;
    json_set_alloc_funcs(take, give_back);
}

Arena *json_memory(void)
{
    return memory;
}
