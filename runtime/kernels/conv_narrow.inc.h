/* SPDX-License-Identifier: 0BSD
 * Template of conv_narrow.h for one type of weights. */

static inline int inlay_typed(conv)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    const inlay_widening *type = &inlay_typed(widening);
    return inlay_conv_narrow(base, s, r0, r1, type);
}

static inline int inlay_typed(conv_act)(void *const *base, const inlay_step *s,
                                        int32_t r0, int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t channels = p->groups * p->oc;
    return inlay_conv_then_act(inlay_typed(conv), base, s, r0, r1, channels);
}

static inline int inlay_typed(conv1d)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    const inlay_widening *type = &inlay_typed(widening);
    return inlay_conv1d_narrow(base, s, r0, r1, type);
}

static inline int inlay_typed(conv1d_act)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t channels = p->groups * p->oc;
    return inlay_conv_then_act(inlay_typed(conv1d), base, s, r0, r1, channels);
}

static inline int inlay_typed(deconv_rows)(void *const *base,
                                           const inlay_step *s, int32_t r0,
                                           int32_t r1)
{
    const inlay_widening *type = &inlay_typed(widening);
    return inlay_deconv_narrow(base, s, r0, r1, type);
}

static inline int inlay_typed(deconv)(void *const *base, const inlay_step *s,
                                      int32_t r0, int32_t r1)
{
    return inlay_deconv_with(inlay_typed(deconv_rows), 8, base, s, r0, r1);
}

static inline int inlay_typed(deconv_act)(void *const *base,
                                          const inlay_step *s, int32_t r0,
                                          int32_t r1)
{
    const inlay_conv_params *p = (const inlay_conv_params *)s->params;
    const int32_t channels = p->groups * p->oc;
    return inlay_conv_then_act(inlay_typed(deconv), base, s, r0, r1, channels);
}
