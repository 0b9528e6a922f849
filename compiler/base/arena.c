/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/size.h"

enum {
    FIRST_BLOCK = 16 * 1024,
    LARGEST_BLOCK = 256 * 1024,
    LARGE = 64 * 1024,
    MOST_SPARE = 4 * 1024 * 1024,
    ALIGN = 16
};

struct ArenaBlock {
    ArenaBlock *older, *newer; /* newer: of large ones only */
    Arena *owner;
    uint64_t serial;
    size_t used, size;
    _Alignas(ALIGN) unsigned char bytes[];
};

static size_t whole(size_t size)
{
    return size_add(size, sizeof(ArenaBlock));
}

static void free_block(Arena *a, ArenaBlock *b)
{
    a->in_use -= whole(b->size);
    free(b);
}

/* Released blocks wait for the next of their kind: windows come and go, and fresh pages cost time.
 */
static void let_go(Arena *a, ArenaBlock *b)
{
    if (a->spared + b->size > MOST_SPARE) {
        free_block(a, b);
        return;
    }
    b->older = a->spare;
    a->spare = b;
    a->spared += b->size;
}

/* The smallest spare block of at least so many bytes that does not waste as many again; NULL: none.
 */
static ArenaBlock *take_spare(Arena *a, size_t bytes)
{
    ArenaBlock **best = NULL;
    for (ArenaBlock **at = &a->spare; *at; at = &(*at)->older)
        if ((*at)->size >= bytes && (*at)->size / 2 <= bytes &&
            (!best || (*at)->size < (*best)->size))
            best = at;
    if (!best)
        return NULL;
    ArenaBlock *b = *best;
    *best = b->older;
    a->spared -= b->size;
    return b;
}

static void free_spare(Arena *a)
{
    while (a->spare) {
        ArenaBlock *b = a->spare;
        a->spare = b->older;
        free_block(a, b);
    }
    a->spared = 0;
}

static uint64_t held(const Arena *a)
{
    return a->in_use + (a->beside ? a->beside->in_use : 0);
}

static void check_budget(Arena *a, uint64_t bytes)
{
    if (a->budget && held(a) + bytes > a->budget)
        free_spare(a);
    if (!a->budget || held(a) + bytes <= a->budget)
        return;
    fail_at(STATUS_MEMORY, LOC_NONE, "raise --max-memory",
            "%s needs %llu bytes more than the %llu in use; the memory budget is %llu",
            a->doing ? a->doing : "the compiler", (unsigned long long)bytes,
            (unsigned long long)held(a), (unsigned long long)a->budget);
}

static void count(Arena *a, uint64_t bytes)
{
    a->total += bytes;
    a->in_use += bytes;
    a->peak = held(a) > a->peak ? held(a) : a->peak;
}

/* A block in no list. Fresh memory that is asked for as zero is not touched. */
static ArenaBlock *make_block(Arena *a, size_t size, bool zero)
{
    ArenaBlock *b = take_spare(a, size);
    if (b) {
        if (zero)
            memset(b->bytes, 0, size);
    } else {
        const size_t bytes = whole(size);
        check_budget(a, bytes);
        b = zero ? calloc(1, bytes) : malloc(bytes);
        if (!b)
            fail_memory(bytes, "the system has no more memory");
        b->size = size;
        count(a, bytes);
    }
    b->older = b->newer = NULL;
    b->used = 0;
    b->serial = ++a->serial;
    b->owner = a;
    return b;
}

static void add_block(Arena *a, size_t bytes)
{
    const size_t size = !a->block                        ? FIRST_BLOCK
                        : a->block->size < LARGEST_BLOCK ? a->block->size * 2
                                                         : LARGEST_BLOCK;
    ArenaBlock *b = make_block(a, size < bytes ? bytes : size, false);
    b->older = a->block;
    a->block = b;
}

/* --- large ones --- */

static ArenaBlock *block_of(void *p)
{
    return (ArenaBlock *)(void *)((unsigned char *)p - offsetof(ArenaBlock, bytes));
}

static void *add_large(Arena *a, size_t bytes, bool zero)
{
    ArenaBlock *b = make_block(a, bytes, zero);
    b->older = a->large;
    if (a->large)
        a->large->newer = b;
    a->large = b;
    return b->bytes;
}

