/* SPDX-License-Identifier: 0BSD
 * Reads a digit from a picture with the compiled network: draws it, prints the ten scores, and
 * what it took.
 *   read-digit PICTURE.pgm CODE     CODE: what to print about the size of the code */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "digits.h"

enum { SIDE = 28, PIXELS = SIDE * SIDE };

/* All the memory that changes while it runs; aligned by the union, as malloc would. */
static union {
    unsigned char bytes[DIGITS_ARENA_SIZE + DIGITS_ARENA_ALIGN];
    double align;
} memory;

static void *arena(void)
{
    const size_t over = (size_t)memory.bytes % DIGITS_ARENA_ALIGN;
    return memory.bytes + (over ? DIGITS_ARENA_ALIGN - over : 0);
}

static int read_picture(const char *path, unsigned char *grey)
{
    int width, height, most;
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    const int ok = fscanf(f, "P5 %d %d %d", &width, &height, &most) == 3 &&
                   width == SIDE && height == SIDE && most == 255 &&
                   fgetc(f) != EOF && fread(grey, 1, PIXELS, f) == PIXELS;
    fclose(f);
    return ok;
}

static void draw(const unsigned char *grey)
{
    static const char shade[] = " .:-=+*#%@";
    for (int y = 0; y < SIDE; y++) {
        fputs("    ", stdout);
        for (int x = 0; x < SIDE; x++) {
            const char c = shade[grey[y * SIDE + x] * 10 / 256];
            putchar(c);
            putchar(c);
        }
        putchar('\n');
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds for one run: the best of 20 rounds of 20. */
static double measure(const digits_inputs *in, const digits_outputs *out)
{
    double best = 1e9;
    for (int round = 0; round < 20; round++) {
        const double from = now();
        for (int i = 0; i < 20; i++)
            digits_run(arena(), in, out);
        const double took = (now() - from) / 20;
        if (took < best)
            best = took;
    }
    return best;
}

int main(int argc, char **argv)
{
    static unsigned char grey[PIXELS];
    static float image[PIXELS], scores[10];
    const digits_inputs in = { image };
    const digits_outputs out = { scores };
    int best = 0;
    if (argc < 3 || !read_picture(argv[1], grey)) {
        fprintf(stderr, "%s: needs a binary PGM (P5) of 28x28 grey pixels\n",
                argc > 1 ? argv[1] : "read-digit");
        return 66;
    }
    draw(grey);
    for (int i = 0; i < PIXELS; i++)
        image[i] = (float)grey[i] / 255.0f;
    const int code = digits_run(arena(), &in, &out);
    if (code) {
        fprintf(stderr, "digits_run returned %d\n", code);
        return 70;
    }
    puts("");
    for (int i = 0; i < 10; i++) {
        if (scores[i] > scores[best])
            best = i;
        printf("    %d  %6.2f %%  ", i, 100.0 * (double)scores[i]);
        for (int k = 0; k < (int)(scores[i] * 40.0f + 0.5f); k++)
            putchar('#');
        putchar('\n');
    }
    printf("\nIt is a %d.\n\n", best);
    printf("arena    %u bytes, all the memory that changes\n",
           DIGITS_ARENA_SIZE);
    printf("weights  %u bytes, constant\n", DIGITS_WEIGHTS_SIZE);
    printf("code     %s\n", argv[2]);
    printf("time     %.1f microseconds for one picture\n",
           1e6 * measure(&in, &out));
    return 0;
}
