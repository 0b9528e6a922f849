/* SPDX-License-Identifier: Apache-2.0
 * Words of the command line into Options, by the rows of the table. Options may stand anywhere,
 * also after the operands, whatever the environment says. */
#include <limits.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/options.h"
#include "cli/response.h"
#include "pipeline/numbers.h"

typedef struct Parser {
    Arena *arena;
    Options *options;
    char *const *word;
    int words, at;
    const OptionRow *row;
    int rows;
    bool *given; /* by row */
    const char **operand;
    int operands; /* the command's own name is the first of them in the text, but not here */
    /* what is of one model: before the first operand, behind each */
    Options *part;
    const Command *command, *asked; /* asked: by --help or --version */
} Parser;

static const char SEE_HELP[] = "`inlay --help` lists commands and options";

/* ---- names ---- */

static const Command *find_command(Arena *arena, const char *name)
{
    int count;
    const Command *row = command_rows(&count);
    const char **names = NEW_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        if (!strcmp(row[i].name, name))
            return row + i;
        names[i] = row[i].name;
    }
    fail_unknown(arena, "unknown command", name, names);
}

static const OptionRow *find_row(const Parser *parser, const char *name,
                                 size_t length)
{
    for (int i = 0; i < parser->rows; i++)
        if (strlen(parser->row[i].name) == length &&
            !strncmp(parser->row[i].name, name, length))
            return parser->row + i;
    return NULL;
}

static const OptionRow *long_row(const Parser *parser, const char *name,
                                 size_t length)
{
    const OptionRow *r = find_row(parser, name, length);
    if (r)
        return r;
    const char **names =
        NEW_ARRAY(parser->arena, const char *, parser->rows + 1);
    for (int i = 0; i < parser->rows; i++)
        names[i] = parser->row[i].name;
    const char *text = arena_text(parser->arena, name, length);
    const char *near = nearest(text, names);
    fail_at(STATUS_USAGE, LOC_NONE,
            near ? arena_printf(parser->arena, "did you mean --%s?", near)
                 : SEE_HELP,
            "unknown option --%s", text);
}

static const OptionRow *short_row(const Parser *parser, char letter)
{
    for (int i = 0; i < parser->rows; i++)
        if (parser->row[i].letter == letter)
            return parser->row + i;
    fail_at(STATUS_USAGE, LOC_NONE, SEE_HELP, "unknown option -%c", letter);
}

/* ---- values ---- */

static void *member(const Parser *parser, const OptionRow *r)
{
    Options *part = parser->part + parser->operands;
    return (char *)(option_of_model(r) ? part : parser->options) + r->at;
}

static void set_bytes(const Parser *parser, const OptionRow *r,
                      const char *value)
{
    long long *bytes = NEW(parser->arena, long long);
    const char *end = bytes_read(value, bytes);
    if (!end || *end)
        fail_at(STATUS_USAGE, LOC_NONE, "write it as 65536, 64K or 1M",
                "--%s \"%s\": no number of bytes", r->name, value);
    *(const long long **)member(parser, r) = bytes;
}

static int find_choice(const Parser *parser, const OptionRow *r,
                       const char *value)
{
    int i = 0;
    while (r->choice[i] && strcmp(r->choice[i], value))
        i++;
    if (!r->choice[i])
        fail_unknown(
            parser->arena,
            arena_printf(parser->arena, "--%s: unknown value", r->name), value,
            r->choice);
    return i;
}

/* "a,b" */
static void set_all(const Parser *parser, const OptionRow *r, const char *value)
{
    int *set = member(parser, r);
    for (const char *at = value;; at++) {
        const size_t length = strcspn(at, ",");
        const char *one = arena_text(parser->arena, at, length);
        *set |= 1 << find_choice(parser, r, one);
        at += length;
        if (!*at)
            return;
    }
}

/* There are never more values than words. */
static void append_to(const Parser *parser, const char ***list,
                      const char *value)
{
    if (!*list)
        *list = NEW_ARRAY(parser->arena, const char *, parser->words + 1);
    const char **end = *list;
    while (*end)
        end++;
    *end = value;
}

