/* SPDX-License-Identifier: Apache-2.0
 * Sets of executed steps that a search met: by which peak, which are open, and what follows from
 * each. */
#include "schedule/order_states.h"

#include <string.h>

#include "base/size.h"

static Met *slot_of(Met *table, size_t room, uint64_t key)
{
    size_t at = key & (room - 1);
    while (table[at].key && table[at].key != key)
        at = (at + 1) & (room - 1);
    return table + at;
}

static void grow_met(Search *search)
{
    const size_t room = search->met_room ? 2 * search->met_room : 256;
    Met *table = NEW_ARRAY(search->arena, Met, room);
    for (size_t i = 0; i < search->met_room; i++)
        if (search->met[i].key)
            *slot_of(table, room, search->met[i].key) = search->met[i];
    search->met = table;
    search->met_room = room;
}

int64_t *order_met(Search *search, uint64_t key)
{
    if (!key)
        key = 1;
    if (2 * search->met_n >= search->met_room)
        grow_met(search);
    Met *m = slot_of(search->met, search->met_room, key);
    if (!m->key) {
        *m = (Met){ key, INT64_MAX };
        search->met_n++;
    }
    return &m->peak;
}

static bool sooner(const Search *search, int32_t a, int32_t b)
{
    const State *x = search->state.at + a;
    const State *y = search->state.at + b;
    if (x->peak != y->peak)
        return x->peak < y->peak;
    if (x->count != y->count)
        return x->count > y->count;
    return a < b;
}

void order_open(Search *search, int32_t state)
{
    VEC_PUSH(search->arena, &search->heap, state);
    int32_t *heap = search->heap.at;
    size_t i = search->heap.n - 1;
    while (i) {
        const size_t above = (i - 1) / 2;
        const int32_t other = heap[above];
        if (!sooner(search, heap[i], other))
            break;
        heap[above] = heap[i];
        heap[i] = other;
        i = above;
    }
}

int32_t order_next_open(Search *search)
{
    int32_t *heap = search->heap.at;
    const int32_t top = heap[0];
    search->heap.n--;
    const size_t n = search->heap.n;
    const int32_t moved = heap[n];
    size_t i = 0;
    for (size_t k = 1; k < n; k = 2 * i + 1) {
        if (k + 1 < n && sooner(search, heap[k + 1], heap[k]))
            k++;
        if (!sooner(search, heap[k], moved))
            break;
        heap[i] = heap[k];
        i = k;
    }
    if (n)
        heap[i] = moved;
    return top;
}

/* The set at hand as a new state, unless it was reached as well before; its number, or -1. */
static int32_t add_state(Search *search, int32_t parent, int32_t step)
{
    if (search->peak >= search->limit)
        return -1;
    int64_t *least = order_met(search, search->key);
    if (*least <= search->peak)
        return -1;
    *least = search->peak;
    const State state = {
        .key = search->key,
        .live = search->live,
        .peak = search->peak,
        .parent = parent,
        .step = step,
        .count = search->n_path,
    };
    VEC_PUSH(search->arena, &search->state, state);
    return (int32_t)search->state.n - 1;
}

int32_t order_path(const Search *search, int32_t k, int32_t *path)
{
    int32_t count = 0;
    for (int32_t at = k; at >= 0; at = search->state.at[at].parent)
        count += search->state.at[at].n_taken;
    int32_t end = count;
    for (int32_t at = k; at >= 0; at = search->state.at[at].parent) {
        const State *st = search->state.at + at;
        end -= st->n_taken;
        memcpy(path + end, st->taken, (size_t)st->n_taken * sizeof *path);
    }
    return count;
}

/* Makes state k, which was looked at, the set at hand. */
static void load(Search *search, int32_t k)
{
    const State *st = search->state.at + k;
    const int32_t count = order_path(search, k, search->path);
    for (int32_t i = 0; i < count; i++)
        order_take(search, search->path[i]);
    search->live = st->live;
    search->peak = st->peak;
}

void order_leave(Search *search)
{
    while (search->n_path)
        order_take_back(search);
}

/* The steps of the path from the one of that number on are those of the state. */
static void note_taken(Search *search, State *st, int32_t from)
{
    st->n_taken = search->n_path - from;
    st->taken = arena_copy(search->arena, search->path + from,
                           (size_t)st->n_taken * sizeof *search->path);
}

void order_add_root(Search *search)
{
    order_take_safe(search);
    const int32_t root = add_state(search, -1, -1);
    if (root >= 0) {
        note_taken(search, search->state.at + root, 0);
        order_open(search, root);
    }
    order_leave(search);
}

void order_enter(Search *search, int32_t k)
{
    State *st = search->state.at + k;
    search->states++;
    if (st->parent < 0) {
        load(search, k);
        return;
    }
    load(search, st->parent);
    const int32_t from = search->n_path;
    order_run(search, st->step, order_effect(search, st->step));
    order_take_safe(search);
    note_taken(search, st, from);
}

static bool cheaper(Effect x, Effect y)
{
    return x.during != y.during ? x.during < y.during : x.after < y.after;
}

/* The ready steps below the limit; of more than `most` those that need least. */
static int32_t list_choices(Search *search, int32_t most)
{
    int32_t n = 0;
    for (int32_t i = order_next_bit(search->ready, search->words, 0); i >= 0;
         i = order_next_bit(search->ready, search->words, i + 1)) {
        Choice c = { search->first + i,
                     order_effect(search, search->first + i) };
        c.effect.during = i64_max(c.effect.during, search->peak);
        if (c.effect.during >= search->limit ||
            (n == most && !cheaper(c.effect, search->choice[n - 1].effect)))
            continue;
        int32_t at = n < most ? n++ : n - 1;
        for (; most < search->end - search->first && at > 0 &&
               cheaper(c.effect, search->choice[at - 1].effect);
             at--)
            search->choice[at] = search->choice[at - 1];
        search->choice[at] = c;
    }
    return n;
}

void order_expand(Search *search, int32_t k, int32_t most,
                  void (*found)(Search *, int32_t))
{
    const int64_t live = search->live;
    const int64_t peak = search->peak;
    const int32_t steps = search->n_path;
    const int32_t n = list_choices(search, most);
    for (int32_t i = 0; i < n && search->work > search->stop; i++) {
        order_run(search, search->choice[i].step, search->choice[i].effect);
        order_take_safe(search);
        const int32_t made = add_state(search, k, search->choice[i].step);
        if (made >= 0)
            found(search, made);
        while (search->n_path > steps)
            order_take_back(search);
        search->live = live;
        search->peak = peak;
    }
}
