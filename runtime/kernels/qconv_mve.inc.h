/* SPDX-License-Identifier: 0BSD
 * Rows of qconv_packed.h in Helium vectors: two pixels, or one, by four channels. Windows lie whole
 * and with their sign in x, or are gathered in scratch, one behind the other, with zero points for
 * what is outside. Bytes behind a window's end meet weights of 0. */
#ifndef INLAY_QCONV_MVE_H
#define INLAY_QCONV_MVE_H

enum { INLAY_MVE_ROWS = 16 }; /* rows of the window that are looked up once */

/* A row of y on its way. */
typedef struct inlay_mve_row {
    void *const *base;
    const inlay_step *step;
    const inlay_qrow *row;
    uint8x16_t flip;     /* what gives bytes of x a sign */
    int8_t zero;         /* zero point of x */
    int32_t left, right; /* pixels with windows whose rows are copied whole */
    int32_t rows;        /* of the window */
    int32_t run;         /* bytes of each */
    ptrdiff_t first, stride; /* bytes from a row to pixel 0; to the next */
    int8_t *scratch;
    const uint8_t *x[INLAY_MVE_ROWS]; /* rows of the window; NULL: outside */
} inlay_mve_row;

/* Row k of the window, at the first channel of x. */
static inline const uint8_t *inlay_mve_find(const inlay_mve_row *of, int32_t k)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    const int32_t plane = of->row->plane + k / params->kh * params->dd;
    const int32_t r = of->row->row + k % params->kh * params->dh;
    return inlay_qimage_row(of->base, of->step, of->row->image, plane, r);
}

/* Looks up the rows of the window; do all exist? */
static inline int inlay_mve_find_all(inlay_mve_row *of)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    int all = of->rows <= INLAY_MVE_ROWS;
    int32_t k = 0;
    int32_t d, h;
    for (d = 0; d < inlay_qpacked_planes(params); d++)
        for (h = 0; h < params->kh && k < INLAY_MVE_ROWS; h++, k++) {
            of->x[k] = inlay_qimage_row(of->base, of->step, of->row->image,
                                        of->row->plane + d * params->dd,
                                        of->row->row + h * params->dh);
            all = all && of->x[k];
        }
    return all;
}

/* Which pixels have windows whose rows are copied whole. */
static inline void inlay_mve_limits(inlay_mve_row *of)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    const int whole = params->kw == 1 ||
                      (params->dw == 1 && params->ic == of->step->ref[1].pix);
    of->left = of->row->pixels;
    of->right = of->row->pixels;
    if (!inlay_mve_find_all(of) || !whole)
        return;
    if (of->rows == 1 && params->kw == 1) {
        of->left = of->row->left; /* those of one tap are known */
        of->right = of->row->right;
    } else
        of->left = inlay_inside(params->sw, params->pw,
                                (params->kw - 1) * params->dw + 1, params->iw,
                                params->ow, &of->right);
}

static inline void inlay_mve_begin(inlay_mve_row *of, const inlay_qtile *tile)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    const int32_t pix = of->step->ref[1].pix;
    of->flip = vdupq_n_u8((uint8_t)(params->flip ^ 128));
    of->zero = (int8_t)tile->zero;
    of->rows = params->kd * params->kh;
    of->run = params->kw * params->ic;
    of->first = -(ptrdiff_t)params->pw * pix;
    of->stride = (ptrdiff_t)params->sw * pix;
    of->scratch = (int8_t *)inlay_at(of->base, of->step, 10);
    inlay_mve_limits(of);
}

/* n taps of a row of the window, the first of which lies at x. */
INLAY_INLINE void inlay_mve_edge_row(const inlay_mve_row *of, const uint8_t *x,
                                     int32_t n, int8_t *to)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    const int32_t pix = of->step->ref[1].pix;
    const int32_t ic = params->ic;
    if (params->dw == 1 && pix == ic) {
        inlay_mve_copy(to, x, n * ic, of->flip, 1);
        return;
    }
    if (ic == 1) {
        const uint8_t flip = vgetq_lane_u8(of->flip, 0);
        for (; n > 0; n--, x += (ptrdiff_t)params->dw * pix)
            *to++ = (int8_t)(*x ^ flip);
        return;
    }
    for (; n > 0; n--, to += ic, x += (ptrdiff_t)params->dw * pix)
        inlay_mve_copy(to, x, ic, of->flip, 1);
}

