/* SPDX-License-Identifier: Apache-2.0
 * Columns are worked out from the model: which ones of its input a step needs for those of its
 * result that the manifest states, and whether the strip has them. */
#include "prove/strips.h"

#include <stdlib.h>

#include "base/size.h"

static int64_t pixel_bytes(const Operand *operand)
{
    return operand->pixel * dtype_bits(operand->tensor->dtype) / 8;
}

static int64_t width_of(const Operand *operand)
{
    const int64_t pixel = pixel_bytes(operand);
    return pixel ? operand->row_bytes / pixel : 0;
}

/* ---- columns that a step needs ---- */

/* Columns [lo, hi); empty where none is needed. */
typedef struct Needed {
    int64_t lo, hi;
} Needed;

static void need(Needed *needed, int64_t lo, int64_t hi)
{
    needed->lo = i64_min(needed->lo, lo);
    needed->hi = i64_max(needed->hi, hi);
}

/* Those that a tap of a transposed convolution reaches from column c. */
static void need_taps(Needed *needed, const ColumnRule *rule, int64_t c,
                      int64_t width)
{
    for (int64_t k = 0; k < rule->extent; k++) {
        const int64_t at = c + rule->pad - k * rule->dilation;
        const int64_t column = at / rule->stride;
        if (at >= 0 && at % rule->stride == 0 && column < width)
            need(needed, column, column + 1);
    }
}

/* Those that columns [lo, hi) of the result need of an operand. */
static Needed needed_of(const ColumnRule *rule, const Operand *operand,
                        int64_t lo, int64_t hi)
{
    const int64_t width = width_of(operand);
    Needed needed = { INT64_MAX, 0 };
    for (int64_t c = lo; c < hi; c++) {
        const int64_t at = c * rule->stride - rule->pad;
        if (rule->kind == COLUMNS_TAPS)
            need_taps(&needed, rule, c, width);
        else if (rule->kind == COLUMNS_TABLE)
            need(&needed, rule->table[c].lo, rule->table[c].hi);
        else
            need(&needed, i64_max(at, 0), i64_min(at + rule->extent, width));
    }
    return needed;
}

/* ---- what strips hold ---- */

StripSet strips_of(Arena *a, Program *p)
{
    StripSet set = { .arena = a, .program = p };
    const int ids = graph_root(p->graph)->next_id;
    set.first = NEW_ARRAY(a, int32_t, ids);
    set.tensors = ids;
    for (int i = 0; i < ids; i++)
        set.first[i] = -1;
    return set;
}

static StripPart *find(const StripSet *set, const Tensor *tensor, int32_t strip)
{
    int32_t i = tensor->id < set->tensors ? set->first[tensor->id] : -1;
    while (i >= 0 && set->part.at[i].strip != strip)
        i = set->part.at[i].next;
    return i < 0 ? NULL : set->part.at + i;
}

static Tensor *new_tensor(StripSet *set, DType dtype, Shape shape)
{
    Tensor *tensor = graph_add_tensor(set->program->graph, NULL, dtype, shape);
    tensor->storage = STORE_ARENA;
    tensor->slot = -1;
    return tensor;
}

static StripPart *add(StripSet *set, const Tensor *tensor,
                      const ClaimStep *claim)
{
    Shape shape = tensor->shape;
    int32_t *first = set->first + tensor->id;
    shape.dim[shape.rank - 2] = claim->end_column - claim->first_column;
    const StripPart part = {
        .strip = claim->strip,
        .next = *first,
        .lo = claim->first_column,
        .hi = claim->end_column,
        .tensor = new_tensor(set, tensor->dtype, shape),
    };
    *first = (int32_t)set->part.n;
    VEC_PUSH(set->arena, &set->part, part);
    return set->part.at + *first;
}

/* Columns [lo, hi) of an operand that begins with column `origin`. */
static const char *narrow(Operand *operand, int64_t lo, int64_t hi,
                          int64_t origin)
{
    if (lo == origin && hi - lo == width_of(operand))
        return NULL;
    if (operand->part)
        return "is a part of pixels, and some columns of them";
    operand->pitch = width_of(operand) * operand->pixel;
    operand->part = (hi - lo) * operand->pixel;
    operand->offset =
        i64_add(operand->offset, (lo - origin) * pixel_bytes(operand));
    return NULL;
}

static void take_part(Operand *operand, const StripPart *part)
{
    operand->row_bytes = (part->hi - part->lo) * pixel_bytes(operand);
    operand->tensor = part->tensor;
}

/* Columns of the whole result, which no other step may make. */
static void share(StripSet *set, const ClaimStep *claim, int64_t width)
{
    const StripShare made = {
        .lowered = claim->lowered.at[claim->lowered.n - 1],
        .lo = claim->first_column,
        .hi = claim->end_column,
        .width = (int32_t)width,
    };
    VEC_PUSH(set->arena, &set->share, made);
}

