/* SPDX-License-Identifier: Apache-2.0
 * ops: the operator table for people, as a page of the documentation (--markdown), and for tools
 * (--json). */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "cli/options.h"
#include "emit/text.h"
#include "ops/ops.h"

static void put_versions(Text *t, const OpRow *r)
{
    if (r->until)
        text_print(t, "%d-%d", r->since, r->until);
    else
        text_print(t, "%d-", r->since);
}

static bool listed(const OpRow *r)
{
    return strcmp(r->domain, "inlay") != 0;
}

static int by_name(const void *a, const void *b)
{
    const OpRow *const *x = a, *const *y = b;
    const int domain = strcmp((*x)->domain, (*y)->domain), name = strcmp((*x)->name, (*y)->name);
    return domain ? domain : name ? name : (*x)->since - (*y)->since;
}

/* The rows that users see, by domain, name and version. */
static const OpRow **sorted(Arena *a, int *count)
{
    int all, n = 0;
    const OpRow *r = op_rows(&all), **list = NEW_ARRAY(a, const OpRow *, all);
    for (int i = 0; i < all; i++)
        if (listed(r + i))
            list[n++] = r + i;
    qsort(list, (size_t)n, sizeof *list, by_name);
    *count = n;
    return list;
}

/* Least and most operands; null: any number. */
static json_t *range_json(int least, int most)
{
    return json_pack("[i, o]", least, most < 0 ? json_null() : json_integer(most));
}

static json_t *row_json(const OpRow *r)
{
    json_t *types = json_array();
    for (int t = 1; t < DT_COUNT; t++)
        if (op_types(r) & DTYPE_BIT(t))
            json_array_append_new(types, json_string(dtype_name((DType)t)));
    return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o}", "name", r->name, "domain",
                     *r->domain ? r->domain : "ai.onnx", "since", r->since, "until",
                     r->until ? json_integer(r->until) : json_null(), "inputs",
                     range_json(r->min_in, r->max_in), "outputs",
                     range_json(r->min_out, r->max_out), "types", types);
}

static void print_json(Compile *c, const OpRow *const *r, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, row_json(r[i]));
    json_t *all = json_pack("{s:i, s:i, s:i, s:o}", "schema_version", 1, "opset_oldest",
                            OPSET_OLDEST, "opset_newest", OPSET_NEWEST, "operators", list);
    json_print(&c->results, all);
}

static void put_markdown(Arena *a, Text *t, const OpRow *const *r, int n)
{
    text_print(t,
               "# Operators\n\nMade by `inlay ops --markdown`; a test holds it current. Opsets %d "
               "to %d of `ai.onnx`; in older files an operator\n"
               "passes where its meaning is the same. Types are those of the first operand; "
               "\"float\" is float64, float32 and all smaller ones,\n"
               "which compute in float32.\n\n| operator | opsets | types |\n|---|---|---|\n",
               OPSET_OLDEST, OPSET_NEWEST);
    for (int i = 0; i < n; i++) {
        text_print(t, "| %s%s%s | ", r[i]->domain, *r[i]->domain ? "." : "", r[i]->name);
        put_versions(t, r[i]);
        text_put(t, " | ");
        text_put(t, op_types_text(a, op_types(r[i])));
        text_put(t, " |\n");
    }
}

static void put_lines(Arena *a, Text *t, const OpRow *const *r, int n)
{
    for (int i = 0; i < n; i++) {
        text_print(t, "%s%s%s ", r[i]->domain, *r[i]->domain ? "." : "", r[i]->name);
        text_put(t, "(opset ");
        put_versions(t, r[i]);
        text_put(t, "): ");
        text_put(t, op_types_text(a, op_types(r[i])));
        text_put(t, "\n");
    }
}

void cmd_ops(Compile *c)
{
    int n;
    const OpRow **r = sorted(&c->arena, &n);
    Text t = text_new(&c->arena);
    if (c->options->json) {
        print_json(c, r, n);
        return;
    }
    if (c->options->markdown)
        put_markdown(&c->arena, &t, r, n);
    else
        put_lines(&c->arena, &t, r, n);
    pieces_put(&c->results, t.at, t.n);
}
