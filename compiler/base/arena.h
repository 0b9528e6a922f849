/* SPDX-License-Identifier: Apache-2.0
 * The one owner of memory: a growing list of blocks, freed as a whole.
 * Everything a compile allocates lives here; nothing is freed on its own. */
#ifndef INLAY_BASE_ARENA_H
#define INLAY_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena Arena;
struct Arena {
    ArenaBlock *block;      /* newest first */
    ArenaBlock *spare;      /* released, a few MiB at most, kept for the next window */
    uint64_t in_use;        /* bytes held now, spare ones among them */
    uint64_t spared;
    uint64_t peak;          /* most bytes held at once, with those of `beside` */
    uint64_t total;         /* bytes ever asked of the system */
    uint64_t budget;        /* limit of in_use, with that of `beside`; 0: none */
    const Arena *beside;    /* counts as well; may be NULL */
    const char *doing;      /* what the memory is for, for the message; may be NULL */
};

/* A place to return to: all that was allocated after it is released at once. */
typedef struct ArenaMark {
    ArenaBlock *block;
    size_t used;
} ArenaMark;

/* Zeroed memory, aligned for any type; never NULL: out of memory ends in fail_memory(). */
void *arena_alloc(Arena *a, size_t bytes);
void *arena_array(Arena *a, size_t count, size_t size);
void *arena_copy(Arena *a, const void *from, size_t bytes);
/* A copy ending in NUL. */
char *arena_text(Arena *a, const char *text, size_t length);
char *arena_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

ArenaMark arena_mark(const Arena *a);
void arena_release(Arena *a, ArenaMark mark);
void arena_free(Arena *a);

#define NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define NEW_ARRAY(arena, type, count) ((type *)arena_array((arena), (size_t)(count), sizeof(type)))

#endif
