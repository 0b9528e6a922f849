/* SPDX-License-Identifier: 0BSD
 * Template of sampling in images. Included by sample.h.
 * INLAY_T: the element type; INLAY_C(1.0) a constant of it, INLAY_F(floor) a function of <math.h>,
 * INLAY_N(name) a name. */

static inline INLAY_T INLAY_N(reflect)(INLAY_T x, INLAY_T low, INLAY_T high)
{
    const INLAY_T range = high - low;
    INLAY_T over;
    int32_t turns;
    if (x >= low && x <= high)
        return x;
    if (range <= INLAY_C(0.0))
        return low;
    over = x < low ? low - x : x - high;
    if (!(over / range < INLAY_C(1e9)))
        return low; /* so far away that nothing is left of the place */
    turns = (int32_t)(over / range);
    over -= (INLAY_T)turns * range;
    return ((turns & 1) != 0) == (x < low) ? high - over : low + over;
}

/* Element index of a tap, -1 where there is none. */
static inline int64_t INLAY_N(grid_tap)(const inlay_grid_sample_params *p, int32_t axis, INLAY_T at)
{
    const int64_t size = p->size[axis];
    if (p->edge == INLAY_EDGE_REFLECTION)
        at = INLAY_N(reflect)(at, p->align ? INLAY_C(0.0) : -INLAY_C(0.5),
                              p->align ? (INLAY_T)(size - 1) : (INLAY_T)size - INLAY_C(0.5));
    if (p->edge == INLAY_EDGE_ZEROS)
        return at >= INLAY_C(0.0) && at <= (INLAY_T)(size - 1) ? (int64_t)at : -1;
    at = at > INLAY_C(0.0) ? at : INLAY_C(0.0);
    at = at < (INLAY_T)(size - 1) ? at : (INLAY_T)(size - 1);
    return (int64_t)at;
}

static inline INLAY_T INLAY_N(cubic)(INLAY_T d)
{
    const INLAY_T a = -INLAY_C(0.75);
    const INLAY_T x = d < INLAY_C(0.0) ? -d : d;
    if (x <= INLAY_C(1.0))
        return ((a + INLAY_C(2.0)) * x - (a + INLAY_C(3.0))) * x * x + INLAY_C(1.0);
    if (x < INLAY_C(2.0))
        return ((a * x - INLAY_C(5.0) * a) * x + INLAY_C(8.0) * a) * x - INLAY_C(4.0) * a;
    return INLAY_C(0.0);
}

/* Taps of one axis for the normalized coordinate g: how many, their indices and weights. */
static inline int32_t INLAY_N(grid_taps)(const inlay_grid_sample_params *p, int32_t axis, INLAY_T g,
                                         int64_t *index, INLAY_T *weight)
{
    const INLAY_T size = (INLAY_T)p->size[axis];
    INLAY_T x = p->align ? (g + INLAY_C(1.0)) * INLAY_C(0.5) * (size - INLAY_C(1.0))
                         : ((g + INLAY_C(1.0)) * size - INLAY_C(1.0)) * INLAY_C(0.5);
    INLAY_T first;
    int32_t i;
    if (p->mode == INLAY_SAMPLE_NEAREST) {
        index[0] = INLAY_N(grid_tap)(p, axis, INLAY_F(nearbyint)(x));
        weight[0] = INLAY_C(1.0);
        return 1;
    }
    if (p->edge == INLAY_EDGE_BORDER && p->mode == INLAY_SAMPLE_LINEAR) {
        x = x > INLAY_C(0.0) ? x : INLAY_C(0.0);
        x = x < size - INLAY_C(1.0) ? x : size - INLAY_C(1.0);
    }
    first = INLAY_F(floor)(x);
    if (p->mode == INLAY_SAMPLE_LINEAR) {
        for (i = 0; i < 2; i++)
            index[i] = INLAY_N(grid_tap)(p, axis, first + (INLAY_T)i);
        weight[1] = x - first;
        weight[0] = INLAY_C(1.0) - weight[1];
        return 2;
    }
    for (i = 0; i < 4; i++) {
        index[i] = INLAY_N(grid_tap)(p, axis, first + (INLAY_T)(i - 1));
        weight[i] = INLAY_N(cubic)(x - first - (INLAY_T)(i - 1));
    }
    return 4;
}

