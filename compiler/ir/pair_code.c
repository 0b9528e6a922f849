/* SPDX-License-Identifier: Apache-2.0
 * For each way to take bytes apart the pairs that get words are those that come most often; how
 * many of them is found by what words of any length would cost. */
#include "ir/pair_code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CELLS = 16,      /* of pairs that may have a word */
    LISTED_COST = 8, /* bits of the book */
    FEWEST_STORED = 3
};

/* ---- bytes taken apart ---- */

static int low_of(int way)
{
    return FEWEST_STORED + way / 2;
}

static bool is_apart(int way)
{
    return way % 2;
}

/* A byte with the sign apart: x, or -1 - x. */
static uint8_t magnitude_of(uint8_t value)
{
    return value & 128 ? (uint8_t)~value : value;
}

/* The cell of a byte: the nearer to zero, the smaller. */
static int cell_of(uint8_t value, int low, bool apart)
{
    if (apart)
        return magnitude_of(value) >> (low - 1);
    const int cell = magnitude_of(value) >> low;
    return 2 * cell + (value >> 7);
}

/* The bits that are stored in a group's word of four bytes: a byte each. */
static uint8_t shared_bits(const PairCode *code, uint8_t value)
{
    const uint8_t of = code->apart ? magnitude_of(value) : value;
    if (code->low == FEWEST_STORED)
        return of & 3;
    if (code->low == 4 && code->apart)
        return (uint8_t)((of & 7) | (value & 128));
    return value & 15;
}

/* The one that stands by itself. */
static unsigned single_bit(const PairCode *code, uint8_t value)
{
    const int place = code->apart ? 7 : code->low - 1;
    return (unsigned)value >> place & 1u;
}

/* ---- counts ---- */

static void count_pair(PairCount *count, int first, int second)
{
    if (first < CELLS && second < CELLS)
        count->of[first + CELLS * second]++;
    else
        count->wide++;
}

void pair_count(PairCount count[PAIR_WAYS], const uint8_t value[PAIR_GROUP])
{
    for (int way = 0; way < PAIR_WAYS; way++)
        for (int i = 0; i < PAIR_GROUP; i += 2)
            count_pair(count + way,
                       cell_of(value[i], low_of(way), is_apart(way)),
                       cell_of(value[i + 1], low_of(way), is_apart(way)));
}

/* Bits of the larger cell of a pair. */
static int width_of(int first, int second)
{
    int width = 0;
    while ((first | second) >> width)
        width++;
    return width;
}

/* ---- which pairs have words ---- */

typedef struct Listed {
    uint8_t pair;
    uint64_t count;
} Listed;

/* What is left without a word, by the width of the larger cell. */
typedef struct Rest {
    uint64_t of[INLAY_PAIR_CELL + 1];
} Rest;

/* The pairs of one way, those that come most often first. */
typedef struct Order {
    uint64_t all;
    int dear; /* bits that decoding an escape is as bad as */
    int n;
    Listed at[PAIR_LISTED];
    Rest rest; /* with no pair listed */
} Order;

/* Which escapes there are: of `narrow` bits a cell, and of `wide` ones; 0 is none. */
typedef struct Escapes {
    int narrow, wide;
    uint64_t narrow_count, wide_count;
} Escapes;

/* A choice, and its bits, the book included. */
typedef struct Choice {
    uint64_t cost;
    int listed;
    Escapes escapes;
} Choice;

static int by_count(const void *a, const void *b)
{
    const Listed *x = a;
    const Listed *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->pair - y->pair;
}

static int pair_width(int pair)
{
    return width_of(pair % CELLS, pair / CELLS);
}

static void order_pairs(Order *order, const PairCount *count)
{
    *order = (Order){ .all = count->wide };
    order->rest.of[INLAY_PAIR_CELL] = count->wide;
    for (int pair = 0; pair < PAIR_LISTED; pair++) {
        order->all += count->of[pair];
        order->rest.of[pair_width(pair)] += count->of[pair];
        if (count->of[pair] && pair / CELLS != INLAY_PAIR_ESCAPE)
            order->at[order->n++] = (Listed){ (uint8_t)pair, count->of[pair] };
    }
    qsort(order->at, (size_t)order->n, sizeof *order->at, by_count);
}

