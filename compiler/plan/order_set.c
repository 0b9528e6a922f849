/* SPDX-License-Identifier: Apache-2.0
 * The set of executed steps: taking a step and taking it back, what it does to the live bytes, and
 * which steps are best done at once. */
#include "plan/order_set.h"

#include "base/size.h"

enum {
    MOST_CHAIN = 8,
    MANY = 64, /* so many more items and steps behind it count as a step */
    SAFE_WORK = 4096,
    SAFE_STEP = 16, /* what is best done at once is looked for as long as this, and so
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
        const uint64_t x = w == from / 64 ? bits[w] >> (from % 64) << (from % 64) : bits[w];
        if (x)
            return w * 64 + lowest_bit(x);
    }
    return -1;
}

/* ---- the set at hand ---- */

bool order_is_done(const Search *q, int32_t s)
{
    const int32_t i = s - q->first;
    return q->done[i / 64] >> (i % 64) & 1;
}

void order_take(Search *q, int32_t s)
{
    const OrderProblem *p = q->p;
    set_bit(q->done, s - q->first);
    clear_bit(q->ready, s - q->first);
    q->key ^= key_of(s);
    q->path[q->n_path++] = s;
    q->work -=
        1 + (q->after_of[s + 1] - q->after_of[s] + p->touch_of[s + 1] - p->touch_of[s]) / MANY;
    for (int32_t k = p->touch_of[s]; k < p->touch_of[s + 1]; k++)
        q->left[p->touch[k]]--, q->begun[p->touch[k]]++;
    for (int32_t k = q->after_of[s]; k < q->after_of[s + 1]; k++)
        if (--q->waiting[q->after[k]] == 0 && q->after[k] < q->end)
            set_bit(q->ready, q->after[k] - q->first);
}

void order_take_back(Search *q)
{
    const OrderProblem *p = q->p;
    const int32_t s = q->path[--q->n_path];
    clear_bit(q->done, s - q->first);
    set_bit(q->ready, s - q->first);
    q->key ^= key_of(s);
    for (int32_t k = p->touch_of[s]; k < p->touch_of[s + 1]; k++)
        q->left[p->touch[k]]++, q->begun[p->touch[k]]--;
    for (int32_t k = q->after_of[s]; k < q->after_of[s + 1]; k++)
        if (q->waiting[q->after[k]]++ == 0 && q->after[k] < q->end)
            clear_bit(q->ready, q->after[k] - q->first);
}

Effect order_effect(Search *q, int32_t s)
{
    const OrderProblem *p = q->p;
    q->work--;
    int64_t born = 0, dead = 0, gain = 0;
    for (int32_t k = p->touch_of[s]; k < p->touch_of[s + 1]; k++) {
        const int32_t i = p->touch[k];
        if (!q->begun[i])
            born += p->size[i];
        if (q->left[i] == 1)
            dead += p->size[i];
    }
    for (int32_t k = p->gain_of[s]; k < p->gain_of[s + 1]; k++)
        if (q->begun[p->gain[k].item] && q->left[p->gain[k].item] == 1)
            gain = i64_max(gain, p->gain[k].bytes);
    return (Effect){ q->live + born - gain, q->live + born - dead };
}

void order_run(Search *q, int32_t s, Effect e)
{
    order_take(q, s);
    q->live = e.after;
    q->peak = i64_max(q->peak, e.during);
}

/* The step that the one taken last made ready and that leaves least alive, its peak allowed; -1:
 * none. */
static int32_t next_of_chain(Search *q, Effect *e)
{
    const int32_t s = q->path[q->n_path - 1];
    int32_t best = -1;
    for (int32_t k = q->after_of[s]; k < q->after_of[s + 1]; k++) {
        const int32_t t = q->after[k];
        if (q->waiting[t] || t >= q->end)
            continue;
        const Effect f = order_effect(q, t);
        if (f.during > q->peak || (best >= 0 && f.after >= e->after))
            continue;
        best = t;
        *e = f;
    }
    return best;
}

/* Takes step s and a chain behind it if that, without raising the peak, ends with no more bytes
 * alive than now. */
static bool take_chain(Search *q, int32_t s)
{
    const int64_t live = q->live;
    const int32_t steps = q->n_path;
    Effect e = order_effect(q, s);
    if (e.during > q->peak)
        return false;
    for (int length = 1; s >= 0 && length <= MOST_CHAIN; length++) {
        order_run(q, s, e);
        if (e.after <= live)
            return true;
        s = next_of_chain(q, &e);
    }
    while (q->n_path > steps)
        order_take_back(q);
    q->live = live;
    return false;
}

/* What is best done at once: a step, or steps each of which needs the one before, that end with the
 * fewest bytes alive and do not raise the peak. Live bytes are submodular in the set of steps, so
 * later it could not save more. */
void order_take_safe(Search *q)
{
    const int64_t stop = q->work - SAFE_WORK - SAFE_STEP * (int64_t)(q->end - q->first);
    for (bool any = true; any && q->work > stop;) {
        any = false;
        for (int32_t i = order_next_bit(q->ready, q->words, 0); i >= 0;
             i = order_next_bit(q->ready, q->words, i + 1))
            any |= take_chain(q, q->first + i);
    }
}

/* The set of all steps before the stretch, as the set at hand. */
void order_open_stretch(Search *q, int64_t live, int64_t peak)
{
    const OrderProblem *p = q->p;
    const int32_t n = q->end - q->first;
    q->words = (n + 63) / 64;
    q->done = NEW_ARRAY(q->arena, uint64_t, q->words);
    q->ready = NEW_ARRAY(q->arena, uint64_t, q->words);
    memset(&q->state, 0, sizeof q->state);
    memset(&q->heap, 0, sizeof q->heap);
    q->met = NULL;
    q->met_room = q->met_n = 0;
    q->key = 0;
    q->live = live;
    q->peak = peak;
    for (int32_t s = q->first; s < q->end; s++) {
        for (int32_t k = p->touch_of[s + 1]; k-- > p->touch_of[s];) {
            if (q->seen[p->touch[k]] == q->first + 1)
                continue;
            q->seen[p->touch[k]] = q->first + 1;
            q->begun[p->touch[k]] = q->rank[k];
            q->left[p->touch[k]] = q->users[p->touch[k]] - q->rank[k];
        }
        q->waiting[s] = 0;
        for (int32_t k = p->before_of[s]; k < p->before_of[s + 1]; k++)
            q->waiting[s] += p->before[k] >= q->first;
        if (!q->waiting[s])
            set_bit(q->ready, s - q->first);
    }
}
