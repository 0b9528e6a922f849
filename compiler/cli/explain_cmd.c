/* SPDX-License-Identifier: Apache-2.0
 * explain: the table of statuses and messages for people, for tools (--json), and as the page
 * docs/TROUBLESHOOTING.md (--markdown). */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/explained.h"
#include "cli/json_print.h"
#include "cli/options.h"
#include "cli/wrap.h"
#include "emit/manifest.h"

/* Columns: of the text, of what a status is, of the words of a message in a list. */
enum { INDENT = 2, STATUS_TEXT = 19, QUOTED = 23, WIDTH = 80 };

/* ---- which of them ---- */

/* The pieces of `says` between its dots, in their order. */
static bool matches(const char *message, const char *says)
{
    while (says) {
        const char *dots = strstr(says, "...");
        const size_t length = dots ? (size_t)(dots - says) : strlen(says);
        while (*message && strncmp(message, says, length) != 0)
            message++;
        if (!*message)
            return false;
        message += length;
        says = dots ? dots + 3 : NULL;
    }
    return true;
}

static bool is_asked(const Explained *row, const char *topic)
{
    char *end;
    const long status = strtol(topic, &end, 10);
    if (*topic && !*end)
        return !row->says && status == (long)row->status;
    return !strcmp(row->name, topic) ||
           (row->says && matches(topic, row->says));
}

/* ---- for people ---- */

static void put_row(Text *text, const Explained *row)
{
    text_print(text, "%s (exit status %d)\n%*s", row->name, (int)row->status,
               INDENT, "");
    if (row->says)
        text_print(text, "\"%s\"\n\n%*s", row->says, INDENT, "");
    put_wrapped(text, row->what, INDENT, WIDTH);
    text_print(text, "\n%*s", INDENT, "");
    put_wrapped(text, row->todo, INDENT, WIDTH);
}

static void put_names(Text *text, const Explained *status)
{
    int count;
    const Explained *row = explained_rows(&count);
    for (; count--; row++)
        if (row->says && row->status == status->status) {
            text_print(text, "    %-18s ", row->name);
            put_wrapped(text, row->says, QUOTED, WIDTH);
        }
}

static void put_list(Text *text)
{
    int count;
    const Explained *row = explained_rows(&count);
    text_put(text, "Exit statuses, and messages that end with them. What to do "
                   "say\n`inlay explain 65`, `inlay explain NAME` and `inlay "
                   "explain 'MESSAGE'`.\n");
    for (; count-- && !row->says; row++) {
        text_print(text, "\n%3d %-14s ", (int)row->status, row->name);
        put_wrapped(text, row->what, STATUS_TEXT, WIDTH);
        put_names(text, row);
    }
}

static void put_topic(Text *text, const char *topic)
{
    int count;
    int found = 0;
    const Explained *row = explained_rows(&count);
    const char **names = NEW_ARRAY(text->arena, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        names[i] = row[i].name;
        if (!is_asked(row + i, topic))
            continue;
        text_put(text, found++ ? "\n" : "");
        put_row(text, row + i);
        if (!row[i].says) {
            text_put(text, "\n");
            put_names(text, row + i);
        }
    }
    if (!found)
        fail_unknown(text->arena, "explain: nothing is known of", topic, names);
}

/* ---- for tools, and the page ---- */

static json_t *row_json(const Explained *row)
{
    json_t *object = manifest_made(json_object());
    manifest_set(object, "name", json_string(row->name));
    manifest_set(object, "status", json_integer(row->status));
    if (row->says)
        manifest_set(object, "says", json_string(row->says));
    manifest_set(object, "what", json_string(row->what));
    manifest_set(object, "todo", json_string(row->todo));
    return object;
}

static void print_json(Compile *compile)
{
    int count;
    const Explained *row = explained_rows(&count);
    json_t *all = manifest_made(json_object());
    json_t *statuses = manifest_made(json_array());
    json_t *messages = manifest_made(json_array());
    for (; count--; row++)
        json_array_append_new(row->says ? messages : statuses, row_json(row));
    manifest_set(all, "schema_version", json_integer(1));
    manifest_set(all, "statuses", statuses);
    manifest_set(all, "messages", messages);
    json_print(&compile->results, all);
}

static void put_page(Text *text)
{
    int count;
    const Explained *row = explained_rows(&count);
    text_put(text, "# When something goes wrong\n\nMade by `inlay explain "
                   "--markdown`; `inlay explain 'MESSAGE'` finds the row of a "
                   "message.\n\n## Exit statuses\n\n| | | what to do |\n"
                   "|---|---|---|\n");
    for (; count-- && !row->says; row++)
        text_print(text, "| %d | %s | %s |\n", (int)row->status, row->what,
                   row->todo);
    text_put(text, "\n## Messages\n\nThe dots stand for names and sizes of "
                   "your model.\n");
    for (count++; count--; row++)
        text_print(text, "\n### %s\n\n    %s\n\nStatus %d. %s\n\n%s\n",
                   row->name, row->says, (int)row->status, row->what,
                   row->todo);
}

void cmd_explain(Compile *compile)
{
    const Options *options = compile->options;
    Text text = text_new(&compile->arena);
    if (options->json) {
        print_json(compile);
        return;
    }
    if (options->markdown)
        put_page(&text);
    else if (options->topic)
        put_topic(&text, options->topic);
    else
        put_list(&text);
    pieces_put(&compile->results, text.at, text.n);
}
