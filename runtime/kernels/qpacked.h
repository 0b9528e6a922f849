/* SPDX-License-Identifier: 0BSD
 * Packed products of bytes: their parameters, and what follows from these alone, such as how many
 * bytes windows and weights take. qconv_packed.h and qdwconv_packed.h compute them. */
#ifndef INLAY_QPACKED_H
#define INLAY_QPACKED_H

#include "kernels/qtile.h"

typedef struct inlay_qpacked_params {
#include "kernels/window_fields.inc.h"
#include "kernels/qpacked_fields.inc.h"
} inlay_qpacked_params;

/* Those of weights of fewer bits, which begin as those of bytes do: qnarrow.h. */
typedef struct inlay_qnarrow_params {
#include "kernels/window_fields.inc.h"
#include "kernels/qpacked_fields.inc.h"
    int32_t bits;   /* of a weight: 4 or 2 */
    int32_t middle; /* the number that stands for 0 */
    int32_t panel;  /* channels of a panel; 0: all of all groups */
} inlay_qnarrow_params;

enum {
    INLAY_QPANEL = 11,          /* the operand that is the panel */
    INLAY_QNARROW_ELEMENTS = 16 /* weights come in multiples of this */
};

/* Where a depthwise convolution takes numbers apart: words of a row of those that `gather` columns
 * of y ask for, and bytes of scratch, with the weights, for four channels. */
static inline int64_t inlay_qplanes_words(const inlay_qpacked_params *params)
{
    const int64_t extent = (int64_t)(params->kw - 1) * params->dw + 1;
    return ((int64_t)(params->gather - 1) * params->sw + extent + 2) / 2;
}
static inline int64_t inlay_qplanes_bytes(const inlay_qpacked_params *params)
{
    const int64_t extent = (int64_t)(params->kw - 1) * params->dw + 1;
    const int64_t words = extent + 1 + inlay_qplanes_words(params);
    return 16 * words * params->kd * params->kh;
}

static inline int32_t inlay_qnumber(const inlay_qpacked_params *params,
                                    int32_t byte)
{
    return (byte ^ params->flip) - params->minus;
}

/* An operand that most steps leave out. */
INLAY_INLINE const void *inlay_qpacked_more(void *const *base,
                                            const inlay_step *step, int i)
{
    return INLAY_QUSES(INLAY_QUSE_MORE) ? inlay_at(base, step, i) : NULL;
}

/* Planes of the window. */
INLAY_INLINE int32_t inlay_qpacked_planes(const inlay_qpacked_params *params)
{
    return INLAY_QUSES(INLAY_QUSE_VOLUMES) ? params->kd : 1;
}

/* The zero point of x: a constant, or operand 7. */
static inline int32_t inlay_qpacked_zero(void *const *base,
                                         const inlay_step *step)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const uint8_t *zero = (const uint8_t *)inlay_qpacked_more(base, step, 7);
    return zero ? inlay_qnumber(params, *zero) : params->zero;
}

static inline inlay_qresult inlay_qpacked_result(void *const *base,
                                                 const inlay_step *step)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    const float *factor = (const float *)inlay_qpacked_more(base, step, 8);
    inlay_qresult r;
    r.kind = params->out;
    r.zero = params->zy;
    r.lo = params->lo;
    r.hi = params->hi;
    r.scale = (const float *)inlay_at(base, step, 4);
    r.each = params->scales > 1;
    r.factor = factor ? *factor : 1.0f;
    r.add = (const float *)inlay_qpacked_more(base, step, 9);
    return r;
}

/* Does the window of a pixel lie in one piece in each row, or all of a deep one? */
static inline int inlay_qpacked_whole(const inlay_qpacked_params *params,
                                      const inlay_step *step)
{
    if (params->deep)
        return params->kd * params->kh * params->kw == 1;
    return params->kw == 1 ||
           (params->dw == 1 && step->ref[1].pix == params->ic);
}

/* Can windows of sixteens be read where they lie, whole and with their sign? */
static inline int inlay_qdeep_lies(const inlay_qpacked_params *params)
{
    return params->kd * params->kh * params->kw == 1 &&
           params->ic % INLAY_QDEPTH == 0 && params->flip == 128;
}

/* Rows of a window, the most, of a depthwise convolution with several results of a channel. */
enum { INLAY_QMANY_ROWS = 16 };

/* Of a deep depthwise convolution: channels that lie in scratch together, the most of their pixels,
 * and the most taps of a window. */
enum {
    INLAY_QDEEP_LANES = 8,
    INLAY_QDEEP_PIXELS = 16,
    INLAY_QDEEP_WINDOW = 256
};

/* Bytes of a column of its windows: rows, filled up to pairs unless there is one. */
static inline int32_t inlay_qdeep_high(const inlay_qpacked_params *params)
{
    const int32_t rows = params->kd * params->kh;
    return rows == 1 ? 1 : (rows + 1) / 2 * 2;
}

/* Do its windows share columns? */
static inline int inlay_qdeep_shares(const inlay_qpacked_params *params)
{
    return params->dw == 1 && params->sw <= params->kw;
}

/* Columns of the windows of so many pixels. */
static inline int32_t inlay_qdeep_columns(const inlay_qpacked_params *params,
                                          int32_t pixels)
{
    if (inlay_qdeep_shares(params))
        return (pixels - 1) * params->sw + params->kw;
    return pixels * params->kw;
}

/* Bytes of a channel of `gather` pixels, with those that are read behind the last window. */
static inline ptrdiff_t inlay_qdeep_plane(const inlay_qpacked_params *params)
{
    const ptrdiff_t columns = inlay_qdeep_columns(params, params->gather);
    const ptrdiff_t bytes = columns * inlay_qdeep_high(params);
    return (bytes + 2 * INLAY_QDEPTH - 1) / INLAY_QDEPTH * INLAY_QDEPTH;
}

/* Bytes of a row of the window, filled up to fours where they are packed so. */
static inline int32_t inlay_qpacked_run(const inlay_qpacked_params *params)
{
    const int32_t run = params->kw * params->ic;
    return params->deep ? run : inlay_up4(run);
}

/* Weights of a channel. */
static inline ptrdiff_t inlay_qpacked_taps(const inlay_qpacked_params *params)
{
    const ptrdiff_t rows = (ptrdiff_t)params->kd * params->kh;
    const ptrdiff_t taps = rows * inlay_qpacked_run(params);
    if (!params->deep)
        return taps;
    return (taps + INLAY_QDEPTH - 1) / INLAY_QDEPTH * INLAY_QDEPTH;
}

/* Room for widened windows; NULL: none are widened. */
static inline uint32_t *inlay_qpacked_wide(void *const *base,
                                           const inlay_step *step)
{
    const inlay_qpacked_params *params =
        (const inlay_qpacked_params *)step->params;
    return params->wide ? (uint32_t *)inlay_at(base, step, 10) : NULL;
}

/* Windows that scratch has room for; 0: none is ever gathered. */
static inline int32_t inlay_qpacked_windows(const inlay_qpacked_params *params)
{
    return params->wide ? 2 * params->wide : params->gather;
}

#endif