/* Escapes with the narrow ones of so many bits. */
static Escapes escapes_of(const Rest *rest, int narrow)
{
    Escapes escapes = { .narrow = narrow };
    for (int width = 0; width <= INLAY_PAIR_CELL; width++) {
        if (width <= narrow)
            escapes.narrow_count += rest->of[width];
        else
            escapes.wide_count += rest->of[width];
        if (rest->of[width])
            escapes.wide = width;
    }
    if (!escapes.wide_count)
        escapes.wide = 0;
    if (!escapes.narrow_count)
        escapes.narrow = 0;
    return escapes;
}

/* In units of 1 / PREFIX_BIT bits. */
static uint64_t escape_cost(const Order *order, uint64_t count, int width)
{
    const uint64_t each = (uint64_t)(2 * width + order->dear);
    if (!count)
        return 0;
    return prefix_cost(order->all, count, INLAY_PAIR_BITS) +
           PREFIX_BIT * (count * each + LISTED_COST);
}

static void consider(Choice *best, const Order *order, const Rest *rest,
                     int listed, uint64_t cost)
{
    for (int narrow = 1; narrow <= INLAY_PAIR_CELL; narrow++) {
        const Escapes e = escapes_of(rest, narrow);
        const uint64_t sum = cost +
                             escape_cost(order, e.narrow_count, e.narrow) +
                             escape_cost(order, e.wide_count, e.wide);
        const int escapes = (e.narrow_count != 0) + (e.wide_count != 0);
        if (sum < best->cost && listed + escapes &&
            listed + escapes <= INLAY_PAIR_ENTRIES)
            *best = (Choice){ sum, listed, e };
    }
}

static Choice choose(const Order *order)
{
    Choice best = { .cost = UINT64_MAX };
    Rest rest = order->rest;
    uint64_t cost = 0;
    for (int n = 0; n <= order->n && n <= INLAY_PAIR_ENTRIES; n++) {
        consider(&best, order, &rest, n, cost);
        if (n == order->n)
            break;
        const Listed *next = order->at + n;
        rest.of[pair_width(next->pair)] -= next->count;
        cost += prefix_cost(order->all, next->count, INLAY_PAIR_BITS) +
                (uint64_t)PREFIX_BIT * LISTED_COST;
    }
    return best;
}

/* ---- their words ---- */

/* An entry of the book, and how often it comes. */
typedef struct Entry {
    uint8_t is;
    uint8_t bits;
    uint64_t count;
} Entry;

typedef struct Entries {
    int n;
    Entry at[INLAY_PAIR_ENTRIES];
} Entries;

static void add_entry(Entries *entries, int is, uint64_t count)
{
    if (count)
        entries->at[entries->n++] = (Entry){ (uint8_t)is, 0, count };
}

static void set_lengths(Entries *entries)
{
    uint64_t count[INLAY_PAIR_ENTRIES];
    uint8_t bits[INLAY_PAIR_ENTRIES];
    for (int i = 0; i < entries->n; i++)
        count[i] = entries->at[i].count;
    prefix_lengths(count, entries->n, INLAY_PAIR_BITS, bits);
    for (int i = 0; i < entries->n; i++)
        entries->at[i].bits = bits[i];
}

static int by_bits(const void *a, const void *b)
{
    const Entry *x = a;
    const Entry *y = b;
    return x->bits != y->bits ? x->bits - y->bits : x->is - y->is;
}

static void set_word(PairCode *code, const Entry *entry, unsigned word)
{
    const CodeWord own = { (uint16_t)word, entry->bits };
    code->bits += entry->count * entry->bits;
    code->book[entry->bits - 1]++;
    code->book[INLAY_PAIR_BITS + code->listed++] = entry->is;
    if (entry->is / CELLS != INLAY_PAIR_ESCAPE) {
        code->word[entry->is] = own;
        return;
    }
    code->escape[entry->is % CELLS] = own;
    code->escapes += entry->count;
    code->bits += entry->count * 2 * (entry->is % CELLS);
}

static void set_words(PairCode *code, const Order *order, const Choice *choice)
{
    const Escapes *escapes = &choice->escapes;
    const int escape = CELLS * INLAY_PAIR_ESCAPE;
    Entries entries = { .n = 0 };
    unsigned word = 0;
    for (int i = 0; i < choice->listed; i++)
        add_entry(&entries, order->at[i].pair, order->at[i].count);
    add_entry(&entries, escape + escapes->narrow, escapes->narrow_count);
    add_entry(&entries, escape + escapes->wide, escapes->wide_count);
    set_lengths(&entries);
    qsort(entries.at, (size_t)entries.n, sizeof *entries.at, by_bits);
    for (int i = 0; i < entries.n; i++) {
        set_word(code, entries.at + i, word);
        word = inlay_pairs_next(word, entries.at[i].bits);
    }
}

