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

static void put_versions(Text *text, const OpRow *row)
{
    if (row->until)
        text_print(text, "%d-%d", row->since, row->until);
    else
        text_print(text, "%d-", row->since);
}

static bool listed(const OpRow *row)
{
    return strcmp(row->domain, "inlay") != 0;
}

static int by_name(const void *a, const void *b)
{
    const OpRow *left = *(const OpRow *const *)a;
    const OpRow *right = *(const OpRow *const *)b;
    const int domain = strcmp(left->domain, right->domain);
    if (domain)
        return domain;
    const int name = strcmp(left->name, right->name);
    return name ? name : left->since - right->since;
}

/* The rows that users see, by domain, name and version. */
static const OpRow **sorted(Arena *arena, int *count)
{
    int all;
    int n = 0;
    const OpRow *row = op_rows(&all);
    const OpRow **list = NEW_ARRAY(arena, const OpRow *, all);
    for (int i = 0; i < all; i++)
        if (listed(row + i))
            list[n++] = row + i;
    qsort(list, (size_t)n, sizeof *list, by_name);
    *count = n;
    return list;
}

/* Least and most operands; null: any number. */
static json_t *range_json(OpCount count)
{
    return json_pack("[i, o]", count.min,
                     count.max == ANY ? json_null() : json_integer(count.max));
}

static json_t *row_json(const OpRow *row)
{
    json_t *types = json_array();
    for (int t = 1; t < DT_COUNT; t++)
        if (op_types(row) & DTYPE_BIT(t))
            json_array_append_new(types, json_string(dtype_name((DType)t)));
    return json_pack(
        "{s:s, s:s, s:i, s:o, s:o, s:o, s:o}", "name", row->name, "domain",
        *row->domain ? row->domain : "ai.onnx", "since", row->since, "until",
        row->until ? json_integer(row->until) : json_null(), "inputs",
        range_json(row->in), "outputs", range_json(row->out), "types", types);
}

static void print_json(Compile *compile, const OpRow *const *r, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, row_json(r[i]));
    json_t *all = json_pack("{s:i, s:i, s:i, s:o}", "schema_version", 1,
                            "opset_oldest", OPSET_OLDEST, "opset_newest",
                            OPSET_NEWEST, "operators", list);
    json_print(&compile->results, all);
}

static void put_markdown(Arena *arena, Text *text, const OpRow *const *r, int n)
{
    text_print(text,
               "# Operators\n\nMade by `inlay ops --markdown`; a test holds it "
               "current. Opsets %d "
               "to %d of `ai.onnx`; in older files an operator\n"
               "passes where its meaning is the same. Types are those of the "
               "first operand; "
               "\"float\" is float64, float32 and all smaller ones,\n"
               "which compute in float32.\n\n| operator | opsets | types "
               "|\n|---|---|---|\n",
               OPSET_OLDEST, OPSET_NEWEST);
    for (int i = 0; i < n; i++) {
        text_print(text, "| %s%s%s | ", r[i]->domain, *r[i]->domain ? "." : "",
                   r[i]->name);
        put_versions(text, r[i]);
        text_put(text, " | ");
        text_put(text, op_types_text(arena, op_types(r[i])));
        text_put(text, " |\n");
    }
}

static void put_lines(Arena *arena, Text *text, const OpRow *const *r, int n)
{
    for (int i = 0; i < n; i++) {
        text_print(text, "%s%s%s ", r[i]->domain, *r[i]->domain ? "." : "",
                   r[i]->name);
        text_put(text, "(opset ");
        put_versions(text, r[i]);
        text_put(text, "): ");
        text_put(text, op_types_text(arena, op_types(r[i])));
        text_put(text, "\n");
    }
}

void cmd_ops(Compile *compile)
{
    int n;
    const OpRow **row = sorted(&compile->arena, &n);
    Text text = text_new(&compile->arena);
    if (compile->options->json) {
        print_json(compile, row, n);
        return;
    }
    if (compile->options->markdown)
        put_markdown(&compile->arena, &text, row, n);
    else
        put_lines(&compile->arena, &text, row, n);
    pieces_put(&compile->results, text.at, text.n);
}
