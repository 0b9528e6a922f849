/* SPDX-License-Identifier: 0BSD
 * Values between the elements of an image: GridSample and RoiAlign, and the grids they read. Images are [N][C][spatial ...]. */
#ifndef INLAY_SAMPLE_H
#define INLAY_SAMPLE_H

#include <math.h>

#include "inlay.h"

enum { INLAY_SAMPLE_LINEAR, INLAY_SAMPLE_NEAREST, INLAY_SAMPLE_CUBIC };
enum { INLAY_EDGE_ZEROS, INLAY_EDGE_BORDER, INLAY_EDGE_REFLECTION };

/* y[n][c][o] = x[n][c] sampled at grid[n][o][k]; k spatial axes (1 to 3), the grid's last axis in reverse order (x, y, z).
 * Operands: y (out), x, grid. */
#define INLAY_grid_sample_FIELDS(F, N) \
    F(int32_t, axes)            /* spatial */ \
    F(int32_t, mode)            /* INLAY_SAMPLE_... */ \
    F(int32_t, edge)            /* INLAY_EDGE_... */ \
    F(int32_t, align)           /* 1: -1 and 1 are the centres of the corner elements, 0: their outer edges */ \
    F(int64_t, n) \
    F(int64_t, c) \
    F(int64_t, out)             /* places of the grid an image */ \
    N(int64_t, size, 3)         /* of x's spatial axes */
INLAY_PARAMS(grid_sample);

static inline float inlay_reflect(float x, float low, float high)
{
    const float range = high - low;
    float over;
    int32_t turns;
    if (x >= low && x <= high) return x;
    if (range <= 0.0f) return low;
    over = x < low ? low - x : x - high;
    turns = (int32_t)(over / range);
    over -= (float)turns * range;
    return ((turns & 1) != 0) == (x < low) ? high - over : low + over;
}

/* Element index of a tap, -1 where there is none. */
static inline int64_t inlay_grid_tap(const inlay_grid_sample_params *p, int32_t axis, float at)
{
    const int64_t size = p->size[axis];
    if (p->edge == INLAY_EDGE_REFLECTION) at = inlay_reflect(at, p->align ? 0.0f : -0.5f, p->align ? (float)(size - 1) : (float)size - 0.5f);
    if (p->edge == INLAY_EDGE_ZEROS) return at >= 0.0f && at <= (float)(size - 1) ? (int64_t)at : -1;
    at = at > 0.0f ? at : 0.0f;
    at = at < (float)(size - 1) ? at : (float)(size - 1);
    return (int64_t)at;
}

static inline float inlay_cubic(float d)
{
    const float a = -0.75f, x = d < 0.0f ? -d : d;
    if (x <= 1.0f) return ((a + 2.0f) * x - (a + 3.0f)) * x * x + 1.0f;
    if (x < 2.0f) return ((a * x - 5.0f * a) * x + 8.0f * a) * x - 4.0f * a;
    return 0.0f;
}

/* Taps of one axis for the normalized coordinate g: how many, their indices and weights. */
static inline int32_t inlay_grid_taps(const inlay_grid_sample_params *p, int32_t axis, float g, int64_t *index, float *weight)
{
    const float size = (float)p->size[axis];
    float x = p->align ? (g + 1.0f) * 0.5f * (size - 1.0f) : ((g + 1.0f) * size - 1.0f) * 0.5f, first;
    int32_t i;
    if (p->mode == INLAY_SAMPLE_NEAREST) {
        index[0] = inlay_grid_tap(p, axis, nearbyintf(x));
        weight[0] = 1.0f;
        return 1;
    }
    if (p->edge == INLAY_EDGE_BORDER && p->mode == INLAY_SAMPLE_LINEAR) {
        x = x > 0.0f ? x : 0.0f;
        x = x < size - 1.0f ? x : size - 1.0f;
    }
    first = floorf(x);
    if (p->mode == INLAY_SAMPLE_LINEAR) {
        for (i = 0; i < 2; i++) index[i] = inlay_grid_tap(p, axis, first + (float)i);
        weight[1] = x - first;
        weight[0] = 1.0f - weight[1];
        return 2;
    }
    for (i = 0; i < 4; i++) {
        index[i] = inlay_grid_tap(p, axis, first + (float)(i - 1));
        weight[i] = inlay_cubic(x - first - (float)(i - 1));
    }
    return 4;
}