/* The window of pixel c of one group: zero points, and what exists of its rows. */
INLAY_APART void inlay_mve_edge(const inlay_mve_row *of, int32_t group,
                                int32_t c, int8_t *to)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    const int32_t first = c * params->sw - params->pw;
    int32_t from, k;
    const int32_t n =
        inlay_clip(first, params->dw, params->kw, params->iw, &from);
    const ptrdiff_t at =
        (ptrdiff_t)(first + from * params->dw) * of->step->ref[1].pix +
        (ptrdiff_t)group * params->ic;
    inlay_mve_fill(to, of->zero, of->rows * of->run);
    if (!n)
        return;
    to += from * params->ic;
    for (k = 0; k < of->rows; k++, to += of->run) {
        const uint8_t *x =
            k < INLAY_MVE_ROWS ? of->x[k] : inlay_mve_find(of, k);
        if (x)
            inlay_mve_edge_row(of, x + at, n, to);
    }
}

/* A window inside, `at` bytes into its rows. */
INLAY_INLINE void inlay_mve_inner(const inlay_mve_row *of, ptrdiff_t at,
                                  int8_t *to, int flips)
{
    const uint8_t *const *x = of->x;
    const uint8_t *const *const end = x + of->rows;
    const uint8x16_t flip = of->flip;
    const int32_t run = of->run;
    for (; x < end; x++, to += run)
        inlay_mve_copy(to, *x + at, run, flip, flips);
}

INLAY_APART void inlay_mve_inner_flipped(const inlay_mve_row *of, ptrdiff_t at,
                                         int8_t *to)
{
    inlay_mve_inner(of, at, to, 1);
}

INLAY_APART void inlay_mve_inner_signed(const inlay_mve_row *of, ptrdiff_t at,
                                        int8_t *to)
{
    inlay_mve_inner(of, at, to, 0);
}

/* Where the window of pixel c lies; `to`: where it is gathered, if it is. */
static inline const int8_t *
inlay_mve_fetch(const inlay_mve_row *of, int32_t group, int32_t c, int8_t *to)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    const ptrdiff_t at =
        of->first + c * of->stride + (ptrdiff_t)group * params->ic;
    if (!params->gather)
        return (const int8_t *)of->x[0] + at;
    if (c < of->left || c >= of->right)
        inlay_mve_edge(of, group, c, to);
    else if (params->flip == 128)
        inlay_mve_inner_signed(of, at, to);
    else
        inlay_mve_inner_flipped(of, at, to);
    return to;
}

/* ---- any results ---- */

/* Those of a group of four channels at a pixel. */
static inline void inlay_mve_put(const inlay_qtile *tile,
                                 const inlay_qcall *call,
                                 const inlay_qgroup *group, int32_t pixel,
                                 int32x4_t sum)
{
    int32_t lane[4];
    vst1q_s32(lane, vaddq_s32(sum, vld1q_s32(group->start)));
    inlay_qgroup_end(tile, call, group, pixel, 0, group->n, lane);
}

/* Channels from `channel` on. */
INLAY_APART void inlay_mve_any(const inlay_qtile *tile, const inlay_qcall *call,
                               const inlay_mve_from *from, int32_t channel)
{
    const inlay_mve_from of = *from;
    const int8_t *w = tile->weights + channel * tile->taps;
    inlay_qgroup group;
    group.lanes = 4;
    for (group.channel = channel; group.channel < tile->end;
         group.channel += 4) {
        const int32_t left = tile->end - group.channel;
        inlay_mve_sums sums;
        group.n = left < 4 ? left : 4;
        inlay_qgroup_begin(tile, &group);
        w = inlay_mve_two(w, &of, &sums);
        inlay_mve_put(tile, call, &group, 0, sums.a);
        if (call->pixels > 1)
            inlay_mve_put(tile, call, &group, 1, sums.b);
    }
}

/* ---- bytes, with constant biases and scales ---- */

#if INLAY_MVE_FLOAT
/* Scales of four channels from `channel` on. */
INLAY_INLINE float32x4_t inlay_mve_scales(const inlay_qresult *result,
                                          int32_t channel)
{
    return result->each ? vld1q_f32(result->scale + channel)
                        : vdupq_n_f32(result->scale[0]);
}

/* Four sums as numbers of bytes. */
INLAY_INLINE int32x4_t inlay_mve_bytes(const inlay_mve_byte *byte,
                                       int32x4_t sum, int32x4_t start,
                                       float32x4_t scale)
{
    const float32x4_t v = vcvtq_f32_s32(vaddq_s32(sum, start));
    return inlay_mve_saturate(byte, vmulq_f32(v, scale));
}