/* Its neighbours in the list are to point at b, or past it. */
static void relink(Arena *a, const ArenaBlock *b, ArenaBlock *as_newer, ArenaBlock *as_older)
{
    if (b->newer)
        b->newer->older = as_older;
    else
        a->large = as_older;
    if (b->older)
        b->older->newer = as_newer;
}

static void drop_large(ArenaBlock *b)
{
    Arena *a = b->owner;
    relink(a, b, b->newer, b->older);
    let_go(a, b);
}

static void *grow_large(ArenaBlock *b, size_t to)
{
    Arena *a = b->owner;
    if (to <= b->size)
        return b->bytes;
    const size_t more = to - b->size;
    check_budget(a, more);
    ArenaBlock *moved = realloc(b, whole(to));
    if (!moved)
        fail_memory(more, "the system has no more memory");
    relink(a, moved, moved, moved);
    moved->size = to;
    count(a, more);
    return moved->bytes;
}

/* --- all --- */

static size_t rounded(size_t bytes)
{
    return size_align(bytes ? bytes : 1, ALIGN);
}

static void *take(Arena *a, size_t bytes, bool zero)
{
    const size_t need = rounded(bytes);
    if (need >= LARGE)
        return add_large(a, need, zero);
    ArenaBlock *b = a->block;
    if (b)
        b->used =
            (b->used + ALIGN - 1) & ~(size_t)(ALIGN - 1); /* sizes of blocks are multiples of it */
    if (!b || b->size - b->used < need)
        add_block(a, need);
    b = a->block;
    void *p = b->bytes + b->used;
    b->used += need;
    return zero ? memset(p, 0, need) : p;
}

void *arena_alloc(Arena *a, size_t bytes)
{
    return take(a, bytes, true);
}
void *arena_buffer(Arena *a, size_t bytes)
{
    return take(a, bytes, false);
}

void *arena_array(Arena *a, size_t count, size_t size)
{
    return arena_alloc(a, size_mul(count, size));
}

void *arena_copy(Arena *a, const void *from, size_t bytes)
{
    void *p = arena_buffer(a, bytes);
    return bytes ? memcpy(p, from, bytes) : p;
}

/* Is it the last that was allocated of the newest block? */
static bool is_last(const Arena *a, const void *p, size_t bytes)
{
    return a->block &&
           (const unsigned char *)p + rounded(bytes) == a->block->bytes + a->block->used;
}

void *arena_grow(Arena *a, void *p, size_t from, size_t to)
{
    if (p && rounded(from) >= LARGE)
        return grow_large(block_of(p), rounded(to));
    if (p && rounded(to) < LARGE && is_last(a, p, from) &&
        a->block->size - a->block->used >= rounded(to) - rounded(from)) {
        a->block->used += rounded(to) - rounded(from);
        return p;
    }
    void *moved = arena_buffer(a, to);
    if (p)
        memcpy(moved, p, from);
    return moved;
}

void arena_drop(Arena *a, void *p, size_t bytes)
{
    if (!p)
        return;
    if (rounded(bytes) >= LARGE)
        drop_large(block_of(p));
    else if (is_last(a, p, bytes))
        a->block->used -= rounded(bytes);
}

char *arena_text(Arena *a, const char *text, size_t length)
{
    ArenaBlock *b = a->block;
    char *p;
    if (b && b->size - b->used >
                 length) { /* text needs no alignment: names of a large graph lie closely */
        p = (char *)b->bytes + b->used;
        b->used += length + 1;
    } else {
        p = arena_alloc(a, size_add(length, 1));
    }
    if (length)
        memcpy(p, text, length);
    p[length] = 0;
    return p;
}

char *arena_vprintf(Arena *a, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    if (n < 0)
        fail_memory(0, "a text cannot be formatted");
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return p;
}

char *arena_printf(Arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *p = arena_vprintf(a, format, args);
    va_end(args);
    return p;
}

ArenaMark arena_mark(const Arena *a)
{
    return (ArenaMark){ a->serial, a->block ? a->block->used : 0 };
}

void arena_release(Arena *a, ArenaMark mark)
{
    while (a->large && a->large->serial > mark.serial)
        drop_large(a->large);
    while (a->block && a->block->serial > mark.serial) {
        ArenaBlock *b = a->block;
        a->block = b->older;
        let_go(a, b);
    }
    if (a->block)
        a->block->used = mark.used;
}

void arena_free(Arena *a)
{
    arena_release(a, (ArenaMark){ 0 });
    free_spare(a);
}
