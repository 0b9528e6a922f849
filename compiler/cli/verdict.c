/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verdict.h"

#include <inttypes.h>
#include <string.h>

#include "base/digest.h"
#include "cli/json_print.h"
#include "emit/manifest.h"
#include "emit/text.h"

const char *const figure_names[FIGURES] = {
    "arena", "weights", "ram", "stack", "macs", "traffic", "code",
};
static const char *const units[FIGURES] = {
    "bytes", "bytes", "bytes", "bytes", "MACs", "bytes", "bytes",
};
const char *const figure_keys[FIGURES] = {
    "bytes", "bytes", "bytes", "bytes", "count", "bytes", "bytes",
};

bool figure_holds(const Figure *figure)
{
    if (!figure->limited)
        return true;
    return !figure->unknown && figure->value <= figure->most;
}

bool verdict_holds(const Verdict *verdict)
{
    for (int i = 0; i < FIGURES; i++)
        if (!figure_holds(verdict->figure + i))
            return false;
    return verdict->status == 0;
}

bool verdicts_hold(const Verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->n; i++)
        if (!verdict_holds(verdicts->at + i))
            return false;
    return true;
}

const char *verdict_complaint(Arena *arena, const Verdict *verdict, int i)
{
    const Figure *figure = verdict->figure + i;
    if (figure->unknown)
        return arena_printf(
            arena, "%s: not known %s, %" PRIu64 " %s are allowed",
            figure_names[i],
            i == FIGURE_CODE ? "without --cc" : "for this target", figure->most,
            units[i]);
    return arena_printf(
        arena, "%s: %" PRIu64 " %s are needed, %" PRIu64 " are allowed",
        figure_names[i], figure->value, units[i], figure->most);
}

static const char *refusal(Arena *arena, const Verdict *verdict)
{
    return arena_printf(arena, "it does not compile (status %d)",
                        verdict->status);
}

/* Called for all that is wrong, with a name for its kind. */
typedef void FaultVisit(void *context, const Verdict *verdict, const char *kind,
                        const char *text);

static void visit_verdict(Arena *arena, const Verdict *verdict,
                          FaultVisit *visit, void *context)
{
    if (verdict->status)
        visit(context, verdict, "compile", refusal(arena, verdict));
    for (int i = 0; i < FIGURES; i++)
        if (!figure_holds(verdict->figure + i))
            visit(context, verdict, figure_names[i],
                  verdict_complaint(arena, verdict, i));
}

static void visit_faults(Arena *arena, const Verdicts *verdicts,
                         FaultVisit *visit, void *context)
{
    for (size_t i = 0; i < verdicts->n; i++)
        visit_verdict(arena, verdicts->at + i, visit, context);
}

/* ---- text ---- */

static void print_verdict(Pieces *to, const Verdict *verdict)
{
    for (int i = 0; i < FIGURES; i++) {
        const Figure *figure = verdict->figure + i;
        if (figure->limited && figure->unknown)
            pieces_print(to, "%-8s      unknown %s of %12" PRIu64 ": FAILS\n",
                         figure_names[i], units[i], figure->most);
        else if (figure->limited)
            pieces_print(to, "%-8s %12" PRIu64 " %s of %12" PRIu64 ": %s\n",
                         figure_names[i], figure->value, units[i], figure->most,
                         figure_holds(figure) ? "holds" : "EXCEEDED");
    }
    if (verdict->status)
        pieces_print(to, "%s\n", refusal(to->arena, verdict));
}

static void print_text(Pieces *to, const Verdicts *verdicts)
{
    size_t failed = 0;
    for (size_t i = 0; i < verdicts->n; i++) {
        const Verdict *verdict = verdicts->at + i;
        failed += !verdict_holds(verdict);
        if (verdicts->n > 1)
            pieces_print(to, "%s: %s\n", verdict->model,
                         verdict_holds(verdict) ? "holds" : "FAILS");
        if (verdicts->n == 1 || !verdict_holds(verdict))
            print_verdict(to, verdict);
    }
    if (verdicts->n > 1)
        pieces_print(to, "%zu of %zu models hold\n", verdicts->n - failed,
                     verdicts->n);
}

