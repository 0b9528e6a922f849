/* SPDX-License-Identifier: Apache-2.0
 * Words of the command line into Options, by the rows of the table. Options may stand anywhere,
 * also after the operands, whatever the environment says. */
#include <string.h>

#include "cli/nearest.h"
#include "cli/numbers.h"
#include "cli/options.h"

enum { MOST_OPERANDS = 2 };

typedef struct Parser {
    Arena *arena;
    Options *options;
    char *const *word;
    int words, at;
    const OptionRow *row;
    int rows;
    uint64_t given; /* a bit for each row */
    char *operand[MOST_OPERANDS + 1];
    int operands; /* the command's own name is the first of them in the text, but not here */
    const Command *command, *asked; /* asked: by --help or --version */
} Parser;

static const char SEE_HELP[] = "`inlay --help` lists commands and options";

/* ---- names ---- */

static const Command *find_command(Arena *a, const char *name)
{
    int count;
    const Command *row = command_rows(&count);
    const char **names = NEW_ARRAY(a, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        if (!strcmp(row[i].name, name))
            return row + i;
        names[i] = row[i].name;
    }
    fail_unknown(a, "unknown command", name, names);
}

static const OptionRow *find_row(const Parser *p, const char *name, size_t length)
{
    for (int i = 0; i < p->rows; i++)
        if (strlen(p->row[i].name) == length && !strncmp(p->row[i].name, name, length))
            return p->row + i;
    return NULL;
}

static const OptionRow *long_row(const Parser *p, const char *name, size_t length)
{
    const OptionRow *r = find_row(p, name, length);
    if (r)
        return r;
    const char **names = NEW_ARRAY(p->arena, const char *, p->rows + 1);
    for (int i = 0; i < p->rows; i++)
        names[i] = p->row[i].name;
    const char *text = arena_text(p->arena, name, length), *near = nearest(text, names);
    fail_at(STATUS_USAGE, LOC_NONE,
            near ? arena_printf(p->arena, "did you mean --%s?", near) : SEE_HELP,
            "unknown option --%s", text);
}

static const OptionRow *short_row(const Parser *p, char letter)
{
    for (int i = 0; i < p->rows; i++)
        if (p->row[i].letter == letter)
            return p->row + i;
    fail_at(STATUS_USAGE, LOC_NONE, SEE_HELP, "unknown option -%c", letter);
}

/* ---- values ---- */

static void *member(const Parser *p, const OptionRow *r)
{
    return (char *)p->options + r->at;
}

static void set_bytes(const Parser *p, const OptionRow *r, const char *value)
{
    long long *bytes = NEW(p->arena, long long);
    const char *end = bytes_read(value, bytes);
    if (!end || *end)
        fail_at(STATUS_USAGE, LOC_NONE, "write it as 65536, 64K or 1M",
                "--%s \"%s\": no number of bytes", r->name, value);
    *(const long long **)member(p, r) = bytes;
}

static void set_choice(const Parser *p, const OptionRow *r, const char *value)
{
    int i = 0;
    while (r->choice[i] && strcmp(r->choice[i], value))
        i++;
    if (!r->choice[i])
        fail_unknown(p->arena, arena_printf(p->arena, "--%s: unknown value", r->name), value,
                     r->choice);
    *(int *)member(p, r) = r->first + i;
}

/* There are never more values than words. */
static void append(const Parser *p, const OptionRow *r, const char *value)
{
    const char ***list = member(p, r);
    if (!*list)
        *list = NEW_ARRAY(p->arena, const char *, p->words + 1);
    const char **end = *list;
    while (*end)
        end++;
    *end = value;
}

static void ask(Parser *p, const char *command)
{
    if (!p->asked)
        p->asked = find_command(p->arena, command);
}

/* `value` is NULL for options that take none. */
static void set(Parser *p, const OptionRow *r, const char *value)
{
    const uint64_t bit = UINT64_C(1) << (r - p->row);
    if ((p->given & bit) && value && r->kind != OPTION_LIST)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--%s is given twice", r->name);
    p->given |= bit;
    if (r->check)
        r->check(p->arena, value);
    switch (r->kind) {
    case OPTION_FLAG:
        *(int *)member(p, r) = 1;
        break;
    case OPTION_TEXT:
        *(const char **)member(p, r) = value;
        break;
    case OPTION_LIST:
        append(p, r, value);
        break;
    case OPTION_BYTES:
        set_bytes(p, r, value);
        break;
    case OPTION_CHOICE:
        set_choice(p, r, value);
        break;
    case OPTION_HELP:
        ask(p, "help");
        break;
    case OPTION_VERSION:
        ask(p, "version");
        break;
    }
}

/* The value of an option: attached to it, or the next word. An option is no value. */
static const char *take_value(Parser *p, const OptionRow *r, const char *attached)
{
    const char *next = p->at < p->words ? p->word[p->at] : "";
    const char *value = attached ? attached : next;
    if (!*value || (!attached && !strncmp(next, "--", 2)))
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--%s needs a value: --%s=%s", r->name, r->name,
                r->value);
    p->at += !attached;
    return value;
}

