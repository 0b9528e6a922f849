/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <string.h>
#include <time.h>

Map map_new(Arena *arena)
{
    static uint64_t calls;
    struct timespec t = { 0, 0 };
    clock_gettime(CLOCK_MONOTONIC, &t); /* the seed never shows in any output */
    const uint64_t seed = ((uint64_t)t.tv_nsec << 32) ^ (uint64_t)(uintptr_t)&calls ^ ++calls;
    return (Map){ .arena = arena, .seed = seed * 0x9E3779B97F4A7C15u | 1 };
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
    for (size_t i = hash & (map->room - 1);; i = (i + 1) & (map->room - 1)) {
        MapSlot *s = map->slot + i;
        if (!s->entry || (s->hash == hash && !strcmp(map->entry.at[s->entry - 1].key, key)))
            return s;
    }
}

void *map_get(const Map *map, const char *key)
{
    if (!map->room)
        return NULL;
    const MapSlot *slot = find(map, key, hash_text(map->seed, key));
    return slot->entry ? map->entry.at[slot->entry - 1].value : NULL;
}

static void grow(Map *map)
{
    MapSlot *old = map->slot;
    const size_t n = map->room;
    map->room = n ? n * 2 : 16;
    map->slot = NEW_ARRAY(map->arena, MapSlot, map->room);
    for (size_t i = 0; i < n; i++) {
        if (!old[i].entry)
            continue;
        size_t k = old[i].hash & (map->room - 1);
        while (map->slot[k].entry)
            k = (k + 1) & (map->room - 1);
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
    if (slot->entry) {
        MapEntry *e = map->entry.at + slot->entry - 1;
        void *before = e->value;
        *e = (MapEntry){ key, value };
        return before;
    }
    VEC_PUSH(map->arena, &map->entry, ((MapEntry){ key, value }));
    *slot = (MapSlot){ hash, (uint32_t)map->entry.n };
    return NULL;
}
