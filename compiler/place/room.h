/* SPDX-License-Identifier: Apache-2.0
 * A memory without end as the gaps between what is taken, in order, in blocks that know their
 * largest gap: finding, taking and freeing cost about the square root of the number of gaps. */
#ifndef INLAY_PLACE_ROOM_H
#define INLAY_PLACE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct Room Room;

Room *room_new(Arena *arena);
/* The lowest multiple of `align` from `from` on with `size` free units behind it. */
int64_t room_find(const Room *room, int64_t size, int64_t align, int64_t from);
/* The first free range within [low, high); false: there is none. */
bool room_next(const Room *room, int64_t low, int64_t high, int64_t *from,
               int64_t *to);
/* A range that is free. */
void room_take(Room *room, int64_t low, int64_t high);
/* A range that is taken. */
void room_free(Room *room, int64_t low, int64_t high);

#endif
