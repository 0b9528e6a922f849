/* SPDX-License-Identifier: Apache-2.0
 * steps: the words that a self-test gave on a device, a line each as it printed them or as bytes of
 * its memory, against those of the manifest: which step is the first that differs. */
#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/io.h"
#include "cli/json_print.h"
#include "cli/manifest_file.h"
#include "cli/options.h"
#include "emit/manifest.h"

typedef VEC(uint32_t) StepWords;

typedef struct Comparison {
    const json_t *steps; /* of the manifest */
    const char *file;    /* of the words */
    StepWords words;
    size_t compared;
    size_t differing;
    size_t first; /* that differs */
} Comparison;

/* ---- the words ---- */

enum { DIGITS = 8, WORD = 4 };

/* A line is a word where it has eight hexadecimal digits, 0x before them or not, and nothing else:
 * a log of the device may have other lines. */
static void take_line(Arena *arena, StepWords *words, const char *line,
                      size_t n)
{
    while (n && isspace((unsigned char)line[n - 1]))
        n--;
    while (n && isspace((unsigned char)*line)) {
        line++;
        n--;
    }
    if (n == DIGITS + 2 && line[0] == '0' && (line[1] | 0x20) == 'x') {
        line += 2;
        n -= 2;
    }
    for (size_t i = 0; i < n; i++)
        if (!isxdigit((unsigned char)line[i]))
            return;
    if (n == DIGITS)
        VEC_PUSH(arena, words, (uint32_t)strtoul(line, NULL, 16));
}

static StepWords words_of_text(Arena *arena, const char *text)
{
    StepWords words = { 0 };
    while (*text) {
        const size_t n = strcspn(text, "\n");
        take_line(arena, &words, text, n);
        text += n + (text[n] == '\n');
    }
    return words;
}

/* As a little-endian device has them in its memory. */
static StepWords words_of_memory(Arena *arena, const char *bytes, size_t count)
{
    StepWords words = { 0 };
    for (size_t i = 0; i < count; i++) {
        uint32_t word = 0;
        for (size_t k = WORD; k-- > 0;)
            word = word << 8 | (unsigned char)bytes[i * WORD + k];
        VEC_PUSH(arena, &words, word);
    }
    return words;
}

static StepWords read_words(Arena *arena, const char *path, size_t steps)
{
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    File *file = file_open(arena, path, LOAD_STREAM);
    const size_t size = (size_t)file->size;
    char *text = arena_alloc(arena, size + 1);
    file_read(file, 0, text, size);
    text[size] = '\0';
    file_close(file);
    const StepWords words = words_of_text(arena, text);
    if (words.n == steps)
        return words;
    if (!words.n && size == steps * WORD)
        return words_of_memory(arena, text, steps);
    fail_at(STATUS_MALFORMED, loc,
            "a line of eight hexadecimal digits for each step, in their order; "
            "or the bytes of the array as the device has them",
            "has %zu words, the model has %zu steps", words.n, steps);
}

/* ---- comparing them ---- */

static double number_of(uint32_t word)
{
    float number;
    memcpy(&number, &word, sizeof number);
    return (double)number;
}

/* Of a word that is a float: is it near the other, or as far out of range? */
static bool is_near(uint32_t got, uint32_t want, const json_t *allowed)
{
    const double a = number_of(got);
    const double b = number_of(want);
    if (!isfinite(b))
        return !isfinite(a);
    return fabs(a - b) <= json_number_value(allowed);
}

static const json_t *sum_of(const Comparison *comparison, size_t i)
{
    return json_object_get(json_array_get(comparison->steps, i), "sum");
}

static bool is_right(const Comparison *comparison, size_t i)
{
    const json_t *sum = sum_of(comparison, i);
    const json_t *allowed = json_object_get(sum, "allowed");
    const uint32_t want =
        (uint32_t)json_integer_value(json_object_get(sum, "word"));
    const uint32_t got = comparison->words.at[i];
    return allowed ? is_near(got, want, allowed) : got == want;
}

