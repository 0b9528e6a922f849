/* SPDX-License-Identifier: Apache-2.0
 * The one owner of memory: a growing list of blocks, freed as a whole.
 * Everything a compile allocates lives here; nothing is freed on its own.
 *
 * What is large has a block of its own, straight from the system: it takes pages only where it is
 * written, grows without being copied, and goes back at once when it is released. */
#ifndef INLAY_BASE_ARENA_H
#define INLAY_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena Arena;
struct Arena {
    ArenaBlock *block; /* of small things, newest first */
    ArenaBlock *large; /* of one large thing each, newest first */
    /* released large ones, a few MiB at most, kept for the next window */
    ArenaBlock *spare;
    uint64_t serial; /* blocks ever made */
    uint64_t in_use; /* bytes held now, spare ones among them */
    uint64_t spared;
    uint64_t peak;       /* most bytes held at once, with those of `beside` */
    uint64_t total;      /* bytes ever asked of the system */
    uint64_t budget;     /* limit of in_use, with that of `beside`; 0: none */
    const Arena *beside; /* counts as well; may be NULL */
    /* what the memory is for, for the message; may be NULL */
    const char *doing;
};

/* A place to return to: all that was allocated after it is released at once. */
typedef struct ArenaMark {
    uint64_t serial; /* blocks made by then */
    size_t used;     /* of the newest small one */
} ArenaMark;

/* Zeroed memory, aligned for any type; never NULL: out of memory ends in fail_memory(). */
void *arena_alloc(Arena *arena, size_t bytes);
void *arena_array(Arena *arena, size_t count, size_t size);
/* For buffers that are written before they are read: whatever was there. */
void *arena_buffer(Arena *arena, size_t bytes);
void *arena_copy(Arena *arena, const void *from, size_t bytes);
/* Makes what was allocated as `from` bytes (NULL: nothing) `to` bytes long, at least as many as
 * before. It may move, the new bytes hold whatever was there, and a release to a mark made before
 * now may take it. */
void *arena_grow(Arena *arena, void *p, size_t from, size_t to);
/* Gives back early what was allocated as so many bytes, if it can: what is large, and what was
 * allocated last. */
void arena_drop(Arena *arena, void *p, size_t bytes);
/* A copy ending in NUL. */
char *arena_text(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

ArenaMark arena_mark(const Arena *arena);
void arena_release(Arena *arena, ArenaMark mark);
/* Gives back what waits for the next window: another kind of work begins. */
void arena_give_back(Arena *arena);
void arena_free(Arena *arena);

#define NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define NEW_ARRAY(arena, type, count) \
    ((type *)arena_array((arena), (size_t)(count), sizeof(type)))

#endif
