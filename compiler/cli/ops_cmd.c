/* SPDX-License-Identifier: Apache-2.0
 * ops: the operator table for people and, with --json, for tools. */
#include <jansson.h>
#include <string.h>

#include "cli/options.h"
#include "ops/ops.h"

static void print_types(DTypeSet s)
{
    const char *between = "";
    for (int t = 1; t < DT_COUNT; t++)
        if (s & DTYPE_BIT(t)) {
            printf("%s%s", between, dtype_name((DType)t));
            between = " ";
        }
}

/* Types of operand 0, those reached by computing in float32 included. */
static DTypeSet types_of(const OpRow *r)
{
    return r->flags & OP_WIDEN ? r->types | T_SMALL_FLOAT : r->types;
}

static json_t *row_json(const OpRow *r)
{
    json_t *types = json_array();
    for (int t = 1; t < DT_COUNT; t++)
        if (types_of(r) & DTYPE_BIT(t)) json_array_append_new(types, json_string(dtype_name((DType)t)));
    return json_pack("{s:s, s:s, s:i, s:o, s:o}", "name", r->name, "domain", *r->domain ? r->domain : "ai.onnx", "since", r->since, "until",
                     r->until ? json_integer(r->until) : json_null(), "types", types);
}

void cmd_ops(Compile *c)
{
    int n;
    const OpRow *r = op_rows(&n);
    if (c->options->json) {
        json_t *list = json_array();
        for (int i = 0; i < n; i++)
            if (strcmp(r[i].domain, "inlay")) json_array_append_new(list, row_json(r + i));
        json_t *all = json_pack("{s:i, s:i, s:i, s:o}", "schema_version", 1, "opset_oldest", OPSET_OLDEST, "opset_newest", OPSET_NEWEST, "operators", list);
        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(all);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (!strcmp(r[i].domain, "inlay")) continue;
        printf("%s%s%s ", r[i].domain, *r[i].domain ? "." : "", r[i].name);
        if (r[i].until) printf("(opset %d..%d): ", r[i].since, r[i].until);
        else printf("(opset %d..): ", r[i].since);
        print_types(types_of(r + i));
        putchar('\n');
    }
}