/* Sum over all combinations of the axes' taps. */
static inline INLAY_T INLAY_N(sample)(const inlay_grid_sample_params *p, const INLAY_T *x,
                                      const int32_t *n, int64_t (*index)[4], INLAY_T (*weight)[4])
{
    INLAY_T sum = INLAY_C(0.0);
    int32_t a, b, c;
    for (a = 0; a < n[0]; a++)
        for (b = 0; b < n[1]; b++)
            for (c = 0; c < n[2]; c++) {
                const int64_t at =
                    (index[0][a] * p->size[1] + index[1][b]) * p->size[2] + index[2][c];
                if (index[0][a] < 0 || index[1][b] < 0 || index[2][c] < 0)
                    continue;
                sum += weight[0][a] * weight[1][b] * weight[2][c] * x[at];
            }
    return sum;
}

static inline int INLAY_N(grid_sample)(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t r1)
{
    const inlay_grid_sample_params *p = (const inlay_grid_sample_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *grid = (const INLAY_T *)inlay_at(base, s, 2);
    const int64_t plane = p->size[0] * p->size[1] * p->size[2];
    int64_t i, o, k;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++)
        for (o = 0; o < p->out; o++) {
            const INLAY_T *g = grid + (i * p->out + o) * p->axes;
            int64_t index[3][4] = { { 0 }, { 0 }, { 0 } };
            INLAY_T weight[3][4] = { { INLAY_C(1.0) }, { INLAY_C(1.0) }, { INLAY_C(1.0) } };
            int32_t n[3] = { 1, 1, 1 };
            int32_t a;
            for (a = 0; a < p->axes; a++)
                n[3 - p->axes + a] =
                    INLAY_N(grid_taps)(p, 3 - p->axes + a, g[p->axes - 1 - a],
                                       index[3 - p->axes + a], weight[3 - p->axes + a]);
            for (k = 0; k < p->c; k++)
                y[(i * p->c + k) * p->out + o] =
                    INLAY_N(sample)(p, x + (i * p->c + k) * plane, n, index, weight);
        }
    return 0;
}

static inline INLAY_T INLAY_N(grid_place)(int64_t i, int64_t size, int32_t align)
{
    if (align)
        return size > 1 ? -INLAY_C(1.0) + INLAY_C(2.0) * (INLAY_T)i / (INLAY_T)(size - 1)
                        : -INLAY_C(1.0);
    return (INLAY_T)(2 * i + 1) / (INLAY_T)size - INLAY_C(1.0);
}

static inline int INLAY_N(affine_grid)(void *const *base, const inlay_step *s, int32_t r0,
                                       int32_t r1)
{
    const inlay_affine_grid_params *p = (const inlay_affine_grid_params *)s->params;
    INLAY_T *grid = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *theta = (const INLAY_T *)inlay_at(base, s, 1);
    int64_t i, d, h, w;
    int32_t a, b;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++, theta += p->axes * (p->axes + 1))
        for (d = 0; d < p->size[0]; d++)
            for (h = 0; h < p->size[1]; h++)
                for (w = 0; w < p->size[2]; w++) {
                    INLAY_T at[3];
                    at[0] = INLAY_N(grid_place)(w, p->size[2], p->align);
                    at[1] = INLAY_N(grid_place)(h, p->size[1], p->align);
                    at[2] = INLAY_N(grid_place)(d, p->size[0], p->align);
                    for (a = 0; a < p->axes; a++) {
                        const INLAY_T *row = theta + a * (p->axes + 1);
                        INLAY_T sum = row[p->axes];
                        for (b = 0; b < p->axes; b++)
                            sum += row[b] * at[b];
                        *grid++ = sum;
                    }
                }
    return 0;
}

