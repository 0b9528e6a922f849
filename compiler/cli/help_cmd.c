/* SPDX-License-Identifier: Apache-2.0
 * help, --help and --version: the tables, for people and (--json) for tools. */
#include <jansson.h>
#include <string.h>

#include "cli/json_print.h"
#include "cli/options.h"
#include "emit/manifest.h"
#include "emit/text.h"
#include "passes/passes.h"

enum { LEFT = 30, WIDTH = 100 };

static void put_commands(Text *t)
{
    int count;
    const Command *row = command_rows(&count);
    text_put(t, "Inlay turns an ONNX model into C for firmware.\n\n"
                "  inlay compile model.onnx -o out        C, weights, manifest and report in out/\n"
                "  inlay analyze model.onnx               how much arena, weights and work it "
                "takes\n\nCommands:\n");
    for (; count--; row++)
        text_print(t, "  inlay %-8s %-20s %s\n", row->name, row->operand, row->what);
}

/* Words in lines; the text has reached column LEFT. */
static void put_wrapped(Text *t, const char *words)
{
    size_t column = LEFT;
    while (*words) {
        const size_t length = strcspn(words, " ");
        if (column > LEFT && column + 1 + length > WIDTH) {
            text_print(t, "\n%*s", LEFT, "");
            column = LEFT;
        }
        text_put(t, column > LEFT ? " " : "");
        text_add(t, words, length);
        column += length + (column > LEFT);
        words += length;
        words += strspn(words, " ");
    }
    text_put(t, "\n");
}

/* The values an option takes, or the commands it is for: "a, b, c". */
static const char *joined(Arena *a, const char *const *names)
{
    Text t = text_new(a);
    text_put(&t, "");
    for (const char *const *name = names; *name; name++)
        text_print(&t, "%s%s", name == names ? "" : ", ", *name);
    return t.at;
}

static const char **commands_of(Arena *a, const OptionRow *r)
{
    int count, n = 0;
    const Command *row = command_rows(&count);
    const char **names = NEW_ARRAY(a, const char *, count + 1);
    for (int i = 0; i < count; i++)
        if (r->commands >> i & 1)
            names[n++] = row[i].name;
    return names;
}

static void put_option(Text *t, const OptionRow *r, bool with_commands)
{
    Arena *a = t->arena;
    const char *letter = r->letter ? arena_printf(a, "-%c, ", r->letter) : "    ";
    const char *value = r->value ? arena_printf(a, "=%s", r->value) : "";
    const char *head = arena_printf(a, "  %s--%s%s", letter, r->name, value);
    Text what = text_new(a);
    text_put(&what, r->what);
    if (r->choice)
        text_print(&what, ": %s", joined(a, r->choice));
    if (with_commands && r->kind < OPTION_HELP)
        text_print(&what, " (%s)", joined(a, commands_of(a, r)));
    const bool fits = strlen(head) < LEFT;
    text_print(t, "%-*s", LEFT, head);
    if (!fits)
        text_print(t, "\n%*s", LEFT, "");
    put_wrapped(t, what.at);
}

/* Of one command, or NULL: of all. */
static void put_options(Text *t, const Command *command)
{
    int count, commands;
    const OptionRow *row = option_rows(&count);
    const ptrdiff_t place = command ? command - command_rows(&commands) : 0;
    text_put(t, "\nOptions:\n");
    for (; count--; row++)
        if (!command || (row->commands >> place & 1))
            put_option(t, row, !command);
}

static const Command *topic_of(const Options *o)
{
    int count;
    const Command *row = command_rows(&count);
    while (o->topic && strcmp(row->name, o->topic))
        row++;
    return o->topic ? row : NULL;
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
    static const char *const names[] = {
        "flag", "text", "list", "bytes", "choice", "flag", "flag"
    };
    return names[kind];
}

static json_t *option_json(Arena *a, const OptionRow *r)
{
    json_t *o = manifest_made(json_object());
    manifest_set(o, "name", json_string(r->name));
    if (r->letter)
        manifest_set(o, "letter", json_stringn(&r->letter, 1));
    manifest_set(o, "kind", json_string(kind_name(r->kind)));
    if (r->value)
        manifest_set(o, "value", json_string(r->value));
    if (r->choice)
        manifest_set(o, "values", texts(r->choice));
    manifest_set(o, "commands", texts(commands_of(a, r)));
    manifest_set(o, "what", json_string(r->what));
    return o;
}

static json_t *commands_json(void)
{
    int count;
    const Command *row = command_rows(&count);
    json_t *list = manifest_made(json_array());
    for (; count--; row++) {
        json_t *o = manifest_made(json_object());
        manifest_set(o, "name", json_string(row->name));
        manifest_set(o, "operand", json_string(row->operand));
        manifest_set(o, "what", json_string(row->what));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *passes_json(void)
{
    int count;
    const PassRow *row = pass_rows(&count);
    json_t *list = manifest_made(json_array());
    for (; count--; row++) {
        json_t *o = manifest_made(json_object());
        manifest_set(o, "name", json_string(row->name));
        manifest_set(o, "required", json_boolean(row->required));
        manifest_set(o, "what", json_string(row->what));
        json_array_append_new(list, o);
    }
    return list;
}

static void print_json(Compile *c)
{
    int count;
    const OptionRow *row = option_rows(&count);
    json_t *list = manifest_made(json_array()), *all = manifest_made(json_object());
    for (; count--; row++)
        json_array_append_new(list, option_json(&c->arena, row));
    manifest_set(all, "commands", commands_json());
    manifest_set(all, "options", list);
    manifest_set(all, "passes", passes_json());
    json_print(&c->results, all);
}

void cmd_help(Compile *c)
{
    const Command *topic = topic_of(c->options);
    Text t = text_new(&c->arena);
    if (c->options->json) {
        print_json(c);
        return;
    }
    if (topic)
        text_print(&t, "inlay %s %s [OPTION...]\n  %s\n", topic->name, topic->operand, topic->what);
    else
        put_commands(&t);
    put_options(&t, topic);
    pieces_put(&c->results, t.at, t.n);
}

void cmd_version(Compile *c)
{
    pieces_print(&c->results, "inlay %s (manifest schema 1)\n", INLAY_VERSION);
}
