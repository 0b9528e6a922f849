/* SPDX-License-Identifier: 0BSD
 * TopK, Unique, CumSum, CumProd and Range for one element type. Included by order.h. */

static inline int inlay_typed(topk_better)(const inlay_topk_params *p,
                                           INLAY_T a, INLAY_T b)
{
    return p->largest ? a > b : a < b;
}

/* Element i of the line goes to its place among the `found` best so far, of which the last is lost
 * where there is no room for more. */
static inline void inlay_typed(topk_insert)(const inlay_topk_params *p,
                                            INLAY_T *best, int64_t *index,
                                            INLAY_T value, int32_t i,
                                            int32_t found)
{
    const ptrdiff_t step = p->inner;
    ptrdiff_t at = found * step;
    if (found == p->k) {
        at -= step;
        if (!inlay_typed(topk_better)(p, value, best[at]))
            return;
    }
    while (at > 0) {
        const ptrdiff_t before = at - step;
        if (!inlay_typed(topk_better)(p, value, best[before]))
            break;
        best[at] = best[before];
        index[at] = index[before];
        at = before;
    }
    best[at] = value;
    index[at] = i;
}

/* The best k of the line x, whose elements lie `inner` apart as those of the results do. */
static inline void inlay_typed(topk_line)(const inlay_topk_params *p,
                                          INLAY_T *best, int64_t *index,
                                          const INLAY_T *x)
{
    const ptrdiff_t step = p->inner;
    int32_t i;
    for (i = 0; i < p->n; i++) {
        const INLAY_T value = x[i * step];
        const int32_t found = i < p->k ? i : p->k;
        inlay_typed(topk_insert)(p, best, index, value, i, found);
    }
}

static inline int inlay_typed(topk)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_topk_params *p = (const inlay_topk_params *)s->params;
    INLAY_T *best = (INLAY_T *)inlay_at(base, s, 0);
    int64_t *index = (int64_t *)inlay_at(base, s, 1);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 2);
    int32_t o, c;
    (void)r0;
    (void)r1;
    for (o = 0; o < p->outer; o++)
        for (c = 0; c < p->inner; c++) {
            const ptrdiff_t to = (ptrdiff_t)o * p->k * p->inner + c;
            const ptrdiff_t from = (ptrdiff_t)o * p->n * p->inner + c;
            inlay_typed(topk_line)(p, best + to, index + to, x + from);
        }
    return 0;
}

static inline int inlay_typed(unique_same)(INLAY_T a, INLAY_T b)
{
    return a == b;
}

/* -1, 0 or 1. What is no number lies behind all numbers and is like another: else a slice that was
 * found once would not be found again. */
static inline int inlay_typed(unique_order)(INLAY_T a, INLAY_T b)
{
    if (a < b)
        return -1;
    if (a > b)
        return 1;
    if (a == b)
        return 0;
    return inlay_typed(unique_same)(b, b) - inlay_typed(unique_same)(a, a);
}

/* Slices a and b, element by element: -1, 0 or 1. */
static inline int inlay_typed(unique_compare)(const inlay_unique_params *p,
                                              const INLAY_T *x, int32_t a,
                                              int32_t b)
{
    const ptrdiff_t block = (ptrdiff_t)p->n * p->inner;
    const INLAY_T *first = x + (ptrdiff_t)a * p->inner;
    const INLAY_T *second = x + (ptrdiff_t)b * p->inner;
    int32_t o, i;
    for (o = 0; o < p->outer; o++) {
        for (i = 0; i < p->inner; i++) {
            const int way = inlay_typed(unique_order)(first[i], second[i]);
            if (way)
                return way;
        }
        first += block;
        second += block;
    }
    return 0;
}

/* Where slice i is, or belongs, among the kinds found; order[k] is the first slice of kind k,
 * ascending. */
static inline int32_t inlay_typed(unique_find)(const inlay_unique_params *p,
                                               const INLAY_T *x,
                                               const int32_t *order,
                                               int32_t kinds, int32_t i,
                                               int *known)
{
    int32_t low = 0;
    int32_t high = kinds;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        const int way = inlay_typed(unique_compare)(p, x, i, order[middle]);
        *known = way == 0;
        if (*known)
            return middle;
        if (way < 0)
            high = middle;
        else
            low = middle + 1;
    }
    *known = 0;
    return low;
}

