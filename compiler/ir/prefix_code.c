/* SPDX-License-Identifier: Apache-2.0
 * Classes by the cheapest path over the bytes, prefixes by package-merge. Logarithms are whole
 * numbers, so that the code is the same on each machine. */
#include "ir/prefix_code.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inlay_coded.h"

enum {
    ONE = PREFIX_BIT,
    CLASS_COST = 16 * ONE, /* bits of the book */
    NAT = 94548,           /* 1 / ln 2 */
    MOST_COUNT_BITS = 40
};

/* The logarithm of base 2, in units of 1 / ONE; x is not 0. */
static uint64_t log2_of(uint64_t x)
{
    uint64_t whole = 0;
    uint64_t part = 0;
    while (x >> whole > 1)
        whole++;
    uint64_t m = whole > 31 ? x >> (whole - 31) : x << (31 - whole);
    for (int i = 0; i < 16; i++) {
        m = m * m >> 31;
        const bool more = m >> 32;
        part = part << 1 | more;
        m >>= more;
    }
    return whole << 16 | part;
}

static uint64_t sum_of(const uint64_t count[CODE_BYTES])
{
    uint64_t sum = 0;
    for (int i = 0; i < CODE_BYTES; i++)
        sum += count[i];
    return sum;
}

uint64_t prefix_code_bound(const uint64_t count[CODE_BYTES])
{
    const uint64_t all = log2_of(sum_of(count));
    uint64_t bound = 0;
    uint64_t part = 0; /* of a bit */
    for (int i = 0; i < CODE_BYTES; i++) {
        if (!count[i])
            continue;
        const uint64_t each = all - log2_of(count[i]);
        bound += count[i] * (each >> 16);
        part += count[i] * (each & (ONE - 1));
    }
    return bound + (part >> 16);
}

/* ---- classes ---- */

/* The bytes around the circle, so that the longest gap is at its end. */
typedef struct Circle {
    int start;
    uint64_t before[CODE_BYTES + 1]; /* how often those before it come */
} Circle;

/* The byte behind the longest run of bytes that do not come. */
static int behind_gap(const uint64_t count[CODE_BYTES])
{
    int longest = 0;
    int gap = 0;
    int start = 0;
    for (int i = 0; i < 2 * CODE_BYTES; i++) {
        if (!count[i % CODE_BYTES]) {
            gap++;
            continue;
        }
        if (gap > longest) {
            longest = gap;
            start = i % CODE_BYTES;
        }
        gap = 0;
    }
    return start;
}

static Circle circle_of(const uint64_t count[CODE_BYTES])
{
    Circle circle = { .start = behind_gap(count) };
    for (int i = 0; i < CODE_BYTES; i++)
        circle.before[i + 1] =
            circle.before[i] + count[(circle.start + i) % CODE_BYTES];
    return circle;
}

uint64_t prefix_cost(uint64_t all, uint64_t count, int most)
{
    const uint64_t least = all >> most;
    const uint64_t lost = count < least ? (least - count) * NAT : 0;
    const uint64_t longest = (uint64_t)most * ONE;
    const uint64_t bits = log2_of(all) - log2_of(count);
    return count * (bits < longest ? bits : longest) + lost;
}

/* The cheapest way from a byte to the end. */
typedef struct Way {
    uint64_t cost;
    int number; /* bits of the class that begins here; -1: the byte does not come */
} Way;

static Way best_way(const Circle *circle, const Way *way, int at,
                    uint64_t class_cost)
{
    const uint64_t all = circle->before[CODE_BYTES];
    Way best = { .cost = UINT64_MAX };
    if (circle->before[at + 1] == circle->before[at])
        best = (Way){ way[at + 1].cost, -1 };
    for (int number = 0; number <= INLAY_CODE_NUMBER; number++) {
        const int end = at + (1 << number);
        if (end > CODE_BYTES)
            break;
        const uint64_t count = circle->before[end] - circle->before[at];
        if (!count)
            continue;
        const uint64_t cost = prefix_cost(all, count, INLAY_CODE_PREFIX) +
                              count * (uint64_t)number * ONE + class_cost +
                              way[end].cost;
        if (cost < best.cost)
            best = (Way){ cost, number };
    }
    return best;
}

/* Classes, each with how often it comes; returns their number, which may be too large. */
static int divide(const Circle *circle, uint64_t class_cost, CodeClass *of,
                  uint64_t *count)
{
    Way way[CODE_BYTES + 1];
    int classes = 0;
    way[CODE_BYTES] = (Way){ 0, -1 };
    for (int at = CODE_BYTES - 1; at >= 0; at--)
        way[at] = best_way(circle, way, at, class_cost);
    for (int at = 0; at < CODE_BYTES;) {
        const int number = way[at].number;
        const int end = number < 0 ? at + 1 : at + (1 << number);
        if (number >= 0) {
            of[classes] = (CodeClass){
                .first = (uint8_t)(circle->start + at),
                .number = (uint8_t)number,
            };
            count[classes++] = circle->before[end] - circle->before[at];
        }
        at = end;
    }
    return classes;
}

