/* SPDX-License-Identifier: 0BSD
 * Template of the cells of regions: RoiAlign, MaxRoiPool. Included by sample.h. */

/* A place on an axis between two elements: `part` of the way from one to the next. */
typedef struct inlay_typed(between)
{
    int64_t low;
    int64_t high;
    INLAY_T part;
}
inlay_typed(between);

static inline inlay_typed(between)
    inlay_typed(roi_between)(INLAY_T at, int64_t n)
{
    const int64_t last = n - 1;
    inlay_typed(between) place;
    at = at > 0 ? at : 0;
    place.low = (int64_t)at;
    place.high = place.low + 1;
    place.part = at - (INLAY_T)place.low;
    if (place.low >= last) {
        place.low = last;
        place.high = last;
        place.part = 0;
    }
    return place;
}

/* What the four elements around (v, u) give; 0 outside of the image. */
static inline void inlay_typed(roi_four)(const inlay_roi_align_params *p,
                                         const INLAY_T *x, INLAY_T v, INLAY_T u,
                                         INLAY_T *four)
{
    const inlay_typed(between) row = inlay_typed(roi_between)(v, p->h);
    const inlay_typed(between) column = inlay_typed(roi_between)(u, p->w);
    const INLAY_T *low = x + row.low * p->w;
    const INLAY_T *high = x + row.high * p->w;
    const INLAY_T down = row.part;
    const INLAY_T up = 1 - down;
    const INLAY_T right = column.part;
    const INLAY_T left = 1 - right;
    four[0] = up * left * low[column.low];
    four[1] = up * right * low[column.high];
    four[2] = down * left * high[column.low];
    four[3] = down * right * high[column.high];
}

/* The value of a cell `before`, with one more sample; first: it is the first. */
static inline INLAY_T inlay_typed(roi_sample)(const inlay_roi_align_params *p,
                                              const INLAY_T *x, INLAY_T v,
                                              INLAY_T u, int first,
                                              INLAY_T before)
{
    INLAY_T four[4] = { 0 };
    INLAY_T most;
    int i;
    if (!(v < -1 || v > (INLAY_T)p->h || u < -1 || u > (INLAY_T)p->w))
        inlay_typed(roi_four)(p, x, v, u, four);
    if (!p->max)
        return before + (four[0] + four[1] + four[2] + four[3]);
    most = four[0];
    for (i = 1; i < 4; i++)
        most = four[i] > most ? four[i] : most;
    return first || most > before ? most : before;
}

/* Samples of a cell that is `length` elements long along an axis, as a whole number; 0: none, or
 * more than INLAY_ROI_MOST. */
static inline INLAY_T inlay_typed(roi_samples)(int32_t ratio, INLAY_T length)
{
    const INLAY_T wanted = ratio > 0 ? (INLAY_T)ratio : INLAY_F(ceil)(length);
    return wanted >= 1 && wanted <= (INLAY_T)INLAY_ROI_MOST ? wanted : 0;
}

static inline int32_t inlay_typed(roi_clip)(INLAY_T x, INLAY_T most)
{
    if (!(x > 0))
        return 0;
    return (int32_t)(x < most ? x : most);
}

/* Of those samples from `start` on, [range[0], range[1]) may lie within an axis of n elements, at
 * most two beyond it on each side: the others are zero, and need no time. */
static inline void inlay_typed(roi_seen)(INLAY_T start, INLAY_T length,
                                         INLAY_T samples, int64_t n,
                                         int32_t *range)
{
    const INLAY_T step = length / samples;
    const INLAY_T margin = INLAY_C(2.5);
    const INLAY_T first = INLAY_F(floor)((-1 - start) / step - margin);
    const INLAY_T end = INLAY_F(ceil)(((INLAY_T)n - start) / step + margin);
    range[0] = 0;
    range[1] = (int32_t)samples;
    if (!(step > 0))
        return; /* so many as the model asks for, at one place or backwards */
    range[0] = inlay_typed(roi_clip)(first, samples);
    range[1] = inlay_typed(roi_clip)(end, samples);
}

