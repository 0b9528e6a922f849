/* SPDX-License-Identifier: 0BSD
 * Template of pair_narrow.h for one type of weights. */

static inline int inlay_typed(dwpw)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_widening *type = &inlay_typed(widening);
    return inlay_dwpw_narrow(base, s, r0, r1, type);
}

static inline int inlay_typed(affine_conv)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    const inlay_widening *type = &inlay_typed(widening);
    return inlay_affine_conv_narrow(base, s, r0, r1, type);
}

static inline int inlay_typed(affine_conv_act)(void *const *base,
                                               const inlay_step *s, int32_t r0,
                                               int32_t r1)
{
    inlay_kernel *kernel = inlay_typed(affine_conv);
    return inlay_affine_then_act(kernel, base, s, r0, r1);
}
