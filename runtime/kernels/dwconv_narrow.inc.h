/* SPDX-License-Identifier: 0BSD
 * Template of dwconv_narrow.h for one type of weights. */

static inline int inlay_typed(dwconv_rows)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    const inlay_widening *type = &inlay_typed(widening);
    return inlay_dwconv_narrow(base, s, r0, r1, type);
}

static inline int inlay_typed(dwconv)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    return inlay_dwconv_with(inlay_typed(dwconv_rows), 8, base, s, r0, r1);
}

static inline int inlay_typed(dwconv_act)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    return inlay_conv_then_act(inlay_typed(dwconv), base, s, r0, r1, p->groups);
}