static void append(const Parser *parser, const OptionRow *r, const char *value)
{
    append_to(parser, member(parser, r), value);
}

static void ask(Parser *parser, const char *command)
{
    if (!parser->asked)
        parser->asked = find_command(parser->arena, command);
}

/* Options of compile that check has, too, and prove takes from the manifest, decide what the code
 * is: they are kept as words. */
static void keep_shaping(const Parser *parser, const OptionRow *r,
                         const char *value)
{
    const OptionRow list = { .at = offsetof(Options, shaping) };
    const char *text =
        value ? arena_printf(parser->arena, "--%s=%s", r->name, value)
              : arena_printf(parser->arena, "--%s", r->name);
    if (option_shapes(r))
        append(parser, &list, text);
}

static _Noreturn void fail_twice(const OptionRow *r)
{
    fail_at(STATUS_USAGE, LOC_NONE, NULL, "--%s is given twice", r->name);
}

static void set_text(const Parser *parser, const OptionRow *r,
                     const char *value)
{
    const char **text = member(parser, r);
    if (*text)
        fail_twice(r);
    *text = value;
}

/* `value` is NULL for options that take none. */
static void set(Parser *parser, const OptionRow *r, const char *value)
{
    bool *given = parser->given + (r - parser->row);
    if (*given && value && r->kind != OPTION_LIST && !option_of_model(r))
        fail_twice(r);
    *given = true;
    if (r->check)
        r->check(parser->arena, value);
    keep_shaping(parser, r, value);
    switch (r->kind) {
    case OPTION_FLAG:
        *(int *)member(parser, r) = 1;
        break;
    case OPTION_TEXT:
        set_text(parser, r, value);
        break;
    case OPTION_LIST:
        append(parser, r, value);
        break;
    case OPTION_BYTES:
        set_bytes(parser, r, value);
        break;
    case OPTION_CHOICE:
        *(int *)member(parser, r) = r->first + find_choice(parser, r, value);
        break;
    case OPTION_SET:
        set_all(parser, r, value);
        break;
    case OPTION_HELP:
        ask(parser, "help");
        break;
    case OPTION_VERSION:
        ask(parser, "version");
        break;
    }
}

/* The value of an option: attached to it, or the next word. An option is no value. */
static const char *take_value(Parser *parser, const OptionRow *r,
                              const char *attached)
{
    const char *next =
        parser->at < parser->words ? parser->word[parser->at] : "";
    const char *value = attached ? attached : next;
    if (!*value || (!attached && !strncmp(next, "--", 2)))
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--%s needs a value: --%s=%s",
                r->name, r->name, r->value);
    parser->at += !attached;
    return value;
}

/* ---- words ---- */

static void parse_long(Parser *parser, const char *word)
{
    const size_t length = strcspn(word, "=");
    const char *attached = word[length] ? word + length + 1 : NULL;
    const OptionRow *r = long_row(parser, word, length);
    if (attached && !r->value)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--%s takes no value", r->name);
    set(parser, r, r->value ? take_value(parser, r, attached) : NULL);
}

static void parse_short(Parser *parser, const char *letters)
{
    while (*letters) {
        const OptionRow *r = short_row(parser, *letters++);
        if (!r->value) {
            set(parser, r, NULL);
            continue;
        }
        const char *attached = *letters == '=' ? letters + 1 : letters;
        set(parser, r, take_value(parser, r, *letters ? attached : NULL));
        return;
    }
}

static void add_operand(Parser *parser, char *word)
{
    if (!parser->command) {
        parser->command = find_command(parser->arena, word);
        return;
    }
    parser->operand[parser->operands++] = word;
}

static void parse_words(Parser *parser)
{
    bool only_operands = false;
    while (parser->at < parser->words) {
        char *word = parser->word[parser->at++];
        if (only_operands || word[0] != '-' || !word[1])
            add_operand(parser, word);
        else if (!strcmp(word, "--"))
            only_operands = true;
        else if (word[1] == '-')
            parse_long(parser, word + 2);
        else
            parse_short(parser, word + 1);
    }
}

