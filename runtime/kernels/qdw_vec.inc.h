/* SPDX-License-Identifier: 0BSD
 * The tile of qdwconv_packed.h in vectors. Rows of the window go by fours, the last filled up with
 * any: of a column of x the four bytes of each channel are put side by side, once, and multiplied
 * at once with weights that lie alike, for each pixel whose window the column is in.
 *
 *   sum[c] += sum over columns k, fours f: dot4(x[f][column + k][c], w[f][k][c]) */
#ifndef INLAY_QDW_VEC_H
#define INLAY_QDW_VEC_H

enum { INLAY_QDW_COLUMNS = 48, INLAY_QDW_WEIGHTS = 24 };

/* A block of channels: columns of x, and weights. */
typedef struct inlay_qdw_sheet {
    inlay_qx column[INLAY_QDW_COLUMNS]; /* [four][columns] */
    inlay_qw weight[INLAY_QDW_WEIGHTS]; /* [four][kw] */
    int32_t fours;
    int32_t columns; /* of a four */
    int32_t channel; /* the first */
    int32_t n;       /* how many exist */
} inlay_qdw_sheet;

/* Four rows that are read together, and how far it is from column to column. */
typedef struct inlay_qdw_four {
    const uint8_t *row[4];
    ptrdiff_t step[4];
} inlay_qdw_four;

/* Byte i of n becomes byte `at` of lane i; the others are 0. */
#if INLAY_QL == 16
INLAY_INLINE inlay_qi inlay_qdw_spread(const uint8_t *x, int32_t n, int at)
{
    const __m512i lane =
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const uint32_t others = UINT32_C(0x80808080) & ~(UINT32_C(255) << 8 * at);
    const __m512i from =
        _mm512_or_si512(_mm512_slli_epi32(lane, (unsigned)(8 * at)),
                        _mm512_set1_epi32((int32_t)others));
    const __m128i bytes =
        n >= INLAY_QL ? _mm_loadu_si128((const __m128i *)(const void *)x)
                      : _mm_maskz_loadu_epi8(inlay_qmask_of(n), x);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(bytes), from);
}
#else
INLAY_INLINE inlay_qi inlay_qdw_spread(const uint8_t *x, int32_t n, int at)
{
    return INLAY_MM(slli_epi32)(inlay_qload_bytes(x, n), 8 * at);
}
#endif

/* Column i of the first `rows` rows. */
INLAY_INLINE inlay_qi inlay_qdw_column(const inlay_qdw_four *four, ptrdiff_t i,
                                       int32_t n, int rows)
{
    inlay_qi all = inlay_qdw_spread(four->row[0] + i * four->step[0], n, 0);
    int at;
    INLAY_UNROLL
    for (at = 1; at < rows; at++)
        all = INLAY_MB(or)(
            all, inlay_qdw_spread(four->row[at] + i * four->step[at], n, at));
    return all;
}

/* Weights of four rows; those of rows that do not exist are 0. */
INLAY_INLINE void inlay_qdw_weights(const inlay_qdw *job,
                                    inlay_qdw_sheet *sheet, int32_t f, int rows)
{
    static const uint8_t none[INLAY_QL] = { 0 };
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const uint8_t *w = (const uint8_t *)job->of.weights + sheet->channel;
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
        sheet->weight[f * params->kw + i] =
            inlay_qw_of(inlay_qdw_column(&four, i, sheet->n, rows));
}

/* The rows of x of a four; row r of the window: NULL where there is none. */
static inline inlay_qdw_four inlay_qdw_rows(const inlay_qdw *job,
                                            const inlay_qrow *row, int32_t f,
                                            int32_t channel)
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
        four.row[i] = x ? x + channel : job->pad;
        four.step[i] = x ? job->step->ref[1].pix : 0;
    }
    return four;
}

/* The sheet's columns from column `first` of x on; zero points are those that x does not have. */
INLAY_INLINE void inlay_qdw_columns(const inlay_qdw *job, const inlay_qrow *row,
                                    inlay_qdw_sheet *sheet, int32_t first,
                                    int32_t f, int rows)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const inlay_qdw_four four = inlay_qdw_rows(job, row, f, sheet->channel);
    const inlay_qi flip = inlay_qflip_of(job->of.flip);
    const inlay_qx pad = inlay_qx_from(inlay_qflip_of(job->of.zero));
    inlay_qx *to = sheet->column + f * sheet->columns;
    const int32_t end = sheet->columns;
    int32_t i = 0;
    for (; i < end && first + i < 0; i++)
        to[i] = pad;
    for (; i < end && first + i < params->iw; i++)
        to[i] = inlay_qx_from(INLAY_MB(xor)(
            inlay_qdw_column(&four, first + i, sheet->n, rows), flip));
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

/* The sums of pixel p and, where `zeros` is not NULL, of its numbers of x. taps: columns of the
 * window, where there is one four only; else 0. */
INLAY_INLINE inlay_qi inlay_qdw_sum(const inlay_qpacked_params *params,
                                    const inlay_qdw_sheet *sheet,
                                    const inlay_qw *w, inlay_qi sum, int32_t p,
                                    int taps, inlay_qi *zeros)
{
    const inlay_qx *x = sheet->column + p * params->sw;
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
                                       const inlay_qgroup *group,
                                       int32_t pixels, void *y)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const inlay_qi start =
        inlay_qload(group->start, inlay_qmask_of(group->lanes));
    int32_t p;
    for (p = 0; p < pixels; p++) {
        inlay_qi zeros = inlay_qzero_sums();
        const inlay_qi sum =
            inlay_qdw_sum(params, sheet, sheet->weight, start, p, 0, &zeros);
        inlay_qdw_any_pixel(job, group, sum, zeros,
                            inlay_qplace(&job->of.result, y, p * job->of.ys));
    }
}

