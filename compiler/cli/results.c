/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/results.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/value_files.h"
#include "cli/values.h"
#include "ir/convert.h"
#include "ir/words.h"

/* Most values of a result, and most rows of --top, that are printed. */
enum { MOST_VALUES = 16, MOST_ROWS = 16, USUAL_TOP = 5 };

static bool is_readable(const Tensor *tensor)
{
    return dtype_bits(tensor->dtype) >= 8 &&
           convert_possible(tensor->dtype, DT_F64);
}

static double value_at(const Tensor *tensor, const void *values, int64_t i)
{
    const int64_t bytes = dtype_bits(tensor->dtype) / 8;
    double value;
    convert_run(tensor->dtype, (const char *)values + i * bytes, DT_F64, &value,
                1);
    return value;
}

static void print_word(Pieces *to, const Tensor *tensor, int64_t code)
{
    pieces_print(to, " \"%s\"",
                 words_text(to->arena, tensor->graph->store, code));
}

static void print_one(Pieces *to, const Tensor *tensor, const void *values,
                      int64_t i)
{
    const int64_t *whole = values;
    if (tensor->words)
        print_word(to, tensor, whole[i]);
    else if (tensor->dtype == DT_I64)
        pieces_print(to, " %" PRId64, whole[i]);
    else if (is_readable(tensor))
        pieces_print(to, " %g", value_at(tensor, values, i));
}

static void print_head(Pieces *to, const Tensor *tensor)
{
    const DType dtype = tensor->words ? DT_STRING : tensor->dtype;
    pieces_print(to, "%s: %s %s", tensor->name, dtype_name(dtype),
                 shape_text(to->arena, &tensor->shape));
}

void value_print(Pieces *to, const Tensor *tensor, const void *values)
{
    const int64_t count = tensor_count(tensor);
    print_head(to, tensor);
    for (int64_t i = 0; i < count && i < MOST_VALUES; i++)
        print_one(to, tensor, values, i);
    pieces_print(to, "%s\n", count > MOST_VALUES ? " ..." : "");
}

/* ---- the largest ---- */

typedef struct Labels {
    const char *path;
    VEC(const char *) line;
} Labels;

/* A line each; a last empty one is none. */
static Labels read_labels(Arena *arena, const char *path)
{
    Labels labels = { .path = path };
    File *file = file_open(arena, path, LOAD_STREAM);
    char *at = value_text(arena, file);
    file_close(file);
    while (*at) {
        char *end = at + strcspn(at, "\r\n");
        const char stop = *end;
        *end = 0;
        VEC_PUSH(arena, &labels.line, at);
        at = end + (stop != 0);
        at += stop == '\r' && *at == '\n';
    }
    return labels;
}

static int64_t row_length(const Tensor *tensor)
{
    const int rank = tensor->shape.rank;
    return rank ? tensor->shape.dim[rank - 1] : 1;
}

/* Is there anything to choose from, and are the labels of it? */
static bool has_top(const Tensor *tensor, const Labels *labels)
{
    const int64_t length = row_length(tensor);
    const bool named = !labels || (int64_t)labels->line.n == length;
    return !tensor->words && is_readable(tensor) && length > 1 && named;
}

/* Comes value i before value k? The first of equals does; what is no number comes last. */
static bool is_before(const double *value, int64_t i, int64_t k)
{
    if (isnan(value[i]) || isnan(value[k]))
        return !isnan(value[i]);
    return value[i] > value[k];
}

/* The places of the `top` largest of a row, sorted, by insertion: `top` is small. */
static void find_top(const double *value, int64_t length, int64_t *place,
                     int64_t top)
{
    int64_t found = 0;
    for (int64_t i = 0; i < length; i++) {
        int64_t at = found;
        while (at && is_before(value, i, place[at - 1]))
            at--;
        if (at == top)
            continue;
        found += found < top;
        memmove(place + at + 1, place + at,
                (size_t)(found - at - 1) * sizeof *place);
        place[at] = i;
    }
}

static void print_row(Pieces *to, const Labels *labels, const double *value,
                      const int64_t *place, int64_t top)
{
    for (int64_t i = 0; i < top; i++) {
        pieces_print(to, "%3" PRId64 ". %-12.6g", i + 1, value[place[i]]);
        if (labels)
            pieces_print(to, " %s", labels->line.at[place[i]]);
        pieces_print(to, labels ? " (%" PRId64 ")\n" : " %" PRId64 "\n",
                     place[i]);
    }
}

static void print_top(Pieces *to, const Tensor *tensor, const void *values,
                      const Labels *labels, int64_t top)
{
    Arena *arena = to->arena;
    const int64_t length = row_length(tensor);
    const int64_t rows = tensor_count(tensor) / length;
    const int64_t shown = i64_min(top, length);
    double *value = NEW_ARRAY(arena, double, length);
    int64_t *place = NEW_ARRAY(arena, int64_t, shown);
    print_head(to, tensor);
    pieces_print(to, "\n");
    for (int64_t row = 0; row < rows && row < MOST_ROWS; row++) {
        for (int64_t i = 0; i < length; i++)
            value[i] = value_at(tensor, values, row * length + i);
        find_top(value, length, place, shown);
        if (rows > 1)
            pieces_print(to, "row %" PRId64 "\n", row);
        print_row(to, labels, value, place, shown);
    }
    if (rows > MOST_ROWS)
        pieces_print(to, "... of %" PRId64 " rows\n", rows);
}

void top_print(Compile *compile, Tensor *const *result, size_t count,
               void *const *values)
{
    Arena *arena = &compile->arena;
    const Options *options = compile->options;
    Labels labels = { 0 };
    const int64_t top = options->top ? value_read_top(options->top) : USUAL_TOP;
    bool any = false;
    if (options->labels)
        labels = read_labels(arena, options->labels);
    const Labels *used = options->labels ? &labels : NULL;
    for (size_t i = 0; i < count; i++) {
        const bool has = has_top(result[i], used);
        any |= has;
        if (has)
            print_top(&compile->results, result[i], values[i], used, top);
        else
            value_print(&compile->results, result[i], values[i]);
    }
    if (!any && used)
        fail_at(STATUS_USAGE, value_place(labels.path),
                "a line for each element of a result's last dimension",
                "has %zu lines: no result has as many values", labels.line.n);
}
