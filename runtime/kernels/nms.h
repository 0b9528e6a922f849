/* SPDX-License-Identifier: 0BSD
 * NonMaxSuppression: of boxes that overlap only the best is kept. */
#ifndef INLAY_NMS_H
#define INLAY_NMS_H

#include "inlay_memory.h"
#include "inlay.h"

/* nms: y [room][3] (batch, class, box) int64, by batch and class and in them from the best score
 * down; the rest is 0. A box goes where its intersection over union with a kept one is above the
 * threshold. Operands: y, count (int64: how many), boxes [batch][n][4], scores [batch][classes][n]
 * or [batch][n][classes], most boxes of a class (int64), threshold of overlap, threshold of scores
 * (each may be left out: 0, 0, none), scratch of n bytes, or, `sorted`, of n 64-bit numbers. */
typedef struct inlay_nms_params {
    int32_t batch;
    int32_t classes;
    int32_t n;    /* boxes */
    int32_t room; /* most results */
    /* 1: boxes are (x, y, width, height) about a centre; 0: (y, x) of two corners */
    int32_t center;
    int32_t next_box;   /* elements from the score of a box to the next one's */
    int32_t next_class; /* the same of a class */
    int32_t sorted;     /* boxes come from a heap of scores, not by searches */
} inlay_nms_params;

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
        to[0] = b[1] - b[3] / 2.0f;
        to[1] = b[0] - b[2] / 2.0f;
        to[2] = b[1] + b[3] / 2.0f;
        to[3] = b[0] + b[2] / 2.0f;
        return;
    }
    to[0] = inlay_lesser(b[0], b[2]);
    to[1] = inlay_lesser(b[1], b[3]);
    to[2] = inlay_greater(b[0], b[2]);
    to[3] = inlay_greater(b[1], b[3]);
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
static inline int32_t inlay_best_box(const inlay_nms_params *p,
                                     const float *score,
                                     const unsigned char *gone)
{
    const size_t next = (size_t)p->next_box;
    float most = 0.0f;
    int32_t i;
    int32_t best = -1;
    for (i = 0; i < p->n; i++)
        if (!gone[i] && (best < 0 || score[next * (size_t)i] > most)) {
            best = i;
            most = score[next * (size_t)i];
        }
    return best;
}

/* The operands of one image. */
typedef struct inlay_nms_input {
    const float *box, *score;
    int64_t most; /* boxes of a class */
    float overlap;
    const float *least;  /* score; NULL: any */
    unsigned char *gone; /* scratch */
    uint64_t *heap;      /* the same */
} inlay_nms_input;

static inline inlay_nms_input inlay_nms_open(void *const *base,
                                             const inlay_step *s)
{
    const int64_t *most = (const int64_t *)inlay_at(base, s, 4);
    const float *overlap = (const float *)inlay_at(base, s, 5);
    inlay_nms_input in;
    in.box = (const float *)inlay_at(base, s, 2);
    in.score = (const float *)inlay_at(base, s, 3);
    in.most = most ? *most : 0;
    in.overlap = overlap ? *overlap : 0.0f;
    in.least = (const float *)inlay_at(base, s, 6);
    in.gone = (unsigned char *)inlay_at(base, s, 7);
    in.heap = (uint64_t *)inlay_at(base, s, 7);
    return in;
}

/* Takes box k, and with it all that overlap it too much. */
static inline void inlay_nms_take(const inlay_nms_params *p,
                                  const inlay_nms_input *in, int32_t k)
{
    float mine[4], other[4];
    int32_t i;
    inlay_corners(in->box + (size_t)k * 4, p->center, mine);
    in->gone[k] = 1;
    for (i = 0; i < p->n; i++) {
        if (in->gone[i])
            continue;
        inlay_corners(in->box + (size_t)i * 4, p->center, other);
        in->gone[i] = (unsigned char)inlay_overlap(mine, other, in->overlap);
    }
}

/* One class: writes (batch, class, box) of what is kept to y, at most `room`; how many, or -1:
 * there are more. */
static inline int32_t inlay_nms_class(const inlay_nms_params *p,
                                      const inlay_nms_input *in, int64_t *y,
                                      int32_t room, int32_t batch,
                                      int32_t class_number)
{
    const size_t next = (size_t)p->next_box;
    int32_t kept = 0;
    int32_t i;
    for (i = 0; i < p->n; i++)
        in->gone[i] = in->least && !(in->score[next * (size_t)i] > *in->least);
    for (; kept < in->most; kept++, y += 3) {
        const int32_t k = inlay_best_box(p, in->score, in->gone);
        if (k < 0)
            break;
        if (kept == room)
            return -1;
        y[0] = batch;
        y[1] = class_number;
        y[2] = k;
        inlay_nms_take(p, in, k);
    }
    return kept;
}

/* A score and its box as one number: the larger comes first, of equal scores the first box. */
static inline uint64_t inlay_nms_key(float score, int32_t box)
{
    const float value = score + 0.0f; /* -0 is as good as 0 */
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
    return (uint64_t)bits << 32 | (uint32_t)(INT32_MAX - box);
}

