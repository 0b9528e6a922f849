/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/size.h"
#include "base/watched.h"

enum {
    FIRST_BLOCK = 16 * 1024,
    LARGEST_BLOCK = 256 * 1024,
    LARGE = 64 * 1024,
    MOST_SPARE = 3136 * 1024, /* a window of weights and its head */
    MUCH = 1024 * 1024,       /* what grows so far has no use for spare ones */
    ALIGN = 16
};

struct ArenaBlock {
    ArenaBlock *older, *newer; /* newer: of large ones only */
    Arena *owner;
    uint64_t serial;
    size_t used, size;
    _Alignas(ALIGN) unsigned char bytes[];
};

/* What is taken for a piece of so many bytes. */
static size_t rounded(size_t bytes)
{
    return size_align(size_add(bytes ? bytes : 1, RED_ZONE), ALIGN);
}

static size_t whole(size_t size)
{
    return size_add(size, sizeof(ArenaBlock));
}

static void free_block(Arena *arena, ArenaBlock *block)
{
    arena->in_use -= whole(block->size);
    free(block);
}

/* Released blocks wait for the next of their kind: windows come and go, and fresh pages cost time.
 */
static void let_go(Arena *arena, ArenaBlock *block)
{
    if (arena->spared + block->size > MOST_SPARE) {
        free_block(arena, block);
        return;
    }
    hide(block->bytes, block->size);
    block->older = arena->spare;
    arena->spare = block;
    arena->spared += block->size;
}

/* The smallest spare block of at least so many bytes that does not waste as many again; NULL: none.
 */
static ArenaBlock *take_spare(Arena *arena, size_t bytes)
{
    ArenaBlock **best = NULL;
    for (ArenaBlock **at = &arena->spare; *at; at = &(*at)->older)
        if ((*at)->size >= bytes && (*at)->size / 2 <= bytes &&
            (!best || (*at)->size < (*best)->size))
            best = at;
    if (!best)
        return NULL;
    ArenaBlock *block = *best;
    *best = block->older;
    arena->spared -= block->size;
    return block;
}

void arena_give_back(Arena *arena)
{
    while (arena->spare) {
        ArenaBlock *block = arena->spare;
        arena->spare = block->older;
        free_block(arena, block);
    }
    arena->spared = 0;
}

static uint64_t held(const Arena *arena)
{
    return arena->in_use + (arena->beside ? arena->beside->in_use : 0);
}

static void check_budget(Arena *arena, uint64_t bytes)
{
    if (arena->budget && held(arena) + bytes > arena->budget)
        arena_give_back(arena);
    if (!arena->budget || held(arena) + bytes <= arena->budget)
        return;
    fail_at(STATUS_MEMORY, LOC_NONE, "raise --max-memory",
            "%s needs %llu bytes more than the %llu in use; the memory budget "
            "is %llu",
            arena->doing ? arena->doing : "the compiler",
            (unsigned long long)bytes, (unsigned long long)held(arena),
            (unsigned long long)arena->budget);
}

static void count(Arena *arena, uint64_t bytes)
{
    arena->total += bytes;
    arena->in_use += bytes;
    arena->peak = held(arena) > arena->peak ? held(arena) : arena->peak;
}

/* A block in no list. Fresh memory that is asked for as zero is not touched. */
static ArenaBlock *make_block(Arena *arena, size_t size, bool zero)
{
    ArenaBlock *block = take_spare(arena, size);
    if (block) {
        show(block->bytes, block->size);
        if (zero)
            memset(block->bytes, 0, size);
    } else {
        const size_t bytes = whole(size);
        check_budget(arena, bytes);
        block = zero ? calloc(1, bytes) : malloc(bytes);
        if (!block)
            fail_memory(bytes, "the system has no more memory");
        block->size = size;
        count(arena, bytes);
    }
    block->older = block->newer = NULL;
    block->used = 0;
    block->serial = ++arena->serial;
    block->owner = arena;
    return block;
}

/* Blocks double, from the first to the largest. */
static size_t usual_size(const Arena *arena)
{
    if (!arena->block)
        return FIRST_BLOCK;
    const size_t before = arena->block->size;
    return before < LARGEST_BLOCK ? before * 2 : LARGEST_BLOCK;
}

static void add_block(Arena *arena, size_t bytes)
{
    const size_t size = usual_size(arena);
    ArenaBlock *b = make_block(arena, size < bytes ? bytes : size, false);
    hide(b->bytes, b->size);
    b->older = arena->block;
    arena->block = b;
}

/* --- large ones --- */

static ArenaBlock *block_of(void *p)
{
    return (ArenaBlock *)(void *)((unsigned char *)p -
                                  offsetof(ArenaBlock, bytes));
}

/* Of a block that is one piece of so many bytes. */
static void *show_piece(ArenaBlock *block, size_t bytes)
{
    show(block->bytes, bytes);
    hide(block->bytes + bytes, block->size - bytes);
    return block->bytes;
}

static void *add_large(Arena *arena, size_t bytes, bool zero)
{
    ArenaBlock *block = make_block(arena, rounded(bytes), zero);
    block->older = arena->large;
    if (arena->large)
        arena->large->newer = block;
    arena->large = block;
    return show_piece(block, bytes);
}

