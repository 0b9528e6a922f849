/* SPDX-License-Identifier: 0BSD
 * Includes the file INLAY_FAMILY once for each width of vectors (vec.h): it holds plain functions
 * on vectors of INLAY_L floats, INLAY_FLOATS, with names INLAY_W(name). */
#define INLAY_L 1
#include INLAY_FAMILY
#undef INLAY_L

#if INLAY_HAS_4
#define INLAY_L 4
#include INLAY_FAMILY
#undef INLAY_L
#endif

#if INLAY_VL >= 8
#define INLAY_L 8
#include INLAY_FAMILY
#undef INLAY_L
#endif

#if INLAY_VL >= 16
#define INLAY_L 16
#include INLAY_FAMILY
#undef INLAY_L
#endif
