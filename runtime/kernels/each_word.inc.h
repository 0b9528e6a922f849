/* SPDX-License-Identifier: 0BSD
 * Includes the file INLAY_FAMILY once for each size of an element, 1 to 16 bytes, for what moves
 * elements without looking at them: INLAY_T is a word of that size, inlay_typed(name) is
 * inlay_<name>_<bits>. */
#define INLAY_T inlay_w8
#define inlay_typed(name) inlay_##name##_8
#include INLAY_FAMILY
#undef INLAY_T
#undef inlay_typed

#define INLAY_T inlay_w16
#define inlay_typed(name) inlay_##name##_16
#include INLAY_FAMILY
#undef INLAY_T
#undef inlay_typed

#define INLAY_T inlay_w32
#define inlay_typed(name) inlay_##name##_32
#include INLAY_FAMILY
#undef INLAY_T
#undef inlay_typed

#define INLAY_T inlay_w64
#define inlay_typed(name) inlay_##name##_64
#include INLAY_FAMILY
#undef INLAY_T
#undef inlay_typed

#define INLAY_T inlay_w128
#define inlay_typed(name) inlay_##name##_128
#include INLAY_FAMILY
#undef INLAY_T
#undef inlay_typed
