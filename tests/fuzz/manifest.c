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
#include "pipeline/write.h"

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
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
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
    compile_to(&t->compile, STAGE_LAYOUT);
    const ManifestFacts facts = manifest_facts(&t->compile);
    size_t n;
    FILE *f = open_memstream(&t->json, &n);
    manifest_write(t->compile.program, &facts, NULL, (Sink){ put_text, f });
    fclose(f);
    const CurvePoints *curve = &t->compile.program->plan.curve;
    if (curve->n)
        t->smallest = curve->at[curve->n - 1].arena;
}

/* Manifests of the plain plan, of the smallest (strips), of an input by rows, of two memories with
 * values in the arena; those that the model can have. Returns how many. */
static int describe_all(Trial *t, const char *model, char **json)
{
    static const char *rows[] = { "in0=rows", NULL },
                      *arena[] = { "arena", NULL },
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
        if (is_digit(s[at]) &&
            (at == 0 || (!is_digit(s[at - 1]) && s[at - 1] != '-')))
            break;
    for (*length = 0; at + *length < n && is_digit(s[at + *length]);)
        ++*length;
    return at;
}

static char *replace(const char *s, size_t n, size_t at, size_t length,
                     const char *with)
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
        return replace(s, n, at, length,
                       values[rnd(sizeof values / sizeof *values)]);
    case 1:
    case 2:
        at = find_number(s, n, &length);
        snprintf(number, sizeof number, "%lld",
                 (long long)(strtoull(s + at, NULL, 10) + rnd(33) - 16));
        return replace(s, n, at, length, number);
    case 3: /* a line twice, or not at all */
        for (at = rnd((uint32_t)n); at && s[at - 1] != '\n'; at--)
            ;
        length =
            strcspn(s + at, "\n") + (s[at + strcspn(s + at, "\n")] == '\n');
        if (rnd(2))
            return replace(s, n, at, length, "");
        {
            char *line = strndup(s + at, length),
                 *out = replace(s, n, at, 0, line);
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

typedef struct Tally {
    int trials, bad;
    int count[128]; /* by status */
} Tally;

static void judge(Trial *t, const char *json, Tally *tally, const char *what)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = fopen(t->options.manifest, "wb");
    if (!f || fwrite(json, 1, strlen(json), f) != strlen(json) || fclose(f))
        abort();
    Diag trial = { .out = open_memstream(&text, &length) };
    protect(&trial, prove, t);
    protect(&trial, clean, &t->compile);
    fclose(trial.out);
    tally->trials++;
    tally->count[trial.status & 127]++;
    if (!documented(trial.status) || (trial.status && !length)) {
        tally->bad++;
        fprintf(stderr, "# trial %d: %s: status %d: %s", tally->trials, what,
                (int)trial.status, text);
    }
    free(text);
}

static void random_trials(Trial *t, char *const *plan, int plans, int trials,
                          Tally *tally)
{
    for (int i = 0; i < trials; i++) {
        char *json = strdup(plan[i % plans]);
        for (uint32_t k = 1 + rnd(3); k--;) {
            char *next = change(json);
            free(json);
            json = next;
        }
        judge(t, json, tally, "random changes");
        free(json);
    }
}

/* ---- each field in turn ---- */

/* A text, number or word of JSON from s on. */
static size_t token_length(const char *s)
{
    if (*s != '"')
        return strspn(s, "-+.0123456789abcdefghijklmnopqrstuvwxyzE");
    size_t n = 1;
    while (s[n] && s[n] != '"')
        n += s[n] == '\\' ? 2 : 1;
    return n + 1;
}

static bool is_key(const char *s, size_t length)
{
    return *s == '"' && s[length + strspn(s + length, " \n")] == ':';
}

