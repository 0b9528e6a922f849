/* SPDX-License-Identifier: 0BSD
 * DFT and STFT of any length: a pass for each prime factor (and 4), out of place between two
 * buffers. */
#ifndef INLAY_FFT_H
#define INLAY_FFT_H

#include <math.h>

#include "inlay.h"

/* dft: y [outer][bins][inner][2] = sum over t < n of x [outer][length][inner][parts] e^(-+2 pi i k
 * t / n), inverse divided by n; x is cut or filled with zeros to n. half: x is one half of a
 * spectrum and y the real signal [outer][n][inner][1]. Operands: y, x, the axis as a value (int64),
 * table e^(-2 pi i k / n) [n][2], n as a value (int64), scratch. The table or the values are left
 * out: without a table scratch is 3 [n][2] instead of 2. Where the axis is a value, outer to bins
 * are not used. */
#define INLAY_dft_FIELDS(F, N) \
    F(int64_t, outer) \
    F(int64_t, length) \
    F(int64_t, inner) \
    F(int64_t, bins)  /* of y */ \
    F(int64_t, n)     /* of the transform; where it is a value: the most that y allows */ \
    F(int32_t, parts) /* 1: x is real, 2: complex */ \
    F(int32_t, inverse) \
    F(int32_t, onesided) /* y has n / 2 + 1 bins */ \
    F(int32_t, half) \
    F(int32_t, rank)  /* axes before the last of x and y, where the axis is a value */ \
    N(int64_t, nx, 8) /* their sizes in x ... */ \
    N(int64_t, ny, 8) /* ... and in y */
INLAY_PARAMS(dft);

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

/* stft: y [batch][frames][bins][2], the transforms of x [batch][length][parts] from element frame *
 * step on, n long, times the window. Operands: y, x, step (int64), window [n] (may be left out), n
 * as a value, table and scratch as for dft. */
#define INLAY_stft_FIELDS(F, N) \
    F(int64_t, batch) \
    F(int64_t, length) \
    F(int64_t, frames) \
    F(int64_t, bins) \
    F(int64_t, n) \
    F(int64_t, window) /* elements of it; 0: none */ \
    F(int32_t, parts) \
    F(int32_t, onesided)
INLAY_PARAMS(stft);

#define INLAY_T float
#define INLAY_FFT(name) inlay_##name##_f32
#include "fft.inc.h"
#undef INLAY_T
#undef INLAY_FFT

#define INLAY_T double
#define INLAY_FFT(name) inlay_##name##_f64
#include "fft.inc.h"
#undef INLAY_T
#undef INLAY_FFT

#endif
