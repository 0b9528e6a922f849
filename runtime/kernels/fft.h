/* SPDX-License-Identifier: 0BSD
 * DFT and STFT of any length: a pass for each prime factor (and 4), out of place between two buffers. */
#ifndef INLAY_FFT_H
#define INLAY_FFT_H

#include <math.h>

#include "inlay.h"

/* dft: y [outer][bins][inner][2] = sum over t < n of x [outer][length][inner][parts] e^(-+2 pi i k t / n), inverse divided by n;
 * x is cut or filled with zeros to n. half: x is one half of a spectrum and y the real signal [outer][n][inner][1].
 * Operands: y, x, table e^(-2 pi i k / n) [n][2], n as a value (int64), scratch. The table or the value is left out:
 * without a table scratch is 3 [n][2] instead of 2. */
#define INLAY_dft_FIELDS(F, N) \
    F(int64_t, outer) \
    F(int64_t, length) \
    F(int64_t, inner) \
    F(int64_t, bins)            /* of y */ \
    F(int64_t, n)               /* of the transform; where it is a value: the most that y allows */ \
    F(int32_t, parts)           /* 1: x is real, 2: complex */ \
    F(int32_t, inverse) \
    F(int32_t, onesided)        /* y has n / 2 + 1 bins */ \
    F(int32_t, half)
INLAY_PARAMS(dft);

/* stft: y [batch][frames][bins][2], the transforms of x [batch][length][parts] from element frame * step on, n long, times the window.
 * Operands: y, x, step (int64), window [n] (may be left out), n as a value, table and scratch as for dft. */
#define INLAY_stft_FIELDS(F, N) \
    F(int64_t, batch) \
    F(int64_t, length) \
    F(int64_t, frames) \
    F(int64_t, bins) \
    F(int64_t, n) \
    F(int64_t, window)          /* elements of it; 0: none */ \
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