/* Its neighbours in the list are to point at block, or past it. */
static void relink(Arena *arena, const ArenaBlock *block, ArenaBlock *as_newer,
                   ArenaBlock *as_older)
{
    if (block->newer)
        block->newer->older = as_older;
    else
        arena->large = as_older;
    if (block->older)
        block->older->newer = as_newer;
}

static void drop_large(ArenaBlock *block)
{
    Arena *arena = block->owner;
    relink(arena, block, block->newer, block->older);
    let_go(arena, block);
}

static void *grow_large(ArenaBlock *block, size_t bytes)
{
    Arena *arena = block->owner;
    const size_t to = rounded(bytes);
    if (to <= block->size)
        return show_piece(block, bytes);
    const size_t more = to - block->size;
    if (more > MUCH)
        arena_give_back(arena);
    check_budget(arena, more);
    ArenaBlock *moved = realloc(block, whole(to));
    if (!moved)
        fail_memory(more, "the system has no more memory");
    relink(arena, moved, moved, moved);
    moved->size = to;
    count(arena, more);
    return show_piece(moved, bytes);
}

/* --- all --- */

static void *take(Arena *arena, size_t bytes, bool zero)
{
    const size_t need = rounded(bytes);
    if (need >= LARGE)
        return add_large(arena, bytes, zero);
    ArenaBlock *b = arena->block;
    if (b)
        b->used =
            (b->used + ALIGN - 1) &
            ~(size_t)(ALIGN - 1); /* sizes of blocks are multiples of it */
    if (!b || b->size - b->used < need)
        add_block(arena, need);
    b = arena->block;
    void *p = b->bytes + b->used;
    b->used += need;
    show(p, bytes);
    return zero ? memset(p, 0, bytes) : p;
}

void *arena_alloc(Arena *arena, size_t bytes)
{
    return take(arena, bytes, true);
}
void *arena_buffer(Arena *arena, size_t bytes)
{
    return take(arena, bytes, false);
}

void *arena_array(Arena *arena, size_t count, size_t size)
{
    return arena_alloc(arena, size_mul(count, size));
}

void *arena_copy(Arena *arena, const void *from, size_t bytes)
{
    void *p = arena_buffer(arena, bytes);
    return bytes ? memcpy(p, from, bytes) : p;
}

/* Is it the last that was allocated of the newest block? */
static bool is_last(const Arena *arena, const void *p, size_t bytes)
{
    return arena->block && (const unsigned char *)p + rounded(bytes) ==
                               arena->block->bytes + arena->block->used;
}

void *arena_grow(Arena *arena, void *p, size_t from, size_t to)
{
    if (p && rounded(from) >= LARGE)
        return grow_large(block_of(p), to);
    if (p && rounded(to) < LARGE && is_last(arena, p, from) &&
        arena->block->size - arena->block->used >=
            rounded(to) - rounded(from)) {
        arena->block->used += rounded(to) - rounded(from);
        show(p, to);
        return p;
    }
    void *moved = arena_buffer(arena, to);
    if (p)
        memcpy(moved, p, from);
    return moved;
}

/* What the block has beyond so many bytes is free again. */
static void cut_back(ArenaBlock *block, size_t used)
{
    if (used < block->used)
        hide(block->bytes + used, block->used - used);
    block->used = used;
}

void arena_drop(Arena *arena, void *p, size_t bytes)
{
    if (!p)
        return;
    if (rounded(bytes) >= LARGE)
        drop_large(block_of(p));
    else if (is_last(arena, p, bytes))
        cut_back(arena->block, arena->block->used - rounded(bytes));
}

char *arena_text(Arena *arena, const char *text, size_t length)
{
    ArenaBlock *b = arena->block;
    char *p;
    if (b &&
        b->size - b->used >
            length) { /* text needs no alignment: names of a large graph lie closely */
        p = (char *)b->bytes + b->used;
        b->used += length + 1;
        show(p, length + 1);
    } else {
        p = arena_alloc(arena, size_add(length, 1));
    }
    if (length)
        memcpy(p, text, length);
    p[length] = 0;
    return p;
}

char *arena_vprintf(Arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    if (n < 0)
        fail_memory(0, "a text cannot be formatted");
    char *p = arena_alloc(arena, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return p;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *p = arena_vprintf(arena, format, args);
    va_end(args);
    return p;
}

ArenaMark arena_mark(const Arena *arena)
{
    return (ArenaMark){ arena->serial, arena->block ? arena->block->used : 0 };
}

void arena_release(Arena *arena, ArenaMark mark)
{
    while (arena->large && arena->large->serial > mark.serial)
        drop_large(arena->large);
    while (arena->block && arena->block->serial > mark.serial) {
        ArenaBlock *b = arena->block;
        arena->block = b->older;
        let_go(arena, b);
    }
    if (arena->block)
        cut_back(arena->block, mark.used);
}

void arena_free(Arena *arena)
{
    arena_release(arena, (ArenaMark){ 0 });
    arena_give_back(arena);
}
