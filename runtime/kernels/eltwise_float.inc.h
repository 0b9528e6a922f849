/* SPDX-License-Identifier: 0BSD
 * Template of the elementwise kernels on floats. INLAY_T: the type; INLAY_M(f): the <math.h>
 * function of that type; INLAY_FAST(f): the form that becomes vectors, where there is one;
 * INLAY_PICK(c, a, b): c ? a : b; INLAY_K(name): name_<suffix>. Operator parameters are p->a and
 * p->b. */

#define INLAY_A ((INLAY_T)p->a)
#define INLAY_B ((INLAY_T)p->b)

INLAY_BINARY(INLAY_K(equal), uint8_t, INLAY_T, INLAY_T, z = (uint8_t)(a == b);)
INLAY_BINARY(INLAY_K(less), uint8_t, INLAY_T, INLAY_T, z = (uint8_t)(a < b);)
INLAY_BINARY(INLAY_K(less_equal), uint8_t, INLAY_T, INLAY_T, z = (uint8_t)(a <= b);)
INLAY_BINARY(INLAY_K(add), INLAY_T, INLAY_T, INLAY_T, z = a + b;)
INLAY_BINARY(INLAY_K(sub), INLAY_T, INLAY_T, INLAY_T, z = a - b;)
INLAY_BINARY(INLAY_K(mul), INLAY_T, INLAY_T, INLAY_T, z = a * b;)
INLAY_BINARY(INLAY_K(div), INLAY_T, INLAY_T, INLAY_T, z = a / b;)
INLAY_BINARY(INLAY_K(fmod), INLAY_T, INLAY_T, INLAY_T, z = INLAY_M(fmod)(a, b);)
/* The sign is the divisor's, that of a zero too. */
INLAY_BINARY(INLAY_K(mod), INLAY_T, INLAY_T, INLAY_T, z = INLAY_M(fmod)(a, b);
             if (z == 0) z = INLAY_M(copysign)(z, b); else if ((z < 0) != (b < 0)) z += b;)
INLAY_BINARY(INLAY_K(pow), INLAY_T, INLAY_T, INLAY_T, z = INLAY_M(pow)(a, b);)
/* NaN in either operand stays. */
INLAY_BINARY(INLAY_K(min), INLAY_T, INLAY_T, INLAY_T, z = ((a < b) | (a != a)) ? a : b;)
INLAY_BINARY(INLAY_K(max), INLAY_T, INLAY_T, INLAY_T, z = ((a > b) | (a != a)) ? a : b;)
INLAY_BINARY(INLAY_K(prelu), INLAY_T, INLAY_T, INLAY_T, const INLAY_T t = a * b;
             z = INLAY_PICK(a < 0, t, a);)

INLAY_UNARY(INLAY_K(neg), INLAY_T, INLAY_T, z = -x;)
INLAY_UNARY(INLAY_K(abs), INLAY_T, INLAY_T, z = INLAY_M(fabs)(x);)
INLAY_UNARY(INLAY_K(sign), INLAY_T, INLAY_T, z = x != x ? x : (INLAY_T)((x > 0) - (x < 0));)
INLAY_UNARY(INLAY_K(ceil), INLAY_T, INLAY_T, z = INLAY_M(ceil)(x);)
INLAY_UNARY(INLAY_K(floor), INLAY_T, INLAY_T, z = INLAY_M(floor)(x);)
INLAY_UNARY(INLAY_K(round), INLAY_T, INLAY_T, z = INLAY_M(rint)(x);)
INLAY_UNARY(INLAY_K(sqrt), INLAY_T, INLAY_T, z = INLAY_M(sqrt)(x);)
INLAY_UNARY(INLAY_K(reciprocal), INLAY_T, INLAY_T, z = 1 / x;)
INLAY_UNARY(INLAY_K(exp), INLAY_T, INLAY_T, z = INLAY_FAST(exp)(x);)
INLAY_UNARY(INLAY_K(log), INLAY_T, INLAY_T, z = INLAY_M(log)(x);)
INLAY_UNARY(INLAY_K(sin), INLAY_T, INLAY_T, z = INLAY_M(sin)(x);)
INLAY_UNARY(INLAY_K(cos), INLAY_T, INLAY_T, z = INLAY_M(cos)(x);)
INLAY_UNARY(INLAY_K(tan), INLAY_T, INLAY_T, z = INLAY_M(tan)(x);)
INLAY_UNARY(INLAY_K(asin), INLAY_T, INLAY_T, z = INLAY_M(asin)(x);)
INLAY_UNARY(INLAY_K(acos), INLAY_T, INLAY_T, z = INLAY_M(acos)(x);)
INLAY_UNARY(INLAY_K(atan), INLAY_T, INLAY_T, z = INLAY_M(atan)(x);)
INLAY_UNARY(INLAY_K(sinh), INLAY_T, INLAY_T, z = INLAY_M(sinh)(x);)
INLAY_UNARY(INLAY_K(cosh), INLAY_T, INLAY_T, z = INLAY_M(cosh)(x);)
INLAY_UNARY(INLAY_K(asinh), INLAY_T, INLAY_T, z = INLAY_M(asinh)(x);)
INLAY_UNARY(INLAY_K(acosh), INLAY_T, INLAY_T, z = INLAY_M(acosh)(x);)
INLAY_UNARY(INLAY_K(atanh), INLAY_T, INLAY_T, z = INLAY_M(atanh)(x);)
INLAY_UNARY(INLAY_K(erf), INLAY_T, INLAY_T, z = INLAY_FAST(erf)(x);)
/* The activations of act.def. */
#define INLAY_UNARY_ACT(name) \
    INLAY_UNARY(INLAY_K(name), INLAY_T, INLAY_T, \
                z = INLAY_K(inlay_act_##name)(x, INLAY_A, INLAY_B);)
INLAY_UNARY_ACT(relu)
INLAY_UNARY_ACT(tanh)
INLAY_UNARY_ACT(sigmoid)
INLAY_UNARY_ACT(leaky_relu)
INLAY_UNARY_ACT(elu)
INLAY_UNARY_ACT(celu)
INLAY_UNARY_ACT(selu)
INLAY_UNARY_ACT(thresholded_relu)
INLAY_UNARY_ACT(hard_sigmoid)
INLAY_UNARY_ACT(hard_swish)
INLAY_UNARY_ACT(swish)
INLAY_UNARY_ACT(softplus)
INLAY_UNARY_ACT(softsign)
INLAY_UNARY_ACT(mish)
INLAY_UNARY_ACT(gelu)
INLAY_UNARY_ACT(gelu_tanh)
INLAY_UNARY_ACT(clip)
#undef INLAY_UNARY_ACT

INLAY_UNARY(INLAY_K(shrink), INLAY_T, INLAY_T,
            const INLAY_T t = x > INLAY_A ? x - INLAY_B : (INLAY_T)0;
            z = x < -INLAY_A ? x + INLAY_B : t;)
INLAY_UNARY(INLAY_K(isnan), uint8_t, INLAY_T, z = (uint8_t)(x != x);)
/* a: negative infinities count, b: positive ones. */
INLAY_UNARY(INLAY_K(isinf), uint8_t, INLAY_T,
            z = (uint8_t)(((x < -INLAY_MAX) & (p->a > 0)) | ((x > INLAY_MAX) & (p->b > 0)));)

#undef INLAY_A
#undef INLAY_B
