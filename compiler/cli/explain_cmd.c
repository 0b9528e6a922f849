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

static void put_run_list(Text *text)
{
    int count;
    const ExplainedRun *run = explained_runs(&count);
    text_put(text, "\nWhat generated code returns: `inlay explain E_SHAPE` "
                   "says what to do.\n\n");
    for (; count--; run++) {
        text_print(text, "%3d %-14s ", run->number, run->name);
        put_wrapped(text, run->what, STATUS_TEXT, WIDTH);
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
    put_run_list(text);
}

/* Of "KWS_E_SHAPE" the model's part is left out. */
static bool is_asked_run(const ExplainedRun *run, const char *topic)
{
    const size_t length = strlen(topic);
    const size_t own = strlen(run->name);
    return length >= own && !strcmp(topic + length - own, run->name) &&
           (length == own || topic[length - own - 1] == '_');
}

static void put_run(Text *text, const ExplainedRun *run)
{
    text_print(text, "NAME_%s (%d, returned by generated code)\n%*s", run->name,
               run->number, INDENT, "");
    put_wrapped(text, run->what, INDENT, WIDTH);
    text_print(text, "\n%*s", INDENT, "");
    put_wrapped(text, run->todo, INDENT, WIDTH);
}

/* A status is followed by the names of its messages. */
static void put_explained(Text *text, const Explained *row)
{
    put_row(text, row);
    if (row->says)
        return;
    text_put(text, "\n");
    put_names(text, row);
}

static int put_rows_asked(Text *text, const char *topic)
{
    int count;
    int found = 0;
    const Explained *row = explained_rows(&count);
    for (; count--; row++)
        if (is_asked(row, topic)) {
            text_put(text, found++ ? "\n" : "");
            put_explained(text, row);
        }
    return found;
}

static int put_runs_asked(Text *text, const char *topic)
{
    int count;
    int found = 0;
    const ExplainedRun *run = explained_runs(&count);
    for (; count--; run++)
        if (is_asked_run(run, topic)) {
            put_run(text, run);
            found++;
        }
    return found;
}

static const char **all_names(Arena *arena)
{
    int rows, runs;
    const Explained *row = explained_rows(&rows);
    const ExplainedRun *run = explained_runs(&runs);
    const char **names = NEW_ARRAY(arena, const char *, rows + runs + 1);
    for (int i = 0; i < rows; i++)
        names[i] = row[i].name;
    for (int i = 0; i < runs; i++)
        names[rows + i] = run[i].name;
    return names;
}

static void put_topic(Text *text, const char *topic)
{
    if (!put_rows_asked(text, topic) && !put_runs_asked(text, topic))
        fail_unknown(text->arena, "explain: nothing is known of", topic,
                     all_names(text->arena));
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

static json_t *run_json(const ExplainedRun *run)
{
    json_t *object = manifest_made(json_object());
    manifest_set(object, "name", json_string(run->name));
    manifest_set(object, "number", json_integer(run->number));
    manifest_set(object, "what", json_string(run->what));
    manifest_set(object, "todo", json_string(run->todo));
    return object;
}

static json_t *runs_json(void)
{
    int count;
    json_t *all = manifest_made(json_array());
    const ExplainedRun *run = explained_runs(&count);
    for (; count--; run++)
        json_array_append_new(all, run_json(run));
    return all;
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
    manifest_set(all, "runs", runs_json());
    json_print(&compile->results, all);
}

static void put_run_page(Text *text)
{
    int count;
    const ExplainedRun *run = explained_runs(&count);
    text_put(text, "\n## What generated code returns\n\n| | | | what to do "
                   "|\n|---|---|---|---|\n");
    for (; count--; run++)
        text_print(text, "| %d | `NAME_%s` | %s | %s |\n", run->number,
                   run->name, run->what, run->todo);
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
    put_run_page(text);
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
