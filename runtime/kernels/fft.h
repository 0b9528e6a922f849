/* SPDX-License-Identifier: 0BSD
 * DFT and STFT of any length: a pass for each prime factor (and 4), out of place between two
 * buffers. */
#ifndef INLAY_FFT_H
#define INLAY_FFT_H

#include "inlay.h"
#include "kernels/libm.h"

/* dft: a row of y [outer][bins][inner][2] = sum over t < n of a row of x [outer][length][inner]
 * [parts] e^(-+2 pi i k t / n), inverse divided by n; x is cut or filled with zeros to n. half: x
 * is one half of a spectrum and y the real signal [outer][n][inner][1]. Operands: y, x, the axis as
 * a value (int64), table e^(-2 pi i k / n) [n][2], n as a value (int64), scratch. The table or the
 * values are left out: without a table scratch is 3 [n][2] instead of 2. Where the axis is a value
 * there is one row, and outer to bins are not used. */
typedef struct inlay_dft_params {
    int64_t outer;
    int64_t length;
    int64_t inner;
    int64_t bins; /* of y */
    /* of the transform; where it is a value: the most that y allows */
    int64_t n;
    int32_t parts; /* 1: x is real, 2: complex */
    int32_t inverse;
    int32_t onesided; /* y has n / 2 + 1 bins */
    int32_t half;
    /* axes before the last of x and y, where the axis is a value */
    int32_t rank;
    int64_t nx[8]; /* their sizes in x ... */
    int64_t ny[8]; /* ... and in y */
} inlay_dft_params;

/* What the compiler else writes, for an axis that is a value. 0 where y's dims would be others. */
static inline int inlay_dft_axis(inlay_dft_params *q, int64_t axis)
{
    int32_t i;
    if (axis < 0)
        axis += q->rank + 1;
    if (axis < 0 || axis >= q->rank)
        return 0;
    q->outer = q->inner = 1;
    for (i = 0; i < q->rank; i++) {
        if (i == axis)
            continue;
        if (q->nx[i] != q->ny[i])
            return 0;
        if (i < axis)
            q->outer *= q->nx[i];
        else
            q->inner *= q->nx[i];
    }
    q->length = q->nx[axis];
    q->bins = q->ny[axis];
    return 1;
}

/* stft: a row of y [bins][2] for each frame of each line: the transform of x [batch][length][parts]
 * from element frame * step on, n long, times the window. Operands: y, x, step (int64), window [n]
 * (may be left out), n as a value, table and scratch as for dft. */
typedef struct inlay_stft_params {
    int64_t batch;
    int64_t length;
    int64_t frames;
    int64_t bins;
    int64_t n;
    int64_t window; /* elements of it; 0: none */
    int32_t parts;
    int32_t onesided;
} inlay_stft_params;

static inline int64_t inlay_dft_bins(int64_t n, int32_t onesided)
{
    return onesided ? n / 2 + 1 : n;
}

/* The length of a transform where it is no value; axis: the axis is one. */
static inline int64_t inlay_dft_length(const inlay_dft_params *p, int axis)
{
    if (!axis)
        return p->n;
    return p->half ? p->bins : p->length;
}

/* Are n and step those of the shapes that were compiled? */
static inline int inlay_stft_fits(const inlay_stft_params *p, int64_t n,
                                  int64_t step)
{
    if (n < 1 || n > p->n || (p->window && n != p->window))
        return 0;
    if (inlay_dft_bins(n, p->onesided) != p->bins)
        return 0;
    return step >= 1 && n <= p->length &&
           (p->length - n) / step + 1 == p->frames;
}

/* The factor that is tried after r: 4, 2, 3, 5, 7 ... and in the end what is left. */
static inline int64_t inlay_next_factor(int64_t r, int64_t left)
{
    if (r == 4)
        return 2;
    if (r == 2)
        return 3;
    return r * r > left ? left : r + 2;
}

#define INLAY_FAMILY "fft.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
