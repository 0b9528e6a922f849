/* SPDX-License-Identifier: Apache-2.0
 * A manifest with one number, word or character changed, taken out or doubled, given to `prove` in
 * this process: each ends with a documented status and, where it is refused, with a message.
 * Memory errors and leaks are the sanitizers' to find.
 *
 *   manifest MODEL.onnx [TRIALS [SEED]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"

enum { PLANS = 4 };

typedef struct Trial {
    Options options;
    Compile compile;
    char *json;
    long long smallest; /* arena of the curve */
} Trial;

static uint64_t state = 88172645463325252u;

static uint32_t rnd(uint32_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state * UINT64_C(0x2545F4914F6CDD1D) >> 33) % n;
}

static void clean(void *context)
{
    compile_close(context);
}

static void put_text(void *to, const char *text, size_t n)
{
    fwrite(text, 1, n, to);
}

static void describe(void *context)
{
    Trial *t = context;
    compile_open(&t->compile, &t->options);
    compile_read(&t->compile);
    compile_passes(&t->compile);
    compile_program(&t->compile);
    const ManifestFacts facts = compile_facts(&t->compile);
    size_t n;
    FILE *f = open_memstream(&t->json, &n);
    manifest_write(t->compile.program, &facts, NULL, (ManifestSink){ put_text, f });
    fclose(f);
    const CurvePoints *curve = &t->compile.program->plan.curve;
    if (curve->n)
        t->smallest = curve->at[curve->n - 1].arena;
}

/* Manifests of the plain plan, of the smallest (strips), of an input by rows, of two memories with
 * values in the arena; those that the model can have. Returns how many. */
static int describe_all(Trial *t, const char *model, char **json)
{
    static const char *rows[] = { "in0=rows", NULL }, *arena[] = { "arena", NULL },
                      *region[] = { "a:4K", "b:1M", NULL };
    int n = 0;
    for (int i = 0; i < PLANS; i++) {
        t->options = (Options){ .model = model,
                                .no_hash = 1,
                                .json = 1,
                                .curve = i == 0,
                                .arena_limit = i == 1 ? &t->smallest : NULL,
                                .io = i == 2   ? rows
                                      : i == 3 ? arena
                                               : NULL,
                                .region = i == 3 ? region : NULL };
        Diag d = { .out = stderr, .quiet = true };
        if (!protect(&d, describe, t))
            json[n++] = t->json;
        protect(&d, clean, &t->compile);
    }
    return n;
}

static void prove(void *context)
{
    Trial *t = context;
    compile_open(&t->compile, &t->options);
    cmd_prove(&t->compile);
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number of the text: where it begins and how long it is. */
static size_t find_number(const char *s, size_t n, size_t *length)
{
    size_t at = rnd((uint32_t)n);
    for (size_t i = 0; i < n; i++, at = (at + 1) % n)
        if (is_digit(s[at]) && (at == 0 || (!is_digit(s[at - 1]) && s[at - 1] != '-')))
            break;
    for (*length = 0; at + *length < n && is_digit(s[at + *length]);)
        ++*length;
    return at;
}

static char *replace(const char *s, size_t n, size_t at, size_t length, const char *with)
{
    const size_t k = strlen(with);
    char *out = malloc(n - length + k + 1);
    memcpy(out, s, at);
    memcpy(out + at, with, k);
    memcpy(out + at + k, s + at + length, n - at - length + 1);
    return out;
}

static char *change(const char *s)
{
    static const char *const values[] = { "0",
                                          "1",
                                          "-1",
                                          "2",
                                          "255",
                                          "256",
                                          "65535",
                                          "65536",
                                          "2147483647",
                                          "2147483648",
                                          "-2147483648",
                                          "1099511627776",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "1e3",
                                          "true",
                                          "null",
                                          "\"x\"",
                                          "[]",
                                          "{}" };
    const size_t n = strlen(s);
    size_t length, at;
    char number[32];
    switch (rnd(6)) {
    case 0:
        at = find_number(s, n, &length);
        return replace(s, n, at, length, values[rnd(sizeof values / sizeof *values)]);
    case 1:
    case 2:
        at = find_number(s, n, &length);
        snprintf(number, sizeof number, "%lld",
                 (long long)strtoull(s + at, NULL, 10) + (long long)rnd(33) - 16);
        return replace(s, n, at, length, number);
    case 3: /* a line twice, or not at all */
        for (at = rnd((uint32_t)n); at && s[at - 1] != '\n'; at--)
            ;
        length = strcspn(s + at, "\n") + (s[at + strcspn(s + at, "\n")] == '\n');
        if (rnd(2))
            return replace(s, n, at, length, "");
        {
            char *line = strndup(s + at, length), *out = replace(s, n, at, 0, line);
            free(line);
            return out;
        }
    case 4: {
        char *out = strdup(s);
        out[rnd((uint32_t)n)] = (char)(1 + rnd(255));
        return out;
    }
    default:
        return replace(s, n, rnd((uint32_t)n), 0, rnd(2) ? "{" : "[");
    }
}

static int documented(Status s)
{
    return s == STATUS_OK || s == STATUS_LIMIT || s == STATUS_MALFORMED ||
           s == STATUS_UNSUPPORTED || s == STATUS_CONFIG;
}

int main(int argc, char **argv)
{
    static Trial t;
    char path[] = "inlay-manifest-XXXXXX";
    const int file = mkstemp(path), trials = argc > 2 ? atoi(argv[2]) : 2000;
    if (argc < 2 || file < 0)
        return 64;
    if (argc > 3)
        state += strtoull(argv[3], NULL, 10) * 2654435761u;
    char *plan[PLANS];
    const int plans = describe_all(&t, argv[1], plan);
    if (!plans)
        return 70;
    t.options = (Options){ .model = argv[1], .no_hash = 1, .json = 1, .manifest = path };
    int bad = 0, count[128] = { 0 };
    if (!freopen("/dev/null", "w", stdout))
        return 74; /* the verdicts */
    for (int i = 0; i < trials; i++) {
        char *text = NULL, *json = strdup(plan[i % plans]);
        size_t length = 0;
        for (uint32_t k = 1 + rnd(3); k--;) {
            char *next = change(json);
            free(json);
            json = next;
        }
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(json, 1, strlen(json), f) != strlen(json) || fclose(f))
            abort();
        Diag trial = { .out = open_memstream(&text, &length) };
        protect(&trial, prove, &t);
        protect(&trial, clean, &t.compile);
        fclose(trial.out);
        count[trial.status & 127]++;
        if (!documented(trial.status) || (trial.status && !length)) {
            bad++;
            fprintf(stderr, "# trial %d: status %d: %s", i, (int)trial.status, text);
        }
        free(text);
        free(json);
    }
    fprintf(stderr, "# proved %d, refused %d, malformed %d, of another model %d\n", count[0],
            count[STATUS_LIMIT], count[STATUS_MALFORMED], count[STATUS_CONFIG]);
    fprintf(stderr, "1..1\n%sok 1 - %d damaged manifests of %d plans\n", bad ? "not " : "", trials,
            plans);
    for (int i = 0; i < plans; i++)
        free(plan[i]);
    close(file);
    remove(path);
    return bad != 0;
}
