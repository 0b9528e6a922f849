/* SPDX-License-Identifier: 0BSD
 * The tile of qdwconv_packed.h in vectors. Rows of the window go by fours, the last filled up with
 * any: of a column of x the four bytes of each channel are put side by side, once, and multiplied
 * at once with weights that lie alike, for each pixel whose window the column is in.
 *
 *   sum[c] += sum over columns k, fours f: dot4(x[f][column + k][c], w[f][k][c]) */
#ifndef INLAY_QDW_VEC_H
#define INLAY_QDW_VEC_H

/* Columns of a block; its weights, and those that are held for several; fours of a band. */
enum {
    INLAY_QDW_COLUMNS = 48,
    INLAY_QDW_WEIGHTS = 24,
    INLAY_QDW_HELD = 48,
    INLAY_QDW_FOURS = 24
};

/* A block of channels: columns of x, weights, and what its sums begin and end with. */
typedef struct inlay_qdw_sheet {
    inlay_qx column[INLAY_QDW_COLUMNS]; /* [four][columns] */
    inlay_qw weight[INLAY_QDW_HELD];    /* [block][four][kw] */
    const inlay_qw *w;                  /* those of the block */
    int held;                           /* 1: weight has all blocks, 0: one */
    int32_t fours;
    int32_t columns; /* of a four */
    int32_t channel; /* the first */
    int32_t n;       /* how many exist */
    inlay_qgroup group;
    inlay_qlanes lanes;
} inlay_qdw_sheet;

/* Four rows that are read together, and how far it is from column to column. */
typedef struct inlay_qdw_four {
    const uint8_t *row[4];
    ptrdiff_t step[4]; /* 0: zero points, whatever the channel */
} inlay_qdw_four;

/* Rows of y, and the fours of each of their windows from channel 0 on. */
typedef struct inlay_qdw_band {
    int32_t rows;
    inlay_qrow row[INLAY_QDW_FOURS];
    inlay_qdw_four four[INLAY_QDW_FOURS]; /* [row][four] */
} inlay_qdw_band;

/* Column i of the first `rows` rows: lane c has its four bytes of channel c. full: all exist. */
#if INLAY_QL == 16
INLAY_INLINE __m128i inlay_qdw_bytes(const inlay_qdw_four *four, ptrdiff_t i,
                                     int row, int32_t n, int full)
{
    const uint8_t *x = four->row[row] + i * four->step[row];
    if (full)
        return _mm_loadu_si128((const __m128i *)(const void *)x);
    return _mm_maskz_loadu_epi8(inlay_qmask_of(n), x);
}
INLAY_INLINE inlay_qi inlay_qdw_column(const inlay_qdw_four *four, ptrdiff_t i,
                                       int32_t n, int rows, int full)
{
    /* rows one after the other; then four channels of each; then each channel's bytes */
    const __m512i fours =
        _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    const __m512i each = _mm512_broadcast_i32x4(
        _mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
    __m512i all = _mm512_zextsi128_si512(inlay_qdw_bytes(four, i, 0, n, full));
    all = _mm512_inserti32x4(all, inlay_qdw_bytes(four, i, 1, n, full), 1);
    all = _mm512_inserti32x4(all, inlay_qdw_bytes(four, i, 2, n, full), 2);
    if (rows > 3)
        all = _mm512_inserti32x4(all, inlay_qdw_bytes(four, i, 3, n, full), 3);
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(fours, all), each);
}
#else
INLAY_INLINE __m128i inlay_qdw_bytes(const inlay_qdw_four *four, ptrdiff_t i,
                                     int row)
{
    const uint8_t *x = four->row[row] + i * four->step[row];
#if INLAY_QL == 8
    return _mm_loadl_epi64((const __m128i *)(const void *)x);
#else
    return _mm_cvtsi32_si128((int)inlay_four(x));
#endif
}
INLAY_INLINE inlay_qi inlay_qdw_column(const inlay_qdw_four *four, ptrdiff_t i,
                                       int32_t n, int rows, int full)
{
    const __m128i none = _mm_setzero_si128();
    const __m128i last = rows > 3 ? inlay_qdw_bytes(four, i, 3) : none;
    const __m128i low = _mm_unpacklo_epi8(inlay_qdw_bytes(four, i, 0),
                                          inlay_qdw_bytes(four, i, 1));
    const __m128i high = _mm_unpacklo_epi8(inlay_qdw_bytes(four, i, 2), last);
    (void)n;
    (void)full;
#if INLAY_QL == 8
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_unpacklo_epi16(low, high)),
        _mm_unpackhi_epi16(low, high), 1);