/* ---- words ---- */

static void parse_long(Parser *p, const char *word)
{
    const size_t length = strcspn(word, "=");
    const char *attached = word[length] ? word + length + 1 : NULL;
    const OptionRow *r = long_row(p, word, length);
    if (attached && !r->value)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--%s takes no value", r->name);
    set(p, r, r->value ? take_value(p, r, attached) : NULL);
}

static void parse_short(Parser *p, const char *letters)
{
    while (*letters) {
        const OptionRow *r = short_row(p, *letters++);
        if (!r->value) {
            set(p, r, NULL);
            continue;
        }
        const char *attached = *letters == '=' ? letters + 1 : letters;
        set(p, r, take_value(p, r, *letters ? attached : NULL));
        return;
    }
}

static void add_operand(Parser *p, char *word)
{
    if (!p->command) {
        p->command = find_command(p->arena, word);
        return;
    }
    if (p->operands == MOST_OPERANDS)
        fail_at(STATUS_USAGE, LOC_NONE, SEE_HELP, "too many operands: \"%s\"", word);
    p->operand[p->operands++] = word;
}

static void parse_words(Parser *p)
{
    bool only_operands = false;
    while (p->at < p->words) {
        char *word = p->word[p->at++];
        if (only_operands || word[0] != '-' || !word[1])
            add_operand(p, word);
        else if (!strcmp(word, "--"))
            only_operands = true;
        else if (word[1] == '-')
            parse_long(p, word + 2);
        else
            parse_short(p, word + 1);
    }
}

/* ---- what fits together ---- */

static const char *commands_of(const Parser *p, const OptionRow *r)
{
    int count;
    const Command *row = command_rows(&count);
    const char *list = "";
    for (int i = 0; i < count; i++)
        if (r->commands >> i & 1)
            list = arena_printf(p->arena, "%s%s%s", list, *list ? ", " : "", row[i].name);
    return list;
}

static void check_commands(const Parser *p)
{
    int count;
    const int place = (int)(p->command - command_rows(&count));
    for (int i = 0; i < p->rows; i++)
        if ((p->given >> i & 1) && !(p->row[i].commands >> place & 1))
            fail_at(STATUS_USAGE, LOC_NONE,
                    arena_printf(p->arena, "it is for %s; `inlay help %s` lists the options of %s",
                                 commands_of(p, p->row + i), p->command->name, p->command->name),
                    "--%s is not for %s", p->row[i].name, p->command->name);
}

static bool is_given(const Parser *p, const char *name)
{
    const OptionRow *r = find_row(p, name, strlen(name));
    return p->given >> (r - p->row) & 1;
}

static void check_rules(const Parser *p)
{
    int count;
    const OptionRule *rule = option_rules(&count);
    for (; count--; rule++) {
        if ((rule->command && strcmp(rule->command, p->command->name)) ||
            !is_given(p, rule->option))
            continue;
        const bool other = is_given(p, rule->other);
        if (rule->kind == RULE_NEEDS && !other)
            fail_at(STATUS_USAGE, LOC_NONE, NULL, "%s --%s is of no use without --%s",
                    p->command->name, rule->option, rule->other);
        if (rule->kind == RULE_EXCLUDES && other)
            fail_at(STATUS_USAGE, LOC_NONE, NULL, "%s takes --%s or --%s, not both",
                    p->command->name, rule->option, rule->other);
    }
}

static void check_operands(const Parser *p)
{
    const char *form = p->command->operand;
    const bool may_lack = *form == '[';
    const int most = !*form ? 0 : strchr(form, ' ') ? 2 : 1;
    if (p->operands > most)
        fail_at(STATUS_USAGE, LOC_NONE, SEE_HELP, "too many operands: \"%s\"", p->operand[most]);
    if (p->operands < most && !may_lack)
        fail_at(STATUS_USAGE, LOC_NONE, SEE_HELP, "missing operand: inlay %s %s", p->command->name,
                form);
}

static void set_operands(Parser *p)
{
    Options *o = p->options;
    if (p->command->operand[0] == '[')
        o->topic = p->operand[0] ? find_command(p->arena, p->operand[0])->name : NULL;
    else if (p->operands)
        o->model = p->operand[p->operands - 1];
    if (p->operands == 2)
        o->manifest = p->operand[0];
}

const Command *options_parse(Arena *a, Options *o, int argc, char *const *argv)
{
    Parser p = { .arena = a, .options = o, .word = argv, .words = argc, .at = 1 };
    *o = (Options){ 0 };
    p.row = option_rows(&p.rows);
    parse_words(&p);
    if (p.asked) {
        o->topic = p.command ? p.command->name : NULL;
        return p.asked;
    }
    if (!p.command)
        fail_at(STATUS_USAGE, LOC_NONE, SEE_HELP, "no command");
    check_commands(&p);
    check_rules(&p);
    check_operands(&p);
    set_operands(&p);
    return p.command;
}
