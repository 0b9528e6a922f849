/* SPDX-License-Identifier: 0BSD
 * Elementwise kernels on one floating type. Included by eltwise_float.h; the numbers of an operator
 * are p->a and p->b. */

/* The remainder with b's sign, that of a zero too (Python). */
static inline INLAY_T inlay_typed(modulo)(INLAY_T a, INLAY_T b)
{
    const INLAY_T rest = INLAY_F(fmod)(a, b);
    if (rest == 0)
        return INLAY_F(copysign)(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

/* NaN in either operand stays. */
static inline INLAY_T inlay_typed(least)(INLAY_T a, INLAY_T b)
{
    return ((a < b) | (a != a)) ? a : b;
}

static inline INLAY_T inlay_typed(greatest)(INLAY_T a, INLAY_T b)
{
    return ((a > b) | (a != a)) ? a : b;
}

static inline INLAY_T inlay_typed(sign_of)(INLAY_T x)
{
    return x != x ? x : (INLAY_T)((x > 0) - (x < 0));
}

static inline INLAY_T inlay_typed(shrink_of)(INLAY_T x, INLAY_T lambda,
                                             INLAY_T bias)
{
    const INLAY_T above = x > lambda ? x - bias : (INLAY_T)0;
    return x < -lambda ? x + bias : above;
}

#define INLAY_NAME inlay_typed(equal)
#define INLAY_FORMULA a == b
#define INLAY_Y uint8_t
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(less)
#define INLAY_FORMULA a < b
#define INLAY_Y uint8_t
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(less_equal)
#define INLAY_FORMULA a <= b
#define INLAY_Y uint8_t
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(add)
#define INLAY_FORMULA a + b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(sub)
#define INLAY_FORMULA a - b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(mul)
#define INLAY_FORMULA a *b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(div)
#define INLAY_FORMULA a / b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(fmod)
#define INLAY_FORMULA INLAY_F(fmod)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(mod)
#define INLAY_FORMULA inlay_typed(modulo)(a, b)
#include "binary.inc.h"

#if INLAY_VL > 1
#define INLAY_NAME inlay_typed(power)
#else
#define INLAY_NAME inlay_typed(pow)
#endif
#define INLAY_FORMULA INLAY_F(pow)(a, b)
#include "binary.inc.h"

#if INLAY_VL > 1
/* One exponent for all may be one that needs no pow. */
static inline void inlay_typed(pow_n)(void *y, const void *a, const void *b,
                                      int32_t n, int32_t step_a, int32_t step_b)
{
    const INLAY_T *x = (const INLAY_T *)a;
    const INLAY_T exponent = *(const INLAY_T *)b;
    if (step_a == 1 && step_b == 0 &&
        inlay_typed(easy_power)((INLAY_T *)y, x, n, exponent))
        return;
    INLAY_JOIN(inlay_typed(power), _n)(y, a, b, n, step_a, step_b);
}

static inline int inlay_typed(pow)(void *const *base, const inlay_step *s,
                                   int32_t r0, int32_t r1)
{
    return inlay_nd2(base, s, r0, r1, sizeof(INLAY_T), sizeof(INLAY_T),
                     inlay_typed(pow_n));
}
#endif

#define INLAY_NAME inlay_typed(min)
#define INLAY_FORMULA inlay_typed(least)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(max)
#define INLAY_FORMULA inlay_typed(greatest)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(prelu)
#define INLAY_FORMULA inlay_typed(pick)(a < 0, a * b, a)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(neg)
#define INLAY_FORMULA -x
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(abs)
#define INLAY_FORMULA INLAY_F(fabs)(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(sign)
#define INLAY_FORMULA inlay_typed(sign_of)(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(ceil)
#define INLAY_FORMULA INLAY_F(ceil)(x)
#define INLAY_VECTOR inlay_ceil_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(floor)
#define INLAY_FORMULA INLAY_F(floor)(x)
#define INLAY_VECTOR inlay_floor_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(round)
#define INLAY_FORMULA INLAY_F(rint)(x)
#include "unary.inc.h"

static inline void inlay_typed(sqrt_n)(void *y, const void *x, int32_t n,
                                       const inlay_flat_params *p)
{
    (void)p;
    inlay_typed(roots)((INLAY_T *)y, (const INLAY_T *)x, n);
}

static inline int inlay_typed(sqrt)(void *const *base, const inlay_step *s,
                                    int32_t r0, int32_t r1)
{
    return inlay_flat(base, s, r0, r1, sizeof(INLAY_T), sizeof(INLAY_T),
                      inlay_typed(sqrt_n));
}

#define INLAY_NAME inlay_typed(reciprocal)
#define INLAY_FORMULA 1 / x
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(exp)
#define INLAY_FORMULA inlay_typed(fast_exp)(x)
#define INLAY_VECTOR inlay_exp_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(log)
#define INLAY_FORMULA INLAY_F(log)(x)
#define INLAY_VECTOR inlay_log_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(sin)
#define INLAY_FORMULA INLAY_F(sin)(x)
#define INLAY_VECTOR inlay_sin_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(cos)
#define INLAY_FORMULA INLAY_F(cos)(x)
#define INLAY_VECTOR inlay_cos_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(tan)
#define INLAY_FORMULA INLAY_F(tan)(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(asin)
#define INLAY_FORMULA INLAY_F(asin)(x)
#define INLAY_VECTOR inlay_asin_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(acos)
#define INLAY_FORMULA INLAY_F(acos)(x)
#define INLAY_VECTOR inlay_acos_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(atan)
#define INLAY_FORMULA INLAY_F(atan)(x)
#define INLAY_VECTOR inlay_atan_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(sinh)
#define INLAY_FORMULA INLAY_F(sinh)(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(cosh)
#define INLAY_FORMULA INLAY_F(cosh)(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(asinh)
#define INLAY_FORMULA INLAY_F(asinh)(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(acosh)
#define INLAY_FORMULA INLAY_F(acosh)(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(atanh)
#define INLAY_FORMULA INLAY_F(atanh)(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(erf)
#define INLAY_FORMULA inlay_typed(fast_erf)(x)
#define INLAY_VECTOR inlay_erf_v(x)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(shrink)
#define INLAY_FORMULA inlay_typed(shrink_of)(x, (INLAY_T)p->a, (INLAY_T)p->b)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(isnan)
#define INLAY_FORMULA x != x
#define INLAY_Y uint8_t
#include "unary.inc.h"

/* a: negative infinities count, b: positive ones. */
#define INLAY_NAME inlay_typed(isinf)
#define INLAY_FORMULA \
    ((x < -INLAY_MAX) & (p->a > 0)) | ((x > INLAY_MAX) & (p->b > 0))
#define INLAY_Y uint8_t
#include "unary.inc.h"

/* The activations of act.def. */
#define INLAY_ACTIVATION relu
#include "unary_act.inc.h"

#define INLAY_ACTIVATION tanh
#include "unary_act.inc.h"

#define INLAY_ACTIVATION sigmoid
#include "unary_act.inc.h"

#define INLAY_ACTIVATION leaky_relu
#include "unary_act.inc.h"

#define INLAY_ACTIVATION elu
#include "unary_act.inc.h"

#define INLAY_ACTIVATION celu
#include "unary_act.inc.h"

#define INLAY_ACTIVATION fake_quantize
#include "unary_act.inc.h"

#define INLAY_ACTIVATION selu
#include "unary_act.inc.h"

#define INLAY_ACTIVATION thresholded_relu
#include "unary_act.inc.h"

#define INLAY_ACTIVATION hard_sigmoid
#include "unary_act.inc.h"

#define INLAY_ACTIVATION hard_swish
#include "unary_act.inc.h"

#define INLAY_ACTIVATION swish
#include "unary_act.inc.h"

#define INLAY_ACTIVATION softplus
#include "unary_act.inc.h"

#define INLAY_ACTIVATION softsign
#include "unary_act.inc.h"

#define INLAY_ACTIVATION mish
#include "unary_act.inc.h"

#define INLAY_ACTIVATION gelu
#include "unary_act.inc.h"

#define INLAY_ACTIVATION gelu_tanh
#include "unary_act.inc.h"

#define INLAY_ACTIVATION clip
#include "unary_act.inc.h"
