/* SPDX-License-Identifier: Apache-2.0
 * help, --help and --version: the tables, for people and (--json) for tools. */
#include <jansson.h>
#include <string.h>

#include "cli/json_print.h"
#include "cli/options.h"
#include "cli/passes_json.h"
#include "cli/wrap.h"
#include "emit/manifest.h"

enum { LEFT = 30, WIDTH = 100 };

static void put_commands(Text *text)
{
    int count;
    const Command *row = command_rows(&count);
    text_put(text, "Inlay turns an ONNX model into C for firmware.\n\n"
                   "  inlay compile model.onnx -o out        C, weights, "
                   "manifest and report in out/\n"
                   "  inlay analyze model.onnx               how much arena, "
                   "weights and work it "
                   "takes\n\nA word @FILE stands for the words in that "
                   "file.\n\nCommands:\n");
    for (; count--; row++)
        text_print(text, "  inlay %-8s %-20s %s\n", row->name, row->operand,
                   row->what);
}

/* The values an option takes, or the commands it is for: "a, b, c". */
static const char *joined(Arena *arena, const char *const *names)
{
    Text text = text_new(arena);
    text_put(&text, "");
    for (const char *const *name = names; *name; name++)
        text_print(&text, "%s%s", name == names ? "" : ", ", *name);
    return text.at;
}

static const char **commands_of(Arena *arena, const OptionRow *r)
{
    int count;
    int n = 0;
    const Command *row = command_rows(&count);
    const char **names = NEW_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count; i++)
        if (r->commands >> i & 1)
            names[n++] = row[i].name;
    return names;
}

static void put_option(Text *text, const OptionRow *r, bool with_commands)
{
    Arena *a = text->arena;
    const char *letter =
        r->letter ? arena_printf(a, "-%c, ", r->letter) : "    ";
    const char *value = r->value ? arena_printf(a, "=%s", r->value) : "";
    const char *head = arena_printf(a, "  %s--%s%s", letter, r->name, value);
    Text what = text_new(a);
    text_put(&what, r->what);
    if (r->choice)
        text_print(&what, ": %s", joined(a, r->choice));
    if (with_commands && r->kind < OPTION_HELP)
        text_print(&what, " (%s)", joined(a, commands_of(a, r)));
    const bool fits = strlen(head) < LEFT;
    text_print(text, "%-*s", LEFT, head);
    if (!fits)
        text_print(text, "\n%*s", LEFT, "");
    put_wrapped(text, what.at, LEFT, WIDTH);
}

/* Of one command, or NULL: of all. */
static void put_options(Text *text, const Command *command)
{
    int count, commands;
    const OptionRow *row = option_rows(&count);
    const ptrdiff_t place = command ? command - command_rows(&commands) : 0;
    text_put(text, "\nOptions:\n");
    for (; count--; row++)
        if (!command || (row->commands >> place & 1))
            put_option(text, row, !command);
}

static const Command *topic_of(const Options *options)
{
    int count;
    const Command *row = command_rows(&count);
    while (options->topic && strcmp(row->name, options->topic))
        row++;
    return options->topic ? row : NULL;
}

/* ---- for tools ---- */

static json_t *texts(const char *const *names)
{
    json_t *list = manifest_made(json_array());
    for (; *names; names++)
        json_array_append_new(list, manifest_made(json_string(*names)));
    return list;
}

static const char *kind_name(OptionKind kind)
{
    static const char *const names[] = { "flag",   "text", "list", "bytes",
                                         "choice", "set",  "flag", "flag" };
    return names[kind];
}

static json_t *option_json(Arena *arena, const OptionRow *r)
{
    json_t *object = manifest_made(json_object());
    manifest_set(object, "name", json_string(r->name));
    if (r->letter)
        manifest_set(object, "letter", json_stringn(&r->letter, 1));
    manifest_set(object, "kind", json_string(kind_name(r->kind)));
    if (r->value)
        manifest_set(object, "value", json_string(r->value));
    if (r->choice)
        manifest_set(object, "values", texts(r->choice));
    manifest_set(object, "commands", texts(commands_of(arena, r)));
    manifest_set(object, "what", json_string(r->what));
    return object;
}

static json_t *commands_json(void)
{
    int count;
    const Command *row = command_rows(&count);
    json_t *list = manifest_made(json_array());
    for (; count--; row++) {
        json_t *object = manifest_made(json_object());
        manifest_set(object, "name", json_string(row->name));
        manifest_set(object, "operand", json_string(row->operand));
        manifest_set(object, "what", json_string(row->what));
        json_array_append_new(list, object);
    }
    return list;
}

static void print_json(Compile *compile)
{
    int count;
    const OptionRow *row = option_rows(&count);
    json_t *list = manifest_made(json_array());
    json_t *all = manifest_made(json_object());
    for (; count--; row++)
        json_array_append_new(list, option_json(&compile->arena, row));
    manifest_set(all, "commands", commands_json());
    manifest_set(all, "options", list);
    manifest_set(all, "passes", passes_json());
    json_print(&compile->results, all);
}

void cmd_help(Compile *compile)
{
    const Command *topic = topic_of(compile->options);
    Text text = text_new(&compile->arena);
    if (compile->options->json) {
        print_json(compile);
        return;
    }
    if (topic)
        text_print(&text, "inlay %s %s [OPTION...]\n  %s\n", topic->name,
                   topic->operand, topic->what);
    else
        put_commands(&text);
    put_options(&text, topic);
    pieces_put(&compile->results, text.at, text.n);
}

void cmd_version(Compile *compile)
{
    pieces_print(&compile->results, "inlay %s (manifest schema 1)\n",
                 INLAY_VERSION);
}
