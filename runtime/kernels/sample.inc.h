/* SPDX-License-Identifier: 0BSD
 * Template of sampling in images. Included by sample.h. */

static inline INLAY_T inlay_typed(reflect)(INLAY_T x, INLAY_T low, INLAY_T high)
{
    const INLAY_T range = high - low;
    INLAY_T over;
    int32_t turns;
    if (x >= low && x <= high)
        return x;
    if (range <= 0)
        return low;
    over = x < low ? low - x : x - high;
    if (!(over / range < INLAY_C(1e9)))
        return low; /* so far away that nothing is left of the place */
    turns = (int32_t)(over / range);
    over -= (INLAY_T)turns * range;
    return ((turns & 1) != 0) == (x < low) ? high - over : low + over;
}

/* Element index of a tap, -1 where there is none. */
static inline int64_t inlay_typed(grid_tap)(const inlay_grid_sample_params *p,
                                            int32_t axis, INLAY_T at)
{
    const INLAY_T last = (INLAY_T)(p->size[axis] - 1);
    const INLAY_T margin = p->align ? 0 : INLAY_C(0.5);
    if (p->edge == INLAY_EDGE_REFLECTION) {
        const INLAY_T size = (INLAY_T)p->size[axis];
        const INLAY_T most = p->align ? last : size - margin;
        at = inlay_typed(reflect)(at, -margin, most);
    }
    if (p->edge == INLAY_EDGE_ZEROS)
        return at >= 0 && at <= last ? (int64_t)at : -1;
    at = at > 0 ? at : 0;
    at = at < last ? at : last;
    return (int64_t)at;
}

static inline INLAY_T inlay_typed(cubic)(INLAY_T d)
{
    const INLAY_T a = -INLAY_C(0.75);
    const INLAY_T x = d < 0 ? -d : d;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2)
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
}

/* The place of the normalized coordinate g on an axis. */
static inline INLAY_T
inlay_typed(grid_coordinate)(const inlay_grid_sample_params *p, int32_t axis,
                             INLAY_T g)
{
    const INLAY_T size = (INLAY_T)p->size[axis];
    INLAY_T x;
    if (p->align)
        x = (g + 1) * INLAY_C(0.5) * (size - 1);
    else
        x = ((g + 1) * size - 1) * INLAY_C(0.5);
    if (p->edge == INLAY_EDGE_BORDER && p->mode == INLAY_SAMPLE_LINEAR) {
        x = x > 0 ? x : 0;
        x = x < size - 1 ? x : size - 1;
    }
    return x;
}

/* The taps of one axis: how many, their indices and weights. */
typedef struct inlay_typed(taps)
{
    int32_t n;
    int64_t index[4];
    INLAY_T weight[4];
}
inlay_typed(taps);

/* The indices of n taps from place `first` on. */
static inline void inlay_typed(grid_indices)(const inlay_grid_sample_params *p,
                                             int32_t axis, INLAY_T first,
                                             int32_t n,
                                             inlay_typed(taps) * taps)
{
    int32_t i;
    taps->n = n;
    for (i = 0; i < n; i++) {
        const INLAY_T at = first + (INLAY_T)i;
        taps->index[i] = inlay_typed(grid_tap)(p, axis, at);
    }
}

/* The taps for the normalized coordinate g. */
static inline void inlay_typed(grid_taps)(const inlay_grid_sample_params *p,
                                          int32_t axis, INLAY_T g,
                                          inlay_typed(taps) * taps)
{
    const INLAY_T x = inlay_typed(grid_coordinate)(p, axis, g);
    const INLAY_T low = INLAY_F(floor)(x);
    const INLAY_T part = x - low;
    int32_t i;
    if (p->mode == INLAY_SAMPLE_NEAREST) {
        const INLAY_T nearest = INLAY_F(nearbyint)(x);
        inlay_typed(grid_indices)(p, axis, nearest, 1, taps);
        taps->weight[0] = 1;
    } else if (p->mode == INLAY_SAMPLE_CUBIC) {
        inlay_typed(grid_indices)(p, axis, low - 1, 4, taps);
        for (i = 0; i < 4; i++)
            taps->weight[i] = inlay_typed(cubic)(part - (INLAY_T)(i - 1));
    } else {
        inlay_typed(grid_indices)(p, axis, low, 2, taps);
        taps->weight[1] = part;
        taps->weight[0] = 1 - part;
    }
}

