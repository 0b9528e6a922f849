/* SPDX-License-Identifier: Apache-2.0
 * Columns are worked out from the model: which ones of its input a step needs for those of its
 * result that the manifest states, and whether the strip has them. */
#include "prove/strips.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* Kernels that make each column of the result by itself, by their parameters. */
static const char *const by_column[] = { "conv",        "dwpw",  "qconv",     "pool", "affine",
                                         "affine_conv", "quant", "concat",    "flat", "nd2",
                                         "nd3",         "move",  "move_rows", "pick", "resample" };

static bool makes_columns(const Step *s)
{
    for (size_t i = 0; i < sizeof by_column / sizeof *by_column; i++)
        if (!strcmp(s->kernel->params, by_column[i]))
            return true;
    return false;
}

static const int32_t *find_field(const Step *s, const char *name)
{
    for (int i = 0; i < s->kernel->fields; i++)
        if (!strcmp(s->kernel->field[i].name, name))
            return (const int32_t *)(const void *)((const unsigned char *)s->params +
                                                   s->kernel->field[i].offset);
    return NULL;
}

static int64_t pixel_bytes(const Operand *operand)
{
    return operand->pixel * dtype_bits(operand->tensor->dtype) / 8;
}
static int64_t width_of(const Operand *operand)
{
    return pixel_bytes(operand) ? operand->row_bytes / pixel_bytes(operand) : 0;
}

static bool is_transposed(const Step *s)
{
    return !strncmp(s->kernel->name, "deconv", 6);
}

/* Columns of the input that tap k reaches from column c of the result; -1: none. */
static int64_t tap_column(const Step *s, int64_t c, int64_t k)
{
    const int64_t stride = *find_field(s, "sw");
    const int64_t at = c + *find_field(s, "pw") - k * *find_field(s, "dw");
    return at < 0 || at % stride ? -1 : at / stride;
}

/* Phases of a transposed convolution that have taps. */
static int64_t phases_of(const Step *s)
{
    int64_t a = *find_field(s, "sw");
    int64_t b = *find_field(s, "dw");
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return *find_field(s, "sw") / a;
}

/* kw counts the taps of a phase. */
static void window_back(const Step *s, int64_t width, int64_t *lo, int64_t *hi)
{
    const int64_t taps = *find_field(s, "kw") * phases_of(s);
    int64_t first = width;
    int64_t end = 0;
    for (int64_t c = *lo; c < *hi; c++)
        for (int64_t k = 0; k < taps; k++) {
            const int64_t x = tap_column(s, c, k);
            if (x < 0 || x >= width)
                continue;
            first = i64_min(first, x);
            end = i64_max(end, x + 1);
        }
    *lo = first, *hi = end;
}

static void window(const Step *s, int64_t width, int64_t *lo, int64_t *hi)
{
    const int64_t stride = *find_field(s, "sw");
    const int64_t pad = *find_field(s, "pw");
    const int64_t taps = *find_field(s, "kw");
    const int64_t step = *find_field(s, "dw");
    *lo = i64_max(*lo * stride - pad, 0);
    *hi = i64_min((*hi - 1) * stride - pad + (taps - 1) * step + 1, width);
}

static void table(const Operand *operand, int64_t *lo, int64_t *hi)
{
    const Rows *c = operand->columns;
    int64_t first = INT64_MAX;
    int64_t end = 0;
    for (int64_t i = *lo; i < *hi; i++)
        first = i64_min(first, c[i].lo), end = i64_max(end, c[i].hi);
    *lo = first, *hi = end;
}

/* Does the kernel find its columns in operand k by itself, and not from the first on? */
static bool slides(const Step *s, const Operand *operand, int k)
{
    return k == 1 &&
           (find_field(s, "kw") || operand->columns || !strcmp(s->kernel->params, "resample") ||
            !strcmp(s->kernel->params, "move_rows"));
}

/* Columns [*lo, *hi) of the result become those of the operand that it needs. */
static void reach(const Step *s, const Operand *operand, int64_t *lo, int64_t *hi)
{
    const int32_t *x_pixel = find_field(s, "x_pixel");
    if (is_transposed(s))
        window_back(s, width_of(operand), lo, hi);
    else if (find_field(s, "kw"))
        window(s, width_of(operand), lo, hi);
    else if (operand->columns)
        table(operand, lo, hi);
    else if (x_pixel)
        *lo += *x_pixel, *hi += *x_pixel;
}

StripSet strips_of(Arena *a, Program *p)
{
    StripSet set = { .arena = a, .program = p };
    const int ids = graph_root(p->graph)->next_id;
    set.first = NEW_ARRAY(a, int32_t, ids + 1);
    for (int i = 0; i < ids; i++)
        set.first[i] = -1;
    return set;
}

static StripPart *find(const StripSet *set, const Tensor *tensor, int32_t strip)
{
    for (int32_t i = set->first[tensor->id]; i >= 0; i = set->part.at[i].next)
        if (set->part.at[i].strip == strip)
            return set->part.at + i;
    return NULL;
}

static Tensor *new_tensor(StripSet *set, DType dtype, Shape shape)
{
    Tensor *tensor = graph_add_tensor(set->program->graph, NULL, dtype, shape);
    tensor->storage = STORE_ARENA;
    tensor->slot = -1;
    return tensor;
}

static StripPart *add(StripSet *set, const Tensor *tensor, const ClaimStep *claim)
{
    Shape shape = tensor->shape;
    shape.dim[shape.rank - 2] = claim->end_column - claim->first_column;
    VEC_PUSH(set->arena, &set->part,
             ((StripPart){ claim->strip, set->first[tensor->id], claim->first_column,
                           claim->end_column, new_tensor(set, tensor->dtype, shape) }));
    set->first[tensor->id] = (int32_t)set->part.n - 1;
    return set->part.at + set->part.n - 1;
}

