/* SPDX-License-Identifier: 0BSD
 * Includes the file INLAY_FAMILY once for each type narrower than float that weights may be stored
 * in: it holds plain functions of one such type. The family writes
 *
 *   inlay_typed(name)     inlay_<name>_<type>: the name of a function
 *   INLAY_BITS            of an element; below 8 the first lies in the lowest bits of its byte
 *   INLAY_KIND            what they mean: INLAY_NARROW_... of widen.h */
#define inlay_typed(name) inlay_##name##_f16
#define INLAY_BITS 16
#define INLAY_KIND INLAY_NARROW_F16
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_bf16
#define INLAY_BITS 16
#define INLAY_KIND INLAY_NARROW_BF16
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_f8e4m3fn
#define INLAY_BITS 8
#define INLAY_KIND INLAY_NARROW_F8E4M3FN
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_f8e4m3fnuz
#define INLAY_BITS 8
#define INLAY_KIND INLAY_NARROW_F8E4M3FNUZ
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_f8e5m2
#define INLAY_BITS 8
#define INLAY_KIND INLAY_NARROW_F8E5M2
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_f8e5m2fnuz
#define INLAY_BITS 8
#define INLAY_KIND INLAY_NARROW_F8E5M2FNUZ
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_i8
#define INLAY_BITS 8
#define INLAY_KIND INLAY_NARROW_SIGNED
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_u8
#define INLAY_BITS 8
#define INLAY_KIND INLAY_NARROW_UNSIGNED
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_i4
#define INLAY_BITS 4
#define INLAY_KIND INLAY_NARROW_SIGNED
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_u4
#define INLAY_BITS 4
#define INLAY_KIND INLAY_NARROW_UNSIGNED
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_i2
#define INLAY_BITS 2
#define INLAY_KIND INLAY_NARROW_SIGNED
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND

#define inlay_typed(name) inlay_##name##_u2
#define INLAY_BITS 2
#define INLAY_KIND INLAY_NARROW_UNSIGNED
#include INLAY_FAMILY
#undef inlay_typed
#undef INLAY_BITS
#undef INLAY_KIND
