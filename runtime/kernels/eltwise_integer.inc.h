/* SPDX-License-Identifier: 0BSD
 * Elementwise kernels on one integer type. Included by eltwise_integer.h. Sums and products wrap
 * around. Division by zero gives 0: the standard leaves it open, a device must not trap. */

static inline INLAY_T inlay_typed(quotient)(INLAY_T a, INLAY_T b)
{
#if INLAY_SIGNED
    if (b == -1)
        return (INLAY_T)((INLAY_WIDE)0 - (INLAY_WIDE)a);
#endif
    return (INLAY_T)(b == 0 ? 0 : a / b);
}

/* The remainder with a's sign (C). */
static inline INLAY_T inlay_typed(remainder)(INLAY_T a, INLAY_T b)
{
#if INLAY_SIGNED
    if (b == -1)
        return 0;
#endif
    return (INLAY_T)(b == 0 ? 0 : a % b);
}

/* The remainder with b's sign (Python). */
static inline INLAY_T inlay_typed(modulo)(INLAY_T a, INLAY_T b)
{
    const INLAY_T r = inlay_typed(remainder)(a, b);
#if INLAY_SIGNED
    return r != 0 && (r < 0) != (b < 0) ? (INLAY_T)(r + b) : r;
#else
    return r;
#endif
}

#if INLAY_SIGNED
/* a to a negative power, towards zero: only 1 and -1 leave something. */
static inline INLAY_T inlay_typed(inverse_power)(INLAY_T a, INLAY_T b)
{
    if (a == 1)
        return 1;
    if (a != -1)
        return 0;
    return b % 2 ? -1 : 1;
}
#endif

static inline INLAY_T inlay_typed(power)(INLAY_T a, INLAY_T b)
{
    INLAY_WIDE x = (INLAY_WIDE)a;
    INLAY_WIDE y = 1;
#if INLAY_SIGNED
    if (b < 0)
        return inlay_typed(inverse_power)(a, b);
#endif
    for (; b; b = (INLAY_T)(b / 2), x *= x)
        if (b % 2)
            y *= x;
    return (INLAY_T)y;
}

/* Shifts by less than 0 or by the width and more leave the sign's bits to the right, zeros to the
 * left. */
static inline INLAY_T inlay_typed(shift_right)(INLAY_T a, INLAY_T b)
{
#if INLAY_SIGNED
    const int out = b < 0 || b >= INLAY_BITS;
    if (a < 0)
        return (INLAY_T)(out ? -1 : ~(~a >> b));
#else
    const int out = b >= INLAY_BITS;
#endif
    return (INLAY_T)(out ? 0 : a >> b);
}

static inline INLAY_T inlay_typed(shift_left)(INLAY_T a, INLAY_T b)
{
#if INLAY_SIGNED
    if (b < 0)
        return 0;
#endif
    return (INLAY_T)(b < INLAY_BITS ? (INLAY_WIDE)a << b : 0);
}

static inline INLAY_T inlay_typed(least)(INLAY_T a, INLAY_T b)
{
    return a < b ? a : b;
}

static inline INLAY_T inlay_typed(greatest)(INLAY_T a, INLAY_T b)
{
    return a > b ? a : b;
}

#if INLAY_SIGNED
static inline INLAY_T inlay_typed(leaky)(INLAY_T a, INLAY_T b)
{
    return a < 0 ? (INLAY_T)((INLAY_WIDE)a * (INLAY_WIDE)b) : a;
}
#endif

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
#define INLAY_FORMULA (INLAY_WIDE) a + (INLAY_WIDE)b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(sub)
#define INLAY_FORMULA (INLAY_WIDE) a - (INLAY_WIDE)b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(mul)
#define INLAY_FORMULA (INLAY_WIDE) a *(INLAY_WIDE)b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(div)
#define INLAY_FORMULA inlay_typed(quotient)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(mod)
#define INLAY_FORMULA inlay_typed(modulo)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(fmod)
#define INLAY_FORMULA inlay_typed(remainder)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(pow)
#define INLAY_FORMULA inlay_typed(power)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(min)
#define INLAY_FORMULA inlay_typed(least)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(max)
#define INLAY_FORMULA inlay_typed(greatest)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(and)
#define INLAY_FORMULA a &b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(or)
#define INLAY_FORMULA a | b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(xor)
#define INLAY_FORMULA a ^ b
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(shl)
#define INLAY_FORMULA inlay_typed(shift_left)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(shr)
#define INLAY_FORMULA inlay_typed(shift_right)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(not )
#define INLAY_FORMULA ~x
#include "unary.inc.h"

#if INLAY_SIGNED
#define INLAY_NAME inlay_typed(prelu)
#define INLAY_FORMULA inlay_typed(leaky)(a, b)
#include "binary.inc.h"

#define INLAY_NAME inlay_typed(neg)
#define INLAY_FORMULA (INLAY_WIDE)0 - (INLAY_WIDE)x
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(abs)
#define INLAY_FORMULA x < 0 ? (INLAY_T)((INLAY_WIDE)0 - (INLAY_WIDE)x) : x
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(sign)
#define INLAY_FORMULA (x > 0) - (x < 0)
#include "unary.inc.h"

#define INLAY_NAME inlay_typed(relu)
#define INLAY_FORMULA inlay_typed(greatest)(x, 0)
#include "unary.inc.h"
#else
#define INLAY_NAME inlay_typed(sign)
#define INLAY_FORMULA x != 0
#include "unary.inc.h"
#endif