static inline void inlay_mve_fours_of(const inlay_qtile *tile,
                                      inlay_mve_fours *of)
{
    const int32_t left = 4 - of->from.left;
    of->weights = tile->weights;
    of->first.start = tile->bias;
    of->first.scale = tile->result.scale;
    of->way = of->from.fours ? 0 : left;
    of->rest = left;
    of->step = 16;
    of->apart = (int32_t)(4 * tile->taps);
    of->channels = tile->channels - tile->channels % 4;
    of->ys = tile->ys;
    of->byte = inlay_mve_result_byte(&tile->result);
    if (tile->result.each)
        return;
    vst1q_f32(of->one, vdupq_n_f32(*of->first.scale));
    of->first.scale = of->one;
    of->step = 0;
}

/* gcc -O1 moves addresses out of the loop, into more registers than there are. */
#ifdef __clang__
#define INLAY_MVE_STAYS
#else
#define INLAY_MVE_STAYS __attribute__((optimize("no-move-loop-invariants")))
#endif

/* All whole fours of channels of `pairs` times two pixels, the first of which begin at `from` and
 * others `x` and `y` bytes further on. */
INLAY_MVE_STAYS
INLAY_APART void inlay_mve_simple_two(inlay_mve_fours *of, uint8_t *to,
                                      int32_t pairs, ptrdiff_t x, ptrdiff_t y)
{
    for (; pairs > 0; pairs--, to += y) {
        of->end = to + of->channels;
        inlay_mve_fours_two(of, to);
        of->from.at.x += x;
        of->from.at.next += x;
    }
}

/* The same of one pixel, by eights. */
INLAY_APART void inlay_mve_simple_one(inlay_mve_fours *of, uint8_t *to)
{
    const int32_t eights = of->channels - of->channels % 8;
    const int8_t *w = of->weights;
    int32x4_t sum;
    of->at = of->first;
    of->end = to + eights;
    if (eights)
        w = inlay_mve_fours_one(of, to);
    if (eights == of->channels)
        return;
    inlay_mve_one(w, &of->from, &sum);
    vstrbq_s32((int8_t *)to + eights,
               inlay_mve_bytes(&of->byte, sum, vld1q_s32(of->at.start),
                               vld1q_f32(of->at.scale)));
}
#endif

/* Are biases and scales those of the operands, and results bytes? */
static inline int inlay_mve_is_simple(const inlay_qtile *tile)
{
    if (tile->ys > UINT16_MAX - 3)
        return 0;
    if (!INLAY_QUSES(INLAY_QUSE_MORE))
        return INLAY_MVE_FLOAT;
    return INLAY_MVE_FLOAT && !inlay_qout_is_wide(tile->result.kind) &&
           !inlay_qhas_zeros(tile) && !tile->sums &&
           tile->result.factor == 1.0f;
}

/* ---- pixels ---- */

static inline void inlay_mve_channels(const inlay_qtile *tile,
                                      inlay_qcall *call, inlay_mve_fours *of,
                                      int32_t window, int simple)
{
    const int8_t *x = of->from.at.x;
    const int8_t *next = of->from.at.next;
    int32_t done = 0;
    int32_t total[2]; /* sums of the windows */
    call->x_sum = NULL;
#if INLAY_MVE_FLOAT
    if (simple) {
        done = of->channels;
        if (done && call->pixels > 1)
            inlay_mve_simple_two(of, (uint8_t *)call->y, 1, 0, 0);
        else if (done)
            inlay_mve_simple_one(of, (uint8_t *)call->y);
    }
    if (!INLAY_QUSES(INLAY_QUSE_MORE | INLAY_QUSE_REST))
        return;
#else
    (void)simple;
#endif
    if (done == tile->channels)
        return;
    if (inlay_qhas_zeros(tile)) {
        total[0] = inlay_mve_total(x, window);
        total[1] = inlay_mve_total(next, window);
        call->x_sum = total;
    }
    inlay_mve_any(tile, call, &of->from, done);
}

/* Pixel c of a group, and the next if `call` has two; simple: as results may be made. */
static inline void inlay_mve_pixels(const inlay_mve_row *of,
                                    const inlay_qtile *tile, inlay_qcall *call,
                                    inlay_mve_fours *fours, int32_t c,
                                    int32_t group, int simple)
{
    inlay_mve_from *from = &fours->from;
    from->at.x = inlay_mve_fetch(of, group, c, of->scratch);
    from->at.next = from->at.x;
    if (call->pixels > 1)
        from->at.next =
            inlay_mve_fetch(of, group, c + 1, of->scratch + tile->taps);
    inlay_mve_channels(tile, call, fours, of->rows * of->run, simple);
}

/* What all pixels of a group have in common. */
static inline void inlay_mve_group_of(const inlay_qtile *tile,
                                      inlay_mve_fours *fours, int simple)
{
#if INLAY_MVE_FLOAT
    if (simple)
        inlay_mve_fours_of(tile, fours);
#else
    (void)tile;
    (void)fours;
    (void)simple;
#endif
}

