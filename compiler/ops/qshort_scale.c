/* SPDX-License-Identifier: Apache-2.0
 * Scales as the kernels of numbers of 16 bits have them: runtime/kernels/qshort.h. */
#include <math.h>

#include "base/size.h"
#include "kernels/qshort_step.h"
#include "ops/qshort.h"

/* factor 2^-31 2^exponent, with a factor of 31 bits. */
static int32_t factor_of(double scale, int *exponent)
{
    const double part = frexp(scale, exponent);
    const double factor = nearbyint(ldexp(part, 31));
    if (factor <= INT32_MAX)
        return (int32_t)factor;
    ++*exponent;
    return 1 << 30;
}

bool short_scale(double scale, ShortScale *made)
{
    enum { MOST = 30 };
    int exponent;
    made->factor = factor_of(scale, &exponent);
    const int down = -1 - exponent;
    if (down < 1)
        return false;
    made->places = down;
    if (down > MOST) {
        made->factor >>= i64_min(down - MOST, 31);
        made->places = MOST;
    }
    return true;
}

ShortScale short_scale_long(double scale)
{
    enum {
        DOWN = 11, /* the largest numbers, of 17 bits, come of sums of 30 */
        RIGHT = 8,
        LEFT = 16,
        MOST_RIGHT = 62,
        MOST_LEFT = 30
    };
    int exponent;
    ShortScale made;
    made.factor = factor_of(scale, &exponent);
    const int64_t right = -1 - DOWN - exponent;
    if (right >= 0)
        made.places = (int32_t)(i64_min(right, MOST_RIGHT) << RIGHT) | DOWN;
    else
        made.places = (int32_t)(i64_min(-right, MOST_LEFT) << LEFT) | DOWN;
    return made;
}

int32_t short_factors(double a, double b, int32_t *factor_a, int32_t *factor_b)
{
    enum { BITS = 31, LEAST = 1, MOST = 30 };
    int exponent;
    frexp(a > b ? a : b, &exponent);
    const int64_t wanted = BITS - (32 - INLAY_QSHORT_UP) - exponent;
    const int64_t down = i64_max(LEAST, i64_min(wanted, MOST));
    const int up = (int)(down + 32 - INLAY_QSHORT_UP);
    const double most = INT32_MAX;
    *factor_a = (int32_t)fmin(nearbyint(ldexp(a, up)), most);
    *factor_b = (int32_t)fmin(nearbyint(ldexp(b, up)), most);
    return (int32_t)down;
}
