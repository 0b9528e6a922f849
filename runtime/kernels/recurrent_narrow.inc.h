/* SPDX-License-Identifier: 0BSD
 * Template of recurrent_narrow.h for one type of weights. */

static inline int inlay_typed(recurrent)(void *const *base, const inlay_step *s,
                                         int32_t r0, int32_t r1)
{
    (void)r0;
    (void)r1;
    return inlay_recurrent_narrow(base, s, &inlay_typed(widening));
}
