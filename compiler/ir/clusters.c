/* SPDX-License-Identifier: Apache-2.0
 * The best c clusters of the first j points end with a cluster of points i to j; i never falls as j
 * rises, so that all j take one look at each half of what is left (divide and conquer). */
#include "ir/clusters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM = CLUSTER_POINTS,
    ROUNDS = 8, /* of values moved to the means around a fixed one */
    KEY_BITS = 32,
    STACK = 64 /* ranges that wait: one for each halving, and its other half */
};

/* Numbers that count as one. */
typedef struct Point {
    uint32_t key; /* in the order of the numbers */
    double count, sum, squares;
} Point;

struct Clusters {
    int n;
    int coarse; /* lowest bits of keys in which points may differ */
    bool in_order;
    Point point[ROOM];
    /* of all points before one */
    Point before[ROOM + 1];
    double cost[2][ROOM + 1]; /* of the first points, in one cluster less */
    uint16_t from[CLUSTERS_MOST][ROOM + 1]; /* that the last one begins with */
};

Clusters *clusters_new(Arena *arena)
{
    Clusters *clusters = NEW(arena, Clusters);
    clusters_begin(clusters);
    return clusters;
}

void clusters_begin(Clusters *clusters)
{
    clusters->n = 0;
    clusters->coarse = 0;
    clusters->in_order = true;
}

/* ---- points ---- */

static uint32_t key_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits >> (KEY_BITS - 1) ? ~bits
                                  : bits | UINT32_C(1) << (KEY_BITS - 1);
}

static float number_of(uint32_t key)
{
    const bool positive = key >> (KEY_BITS - 1);
    const uint32_t bits =
        positive ? key & ~(UINT32_C(1) << (KEY_BITS - 1)) : ~key;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static int by_key(const void *a, const void *b)
{
    const Point *x = a;
    const Point *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return 0;
}

static void join(Point *to, const Point *from)
{
    to->count += from->count;
    to->sum += from->sum;
    to->squares += from->squares;
}

/* Neighbours whose keys differ in nothing that counts are one. */
static void join_alike(Clusters *clusters)
{
    int n = 0;
    for (int i = 0; i < clusters->n; i++) {
        const Point *point = clusters->point + i;
        Point *last = clusters->point + n - 1;
        if (n &&
            last->key >> clusters->coarse == point->key >> clusters->coarse)
            join(last, point);
        else
            clusters->point[n++] = *point;
    }
    clusters->n = n;
}

/* In order, and each once. */
static void settle(Clusters *clusters)
{
    if (clusters->in_order)
        return;
    qsort(clusters->point, (size_t)clusters->n, sizeof *clusters->point,
          by_key);
    join_alike(clusters);
    clusters->in_order = true;
}

/* Half of the room is free again. */
static void make_room(Clusters *clusters)
{
    settle(clusters);
    while (clusters->n > ROOM / 2) {
        clusters->coarse++;
        join_alike(clusters);
    }
}

void clusters_add(Clusters *clusters, const float *number, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)number[i];
        if (clusters->n == ROOM)
            make_room(clusters);
        clusters->point[clusters->n++] = (Point){
            .key = key_of(number[i]),
            .count = 1,
            .sum = x,
            .squares = x * x,
        };
        clusters->in_order = false;
    }
}

bool clusters_few(Clusters *clusters, int most)
{
    settle(clusters);
    return clusters->n <= most && !clusters->coarse;
}

/* ---- the best clusters ---- */

/* Squared distances of points [first, end) from their mean. */
static double cost_of(const Clusters *clusters, int first, int end)
{
    const Point *a = clusters->before + first;
    const Point *b = clusters->before + end;
    const double sum = b->sum - a->sum;
    const double squares = b->squares - a->squares;
    return squares - sum * sum / (b->count - a->count);
}

/* The best last cluster of the first `end` points begins in [low, high]. */
static int best_from(Clusters *clusters, int c, int end, int low, int high)
{
    const double *less = clusters->cost[(c + 1) % 2];
    double *cost = clusters->cost[c % 2];
    int best = low;
    if (high > end - 1)
        high = end - 1;
    cost[end] = (double)INFINITY;
    for (int i = low; i <= high; i++) {
        const double all = less[i] + cost_of(clusters, i, end);
        if (all < cost[end]) {
            cost[end] = all;
            best = i;
        }
    }
    clusters->from[c][end] = (uint16_t)best;
    return best;
}

/* Points [low, high] whose last clusters begin in [from, to]. */
typedef struct Range {
    int low, high, from, to;
} Range;

/* With a cluster more than before, c of them. */
static void add_cluster(Clusters *clusters, int c)
{
    Range wait[STACK];
    int n = 0;
    wait[n++] = (Range){ c + 1, clusters->n, c, clusters->n - 1 };
    while (n) {
        const Range r = wait[--n];
        const int middle = r.low + (r.high - r.low) / 2;
        if (r.low > r.high)
            continue;
        const int at = best_from(clusters, c, middle, r.from, r.to);
        wait[n++] = (Range){ middle + 1, r.high, at, r.to };
        wait[n++] = (Range){ r.low, middle - 1, r.from, at };
    }
}

static void sum_up(Clusters *clusters)
{
    clusters->before[0] = (Point){ 0 };
    for (int i = 0; i < clusters->n; i++) {
        clusters->before[i + 1] = clusters->before[i];
        join(clusters->before + i + 1, clusters->point + i);
    }
}

static float mean_of(const Clusters *clusters, int first, int end)
{
    const Point *a = clusters->before + first;
    const Point *b = clusters->before + end;
    if (end - first == 1 && !clusters->coarse)
        return number_of(clusters->point[first].key);
    return (float)((b->sum - a->sum) / (b->count - a->count));
}

int clusters_find(Clusters *clusters, int most, float *value)
{
    settle(clusters);
    const int n = clusters->n < most ? clusters->n : most;
    int end = clusters->n;
    sum_up(clusters);
    for (int i = 1; i <= end; i++) {
        clusters->cost[0][i] = cost_of(clusters, 0, i);
        clusters->from[0][i] = 0;
    }
    for (int c = 1; c < n; c++)
        add_cluster(clusters, c);
    for (int c = n; c-- > 0;) {
        const int first = clusters->from[c][end];
        value[c] = mean_of(clusters, first, end);
        end = first;
    }
    return n;
}

/* ---- around a fixed value ---- */

int cluster_nearest(const float *value, int n, float number)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (fabsf(value[i] - number) < fabsf(value[best] - number))
            best = i;
    return best;
}

/* All values but the fixed one move to the means of what is nearest to them. */
static void move_values(const Clusters *clusters, int n, float fixed,
                        float *value)
{
    Point of[CLUSTERS_MOST] = { { 0 } };
    for (int i = 0; i < clusters->n; i++) {
        const Point *point = clusters->point + i;
        const float number = (float)(point->sum / point->count);
        join(of + cluster_nearest(value, n, number), point);
    }
    for (int i = 0; i < n; i++)
        if (value[i] != fixed && of[i].count > 0)
            value[i] = (float)(of[i].sum / of[i].count);
}

int clusters_find_with(Clusters *clusters, int most, float fixed, float *value)
{
    int n = clusters_find(clusters, most, value);
    int nearest = cluster_nearest(value, n, fixed);
    if (value[nearest] == fixed)
        return n;
    if (n < most)
        nearest = n++;
    value[nearest] = fixed;
    for (int i = 0; i < ROUNDS; i++)
        move_values(clusters, n, fixed, value);
    return n;
}
