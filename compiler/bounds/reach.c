/* SPDX-License-Identifier: Apache-2.0 */
#include "bounds/reach.h"

#include "base/limits.h"
#include "ir/recipe.h"

Stretch span_of(int64_t elements)
{
    return (Stretch){ 0, i64_max(elements, 0) };
}

static bool is_empty(Stretch stretch)
{
    return stretch.lo >= stretch.hi;
}

Stretch span_times(Stretch stretch, int64_t n, int64_t stride)
{
    if (n <= 0 || is_empty(stretch))
        return (Stretch){ 0, 0 };
    const int64_t far = sat_mul(n - 1, stride);
    return (Stretch){ sat_add(stretch.lo, i64_min(far, 0)),
                      sat_add(stretch.hi, i64_max(far, 0)) };
}

Stretch span_loop(Stretch stretch, int64_t n, int64_t stride)
{
    return span_times(stretch, i64_max(n, 1), stride);
}

Stretch span_nest(Stretch stretch, int loops, const int32_t *n,
                  const int32_t *stride)
{
    for (int i = 0; i < loops; i++)
        stretch = span_loop(stretch, n[i], stride[i]);
    return stretch;
}

Stretch span_move(Stretch stretch, int64_t elements)
{
    return is_empty(stretch) ? stretch
                             : (Stretch){ sat_add(stretch.lo, elements),
                                          sat_add(stretch.hi, elements) };
}

Stretch span_both(Stretch a, Stretch b)
{
    if (is_empty(a))
        return b;
    if (is_empty(b))
        return a;
    return (Stretch){ i64_min(a.lo, b.lo), i64_max(a.hi, b.hi) };
}

void bounds_refuse(Bounds *bounds, bool wrong, const char *why)
{
    if (wrong && !bounds->wrong)
        bounds->wrong = why;
}

int64_t bounds_size(Bounds *bounds, int64_t n)
{
    bounds_refuse(bounds, n < 0, "a size is negative");
    return i64_max(n, 0);
}

int64_t bounds_positive(Bounds *bounds, int64_t n)
{
    bounds_refuse(bounds, n < 1, "a stride or a divisor is not positive");
    return i64_max(n, 1);
}

bool bounds_rank(Bounds *bounds, int64_t rank, int64_t least)
{
    const bool wrong = rank < least || rank > 8;
    bounds_refuse(bounds, wrong,
                  "it has another number of loops than its kernel");
    return !wrong;
}

void bounds_narrow(Bounds *bounds, int64_t n)
{
    bounds_refuse(bounds, n > INT32_MAX || n < INT32_MIN,
                  "a place is beyond 32 bits");
}

int64_t sizes_product(Bounds *bounds, int count, const int32_t *n)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++)
        product = sat_mul(product, bounds_size(bounds, n[i]));
    return product;
}

int64_t sizes_walked(Bounds *bounds, int count, const int32_t *n)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++)
        product = sat_mul(product, i64_max(bounds_size(bounds, n[i]), 1));
    return product;
}

int64_t wide_product(Bounds *bounds, int count, const int64_t *n)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++)
        product = sat_mul(product, bounds_size(bounds, n[i]));
    return product;
}

