/* SPDX-License-Identifier: Apache-2.0
 * The set of executed steps: taking a step and taking it back, what it does to the live bytes, and
 * which steps are best done at once. */
#include "schedule/order_set.h"

#include "base/size.h"

enum {
    MOST_CHAIN = 8,
    MANY = 64, /* so many more items and steps behind it count as a step */
    SAFE_WORK = 4096,
    SAFE_STEP =
        16, /* what is best done at once is looked for as long as this, and so
                                         much more for each step of the stretch */
};

static uint64_t key_of(int32_t s)
{
    uint64_t x = (uint64_t)s + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void set_bit(uint64_t *bits, int32_t i)
{
    bits[i / 64] |= (uint64_t)1 << (i % 64);
}
static void clear_bit(uint64_t *bits, int32_t i)
{
    bits[i / 64] &= ~((uint64_t)1 << (i % 64));
}

static int32_t lowest_bit(uint64_t x)
{
    int32_t n = 0;
    for (int32_t half = 32; half; half /= 2)
        if (!(x << (64 - half) >> (64 - half)))
            n += half, x >>= half;
    return n;
}

/* The first bit at or behind `from`, or -1. */
int32_t order_next_bit(const uint64_t *bits, int32_t words, int32_t from)
{
    for (int32_t w = from / 64; w < words; w++) {
        const uint64_t x =
            w == from / 64 ? bits[w] >> (from % 64) << (from % 64) : bits[w];
        if (x)
            return w * 64 + lowest_bit(x);
    }
    return -1;
}

/* ---- the set at hand ---- */

bool order_is_done(const Search *search, int32_t s)
{
    const int32_t i = s - search->first;
    return search->done[i / 64] >> (i % 64) & 1;
}

void order_take(Search *search, int32_t s)
{
    const OrderProblem *problem = search->p;
    set_bit(search->done, s - search->first);
    clear_bit(search->ready, s - search->first);
    search->key ^= key_of(s);
    search->path[search->n_path++] = s;
    search->work -= 1 + (search->after_of[s + 1] - search->after_of[s] +
                         problem->touch_of[s + 1] - problem->touch_of[s]) /
                            MANY;
    for (int32_t k = problem->touch_of[s]; k < problem->touch_of[s + 1]; k++)
        search->left[problem->touch[k]]--, search->begun[problem->touch[k]]++;
    for (int32_t k = search->after_of[s]; k < search->after_of[s + 1]; k++)
        if (--search->waiting[search->after[k]] == 0 &&
            search->after[k] < search->end)
            set_bit(search->ready, search->after[k] - search->first);
}

void order_take_back(Search *search)
{
    const OrderProblem *problem = search->p;
    const int32_t s = search->path[--search->n_path];
    clear_bit(search->done, s - search->first);
    set_bit(search->ready, s - search->first);
    search->key ^= key_of(s);
    for (int32_t k = problem->touch_of[s]; k < problem->touch_of[s + 1]; k++)
        search->left[problem->touch[k]]++, search->begun[problem->touch[k]]--;
    for (int32_t k = search->after_of[s]; k < search->after_of[s + 1]; k++)
        if (search->waiting[search->after[k]]++ == 0 &&
            search->after[k] < search->end)
            clear_bit(search->ready, search->after[k] - search->first);
}

Effect order_effect(Search *search, int32_t s)
{
    const OrderProblem *problem = search->p;
    search->work--;
    int64_t born = 0;
    int64_t dead = 0;
    int64_t gain = 0;
    for (int32_t k = problem->touch_of[s]; k < problem->touch_of[s + 1]; k++) {
        const int32_t i = problem->touch[k];
        if (!search->begun[i])
            born += problem->size[i];
        if (search->left[i] == 1)
            dead += problem->size[i];
    }
    for (int32_t k = problem->gain_of[s]; k < problem->gain_of[s + 1]; k++)
        if (search->begun[problem->gain[k].item] &&
            search->left[problem->gain[k].item] == 1)
            gain = i64_max(gain, problem->gain[k].bytes);
    return (Effect){ search->live + born - gain, search->live + born - dead };
}

void order_run(Search *search, int32_t s, Effect effect)
{
    order_take(search, s);
    search->live = effect.after;
    search->peak = i64_max(search->peak, effect.during);
}

/* The step that the one taken last made ready and that leaves least alive, its peak allowed; -1:
 * none. */
static int32_t next_of_chain(Search *search, Effect *effect)
{
    const int32_t s = search->path[search->n_path - 1];
    int32_t best = -1;
    for (int32_t k = search->after_of[s]; k < search->after_of[s + 1]; k++) {
        const int32_t t = search->after[k];
        if (search->waiting[t] || t >= search->end)
            continue;
        const Effect f = order_effect(search, t);
        if (f.during > search->peak || (best >= 0 && f.after >= effect->after))
            continue;
        best = t;
        *effect = f;
    }
    return best;
}

/* Takes step s and a chain behind it if that, without raising the peak, ends with no more bytes
 * alive than now. */
static bool take_chain(Search *search, int32_t s)
{
    const int64_t live = search->live;
    const int32_t steps = search->n_path;
    Effect effect = order_effect(search, s);
    if (effect.during > search->peak)
        return false;
    for (int length = 1; s >= 0 && length <= MOST_CHAIN; length++) {
        order_run(search, s, effect);
        if (effect.after <= live)
            return true;
        s = next_of_chain(search, &effect);
    }
    while (search->n_path > steps)
        order_take_back(search);
    search->live = live;
    return false;
}

/* What is best done at once: a step, or steps each of which needs the one before, that end with the
 * fewest bytes alive and do not raise the peak. Live bytes are submodular in the set of steps, so
 * later it could not save more. */
void order_take_safe(Search *search)
{
    const int64_t stop = search->work - SAFE_WORK -
                         SAFE_STEP * (int64_t)(search->end - search->first);
    for (bool any = true; any && search->work > stop;) {
        any = false;
        for (int32_t i = order_next_bit(search->ready, search->words, 0);
             i >= 0; i = order_next_bit(search->ready, search->words, i + 1))
            any |= take_chain(search, search->first + i);
    }
}

/* The set of all steps before the stretch, as the set at hand. */
void order_open_stretch(Search *search, int64_t live, int64_t peak)
{
    const OrderProblem *problem = search->p;
    const int32_t n = search->end - search->first;
    search->words = (n + 63) / 64;
    search->done = NEW_ARRAY(search->arena, uint64_t, search->words);
    search->ready = NEW_ARRAY(search->arena, uint64_t, search->words);
    memset(&search->state, 0, sizeof search->state);
    memset(&search->heap, 0, sizeof search->heap);
    search->met = NULL;
    search->met_room = search->met_n = 0;
    search->key = 0;
    search->live = live;
    search->peak = peak;
    for (int32_t s = search->first; s < search->end; s++) {
        for (int32_t k = problem->touch_of[s + 1];
             k-- > problem->touch_of[s];) {
            if (search->seen[problem->touch[k]] == search->first + 1)
                continue;
            search->seen[problem->touch[k]] = search->first + 1;
            search->begun[problem->touch[k]] = search->rank[k];
            search->left[problem->touch[k]] =
                search->users[problem->touch[k]] - search->rank[k];
        }
        search->waiting[s] = 0;
        for (int32_t k = problem->before_of[s]; k < problem->before_of[s + 1];
             k++)
            search->waiting[s] += problem->before[k] >= search->first;
        if (!search->waiting[s])
            set_bit(search->ready, s - search->first);
    }
}