/* What a value is replaced by, one after the other; false: there are no more. */
static bool replacement(const char *s, size_t length, int i, char *to,
                        size_t room)
{
    static const char *const fixed[] = { "0",
                                         "1",
                                         "-1",
                                         "16",
                                         "255",
                                         "65536",
                                         "2147483647",
                                         "2147483648",
                                         "-2147483648",
                                         "1099511627776",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "1e3",
                                         "0.5",
                                         "true",
                                         "false",
                                         "null",
                                         "\"\"",
                                         "\"x\"",
                                         "\"\\u0000\"",
                                         "\"arena\"",
                                         "\"weights\"",
                                         "[]",
                                         "[1]",
                                         "{}" };
    static const long long more[] = { -16, -1, 1, 2, 8, 16, 32, 4096 };
    enum {
        FIXED = sizeof fixed / sizeof *fixed,
        MORE = sizeof more / sizeof *more
    };
    const long long value = strtoll(s, NULL, 10);
    if (i < FIXED)
        snprintf(to, room, "%s", fixed[i]);
    else if (i < FIXED + MORE && *s != '"')
        snprintf(to, room, "%lld", value + more[i - FIXED]);
    else if (i < FIXED + 2 * MORE && *s != '"')
        snprintf(to, room, "%lld", value * (2 + i - FIXED - MORE));
    else if (i == FIXED && *s == '"' && length < room / 2)
        snprintf(to, room, "%.*sx\"", (int)length - 1, s);
    else
        return false;
    return true;
}

static void field_trials(Trial *t, const char *plan, int every, Tally *tally)
{
    char to[256], what[400];
    int number = (int)rnd((uint32_t)every);
    const size_t n = strlen(plan);
    for (size_t at = 0; at < n;) {
        const size_t length = token_length(plan + at);
        if (!length || is_key(plan + at, length)) {
            at += length ? length : 1;
            continue;
        }
        for (int i = 0; replacement(plan + at, length, i, to, sizeof to); i++) {
            if (number++ % every)
                continue;
            char *json = replace(plan, n, at, length, to);
            snprintf(what, sizeof what, "byte %zu: %.*s is %s", at,
                     (int)(length < 99 ? length : 99), plan + at, to);
            judge(t, json, tally, what);
            free(json);
        }
        at += length;
    }
}

static void print_tally(const char *what, const Tally *tally, int number,
                        int plans)
{
    fprintf(stderr,
            "# proved %d, refused %d, malformed %d, of another model %d\n",
            tally->count[0], tally->count[STATUS_LIMIT],
            tally->count[STATUS_MALFORMED], tally->count[STATUS_CONFIG]);
    fprintf(stderr, "%sok %d - %d %s of %d plans\n",
            tally->bad || !tally->count[STATUS_MALFORMED] ? "not " : "", number,
            tally->trials, what, plans);
}

static int number_of(int argc, char **argv, int i, int otherwise)
{
    return argc > i ? atoi(argv[i]) : otherwise;
}

int main(int argc, char **argv)
{
    static Trial t;
    static Tally random, fields;
    char path[] = "inlay-manifest-XXXXXX";
    const int file = mkstemp(path);
    if (argc < 2 || file < 0)
        return 64;
    state += (uint64_t)number_of(argc, argv, 3, 0) * 2654435761u;
    char *plan[PLANS];
    const int plans = describe_all(&t, argv[1], plan);
    if (!plans)
        return 70;
    t.options = (Options){
        .model = argv[1], .no_hash = 1, .json = 1, .manifest = path
    };
    fprintf(stderr, "1..2\n");
    random_trials(&t, plan, plans, number_of(argc, argv, 2, 2000), &random);
    print_tally("damaged manifests", &random, 1, plans);
    for (int i = 0; i < plans; i++) {
        field_trials(&t, plan[i], number_of(argc, argv, 4, 41), &fields);
        free(plan[i]);
    }
    print_tally("replaced values", &fields, 2, plans);
    close(file);
    remove(path);
    return random.bad || fields.bad;
}
