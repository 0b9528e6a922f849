/* SPDX-License-Identifier: 0BSD
 * The elements of each pixel in another order: a shuffle of channels, by element size.
 *
 *   y[p][c] = x[p][order[c]]
 *
 * y may be x: the order is given as its cycles, and a cycle holds one element while the others
 * move. Backward, rows and pixels go from last to first. A unit is a row; operands: y, x, cycles
 * [entries] of uint16: the length n of one, then its n channels, each of which takes what the next
 * holds. */
#ifndef INLAY_SHUFFLE_H
#define INLAY_SHUFFLE_H

#include "kernels/walk.h"
#include "move.h"

typedef struct inlay_shuffle_params {
    int32_t pixels;  /* of a row */
    int32_t entries; /* of the table */
} inlay_shuffle_params;

#define INLAY_FAMILY "shuffle.inc.h"
#include "each_word.inc.h"
#undef INLAY_FAMILY

#endif