/* A cell along an axis of n elements: where its samples lie, and which of them may lie within. */
typedef struct inlay_typed(roi_side)
{
    INLAY_T start;
    INLAY_T length;
    INLAY_T samples;
    int32_t range[2];
}
inlay_typed(roi_side);

static inline inlay_typed(roi_side)
    inlay_typed(roi_side_of)(INLAY_T start, INLAY_T length, int32_t ratio,
                             int64_t n)
{
    inlay_typed(roi_side) side = { 0 };
    side.start = start;
    side.length = length;
    side.samples = inlay_typed(roi_samples)(ratio, length);
    if (side.samples >= 1)
        inlay_typed(roi_seen)(start, length, side.samples, n, side.range);
    return side;
}

static inline INLAY_T inlay_typed(roi_place)(const inlay_typed(roi_side) * side,
                                             int32_t i)
{
    const INLAY_T middle = (INLAY_T)i + INLAY_C(0.5);
    return side->start + middle * side->length / side->samples;
}

static inline int inlay_typed(roi_all_seen)(const inlay_typed(roi_side) * side)
{
    return !side->range[0] && side->range[1] == (int32_t)side->samples;
}

/* The cells of a region: where the first begins, and the size of one. */
typedef struct inlay_typed(roi)
{
    INLAY_T top;
    INLAY_T left;
    INLAY_T height;
    INLAY_T width;
}
inlay_typed(roi);

/* What the samples of a cell come to: their sum, or the greatest; those not seen are zero. */
static inline INLAY_T inlay_typed(roi_value)(const inlay_roi_align_params *p,
                                             const INLAY_T *x,
                                             const inlay_typed(roi_side) * v,
                                             const inlay_typed(roi_side) * u)
{
    int first = inlay_typed(roi_all_seen)(v) && inlay_typed(roi_all_seen)(u);
    INLAY_T value = 0;
    int32_t i, k;
    for (i = v->range[0]; i < v->range[1]; i++) {
        const INLAY_T row = inlay_typed(roi_place)(v, i);
        for (k = u->range[0]; k < u->range[1]; k++) {
            const INLAY_T at = inlay_typed(roi_place)(u, k);
            value = inlay_typed(roi_sample)(p, x, row, at, first, value);
            first = 0;
        }
    }
    return value;
}

/* Cell (row, column) of a region. */
static inline INLAY_T inlay_typed(roi_cell)(const inlay_roi_align_params *p,
                                            const INLAY_T *x,
                                            const inlay_typed(roi) * roi,
                                            int32_t row, int32_t column)
{
    const INLAY_T top = roi->top + (INLAY_T)row * roi->height;
    const INLAY_T left = roi->left + (INLAY_T)column * roi->width;
    const inlay_typed(roi_side) v =
        inlay_typed(roi_side_of)(top, roi->height, p->ratio, p->h);
    const inlay_typed(roi_side) u =
        inlay_typed(roi_side_of)(left, roi->width, p->ratio, p->w);
    INLAY_T value;
    if (v.samples < 1 || u.samples < 1 || p->h < 1 || p->w < 1)
        return 0;
    value = inlay_typed(roi_value)(p, x, &v, &u);
    return p->max ? value : value / (v.samples * u.samples);
}

/* The cells of the region with corners (x1, y1), (x2, y2). */
static inline inlay_typed(roi)
    inlay_typed(roi_cells)(const inlay_roi_align_params *p,
                           const INLAY_T *corner)
{
    const INLAY_T move = p->half_pixel ? INLAY_C(0.5) : 0;
    const INLAY_T scale = (INLAY_T)p->scale;
    inlay_typed(roi) roi;
    roi.left = corner[0] * scale - move;
    roi.top = corner[1] * scale - move;
    roi.width = corner[2] * scale - move - roi.left;
    roi.height = corner[3] * scale - move - roi.top;
    if (!p->half_pixel && roi.width < 1)
        roi.width = 1;
    if (!p->half_pixel && roi.height < 1)
        roi.height = 1;
    roi.width /= (INLAY_T)p->pw;
    roi.height /= (INLAY_T)p->ph;
    return roi;
}

