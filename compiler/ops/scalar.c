/* SPDX-License-Identifier: Apache-2.0
 * One element of the result of elementwise operators, in float64: what passes evaluate where they
 * look for the function that several operators compute together. */
#include <math.h>

#include "ops/families.h"

double scalar_first(int n, const double *x)
{
    (void)n;
    return x[0];
}

double scalar_neg(int n, const double *x)
{
    (void)n;
    return -x[0];
}

double scalar_abs(int n, const double *x)
{
    (void)n;
    return fabs(x[0]);
}

double scalar_reciprocal(int n, const double *x)
{
    (void)n;
    return 1.0 / x[0];
}

double scalar_exp(int n, const double *x)
{
    (void)n;
    return exp(x[0]);
}

double scalar_log(int n, const double *x)
{
    (void)n;
    return log(x[0]);
}

double scalar_sqrt(int n, const double *x)
{
    (void)n;
    return sqrt(x[0]);
}

double scalar_erf(int n, const double *x)
{
    (void)n;
    return erf(x[0]);
}

double scalar_add(int n, const double *x)
{
    (void)n;
    return x[0] + x[1];
}

double scalar_sub(int n, const double *x)
{
    (void)n;
    return x[0] - x[1];
}

double scalar_mul(int n, const double *x)
{
    (void)n;
    return x[0] * x[1];
}

double scalar_div(int n, const double *x)
{
    (void)n;
    return x[0] / x[1];
}

double scalar_pow(int n, const double *x)
{
    (void)n;
    return pow(x[0], x[1]);
}

double scalar_greater(int n, const double *x)
{
    (void)n;
    return x[0] > x[1] ? 1.0 : 0.0;
}

double scalar_less(int n, const double *x)
{
    (void)n;
    return x[0] < x[1] ? 1.0 : 0.0;
}

double scalar_at_least(int n, const double *x)
{
    (void)n;
    return x[0] >= x[1] ? 1.0 : 0.0;
}

double scalar_at_most(int n, const double *x)
{
    (void)n;
    return x[0] <= x[1] ? 1.0 : 0.0;
}

double scalar_where(int n, const double *x)
{
    (void)n;
    return x[0] > 0.0 ? x[1] : x[2];
}

/* NaN stays NaN. */
static double greater(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

static double lesser(double a, double b)
{
    return a < b || isnan(a) ? a : b;
}

double scalar_max(int n, const double *x)
{
    double most = x[0];
    for (int i = 1; i < n; i++)
        most = greater(most, x[i]);
    return most;
}

double scalar_min(int n, const double *x)
{
    double least = x[0];
    for (int i = 1; i < n; i++)
        least = lesser(least, x[i]);
    return least;
}

/* The bounds may be left out. */
double scalar_clip(int n, const double *x)
{
    const double above = n > 1 ? greater(x[0], x[1]) : x[0];
    return n > 2 ? lesser(above, x[2]) : above;
}
