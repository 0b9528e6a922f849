/* SPDX-License-Identifier: 0BSD
 * Depthwise convolution by windows of 3 x 3 on small cores in C, a channel at a time: some pixels
 * side by side, whose sums stay in registers. Of each row of x under them three weights are read,
 * and each number once for all windows that it is in. Strides of columns are one or two,
 * x [H][W][C], y [OH][OW][C], weights [3][3][C]:
 *
 *   sum[c] = sum over h, k < 3: x[sh r + dh h - ph][sw p + k - pw][c] w[h][k][c]
 *
 * Included by qdwconv_packed.h, which says what sums begin with and what becomes of them. */
#ifndef INLAY_QDW_OWN_H
#define INLAY_QDW_OWN_H

enum {
    INLAY_QOWN_PIXELS = 10, /* the most of a row at a time */
    INLAY_QOWN_MOST = 5     /* the most side by side */
};

/* Pixels side by side: five or two; or one, and any that has more columns outside of x than
 * the first and the last of such. */
typedef struct inlay_qown_piece {
    int32_t n;
    int beside;      /* is it such a pixel? */
    int32_t first;   /* column of x that its windows begin with */
    ptrdiff_t at;    /* bytes from a row to that column */
    int left, right; /* does it lie outside, does the last one? */
} inlay_qown_piece;

/* Columns [c, c + n) of y, one channel. */
typedef struct inlay_qown {
    inlay_qdw *job;
    const inlay_qpacked_params *params;
    inlay_qdw_lines lines;
    inlay_qdw_ring x, y;
    const int8_t *weights;
    ptrdiff_t all, pix; /* bytes from tap to tap of weights and of x */
    int32_t zero;       /* zero point of x */
    int32_t zw;         /* of the channel's weights */
    int32_t start;      /* what sums of the channel begin with */
    int32_t c, n;
    int32_t inside; /* are rows of x under the windows? */
    int32_t bytes;  /* are results such? */
    int32_t pieces;
    inlay_qown_piece piece[INLAY_QOWN_PIXELS];
    inlay_qroom room; /* of sums of nine products */
    inlay_qfixed fixed;
} inlay_qown;

/* A weight less its zero point. */
INLAY_INLINE int32_t inlay_qown_weight(const inlay_qown *own, int8_t weight)
{
    return INLAY_QUSES(INLAY_QUSE_MORE) ? weight - own->zw : weight;
}

/* The three of a row. */
INLAY_INLINE int32_t inlay_qown_weights(const inlay_qown *own, const int8_t *w)
{
    const int32_t sum = w[0] + w[own->all] + w[2 * own->all];
    return INLAY_QUSES(INLAY_QUSE_MORE) ? sum - 3 * own->zw : sum;
}

/* A sum that is made before the next product: compilers would make several at a time, for which
 * there are too few registers. */
#if defined __GNUC__
#define INLAY_QSTAYS(sum) __asm__("" : "+r"(sum))
#else
#define INLAY_QSTAYS(sum) (void)0
#endif

/* Adds number v of column k times the weight of tap `tap` to the sum of the one of n windows that
 * has it there. */
INLAY_INLINE void inlay_qown_add(int32_t v, int32_t weight, int32_t k,
                                 int32_t tap, int32_t n, int32_t stride,
                                 int32_t *sum)
{
    const int32_t begins = k - tap;
    const int32_t i = begins / stride;
    if (begins < 0 || begins % stride || i >= n)
        return;
    sum[i] = inlay_wrap_add(sum[i], v * weight);
    INLAY_QSTAYS(sum[i]);
}

/* Adds a row of x, from the windows' first column on; w: its weights. */
INLAY_INLINE void inlay_qown_row(const inlay_qown *own,
                                 const inlay_qown_piece *piece,
                                 const uint8_t *x, const int8_t *w,
                                 int32_t *sum, int32_t n, int32_t stride,
                                 inlay_qsign sign)
{
    const inlay_qtile *of = &own->job->of;
    const ptrdiff_t all = own->all;
    const ptrdiff_t pix = own->pix;
    const int32_t last = (n - 1) * stride + 2;
    const int32_t a = inlay_qown_weight(own, w[0]);
    const int32_t b = inlay_qown_weight(own, w[all]);
    const int32_t c = inlay_qown_weight(own, w[2 * all]);
    int32_t k;
    INLAY_UNROLL
    for (k = 0; k <= last; k++, x += pix) {
        const int outside =
            (k == 0 && piece->left) || (k == last && piece->right);
        const int32_t v = outside ? own->zero : inlay_qnumber_at(of, x, sign);
        inlay_qown_add(v, a, k, 0, n, stride, sum);
        inlay_qown_add(v, b, k, 1, n, stride, sum);
        inlay_qown_add(v, c, k, 2, n, stride, sum);
    }
}

