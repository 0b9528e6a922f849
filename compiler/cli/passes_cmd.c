/* SPDX-License-Identifier: Apache-2.0
 * passes: the pass list for people, and (--json) for tools. */
#include "cli/json_print.h"
#include "cli/options.h"
#include "cli/passes_json.h"
#include "emit/manifest.h"
#include "emit/text.h"
#include "passes/passes.h"

json_t *passes_json(void)
{
    int count;
    const PassRow *row = pass_rows(&count);
    json_t *list = manifest_made(json_array());
    for (; count--; row++) {
        json_t *object = manifest_made(json_object());
        manifest_set(object, "name", json_string(row->name));
        manifest_set(object, "required", json_boolean(row->required));
        manifest_set(object, "what", json_string(row->what));
        json_array_append_new(list, object);
    }
    return list;
}

static void put_passes(Text *text)
{
    int count;
    const PassRow *row = pass_rows(&count);
    for (; count--; row++)
        text_print(text, "%-14s %-9s %s\n", row->name,
                   row->required ? "required" : "optional", row->what);
}

void cmd_passes(Compile *compile)
{
    Text text = text_new(&compile->arena);
    if (compile->options->json) {
        json_t *all = manifest_made(json_object());
        manifest_set(all, "schema_version", json_integer(1));
        manifest_set(all, "passes", passes_json());
        json_print(&compile->results, all);
        return;
    }
    put_passes(&text);
    pieces_put(&compile->results, text.at, text.n);
}
