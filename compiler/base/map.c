/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <string.h>
#include <time.h>

/* What keys are mixed with differs from run to run, and never shows in any output. A fuzzer finds
 * again what it found: its builds have but one. */
static uint64_t any_number(const Arena *arena)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)arena;
    return 1;
#else
    struct timespec now = { 0, 0 };
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t place = (uint64_t)(uintptr_t)arena;
    return (uint64_t)now.tv_nsec << 32 ^ place ^ arena->total;
#endif
}

Map map_new(Arena *arena)
{
    const uint64_t seed = any_number(arena) * 0x9E3779B97F4A7C15u | 1;
    return (Map){ .arena = arena, .seed = seed };
}

/* The seed is odd. */
static uint64_t mix(uint64_t h, uint64_t word, uint64_t seed)
{
    h = (h ^ word) * seed;
    h = (h ^ h >> 32) * 0xE7037ED1A0B428DBu;
    return h ^ h >> 29;
}

/* Eight bytes at a time. */
static uint32_t hash_text(uint64_t seed, const char *s)
{
    size_t n = strlen(s);
    uint64_t h = seed ^ n;
    uint64_t word = 0;
    for (; n >= 8; n -= 8, s += 8) {
        memcpy(&word, s, 8);
        h = mix(h, word, seed);
    }
    word = 0;
    memcpy(&word, s, n);
    h = mix(h, word, seed);
    return (uint32_t)(h ^ h >> 32);
}

/* The slot of the key, or the free one where it belongs. */
static MapSlot *find(const Map *map, const char *key, uint32_t hash)
{
    const size_t mask = map->room - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        MapSlot *slot = map->slot + i;
        if (!slot->entry)
            return slot;
        const MapEntry *entry = map->entry.at + slot->entry - 1;
        if (slot->hash == hash && !strcmp(entry->key, key))
            return slot;
    }
}

void *map_get(const Map *map, const char *key)
{
    if (!map->room)
        return NULL;
    const uint32_t hash = hash_text(map->seed, key);
    const MapSlot *slot = find(map, key, hash);
    return slot->entry ? map->entry.at[slot->entry - 1].value : NULL;
}

static void grow(Map *map)
{
    MapSlot *old = map->slot;
    const size_t n = map->room;
    map->room = n ? n * 2 : 16;
    map->slot = NEW_ARRAY(map->arena, MapSlot, map->room);
    const size_t mask = map->room - 1;
    for (size_t i = 0; i < n; i++) {
        if (!old[i].entry)
            continue;
        size_t k = old[i].hash & mask;
        while (map->slot[k].entry)
            k = (k + 1) & mask;
        map->slot[k] = old[i];
    }
    arena_drop(map->arena, old, n * sizeof *old);
}

void *map_put(Map *map, const char *key, void *value)
{
    if (map->entry.n * 4 >= map->room * 3)
        grow(map);
    const uint32_t hash = hash_text(map->seed, key);
    MapSlot *slot = find(map, key, hash);
    const MapEntry added = { key, value };
    if (slot->entry) {
        MapEntry *entry = map->entry.at + slot->entry - 1;
        void *before = entry->value;
        *entry = added;
        return before;
    }
    VEC_PUSH(map->arena, &map->entry, added);
    *slot = (MapSlot){ hash, (uint32_t)map->entry.n };
    return NULL;
}