/* ---- what fits together ---- */

static const char *commands_of(const Parser *parser, const OptionRow *r)
{
    int count;
    const Command *row = command_rows(&count);
    const char *list = "";
    for (int i = 0; i < count; i++)
        if (r->commands >> i & 1)
            list = arena_printf(parser->arena, "%s%s%s", list,
                                *list ? ", " : "", row[i].name);
    return list;
}

static void check_commands(const Parser *parser)
{
    int count;
    const int place = (int)(parser->command - command_rows(&count));
    for (int i = 0; i < parser->rows; i++)
        if (parser->given[i] && !(parser->row[i].commands >> place & 1))
            fail_at(STATUS_USAGE, LOC_NONE,
                    arena_printf(
                        parser->arena,
                        "it is for %s; `inlay help %s` lists the options of %s",
                        commands_of(parser, parser->row + i),
                        parser->command->name, parser->command->name),
                    "--%s is not for %s", parser->row[i].name,
                    parser->command->name);
}

static bool is_given(const Parser *parser, const char *name)
{
    const OptionRow *r = find_row(parser, name, strlen(name));
    return parser->given[r - parser->row];
}

/* Is the value one of "blob|stream"? */
static bool is_listed(const char *list, const char *value)
{
    const size_t length = strlen(value);
    const char *at = list;
    for (; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (!strncmp(at, value, length) && (!at[length] || at[length] == '|'))
            return true;
    }
    return false;
}

/* Has that option been given, with one of those values? */
static bool has_value(const Parser *parser, const char *name,
                      const char *values)
{
    const OptionRow *row = find_row(parser, name, strlen(name));
    int taken;
    if (!is_given(parser, name))
        return false;
    if (!values)
        return true;
    memcpy(&taken, (const char *)parser->options + row->at, sizeof taken);
    return is_listed(values, row->choice[taken - row->first]);
}

/* Has what the rule is about been given? */
static bool is_met(const Parser *parser, const OptionRule *rule)
{
    const char *second = strchr(rule->other, '|');
    if (!second)
        return has_value(parser, rule->other, rule->value);
    const size_t length = (size_t)(second - rule->other);
    const char *first = arena_text(parser->arena, rule->other, length);
    return has_value(parser, first, rule->value) ||
           is_given(parser, second + 1);
}

/* "weights=stream or --code-weights": what the rule is about, without its first hyphens. */
static const char *other_text(const Parser *parser, const OptionRule *rule)
{
    const char *second = strchr(rule->other, '|');
    const int length =
        second ? (int)(second - rule->other) : (int)strlen(rule->other);
    return arena_printf(parser->arena, "%.*s%s%s%s%s", length, rule->other,
                        rule->value ? "=" : "", rule->value ? rule->value : "",
                        second ? " or --" : "", second ? second + 1 : "");
}

static void check_rules(const Parser *parser)
{
    int count;
    const OptionRule *rule = option_rules(&count);
    for (; count--; rule++) {
        if ((rule->command && strcmp(rule->command, parser->command->name)) ||
            !is_given(parser, rule->option))
            continue;
        if (rule->kind == RULE_NEEDS && !is_met(parser, rule))
            fail_at(STATUS_USAGE, LOC_NONE, NULL,
                    "%s --%s is of no use without --%s", parser->command->name,
                    rule->option, other_text(parser, rule));
        if (rule->kind == RULE_EXCLUDES && is_met(parser, rule))
            fail_at(STATUS_USAGE, LOC_NONE, NULL,
                    "%s takes --%s or --%s, not both", parser->command->name,
                    rule->option, other_text(parser, rule));
    }
}

/* How many operands a command takes at most, by the form that its row states. */
static int most_operands(const char *form)
{
    if (!*form)
        return 0;
    if (strstr(form, "..."))
        return INT_MAX;
    return strchr(form, ' ') ? 2 : 1;
}