/* The same of several groups of channels. */
static inline void inlay_mve_groups(const inlay_mve_row *of, inlay_qtile tile,
                                    inlay_qcall *call, inlay_mve_fours *fours,
                                    int32_t c, int simple)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    int32_t group;
    for (group = 0; group < params->groups; group++) {
        inlay_mve_group_of(&tile, fours, simple);
        inlay_mve_pixels(of, &tile, call, fours, c, group, simple);
        inlay_qpacked_next(params, &tile, call);
    }
}

/* Pixels [c, c + n), of which there are two or one. */
static inline void inlay_mve_some(const inlay_mve_row *of,
                                  const inlay_qtile *tile,
                                  inlay_mve_fours *fours, int32_t c, int32_t n,
                                  int simple)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    inlay_qcall call;
    call.pixels = n;
    call.y = inlay_qplace(&tile->result, of->row->y, c * tile->ys);
    if (!INLAY_QUSES(INLAY_QUSE_GROUPS) || params->groups == 1)
        inlay_mve_pixels(of, tile, &call, fours, c, 0, simple);
    else
        inlay_mve_groups(of, *tile, &call, fours, c, simple);
}

/* How many pixels, from the first on, have windows that can be read in x: in one piece, with their
 * sign, and all sixteens within the row. What lies behind a window meets weights of 0. */
static inline int32_t inlay_mve_lying(const inlay_mve_row *of,
                                      const inlay_qtile *tile)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)of->step->params;
    const ptrdiff_t pix = of->step->ref[1].pix;
    ptrdiff_t room;
    if (!params->gather)
        return of->row->pixels;
    if (of->rows > 1 || params->flip != 128 || of->left > 0)
        return 0;
    room = inlay_qrow_bytes(params, of->row, pix) - of->first - tile->taps;
    if (room < 0)
        return 0;
    room = room / of->stride + 1;
    return room < of->right ? (int32_t)room : of->right;
}

/* Pairs of pixels that come after `done` others, the first `lying` of which can be read in x;
 * returns how many pixels those are. */
static inline int32_t inlay_mve_pairs(const inlay_mve_row *of,
                                      const inlay_qtile *tile,
                                      inlay_mve_fours *fours, int32_t done,
                                      int32_t lying)
{
#if INLAY_MVE_FLOAT
    const int backward = of->step->backward;
    const int32_t left = of->row->pixels - done;
    const int32_t pairs = (backward ? left : lying - done) / 2;
    const int32_t c = backward ? left - 2 : done;
    const ptrdiff_t way = backward ? -2 : 2;
    if (pairs <= 0 || (backward && left > lying))
        return 0;
    fours->from.at.x = (const int8_t *)of->x[0] + of->first + c * of->stride;
    fours->from.at.next = fours->from.at.x + of->stride;
    inlay_mve_simple_two(fours, (uint8_t *)of->row->y + c * tile->ys, pairs,
                         way * of->stride, way * tile->ys);
    return 2 * pairs;
#else
    (void)of;
    (void)tile;
    (void)fours;
    (void)done;
    (void)lying;
    return 0;
#endif
}

static inline void inlay_mve_sixteens(const inlay_qtile *tile,
                                      inlay_mve_from *from)
{
    const int32_t more = (int32_t)(tile->taps / INLAY_QDEPTH) - 1;
    from->fours = more / 4;
    from->left = more % 4;
}

/* All pixels of a row, in the walking direction. */
static inline void inlay_mve_pixel_row(void *const *base,
                                       const inlay_step *step,
                                       const inlay_qtile *tile,
                                       const inlay_qrow *row, int32_t most)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const int simple = inlay_mve_is_simple(tile);
    inlay_mve_row of;
    inlay_mve_fours fours;
    int32_t lying = 0;
    int32_t done, n;
    of.base = base;
    of.step = step;
    of.row = row;
    inlay_mve_begin(&of, tile);
    inlay_mve_sixteens(tile, &fours.from);
    inlay_mve_group_of(tile, &fours, simple);
    if (simple && params->groups == 1 && fours.channels == tile->channels)
        lying = inlay_mve_lying(&of, tile);
    for (done = 0; done < row->pixels; done += n) {
        const int32_t left = row->pixels - done;
        n = inlay_mve_pairs(&of, tile, &fours, done, lying);
        if (n)
            continue;
        n = left < most ? left : most;
        inlay_mve_some(&of, tile, &fours, step->backward ? left - n : done, n,
                       simple);
    }
}

#endif