#else
    return _mm_unpacklo_epi16(low, high);
#endif
}
#endif

/* Weights of four rows of a block from `channel` on; those of rows that do not exist are 0. */
INLAY_INLINE void inlay_qdw_weights(const inlay_qdw *job, int32_t channel,
                                    int32_t f, int full, inlay_qw *to)
{
    static const uint8_t none[INLAY_QL] = { 0 };
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const uint8_t *w = (const uint8_t *)job->of.weights + channel;
    const int32_t all = params->kd * params->kh;
    inlay_qdw_four four;
    int32_t i;
    for (i = 0; i < 4; i++) {
        const ptrdiff_t tap = (ptrdiff_t)(4 * f + i) * params->kw;
        const int exists = 4 * f + i < all;
        four.row[i] = exists ? w + tap * params->groups : none;
        four.step[i] = exists ? params->groups : 0;
    }
    for (i = 0; i < params->kw; i++)
        to[i] = inlay_qw_of(
            inlay_qdw_column(&four, i, params->groups - channel, 4, full));
}

/* All of a block, where there are as many channels as lanes or vectors may have fewer. */
static inline void inlay_qdw_block_weights(const inlay_qdw *job,
                                           int32_t channel, int32_t fours,
                                           inlay_qw *to)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    int32_t f;
    for (f = 0; f < fours; f++, to += params->kw) {
        if (channel + INLAY_QL <= params->groups)
            inlay_qdw_weights(job, channel, f, 1, to);
        else if (INLAY_QL == 16)
            inlay_qdw_weights(job, channel, f, 0, to);
    }
}

/* The rows of x of a four; row r of the window: NULL where there is none. */
static inline inlay_qdw_four inlay_qdw_rows(const inlay_qdw *job,
                                            const inlay_qrow *row, int32_t f)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    inlay_qdw_four four;
    int32_t i;
    for (i = 0; i < 4; i++) {
        const int32_t r = 4 * f + i;
        const uint8_t *x = NULL;
        if (r < params->kd * params->kh)
            x = inlay_qimage_row(job->base, job->step, row->image,
                                 row->plane + r / params->kh * params->dd,
                                 row->row + r % params->kh * params->dh);
        four.row[i] = x ? x : job->pad;
        four.step[i] = x ? job->step->ref[1].pix : 0;
    }
    return four;
}

/* Rows [r, r + n). */
static inline void inlay_qdw_band_set(const inlay_qdw *job,
                                      inlay_qdw_band *band, int32_t fours,
                                      int32_t r, int32_t n)
{
    inlay_qdw_four *four = band->four;
    int32_t i, f;
    band->rows = n;
    for (i = 0; i < n; i++) {
        band->row[i] = inlay_qpacked_window(job->base, job->step, r + i);
        for (f = 0; f < fours; f++)
            *four++ = inlay_qdw_rows(job, band->row + i, f);
    }
}

