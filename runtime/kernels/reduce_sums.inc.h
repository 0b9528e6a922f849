/* SPDX-License-Identifier: 0BSD
 * The reductions that floats and integers have alike, by the reduce_reduce of their type. */

static inline int inlay_typed(reduce_sum)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    return inlay_typed(reduce_reduce)(base, s, r0, r1, INLAY_REDUCE_SUM);
}

static inline int inlay_typed(reduce_mean)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    return inlay_typed(reduce_reduce)(base, s, r0, r1, INLAY_REDUCE_MEAN);
}

static inline int inlay_typed(reduce_prod)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    return inlay_typed(reduce_reduce)(base, s, r0, r1, INLAY_REDUCE_PROD);
}

static inline int inlay_typed(reduce_l1)(void *const *base, const inlay_step *s,
                                         int32_t r0, int32_t r1)
{
    return inlay_typed(reduce_reduce)(base, s, r0, r1, INLAY_REDUCE_L1);
}

static inline int inlay_typed(reduce_sum_square)(void *const *base,
                                                 const inlay_step *s,
                                                 int32_t r0, int32_t r1)
{
    return inlay_typed(reduce_reduce)(base, s, r0, r1, INLAY_REDUCE_SUM_SQUARE);
}
