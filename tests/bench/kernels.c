/* SPDX-License-Identifier: Apache-2.0
 * GFLOP/s of the convolution and product kernels, layer by layer, one thread: the best of many
 * runs. Weights are random in packed form: their order does not matter here. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/conv_f32.h"
#include "kernels/dwconv_f32.h"
#include "kernels/matmul.h"

#include "../unit/kernels/pointwise.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID,
                  &t); /* not the wall clock: other programs run too */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float *numbers(size_t n)
{
    float *f = aligned_alloc(64, (n * sizeof *f + 127) / 64 * 64);
    for (size_t i = 0; i < n; i++)
        f[i] = (float)((i * 2654435761u >> 8) % 1000) * 1e-3f - 0.5f;
    return f;
}

/* Best time of one call, over about half a second. */
static double best_time(void *const *base, const inlay_step *s)
{
    double best = 1e9, begin = now();
    int calls = 1;
    while (now() - begin < 0.5) {
        const double t = now();
        for (int i = 0; i < calls; i++)
            s->run(base, s, 0, s->units);
        const double each = (now() - t) / calls;
        if (each < best)
            best = each;
        if (each * calls < 20e-6)
            calls *= 2;
    }
    return best;
}

static void report(const char *name, double macs, double seconds, double bytes)
{
    printf("%-28s %9.1f us %7.1f GFLOP/s %7.1f GB/s of weights\n", name,
           seconds * 1e6, 2e-9 * macs / seconds, bytes * 1e-9 / seconds);
}

typedef struct Layer {
    const char *name;
    int ic, oc, k, stride, size; /* size: of x; depthwise where oc is 0 */
} Layer;

static const Layer layers[] = {
    { "1x1 96->576 14x14", 96, 576, 1, 1, 14 },
    { "1x1 576->96 14x14", 576, 96, 1, 1, 14 },
    { "1x1 256->64 56x56", 256, 64, 1, 1, 56 },
    { "1x1 512->2048 7x7", 512, 2048, 1, 1, 7 },
    { "1x1 24->144 56x56", 24, 144, 1, 1, 56 },
    { "3x3 64 56x56", 64, 64, 3, 1, 56 },
    { "3x3 128 28x28", 128, 128, 3, 1, 28 },
    { "3x3 256 14x14", 256, 256, 3, 1, 14 },
    { "3x3 512 7x7", 512, 512, 3, 1, 7 },
    { "3x3 16 32x32", 16, 16, 3, 1, 32 },
    { "stem 7x7 s2 3->64 224", 3, 64, 7, 2, 224 },
    { "stem 3x3 s2 3->32 224", 3, 32, 3, 2, 224 },
    { "depthwise 3x3 144 56x56", 144, 0, 3, 1, 56 },
    { "depthwise 3x3 s2 144 56x56", 144, 0, 3, 2, 56 },
    { "depthwise 3x3 384 14x14", 384, 0, 3, 1, 14 },
    { "depthwise 3x3 960 7x7", 960, 0, 3, 1, 7 },
    { "depthwise 3x3 8 48x48", 8, 0, 3, 1, 48 },
    { "depthwise 5x5 120 28x28", 120, 0, 5, 1, 28 },
};