/* `sum` and what the taps of a row give, of which each counts with `weight` more. */
static inline INLAY_T inlay_typed(sample_row)(const INLAY_T *row,
                                              const inlay_typed(taps) * taps,
                                              INLAY_T weight, INLAY_T sum)
{
    int32_t i;
    for (i = 0; i < taps->n; i++) {
        const int64_t column = taps->index[i];
        if (column >= 0)
            sum += weight * taps->weight[i] * row[column];
    }
    return sum;
}

/* Sum over all combinations of the axes' taps. */
static inline INLAY_T inlay_typed(sample)(const inlay_grid_sample_params *p,
                                          const INLAY_T *x,
                                          const inlay_typed(taps) * taps)
{
    const inlay_typed(taps) *planes = taps;
    const inlay_typed(taps) *rows = taps + 1;
    INLAY_T sum = 0;
    int32_t i, k;
    for (i = 0; i < planes->n; i++)
        for (k = 0; k < rows->n; k++) {
            const int64_t plane = planes->index[i];
            const int64_t row = rows->index[k];
            const INLAY_T weight = planes->weight[i] * rows->weight[k];
            const INLAY_T *from = x;
            if (plane < 0 || row < 0)
                continue;
            from += (plane * p->size[1] + row) * p->size[2];
            sum = inlay_typed(sample_row)(from, taps + 2, weight, sum);
        }
    return sum;
}

/* One place of the grid, of all channels of an image: y and the planes of x lie p->out and `plane`
 * elements apart. */
static inline void
inlay_typed(grid_place_sample)(const inlay_grid_sample_params *p, INLAY_T *y,
                               const INLAY_T *x, const INLAY_T *grid,
                               int64_t plane)
{
    const int32_t first = 3 - p->axes;
    const inlay_typed(taps) one = { 1, { 0 }, { 1 } };
    inlay_typed(taps) taps[3];
    int32_t axis;
    int64_t k;
    for (axis = 0; axis < first; axis++)
        taps[axis] = one;
    for (; axis < 3; axis++)
        inlay_typed(grid_taps)(p, axis, grid[2 - axis], taps + axis);
    for (k = 0; k < p->c; k++) {
        *y = inlay_typed(sample)(p, x, taps);
        y += p->out;
        x += plane;
    }
}

#ifdef INLAY_SAMPLE_MOST
/* Four elements of a plane and their weights. */
typedef struct inlay_typed(four)
{
    ptrdiff_t at[4];
    INLAY_T weight[4];
}
inlay_typed(four);

/* What they come to. */
INLAY_INLINE INLAY_T inlay_typed(four_of)(const INLAY_T *x,
                                          const inlay_typed(four) * four)
{
    INLAY_T sum = four->weight[0] * x[four->at[0]];
    int32_t i;
    INLAY_UNROLL
    for (i = 1; i < 4; i++)
        sum += four->weight[i] * x[four->at[i]];
    return sum;
}

/* The elements around a place of a grid; 0: some lie outside of the image. */
static inline int inlay_typed(grid_four)(const inlay_grid_sample_params *p,
                                         const INLAY_T *grid,
                                         inlay_typed(four) * four)
{
    inlay_typed(taps) rows, columns;
    int32_t i;
    inlay_typed(grid_taps)(p, 1, grid[1], &rows);
    inlay_typed(grid_taps)(p, 2, grid[0], &columns);
    for (i = 0; i < 4; i++) {
        const int64_t row = rows.index[i / 2];
        const int64_t column = columns.index[i % 2];
        if (row < 0 || column < 0)
            return 0;
        four->at[i] = (ptrdiff_t)(row * p->size[2] + column);
        four->weight[i] = rows.weight[i / 2] * columns.weight[i % 2];
    }
    return 1;
}

/* Places of the grid, from one of an image on, whose elements all lie within, at most
 * INLAY_SAMPLE_MOST and `left`: one channel after the other. Returns how many. */
