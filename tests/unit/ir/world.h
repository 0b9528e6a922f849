/* SPDX-License-Identifier: Apache-2.0
 * A store of constants, and its memory. */
#ifndef UNIT_IR_WORLD_H
#define UNIT_IR_WORLD_H

#include "ir/recipe.h"

typedef struct World {
    Arena arena;
    Store store;
} World;

static inline Store *open_world(World *world)
{
    *world = (World){ .store = { .window = 3 * 4096 } };
    world->store.arena = &world->arena;
    return &world->store;
}

static inline void close_world(World *world)
{
    file_close_all(&world->arena);
    arena_free(&world->store.scratch);
    arena_free(&world->arena);
}

#endif