/* The sheet's columns from column `first` of x on; zero points are those that x does not have. */
INLAY_INLINE void inlay_qdw_columns(const inlay_qdw *job,
                                    const inlay_qdw_four *lines,
                                    inlay_qdw_sheet *sheet, int32_t first,
                                    int32_t f, int rows, int full)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    inlay_qdw_four four = lines[f];
    const inlay_qi flip = inlay_qflip_of(job->of.flip);
    const inlay_qx pad = inlay_qx_from(inlay_qflip_of(job->of.zero));
    inlay_qx *to = sheet->column + f * sheet->columns;
    const int32_t end = sheet->columns;
    int32_t i;
    for (i = 0; i < 4; i++)
        four.row[i] += four.step[i] ? sheet->channel : 0;
    for (i = 0; i < end && first + i < 0; i++)
        to[i] = pad;
    for (; i < end && first + i < params->iw; i++)
        to[i] = inlay_qx_from(INLAY_MB(xor)(
            inlay_qdw_column(&four, first + i, sheet->n, rows, full), flip));
    for (; i < end; i++)
        to[i] = pad;
}

/* Ones where the rows of a four exist. */
INLAY_INLINE inlay_qw inlay_qdw_ones(const inlay_qpacked_params *params,
                                     int32_t f)
{
    const int32_t left = params->kd * params->kh - 4 * f;
    const int32_t missing = left < 4 ? 4 - left : 0;
    const uint32_t one = UINT32_C(0x01010101) >> 8 * missing;
    return inlay_qw_of(INLAY_MM(set1_epi32)((int32_t)one));
}

/* Adds column k of four f of a window to the sums, and x itself to `zeros` where it is not NULL. */
INLAY_INLINE void inlay_qdw_add_tap(const inlay_qpacked_params *params,
                                    const inlay_qx *x, const inlay_qw *w,
                                    int32_t k, int32_t f, inlay_qi *sum,
                                    inlay_qi *zeros)
{
    *sum = inlay_dot4(*sum, x[k * params->dw], w[k]);
    if (zeros)
        *zeros =
            inlay_dot4(*zeros, x[k * params->dw], inlay_qdw_ones(params, f));
}

/* The sums of the pixel whose first column is x and, where `zeros` is not NULL, of its numbers of
 * x. taps: columns of the window, where there is one four only; else 0. */
INLAY_INLINE inlay_qi inlay_qdw_sum(const inlay_qpacked_params *params,
                                    const inlay_qdw_sheet *sheet,
                                    const inlay_qx *x, const inlay_qw *w,
                                    inlay_qi sum, int taps, inlay_qi *zeros)
{
    int32_t f, k;
    if (taps) {
        INLAY_UNROLL
        for (k = 0; k < taps; k++)
            inlay_qdw_add_tap(params, x, w, k, 0, &sum, zeros);
        return sum;
    }
    for (f = 0; f < sheet->fours; f++) {
        for (k = 0; k < params->kw; k++)
            inlay_qdw_add_tap(params, x, w, k, f, &sum, zeros);
        w += params->kw;
        x += sheet->columns;
    }
    return sum;
}

/* Results that are no bytes, or those of weights with zero points. */
INLAY_APART void inlay_qdw_any_pixel(const inlay_qdw *job,
                                     const inlay_qgroup *group, inlay_qi sum,
                                     inlay_qi x_sum, void *y)
{
    const inlay_qtile *of = &job->of;
    int32_t lane[INLAY_QL];
    int32_t x_lane[INLAY_QL];
    int32_t i;
    inlay_qspill(lane, sum);
    inlay_qspill(x_lane, x_sum);
    for (i = 0; i < group->n; i++) {
        const int32_t zw = of->zw ? of->zw[group->channel + i] : of->zw_all;
        lane[i] = inlay_wrap_add(lane[i], -inlay_wrap_mul(zw, x_lane[i]));
    }
    inlay_qresults(&of->result, group->channel, group->n, lane, group->scale,
                   y);
}