INLAY_INLINE void inlay_qdw_pixels_bytes(const inlay_qdw *job,
                                         const inlay_qdw_sheet *sheet,
                                         const inlay_qgroup *group,
                                         int32_t pixels, int taps, uint8_t *y)
{
    const inlay_qpacked_params params =
        *(const inlay_qpacked_params *)job->step->params;
    const inlay_qmask mask = inlay_qmask_of(group->lanes);
    const inlay_qi start = inlay_qload(group->start, mask);
    const inlay_qf scale = inlay_qvector_floats(group->scale, group->lanes);
    const inlay_qclip clip = inlay_qvector_clip(&job->of.result);
    const ptrdiff_t ys = job->of.ys;
    const int32_t n = group->n;
    inlay_qw w[INLAY_QDW_WEIGHTS];
    int32_t p;
    memcpy(w, sheet->weight,
           taps ? (size_t)taps * sizeof *w : sizeof sheet->weight);
    for (p = 0; p < pixels; p++, y += ys)
        inlay_qvector_bytes(
            &clip, inlay_qdw_sum(&params, sheet, w, start, p, taps, NULL),
            scale, n, y);
}

/* Pixels from column c on of the sheet's channels. rows, taps: of the window, where they are at
 * most 3 and 3; else 4 and 0. */
INLAY_INLINE void inlay_qdw_sheet_run(const inlay_qdw *job,
                                      const inlay_qrow *row,
                                      inlay_qdw_sheet *sheet, int32_t c,
                                      int32_t pixels, int rows, int taps)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const inlay_qresult *result = &job->of.result;
    const int bytes =
        result->kind == INLAY_QOUT_I8 || result->kind == INLAY_QOUT_U8;
    void *y = inlay_qplace(result, row->y, c * job->of.ys + sheet->channel);
    inlay_qgroup group;
    int32_t f;
    group.channel = sheet->channel;
    group.n = sheet->n;
    group.lanes = inlay_up4(sheet->n);
    inlay_qgroup_begin(&job->of, &group);
    for (f = 0; f < sheet->fours; f++) {
        inlay_qdw_weights(job, sheet, f, rows);
        inlay_qdw_columns(job, row, sheet, c * params->sw - params->pw, f,
                          rows);
    }
    if (bytes && !job->of.zw && !job->of.zw_all)
        inlay_qdw_pixels_bytes(job, sheet, &group, pixels, taps, (uint8_t *)y);
    else
        inlay_qdw_pixels_any(job, sheet, &group, pixels, y);
}

INLAY_APART void inlay_qdw_three(const inlay_qdw *job, const inlay_qrow *row,
                                 inlay_qdw_sheet *sheet, int32_t c,
                                 int32_t pixels)
{
    inlay_qdw_sheet_run(job, row, sheet, c, pixels, 3, 3);
}
INLAY_APART void inlay_qdw_fours(const inlay_qdw *job, const inlay_qrow *row,
                                 inlay_qdw_sheet *sheet, int32_t c,
                                 int32_t pixels)
{
    inlay_qdw_sheet_run(job, row, sheet, c, pixels, 4, 0);
}

/* ---- a row ---- */

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

/* Pixels [c, c + n) of a row, channels by vectors. */
static inline void inlay_qdw_blocks(inlay_qdw *job, const inlay_qrow *row,
                                    int32_t c, int32_t n)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    inlay_qdw_sheet sheet;
    int32_t i;
    sheet.fours = inlay_qdw_fours_of(params);
    sheet.columns = (n - 1) * params->sw + inlay_qdw_extent(params);
    for (i = 0; i < params->groups; i += INLAY_QL) {
        const int32_t left = params->groups - i;
        sheet.channel = i;
        sheet.n = left < INLAY_QL ? left : INLAY_QL;
        if (INLAY_QL < 16 && left < INLAY_QL) {
            inlay_qdw_tile tile;
            tile.c = c;
            tile.pixels = n;
            tile.channel = i;
            tile.n = left;
            inlay_qdw_block(job, i, left);
            inlay_qdw_plain(job, row, &tile);
        } else if (params->kw == 3 && params->kd * params->kh <= 3) {
            inlay_qdw_three(job, row, &sheet, c, n);
        } else {
            inlay_qdw_fours(job, row, &sheet, c, n);
        }
    }
}

/* A row, in tiles as wide as a sheet, or as may be where y lies over x. */
static inline void inlay_qdw_vectors(inlay_qdw *job, const inlay_qrow *row)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    const int32_t room = INLAY_QDW_COLUMNS / inlay_qdw_fours_of(params);
    int32_t most = (room - inlay_qdw_extent(params)) / params->sw + 1;
    int32_t done, n;
    if (most > INLAY_QPIXELS && !inlay_qrow_apart(job->base, job->step, row))
        most = INLAY_QPIXELS;
    for (done = 0; done < row->pixels; done += n) {
        const int32_t left = row->pixels - done;
        n = inlay_qtile_size(left, most);
        inlay_qdw_blocks(job, row, job->step->backward ? left - n : done, n);
    }
}

#endif