/* ---- JSON ---- */

static void set_number(json_t *object, const char *key, uint64_t number)
{
    manifest_set(object, key, json_integer((json_int_t)number));
}

static json_t *figure_json(const Figure *figure, const char *key)
{
    json_t *object = manifest_made(json_object());
    if (!figure->unknown)
        set_number(object, key, figure->value);
    if (figure->limited) {
        set_number(object, "most", figure->most);
        manifest_set(object, "holds", json_boolean(figure_holds(figure)));
    }
    return object;
}

static void set_verdict(json_t *object, Arena *arena, const Verdict *verdict)
{
    manifest_set(object, "model", manifest_name(arena, verdict->model));
    set_number(object, "status", (uint64_t)verdict->status);
    for (int i = 0; i < FIGURES && !verdict->status; i++) {
        const Figure *figure = verdict->figure + i;
        if (figure->limited || !figure->unknown)
            manifest_set(object, figure_names[i],
                         figure_json(figure, figure_keys[i]));
    }
    manifest_set(object, "holds", json_boolean(verdict_holds(verdict)));
}

/* Of a single model its own keys stand at the top as well. */
static void print_json(Pieces *to, const Verdicts *verdicts)
{
    json_t *all = manifest_made(json_object());
    json_t *list = manifest_made(json_array());
    manifest_set(all, "schema_version", json_integer(1));
    if (verdicts->n == 1)
        set_verdict(all, to->arena, verdicts->at);
    for (size_t i = 0; i < verdicts->n; i++) {
        json_t *one = manifest_made(json_object());
        set_verdict(one, to->arena, verdicts->at + i);
        json_array_append_new(list, one);
    }
    manifest_set(all, "models", list);
    manifest_set(all, "holds", json_boolean(verdicts_hold(verdicts)));
    json_print(to, all);
}

/* ---- JUnit ---- */

static void put_xml(Pieces *to, const char *text)
{
    for (; *text; text++) {
        const unsigned char letter = (unsigned char)*text;
        const bool plain = letter >= ' ' && letter < 127;
        if (plain && !strchr("<>&\"'", *text))
            pieces_put(to, text, 1);
        else
            pieces_print(to, "&#%d;", plain ? letter : '?');
    }
}

static void put_failure(void *context, const Verdict *verdict, const char *kind,
                        const char *text)
{
    Pieces *to = context;
    (void)verdict;
    pieces_print(to, "    <failure type=\"%s\" message=\"", kind);
    put_xml(to, text);
    pieces_print(to, "\"/>\n");
}

static void print_junit(Pieces *to, const Verdicts *verdicts)
{
    size_t failed = 0;
    for (size_t i = 0; i < verdicts->n; i++)
        failed += !verdict_holds(verdicts->at + i);
    pieces_print(to,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<testsuite name=\"inlay check\" tests=\"%zu\" "
                 "failures=\"%zu\">\n",
                 verdicts->n, failed);
    for (size_t i = 0; i < verdicts->n; i++) {
        pieces_print(to, "  <testcase classname=\"inlay.check\" name=\"");
        put_xml(to, verdicts->at[i].model);
        pieces_print(to, "\">\n");
        visit_verdict(to->arena, verdicts->at + i, put_failure, to);
        pieces_print(to, "  </testcase>\n");
    }
    pieces_print(to, "</testsuite>\n");
}

/* ---- SARIF ---- */

typedef struct Faults {
    Arena *arena;
    json_t *list;
} Faults;

static json_t *one_key(const char *key, json_t *value)
{
    json_t *object = manifest_made(json_object());
    manifest_set(object, key, value);
    return object;
}

static json_t *one_element(json_t *value)
{
    json_t *list = manifest_made(json_array());
    json_array_append_new(list, value);
    return list;
}

