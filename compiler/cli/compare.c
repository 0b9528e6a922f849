/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ir/convert.h"

/* ONNX's own tests take these. */
static const double RELATIVE = 1e-3, ABSOLUTE = 1e-5;
static const double OF_HALVES = 10;

Tolerance tolerance_of(const Options *options)
{
    return (Tolerance){
        .relative =
            options->rtol ? value_read_tolerance(options->rtol) : RELATIVE,
        .absolute =
            options->atol ? value_read_tolerance(options->atol) : ABSOLUTE,
        .has_relative = options->rtol != NULL,
        .has_absolute = options->atol != NULL,
    };
}

static Tolerance tolerance_for(Tolerance tolerance, DType dtype)
{
    if (dtype != DT_F16 && dtype != DT_BF16)
        return tolerance;
    if (!tolerance.has_relative)
        tolerance.relative *= OF_HALVES;
    if (!tolerance.has_absolute)
        tolerance.absolute *= OF_HALVES;
    return tolerance;
}

/* Not numbers are alike, and so are infinities of one sign. */
static double distance_of(double got, double want)
{
    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    const double distance = fabs(got - want);
    return isnan(distance) ? HUGE_VAL : distance;
}

static void compare_one(Difference *difference, int64_t at, double got,
                        double want, Tolerance tolerance)
{
    const double distance = distance_of(got, want);
    const double most = tolerance.absolute + tolerance.relative * fabs(want);
    difference->count += !(distance <= most) && distance > 0;
    if (distance <= difference->worst && at)
        return;
    difference->worst = distance;
    difference->at = at;
    difference->got = got;
    difference->want = want;
}

Difference compare_find(const Tensor *tensor, const char *got, const char *want,
                        Tolerance tolerance)
{
    Difference difference = { 0 };
    const bool is_complex = tensor->dtype == DT_C64 || tensor->dtype == DT_C128;
    const DType part = tensor->dtype == DT_C64 ? DT_F32 : DT_F64;
    const DType dtype = is_complex ? part : tensor->dtype;
    const size_t bytes = (size_t)dtype_bits(dtype) / 8;
    const int64_t count = tensor_count(tensor) * (is_complex ? 2 : 1);
    tolerance = tolerance_for(tolerance, dtype);
    for (int64_t i = 0; i < count; i++) {
        double pair[2];
        convert_run(dtype, got + (size_t)i * bytes, DT_F64, pair, 1);
        convert_run(dtype, want + (size_t)i * bytes, DT_F64, pair + 1, 1);
        compare_one(&difference, i, pair[0], pair[1], tolerance);
    }
    return difference;
}

/* Packed values are compared by their bytes. */
static bool same_bytes(Pieces *to, const Tensor *tensor, const void *got,
                       const void *want)
{
    const bool same = !memcmp(got, want, (size_t)tensor_bytes(tensor));
    pieces_print(to, "%s: %s\n", tensor->name, same ? "equal" : "DIFFERS");
    return same;
}

void compare_print(Pieces *to, const Tensor *tensor, const Difference *found)
{
    if (found->worst == 0.0)
        pieces_print(to, "%s: equal\n", tensor->name);
    else if (!found->count)
        pieces_print(to, "%s: right, at most %.3g off\n", tensor->name,
                     found->worst);
    else
        pieces_print(to,
                     "%s: DIFFERS in %" PRId64 " of %" PRId64
                     " values, most at %" PRId64 ": %.9g instead of %.9g\n",
                     tensor->name, found->count, tensor_count(tensor),
                     found->at, found->got, found->want);
}

bool compare_values(Pieces *to, const Tensor *tensor, const void *got,
                    const void *want, Tolerance tolerance)
{
    if (dtype_bits(tensor->dtype) < 8)
        return same_bytes(to, tensor, got, want);
    const Difference found = compare_find(tensor, got, want, tolerance);
    compare_print(to, tensor, &found);
    return !found.count;
}
