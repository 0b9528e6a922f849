/* SPDX-License-Identifier: 0BSD
 * Products of numbers of 16 bits: their parameters, and what follows from these alone.
 * qconv_short.h and qdwconv_short.h compute them. */
#ifndef INLAY_QSHORT_PARAMS_H
#define INLAY_QSHORT_PARAMS_H

#include <stdint.h>

typedef struct inlay_qshort_params {
#include "kernels/window_fields.inc.h"
    int32_t groups;
    int32_t ic;    /* channels of x in a group */
    int32_t oc;    /* channels of y in a group */
    int32_t width; /* channels of a block of packed weights: 16 or 4 */
    int32_t
        crossed; /* 1: of bytes, two channels lie side by side, then tap by tap */
    int32_t flip;   /* 0x8000: x has codes without a sign */
    int32_t zero;   /* zero point of x, as a number with a sign */
    int32_t flip_y; /* the same of y */
    int32_t zy;
    int32_t lo; /* its least and largest number */
    int32_t hi;
    int32_t scales; /* 1, or one for each channel */
    int32_t far;    /* 1: scales move sums of 32 bits, too */
    /* pixels that scratch holds the windows of; 0: the only one is read in x */
    int32_t gather;
} inlay_qshort_params;

enum {
    INLAY_QSHORT_PIXELS = 2, /* most pixels of a tile */
    /* pairs of taps of which the products with weights of 8 bits fit a sum of 32 */
    INLAY_QSHORT_RUN = 254,
    /* of qdwconv_short.h: most rows of a window, channels that are summed together */
    INLAY_QDW_SHORT_ROWS = 16,
    INLAY_QDW_SHORT_BLOCK = 4
};

/* Taps of a window, filled up to fours, as pairs. */
static inline int32_t inlay_qshort_pairs(const inlay_qshort_params *params)
{
    const int32_t taps = params->kd * params->kh * params->kw * params->ic;
    return (taps + 3) / 4 * 2;
}

/* Channels of a group, filled up to blocks. */
static inline int32_t inlay_qshort_padded(const inlay_qshort_params *params)
{
    return (params->oc + params->width - 1) / params->width * params->width;
}

/* Channels of a depthwise one, filled up. */
static inline int32_t inlay_qdw_short_padded(const inlay_qshort_params *params)
{
    return (params->groups + INLAY_QDW_SHORT_BLOCK - 1) /
           INLAY_QDW_SHORT_BLOCK * INLAY_QDW_SHORT_BLOCK;
}

#endif
