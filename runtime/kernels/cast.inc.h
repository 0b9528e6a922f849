/* SPDX-License-Identifier: 0BSD
 * Conversions from one element type to all others. Included by cast.h; INLAY_TO(Y, x) converts to
 * the integer type Y, INLAY_TO_U64(x) to uint64_t. INLAY_INTEGERS, INLAY_BYTES: INLAY_SOME of
 * unary.inc.h, for results that are integers, and floats. */

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _f32)
#define INLAY_FORMULA x
#define INLAY_Y float
#define INLAY_SOME INLAY_BYTES
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _f64)
#define INLAY_FORMULA x
#define INLAY_Y double
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _i8)
#define INLAY_FORMULA INLAY_TO(int8_t, x)
#define INLAY_Y int8_t
#define INLAY_SOME INLAY_INTEGERS
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _i16)
#define INLAY_FORMULA INLAY_TO(int16_t, x)
#define INLAY_Y int16_t
#define INLAY_SOME INLAY_INTEGERS
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _i32)
#define INLAY_FORMULA INLAY_TO(int32_t, x)
#define INLAY_Y int32_t
#define INLAY_SOME INLAY_INTEGERS
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _i64)
#define INLAY_FORMULA INLAY_TO(int64_t, x)
#define INLAY_Y int64_t
#define INLAY_SOME INLAY_INTEGERS
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _u8)
#define INLAY_FORMULA INLAY_TO(uint8_t, x)
#define INLAY_Y uint8_t
#define INLAY_SOME INLAY_INTEGERS
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _u16)
#define INLAY_FORMULA INLAY_TO(uint16_t, x)
#define INLAY_Y uint16_t
#define INLAY_SOME INLAY_INTEGERS
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _u32)
#define INLAY_FORMULA INLAY_TO(uint32_t, x)
#define INLAY_Y uint32_t
#define INLAY_SOME INLAY_INTEGERS
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _u64)
#define INLAY_FORMULA INLAY_TO_U64(x)
#define INLAY_Y uint64_t
#include "unary.inc.h"

#define INLAY_NAME INLAY_JOIN(inlay_typed(cast), _bool)
#define INLAY_FORMULA x != 0
#define INLAY_Y uint8_t
#include "unary.inc.h"