INLAY_INLINE void inlay_qdw_pixels_any(const inlay_qdw *job,
                                       const inlay_qdw_sheet *sheet,
                                       int32_t pixels, void *y)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    int32_t p;
    for (p = 0; p < pixels; p++) {
        inlay_qi zeros = inlay_qzero_sums();
        const inlay_qi sum =
            inlay_qdw_sum(params, sheet, sheet->column + p * params->sw,
                          sheet->w, sheet->lanes.start[0], 0, &zeros);
        inlay_qdw_any_pixel(job, &sheet->group, sum, zeros,
                            inlay_qplace(&job->of.result, y, p * job->of.ys));
    }
}

/* Bytes of `count` pixels, at most four, from the one whose first column is x on. */
INLAY_INLINE void inlay_qdw_pixels_four(const inlay_qpacked_params *params,
                                        const inlay_qdw_sheet *sheet,
                                        const inlay_qx *x, const inlay_qw *w,
                                        int taps, int full, int count,
                                        uint8_t *y, ptrdiff_t ys)
{
    const int32_t n = full ? INLAY_QL : sheet->n;
    inlay_qfour four;
    int32_t k;
    INLAY_UNROLL
    for (k = 0; k < 4; k++) {
        four.n[k] = n;
        four.y[k] = y;
        four.v[k] =
            inlay_qrounded(inlay_qdw_sum(params, sheet, x, w,
                                         sheet->lanes.start[0], taps, NULL),
                           sheet->lanes.scale[0]);
        if (k + 1 < count) {
            x += params->sw;
            y += ys;
        }
    }
    inlay_qfour_store(&sheet->lanes.pack, &four, count);
}

/* Four pixels at a time; the last ones again where they are fewer. */
INLAY_INLINE void inlay_qdw_pixels_bytes(const inlay_qdw *job,
                                         const inlay_qdw_sheet *sheet,
                                         int32_t pixels, int taps, int full,
                                         uint8_t *y)
{
    const inlay_qpacked_params params =
        *(const inlay_qpacked_params *)job->step->params;
    const ptrdiff_t ys = job->of.ys;
    const inlay_qx *x = sheet->column;
    inlay_qw own[4];
    const inlay_qw *w = taps ? own : sheet->w;
    int32_t done, p;
    memcpy(own, sheet->w, (size_t)taps * sizeof *own);
    if (pixels < 4) {
        inlay_qdw_pixels_four(&params, sheet, x, w, taps, full, pixels, y, ys);
        return;
    }
    for (done = 0; done < pixels; done += 4) {
        p = done + 4 > pixels ? pixels - 4 : done;
        inlay_qdw_pixels_four(&params, sheet, x + p * params.sw, w, taps, full,
                              4, y + p * ys, ys);
    }
}

/* What all blocks have in common; their weights, where there is room for all. */
static inline void inlay_qdw_sheet_set(const inlay_qdw *job,
                                       inlay_qdw_sheet *sheet, int32_t fours)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int32_t each = fours * params->kw;
    inlay_qw *to = sheet->weight;
    int32_t i;
    sheet->fours = fours;
    sheet->held =
        (params->groups + INLAY_QL - 1) / INLAY_QL <= INLAY_QDW_HELD / each;
    for (i = 0; sheet->held && i < params->groups; i += INLAY_QL, to += each)
        inlay_qdw_block_weights(job, i, fours, to);
    inlay_qlanes_set(&job->of, &sheet->lanes);
    sheet->lanes.bytes &= !inlay_qhas_zeros(&job->of);
}

/* The block of channels from `channel` on. */
static inline void inlay_qdw_sheet_begin(const inlay_qdw *job,
                                         inlay_qdw_sheet *sheet,
                                         int32_t channel)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int32_t left = params->groups - channel;
    inlay_qgroup *group = &sheet->group;
    sheet->channel = channel;
    sheet->n = left < INLAY_QL ? left : INLAY_QL;
    sheet->w = sheet->weight;
    group->channel = channel;
    group->n = sheet->n;
    group->lanes = inlay_up4(sheet->n);
    inlay_qgroup_begin(&job->of, group);
    inlay_qlanes_take(group, 1, &sheet->lanes);
    if (sheet->held)
        sheet->w += channel / INLAY_QL * sheet->fours * params->kw;
    else
        inlay_qdw_block_weights(job, channel, sheet->fours, sheet->weight);
}