static void compare_all(Comparison *comparison)
{
    for (size_t i = 0; i < comparison->words.n; i++) {
        if (!json_is_object(sum_of(comparison, i)))
            continue;
        comparison->compared++;
        if (!is_right(comparison, i) && !comparison->differing++)
            comparison->first = i;
    }
}

/* ---- what is said ---- */

static const char *text_at(const Comparison *comparison, size_t i,
                           const char *key)
{
    const json_t *step = json_array_get(comparison->steps, i);
    const char *text = json_string_value(json_object_get(step, key));
    return text ? text : "";
}

static void print_word(Pieces *to, const Comparison *comparison, size_t i)
{
    const json_t *sum = sum_of(comparison, i);
    const json_t *allowed = json_object_get(sum, "allowed");
    const uint32_t want =
        (uint32_t)json_integer_value(json_object_get(sum, "word"));
    const uint32_t got = comparison->words.at[i];
    if (allowed)
        pieces_print(to,
                     "  its word is %08" PRIx32 ", as a float %.7g; %.7g +- "
                     "%.3g is right\n",
                     got, number_of(got), number_of(want),
                     json_number_value(allowed));
    else
        pieces_print(to,
                     "  its word is %08" PRIx32 ", %08" PRIx32 " is right\n",
                     got, want);
}

static void print_first(Pieces *to, const Comparison *comparison)
{
    const size_t i = comparison->first;
    const char *node = text_at(comparison, i, "node");
    pieces_print(to, "step %zu, %s", i, text_at(comparison, i, "op"));
    if (*node)
        pieces_print(to, " \"%s\"", node);
    pieces_print(to, " (kernel %s), is the first that differs\n",
                 text_at(comparison, i, "kernel"));
    print_word(to, comparison, i);
}

static void print_end(Pieces *to, const Comparison *comparison)
{
    const size_t left = comparison->words.n - comparison->compared;
    pieces_print(to, "%zu of %zu steps compared", comparison->compared,
                 comparison->words.n);
    if (comparison->differing)
        pieces_print(to, ", %zu differ", comparison->differing);
    else
        pieces_print(to, ", all right");
    if (left)
        pieces_print(to, "; %zu write what is not the same in every run", left);
    pieces_print(to, "\n");
}

static void print_json(Pieces *to, const Comparison *comparison)
{
    json_t *all = manifest_made(json_object());
    const json_int_t compared = (json_int_t)comparison->compared;
    const json_int_t differing = (json_int_t)comparison->differing;
    const json_int_t first = (json_int_t)comparison->first;
    manifest_set(all, "compared", json_integer(compared));
    manifest_set(all, "differing", json_integer(differing));
    manifest_set(all, "first", differing ? json_integer(first) : json_null());
    json_print(to, all);
}

static void refuse_unsummed(const json_t *steps, const char *manifest)
{
    const Loc loc = { .file = manifest, .byte = -1, .node = -1 };
    const json_t *first = json_array_get(steps, 0);
    if (!json_object_get(first, "sum"))
        fail_at(STATUS_CONFIG, loc,
                "compile the model with --emit=selftest, and build it with "
                "-DNAME_SELFTEST",
                "has no words of a self-test");
}

void cmd_steps(Compile *compile)
{
    Arena *arena = &compile->arena;
    const Options *options = compile->options;
    const json_t *manifest = manifest_load(arena, options->manifest);
    Comparison comparison = {
        .steps = json_object_get(manifest, "steps"),
        .file = options->model,
    };
    refuse_unsummed(comparison.steps, options->manifest);
    comparison.words =
        read_words(arena, options->model, json_array_size(comparison.steps));
    compare_all(&comparison);
    if (options->json) {
        print_json(&compile->results, &comparison);
    } else {
        if (comparison.differing)
            print_first(&compile->results, &comparison);
        print_end(&compile->results, &comparison);
    }
    if (comparison.differing)
        fail_at(STATUS_LIMIT, LOC_NONE,
                "look at that step first: those behind it may follow from it",
                "%zu steps differ", comparison.differing);
}