/* Sums of n pixels side by side; line: the rows of x, NULL: there is none. */
INLAY_INLINE void inlay_qown_some(const inlay_qown *own,
                                  const inlay_qown_piece *piece,
                                  const uint8_t *const *line, int32_t channel,
                                  int32_t *sum, int32_t n, int32_t stride,
                                  inlay_qsign sign)
{
    const ptrdiff_t all = own->all;
    const ptrdiff_t at = piece->at + channel;
    const int8_t *w = own->weights + channel;
    int32_t s[INLAY_QOWN_MOST];
    int32_t h, i;
    INLAY_UNROLL
    for (i = 0; i < n; i++)
        s[i] = own->start;
    for (h = 0; h < 3; h++, w += 3 * all) {
        if (line[h]) {
            inlay_qown_row(own, piece, line[h] + at, w, s, n, stride, sign);
        } else {
            const int32_t v = own->zero * inlay_qown_weights(own, w);
            INLAY_UNROLL
            for (i = 0; i < n; i++)
                s[i] = inlay_wrap_add(s[i], v);
        }
    }
    INLAY_UNROLL
    for (i = 0; i < n; i++)
        sum[i] = s[i];
}

/* The sum of one pixel, wherever its window lies. */
INLAY_APART int32_t inlay_qown_one(const inlay_qown *own,
                                   const inlay_qown_piece *piece,
                                   const uint8_t *const *line, int32_t channel)
{
    const inlay_qtile *of = &own->job->of;
    const ptrdiff_t pix = own->pix;
    const int8_t *w = own->weights + channel;
    int32_t sum = own->start;
    int32_t h, k;
    for (h = 0; h < 3; h++)
        for (k = 0; k < 3; k++, w += own->all) {
            const int32_t column = piece->first + k;
            int32_t v = own->zero;
            if (line[h] && column >= 0 && column < own->params->iw)
                v = inlay_qnumber_at(of, line[h] + column * pix + channel,
                                     INLAY_QOTHER);
            sum = inlay_wrap_add(sum, v * inlay_qown_weight(own, *w));
        }
    return sum;
}

/* Sums of a row's pixels. */
INLAY_INLINE void inlay_qown_pieces(const inlay_qown *own,
                                    const uint8_t *const *line, int32_t channel,
                                    int32_t *sum, int32_t stride,
                                    inlay_qsign sign)
{
    const inlay_qown_piece *piece = own->piece;
    const inlay_qown_piece *const end = piece + own->pieces;
    for (; piece < end; sum += piece->n, piece++) {
        if (piece->beside)
            *sum = inlay_qown_one(own, piece, line, channel);
        else if (piece->n == INLAY_QOWN_MOST)
            inlay_qown_some(own, piece, line, channel, sum, INLAY_QOWN_MOST,
                            stride, sign);
        else if (piece->n == 2)
            inlay_qown_some(own, piece, line, channel, sum, 2, stride, sign);
        else
            inlay_qown_some(own, piece, line, channel, sum, 1, stride, sign);
    }
}

INLAY_APART void inlay_qown_signed(const inlay_qown *own,
                                   const uint8_t *const *line, int32_t channel,
                                   int32_t *sum)
{
    inlay_qown_pieces(own, line, channel, sum, 1, INLAY_QSIGNED);
}
INLAY_APART void inlay_qown_unsigned(const inlay_qown *own,
                                     const uint8_t *const *line,
                                     int32_t channel, int32_t *sum)
{
    inlay_qown_pieces(own, line, channel, sum, 1, INLAY_QUNSIGNED);
}
INLAY_APART void inlay_qown_far_signed(const inlay_qown *own,
                                       const uint8_t *const *line,
                                       int32_t channel, int32_t *sum)
{
    inlay_qown_pieces(own, line, channel, sum, 2, INLAY_QSIGNED);
}
INLAY_APART void inlay_qown_far_unsigned(const inlay_qown *own,
                                         const uint8_t *const *line,
                                         int32_t channel, int32_t *sum)
{
    inlay_qown_pieces(own, line, channel, sum, 2, INLAY_QUNSIGNED);
}

