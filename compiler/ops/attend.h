/* SPDX-License-Identifier: Apache-2.0
 * What the attention operators share: heads, what a query may see. B batch, H heads, S queries, T
 * keys, D size of a head. */
#ifndef INLAY_OPS_ATTEND_H
#define INLAY_OPS_ATTEND_H

#include "ops/expand.h"

/* x [B][S][H][D] as [B][H][S][D], or the other way round. */
ExpandOne attend_swap;
/* A constant [rows][columns]. */
Tensor *attend_matrix(const Node *node, int64_t rows, int64_t columns,
                      const float *values);
/* What is added to scores where a query may not see a key. */
Tensor *attend_unseen(const Node *node, DType type);
/* How many elements of a head are turned: the attribute, or as many as there are. */
int64_t attend_turned(const Node *node, int64_t otherwise);
/* a b and c d, put together by the operator: factor[0..3]. */
Tensor *attend_cross(const Node *node, const char *op, Tensor *const *factor);
/* [B][H][T][D] as [B][H][D][T]. */
ExpandOne attend_turn_keys;
/* [B][S][H D] as [B][H][S][D], which stays as it is; and back. */
Tensor *attend_split(const Node *node, Tensor *tensor, int64_t heads);
ExpandOne attend_join;
/* Each head `times` times, for queries that share keys. */
Tensor *attend_repeat(const Node *node, Tensor *tensor, int64_t times);
/* 0, 1, ..., count - 1 as int64. */
Tensor *attend_numbers(const Node *node, int64_t count);
/* cap tanh(t / cap); tensor itself where cap is 0. */
Tensor *attend_softcap(const Node *node, Tensor *tensor, float cap);

/* Which keys a query sees by their places: key j from p - left to p + right, where query i stands
 * at p = i + offset; a negative bound is none. The offset is `before`, or, with the lengths of the
 * sequences [B][1][1][1], length - rows. */
typedef struct Band {
    int64_t rows;    /* S */
    int64_t columns; /* T */
    int64_t left;
    int64_t right;
    int64_t before;
    Tensor *lengths; /* NULL: `before` holds for all */
} Band;

/* 0 where a query may see a key, minus infinity elsewhere: [S][T] or [B][1][S][T]; NULL where there
 * are no bounds. */
Tensor *attend_band(const Node *node, const Band *band, DType type);

/* Pairs (a, b) turned by their angles, a cos - b sin and b cos + a sin: x [B][S][H][R], cos and sin
 * [B or 1][S][1][R / 2]. */
Tensor *attend_rotate(const Node *node, Tensor *x, Tensor *cos, Tensor *sin,
                      bool interleaved);
/* Cosines or sines of a cache [M][R / 2] for each of so many steps: [B or 1][S][1][R / 2]. */
typedef Tensor *AttendAngles(const Node *node, Tensor *cache, int64_t steps);
/* A RotaryEmbedding of com.microsoft in whole, whose caches are operands 2 and 3. */
void attend_turn(Node *node, AttendAngles *angles_at);

#endif