static void check_operands(const Parser *parser)
{
    const char *form = parser->command->operand;
    const bool may_lack = *form == '[';
    const int most = most_operands(form);
    if (parser->operands > most)
        fail_at(STATUS_USAGE, LOC_NONE, SEE_HELP, "too many operands: \"%s\"",
                parser->operand[most]);
    const int least = most == INT_MAX ? 1 : most;
    if (parser->operands < least && !may_lack)
        fail_at(STATUS_USAGE, LOC_NONE, SEE_HELP,
                "missing operand: inlay %s %s", parser->command->name, form);
}

/* What stands in part `from` of the parts, as if it stood in `to`. */
static void add_part(const Parser *parser, const Options *from, Options *to)
{
    for (const OptionRow *r = parser->row; r < parser->row + parser->rows;
         r++) {
        void *at = (char *)to + r->at;
        const char *text;
        const char **list;
        if (!option_of_model(r))
            continue;
        memcpy(&text, (const char *)from + r->at, sizeof text);
        memcpy(&list, (const char *)from + r->at, sizeof list);
        if (r->kind == OPTION_LIST)
            for (; list && *list; list++)
                append_to(parser, at, *list);
        else if (text && *(const char **)at)
            fail_twice(r);
        else if (text)
            *(const char **)at = text;
    }
}

/* Of one model it does not matter where options stand. */
static void join_parts(Parser *parser)
{
    for (int i = 0; i <= parser->operands; i++)
        add_part(parser, parser->part + i, parser->options);
}

/* Of several models each has what stands before the first, and what stands behind it; a name stands
 * behind it, or it is that of all together. */
static void divide_parts(Parser *parser)
{
    Options *all = parser->part;
    const char *name = all->name;
    all->name = NULL;
    for (int i = 1; i <= parser->operands; i++) {
        Options each = *parser->options;
        each.model = parser->operand[i - 1];
        add_part(parser, all, &each);
        add_part(parser, parser->part + i, &each);
        parser->part[i] = each;
    }
    parser->options->name = name;
    parser->options->each = parser->part + 1;
    parser->options->models = parser->operands;
}

static void set_models(Parser *parser)
{
    const bool compiles = parser->command->run == cmd_compile;
    if (compiles && parser->operands > 1) {
        divide_parts(parser);
        return;
    }
    join_parts(parser);
    if (compiles)
        parser->options->model = parser->operand[0];
}

static void set_operands(Parser *parser)
{
    Options *o = parser->options;
    const char *form = parser->command->operand;
    o->operand = parser->operand;
    set_models(parser);
    if (most_operands(form) == INT_MAX)
        return;
    if (*form == '[')
        o->topic = parser->operand[0];
    else if (parser->operands)
        o->model = parser->operand[parser->operands - 1];
    if (parser->operands == 2)
        o->manifest = parser->operand[0];
}

static Parser parser_of(Arena *arena, Options *options, const Words *words)
{
    Parser parser = {
        .arena = arena,
        .options = options,
        .word = words->at,
        .words = words->n,
        .at = 1,
    };
    parser.row = option_rows(&parser.rows);
    parser.given = NEW_ARRAY(arena, bool, parser.rows);
    parser.operand = NEW_ARRAY(arena, const char *, words->n + 1);
    parser.part = NEW_ARRAY(arena, Options, words->n + 1);
    return parser;
}

const Command *options_parse(Arena *a, Options *o, int argc, char *const *argv)
{
    const Words words = response_words(a, argc, argv);
    Parser parser = parser_of(a, o, &words);
    *o = (Options){
        .word = argv,
        .words = argc,
        .all_words = words.at,
        .response = words.file,
    };
    parse_words(&parser);
    if (parser.asked) {
        o->topic = parser.command ? parser.command->name : NULL;
        return parser.asked;
    }
    if (!parser.command)
        fail_at(STATUS_USAGE, LOC_NONE, SEE_HELP, "no command");
    check_commands(&parser);
    check_rules(&parser);
    check_operands(&parser);
    set_operands(&parser);
    if (parser.command->run == cmd_help && o->topic)
        (void)find_command(a, o->topic);
    return parser.command;
}
