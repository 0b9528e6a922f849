/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/size.h"

enum { FIRST_BLOCK = 16 * 1024, LARGEST_BLOCK = 1024 * 1024, MOST_SPARE = 4 * 1024 * 1024, ALIGN = 16 };

struct ArenaBlock {
    ArenaBlock *older;
    size_t used, size;
    _Alignas(ALIGN) unsigned char bytes[];
};

static void free_block(Arena *a, ArenaBlock *b)
{
    a->in_use -= b->size + sizeof(ArenaBlock);
    free(b);
}

/* A released block of at least so many bytes, taken from the list; NULL: none. */
static ArenaBlock *take_spare(Arena *a, size_t bytes)
{
    for (ArenaBlock **at = &a->spare; *at; at = &(*at)->older) {
        ArenaBlock *b = *at;
        if (b->size < bytes) continue;
        *at = b->older;
        a->spared -= b->size;
        b->used = 0;
        b->older = a->block;
        a->block = b;
        return b;
    }
    return NULL;
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

static uint64_t held(const Arena *a) { return a->in_use + (a->beside ? a->beside->in_use : 0); }

static _Noreturn void fail_budget(const Arena *a, uint64_t bytes)
{
    fail_at(STATUS_MEMORY, LOC_NONE, "raise --max-memory", "%s needs %llu bytes more than the %llu in use; the memory budget is %llu",
            a->doing ? a->doing : "the compiler", (unsigned long long)bytes, (unsigned long long)held(a), (unsigned long long)a->budget);
}

static ArenaBlock *add_block(Arena *a, size_t bytes)
{
    size_t size = a->block ? a->block->size * 2 : FIRST_BLOCK;
    size = size > LARGEST_BLOCK ? LARGEST_BLOCK : size;
    size = size < bytes ? bytes : size;
    ArenaBlock *spare = take_spare(a, size);
    if (spare) return spare;
    const size_t whole = size_add(size, sizeof(ArenaBlock));
    if (a->budget && held(a) + whole > a->budget) free_spare(a);
    if (a->budget && held(a) + whole > a->budget) fail_budget(a, whole);
    ArenaBlock *b = malloc(whole);
    if (!b) fail_memory(whole, "the system has no more memory");
    *b = (ArenaBlock){ .older = a->block, .size = size };
    a->block = b;
    a->total += whole;
    a->in_use += whole;
    a->peak = held(a) > a->peak ? held(a) : a->peak;
    return b;
}

void *arena_alloc(Arena *a, size_t bytes)
{
    const size_t need = size_align(bytes ? bytes : 1, ALIGN);
    ArenaBlock *b = a->block;
    if (b) b->used = (b->used + ALIGN - 1) & ~(size_t)(ALIGN - 1);      /* sizes of blocks are multiples of it */
    if (!b || b->size - b->used < need) b = add_block(a, need);
    void *p = b->bytes + b->used;
    b->used += need;
    return memset(p, 0, need);
}

void *arena_array(Arena *a, size_t count, size_t size)
{
    return arena_alloc(a, size_mul(count, size));
}

void *arena_copy(Arena *a, const void *from, size_t bytes)
{
    void *p = arena_alloc(a, bytes);
    return bytes ? memcpy(p, from, bytes) : p;
}

char *arena_text(Arena *a, const char *text, size_t length)
{
    ArenaBlock *b = a->block;
    char *p;
    if (b && b->size - b->used > length) {      /* text needs no alignment: names of a large graph lie closely */
        p = (char *)b->bytes + b->used;
        b->used += length + 1;
    } else {
        p = arena_alloc(a, size_add(length, 1));
    }
    if (length) memcpy(p, text, length);
    p[length] = 0;
    return p;
}

char *arena_printf(Arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return p;
}

ArenaMark arena_mark(const Arena *a)
{
    return (ArenaMark){ a->block, a->block ? a->block->used : 0 };
}

static void drop_newest(Arena *a)
{
    ArenaBlock *b = a->block;
    a->block = b->older;
    if (b->size < LARGEST_BLOCK || a->spared + b->size > MOST_SPARE) {
        free_block(a, b);
        return;
    }
    b->older = a->spare;
    a->spare = b;
    a->spared += b->size;
}

void arena_release(Arena *a, ArenaMark mark)
{
    while (a->block != mark.block) drop_newest(a);
    if (a->block) a->block->used = mark.used;
}

void arena_free(Arena *a)
{
    while (a->block) drop_newest(a);
    free_spare(a);
}
