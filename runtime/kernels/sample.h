/* SPDX-License-Identifier: 0BSD
 * Values between the elements of an image: GridSample and RoiAlign, and the grids they read;
 * MaxRoiPool, of whole elements. Images are [N][C][spatial ...]. */
#ifndef INLAY_SAMPLE_H
#define INLAY_SAMPLE_H

#include "index.h"
#include "kernels/libm.h"
#include "kernels/vec.h"

/* Where there is room for them: places whose elements are known for all channels. */
#if INLAY_VL > 1
#define INLAY_SAMPLE_MOST 32
#endif

enum { INLAY_SAMPLE_LINEAR, INLAY_SAMPLE_NEAREST, INLAY_SAMPLE_CUBIC };
enum { INLAY_EDGE_ZEROS, INLAY_EDGE_BORDER, INLAY_EDGE_REFLECTION };

/* y[n][c][o] = x[n][c] sampled at grid[n][o][k]; k spatial axes (1 to 3), the grid's last axis in
 * reverse order (x, y, z). Operands: y (out), x, grid. */
typedef struct inlay_grid_sample_params {
    int32_t axes; /* spatial */
    int32_t mode; /* INLAY_SAMPLE_... */
    int32_t edge; /* INLAY_EDGE_... */
    /* 1: -1 and 1 are the centres of the corner elements, 0: their outer edges */
    int32_t align;
    int64_t n;
    int64_t c;
    int64_t out;     /* places of the grid an image */
    int64_t size[3]; /* of x's spatial axes */
} inlay_grid_sample_params;

/* grid[n][place] = theta[n] (place, 1): theta [N][k][k + 1], k axes. Operands: grid (out), theta.
 */
typedef struct inlay_affine_grid_params {
    int32_t axes; /* 2 or 3 */
    int32_t align;
    int64_t n;
    /* spatial axes of the result; the first is 1 where there are two */
    int64_t size[3];
} inlay_affine_grid_params;

/* A cell of a region with more samples than this along an axis is so much larger than any image
 * that its result is 0; so is that of one whose corners are no numbers. */
#define INLAY_ROI_MOST 1048576.0

/* y[r][c][ph][pw]: average or greatest of bilinear samples in the cells of region r. Samples
 * outside of the image are 0 and take no time: what a region costs is bounded by the image, not by
 * the region. Operands: y (out), x [N][C][H][W], regions [R][4] (x1, y1, x2, y2), image numbers [R]
 * int64. */
typedef struct inlay_roi_align_params {
    int64_t n;
    int64_t c;
    int64_t h;
    int64_t w;
    int64_t regions;
    int32_t ph;
    int32_t pw;    /* cells of a region */
    int32_t ratio; /* samples a cell and axis; 0: as many as it has elements */
    int32_t half_pixel; /* 1: coordinates are moved by half an element */
    int32_t max;        /* 1: greatest, 0: average */
    float scale;
} inlay_roi_align_params;

/* y[r][c][ph][pw]: greatest element in the cells of region r, 0 where a cell has none. A region's
 * corners are rounded to elements and belong to it; cells that do not end between elements overlap.
 * Operands: y (out), x [N][C][H][W], regions [R][5] (image number, x1, y1, x2, y2). */
typedef struct inlay_roi_pool_params {
    int64_t n;
    int64_t c;
    int64_t h;
    int64_t w;
    int64_t regions;
    int32_t ph;
    int32_t pw; /* cells of a region */
    float scale;
} inlay_roi_pool_params;

#define INLAY_FAMILY "sample.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#define INLAY_FAMILY "roi.inc.h"
#include "each_float.inc.h"
#undef INLAY_FAMILY

#endif
