/* SPDX-License-Identifier: 0BSD
 * Activations on float, from act.def: fused into convolutions and products, y = act(y; a, b) in
 * place, and as gates of recurrent layers.
 *
 * The clamp is done by the tiles themselves; all others are a second pass over the row that was
 * just stored, in kernels of their own: a model that does not use them does not link exp. */
#ifndef INLAY_ACT_H
#define INLAY_ACT_H

#include <stdint.h>

#include "inlay.h"
#include "kernels/math_f32.h"
#include "kernels/math_vec.h"

/* Numbers of the attribute "act" and of the parameters `act`. */
#define INLAY_ACT(uses, id, name, op, a_name, a_default, b_name, b_default, \
                  formula) \
    INLAY_ACT_##id,
enum {
    INLAY_ACT_NONE,
#include "act.def"
    INLAY_ACT_COUNT
};
#undef INLAY_ACT

/* Uses of a row. */
enum {
    INLAY_ACT_FUSED = 1,
    INLAY_ACT_GATE = 2,
    INLAY_ACT_LINES = 4,   /* pieces of straight lines */
    INLAY_ACT_CORNERS = 8, /* pieces between rounded places */
    INLAY_ACT_BENDS = 16   /* of exponential functions */
};

#define INLAY_T float
#define INLAY_N(name) inlay_##name##_f32
#define INLAY_C(number) number##f
#define INLAY_F(name) name##f
#define INLAY_FAST(name) inlay_##name##_f
#define INLAY_PICK(c, p, q) inlay_either(inlay_mask(c), (p), (q))
#define INLAY_IF(c, p, q) ((c) ? (p) : (q))
#include "act.inc.h"

#if INLAY_VL > 1
#define INLAY_T inlay_vf
#define INLAY_N(name) inlay_##name##_v
#define INLAY_C(number) inlay_all(number##f)
#define INLAY_F(name) inlay_##name##_v
#define INLAY_FAST(name) inlay_##name##_v
#define INLAY_PICK(c, p, q) inlay_pick_v((c), (p), (q))
#define INLAY_IF(c, p, q) inlay_pick_v((c), (p), (q))
#include "act.inc.h"
#endif

/* The elements from i on that are made at once. */
#if INLAY_VL > 1
#define INLAY_ACT_STEP INLAY_VL
#define INLAY_ACT_X inlay_take_v(y + i, n - i)
#define INLAY_ACT_AB inlay_all(a), inlay_all(b)
#define INLAY_ACT_OF(name) inlay_act_##name##_v(INLAY_ACT_X, INLAY_ACT_AB)
#define INLAY_ACT_AT(name) inlay_put_v(y + i, INLAY_ACT_OF(name), n - i)
#else
#define INLAY_ACT_STEP 1
#define INLAY_ACT_AT(name) y[i] = inlay_act_##name##_f32(y[i], a, b)
#endif

/* The cases of those activations that have the use INLAY_ACT_USE; of the others nothing is left. */
#define INLAY_ACT(uses, id, name, op, a_name, a_default, b_name, b_default, \
                  formula) \
    case INLAY_ACT_##id: \
        for (i = 0; ((uses)&INLAY_ACT_USE) && i < n; i += INLAY_ACT_STEP) \
            INLAY_ACT_AT(name); \
        break;

/* y[i] = act(y[i]) for n elements in a row; activations that can be fused. */
INLAY_APART void inlay_act_f32(float *y, int32_t n, int32_t act, float a,
                               float b)
{
    int32_t i;
#define INLAY_ACT_USE INLAY_ACT_FUSED
    switch (act) {
#include "act.def"
    default:
        break;
    }
#undef INLAY_ACT_USE
}

/* The same for those of recurrent layers. */
INLAY_APART void inlay_gate_act_f32(float *y, int32_t n, int32_t act, float a,
                                    float b)
{
    int32_t i;
#define INLAY_ACT_USE INLAY_ACT_GATE
    switch (act) {
#include "act.def"
    default:
        break;
    }
#undef INLAY_ACT_USE
}
#undef INLAY_ACT

#endif