#ifdef INLAY_SAMPLE_MOST
/* What is known of cells for all channels: the samples of each, one cell after the other. */
typedef struct inlay_typed(roi_table)
{
    int32_t cells;
    int32_t end[INLAY_SAMPLE_MOST];     /* of each cell's samples */
    INLAY_T divisor[INLAY_SAMPLE_MOST]; /* how many there are in a cell */
    inlay_typed(four) four[INLAY_SAMPLE_MOST];
}
inlay_typed(roi_table);

/* The elements around (v, u), which may lie outside of the image: returns how many fours. */
static inline int32_t inlay_typed(roi_around)(const inlay_roi_align_params *p,
                                              INLAY_T v, INLAY_T u,
                                              inlay_typed(four) * four)
{
    inlay_typed(between) row, column;
    int32_t i;
    if (v < -1 || v > (INLAY_T)p->h || u < -1 || u > (INLAY_T)p->w)
        return 0;
    row = inlay_typed(roi_between)(v, p->h);
    column = inlay_typed(roi_between)(u, p->w);
    for (i = 0; i < 4; i++) {
        const int64_t line = i / 2 ? row.high : row.low;
        const int64_t at = i % 2 ? column.high : column.low;
        const INLAY_T down = i / 2 ? row.part : 1 - row.part;
        const INLAY_T right = i % 2 ? column.part : 1 - column.part;
        four->at[i] = (ptrdiff_t)(line * p->w + at);
        four->weight[i] = down * right;
    }
    return 1;
}

/* The samples of a cell go behind those of the table; 0: there is no room. */
static inline int inlay_typed(roi_enter)(const inlay_roi_align_params *p,
                                         inlay_typed(roi_table) * table,
                                         const inlay_typed(roi_side) * v,
                                         const inlay_typed(roi_side) * u)
{
    const int32_t rows = v->range[1] - v->range[0];
    const int32_t columns = u->range[1] - u->range[0];
    int32_t n = table->cells ? table->end[table->cells - 1] : 0;
    int32_t i, k;
    if (table->cells == INLAY_SAMPLE_MOST ||
        (int64_t)rows * columns > INLAY_SAMPLE_MOST - n)
        return 0;
    for (i = 0; i < rows; i++)
        for (k = 0; k < columns; k++) {
            const INLAY_T row = inlay_typed(roi_place)(v, v->range[0] + i);
            const INLAY_T at = inlay_typed(roi_place)(u, u->range[0] + k);
            n += inlay_typed(roi_around)(p, row, at, table->four + n);
        }
    table->divisor[table->cells] = v->samples * u->samples;
    table->end[table->cells++] = n;
    return 1;
}

/* Cells from number `first` of a region on, as many as fit into the table. */
static inline void inlay_typed(roi_fill)(const inlay_roi_align_params *p,
                                         inlay_typed(roi_table) * table,
                                         const inlay_typed(roi) * roi,
                                         int32_t first)
{
    inlay_typed(roi_side) v, u;
    int32_t i;
    table->cells = 0;
    for (i = first; i < p->ph * p->pw; i++) {
        const INLAY_T row = (INLAY_T)(i / p->pw);
        const INLAY_T column = (INLAY_T)(i % p->pw);
        v = inlay_typed(roi_side_of)(roi->top + row * roi->height, roi->height,
                                     p->ratio, p->h);
        u = inlay_typed(roi_side_of)(roi->left + column * roi->width,
                                     roi->width, p->ratio, p->w);
        if (v.samples < 1 || u.samples < 1 || p->h < 1 || p->w < 1 ||
            !inlay_typed(roi_enter)(p, table, &v, &u))
            break;
    }
}

/* The cells of a table, of one channel. */
static inline void inlay_typed(roi_averages)(INLAY_T *y, const INLAY_T *x,
                                             const inlay_typed(roi_table) *
                                                 table)
{
    int32_t n = 0;
    int32_t i;
    for (i = 0; i < table->cells; i++) {
        INLAY_T value = 0;
        for (; n < table->end[i]; n++)
            value += inlay_typed(four_of)(x, table->four + n);
        y[i] = value / table->divisor[i];
    }
}