/* Fills `order`; how many kinds there are, or -1: more than there is room for. */
static inline int32_t inlay_typed(unique_kinds)(const inlay_unique_params *p,
                                                const INLAY_T *x,
                                                int32_t *order)
{
    int32_t kinds = 0;
    int32_t i;
    for (i = 0; i < p->n; i++) {
        int known;
        const int32_t k =
            inlay_typed(unique_find)(p, x, order, kinds, i, &known);
        if (known)
            continue;
        if (kinds == p->found)
            return -1;
        memmove(order + k + 1, order + k, (size_t)(kinds - k) * sizeof *order);
        order[k] = i;
        kinds++;
    }
    return kinds;
}

/* Copies the slice that stands for each kind to its place. */
static inline void inlay_typed(unique_copy)(const inlay_unique_params *p,
                                            INLAY_T *y, const INLAY_T *x,
                                            const int32_t *order,
                                            const int32_t *place, int32_t kinds)
{
    const size_t bytes = (size_t)p->inner * sizeof *y;
    int32_t k, o;
    memset(y, 0, (size_t)p->outer * (size_t)p->found * bytes);
    for (k = 0; k < kinds; k++)
        for (o = 0; o < p->outer; o++) {
            const ptrdiff_t to = (ptrdiff_t)o * p->found + place[k];
            const ptrdiff_t from = (ptrdiff_t)o * p->n + order[k];
            memcpy(y + to * p->inner, x + from * p->inner, bytes);
        }
}

/* How the slices and the kinds belong together: inverse[slice] is the place of its kind,
 * counts[place] the number of its slices. Either may be NULL. */
static inline void
inlay_typed(unique_indices)(const inlay_unique_params *p, const INLAY_T *x,
                            const int32_t *order, const int32_t *place,
                            int32_t kinds, int64_t *inverse, int64_t *counts)
{
    int32_t i, k;
    int known;
    for (k = 0; k < p->found && counts; k++)
        counts[k] = 0;
    for (i = 0; i < p->n && (inverse || counts); i++) {
        k = inlay_typed(unique_find)(p, x, order, kinds, i, &known);
        if (inverse)
            inverse[i] = place[k];
        if (counts)
            counts[place[k]]++;
    }
}

/* All operands of the result but the count: y, first, inverse and counts. */
static inline void inlay_typed(unique_write)(void *const *base,
                                             const inlay_step *s,
                                             const int32_t *order,
                                             const int32_t *place,
                                             int32_t kinds)
{
    const inlay_unique_params *p = (const inlay_unique_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    int64_t *first = (int64_t *)inlay_at(base, s, 2);
    int64_t *inverse = (int64_t *)inlay_at(base, s, 3);
    int64_t *counts = (int64_t *)inlay_at(base, s, 4);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 5);
    inlay_typed(unique_copy)(p, y, x, order, place, kinds);
    if (first)
        inlay_unique_first(p, first, order, place, kinds);
    inlay_typed(unique_indices)(p, x, order, place, kinds, inverse, counts);
}

static inline int inlay_typed(unique)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    const inlay_unique_params *p = (const inlay_unique_params *)s->params;
    int64_t *count = (int64_t *)inlay_at(base, s, 1);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 5);
    int32_t *order = (int32_t *)inlay_at(base, s, 6);
    int32_t *place = order + p->n;
    const int32_t kinds = inlay_typed(unique_kinds)(p, x, order);
    (void)r0;
    (void)r1;
    if (kinds < 0 || (!count && kinds != p->found))
        return -INLAY_E_SHAPE;
    if (count)
        *count = kinds;
    inlay_unique_places(p, order, kinds, place);
    inlay_typed(unique_write)(base, s, order, place, kinds);
    return 0;
}

/* One line of a sum, or of a product; its elements lie `step` apart, step < 0: from the last to the
 * first. Sums of integers wrap around. */
INLAY_INLINE void inlay_typed(cumulate_line)(INLAY_T *y, const INLAY_T *x,
                                             int32_t n, ptrdiff_t step,
                                             int exclusive, int product)
{
    INLAY_WIDE all = (INLAY_WIDE)product;
    int32_t i;
    for (i = 0; i < n; i++) {
        const INLAY_WIDE value = (INLAY_WIDE)x[i * step];
        const INLAY_WIDE next = product ? all * value : all + value;
        y[i * step] = (INLAY_T)(exclusive ? all : next);
        all = next;
    }
}