/* Sum over all combinations of the axes' taps. */
static inline float inlay_sample(const inlay_grid_sample_params *p, const float *x, const int32_t *n, int64_t (*index)[4], float (*weight)[4])
{
    float sum = 0.0f;
    int32_t a, b, c;
    for (a = 0; a < n[0]; a++)
        for (b = 0; b < n[1]; b++)
            for (c = 0; c < n[2]; c++) {
                const int64_t at = (index[0][a] * p->size[1] + index[1][b]) * p->size[2] + index[2][c];
                if (index[0][a] < 0 || index[1][b] < 0 || index[2][c] < 0) continue;
                sum += weight[0][a] * weight[1][b] * weight[2][c] * x[at];
            }
    return sum;
}

static inline int inlay_grid_sample_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_grid_sample_params *p = (const inlay_grid_sample_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1), *grid = (const float *)inlay_at(base, s, 2);
    const int64_t plane = p->size[0] * p->size[1] * p->size[2];
    int64_t i, o, k;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++)
        for (o = 0; o < p->out; o++) {
            const float *g = grid + (i * p->out + o) * p->axes;
            int64_t index[3][4] = { { 0 }, { 0 }, { 0 } };
            float weight[3][4] = { { 1.0f }, { 1.0f }, { 1.0f } };
            int32_t n[3] = { 1, 1, 1 }, a;
            for (a = 0; a < p->axes; a++) n[3 - p->axes + a] = inlay_grid_taps(p, 3 - p->axes + a, g[p->axes - 1 - a], index[3 - p->axes + a], weight[3 - p->axes + a]);
            for (k = 0; k < p->c; k++) y[(i * p->c + k) * p->out + o] = inlay_sample(p, x + (i * p->c + k) * plane, n, index, weight);
        }
    return 0;
}

/* grid[n][place] = theta[n] (place, 1): theta [N][k][k + 1], k axes. Operands: grid (out), theta. */
#define INLAY_affine_grid_FIELDS(F, N) \
    F(int32_t, axes)            /* 2 or 3 */ \
    F(int32_t, align) \
    F(int64_t, n) \
    N(int64_t, size, 3)         /* spatial axes of the result; the first is 1 where there are two */
INLAY_PARAMS(affine_grid);

static inline float inlay_grid_place(int64_t i, int64_t size, int32_t align)
{
    if (align) return size > 1 ? -1.0f + 2.0f * (float)i / (float)(size - 1) : -1.0f;
    return (float)(2 * i + 1) / (float)size - 1.0f;
}

static inline int inlay_affine_grid_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_affine_grid_params *p = (const inlay_affine_grid_params *)s->params;
    float *grid = (float *)inlay_at(base, s, 0);
    const float *theta = (const float *)inlay_at(base, s, 1);
    int64_t i, d, h, w;
    int32_t a, b;
    (void)r0, (void)r1;
    for (i = 0; i < p->n; i++, theta += p->axes * (p->axes + 1))
        for (d = 0; d < p->size[0]; d++)
            for (h = 0; h < p->size[1]; h++)
                for (w = 0; w < p->size[2]; w++) {
                    float at[3];
                    at[0] = inlay_grid_place(w, p->size[2], p->align);
                    at[1] = inlay_grid_place(h, p->size[1], p->align);
                    at[2] = inlay_grid_place(d, p->size[0], p->align);
                    for (a = 0; a < p->axes; a++) {
                        const float *row = theta + a * (p->axes + 1);
                        float sum = row[p->axes];
                        for (b = 0; b < p->axes; b++) sum += row[b] * at[b];
                        *grid++ = sum;
                    }
                }
    return 0;
}

/* y[r][c][ph][pw]: average or greatest of bilinear samples in the cells of region r.
 * Operands: y (out), x [N][C][H][W], regions [R][4] (x1, y1, x2, y2), image numbers [R] int64. */
