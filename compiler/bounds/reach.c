/* SPDX-License-Identifier: Apache-2.0 */
#include "bounds/reach.h"

#include "ir/recipe.h"

Stretch span_of(int64_t elements)
{
    return (Stretch){ 0, i64_max(elements, 0) };
}

static bool is_empty(Stretch s)
{
    return s.lo >= s.hi;
}

Stretch span_times(Stretch s, int64_t n, int64_t stride)
{
    if (n <= 0 || is_empty(s))
        return (Stretch){ 0, 0 };
    const int64_t far = sat_mul(n - 1, stride);
    return (Stretch){ sat_add(s.lo, i64_min(far, 0)), sat_add(s.hi, i64_max(far, 0)) };
}

Stretch span_loop(Stretch s, int64_t n, int64_t stride)
{
    return span_times(s, i64_max(n, 1), stride);
}

Stretch span_nest(Stretch s, int loops, const int32_t *n, const int32_t *stride)
{
    for (int i = 0; i < loops; i++)
        s = span_loop(s, n[i], stride[i]);
    return s;
}

Stretch span_move(Stretch s, int64_t elements)
{
    return is_empty(s) ? s : (Stretch){ sat_add(s.lo, elements), sat_add(s.hi, elements) };
}

Stretch span_both(Stretch a, Stretch b)
{
    if (is_empty(a))
        return b;
    if (is_empty(b))
        return a;
    return (Stretch){ i64_min(a.lo, b.lo), i64_max(a.hi, b.hi) };
}

void bounds_refuse(Bounds *b, bool wrong, const char *why)
{
    if (wrong && !b->wrong)
        b->wrong = why;
}

int64_t bounds_size(Bounds *b, int64_t n)
{
    bounds_refuse(b, n < 0, "a size is negative");
    return i64_max(n, 0);
}

int64_t bounds_positive(Bounds *b, int64_t n)
{
    bounds_refuse(b, n < 1, "a stride or a divisor is not positive");
    return i64_max(n, 1);
}

void bounds_narrow(Bounds *b, int64_t n)
{
    bounds_refuse(b, n > INT32_MAX || n < INT32_MIN, "a place is beyond 32 bits");
}

int64_t sizes_product(Bounds *b, int count, const int32_t *n)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++)
        product = sat_mul(product, bounds_size(b, n[i]));
    return product;
}

int64_t sizes_walked(Bounds *b, int count, const int32_t *n)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++)
        product = sat_mul(product, i64_max(bounds_size(b, n[i]), 1));
    return product;
}

int64_t wide_product(Bounds *b, int count, const int64_t *n)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++)
        product = sat_mul(product, bounds_size(b, n[i]));
    return product;
}

int type_bits(char type)
{
    static const struct {
        char type;
        int bits;
    } known[] = {
        { 'f', 32 }, { 'd', 64 }, { 'b', 8 },   { 'h', 16 }, { 'i', 32 }, { 'l', 64 },
        { 'B', 8 },  { 'H', 16 }, { 'I', 32 },  { 'L', 64 }, { '1', 8 },  { '2', 16 },
        { '4', 32 }, { '8', 64 }, { 'x', 128 }, { 'n', 4 },  { 'q', 2 },  { '.', 8 },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == type)
            return known[i].bits;
    return 0;
}

/* Packed elements: the last byte may be filled in part. */
static int64_t bytes_of(char type, int64_t elements)
{
    const int64_t bits = sat_mul(elements, type_bits(type));
    return bits / 8 + (bits % 8 > 0) - (bits % 8 < 0);
}

static Reach *take(Bounds *b, int k, const char *name)
{
    Reach *r = k < b->step->n_operand ? b->reach + k : &b->beyond;
    bounds_refuse(b, r == &b->beyond, "it has fewer operands than its kernel");
    r->name = name;
    return r;
}

void touch_span(Bounds *b, int k, const char *name, Stretch s)
{
    Reach *r = take(b, k, name);
    if (is_empty(s))
        return;
    r->lo = bytes_of(r->type, s.lo);
    r->hi = bytes_of(r->type, s.hi);
}

void touch(Bounds *b, int k, const char *name, int64_t n)
{
    touch_span(b, k, name, span_of(bounds_size(b, n)));
}

void touch_each_row(Bounds *b, int k, const char *name, int64_t rows, Stretch s)
{
    Reach *r = take(b, k, name);
    r->by_row = true;
    if (is_empty(s) || rows <= 0)
        return;
    r->rows = rows;
    touch_span(b, k, name, s);
}

void touch_as(Bounds *b, int k, char type)
{
    take(b, k, NULL)->type = type;
}

void touch_needs(Bounds *b, int k)
{
    if (k < b->step->n_operand)
        b->reach[k].needed = true;
}

bool touch_given(const Bounds *b, int k)
{
    return k < b->step->n_operand && b->step->operand[k].tensor;
}

int64_t pixel_of(const Bounds *b, int k)
{
    return k < b->step->n_operand ? b->step->operand[k].pixel : 0;
}

Stretch span_pixels(const Bounds *b, int k, int64_t pixels, int64_t channels)
{
    return span_times(span_of(channels), pixels, pixel_of(b, k));
}

const void *bounds_values(const Bounds *b, int k, int64_t *count)
{
    const Tensor *t = touch_given(b, k) ? b->step->operand[k].tensor : NULL;
    *count = t ? tensor_count(t) : 0;
    if (!t || !t->value)
        return NULL;
    Store *store = b->program->graph->store;
    return recipe_values(store, &store->scratch, t->value);
}