static void add_result(void *context, const Verdict *verdict, const char *kind,
                       const char *text)
{
    Faults *faults = context;
    json_t *result = manifest_made(json_object());
    json_t *uri = one_key("uri", manifest_name(faults->arena, verdict->model));
    json_t *place = one_key("artifactLocation", uri);
    json_t *location = one_key("physicalLocation", place);
    manifest_set(result, "ruleId", json_string(kind));
    manifest_set(result, "level", json_string("error"));
    manifest_set(result, "message", one_key("text", json_string(text)));
    manifest_set(result, "locations", one_element(location));
    json_array_append_new(faults->list, result);
}

static json_t *sarif_driver(void)
{
    json_t *driver = one_key("name", json_string("inlay"));
    json_t *rules = manifest_made(json_array());
    manifest_set(driver, "version", json_string(INLAY_VERSION));
    for (int i = 0; i < FIGURES; i++)
        json_array_append_new(rules,
                              one_key("id", json_string(figure_names[i])));
    json_array_append_new(rules, one_key("id", json_string("compile")));
    manifest_set(driver, "rules", rules);
    return driver;
}

static void print_sarif(Pieces *to, const Verdicts *verdicts)
{
    Faults faults = { to->arena, manifest_made(json_array()) };
    json_t *all = manifest_made(json_object());
    json_t *run = one_key("tool", one_key("driver", sarif_driver()));
    visit_faults(to->arena, verdicts, add_result, &faults);
    manifest_set(run, "results", faults.list);
    manifest_set(all, "$schema",
                 json_string("https://json.schemastore.org/sarif-2.1.0.json"));
    manifest_set(all, "version", json_string("2.1.0"));
    manifest_set(all, "runs", one_element(run));
    json_print(to, all);
}

/* ---- GitHub, GitLab ---- */

/* A workflow command is a line: what would end it is written by its code. */
static void put_command(Pieces *to, const char *text)
{
    for (; *text; text++)
        if (strchr("%\r\n:,", *text))
            pieces_print(to, "%%%02X", (unsigned)*text);
        else
            pieces_put(to, text, 1);
}

static void put_annotation(void *context, const Verdict *verdict,
                           const char *kind, const char *text)
{
    Pieces *to = context;
    pieces_print(to, "::error title=inlay %s,file=", kind);
    put_command(to, verdict->model);
    pieces_print(to, "::%s\n", text);
}

static void print_github(Pieces *to, const Verdicts *verdicts)
{
    visit_faults(to->arena, verdicts, put_annotation, to);
    if (verdicts_hold(verdicts))
        pieces_print(to, "all models hold\n");
}

/* The same fault of the same model has the same one. */
static json_t *fingerprint(const Verdict *verdict, const char *kind)
{
    Sha256 hash;
    char hex[65];
    sha256_begin(&hash);
    sha256_add(&hash, verdict->model, strlen(verdict->model) + 1);
    sha256_add(&hash, kind, strlen(kind));
    sha256_end(&hash, hex);
    return json_string(hex);
}

static void add_issue(void *context, const Verdict *verdict, const char *kind,
                      const char *text)
{
    Faults *faults = context;
    json_t *issue = manifest_made(json_object());
    json_t *place = manifest_made(json_object());
    manifest_set(place, "path", manifest_name(faults->arena, verdict->model));
    manifest_set(place, "lines", one_key("begin", json_integer(1)));
    manifest_set(issue, "description", json_string(text));
    manifest_set(issue, "check_name", json_string(kind));
    manifest_set(issue, "fingerprint", fingerprint(verdict, kind));
    manifest_set(issue, "severity", json_string("major"));
    manifest_set(issue, "location", place);
    json_array_append_new(faults->list, issue);
}

static void print_gitlab(Pieces *to, const Verdicts *verdicts)
{
    Faults faults = { to->arena, manifest_made(json_array()) };
    visit_faults(to->arena, verdicts, add_issue, &faults);
    json_print(to, faults.list);
}

/* ---- all ---- */

const char *const verdict_formats[] = { "text",   "json",   "junit", "sarif",
                                        "github", "gitlab", NULL };

void verdicts_print(Pieces *to, const Verdicts *verdicts, int format)
{
    typedef void Print(Pieces *, const Verdicts *);
    static Print *const print[] = { print_text,  print_json,   print_junit,
                                    print_sarif, print_github, print_gitlab };
    print[format](to, verdicts);
}