static inline int32_t
inlay_typed(grid_inside)(const inlay_grid_sample_params *p, INLAY_T *y,
                         const INLAY_T *x, const INLAY_T *grid, int64_t left)
{
    inlay_typed(four) four[INLAY_SAMPLE_MOST];
    const int64_t plane = p->size[1] * p->size[2];
    int32_t n = 0;
    int32_t i;
    int64_t k;
    if (p->axes != 2 || p->mode != INLAY_SAMPLE_LINEAR)
        return 0;
    while (n < INLAY_SAMPLE_MOST && n < left &&
           inlay_typed(grid_four)(p, grid + 2 * n, four + n))
        n++;
    for (k = 0; k < p->c; k++) {
        for (i = 0; i < n; i++)
            y[i] = 0 + inlay_typed(four_of)(x, four + i);
        y += p->out;
        x += plane;
    }
    return n;
}
#endif

/* Places of the grid from one of an image on, of which `left` are left; returns how many. */
INLAY_INLINE int32_t inlay_typed(grid_some)(const inlay_grid_sample_params *p,
                                            INLAY_T *y, const INLAY_T *x,
                                            const INLAY_T *grid, int64_t plane,
                                            int64_t left)
{
#ifdef INLAY_SAMPLE_MOST
    const int32_t n = inlay_typed(grid_inside)(p, y, x, grid, left);
    if (n)
        return n;
#else
    (void)left;
#endif
    inlay_typed(grid_place_sample)(p, y, x, grid, plane);
    return 1;
}

static inline int inlay_typed(grid_sample)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    const inlay_grid_sample_params *p =
        (const inlay_grid_sample_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *grid = (const INLAY_T *)inlay_at(base, s, 2);
    const int64_t plane = p->size[0] * p->size[1] * p->size[2];
    int64_t i, o;
    int32_t n;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++) {
        for (o = 0; o < p->out; o += n) {
            n = inlay_typed(grid_some)(p, y + o, x, grid, plane, p->out - o);
            grid += (ptrdiff_t)n * p->axes;
        }
        y += p->c * p->out;
        x += p->c * plane;
    }
    return 0;
}

static inline INLAY_T inlay_typed(grid_place)(int64_t i, int64_t size,
                                              int32_t align)
{
    if (!align)
        return (INLAY_T)(2 * i + 1) / (INLAY_T)size - 1;
    if (size <= 1)
        return -1;
    return -(INLAY_T)1 + 2 * (INLAY_T)i / (INLAY_T)(size - 1);
}

/* The coordinates of one place: grid[axes] = theta (at, 1). */
static inline void inlay_typed(grid_apply)(INLAY_T *grid, const INLAY_T *theta,
                                           const INLAY_T *at, int32_t axes)
{
    int32_t a, b;
    for (a = 0; a < axes; a++) {
        const INLAY_T *row = theta + a * (axes + 1);
        INLAY_T sum = row[axes];
        for (b = 0; b < axes; b++)
            sum += row[b] * at[b];
        grid[a] = sum;
    }
}

/* Place k of a grid: its normalized coordinates, the last axis first. */
static inline void inlay_typed(grid_at)(const inlay_affine_grid_params *p,
                                        int64_t k, INLAY_T *at)
{
    int32_t a;
    for (a = 0; a < 3; a++) {
        const int64_t n = p->size[2 - a];
        at[a] = inlay_typed(grid_place)(k % n, n, p->align);
        k /= n;
    }
}

static inline int inlay_typed(affine_grid)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    const inlay_affine_grid_params *p =
        (const inlay_affine_grid_params *)s->params;
    INLAY_T *grid = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *theta = (const INLAY_T *)inlay_at(base, s, 1);
    const int64_t places = p->size[0] * p->size[1] * p->size[2];
    int64_t i, k;
    (void)r0;
    (void)r1;
    for (i = 0; i < p->n; i++) {
        for (k = 0; k < places; k++) {
            INLAY_T at[3];
            inlay_typed(grid_at)(p, k, at);
            inlay_typed(grid_apply)(grid, theta, at, p->axes);
            grid += p->axes;
        }
        theta += p->axes * (p->axes + 1);
    }
    return 0;
}