#ifdef INLAY_ORDER_LANES
/* So many lines that lie side by side: a member of each is read before one is written. */
INLAY_INLINE void inlay_typed(cumulate_lanes)(INLAY_T *y, const INLAY_T *x,
                                              int32_t n, ptrdiff_t step,
                                              const int exclusive,
                                              const int product)
{
    INLAY_WIDE all[INLAY_ORDER_LANES];
    int32_t i, k;
    for (k = 0; k < INLAY_ORDER_LANES; k++)
        all[k] = (INLAY_WIDE)product;
    for (i = 0; i < n; i++) {
        INLAY_T block[INLAY_ORDER_LANES];
        for (k = 0; k < INLAY_ORDER_LANES; k++) {
            const INLAY_WIDE value = (INLAY_WIDE)x[k];
            const INLAY_WIDE next = product ? all[k] * value : all[k] + value;
            block[k] = (INLAY_T)(exclusive ? all[k] : next);
            all[k] = next;
        }
        memcpy(y, block, sizeof block);
        x += step;
        y += step;
    }
}
#endif

/* Of `inner` lines side by side as many as go together; returns how many. */
INLAY_INLINE int32_t inlay_typed(cumulate_some)(INLAY_T *y, const INLAY_T *x,
                                                int32_t n, int32_t inner,
                                                const inlay_cumulate_params *p,
                                                const int product)
{
    int32_t c = 0;
#ifdef INLAY_ORDER_LANES
    const ptrdiff_t step = p->reverse ? -inner : inner;
    for (; inner - c >= INLAY_ORDER_LANES; c += INLAY_ORDER_LANES) {
        INLAY_T *to = y + c;
        const INLAY_T *from = x + c;
        if (p->exclusive)
            inlay_typed(cumulate_lanes)(to, from, n, step, 1, product);
        else
            inlay_typed(cumulate_lanes)(to, from, n, step, 0, product);
    }
#else
    (void)y;
    (void)x;
    (void)n;
    (void)inner;
    (void)p;
    (void)product;
#endif
    return c;
}

INLAY_INLINE int inlay_typed(cumulate)(void *const *base, const inlay_step *s,
                                       int product)
{
    const inlay_cumulate_params *p = (const inlay_cumulate_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const int64_t *axis = (const int64_t *)inlay_at(base, s, 2);
    int32_t outer, n, inner, o, c;
    if (!inlay_cumulate_axis(p, axis, &outer, &n, &inner))
        return -INLAY_E_INDEX;
    for (o = 0; o < outer; o++) {
        const ptrdiff_t begin = p->reverse && n ? n - 1 : 0;
        const ptrdiff_t at = ((ptrdiff_t)o * n + begin) * inner;
        c = inlay_typed(cumulate_some)(y + at, x + at, n, inner, p, product);
        for (; c < inner; c++)
            inlay_typed(cumulate_line)(y + at + c, x + at + c, n,
                                       p->reverse ? -inner : inner,
                                       p->exclusive, product);
    }
    return 0;
}

static inline int inlay_typed(cumsum)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_typed(cumulate)(base, s, 0);
}

static inline int inlay_typed(cumprod)(void *const *base, const inlay_step *s,
                                       int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_typed(cumulate)(base, s, 1);
}

static inline int inlay_typed(range)(void *const *base, const inlay_step *s,
                                     int32_t r0, int32_t r1)
{
    const inlay_range_params *p = (const inlay_range_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T start = *(const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T limit = *(const INLAY_T *)inlay_at(base, s, 2);
    const INLAY_T delta = *(const INLAY_T *)inlay_at(base, s, 3);
    const double way = (double)limit - (double)start;
    const double count = ceil(way / (double)delta);
    int32_t i;
    (void)r0;
    (void)r1;
    if ((count > 0 ? count : 0) != p->n)
        return -INLAY_E_SHAPE;
    for (i = 0; i < p->n; i++)
        y[i] = (INLAY_T)(start + (INLAY_T)i * delta);
    return 0;
}
