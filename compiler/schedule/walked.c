/* SPDX-License-Identifier: Apache-2.0
 * A table of fixed room, since trials give back all memory that they take. The key is of all that a
 * walk looks at; items count by their place in the range. No addresses, so that the same model is
 * planned the same everywhere. */
#include "schedule/walked.h"

#include "schedule/stream.h"

enum { ROOM_OF_STEP = 32, MOST_ROOM = 1 << 15 };

struct Walked {
    size_t room; /* a power of two */
    WalkedRange *range;
};

Walked *walked_new(Arena *arena, size_t steps)
{
    Walked *walked = NEW(arena, Walked);
    walked->room = ROOM_OF_STEP;
    while (walked->room < ROOM_OF_STEP * steps && walked->room < MOST_ROOM)
        walked->room *= 2;
    walked->range = NEW_ARRAY(arena, WalkedRange, walked->room);
    return walked;
}

WalkedRange *walked_find(Walked *walked, uint64_t key)
{
    WalkedRange *r = walked->range + (key & (walked->room - 1));
    if (r->key != key)
        *r = (WalkedRange){ .key = key,
                            .bytes = WALKED_NOT,
                            .beyond = WALKED_NOT };
    return r;
}

/* splitmix64 of what there is so far and one number more. */
static uint64_t mix(uint64_t key, int64_t number)
{
    uint64_t x = key + 0x9e3779b97f4a7c15u + (uint64_t)number;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t mix_rule(uint64_t key, const RowRule *rule, int32_t units)
{
    key = mix(mix(mix(mix(key, rule->kind), rule->stride), rule->pad),
              rule->extent);
    for (int32_t u = 0; rule->kind == ROWS_TABLE && u < units; u++)
        key = mix(mix(key, rule->table[u].lo), rule->table[u].hi);
    return key;
}

static uint64_t item_key(const Item *it)
{
    const int flags = it->whole | it->scratch << 1 | it->outside << 2;
    const uint64_t key = mix(mix((uint64_t)flags, it->rows), it->row_bytes);
    return mix(mix(key, it->size), tensor_bytes(it->root));
}

static uint64_t mix_touch(uint64_t key, const Touch *touch, int32_t units)
{
    const Operand *o = touch->operand;
    const int flags = o->write | touch->by_row << 1 | touch->all_units << 2 |
                      o->scratch << 3 | reuse_in_place(o->reuse) << 4;
    key = mix(mix(mix(key, flags), touch->row0), o->rows);
    if (o->part)
        key =
            mix(mix(key, touch->lane), o->part * dtype_bits(o->tensor->dtype));
    return o->write ? key : mix_rule(key, &o->rule, units);
}

static uint64_t step_key(const Items *all, int32_t s, int32_t pixels)
{
    const Step *step = all->program->step.at[s];
    const int flags = step->accumulates | step->pushed << 1;
    uint64_t key = mix(mix((uint64_t)all->align, step->units), flags);
    key = mix(key, stream_burst(step, pixels));
    for (const Touch *t = touch_begin(all, s); t < touch_end(all, s); t++)
        key = mix_touch(key, t, step->units);
    return key;
}

WalkedKeys walked_keys(Arena *arena, const Items *all, int32_t pixels)
{
    const size_t steps = all->program->step.n;
    const WalkedKeys keys = {
        .step = NEW_ARRAY(arena, uint64_t, steps + 1),
        .item = NEW_ARRAY(arena, uint64_t, all->item.n + 1),
        .number = NEW_ARRAY(arena, int32_t, all->item.n + 1),
    };
    for (size_t s = 0; s < steps; s++)
        keys.step[s] = step_key(all, (int32_t)s, pixels);
    for (size_t i = 0; i < all->item.n; i++)
        keys.item[i] = item_key(all->item.at + i);
    return keys;
}

/* Which of the range's touches is the first of its item, counted from 1. A number of an earlier
 * call never lies within the touches that this one has seen, or it would have been replaced. */
static int32_t first_touch(const Touch *begin, const Touch *touch,
                           const Touch *all, int32_t *number)
{
    const int32_t from = (int32_t)(begin - all) + 1;
    const int32_t now = (int32_t)(touch - all) + 1;
    if (number[touch->item] < from || number[touch->item] > now)
        number[touch->item] = now;
    return number[touch->item] - from;
}

uint64_t walked_key(const Items *all, int32_t first, int32_t end,
                    const WalkedKeys *keys)
{
    const Touch *begin = touch_begin(all, first);
    uint64_t key = mix(0, end - first);
    for (int32_t s = first; s < end; s++) {
        key = mix(key, (int64_t)keys->step[s]);
        for (const Touch *t = touch_begin(all, s); t < touch_end(all, s); t++) {
            const int32_t at =
                first_touch(begin, t, all->touch.at, keys->number);
            const Item *it = all->item.at + t->item;
            key = mix(key, at);
            if (at != (int32_t)(t - begin))
                continue;
            key = mix(key, (int64_t)keys->item[t->item]);
            key = mix(key, it->lent ? it->lent - first : 0);
            key = mix(key, (it->first < first) | (it->end > end) << 1);
        }
    }
    return key;
}
