/* SPDX-License-Identifier: 0BSD
 * Includes the file INLAY_FAMILY once for each integer type, as each_float.inc.h does for the
 * floating ones. INLAY_WIDE is unsigned, so that sums and products wrap around; INLAY_BITS is the
 * width of the type, INLAY_SIGNED says whether it has a sign. */
#define INLAY_SINGLE 0
#define INLAY_T int8_t
#define INLAY_WIDE uint32_t
#define INLAY_BITS 8
#define INLAY_SIGNED 1
#define inlay_typed(name) inlay_##name##_i8
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef INLAY_BITS
#undef INLAY_SIGNED
#undef inlay_typed

#define INLAY_T int16_t
#define INLAY_WIDE uint32_t
#define INLAY_BITS 16
#define INLAY_SIGNED 1
#define inlay_typed(name) inlay_##name##_i16
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef INLAY_BITS
#undef INLAY_SIGNED
#undef inlay_typed

#define INLAY_T int32_t
#define INLAY_WIDE uint32_t
#define INLAY_BITS 32
#define INLAY_SIGNED 1
#define inlay_typed(name) inlay_##name##_i32
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef INLAY_BITS
#undef INLAY_SIGNED
#undef inlay_typed

#define INLAY_T int64_t
#define INLAY_WIDE uint64_t
#define INLAY_BITS 64
#define INLAY_SIGNED 1
#define inlay_typed(name) inlay_##name##_i64
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef INLAY_BITS
#undef INLAY_SIGNED
#undef inlay_typed

#define INLAY_T uint8_t
#define INLAY_WIDE uint32_t
#define INLAY_BITS 8
#define INLAY_SIGNED 0
#define inlay_typed(name) inlay_##name##_u8
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef INLAY_BITS
#undef INLAY_SIGNED
#undef inlay_typed

#define INLAY_T uint16_t
#define INLAY_WIDE uint32_t
#define INLAY_BITS 16
#define INLAY_SIGNED 0
#define inlay_typed(name) inlay_##name##_u16
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef INLAY_BITS
#undef INLAY_SIGNED
#undef inlay_typed

#define INLAY_T uint32_t
#define INLAY_WIDE uint32_t
#define INLAY_BITS 32
#define INLAY_SIGNED 0
#define inlay_typed(name) inlay_##name##_u32
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef INLAY_BITS
#undef INLAY_SIGNED
#undef inlay_typed

#define INLAY_T uint64_t
#define INLAY_WIDE uint64_t
#define INLAY_BITS 64
#define INLAY_SIGNED 0
#define inlay_typed(name) inlay_##name##_u64
#include INLAY_FAMILY
#undef INLAY_T
#undef INLAY_WIDE
#undef INLAY_BITS
#undef INLAY_SIGNED
#undef inlay_typed
#undef INLAY_SINGLE
