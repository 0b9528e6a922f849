/* SPDX-License-Identifier: Apache-2.0
 * A growing array in an arena: VEC(T) holds {T *at; size_t n, room}.
 * Growing moves it: a pointer to an element lasts until the next VEC_PUSH. */
#ifndef INLAY_BASE_VEC_H
#define INLAY_BASE_VEC_H

#include <string.h>

#include "base/arena.h"
#include "base/size.h"

#define VEC(T) \
    struct { \
        T *at; \
        size_t n, room; \
    }

#define VEC_PUSH(arena, v, value) \
    do { \
        if ((v)->n == (v)->room) \
            (v)->at = vec_grow((arena), (v)->at, &(v)->room, sizeof *(v)->at); \
        (v)->at[(v)->n++] = (value); \
    } while (0)

static inline void *vec_grow(Arena *arena, void *old, size_t *room, size_t size)
{
    const size_t before = *room;
    *room = before ? before * 2 : 8;
    return arena_grow(arena, before ? old : NULL, before * size,
                      size_mul(*room, size));
}

#endif
