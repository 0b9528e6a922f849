/* SPDX-License-Identifier: 0BSD
 * Windows put back into images: Col2Im, MaxUnpool; and convolution at moved places (DeformConv). */
#ifndef INLAY_UNFOLD_H
#define INLAY_UNFOLD_H

#include "inlay_memory.h"
#include "inlay.h"
#include "kernels/libm.h"

/* y[n][c][image] = sum of x[n][c][tap][block] over the taps that fall there. Operands: y (out), x,
 * and, where the taps are known only at run time (tap[0] is 0), the int64 lists of image and taps.
 */
typedef struct inlay_col2im_params {
    int64_t planes; /* N * C */
    int32_t axes;
    int64_t image[8];
    int64_t tap[8];
    int64_t blocks[8];
    int64_t stride[8];
    int64_t pad[8];
    int64_t end[8];
    int64_t dilation[8];
    int64_t columns; /* of x: taps * blocks */
} inlay_col2im_params;

/* Reads the taps of a run; false where they do not fit the shapes that were compiled. */
static inline int inlay_col2im_read(inlay_col2im_params *p,
                                    const int64_t *image, const int64_t *tap)
{
    int64_t columns = 1;
    int32_t a;
    for (a = 0; a < p->axes; a++) {
        p->tap[a] = tap[a];
        if (image[a] != p->image[a] || tap[a] < 1 || tap[a] > p->columns)
            return 0;
        p->blocks[a] = (image[a] + p->pad[a] + p->end[a] -
                        (tap[a] - 1) * p->dilation[a] - 1) /
                           p->stride[a] +
                       1;
        if (p->blocks[a] < 1 || tap[a] > p->columns / columns)
            return 0;
        columns *= tap[a];
        if (p->blocks[a] > p->columns / columns)
            return 0;
        columns *= p->blocks[a];
    }
    return columns == p->columns;
}

/* The parameters of a run, in *p; 0 where its taps do not fit. */
static inline int inlay_col2im_open(void *const *base, const inlay_step *s,
                                    inlay_col2im_params *p)
{
    const int64_t *image = (const int64_t *)inlay_at(base, s, 2);
    const int64_t *tap = (const int64_t *)inlay_at(base, s, 3);
    *p = *(const inlay_col2im_params *)s->params;
    return p->tap[0] || inlay_col2im_read(p, image, tap);
}

static inline int64_t inlay_product(const int64_t *n, int32_t count)
{
    int64_t product = 1;
    int32_t i;
    for (i = 0; i < count; i++)
        product *= n[i];
    return product;
}

/* Offset in the image of tap t of block b, -1 outside. */
static inline int64_t inlay_col2im_place(const inlay_col2im_params *p,
                                         int64_t t, int64_t b)
{
    int64_t at = 0;
    int64_t scale = 1;
    int32_t a;
    for (a = p->axes - 1; a >= 0; a--) {
        const int64_t place = b % p->blocks[a] * p->stride[a] - p->pad[a] +
                              t % p->tap[a] * p->dilation[a];
        if (place < 0 || place >= p->image[a])
            return -1;
        at += place * scale;
        scale *= p->image[a];
        b /= p->blocks[a];
        t /= p->tap[a];
    }
    return at;
}

/* y = 0 but y[place(index[i])] = x[i]; an index counts elements of the image before it was made
 * larger. Operands: y (out), x, index (int64). */
typedef struct inlay_max_unpool_params {
    int64_t count; /* of x */
    int64_t total; /* of y */
    int32_t rank;
    int64_t from[8]; /* dims that indices count in */
    int64_t to[8];   /* dims of y */
} inlay_max_unpool_params;

/* The place in y that an index names; -1: none. */
static inline int64_t inlay_unpool_place(const inlay_max_unpool_params *p,
                                         int64_t index)
{
    int64_t at = 0;
    int64_t scale = 1;
    int32_t a;
    if (index < 0)
        return -1;
    for (a = p->rank - 1; a >= 0; a--) {
        const int64_t place = a ? index % p->from[a] : index;
        if (place >= p->to[a])
            return -1;
        at += place * scale;
        scale *= p->to[a];
        index /= p->from[a];
    }
    return at;
}

/* y[n][o][v][u] = bias[o] + sum w[o][c][i][k] m x[n][c] at (v sh - ph + i dh + dy, u sw - pw + k dw
 * + dx), bilinear, zero outside. Operands: y (out), x [N][C][H][W], w [O][C / groups][KH][KW],
 * offset [N][G KH KW 2][OH][OW], bias [O] or none, mask [N][G KH KW][OH][OW] or none; G offset
 * groups. */
typedef struct inlay_deform_conv_params {
    int64_t n;
    int64_t c;
    int64_t h;
    int64_t w;
    int64_t o;
    int64_t oh;
    int64_t ow;
    int64_t kh;
    int64_t kw;
    int64_t sh;
    int64_t sw;
    int64_t dh;
    int64_t dw;
    int64_t ph;
    int64_t pw;
    int64_t groups;
    int64_t offset_groups;
} inlay_deform_conv_params;

/* A place of the result, and which offsets move its taps. */
typedef struct inlay_deform_place {
    int64_t v;   /* row */
    int64_t u;   /* column */
    int64_t at;  /* element of a plane of the result */
    int64_t set; /* of offsets, in all images */
} inlay_deform_place;

#define INLAY_FAMILY "unfold.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
