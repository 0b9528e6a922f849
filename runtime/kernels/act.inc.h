/* SPDX-License-Identifier: 0BSD
 * Template: the activations of act.def as functions inlay_act_<name>_<suffix>(x, a, b).
 * INLAY_N(name): inlay_<name>_<suffix>; INLAY_T, INLAY_C(), INLAY_F(): as in each_float.inc.h;
 * INLAY_FAST(f): the form of f that becomes vectors, where there is one; INLAY_PICK(c, p, q):
 * c ? p : q without a branch, INLAY_IF(c, p, q): in any way. */

static inline INLAY_T INLAY_N(act_clip01)(INLAY_T x)
{
    const INLAY_T above = INLAY_IF(x < 0, INLAY_C(0.0), x);
    return INLAY_IF(above > 1, INLAY_C(1.0), above);
}

static inline INLAY_T INLAY_N(act_within)(INLAY_T x, INLAY_T least,
                                          INLAY_T most)
{
    const INLAY_T above = INLAY_IF(x < least, least, x);
    return INLAY_IF(above > most, most, above);
}

/* tanh(log(1 + u)) = (u^2 + 2 u) / (u^2 + 2 u + 2) */
static inline INLAY_T INLAY_N(act_tanh_log1p)(INLAY_T u)
{
    const INLAY_T t = u * (u + 2);
    return t / (t + 2);
}

#define INLAY_ACT(uses, id, name, op, a_name, a_default, b_name, b_default, \
                  formula) \
    static inline INLAY_T INLAY_N(act_##name)(INLAY_T x, INLAY_T a, INLAY_T b) \
    { \
        (void)a; \
        (void)b; \
        return formula; \
    }
#include "act.def"
#undef INLAY_ACT

#undef INLAY_T
#undef INLAY_C
#undef INLAY_F
#undef INLAY_N
#undef INLAY_FAST
#undef INLAY_PICK
#undef INLAY_IF