int type_bits(char type)
{
    static const struct {
        char type;
        int bits;
    } known[] = {
        { 'f', 32 }, { 'd', 64 }, { 'b', 8 },  { 'h', 16 }, { 'i', 32 },
        { 'l', 64 }, { 'B', 8 },  { 'H', 16 }, { 'I', 32 }, { 'L', 64 },
        { '1', 8 },  { '2', 16 }, { '4', 32 }, { '8', 64 }, { 'x', 128 },
        { 'n', 4 },  { 'q', 2 },  { '.', 8 },
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

static Reach *take(Bounds *bounds, int k, const char *name)
{
    Reach *r =
        k < bounds->step->n_operand ? bounds->reach + k : &bounds->beyond;
    bounds_refuse(bounds, r == &bounds->beyond,
                  "it has fewer operands than its kernel");
    r->name = name;
    return r;
}

void touch_span(Bounds *bounds, int k, const char *name, Stretch stretch)
{
    Reach *reach = take(bounds, k, name);
    if (is_empty(stretch))
        return;
    reach->lo = bytes_of(reach->type, stretch.lo);
    reach->hi = bytes_of(reach->type, stretch.hi);
}

void touch(Bounds *bounds, int k, const char *name, int64_t n)
{
    touch_span(bounds, k, name, span_of(bounds_size(bounds, n)));
}

void touch_each_row(Bounds *bounds, int k, const char *name, int64_t rows,
                    Stretch stretch)
{
    Reach *reach = take(bounds, k, name);
    reach->by_row = true;
    if (is_empty(stretch) || rows <= 0)
        return;
    reach->rows = rows;
    touch_span(bounds, k, name, stretch);
}

void touch_units(Bounds *bounds, int k, const char *name, Stretch stretch)
{
    touch_each_row(bounds, k, name, bounds->step->units, stretch);
}

void touch_as(Bounds *bounds, int k, char type)
{
    take(bounds, k, NULL)->type = type;
}

void touch_needs(Bounds *bounds, int k)
{
    if (k < bounds->step->n_operand)
        bounds->reach[k].needed = true;
}

void touch_any(Bounds *bounds, int first, int end)
{
    for (int k = first; k < end && k < bounds->step->n_operand; k++)
        bounds->reach[k].any = true;
}

void touch_any_floats(Bounds *bounds, int first, int end)
{
    for (int k = first; k < end && k < bounds->step->n_operand; k++) {
        Reach *r = bounds->reach + k;
        r->any |= r->type == 'f' || r->type == 'd';
    }
}

bool touch_given(const Bounds *bounds, int k)
{
    return k < bounds->step->n_operand && bounds->step->operand[k].tensor;
}

int64_t pixel_of(const Bounds *bounds, int k)
{
    return k < bounds->step->n_operand ? bounds->step->operand[k].pixel : 0;
}

Stretch span_pixels(const Bounds *bounds, int k, int64_t pixels,
                    int64_t channels)
{
    return span_times(span_of(channels), pixels, pixel_of(bounds, k));
}

const void *bounds_values(const Bounds *bounds, int k, int64_t *count)
{
    const Tensor *t =
        touch_given(bounds, k) ? bounds->step->operand[k].tensor : NULL;
    *count = t ? tensor_count(t) : 0;
    if (!t || !t->value)
        return NULL;
    bounds->reach[k].believed = true;
    if (tensor_bytes(t) > LIMIT_TABLE)
        fail_at(STATUS_UNSUPPORTED,
                bounds->step->node ? node_loc(bounds->step->node) : LOC_NONE,
                "SECURITY.md lists the limits",
                "its table has more than %d bytes", LIMIT_TABLE);
    Store *store = bounds->program->graph->store;
    return recipe_values(store, &store->scratch, t->value);
}

int64_t up_to_four(int64_t channels)
{
    return sat_mul(i64_ceil_div(channels, 4), 4);
}

void bounds_axis(Bounds *bounds, int64_t out, int64_t stride, int64_t pad,
                 int64_t taps, int64_t dilation)
{
    bounds_size(bounds, out);
    bounds_size(bounds, taps);
    const int64_t last = sat_mul(out, bounds_positive(bounds, stride));
    const int64_t extent = sat_mul(taps, bounds_positive(bounds, dilation));
    const int64_t end = sat_add(last, extent);
    bounds_narrow(bounds, end);
    bounds_narrow(bounds, sat_add(end, -pad));
    bounds_narrow(bounds, sat_add(end, pad));
}

/* A row of pixels of operand k. */
static Stretch image_row(Bounds *bounds, int k, int64_t pixels,
                         int64_t channels)
{
    const int64_t wide = bounds_size(bounds, pixels);
    const int64_t deep = bounds_size(bounds, channels);
    return span_pixels(bounds, k, wide, deep);
}

void touch_image(Bounds *bounds, int k, const char *name, int64_t pixels,
                 int64_t channels)
{
    const Stretch row = image_row(bounds, k, pixels, channels);
    touch_units(bounds, k, name, row);
}

void touch_source(Bounds *bounds, int64_t rows, int64_t pixels,
                  int64_t channels)
{
    const Stretch row = image_row(bounds, 1, pixels, channels);
    touch_each_row(bounds, 1, "input", rows, row);
}

int64_t image_rows(Bounds *bounds, int64_t high, int64_t rows)
{
    const int64_t units = bounds->step->units;
    if (units <= 0)
        return 0;
    const int64_t images = i64_ceil_div(units, bounds_positive(bounds, high));
    return sat_mul(images, rows);
}