static inline INLAY_T INLAY_N(roi_sample)(const inlay_roi_align_params *p, const INLAY_T *x,
                                          INLAY_T v, INLAY_T u, int first, INLAY_T before)
{
    int64_t v0, u0, v1, u1;
    INLAY_T fv, fu, t[4], most;
    int i;
    if (v < -INLAY_C(1.0) || v > (INLAY_T)p->h || u < -INLAY_C(1.0) || u > (INLAY_T)p->w)
        t[0] = t[1] = t[2] = t[3] = INLAY_C(0.0);
    else {
        v = v > INLAY_C(0.0) ? v : INLAY_C(0.0);
        u = u > INLAY_C(0.0) ? u : INLAY_C(0.0);
        v0 = (int64_t)v < p->h - 1 ? (int64_t)v : p->h - 1;
        u0 = (int64_t)u < p->w - 1 ? (int64_t)u : p->w - 1;
        v1 = v0 + 1 < p->h ? v0 + 1 : v0;
        u1 = u0 + 1 < p->w ? u0 + 1 : u0;
        fv = v0 == p->h - 1 ? INLAY_C(0.0) : v - (INLAY_T)v0;
        fu = u0 == p->w - 1 ? INLAY_C(0.0) : u - (INLAY_T)u0;
        t[0] = (INLAY_C(1.0) - fv) * (INLAY_C(1.0) - fu) * x[v0 * p->w + u0];
        t[1] = (INLAY_C(1.0) - fv) * fu * x[v0 * p->w + u1];
        t[2] = fv * (INLAY_C(1.0) - fu) * x[v1 * p->w + u0];
        t[3] = fv * fu * x[v1 * p->w + u1];
    }
    if (!p->max)
        return before + (t[0] + t[1] + t[2] + t[3]);
    for (most = t[0], i = 1; i < 4; i++)
        most = t[i] > most ? t[i] : most;
    return first || most > before ? most : before;
}

/* Samples of a cell that is `length` elements long along an axis, as a whole number; 0: none, or
 * more than INLAY_ROI_MOST. */
static inline INLAY_T INLAY_N(roi_samples)(int32_t ratio, INLAY_T length)
{
    const INLAY_T wanted = ratio > 0 ? (INLAY_T)ratio : INLAY_F(ceil)(length);
    return wanted >= INLAY_C(1.0) && wanted <= (INLAY_T)INLAY_ROI_MOST ? wanted : INLAY_C(0.0);
}

static inline int32_t INLAY_N(roi_clip)(INLAY_T x, INLAY_T most)
{
    if (!(x > INLAY_C(0.0)))
        return 0;
    return (int32_t)(x < most ? x : most);
}

/* Of those samples from `start` on, [range[0], range[1]) may lie within an axis of n elements, at
 * most two beyond it on each side: the others are zero, and need no time. */
static inline void INLAY_N(roi_seen)(INLAY_T start, INLAY_T length, INLAY_T samples, int64_t n,
                                     int32_t *range)
{
    const INLAY_T step = length / samples;
    const INLAY_T margin = INLAY_C(2.5);
    const INLAY_T first = INLAY_F(floor)((-INLAY_C(1.0) - start) / step - margin);
    const INLAY_T end = INLAY_F(ceil)(((INLAY_T)n - start) / step + margin);
    range[0] = 0;
    range[1] = (int32_t)samples;
    if (!(step > INLAY_C(0.0)))
        return; /* so many as the model asks for, at one place or backwards */
    range[0] = INLAY_N(roi_clip)(first, samples);
    range[1] = INLAY_N(roi_clip)(end, samples);
}

static inline INLAY_T INLAY_N(roi_cell)(const inlay_roi_align_params *p, const INLAY_T *x,
                                        INLAY_T top, INLAY_T left, INLAY_T height, INLAY_T width)
{
    const INLAY_T rows = INLAY_N(roi_samples)(p->ratio, height);
    const INLAY_T columns = INLAY_N(roi_samples)(p->ratio, width);
    INLAY_T value = INLAY_C(0.0);
    int32_t v[2], u[2], i, k;
    int first;
    if (rows < INLAY_C(1.0) || columns < INLAY_C(1.0) || p->h < 1 || p->w < 1)
        return value;
    INLAY_N(roi_seen)(top, height, rows, p->h, v);
    INLAY_N(roi_seen)(left, width, columns, p->w, u);
    first = !v[0] && !u[0] && v[1] == (int32_t)rows && u[1] == (int32_t)columns;
    for (i = v[0]; i < v[1]; i++)
        for (k = u[0]; k < u[1]; k++, first = 0)
            value = INLAY_N(roi_sample)(p, x, top + ((INLAY_T)i + INLAY_C(0.5)) * height / rows,
                                        left + ((INLAY_T)k + INLAY_C(0.5)) * width / columns, first,
                                        value);
    return p->max ? value : value / (rows * columns);
}

