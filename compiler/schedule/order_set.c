/* SPDX-License-Identifier: Apache-2.0
 * The set of executed steps: taking a step and taking it back, what it does to the live bytes, and
 * which steps are best done at once. */
#include "schedule/order_set.h"

#include "base/size.h"

enum {
    MOST_CHAIN = 8,
    /* so many more items and steps behind it count as a step */
    MANY = 64,
    /* what is best done at once is looked for as long as this, and so much more for each step of
     * the stretch */
    SAFE_WORK = 4096,
    SAFE_STEP = 16,
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

/* Of a number that is not 0. The product with a de Bruijn sequence has other first bits for each
 * power of two. */
static int32_t lowest_bit(uint64_t x)
{
    static const uint8_t number[64] = {
        0,  1,  48, 2,  57, 49, 28, 3,  61, 58, 50, 42, 38, 29, 17, 4,
        62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
        63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11,
        46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6,
    };
    return number[(x & (0 - x)) * 0x03f79d71b4cb0a89u >> 58];
}

/* The first bit at or behind `from`, or -1. */
int32_t order_next_bit(const uint64_t *bits, int32_t words, int32_t from)
{
    const int32_t first = from / 64;
    const int32_t skipped = from % 64;
    for (int32_t w = first; w < words; w++) {
        uint64_t x = bits[w];
        if (w == first)
            x = x >> skipped << skipped;
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

/* One more step, or one step less, in the set: what is left of its items. */
static void count_touches(Search *search, int32_t s, int32_t by)
{
    const OrderProblem *problem = search->p;
    const int32_t end = problem->touch_of[s + 1];
    for (int32_t k = problem->touch_of[s]; k < end; k++) {
        const int32_t item = problem->touch[k];
        search->left[item] -= by;
        search->begun[item] += by;
    }
}

static int32_t work_of(const Search *search, int32_t s)
{
    const int32_t *touch_of = search->p->touch_of;
    const int32_t steps = search->after_of[s + 1] - search->after_of[s];
    const int32_t items = touch_of[s + 1] - touch_of[s];
    return 1 + (steps + items) / MANY;
}

void order_take(Search *search, int32_t s)
{
    const int32_t end = search->after_of[s + 1];
    set_bit(search->done, s - search->first);
    clear_bit(search->ready, s - search->first);
    search->key ^= key_of(s);
    search->path[search->n_path] = s;
    search->n_path++;
    search->work -= work_of(search, s);
    count_touches(search, s, 1);
    for (int32_t k = search->after_of[s]; k < end; k++) {
        const int32_t after = search->after[k];
        search->waiting[after]--;
        if (!search->waiting[after] && after < search->end)
            set_bit(search->ready, after - search->first);
    }
}

void order_take_back(Search *search)
{
    search->n_path--;
    const int32_t s = search->path[search->n_path];
    const int32_t end = search->after_of[s + 1];
    clear_bit(search->done, s - search->first);
    set_bit(search->ready, s - search->first);
    search->key ^= key_of(s);
    count_touches(search, s, -1);
    for (int32_t k = search->after_of[s]; k < end; k++) {
        const int32_t after = search->after[k];
        if (!search->waiting[after] && after < search->end)
            clear_bit(search->ready, after - search->first);
        search->waiting[after]++;
    }
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
    for (int32_t k = problem->gain_of[s]; k < problem->gain_of[s + 1]; k++) {
        const int32_t i = problem->gain[k].item;
        if (search->begun[i] && search->left[i] == 1)
            gain = i64_max(gain, problem->gain[k].bytes);
    }
    const int64_t both = search->live + born;
    return (Effect){ .during = both - gain, .after = both - dead };
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
    const int64_t steps = search->end - search->first;
    const int64_t stop = search->work - SAFE_WORK - SAFE_STEP * steps;
    bool any = true;
    while (any && search->work > stop) {
        int32_t i = order_next_bit(search->ready, search->words, 0);
        any = false;
        while (i >= 0) {
            any |= take_chain(search, search->first + i);
            i = order_next_bit(search->ready, search->words, i + 1);
        }
    }
}

static void forget_states(Search *search)
{
    memset(&search->state, 0, sizeof search->state);
    memset(&search->heap, 0, sizeof search->heap);
    search->met = NULL;
    search->met_room = 0;
    search->met_n = 0;
    search->key = 0;
}

/* What is left of the items of step s before the stretch, each looked at once. */
static void open_items(Search *search, int32_t s)
{
    const OrderProblem *problem = search->p;
    const int32_t seen = search->first + 1;
    for (int32_t k = problem->touch_of[s + 1] - 1; k >= problem->touch_of[s];
         k--) {
        const int32_t item = problem->touch[k];
        if (search->seen[item] == seen)
            continue;
        search->seen[item] = seen;
        search->begun[item] = search->rank[k];
        search->left[item] = search->users[item] - search->rank[k];
    }
}

static void open_step(Search *search, int32_t s)
{
    const OrderProblem *problem = search->p;
    const int32_t end = problem->before_of[s + 1];
    int32_t waiting = 0;
    for (int32_t k = problem->before_of[s]; k < end; k++)
        waiting += problem->before[k] >= search->first;
    search->waiting[s] = waiting;
    if (!waiting)
        set_bit(search->ready, s - search->first);
}

/* The set of all steps before the stretch, as the set at hand. */
void order_open_stretch(Search *search, int64_t live, int64_t peak)
{
    const int32_t n = search->end - search->first;
    search->words = (n + 63) / 64;
    search->done = NEW_ARRAY(search->arena, uint64_t, search->words);
    search->ready = NEW_ARRAY(search->arena, uint64_t, search->words);
    forget_states(search);
    search->live = live;
    search->peak = peak;
    for (int32_t s = search->first; s < search->end; s++) {
        open_items(search, s);
        open_step(search, s);
    }
}

void order_rank_touches(Search *search)
{
    const OrderProblem *problem = search->p;
    const int32_t touches = problem->touch_of[problem->steps];
    const int32_t items = problem->items;
    int32_t *users = NEW_ARRAY(search->arena, int32_t, items + 1);
    int32_t *rank = NEW_ARRAY(search->arena, int32_t, touches + 1);
    for (int32_t i = 0; problem->given && i < items; i++)
        users[i] = problem->given[i];
    for (int32_t k = 0; k < touches; k++)
        rank[k] = users[problem->touch[k]]++;
    for (int32_t i = 0; problem->kept && i < items; i++)
        users[i] += problem->kept[i];
    search->users = users;
    search->rank = rank;
}