/* Pixels from column c on of the sheet's channels. rows, taps: of the window, where they are at
 * most 3 and 3; else 4 and 0. */
INLAY_INLINE void
inlay_qdw_sheet_run(const inlay_qdw *job, const inlay_qrow *row,
                    const inlay_qdw_four *lines, inlay_qdw_sheet *sheet,
                    int32_t c, int32_t pixels, int rows, int taps, int full)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const inlay_qresult *result = &job->of.result;
    void *y = inlay_qplace(result, row->y, c * job->of.ys + sheet->channel);
    int32_t f;
    for (f = 0; f < sheet->fours; f++)
        inlay_qdw_columns(job, lines, sheet, c * params->sw - params->pw, f,
                          rows, full);
    if (sheet->lanes.suits)
        inlay_qdw_pixels_bytes(job, sheet, pixels, taps, full, (uint8_t *)y);
    else
        inlay_qdw_pixels_any(job, sheet, pixels, y);
}

INLAY_APART void inlay_qdw_three(const inlay_qdw *job, const inlay_qrow *row,
                                 const inlay_qdw_four *lines,
                                 inlay_qdw_sheet *sheet, int32_t c,
                                 int32_t pixels)
{
    if (sheet->n == INLAY_QL)
        inlay_qdw_sheet_run(job, row, lines, sheet, c, pixels, 3, 3, 1);
    else
        inlay_qdw_sheet_run(job, row, lines, sheet, c, pixels, 3, 3, 0);
}
INLAY_APART void inlay_qdw_fours(const inlay_qdw *job, const inlay_qrow *row,
                                 const inlay_qdw_four *lines,
                                 inlay_qdw_sheet *sheet, int32_t c,
                                 int32_t pixels)
{
    if (sheet->n == INLAY_QL)
        inlay_qdw_sheet_run(job, row, lines, sheet, c, pixels, 4, 0, 1);
    else
        inlay_qdw_sheet_run(job, row, lines, sheet, c, pixels, 4, 0, 0);
}

/* ---- rows ---- */

static inline int32_t inlay_qdw_extent(const inlay_qpacked_params *params)
{
    return (params->kw - 1) * params->dw + 1;
}

static inline int32_t inlay_qdw_fours_of(const inlay_qpacked_params *params)
{
    return (params->kd * params->kh + 3) / 4;
}

/* Does the machine take x's numbers as they are, and does a window fit? */
static inline int inlay_qdw_fits(const inlay_qdw *job)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int32_t fours = inlay_qdw_fours_of(params);
    return inlay_qfast(&job->of) && fours <= INLAY_QDW_WEIGHTS / params->kw &&
           inlay_qdw_extent(params) <= INLAY_QDW_COLUMNS / fours;
}

/* Fewer channels than a vector has lanes. */
static inline void inlay_qdw_rest(inlay_qdw *job, const inlay_qrow *row,
                                  const inlay_qdw_sheet *sheet, int32_t c,
                                  int32_t n)
{
    inlay_qdw_tile tile;
    tile.c = c;
    tile.pixels = n;
    tile.channel = sheet->channel;
    tile.n = sheet->n;
    inlay_qdw_block(job, tile.channel, tile.n);
    inlay_qdw_plain(job, row, &tile);
}

/* Pixels [c, c + n) of a row, of the sheet's channels. */
static inline void inlay_qdw_tile_of(inlay_qdw *job, const inlay_qrow *row,
                                     const inlay_qdw_four *lines,
                                     inlay_qdw_sheet *sheet, int32_t c,
                                     int32_t n)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    sheet->columns = (n - 1) * params->sw + inlay_qdw_extent(params);
    if (INLAY_QL < 16 && sheet->n < INLAY_QL)
        inlay_qdw_rest(job, row, sheet, c, n);
    else if (params->kw == 3 && params->kd * params->kh <= 3)
        inlay_qdw_three(job, row, lines, sheet, c, n);
    else
        inlay_qdw_fours(job, row, lines, sheet, c, n);
}

