/* SPDX-License-Identifier: Apache-2.0
 * A growing array in an arena: VEC(T) holds {T *at; size_t n, room}.
 * Old storage stays in the arena, so growth costs at most twice the final size. */
#ifndef INLAY_BASE_VEC_H
#define INLAY_BASE_VEC_H

#include <string.h>

#include "base/arena.h"

#define VEC(T) struct { T *at; size_t n, room; }

#define VEC_PUSH(arena, v, value) do { \
        if ((v)->n == (v)->room) (v)->at = vec_grow((arena), (v)->at, (v)->n, &(v)->room, sizeof *(v)->at); \
        (v)->at[(v)->n++] = (value); \
    } while (0)

static inline void *vec_grow(Arena *a, const void *old, size_t n, size_t *room, size_t size)
{
    *room = *room ? *room * 2 : 8;
    void *at = arena_array(a, *room, size);
    if (n) memcpy(at, old, n * size);
    return at;
}

#endif