static inline int INLAY_N(roi_align)(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_roi_align_params *p = (const inlay_roi_align_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *region = (const INLAY_T *)inlay_at(base, s, 2);
    const int64_t *image = (const int64_t *)inlay_at(base, s, 3);
    const INLAY_T move = p->half_pixel ? INLAY_C(0.5) : INLAY_C(0.0);
    int64_t r, c;
    int32_t i, k;
    (void)r0, (void)r1;
    for (r = 0; r < p->regions; r++, region += 4) {
        const INLAY_T left = region[0] * (INLAY_T)p->scale - move;
        const INLAY_T top = region[1] * (INLAY_T)p->scale - move;
        INLAY_T width = region[2] * (INLAY_T)p->scale - move - left;
        INLAY_T height = region[3] * (INLAY_T)p->scale - move - top;
        if (image[r] < 0 || image[r] >= p->n)
            return -INLAY_E_INDEX;
        if (!p->half_pixel && width < INLAY_C(1.0))
            width = INLAY_C(1.0);
        if (!p->half_pixel && height < INLAY_C(1.0))
            height = INLAY_C(1.0);
        width /= (INLAY_T)p->pw;
        height /= (INLAY_T)p->ph;
        for (c = 0; c < p->c; c++)
            for (i = 0; i < p->ph; i++)
                for (k = 0; k < p->pw; k++)
                    *y++ = INLAY_N(roi_cell)(p, x + (image[r] * p->c + c) * p->h * p->w,
                                             top + (INLAY_T)i * height, left + (INLAY_T)k * width,
                                             height, width);
    }
    return 0;
}

/* A corner as an element index; far outside of any image it stays there. */
static inline int64_t INLAY_N(roi_corner)(INLAY_T at)
{
    const INLAY_T most = INLAY_C(1e9);
    return (int64_t)INLAY_F(round)(at > -most ? at < most ? at : most : -most);
}

/* Elements [first[0], first[1]) of cell i of those from `start` to `end`, within [0, size). */
static inline void INLAY_N(roi_range)(int64_t start, int64_t end, int32_t i, int32_t cells,
                                      int64_t size, int64_t *range)
{
    const INLAY_T cell = (INLAY_T)(end > start ? end - start + 1 : 1) / (INLAY_T)cells;
    int32_t k;
    range[0] = start + (int64_t)INLAY_F(floor)((INLAY_T)i * cell);
    range[1] = start + (int64_t)INLAY_F(ceil)((INLAY_T)(i + 1) * cell);
    for (k = 0; k < 2; k++)
        range[k] = range[k] < 0 ? 0 : range[k] < size ? range[k] : size;
}

static inline INLAY_T INLAY_N(roi_greatest)(const INLAY_T *x, int64_t w, const int64_t *rows,
                                            const int64_t *columns)
{
    INLAY_T most = INLAY_C(0.0);
    int64_t v, u;
    if (columns[0] >= columns[1])
        return most;
    for (v = rows[0]; v < rows[1]; v++)
        for (u = columns[0]; u < columns[1]; u++)
            if ((v == rows[0] && u == columns[0]) || x[v * w + u] > most)
                most = x[v * w + u];
    return most;
}

static inline int INLAY_N(roi_pool)(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_roi_pool_params *p = (const inlay_roi_pool_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *region = (const INLAY_T *)inlay_at(base, s, 2);
    const INLAY_T scale = (INLAY_T)p->scale;
    int64_t r, c, at[4], rows[2], columns[2];
    int32_t i, k;
    (void)r0, (void)r1;
    for (r = 0; r < p->regions; r++, region += 5) {
        if (!(region[0] >= INLAY_C(0.0) && region[0] < (INLAY_T)p->n))
            return -INLAY_E_INDEX;
        for (i = 0; i < 4; i++)
            at[i] = INLAY_N(roi_corner)(region[1 + i] * scale);
        for (c = 0; c < p->c; c++)
            for (i = 0; i < p->ph; i++) {
                INLAY_N(roi_range)(at[1], at[3], i, p->ph, p->h, rows);
                for (k = 0; k < p->pw; k++) {
                    INLAY_N(roi_range)(at[0], at[2], k, p->pw, p->w, columns);
                    *y++ = INLAY_N(roi_greatest)(x + ((int64_t)region[0] * p->c + c) * p->h * p->w,
                                                 p->w, rows, columns);
                }
            }
    }
    return 0;
}

#undef INLAY_T
#undef INLAY_C
#undef INLAY_F
#undef INLAY_N