/* The most pixels of a tile: as wide as a sheet. */
static inline int32_t inlay_qdw_widest(const inlay_qpacked_params *params)
{
    const int32_t room = INLAY_QDW_COLUMNS / inlay_qdw_fours_of(params);
    return (room - inlay_qdw_extent(params)) / params->sw + 1;
}

/* A row of which y may lie over x: in tiles, each of all channels. */
static inline void inlay_qdw_row_over(inlay_qdw *job,
                                      const inlay_qdw_band *band,
                                      inlay_qdw_sheet *sheet)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const inlay_qrow *row = band->row;
    int32_t most = inlay_qdw_widest(params);
    int32_t done, n, i;
    if (most > INLAY_QPIXELS && !inlay_qrow_apart(job->base, job->step, row))
        most = INLAY_QPIXELS;
    for (done = 0; done < row->pixels; done += n) {
        const int32_t left = row->pixels - done;
        n = inlay_qtile_size(left, most);
        for (i = 0; i < job->of.channels; i += INLAY_QL) {
            inlay_qdw_sheet_begin(job, sheet, i);
            inlay_qdw_tile_of(job, row, band->four, sheet,
                              job->step->backward ? left - n : done, n);
        }
    }
}

/* Rows of which y lies apart from x: one block of channels after the other. */
static inline void inlay_qdw_rows_apart(inlay_qdw *job,
                                        const inlay_qdw_band *band,
                                        inlay_qdw_sheet *sheet)
{
    const int32_t most =
        inlay_qdw_widest((const inlay_qpacked_params *)job->step->params);
    int32_t done, n, i, r;
    for (i = 0; i < job->of.channels; i += INLAY_QL) {
        inlay_qdw_sheet_begin(job, sheet, i);
        for (r = 0; r < band->rows; r++) {
            const inlay_qrow *row = band->row + r;
            for (done = 0; done < row->pixels; done += n) {
                n = inlay_qtile_size(row->pixels - done, most);
                inlay_qdw_tile_of(job, row, band->four + r * sheet->fours,
                                  sheet, done, n);
            }
        }
    }
}

/* Rows that are made together: as many as stay in the cache. */
static inline int32_t inlay_qdw_band_rows(const inlay_step *step)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int32_t most = INLAY_QDW_FOURS / inlay_qdw_fours_of(params);
    const int32_t rows =
        INLAY_QPIXEL_BYTES / (params->sh * params->iw) / step->ref[1].pix;
    if (rows < 1)
        return 1;
    return rows < most ? rows : most;
}

/* All rows: some together where y lies apart from x, else one by one. */
static inline void inlay_qdw_vectors(inlay_qdw *job, int32_t r0, int32_t r1)
{
    const inlay_step *step = job->step;
    const int apart =
        r1 - r0 > 1 && inlay_qpacked_apart(job->base, step, r0, r1);
    const int32_t most = apart ? inlay_qdw_band_rows(step) : 1;
    inlay_qdw_band band;
    inlay_qdw_sheet sheet;
    int32_t done, n;
    inlay_qdw_sheet_set(
        job, &sheet,
        inlay_qdw_fours_of((const inlay_qpacked_params *)step->params));
    for (done = 0; done < r1 - r0; done += n) {
        const int32_t left = r1 - r0 - done;
        n = left < most ? left : most;
        inlay_qdw_band_set(
            job, &band, sheet.fours,
            apart ? r0 + done : inlay_next_row(step, r0, r1, done), n);
        if (apart)
            inlay_qdw_rows_apart(job, &band, &sheet);
        else
            inlay_qdw_row_over(job, &band, &sheet);
    }
}

#endif