/* An image of which the kernel makes the columns asked for. */
static bool has_columns(const Operand *result, int32_t end)
{
    const Shape *shape = &result->tensor->shape;
    const int64_t width = width_of(result);
    return shape->rank >= 3 && shape->dim[shape->rank - 2] == width &&
           !result->tensor->view_of && result->strided && end <= width;
}

static const char *resolve_result(StripSet *set, const ClaimStep *claim,
                                  Operand *result)
{
    const ClaimOperand *claimed = claim->operand.at;
    if (set->rule.planes) {
        share(set, claim, set->there.hi);
        return claim->end_column <= set->there.hi ? NULL
                                                  : "has no such columns";
    }
    if (!has_columns(result, claim->end_column))
        return "has no such columns";
    /* else the strip's own, be it as wide as the whole */
    if (claimed->row == result->row_bytes && claimed->pitch) {
        share(set, claim, width_of(result));
        return narrow(result, claim->first_column, claim->end_column, 0);
    }
    StripPart *part = find(set, result->tensor, claim->strip);
    if (!part)
        part = add(set, result->tensor, claim);
    if (part->lo != claim->first_column || part->hi != claim->end_column)
        return "has other columns in this strip";
    take_part(result, part);
    return NULL;
}

/* An operand that is the same for all columns. */
static const char *resolve_other(const StripSet *set, const ClaimStep *claim,
                                 const Operand *operand)
{
    int64_t at;
    if (find(set, tensor_root(operand->tensor, &at), claim->strip))
        return "is read as a whole, of which the strip has some columns";
    return NULL;
}

/* Does the kernel find its columns in operand k by itself, and not from the first on? */
static bool finds_columns(const StripSet *set, int k)
{
    return k == 1 && !set->rule.planes && set->rule.kind != COLUMNS_SAME;
}

static bool same_columns(const StripSet *set, const Step *step,
                         const Operand *operand, int k)
{
    const bool planes = k == 1 && set->rule.planes;
    return operand->rows == step->units && pixel_bytes(operand) > 0 &&
           (operand->rule.kind == ROWS_SAME || planes);
}

const char *strips_begin(StripSet *set, const Step *step)
{
    set->rule = rules_columns(step);
    if (set->rule.kind == COLUMNS_NONE)
        return "is made by a kernel that cannot make some columns";
    set->there = (Columns){ 0, (int32_t)width_of(step->operand + 1) };
    return NULL;
}

void strips_cut(const StripSet *set, const ClaimStep *claim, const Step *step)
{
    const Columns y = { claim->first_column, claim->end_column };
    step->kernel->rules->cut(step, step->params, y, set->there);
}

/* Columns `needed` of an input: they are the strip's own, or it is read as a whole. */
static const char *resolve_columns(StripSet *set, const ClaimStep *claim,
                                   Operand *operand, Needed needed, bool finds)
{
    if (needed.lo >= needed.hi || needed.hi > width_of(operand))
        return "has no such columns";
    const StripPart *part = find(set, operand->tensor, claim->strip);
    const int64_t origin = part ? part->lo : 0;
    if (part && (needed.lo < part->lo || needed.hi > part->hi))
        return "is read beyond the columns that its strip has";
    if (part)
        take_part(operand, part);
    if (part && finds)
        set->there = (Columns){ part->lo, part->hi };
    return finds ? NULL : narrow(operand, needed.lo, needed.hi, origin);
}

static const char *resolve_input(StripSet *set, const ClaimStep *claim,
                                 const Step *step, int k, Operand *operand)
{
    Needed needed = { claim->first_column, claim->end_column };
    const bool finds = finds_columns(set, k);
    if (!finds && !same_columns(set, step, operand, k))
        return resolve_other(set, claim, operand);
    if (finds)
        needed = needed_of(&set->rule, operand, needed.lo, needed.hi);
    return resolve_columns(set, claim, operand, needed, finds);
}

const char *strips_resolve(StripSet *set, const ClaimStep *claim,
                           const Step *step, int k, Operand *operand)
{
    const Tensor *tensor = operand->tensor;
    if (tensor && operand->scratch && claim->lowered.n == 1)
        operand->tensor = new_tensor(set, tensor->dtype, tensor->shape);
    if (!tensor || operand->scratch)
        return NULL;
    if (k == 0)
        return resolve_result(set, claim, operand);
    return resolve_input(set, claim, step, k, operand);
}

/* ---- all of them ---- */

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
        if (s[i].lo != (first ? 0 : s[i - 1].hi) ||
            (last && s[i].hi != s[i].width))
            return "is done for some columns twice, or not at all";
    }
    return NULL;
}
