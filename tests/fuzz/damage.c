/* SPDX-License-Identifier: Apache-2.0
 * A model cut off at 1,000 places and with one bit turned at 1,000 places, compiled in this
 * process: each ends with a documented status and, where it fails, with a message; the output
 * folder then does not exist. Memory errors and leaks are the sanitizers' to find.
 *
 *   damage MODEL.onnx [PLACES [SEED]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/compile.h"

typedef struct Trial {
    unsigned char *bytes;
    size_t n;
    char model[256], out[256];
    Options options;
    Compile compile;
} Trial;

static void build(void *context)
{
    Trial *t = context;
    compile_open(&t->compile, &t->options);
    compile_to(&t->compile, STAGE_REPORT);
    output_commit(t->compile.out);
}

static void clean(void *context)
{
    compile_close(context);
}

static int documented(Status s)
{
    return s == STATUS_OK || s == STATUS_LIMIT || s == STATUS_MALFORMED ||
           s == STATUS_NO_INPUT || s == STATUS_UNSUPPORTED ||
           s == STATUS_MEMORY;
}

/* Writes the first n bytes, compiles, judges. 1: not as it must be. */
static int try_one(Trial *t, size_t n, const char *what, size_t place,
                   int *count)
{
    char *text = NULL;
    size_t length = 0;
    struct stat st;
    FILE *f = fopen(t->model, "wb");
    if (!f || fwrite(t->bytes, 1, n, f) != n || fclose(f))
        abort();
    Diag d = { .out = open_memstream(&text, &length) };
    protect(&d, build, t);
    protect(&d, clean, &t->compile);
    fclose(d.out);
    const int exists = !stat(t->out, &st);
    const int bad =
        !documented(d.status) || (d.status && !length) || (d.status && exists);
    if (bad)
        printf("#   %s at %zu: status %d, folder %s: %s\n", what, place,
               (int)d.status, exists ? "exists" : "does not exist", text);
    count[d.status == STATUS_OK]++;
    free(text);
    if (exists) {
        char command[600];
        snprintf(command, sizeof command, "rm -rf '%s'", t->out);
        if (system(command))
            abort();
    }
    return bad;
}

static int cuts(Trial *t, size_t places)
{
    int bad = 0, count[2] = { 0, 0 };
    for (size_t i = 0; i < places; i++)
        bad += try_one(t, i * t->n / places, "cut", i * t->n / places, count);
    printf("%sok 1 - %zu truncations: %d refused, %d compiled\n",
           bad ? "not " : "", places, count[0], count[1]);
    return bad;
}

static int flips(Trial *t, size_t places, unsigned seed)
{
    int bad = 0, count[2] = { 0, 0 };
    for (size_t i = 0; i < places; i++) {
        seed = seed * 1664525u + 1013904223u;
        const size_t bit =
            (size_t)(((unsigned long long)seed << 8 ^ seed >> 7) % (t->n * 8));
        t->bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        bad += try_one(t, t->n, "bit", bit, count);
        t->bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    printf("%sok 2 - %zu turned bits: %d refused, %d compiled\n",
           bad ? "not " : "", places, count[0], count[1]);
    return bad;
}

int main(int argc, char **argv)
{
    static Trial t;
    char folder[200];
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/inlay-damage-XXXXXX",
             place ? place : ".");
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    struct stat st;
    if (!f || fstat(fileno(f), &st) || !mkdtemp(folder))
        return 64;
    t.n = (size_t)st.st_size;
    t.bytes = malloc(t.n);
    if (!t.bytes || fread(t.bytes, 1, t.n, f) != t.n)
        return 74;
    fclose(f);
    snprintf(t.model, sizeof t.model, "%s/m.onnx", folder);
    snprintf(t.out, sizeof t.out, "%s/out", folder);
    t.options = (Options){ .model = t.model, .output = t.out, .no_hash = 1 };
    const size_t places = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    int bad = cuts(&t, places);
    bad +=
        flips(&t, places, argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1u);
    puts("1..2");
    remove(t.model);
    rmdir(folder);
    free(t.bytes);
    return bad ? 1 : 0;
}