#define INLAY_roi_align_FIELDS(F, N) \
    F(int64_t, n) F(int64_t, c) F(int64_t, h) F(int64_t, w) \
    F(int64_t, regions) \
    F(int32_t, ph) F(int32_t, pw)       /* cells of a region */ \
    F(int32_t, ratio)           /* samples a cell and axis; 0: as many as it has elements */ \
    F(int32_t, half_pixel)      /* 1: coordinates are moved by half an element */ \
    F(int32_t, max)             /* 1: greatest, 0: average */ \
    F(float, scale)
INLAY_PARAMS(roi_align);

static inline float inlay_roi_sample(const inlay_roi_align_params *p, const float *x, float v, float u, int first, float before)
{
    int64_t v0, u0, v1, u1;
    float fv, fu, t[4], most;
    int i;
    if (v < -1.0f || v > (float)p->h || u < -1.0f || u > (float)p->w) t[0] = t[1] = t[2] = t[3] = 0.0f;
    else {
        v = v > 0.0f ? v : 0.0f;
        u = u > 0.0f ? u : 0.0f;
        v0 = (int64_t)v < p->h - 1 ? (int64_t)v : p->h - 1;
        u0 = (int64_t)u < p->w - 1 ? (int64_t)u : p->w - 1;
        v1 = v0 + 1 < p->h ? v0 + 1 : v0;
        u1 = u0 + 1 < p->w ? u0 + 1 : u0;
        fv = v0 == p->h - 1 ? 0.0f : v - (float)v0;
        fu = u0 == p->w - 1 ? 0.0f : u - (float)u0;
        t[0] = (1.0f - fv) * (1.0f - fu) * x[v0 * p->w + u0];
        t[1] = (1.0f - fv) * fu * x[v0 * p->w + u1];
        t[2] = fv * (1.0f - fu) * x[v1 * p->w + u0];
        t[3] = fv * fu * x[v1 * p->w + u1];
    }
    if (!p->max) return before + (t[0] + t[1] + t[2] + t[3]);
    for (most = t[0], i = 1; i < 4; i++) most = t[i] > most ? t[i] : most;
    return first || most > before ? most : before;
}

static inline float inlay_roi_cell(const inlay_roi_align_params *p, const float *x, float top, float left, float height, float width)
{
    const int32_t rows = p->ratio > 0 ? p->ratio : (int32_t)ceilf(height), columns = p->ratio > 0 ? p->ratio : (int32_t)ceilf(width);
    float value = 0.0f;
    int32_t i, k;
    for (i = 0; i < rows; i++)
        for (k = 0; k < columns; k++)
            value = inlay_roi_sample(p, x, top + ((float)i + 0.5f) * height / (float)rows, left + ((float)k + 0.5f) * width / (float)columns, !i && !k, value);
    return p->max || rows * columns < 1 ? value : value / (float)(rows * columns);
}

static inline int inlay_roi_align_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_roi_align_params *p = (const inlay_roi_align_params *)s->params;
    float *y = (float *)inlay_at(base, s, 0);
    const float *x = (const float *)inlay_at(base, s, 1), *region = (const float *)inlay_at(base, s, 2);
    const int64_t *image = (const int64_t *)inlay_at(base, s, 3);
    const float move = p->half_pixel ? 0.5f : 0.0f;
    int64_t r, c;
    int32_t i, k;
    (void)r0, (void)r1;
    for (r = 0; r < p->regions; r++, region += 4) {
        const float left = region[0] * p->scale - move, top = region[1] * p->scale - move;
        float width = region[2] * p->scale - move - left, height = region[3] * p->scale - move - top;
        if (image[r] < 0 || image[r] >= p->n) return -INLAY_E_INDEX;
        if (!p->half_pixel && width < 1.0f) width = 1.0f;
        if (!p->half_pixel && height < 1.0f) height = 1.0f;
        width /= (float)p->pw;
        height /= (float)p->ph;
        for (c = 0; c < p->c; c++)
            for (i = 0; i < p->ph; i++)
                for (k = 0; k < p->pw; k++)
                    *y++ = inlay_roi_cell(p, x + (image[r] * p->c + c) * p->h * p->w, top + (float)i * height, left + (float)k * width, height, width);
    }
    return 0;
}

#endif