/* Bits of all groups and the book, and what the escapes are as bad as. */
static uint64_t cost_of(const PairCode *code, uint64_t groups, int dear)
{
    return code->bits + code->escapes * (uint64_t)dear +
           8 * (groups * (uint64_t)code->low + pair_code_book(code));
}

void pair_code_make(PairCode *code, const PairCount count[PAIR_WAYS], int dear)
{
    uint64_t least = UINT64_MAX;
    for (int way = 0; way < PAIR_WAYS; way++) {
        PairCode own = { .low = low_of(way), .apart = is_apart(way) };
        Order order;
        order_pairs(&order, count + way);
        assert(order.all);
        order.dear = dear;
        const Choice choice = choose(&order);
        set_words(&own, &order, &choice);
        const uint64_t cost = cost_of(&own, order.all / 4, dear);
        if (cost < least) {
            least = cost;
            *code = own;
        }
    }
}

uint64_t pair_code_book(const PairCode *code)
{
    return INLAY_PAIR_BITS + (uint64_t)code->listed;
}

/* ---- groups ---- */

/* The word of a pair, or of its escape, and then the bits of each cell that follows. */
static CodeWord word_of(const PairCode *code, int first, int second, int *width)
{
    const int least = width_of(first, second);
    *width = 0;
    if (first < CELLS && second < CELLS &&
        code->word[first + CELLS * second].bits)
        return code->word[first + CELLS * second];
    *width = least ? least : 1;
    while (!code->escape[*width].bits)
        ++*width;
    assert(*width <= INLAY_PAIR_CELL);
    return code->escape[*width];
}

int pair_code_words(const PairCode *code, const uint8_t value[PAIR_GROUP],
                    CodeWord item[PAIR_ITEMS])
{
    int n = PAIR_GROUP / 2;
    for (int i = 0; i < PAIR_GROUP; i += 2) {
        const int first = cell_of(value[i], code->low, code->apart);
        const int second = cell_of(value[i + 1], code->low, code->apart);
        int width;
        item[i / 2] = word_of(code, first, second, &width);
        if (width)
            item[n++] = (CodeWord){ (uint16_t)(first | second << width),
                                    (uint8_t)(2 * width) };
    }
    return n;
}

/* The stored bits of four bytes that share a word. */
static uint32_t shared_of(const PairCode *code, const uint8_t *value)
{
    uint8_t bits[4];
    for (int i = 0; i < 4; i++)
        bits[i] = shared_bits(code, value[i]);
    return inlay_pairs_four(bits);
}

static uint8_t single_bits(const PairCode *code,
                           const uint8_t value[PAIR_GROUP])
{
    unsigned bits = 0;
    for (int i = 0; i < PAIR_GROUP; i++)
        bits |= single_bit(code, value[i]) << i;
    return (uint8_t)bits;
}

/* What else changes them in the runtime: what the second entry of each half has in its lowest byte,
 * and of 5 stored bits the last ones of other bytes, whose own they do not change. */
static void make_up(const PairCode *code, const CodeWord *item, uint8_t single,
                    uint32_t half[2])
{
    const uint32_t sign = code->apart ? 15 : 1;
    const uint32_t spread = inlay_pairs_spread(single) * sign;
    if (code->low == FEWEST_STORED)
        return;
    half[0] ^= item[1].bits;
    half[1] ^= item[3].bits;
    if (code->low == 4)
        return;
    half[0] ^= spread << 4 & INLAY_PAIRS_MASK(5);
    half[1] ^= spread & INLAY_PAIRS_MASK(5);
}

void pair_code_lower(const PairCode *code, const uint8_t value[PAIR_GROUP],
                     uint8_t *lower)
{
    const uint8_t single = single_bits(code, value);
    uint32_t half[2] = { shared_of(code, value), shared_of(code, value + 4) };
    CodeWord item[PAIR_ITEMS];
    (void)pair_code_words(code, value, item);
    make_up(code, item, single, half);
    uint32_t shared = half[0] | half[1] << 4 | half[1] >> 28;
    if (code->low == FEWEST_STORED)
        shared |= shared >> 14;
    for (int i = 0; i < 4 && i < code->low; i++)
        lower[i] = (uint8_t)(shared >> 8 * i);
    if (code->low != 4)
        lower[code->low - 1] = single;
}
