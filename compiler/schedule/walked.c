/* SPDX-License-Identifier: Apache-2.0
 * A table of fixed room, since trials give back all memory that they take. The key is of all that a
 * walk looks at; items count by their place in the range. No addresses, so that the same model is
 * planned the same everywhere. */
#include "schedule/walked.h"

#include "base/mix.h"
#include "schedule/stream.h"

/* A key stands in one of a few places, so that none is forgotten while there is room. */
enum { ROOM_OF_STEP = 256, MOST_ROOM = 1 << 15, PLACES = 8 };

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
    const uint64_t mask = walked->room - 1;
    WalkedRange *range = walked->range + (key & mask);
    const WalkedRange unknown = {
        .key = key,
        .bytes = WALKED_NOT,
        .beyond = WALKED_NOT,
    };
    for (uint64_t i = 0; i < PLACES; i++) {
        WalkedRange *other = walked->range + ((key + i) & mask);
        if (other->key == key)
            return other;
        if (range->key && !other->key)
            range = other;
    }
    *range = unknown;
    return range;
}

static uint64_t mix_rule(uint64_t key, const RowRule *rule)
{
    key = mix_number(key, rule->kind);
    key = mix_number(key, rule->stride);
    key = mix_number(key, rule->pad);
    key = mix_number(key, rule->extent);
    return mix_number(key, (int64_t)rule->key);
}

static uint64_t item_key(const Item *item)
{
    uint64_t key = item->whole;
    key |= (uint64_t)item->scratch << 1;
    key |= (uint64_t)item->outside << 2;
    key |= (uint64_t)item->fixed << 3;
    key |= (uint64_t)item->kept << 4;
    key = mix_number(key, item->rows);
    key = mix_number(key, item->row_bytes);
    key = mix_number(key, item->size);
    return mix_number(key, tensor_bytes(item->root));
}

static int touch_flags(const Touch *touch)
{
    const Operand *operand = touch->operand;
    int flags = operand->write;
    flags |= touch->by_row << 1;
    flags |= touch->all_units << 2;
    flags |= operand->scratch << 3;
    flags |= (int)operand->reuse << 4;
    return flags;
}

static uint64_t mix_touch(uint64_t key, const Touch *touch)
{
    const Operand *operand = touch->operand;
    key = mix_number(key, touch_flags(touch));
    key = mix_number(key, touch->row0);
    key = mix_number(key, operand->rows);
    key = mix_number(key, operand->pixels.stride);
    key = mix_number(key, operand->pixels.pad);
    key = mix_number(key, operand->pixels.extent);
    key = mix_number(key, operand->pixels.tile);
    key = mix_number(key, operand->pixel);
    key = mix_number(key, operand->row_bytes);
    if (operand->part) {
        const int bits = dtype_bits(operand->tensor->dtype);
        key = mix_number(key, touch->lane);
        key = mix_number(key, operand->part * bits);
    }
    return operand->write ? key : mix_rule(key, &operand->rule);
}

static uint64_t step_key(const Items *all, int32_t number, int32_t pixels)
{
    const Step *step = items_step(all, number);
    const int flags =
        step->accumulates | step->pushed << 1 | step_reverses(step) << 2;
    const Touch *end = touch_end(all, number);
    uint64_t key = mix_number((uint64_t)all->align, step->units);
    key = mix_number(key, flags);
    key = mix_number(key, stream_burst(step, pixels));
    for (const Touch *touch = touch_begin(all, number); touch < end; touch++)
        key = mix_touch(key, touch);
    return key;
}

WalkedKeys walked_keys(Arena *arena, const Items *all, int32_t pixels)
{
    const int32_t steps = (int32_t)all->program->step.n;
    const size_t items = all->item.n;
    const WalkedKeys keys = {
        .step = NEW_ARRAY(arena, uint64_t, steps + 1),
        .item = NEW_ARRAY(arena, uint64_t, items + 1),
        .number = NEW_ARRAY(arena, int32_t, items + 1),
    };
    for (int32_t k = 0; k < steps; k++)
        keys.step[k] = step_key(all, k, pixels);
    for (size_t i = 0; i < items; i++)
        keys.item[i] = item_key(all->item.at + i);
    return keys;
}

/* Which of the touches from `from` to `touch`, counted from 1, is the first of the item whose
 * number this is. A number of an earlier call never lies within the touches that this one has seen,
 * or it would have been replaced. */
static int32_t first_touch(int32_t from, int32_t touch, int32_t *number)
{
    if (*number < from || *number > touch)
        *number = touch;
    return *number - from;
}

/* What there is of an item, seen from steps [first, end). */
static int64_t life_of(const Item *item, int32_t first, int32_t end)
{
    const bool before = item->first < first;
    const bool behind = item->end > end;
    const int64_t lent = item->lent ? item->lent - first : 0;
    return lent * 4 + before + behind * 2;
}

/* An item that is met first: its own key is as good as random. */
static int64_t number_of(uint64_t item, int64_t life)
{
    return (int64_t)(item + (uint64_t)life * 0x94d049bb133111ebu);
}

uint64_t walked_key(const Items *all, int32_t first, int32_t end,
                    const WalkedKeys *keys, WalkedKind kind)
{
    const int32_t from = all->touch_of[first];
    int32_t touch = from;
    uint64_t key = mix_number(kind, end - first);
    for (int32_t step = first; step < end; step++) {
        key = mix_number(key, (int64_t)keys->step[step]);
        for (; touch < all->touch_of[step + 1]; touch++) {
            const int32_t item = all->touch.at[touch].item;
            int32_t *number = keys->number + item;
            const int32_t met = first_touch(from + 1, touch + 1, number);
            if (met != touch - from) {
                key = mix_number(key, met);
                continue;
            }
            const int64_t life = life_of(all->item.at + item, first, end);
            key = mix_number(key, number_of(keys->item[item], life));
        }
    }
    return key;
}
