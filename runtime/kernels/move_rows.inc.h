/* SPDX-License-Identifier: 0BSD
 * Moves between images, of elements of one size. Included by move_rows.h. */

static inline int inlay_typed(move_rows)(void *const *base, const inlay_step *s,
                                         int32_t r0, int32_t r1)
{
    return inlay_move_rows(base, s, r0, r1, sizeof(INLAY_T),
                           inlay_typed(plane));
}