/* Columns [lo, hi) of an operand that begins with column `origin`. */
static const char *narrow(Operand *operand, int64_t lo, int64_t hi, int64_t origin)
{
    if (lo == origin && hi - lo == width_of(operand))
        return NULL;
    if (operand->part)
        return "is a part of pixels, and some columns of them";
    operand->pitch = width_of(operand) * operand->pixel;
    operand->part = (hi - lo) * operand->pixel;
    operand->offset = i64_add(operand->offset, (lo - origin) * pixel_bytes(operand));
    return NULL;
}

static void take_part(Operand *operand, const StripPart *part)
{
    operand->row_bytes = (part->hi - part->lo) * pixel_bytes(operand);
    operand->tensor = part->tensor;
}

/* An image that becomes planes in the caller's buffer: which columns it takes is all that counts.
 */
static bool scatters(const Step *s)
{
    const int32_t *rows = find_field(s, "rows");
    const int32_t *pixel = find_field(s, "pixel");
    return !strcmp(s->kernel->params, "move") && *rows == 2 && *pixel >= 0 &&
           s->operand->tensor->storage == STORE_OUTPUT;
}

static const char *resolve_result(StripSet *set, const ClaimStep *c, const Step *lowered,
                                  Operand *o, const ClaimOperand *claim)
{
    const Shape *shape = &o->tensor->shape;
    const int64_t width = width_of(scatters(lowered) ? lowered->operand + 1 : o);
    if (scatters(lowered) && c->end_column <= width) {
        VEC_PUSH(set->arena, &set->share,
                 ((StripShare){ c->lowered.at[c->lowered.n - 1], c->first_column, c->end_column,
                                (int32_t)width }));
        return NULL;
    }
    if (!makes_columns(lowered))
        return "is made by a kernel that cannot make some columns";
    if (shape->rank < 3 || shape->dim[shape->rank - 2] != width || o->tensor->view_of ||
        !o->strided || c->end_column > width)
        return "has no such columns";
    if (claim->row == o->row_bytes &&
        claim->pitch) { /* else the strip's own, be it as wide as the whole */
        VEC_PUSH(set->arena, &set->share,
                 ((StripShare){ c->lowered.at[c->lowered.n - 1], c->first_column, c->end_column,
                                (int32_t)width }));
        return narrow(o, c->first_column, c->end_column, 0);
    }
    StripPart *part = find(set, o->tensor, c->strip);
    if (!part)
        part = add(set, o->tensor, c);
    if (part->lo != c->first_column || part->hi != c->end_column)
        return "has other columns in this strip";
    take_part(o, part);
    return NULL;
}

/* An operand that repeats must be the same for all columns. */
static const char *resolve_other(const StripSet *set, const ClaimStep *claim, const Step *lowered,
                                 const Operand *operand)
{
    const Shape *shape = &operand->tensor->shape;
    int64_t at;
    if (find(set, tensor_root(operand->tensor, &at), claim->strip))
        return "is read as a whole, of which the strip has some columns";
    if (!strncmp(lowered->kernel->params, "nd", 2) && shape->rank >= 2 &&
        shape->dim[shape->rank - 2] != 1)
        return "differs from column to column";
    return NULL;
}

const char *strips_resolve(StripSet *set, const ClaimStep *claim, const Step *lowered,
                           const Step *s, int k, Operand *o)
{
    if (o->tensor && o->scratch && claim->lowered.n == 1)
        o->tensor = new_tensor(set, o->tensor->dtype, o->tensor->shape);
    if (!o->tensor || o->scratch)
        return NULL;
    if (k == 0)
        return resolve_result(set, claim, lowered, o, claim->operand.at);
    int64_t lo = claim->first_column;
    int64_t hi = claim->end_column;
    const bool moves = slides(lowered, o, k);
    const bool by_row = o->rule.kind == ROWS_SAME || (k == 1 && scatters(lowered));
    if (!moves && (o->rows != s->units || !by_row || pixel_bytes(o) <= 0))
        return resolve_other(set, claim, lowered, o);
    if (moves)
        reach(lowered, o, &lo, &hi);
    if (lo < 0 || lo >= hi || hi > width_of(o))
        return "has no such columns";
    const StripPart *part = find(set, o->tensor, claim->strip);
    if (!part)
        return moves ? NULL : narrow(o, lo, hi, 0);
    if (lo < part->lo || hi > part->hi)
        return "is read beyond the columns that its strip has";
    take_part(o, part);
    return moves ? NULL : narrow(o, lo, hi, part->lo);
}

static int by_place(const void *a, const void *b)
{
    const StripShare *x = a;
    const StripShare *y = b;
    if (x->lowered != y->lowered)
        return x->lowered < y->lowered ? -1 : 1;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

const char *strips_settle(const StripSet *set, int32_t *lowered)
{
    StripShare *s = set->share.at;
    const size_t n = set->share.n;
    if (n)
        qsort(s, n, sizeof *s, by_place);
    for (size_t i = 0; i < n; i++) {
        const bool first = i == 0 || s[i - 1].lowered != s[i].lowered;
        const bool last = i + 1 == n || s[i + 1].lowered != s[i].lowered;
        *lowered = s[i].lowered;
        if (s[i].lo != (first ? 0 : s[i - 1].hi) || (last && s[i].hi != s[i].width))
            return "is done for some columns twice, or not at all";
    }
    return NULL;
}