static inline int32_t inlay_nms_box(uint64_t key)
{
    return INT32_MAX - (int32_t)(key & 0x7fffffff);
}

/* Moves number i of a heap of n numbers down to where none behind it is larger. */
static inline void inlay_nms_sink(uint64_t *heap, int32_t n, int32_t i)
{
    const uint64_t key = heap[i];
    while (2 * i + 1 < n) {
        int32_t next = 2 * i + 1;
        next += next + 1 < n && heap[next + 1] > heap[next];
        if (heap[next] <= key)
            break;
        heap[i] = heap[next];
        i = next;
    }
    heap[i] = key;
}

/* The boxes of a class whose scores are enough, as a heap: how many, or -1: scores that are no
 * number have no order. */
static inline int32_t inlay_nms_heap(const inlay_nms_params *p,
                                     const inlay_nms_input *in)
{
    const size_t next = (size_t)p->next_box;
    int32_t n = 0;
    int32_t i;
    for (i = 0; i < p->n; i++) {
        const float score = in->score[next * (size_t)i];
        if (in->least && !(score > *in->least))
            continue;
        if (score != score)
            return -1;
        in->heap[n++] = inlay_nms_key(score, i);
    }
    for (i = n / 2 - 1; i >= 0; i--)
        inlay_nms_sink(in->heap, n, i);
    return n;
}

/* Does one of the boxes that are kept, y[][3], overlap box k too much? */
static inline int inlay_nms_covered(const inlay_nms_params *p,
                                    const inlay_nms_input *in, const int64_t *y,
                                    int32_t kept, int32_t k)
{
    float mine[4], other[4];
    int32_t i;
    inlay_corners(in->box + (size_t)k * 4, p->center, other);
    for (i = 0; i < kept; i++) {
        const size_t box = (size_t)y[3 * (size_t)i + 2];
        inlay_corners(in->box + box * 4, p->center, mine);
        if (inlay_overlap(mine, other, in->overlap))
            return 1;
    }
    return 0;
}

/* The same as inlay_nms_class(), by a heap: a box is held to those that are kept when its turn
 * comes. */
static inline int32_t inlay_nms_sorted(const inlay_nms_params *p,
                                       const inlay_nms_input *in, int64_t *y,
                                       int32_t room, int32_t batch,
                                       int32_t class_number)
{
    int32_t left = inlay_nms_heap(p, in);
    int32_t kept = 0;
    if (left < 0)
        return inlay_nms_class(p, in, y, room, batch, class_number);
    while (left > 0 && kept < in->most) {
        const int32_t k = inlay_nms_box(in->heap[0]);
        in->heap[0] = in->heap[--left];
        inlay_nms_sink(in->heap, left, 0);
        if (inlay_nms_covered(p, in, y, kept, k))
            continue;
        if (kept == room)
            return -1;
        y[3 * (size_t)kept] = batch;
        y[3 * (size_t)kept + 1] = class_number;
        y[3 * (size_t)kept + 2] = k;
        kept++;
    }
    return kept;
}

/* All classes of image b, whose scores begin at `scores`: how many boxes are kept, or -1: there are
 * more than `room`. */
static inline int32_t inlay_nms_image(const inlay_nms_params *p,
                                      inlay_nms_input *in, const float *scores,
                                      int64_t *y, int32_t room, int32_t b)
{
    int32_t all = 0;
    int32_t c;
    for (c = 0; c < p->classes; c++) {
        int64_t *to = y + 3 * (size_t)all;
        int32_t kept;
        in->score = scores + (size_t)p->next_class * (size_t)c;
        if (p->sorted)
            kept = inlay_nms_sorted(p, in, to, room - all, b, c);
        else
            kept = inlay_nms_class(p, in, to, room - all, b, c);
        if (kept < 0)
            return -1;
        all += kept;
    }
    return all;
}

static inline int inlay_nms_f32(void *const *base, const inlay_step *s,
                                int32_t r0, int32_t r1)
{
    const inlay_nms_params *p = (const inlay_nms_params *)s->params;
    const size_t boxes = (size_t)p->n;
    inlay_nms_input in = inlay_nms_open(base, s);
    const float *scores = in.score;
    int64_t *y = (int64_t *)inlay_at(base, s, 0);
    int64_t *count = (int64_t *)inlay_at(base, s, 1);
    int32_t room = p->room;
    int32_t b;
    (void)r0;
    (void)r1;
    for (b = 0; b < p->batch; b++) {
        const int32_t kept = inlay_nms_image(p, &in, scores, y, room, b);
        if (kept < 0)
            return -INLAY_E_SHAPE;
        y += 3 * (size_t)kept;
        room -= kept;
        in.box += 4 * boxes;
        scores += boxes * (size_t)p->classes;
    }
    memset(y, 0, (size_t)room * 3 * sizeof *y);
    *count = p->room - room;
    return 0;
}

#endif
