/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/template.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "emit/embedded.h"

enum { DEEPEST = 8 };

/* One #if, and whether its lines are taken. */
typedef struct Branch {
    bool ours; /* resolved here, not by the C compiler */
    bool taken;
} Branch;

typedef struct Filler {
    Arena *arena;
    const Filling *filling;
    Text out;
    Branch branch[DEEPEST];
    int depth;
    bool in_example;
    int used; /* marks that name a section */
    const char *fault;
} Filler;

static void object(Filler *filler, const char *why, const char *what)
{
    if (!filler->fault)
        filler->fault = arena_printf(filler->arena, "%s: %s", why, what);
}

/* ---- words ---- */

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (is_word_char(text[length]))
        length++;
    return length;
}

/* What stands for a word of the list, and its length; 0: it is none of them. */
static size_t listed_word(const Filling *filling, const char *text,
                          const char **with)
{
    const size_t length = word_length(text);
    const Word *word = filling->word;
    for (; word && word->name; word++) {
        *with = word->with;
        if (strlen(word->name) == length && !strncmp(word->name, text, length))
            return length;
    }
    return 0;
}

/* What stands for the word at `text` in the output, and how many characters it replaces; 0: it
 * stays. */
static size_t replacement(const Filler *filler, const char *text,
                          const char **with)
{
    const Filling *filling = filler->filling;
    const size_t whole = listed_word(filling, text, with);
    if (whole)
        return whole;
    if (begins(text, "MODEL_")) {
        *with = text_upper(filler->arena, filling->model);
        return strlen("MODEL");
    }
    *with = filling->model;
    if (begins(text, "model_") || begins(text, "model."))
        return strlen("model");
    return 0;
}

static void put_line(Filler *filler, const char *line)
{
    Text *out = &filler->out;
    while (*line) {
        const char *with;
        if (begins(line, "-DMODEL_")) { /* the macro of an option */
            text_put(out, "-D");
            line += strlen("-D");
        }
        const size_t length = replacement(filler, line, &with);
        if (length) {
            text_put(out, with);
            line += length;
        }
        const char *end = line;
        while (is_word_char(*end))
            end++;
        end += end == line && *end;
        text_add(out, line, (size_t)(end - line));
        line = end;
    }
    text_put(out, "\n");
}

/* ---- conditions ---- */

static bool is_met(Filler *filler, const char *name)
{
    const Condition *condition = filler->filling->condition;
    for (; condition && condition->name; condition++)
        if (!strcmp(condition->name, name))
            return condition->met;
    object(filler, "no such condition", name);
    return false;
}

static void open_branch(Filler *filler, const char *line)
{
    Branch branch = { .taken = true };
    const char *name = NULL;
    if (begins(line, "#if MODEL_"))
        name = line + strlen("#if ");
    if (begins(line, "#if !MODEL_"))
        name = line + strlen("#if !");
    if (name) {
        const bool negated = name[-1] == '!';
        branch.ours = true;
        branch.taken = is_met(filler, name) != negated;
    }
    if (filler->depth == DEEPEST) {
        object(filler, "too deep", line);
        return;
    }
    filler->branch[filler->depth++] = branch;
}

static bool is_taken(const Filler *filler)
{
    for (int i = 0; i < filler->depth; i++)
        if (!filler->branch[i].taken)
            return false;
    return true;
}

/* Is the line one of a condition that is resolved here? */
static bool take_condition(Filler *filler, const char *line)
{
    Branch *branch = filler->branch + filler->depth - 1;
    if (begins(line, "#if")) {
        open_branch(filler, line);
        return filler->depth && filler->branch[filler->depth - 1].ours;
    }
    const bool other = begins(line, "#else");
    const bool end = begins(line, "#endif");
    if (!other && !end)
        return false;
    if (!filler->depth) {
        object(filler, "without #if", line);
        return true;
    }
    const bool ours = branch->ours;
    if (other && ours)
        branch->taken = !branch->taken;
    filler->depth -= end;
    return ours;
}

/* ---- marks ---- */

static const char MARK[] = "//@";
static const char HASH_MARK[] = "#@";

static const Section *find_section(const Filler *filler, const char *name)
{
    const Section *section = filler->filling->section;
    for (; section->name; section++)
        if (!strcmp(section->name, name))
            return section;
    return NULL;
}

static void put_section(Filler *filler, const char *name)
{
    const Section *section = find_section(filler, name);
    if (!section) {
        object(filler, "no such section", name);
        return;
    }
    filler->used++;
    if (is_taken(filler) && section->text.n)
        text_add(&filler->out, section->text.at, section->text.n);
}

/* "//@ name", "//@ name {", "//@ {" */
static void take_mark(Filler *filler, const char *line)
{
    const char *name = strchr(line, '@') + 1;
    name += strspn(name, " ");
    const size_t length = strcspn(name, " {");
    filler->in_example = strchr(name, '{') != NULL;
    if (length)
        put_section(filler, arena_text(filler->arena, name, length));
}

static void take_line(Filler *filler, const char *line)
{
    if (filler->in_example) {
        if (!strcmp(line, "//@ }"))
            filler->in_example = false;
        return;
    }
    if (begins(line, MARK) || begins(line, HASH_MARK))
        take_mark(filler, line);
    else if (!take_condition(filler, line) && is_taken(filler))
        put_line(filler, line);
}

static Filler fill(Arena *arena, const char *text, const Filling *filling)
{
    Filler filler = {
        .arena = arena,
        .filling = filling,
        .out = text_new(arena),
    };
    int sections = 0;
    while (*text) {
        const size_t length = strcspn(text, "\n");
        take_line(&filler, arena_text(arena, text, length));
        text += length + (text[length] == '\n');
    }
    while (filling->section[sections].name)
        sections++;
    if (filler.used != sections)
        object(&filler, filling->model, "a section is unused or used twice");
    if (filler.depth || filler.in_example)
        object(&filler, filling->model, "a condition or example has no end");
    return filler;
}

static const EmbeddedFile *find_template(const char *name)
{
    for (const EmbeddedFile *file = template_files; file->name; file++)
        if (!strcmp(file->name, name))
            return file;
    assert(0 && "unknown template");
    return NULL;
}

Text template_filled(Arena *arena, const char *text, const Filling *filling)
{
    const Filler filler = fill(arena, text, filling);
    assert(!filler.fault);
    return filler.out;
}

Text template_fill(Arena *arena, const char *file, const Filling *filling)
{
    return template_filled(arena, find_template(file)->text, filling);
}

const char *template_fault(Arena *arena, const char *text,
                           const Filling *filling)
{
    return fill(arena, text, filling).fault;
}