/* Averages of the cells of a region from number `first` on that go into a table, for all channels:
 * returns how many. */
static inline int32_t inlay_typed(roi_some)(const inlay_roi_align_params *p,
                                            INLAY_T *y, const INLAY_T *x,
                                            const inlay_typed(roi) * roi,
                                            int32_t first)
{
    inlay_typed(roi_table) table;
    int64_t c;
    if (p->max)
        return 0;
    inlay_typed(roi_fill)(p, &table, roi, first);
    for (c = 0; table.cells && c < p->c; c++) {
        inlay_typed(roi_averages)(y + first, x, &table);
        y += p->ph * p->pw;
        x += p->h * p->w;
    }
    return table.cells;
}

/* Cell `i` of all channels of a region. */
static inline void inlay_typed(roi_one)(const inlay_roi_align_params *p,
                                        INLAY_T *y, const INLAY_T *x,
                                        const inlay_typed(roi) * roi, int32_t i)
{
    int64_t c;
    for (c = 0; c < p->c; c++) {
        y[i] = inlay_typed(roi_cell)(p, x, roi, i / p->pw, i % p->pw);
        y += p->ph * p->pw;
        x += p->h * p->w;
    }
}

/* All channels of a region, some cells at a time: returns where y ends. */
static inline INLAY_T *
inlay_typed(roi_channels)(const inlay_roi_align_params *p, INLAY_T *y,
                          const INLAY_T *x, const inlay_typed(roi) * roi)
{
    const int32_t cells = p->ph * p->pw;
    int32_t i = 0;
    while (i < cells) {
        const int32_t n = inlay_typed(roi_some)(p, y, x, roi, i);
        i += n;
        if (n)
            continue;
        inlay_typed(roi_one)(p, y, x, roi, i);
        i++;
    }
    return y + p->c * cells;
}
#else
/* All cells of a region of one plane: returns where y ends. */
static inline INLAY_T *inlay_typed(roi_plane)(const inlay_roi_align_params *p,
                                              INLAY_T *y, const INLAY_T *x,
                                              const inlay_typed(roi) * roi)
{
    int32_t i, k;
    for (i = 0; i < p->ph; i++)
        for (k = 0; k < p->pw; k++)
            *y++ = inlay_typed(roi_cell)(p, x, roi, i, k);
    return y;
}

/* All channels of a region: returns where y ends. */
static inline INLAY_T *
inlay_typed(roi_channels)(const inlay_roi_align_params *p, INLAY_T *y,
                          const INLAY_T *x, const inlay_typed(roi) * roi)
{
    const int64_t plane = p->h * p->w;
    int64_t c;
    for (c = 0; c < p->c; c++) {
        y = inlay_typed(roi_plane)(p, y, x, roi);
        x += plane;
    }
    return y;
}
#endif

