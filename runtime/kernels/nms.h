/* SPDX-License-Identifier: 0BSD
 * NonMaxSuppression: of boxes that overlap only the best is kept. */
#ifndef INLAY_NMS_H
#define INLAY_NMS_H

#include <string.h>

#include "inlay.h"

/* nms: y [room][3] (batch, class, box) int64, by batch and class and in them from the best score
 * down; the rest is 0. A box goes where its intersection over union with a kept one is above the
 * threshold. Operands: y, count (int64: how many), boxes [batch][n][4], scores [batch][classes][n],
 * most boxes of a class (int64), threshold of overlap, threshold of scores (each may be left out:
 * 0, 0, none), scratch of n bytes. */
#define INLAY_nms_FIELDS(F, N) \
    F(int32_t, batch) \
    F(int32_t, classes) \
    F(int32_t, n)    /* boxes */ \
    F(int32_t, room) /* most results */ \
    F(int32_t, \
      center) /* 1: boxes are (x, y, width, height) about a centre; 0: (y, x) of two corners */
INLAY_PARAMS(nms);

static inline float inlay_lesser(float a, float b)
{
    return a < b ? a : b;
}
static inline float inlay_greater(float a, float b)
{
    return a > b ? a : b;
}

/* to: low y, low x, high y, high x. */
static inline void inlay_corners(const float *b, int32_t center, float *to)
{
    if (center) {
        to[0] = b[1] - b[3] / 2.0f, to[1] = b[0] - b[2] / 2.0f;
        to[2] = b[1] + b[3] / 2.0f, to[3] = b[0] + b[2] / 2.0f;
        return;
    }
    to[0] = inlay_lesser(b[0], b[2]), to[1] = inlay_lesser(b[1], b[3]);
    to[2] = inlay_greater(b[0], b[2]), to[3] = inlay_greater(b[1], b[3]);
}

static inline int inlay_overlap(const float *a, const float *b, float threshold)
{
    const float h = inlay_lesser(a[2], b[2]) - inlay_greater(a[0], b[0]);
    const float w = inlay_lesser(a[3], b[3]) - inlay_greater(a[1], b[1]);
    const float area_a = (a[2] - a[0]) * (a[3] - a[1]);
    const float area_b = (b[2] - b[0]) * (b[3] - b[1]);
    if (!(h > 0.0f && w > 0.0f && area_a > 0.0f && area_b > 0.0f))
        return 0;
    return h * w / (area_a + area_b - h * w) > threshold;
}

/* The best box that is left; -1: none. */
static inline int32_t inlay_best_box(const inlay_nms_params *p, const float *score,
                                     const unsigned char *gone)
{
    int32_t i;
    int32_t best = -1;
    for (i = 0; i < p->n; i++)
        if (!gone[i] && (best < 0 || score[i] > score[best]))
            best = i;
    return best;
}

static inline int inlay_nms_f32(void *const *base, const inlay_step *s, int32_t r0, int32_t r1)
{
    const inlay_nms_params *p = (const inlay_nms_params *)s->params;
    int64_t *y = (int64_t *)inlay_at(base, s, 0);
    const float *box = (const float *)inlay_at(base, s, 2);
    const float *score = (const float *)inlay_at(base, s, 3);
    const int64_t *most = (const int64_t *)inlay_at(base, s, 4);
    const float *overlap = (const float *)inlay_at(base, s, 5);
    const float *least = (const float *)inlay_at(base, s, 6);
    unsigned char *gone = (unsigned char *)inlay_at(base, s, 7);
    const int64_t limit = most ? *most : 0;
    const float threshold = overlap ? *overlap : 0.0f;
    int32_t found = 0;
    int32_t b;
    int32_t c;
    int32_t i;
    int32_t k;
    (void)r0, (void)r1;
    for (b = 0; b < p->batch; b++, box += (size_t)p->n * 4)
        for (c = 0; c < p->classes; c++, score += p->n) {
            int64_t kept = 0;
            for (i = 0; i < p->n; i++)
                gone[i] = least && !(score[i] > *least);
            while (kept < limit && (k = inlay_best_box(p, score, gone)) >= 0) {
                float mine[4], other[4];
                if (found == p->room)
                    return -INLAY_E_SHAPE;
                y[found * 3] = b, y[found * 3 + 1] = c, y[found * 3 + 2] = k;
                found++;
                kept++;
                inlay_corners(box + (size_t)k * 4, p->center, mine);
                gone[k] = 1;
                for (i = 0; i < p->n; i++) {
                    if (gone[i])
                        continue;
                    inlay_corners(box + (size_t)i * 4, p->center, other);
                    gone[i] = (unsigned char)inlay_overlap(mine, other, threshold);
                }
            }
        }
    memset(y + (size_t)found * 3, 0, (size_t)(p->room - found) * 3 * sizeof *y);
    *(int64_t *)inlay_at(base, s, 1) = found;
    return 0;
}

#endif
