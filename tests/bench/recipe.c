/* SPDX-License-Identifier: Apache-2.0
 * Rate of streaming constants: GB of the larger of input and output per second of processor time.
 * usage: recipe FOLDER [GIB]   makes a sparse input and one output there, page cache permitting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/digest.h"
#include "ir/recipe.h"

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static Recipe *packed(Store *s, Recipe *r, int axis)
{
    int64_t dims[MAX_RANK];
    int perm[MAX_RANK], rank = recipe_rank(r), m = 0;
    for (int a = 0; a <= rank; a++)
        dims[a] = a < axis       ? recipe_dims(r)[a]
                  : a > axis + 1 ? recipe_dims(r)[a - 1]
                                 : 16;
    dims[axis] = recipe_dims(r)[axis] / 16;
    perm[m++] = axis;
    for (int a = 0; a <= rank; a++)
        if (a != axis && a != axis + 1)
            perm[m++] = a;
    perm[m] = axis + 1;
    return recipe_transpose(s, recipe_reshape(s, r, rank + 1, dims), perm);
}

static void rate(Store *s, const char *what, Recipe *r, File *out, double bytes)
{
    const double before = cpu_seconds();
    recipe_write(s, r, out, 0);
    const double t = cpu_seconds() - before;
    printf("%-34s %6.2f GB/s  %6.3f s\n", what, bytes / 1e9 / t, t);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 64;
    setenv("TMPDIR", argv[1], 1);
    Arena arena = { 0 };
    Store s = { .arena = &arena };
    File *in = file_temporary(&arena), *out = file_temporary(&arena);
    const int64_t side = argc > 2 ? 16384 : 8192, n = side * side;
    const double bytes = 4.0 * (double)n;
    uint8_t chunk[65536];
    for (size_t i = 0; i < sizeof chunk; i++)
        chunk[i] = (uint8_t)(i * 7 & 0x3f);
    for (int64_t i = 0; i < 4 * n; i += (int64_t)sizeof chunk) {
        file_write(in, (uint64_t)i, chunk, sizeof chunk);
        file_write(out, (uint64_t)i, chunk, sizeof chunk);
    }
    const Span span = { 0, (uint64_t)n * 4 };
    const Source f32 = {
        .dtype = DT_F32, .count = n, .file = in, .span = &span, .spans = 1
    };
    const Source f16 = {
        .dtype = DT_F16, .count = n, .file = in, .span = &span, .spans = 1
    };
    const int64_t square[] = { side, side },
                  oihw[] = { side * side / (512 * 8), 512, 4, 2 };
    float *scale = NEW_ARRAY(&arena, float, side);
    Recipe *m = recipe_source(&s, &f32, 2, square),
           *c = recipe_source(&s, &f32, 4, oihw);
    for (int i = 0; i < 2; i++) {
        rate(&s, "copy", m, out, bytes);
        rate(&s, "OIHW pack", packed(&s, c, 0), out, bytes);
        rate(&s, "MatMul pack", packed(&s, m, 1), out, bytes);
        rate(&s, "Gemm transB pack",
             packed(&s, recipe_transpose(&s, m, (const int[]){ 1, 0 }), 1), out,
             bytes);
        rate(&s, "scale per N + MatMul pack",
             packed(&s, recipe_mul(&s, m, recipe_along(&s, 2, 1, side, scale)),
                    1),
             out, bytes);
        rate(&s, "float16 to float32",
             recipe_cast(&s, recipe_source(&s, &f16, 2, square), DT_F32), out,
             bytes);
        rate(&s, "transpose", recipe_transpose(&s, m, (const int[]){ 1, 0 }),
             out, bytes);
        Sha256 h;
        char hex[65];
        const double before = cpu_seconds();
        sha256_begin(&h);
        sha256_add_file(&h, out, 0, (uint64_t)n * 4);
        sha256_end(&h, hex);
        printf("%-34s %6.2f GB/s\n", "SHA-256 of the result",
               bytes / 1e9 / (cpu_seconds() - before));
    }
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("peak RSS %ld KiB, arena %llu KiB\n", u.ru_maxrss,
           (unsigned long long)arena.peak / 1024);
    file_close_all(&arena);
    arena_free(&arena);
    return 0;
}