static inline int inlay_typed(roi_align)(void *const *base, const inlay_step *s,
                                         int32_t r0, int32_t r1)
{
    const inlay_roi_align_params *p = (const inlay_roi_align_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *region = (const INLAY_T *)inlay_at(base, s, 2);
    const int64_t *image = (const int64_t *)inlay_at(base, s, 3);
    const int64_t size = p->c * p->h * p->w;
    int64_t r;
    (void)r0;
    (void)r1;
    for (r = 0; r < p->regions; r++, region += 4) {
        const inlay_typed(roi) roi = inlay_typed(roi_cells)(p, region);
        if (image[r] < 0 || image[r] >= p->n)
            return -INLAY_E_INDEX;
        y = inlay_typed(roi_channels)(p, y, x + image[r] * size, &roi);
    }
    return 0;
}

/* A corner as an element index; far outside of any image it stays there. */
static inline int64_t inlay_typed(roi_corner)(INLAY_T at)
{
    const INLAY_T most = INLAY_C(1e9);
    if (!(at > -most))
        at = -most;
    return (int64_t)INLAY_F(round)(at < most ? at : most);
}

/* Elements [first[0], first[1]) of cell i of those from `start` to `end`, within [0, size). */
static inline void inlay_typed(roi_range)(int64_t start, int64_t end, int32_t i,
                                          int32_t cells, int64_t size,
                                          int64_t *range)
{
    const INLAY_T cell =
        (INLAY_T)(end > start ? end - start + 1 : 1) / (INLAY_T)cells;
    int32_t k;
    range[0] = start + (int64_t)INLAY_F(floor)((INLAY_T)i * cell);
    range[1] = start + (int64_t)INLAY_F(ceil)((INLAY_T)(i + 1) * cell);
    for (k = 0; k < 2; k++)
        range[k] = inlay_clamp_i64(range[k], 0, size);
}

static inline INLAY_T inlay_typed(roi_greatest)(const INLAY_T *x, int64_t w,
                                                const int64_t *rows,
                                                const int64_t *columns)
{
    INLAY_T most = 0;
    int64_t v, u;
    int first = 1;
    for (v = rows[0]; v < rows[1]; v++) {
        const INLAY_T *row = x + v * w;
        for (u = columns[0]; u < columns[1]; u++) {
            if (first || row[u] > most)
                most = row[u];
            first = 0;
        }
    }
    return most;
}

/* All cells of one plane of a region: `corner` are its x1, y1, x2, y2. Returns where y ends. */
static inline INLAY_T *
inlay_typed(roi_pool_plane)(const inlay_roi_pool_params *p, INLAY_T *y,
                            const INLAY_T *x, const int64_t *corner)
{
    int64_t rows[2], columns[2];
    int32_t i, k;
    for (i = 0; i < p->ph; i++) {
        inlay_typed(roi_range)(corner[1], corner[3], i, p->ph, p->h, rows);
        for (k = 0; k < p->pw; k++) {
            inlay_typed(roi_range)(corner[0], corner[2], k, p->pw, p->w,
                                   columns);
            *y++ = inlay_typed(roi_greatest)(x, p->w, rows, columns);
        }
    }
    return y;
}

/* x1, y1, x2, y2 of a region, behind the number of its image. */
static inline void inlay_typed(roi_corners)(const inlay_roi_pool_params *p,
                                            const INLAY_T *region,
                                            int64_t *corner)
{
    const INLAY_T scale = (INLAY_T)p->scale;
    int32_t i;
    for (i = 0; i < 4; i++)
        corner[i] = inlay_typed(roi_corner)(region[1 + i] * scale);
}

/* All channels of a region: returns where y ends. */
static inline INLAY_T *
inlay_typed(roi_pool_channels)(const inlay_roi_pool_params *p, INLAY_T *y,
                               const INLAY_T *x, const INLAY_T *region)
{
    const int64_t plane = p->h * p->w;
    int64_t corner[4];
    int64_t c;
    inlay_typed(roi_corners)(p, region, corner);
    for (c = 0; c < p->c; c++) {
        y = inlay_typed(roi_pool_plane)(p, y, x, corner);
        x += plane;
    }
    return y;
}

static inline int inlay_typed(roi_pool)(void *const *base, const inlay_step *s,
                                        int32_t r0, int32_t r1)
{
    const inlay_roi_pool_params *p = (const inlay_roi_pool_params *)s->params;
    INLAY_T *y = (INLAY_T *)inlay_at(base, s, 0);
    const INLAY_T *x = (const INLAY_T *)inlay_at(base, s, 1);
    const INLAY_T *region = (const INLAY_T *)inlay_at(base, s, 2);
    const int64_t size = p->c * p->h * p->w;
    int64_t r;
    (void)r0;
    (void)r1;
    for (r = 0; r < p->regions; r++, region += 5) {
        const INLAY_T image = region[0];
        if (!(image >= 0 && image < (INLAY_T)p->n))
            return -INLAY_E_INDEX;
        y = inlay_typed(roi_pool_channels)(p, y, x + (int64_t)image * size,
                                           region);
    }
    return 0;
}
