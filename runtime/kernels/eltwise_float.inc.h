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
INLAY_BINARY(INLAY_K(mod), INLAY_T, INLAY_T, INLAY_T, z = INLAY_M(fmod)(a, b);
             if (z != 0 && (z < 0) != (b < 0)) z += b;)
INLAY_BINARY(INLAY_K(pow), INLAY_T, INLAY_T, INLAY_T, z = INLAY_M(pow)(a, b);)
/* NaN in either operand stays. */
INLAY_BINARY(INLAY_K(min), INLAY_T, INLAY_T, INLAY_T, z = ((a < b) | (a != a)) ? a : b;)
INLAY_BINARY(INLAY_K(max), INLAY_T, INLAY_T, INLAY_T, z = ((a > b) | (a != a)) ? a : b;)
INLAY_BINARY(INLAY_K(prelu), INLAY_T, INLAY_T, INLAY_T, const INLAY_T t = a * b;
             z = INLAY_PICK(a < 0, t, a);)

INLAY_UNARY(INLAY_K(neg), INLAY_T, INLAY_T, z = -x;)
INLAY_UNARY(INLAY_K(abs), INLAY_T, INLAY_T, z = INLAY_M(fabs)(x);)
INLAY_UNARY(INLAY_K(sign), INLAY_T, INLAY_T, z = x != x ? x : (INLAY_T)((x > 0) - (x < 0));)
INLAY_UNARY(INLAY_K(relu), INLAY_T, INLAY_T, z = x < 0 ? (INLAY_T)0 : x;)
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
INLAY_UNARY(INLAY_K(tanh), INLAY_T, INLAY_T, z = INLAY_FAST(tanh)(x);)
INLAY_UNARY(INLAY_K(asinh), INLAY_T, INLAY_T, z = INLAY_M(asinh)(x);)
INLAY_UNARY(INLAY_K(acosh), INLAY_T, INLAY_T, z = INLAY_M(acosh)(x);)
INLAY_UNARY(INLAY_K(atanh), INLAY_T, INLAY_T, z = INLAY_M(atanh)(x);)
INLAY_UNARY(INLAY_K(erf), INLAY_T, INLAY_T, z = INLAY_FAST(erf)(x);)
INLAY_UNARY(INLAY_K(sigmoid), INLAY_T, INLAY_T, z = 1 / (1 + INLAY_FAST(exp)(-x));)
INLAY_UNARY(INLAY_K(leaky_relu), INLAY_T, INLAY_T, const INLAY_T t = INLAY_A * x;
            z = INLAY_PICK(x < 0, t, x);)
INLAY_UNARY(INLAY_K(elu), INLAY_T, INLAY_T, const INLAY_T t = INLAY_A * INLAY_FAST(expm1)(x);
            z = INLAY_PICK(x < 0, t, x);)
INLAY_UNARY(INLAY_K(celu), INLAY_T, INLAY_T,
            const INLAY_T t = INLAY_A * INLAY_FAST(expm1)(x / INLAY_A);
            z = INLAY_PICK(x < 0, t, x);)
INLAY_UNARY(INLAY_K(selu), INLAY_T, INLAY_T, const INLAY_T t = INLAY_A * INLAY_FAST(expm1)(x);
            z = INLAY_B * INLAY_PICK(x < 0, t, x);)
INLAY_UNARY(INLAY_K(thresholded_relu), INLAY_T, INLAY_T, z = x > INLAY_A ? x : (INLAY_T)0;)
INLAY_UNARY(INLAY_K(hard_sigmoid), INLAY_T, INLAY_T, const INLAY_T t = INLAY_A * x + INLAY_B;
            const INLAY_T u = t < 0 ? (INLAY_T)0 : t; z = u > 1 ? (INLAY_T)1 : u;)
INLAY_UNARY(INLAY_K(hard_swish), INLAY_T, INLAY_T, const INLAY_T t = x / 6 + (INLAY_T)0.5;
            const INLAY_T u = t < 0 ? (INLAY_T)0 : t; z = x * (u > 1 ? (INLAY_T)1 : u);)
INLAY_UNARY(INLAY_K(swish), INLAY_T, INLAY_T, z = x / (1 + INLAY_FAST(exp)(-INLAY_A * x));)
INLAY_UNARY(INLAY_K(softplus), INLAY_T, INLAY_T,
            z = (x > 0 ? x : (INLAY_T)0) + INLAY_M(log1p)(INLAY_FAST(exp)(-INLAY_M(fabs)(x)));)
INLAY_UNARY(INLAY_K(softsign), INLAY_T, INLAY_T, z = x / (1 + INLAY_M(fabs)(x));)
/* tanh(log(1 + e^x)) = (u^2 + 2 u) / (u^2 + 2 u + 2) with u = e^x; above 20 it is 1. */
INLAY_UNARY(INLAY_K(mish), INLAY_T, INLAY_T,
            const INLAY_T u = INLAY_FAST(exp)(x > 20 ? (INLAY_T)20 : x);
            const INLAY_T t = u * (u + 2); z = x * (t / (t + 2));)
INLAY_UNARY(INLAY_K(gelu), INLAY_T, INLAY_T,
            z = (INLAY_T)0.5 * x * (1 + INLAY_FAST(erf)(x * (INLAY_T)0.70710678118654752));)
INLAY_UNARY(INLAY_K(gelu_tanh), INLAY_T, INLAY_T,
            z = (INLAY_T)0.5 * x *
                (1 + INLAY_FAST(tanh)((INLAY_T)0.79788456080286536 *
                                      (x + (INLAY_T)0.044715 * x * x * x)));)
INLAY_UNARY(INLAY_K(clip), INLAY_T, INLAY_T, const INLAY_T t = x < INLAY_A ? INLAY_A : x;
            z = t > INLAY_B ? INLAY_B : t;)
INLAY_UNARY(INLAY_K(shrink), INLAY_T, INLAY_T,
            const INLAY_T t = x > INLAY_A ? x - INLAY_B : (INLAY_T)0;
            z = x < -INLAY_A ? x + INLAY_B : t;)
INLAY_UNARY(INLAY_K(isnan), uint8_t, INLAY_T, z = (uint8_t)(x != x);)
/* a: negative infinities count, b: positive ones. */
INLAY_UNARY(INLAY_K(isinf), uint8_t, INLAY_T,
            z = (uint8_t)(((x < -INLAY_MAX) & (p->a > 0)) | ((x > INLAY_MAX) & (p->b > 0)));)

#undef INLAY_A
#undef INLAY_B