static inline void inlay_qown_sums(const inlay_qown *own,
                                   const uint8_t *const *line, int32_t channel,
                                   int32_t *sum)
{
    const inlay_qpacked_params *params = own->params;
    const int flips = inlay_qflips(params->flip);
    const int far = inlay_qdw_is_far(params);
    if (far && flips)
        inlay_qown_far_signed(own, line, channel, sum);
    else if (far)
        inlay_qown_far_unsigned(own, line, channel, sum);
    else if (flips)
        inlay_qown_signed(own, line, channel, sum);
    else
        inlay_qown_unsigned(own, line, channel, sum);
}

/* ---- results ---- */

/* What becomes of a channel's sums. */
static inline void inlay_qown_begin(inlay_qown *own, int32_t channel)
{
    inlay_qdw *job = own->job;
    const inlay_qresult *result = &job->of.result;
    inlay_qfixed *fixed = &own->fixed;
    int32_t start = job->of.bias[channel];
    if (INLAY_QUSES(INLAY_QUSE_MORE) && job->of.sums) {
        const int32_t off = inlay_wrap_mul(job->of.zero, job->of.sums[channel]);
        start = inlay_wrap_add(start, -off);
    }
    own->start = start;
    if (INLAY_QUSES(INLAY_QUSE_MORE))
        own->zw = job->of.zw ? job->of.zw[channel] : job->of.zw_all;
    if (inlay_qout_scales(result->kind))
        inlay_qscales(result, channel, 1, job->scale);
    fixed->suits =
        own->room.most && inlay_qfixed_one(fixed, &own->room, &start);
}

/* Any results of the row's pixels. */
INLAY_APART void inlay_qown_any(const inlay_qown *own, int32_t channel,
                                const int32_t *sum, void *y)
{
    const inlay_qresult *result = &own->job->of.result;
    const ptrdiff_t ys = own->job->of.ys;
    int32_t i;
    for (i = 0; i < own->n; i++)
        inlay_qresults(result, channel, 1, sum + i, own->job->scale,
                       inlay_qplace(result, y, i * ys));
}

/* Those that they mostly are. */
INLAY_INLINE void inlay_qown_end(const inlay_qown *own, int32_t channel,
                                 const int32_t *sum, void *y)
{
    const inlay_qtile *of = &own->job->of;
    uint8_t *const bytes = (uint8_t *)y;
    if (INLAY_QSOFT && own->fixed.suits)
        inlay_qfixed_line(&of->result, &own->fixed, sum, own->n, bytes, of->ys);
    else if (!INLAY_QSOFT && own->bytes)
        inlay_qfloat_line(&of->result, own->job->scale[0], sum, own->n, bytes,
                          of->ys);
    else
        inlay_qown_any(own, channel, sum, y);
}

/* ---- some columns of some rows ---- */

/* Row r of x from the plane on that the windows begin in; NULL: there is none. */
INLAY_INLINE const uint8_t *inlay_qown_line(const inlay_qown *own, int32_t r)
{
    if (r < 0 || r >= own->params->ih || !own->inside)
        return NULL;
    return inlay_qdw_ring_at(&own->x, r);
}

/* A row of y, from the first one made on, one channel. */
INLAY_INLINE void inlay_qown_make(const inlay_qown *own,
                                  const uint8_t *const *line, int32_t channel,
                                  unsigned char *row)
{
    int32_t sum[INLAY_QOWN_PIXELS];
    inlay_qown_sums(own, line, channel, sum);
    inlay_qown_end(own, channel, sum,
                   inlay_qplace(&own->job->of.result, row, channel));
}

/* All rows of a channel. */
static inline void inlay_qown_channel(inlay_qown *own, int32_t channel)
{
    const int32_t dh = own->params->dh;
    const int32_t move = own->job->step->backward ? -1 : 1;
    const uint8_t *line[3];
    int32_t top = own->lines.begun.row;
    int32_t done, h;
    inlay_qown_begin(own, channel);
    for (done = 0; done < own->lines.n; done++, top += move * own->params->sh) {
        for (h = 0; h < 3; h++)
            line[h] = inlay_qown_line(own, top + h * dh);
        inlay_qown_make(own, line, channel,
                        inlay_qdw_ring_at(&own->y, move * done));
    }
}

/* One row, all channels: where rows of x lie is the same for each. */
static inline void inlay_qown_single(inlay_qown *own)
{
    const int32_t top = own->lines.begun.row;
    unsigned char *const row = inlay_qdw_ring_at(&own->y, 0);
    const uint8_t *line[3];
    int32_t channel, h;
    for (h = 0; h < 3; h++)
        line[h] = inlay_qown_line(own, top + h * own->params->dh);
    for (channel = 0; channel < own->params->groups; channel++) {
        inlay_qown_begin(own, channel);
        inlay_qown_make(own, line, channel, row);
    }
}