/* ---- prefixes ---- */

/* Classes together: how often they come, and which of them how many times. */
typedef struct Package {
    uint64_t count;
    uint8_t times[CODE_CLASSES];
} Package;

typedef struct Packages {
    int n;
    Package at[2 * CODE_CLASSES];
} Packages;

static int by_count(const void *a, const void *b)
{
    const Package *x = a;
    const Package *y = b;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return -memcmp(x->times, y->times, sizeof x->times);
}

static Package together(const Package *a, const Package *b)
{
    Package both = *a;
    both.count += b->count;
    for (int i = 0; i < CODE_CLASSES; i++)
        both.times[i] = (uint8_t)(both.times[i] + b->times[i]);
    return both;
}

/* A level: the classes by themselves, and the packages of the last level in pairs. */
static void add_level(Packages *list, const Packages *leaf)
{
    const int pairs = list->n / 2;
    for (int i = 0; i < pairs; i++)
        list->at[i] = together(list->at + 2 * i, list->at + 2 * i + 1);
    memcpy(list->at + pairs, leaf->at, (size_t)leaf->n * sizeof *leaf->at);
    list->n = pairs + leaf->n;
    qsort(list->at, (size_t)list->n, sizeof *list->at, by_count);
}

void prefix_lengths(const uint64_t *count, int n, int most, uint8_t *bits)
{
    Packages leaf = { .n = n };
    Packages list = { .n = 0 };
    assert(n <= CODE_CLASSES && n <= 1 << most);
    for (int i = 0; i < n; i++) {
        leaf.at[i] = (Package){ .count = count[i] };
        leaf.at[i].times[i] = 1;
    }
    for (int bit = 0; bit < most; bit++)
        add_level(&list, &leaf);
    memset(bits, n == 1, (size_t)n);
    for (int k = 0; k < 2 * n - 2; k++)
        for (int i = 0; i < n; i++)
            bits[i] = (uint8_t)(bits[i] + list.at[k].times[i]);
}

static void set_prefixes(CodeClass *of, const uint64_t *count, int classes)
{
    uint8_t bits[CODE_CLASSES];
    prefix_lengths(count, classes, INLAY_CODE_PREFIX, bits);
    for (int i = 0; i < classes; i++)
        of[i].prefix = bits[i];
}

static int by_prefix(const void *a, const void *b)
{
    const CodeClass *x = a;
    const CodeClass *y = b;
    if (x->prefix != y->prefix)
        return x->prefix - y->prefix;
    return x->first - y->first;
}

/* The words of all bytes of the classes. */
static void set_words(PrefixCode *code)
{
    int at = 0;
    for (int c = 0; c < code->classes; c++) {
        const CodeClass *own = code->of + c;
        const int span = INLAY_CODE_ENTRIES >> own->prefix;
        const int word = at / span << own->number;
        for (int i = 0; i < 1 << own->number; i++)
            code->word[(own->first + i) % CODE_BYTES] = (CodeWord){
                (uint16_t)(word + i),
                (uint8_t)(own->prefix + own->number),
            };
        at += span;
    }
    assert(at <= INLAY_CODE_ENTRIES);
}

void prefix_code_make(PrefixCode *code, const uint64_t count[CODE_BYTES])
{
    const Circle circle = circle_of(count);
    CodeClass of[CODE_BYTES];
    uint64_t comes[CODE_BYTES];
    uint64_t class_cost = CLASS_COST;
    assert(circle.before[CODE_BYTES] &&
           !(circle.before[CODE_BYTES] >> MOST_COUNT_BITS));
    *code = (PrefixCode){ .classes = divide(&circle, class_cost, of, comes) };
    while (code->classes > CODE_CLASSES) {
        class_cost *= 2;
        code->classes = divide(&circle, class_cost, of, comes);
    }
    memcpy(code->of, of, (size_t)code->classes * sizeof *of);
    set_prefixes(code->of, comes, code->classes);
    qsort(code->of, (size_t)code->classes, sizeof *code->of, by_prefix);
    set_words(code);
}

void prefix_code_book(const PrefixCode *code, uint8_t *book)
{
    for (int c = 0; c < code->classes; c++) {
        const CodeClass *own = code->of + c;
        book[2 * c] = own->first;
        book[2 * c + 1] = (uint8_t)(own->prefix | own->number << 4);
    }
}

uint64_t prefix_code_bits(const PrefixCode *code,
                          const uint64_t count[CODE_BYTES])
{
    uint64_t bits = 0;
    for (int i = 0; i < CODE_BYTES; i++)
        bits += count[i] * code->word[i].bits;
    return bits;
}
