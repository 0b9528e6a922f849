/* SPDX-License-Identifier: Apache-2.0
 * GridSample between the elements of an image, and RoiAlign: of many channels and places against
 * each place by itself. */
#include "steps.h"

#include "kernels/sample.h"

/* The element at (v, u) of a plane; outside of it 0, or the nearest one. */
static double element(const float *x, int h, int w, double v, double u,
                      bool border)
{
    if (border) {
        v = fmin(fmax(v, 0), h - 1);
        u = fmin(fmax(u, 0), w - 1);
    }
    if (v < 0 || v >= h || u < 0 || u >= w)
        return 0;
    return (double)x[(int)v * w + (int)u];
}

/* Between four of them. */
static double between(const float *x, int h, int w, double v, double u,
                      bool border)
{
    const double top = floor(v), left = floor(u);
    const double down = v - top, right = u - left;
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        const double of_row = i / 2 ? down : 1 - down;
        const double of_column = i % 2 ? right : 1 - right;
        const double pixel =
            element(x, h, w, top + i / 2, left + i % 2, border);
        sum += of_row * of_column * pixel;
    }
    return sum;
}

static double place_of(float g, int size, bool align)
{
    return align ? ((double)g + 1) / 2 * (size - 1)
                 : (((double)g + 1) * size - 1) / 2;
}

static void grids(void **state)
{
    (void)state;
    enum { N = 2, C = 3, H = 7, W = 9, MOST = 90 };
    for (int round = 0; round < 60; round++) {
        const bool align = round % 2, border = round / 2 % 2;
        const int out = 1 + (int)rnd(MOST);
        const inlay_grid_sample_params p = {
            .axes = 2,
            .edge = border ? INLAY_EDGE_BORDER : INLAY_EDGE_ZEROS,
            .align = align,
            .n = N,
            .c = C,
            .out = out,
            .size = { 1, H, W },
        };
        float *x = rnd_floats(N * C * H * W);
        float *grid = rnd_floats((size_t)(N * out * 2));
        float *y = rnd_floats((size_t)(N * C * out));
        /* some rounds stay inside */
        for (int i = 0; i < N * out * 2; i++)
            grid[i] *= round % 3 ? 0.7f : 1.3f;
        assert_int_equal(RUN(inlay_grid_sample_f32, &p, y, x, grid), 0);
        for (int i = 0; i < N * C * out; i++) {
            const float *at = grid + (i / (C * out) * out + i % out) * 2;
            const double want =
                between(x + i / out * H * W, H, W, place_of(at[1], H, align),
                        place_of(at[0], W, align), border);
            assert_float_equal(y[i], (float)want, 1e-4f);
        }
        free(x);
        free(grid);
        free(y);
    }
}

enum { REGIONS = 5, IMAGES = 2, CHANNELS = 3, HIGH = 11, WIDE = 13 };

/* The average of all samples of a cell that begins at (top, left), or the greatest of their parts.
 */
static double cell(const inlay_roi_align_params *p, const float *x, double top,
                   double left, double height, double width)
{
    const int rows = p->ratio ? p->ratio : (int)ceil(height);
    const int columns = p->ratio ? p->ratio : (int)ceil(width);
    double sum = 0;
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < columns; k++) {
            const double v = top + (i + 0.5) * height / rows;
            const double u = left + (k + 0.5) * width / columns;
            const bool outside = v < -1 || v > HIGH || u < -1 || u > WIDE;
            if (!outside)
                sum += between(x, HIGH, WIDE, fmax(v, 0), fmax(u, 0), true);
        }
    return sum / (rows * columns);
}

static void check_region(const inlay_roi_align_params *p, const float *y,
                         const float *x, const float *corner)
{
    const double move = p->half_pixel ? 0.5 : 0, scale = (double)p->scale;
    const double left = (double)corner[0] * scale - move;
    const double top = (double)corner[1] * scale - move;
    double width = (double)corner[2] * scale - move - left;
    double height = (double)corner[3] * scale - move - top;
    if (!p->half_pixel) {
        width = fmax(width, 1);
        height = fmax(height, 1);
    }
    width /= p->pw;
    height /= p->ph;
    for (int i = 0; i < CHANNELS * p->ph * p->pw; i++) {
        const int row = i / p->pw % p->ph, column = i % p->pw;
        const double want =
            cell(p, x + i / (p->ph * p->pw) * HIGH * WIDE, top + row * height,
                 left + column * width, height, width);
        assert_float_equal(y[i], (float)want, 1e-4f);
    }
}

static void regions(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        const inlay_roi_align_params p = {
            .n = IMAGES,
            .c = CHANNELS,
            .h = HIGH,
            .w = WIDE,
            .regions = REGIONS,
            .ph = 1 + (int32_t)rnd(8),
            .pw = 1 + (int32_t)rnd(8),
            .ratio = (int32_t)rnd(8), /* of 6 and more a cell is too large */
            .half_pixel = round % 2,
            .scale = 0.5f,
        };
        const size_t area = (size_t)(p.ph * p.pw);
        float *x = rnd_floats(IMAGES * CHANNELS * HIGH * WIDE);
        float *y = rnd_floats(REGIONS * CHANNELS * area);
        float corner[REGIONS * 4];
        int64_t image[REGIONS];
        for (int i = 0; i < REGIONS; i++) {
            image[i] = rnd(IMAGES);
            for (int k = 0; k < 2; k++) {
                const uint32_t start = rnd(30);
                corner[4 * i + k] = (float)start - 3.3f;
                corner[4 * i + 2 + k] = (float)(start + rnd(20)) + 0.4f;
            }
        }
        assert_int_equal(RUN(inlay_roi_align_f32, &p, y, x, corner, image), 0);
        for (int i = 0; i < REGIONS; i++)
            check_region(&p, y + (size_t)i * CHANNELS * area,
                         x + image[i] * CHANNELS * HIGH * WIDE, corner + 4 * i);
        free(x);
        free(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids),
        cmocka_unit_test(regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