static inline int inlay_qown_suits(const inlay_qdw *job)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)job->step->params;
    if (!INLAY_QUSES(INLAY_QUSE_DW_ANY | INLAY_QUSE_DW_DEEP |
                     INLAY_QUSE_SHIFTED | INLAY_QUSE_MORE))
        return 1;
    if (params->kd != 1 || params->kh != 3 || params->kw != 3)
        return 0;
    return params->dw == 1 && params->sw <= 2 && !params->deep &&
           params->flip == params->minus;
}

/* The piece that pixel p of the columns begins, if it has n. Do only columns beside its first and
 * last lie outside? */
static inline int inlay_qown_fits(const inlay_qown *own, int32_t p, int32_t n,
                                  inlay_qown_piece *piece)
{
    const inlay_qpacked_params *params = own->params;
    const int32_t sw = params->sw;
    const int32_t first = (own->c + p) * sw - params->pw;
    const int32_t last = first + (n - 1) * sw + 2;
    piece->n = n;
    piece->beside = 0;
    piece->first = first;
    piece->at = first * own->pix;
    piece->left = first < 0;
    piece->right = last >= params->iw;
    return first >= -1 && last <= params->iw;
}

static inline void inlay_qown_divide(inlay_qown *own)
{
    int32_t p, n;
    own->pieces = 0;
    for (p = 0; p < own->n; p += n) {
        inlay_qown_piece *piece = own->piece + own->pieces++;
        const int32_t left = own->n - p;
        n = left > 1 ? 2 : 1;
        if (left >= INLAY_QOWN_MOST)
            n = INLAY_QOWN_MOST;
        if (!inlay_qown_fits(own, p, n, piece)) {
            n = 1;
            piece->beside = !inlay_qown_fits(own, p, n, piece);
        }
    }
}

/* Some columns of some rows. */
static inline void inlay_qown_tile(inlay_qown *own)
{
    const inlay_qdw *job = own->job;
    const inlay_qdw_lines *lines = &own->lines;
    const int32_t plane = lines->begun.plane;
    int32_t channel;
    own->inside = plane >= 0 && plane < own->params->id;
    own->x = inlay_qdw_ring_of_x(job, lines, 0);
    own->y = inlay_qdw_ring_of(job, 0, lines->r, 0);
    own->y.at = (unsigned char *)inlay_qplace(&job->of.result, own->y.at,
                                              own->c * job->of.ys);
    inlay_qown_divide(own);
    if (lines->n == 1) {
        inlay_qown_single(own);
        return;
    }
    for (channel = 0; channel < own->params->groups; channel++)
        inlay_qown_channel(own, channel);
}

static inline void inlay_qown_set(inlay_qdw *job, inlay_qown *own)
{
    const inlay_qresult *result = &job->of.result;
    own->job = job;
    own->params = (const inlay_qpacked_params *)job->step->params;
    own->bytes = !inlay_qout_is_wide(result->kind);
    own->weights = job->of.weights;
    own->all = own->params->groups;
    own->pix = job->step->ref[1].pix;
    own->zero = job->of.zero;
    own->room =
        inlay_qroom_of(result, inlay_qhas_zeros(&own->job->of) ? 18 : 9);
    own->fixed.n = 1;
    own->fixed.scale = job->scale;
}

/* Rows [r0, r1) of y. */
static inline void inlay_qown_all(inlay_qdw *job, int32_t r0, int32_t r1)
{
    int32_t most, done, column, chunk;
    inlay_qown own;
    inlay_qown_set(job, &own);
    most = inlay_qdw_most(job, r1 - r0, INLAY_QOWN_PIXELS);
    chunk = INLAY_QOWN_PIXELS;
    if (most == 1 && !inlay_qpacked_apart(job->base, job->step, r0, r1))
        chunk = INLAY_QOWN_MOST; /* within those of a tile */
    for (done = 0; done < r1 - r0; done += own.lines.n) {
        own.lines = inlay_qdw_lines_of(job, r0, r1, done, most);
        for (column = 0; column < own.params->ow; column += own.n) {
            const int32_t left = own.params->ow - column;
            own.n = left < chunk ? left : chunk;
            own.c = job->step->backward ? left - own.n : column;
            inlay_qown_tile(&own);
        }
    }
}

#endif
