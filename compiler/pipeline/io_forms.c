/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/io_forms.h"

#include <string.h>

#include "base/nearest.h"
#include "pipeline/numbers.h"
#include "pipeline/states.h"

typedef struct Forms {
    Graph *graph;
    IoForm *in, *out;
    size_t n_in, n_out;
} Forms;

static bool form_of(const char *text, IoForm *form)
{
    static const char *const name[] = {
        [IO_CALLER] = "caller", [IO_ARENA] = "arena", [IO_ROWS] = "rows"
    };
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!strcmp(text, name[i])) {
            *form = (IoForm)i;
            return true;
        }
    return false;
}

/* What is named must be free for it; of all of them those are meant that are. */
static void set_form(IoForm *form, const Tensor *tensor, IoForm to, bool named)
{
    if (*form != IO_STATE)
        *form = to;
    else if (named)
        fail_at(STATUS_CONFIG, LOC_NONE, NULL,
                "--io: \"%s\" is a state, which lies in the arena",
                tensor->name);
}

/* "in", "out": all of them (n); "in0", "out1": one. -1: neither. */
static long place_of(const char *which, size_t length, const char *kind,
                     size_t n)
{
    const size_t k = strlen(kind);
    int64_t place;
    if (length < k || strncmp(which, kind, k))
        return -1;
    if (length == k)
        return (long)n;
    const char *end = number_read(which + k, INT32_MAX, &place);
    return end == which + length && place < (int64_t)n ? (long)place : -1;
}

static bool set_kind(IoForm *form, Tensor *const *t, size_t n,
                     const char *which, size_t length, const char *kind,
                     IoForm to)
{
    const long at = place_of(which, length, kind, n);
    if (at < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (at == (long)n || at == (long)i)
            set_form(form + i, t[i], to, at == (long)i);
    return true;
}

static bool set_named(IoForm *form, Tensor *const *t, size_t n,
                      const char *which, size_t length, IoForm to)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(t[i]->name) == length &&
            !strncmp(t[i]->name, which, length)) {
            set_form(form + i, t[i], to, true);
            return true;
        }
    return false;
}

static const char *const *names_of(const Graph *graph)
{
    VEC(const char *) name = { 0 };
    for (size_t i = 0; i < graph->input.n; i++)
        VEC_PUSH(graph->arena, &name, graph->input.at[i]->name);
    for (size_t i = 0; i < graph->output.n; i++)
        VEC_PUSH(graph->arena, &name, graph->output.at[i]->name);
    VEC_PUSH(graph->arena, &name, NULL);
    return name.at;
}

static void set_all(Forms *forms, IoForm to)
{
    const Graph *graph = forms->graph;
    set_kind(forms->in, graph->input.at, forms->n_in, "in", 2, "in", to);
    set_kind(forms->out, graph->output.at, forms->n_out, "out", 3, "out",
             to == IO_ROWS ? IO_CALLER : to);
}

/* Those of that name; else "in" and "out", all or with a number. */
static bool set_which(Forms *forms, const char *which, size_t length, IoForm to)
{
    const Graph *graph = forms->graph;
    return set_named(forms->in, graph->input.at, forms->n_in, which, length,
                     to) ||
           set_named(forms->out, graph->output.at, forms->n_out, which, length,
                     to) ||
           set_kind(forms->in, graph->input.at, forms->n_in, which, length,
                    "in", to) ||
           set_kind(forms->out, graph->output.at, forms->n_out, which, length,
                    "out", to);
}

static void set_one(Forms *forms, const char *text)
{
    Arena *arena = forms->graph->arena;
    const char *eq = strrchr(text, '=');
    const size_t length = eq ? (size_t)(eq - text) : 0;
    IoForm to;
    if (eq == text || !form_of(eq ? eq + 1 : text, &to))
        fail_at(STATUS_USAGE, LOC_NONE,
                "caller, arena or rows: --io=arena, --io=in=arena, "
                "--io=in0=rows, --io=NAME=arena",
                "--io \"%s\": unknown form", text);
    if (!length)
        set_all(forms, to);
    else if (!set_which(forms, text, length, to))
        fail_unknown(arena, "--io: the model has no input or output",
                     arena_text(arena, text, length), names_of(forms->graph));
}

static void check_rows(const Forms *forms, const Options *options)
{
    size_t rows = 0;
    for (size_t i = 0; i < forms->n_in; i++)
        rows += forms->in[i] == IO_ROWS;
    for (size_t i = 0; i < forms->n_out; i++)
        if (forms->out[i] == IO_ROWS)
            fail_at(STATUS_CONFIG, LOC_NONE, NULL,
                    "--io: output %zu: only an input comes row by row", i);
    if (rows > 1)
        fail_at(STATUS_CONFIG, LOC_NONE, "name it: --io=in0=rows",
                "--io=rows: %zu inputs were to come row by row, one can", rows);
    if (rows && options->threads)
        fail_at(STATUS_USAGE, LOC_NONE, "leave out one of them",
                "--threads: a run whose input comes row by row is one of "
                "single rows");
    if (rows && options->update)
        fail_at(STATUS_USAGE, LOC_NONE, "leave out one of them",
                "--update: a run whose input comes row by row waits for rows, "
                "and may last any time");
    if (rows && options->slices)
        fail_at(STATUS_USAGE, LOC_NONE, "leave out one of them",
                "--slices: a run whose input comes row by row stops at each "
                "row already");
}

void io_forms(Graph *graph, const Options *options)
{
    Forms forms = { graph, NEW_ARRAY(graph->arena, IoForm, graph->input.n + 1),
                    NEW_ARRAY(graph->arena, IoForm, graph->output.n + 1),
                    graph->input.n, graph->output.n };
    states_find(graph, options, forms.in, forms.out);
    for (const char **s = options->io; s && *s; s++)
        set_one(&forms, *s);
    check_rows(&forms, options);
    graph->in_form = forms.in;
    graph->out_form = forms.out;
}
