/* SPDX-License-Identifier: 0BSD
 * Includes the file INLAY_FAMILY once for float and once for double: it holds plain functions of
 * one type. The family writes
 *
 *   INLAY_T           the element type
 *   INLAY_WIDE        the type in which sums are made
 *   inlay_typed(name)     inlay_<name>_<type>: the name of a function
 *   INLAY_C(1.0)      a constant of the type
 *   INLAY_F(floor)    the function of <math.h> for the type
 *   INLAY_MAX         the largest number, of <float.h>
 *   INLAY_SINGLE      1: the type is float */
#define INLAY_T float
#define INLAY_WIDE float
#define inlay_typed(name) inlay_##name##_f32
#define INLAY_C(number) number##f
#define INLAY_F(name) name##f
#define INLAY_MAX FLT_MAX
#define INLAY_SINGLE 1
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef inlay_typed
#undef INLAY_C
#undef INLAY_F
#undef INLAY_MAX
#undef INLAY_SINGLE

#define INLAY_T double
#define INLAY_WIDE double
#define inlay_typed(name) inlay_##name##_f64
#define INLAY_C(number) number
#define INLAY_F(name) name
#define INLAY_MAX DBL_MAX
#define INLAY_SINGLE 0
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef inlay_typed
#undef INLAY_C
#undef INLAY_F
#undef INLAY_MAX
#undef INLAY_SINGLE
