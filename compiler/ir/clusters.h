/* SPDX-License-Identifier: Apache-2.0
 * The best few values for many numbers: clusters of one dimension whose squared distances from
 * their means are least, exactly, by dynamic programming over the numbers in order. Numbers are
 * counted as they come; memory is the same for any number of them: where there are more different
 * ones than it has room for, near ones count as one. */
#ifndef INLAY_IR_CLUSTERS_H
#define INLAY_IR_CLUSTERS_H

#include <stdbool.h>

#include "base/arena.h"

enum {
    CLUSTERS_MOST = 16,
    CLUSTER_POINTS = 2048 /* different numbers that there is room for */
};

typedef struct Clusters Clusters;

Clusters *clusters_new(Arena *arena);
/* Forgets all numbers. */
void clusters_begin(Clusters *clusters);
/* None of them is infinite or no number. */
void clusters_add(Clusters *clusters, const float *number, int64_t n);
/* Up to `most` values, the least first; returns how many. Where there are no more different numbers
 * (0.0 and -0.0 are two), they are these. */
int clusters_find(Clusters *clusters, int most, float *value);
/* The same, `fixed` being one of them, in no order; the others are only near the best. */
int clusters_find_with(Clusters *clusters, int most, float fixed, float *value);
/* Are there no more than so many different numbers? */
bool clusters_few(Clusters *clusters, int most);

/* The place of the nearest of n values; of two the first. */
int cluster_nearest(const float *value, int n, float number);

#endif