static void bench_layer(const Layer *l)
{
    const int pad = l->k / 2, out = (l->size + 2 * pad - l->k) / l->stride + 1,
              depthwise = l->oc == 0;
    const int oc = depthwise ? l->ic : l->oc,
              taps = l->k * l->k * (depthwise ? 1 : l->ic);
    const inlay_conv_params p = { .id = 1,
                                  .ih = l->size,
                                  .iw = l->size,
                                  .od = 1,
                                  .oh = out,
                                  .ow = out,
                                  .kd = 1,
                                  .kh = l->k,
                                  .kw = l->k,
                                  .sd = 1,
                                  .sh = l->stride,
                                  .sw = l->stride,
                                  .dd = 1,
                                  .dh = 1,
                                  .dw = 1,
                                  .ph = pad,
                                  .pw = pad,
                                  .groups = depthwise ? l->ic : 1,
                                  .ic = depthwise ? 1 : l->ic,
                                  .oc = depthwise ? 1 : l->oc,
                                  .width = 16,
                                  .clamp = 3,
                                  .a = 0.0f,
                                  .b = 6.0f };
    const size_t weights = (size_t)(oc + 3) / 4 * 4 * (size_t)taps;
    void *base[4] = { numbers((size_t)(l->size * l->size * l->ic)),
                      numbers((size_t)(out * out * oc)), numbers(weights),
                      numbers((size_t)oc + 4) };
    const inlay_ref ref[5] = {
        { .row = (size_t)(out * oc) * 4, .cap = out, .pix = oc, .base = 1 },
        { .row = (size_t)(l->size * l->ic) * 4,
          .cap = l->size,
          .pix = l->ic,
          .base = 0 },
        { .cap = 1, .base = 2 },
        { .cap = 1, .base = 3 },
        { .cap = 1, .base = INLAY_NONE }
    };
    const inlay_step s = { depthwise ? inlay_dwconv_f32 : inlay_conv_f32, &p,
                           ref, out, 0 };
    report(l->name, (double)out * out * oc * taps, best_time(base, &s),
           (double)weights * 4.0);
    for (int i = 0; i < 4; i++)
        free(base[i]);
}

static void bench_gemm(int m, int k, int n)
{
    char name[64];
    const inlay_conv_params p = pointwise_params(1, m, 1, k, n);
    void *base[4] = { numbers((size_t)m * (size_t)k),
                      numbers((size_t)m * (size_t)n),
                      numbers((size_t)k * (size_t)(n + 4)),
                      numbers((size_t)n + 4) };
    const inlay_ref ref[5] = {
        { .row = (size_t)m * (size_t)n * 4, .cap = 1, .pix = n, .base = 1 },
        { .row = (size_t)m * (size_t)k * 4, .cap = 1, .pix = k, .base = 0 },
        { .cap = 1, .base = 2 },
        { .cap = 1, .base = 3 },
        { .cap = 1, .base = INLAY_NONE }
    };
    const inlay_step s = { inlay_conv_f32, &p, ref, 1, 0 };
    snprintf(name, sizeof name, "gemm %dx%dx%d", m, k, n);
    report(name, (double)m * k * n, best_time(base, &s), 4.0 * k * n);
    for (int i = 0; i < 4; i++)
        free(base[i]);
}

/* Right operand not constant; transposed: [n][k]. */
static void bench_matmul(int m, int k, int n, int transposed)
{
    char name[64];
    const inlay_matmul_params p = { .m = m,
                                    .n = n,
                                    .k = k,
                                    .batch = { 1, 1, 1, 1, 1, 1 },
                                    .am = k,
                                    .ak = 1,
                                    .bk = transposed ? 1 : n,
                                    .bn = transposed ? k : 1,
                                    .alpha = 1.0f };
    void *base[3] = { numbers((size_t)m * (size_t)k),
                      numbers((size_t)m * (size_t)n),
                      numbers((size_t)k * (size_t)n) };
    const inlay_ref ref[4] = { { .cap = 1, .base = 1 },
                               { .cap = 1, .base = 0 },
                               { .cap = 1, .base = 2 },
                               { .cap = 1, .base = INLAY_NONE } };
    const inlay_step s = { inlay_matmul_f32, &p, ref, 1, 0 };
    snprintf(name, sizeof name, "matmul %dx%dx%d%s", m, k, n,
             transposed ? " b'" : "");
    report(name, (double)m * k * n, best_time(base, &s), 4.0 * k * n);
    for (int i = 0; i < 3; i++)
        free(base[i]);
}

int main(void)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        bench_layer(layers + i);
    bench_gemm(1, 640, 128);
    bench_gemm(1, 2048, 1000);
    bench_gemm(64, 256, 1024);
    bench_gemm(64, 2048, 2048);
    bench_matmul(128, 64, 128, 0);
    bench_matmul(128, 64, 128, 1);
    bench_matmul(256, 256, 1024, 0);
    return 0;
}
