/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/response.h"

#include <limits.h>
#include <string.h>

#include "base/diag.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/vec.h"

enum { DEEPEST = 8 };

typedef struct Source {
    const char *path;
    char *at; /* what is left of the text */
} Source;

typedef struct Expansion {
    Arena *arena;
    VEC(char *) word;
    VEC(const char *) file;
    Source open[DEEPEST]; /* files within files */
    int depth;
    bool only_operands;
} Expansion;

static _Noreturn void fail_file(const char *path, const char *help,
                                const char *what)
{
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    fail_at(STATUS_USAGE, loc, help, "%s", what);
}

static bool is_blank(char letter)
{
    return letter && strchr(" \t\r\n\v\f", letter);
}

/* A letter of a word, without the quotes and backslashes that keep it; *quote is the open one. */
static bool take_letter(Source *source, char *quote, char *letter)
{
    const char found = *source->at++;
    *letter = found;
    if (found == *quote) {
        *quote = 0;
        return false;
    }
    if (!*quote && (found == '"' || found == '\'')) {
        *quote = found;
        return false;
    }
    if (found != '\\' || *quote == '\'')
        return true;
    *letter = *source->at;
    source->at += *letter != 0;
    return true;
}

/* The next word, written over the text it comes from; NULL: there is none. */
static char *next_word(Source *source)
{
    while (is_blank(*source->at))
        source->at++;
    char *const word = source->at;
    char *end = word;
    char quote = 0;
    if (!*word)
        return NULL;
    while (*source->at && (quote || !is_blank(*source->at))) {
        char letter;
        if (take_letter(source, &quote, &letter))
            *end++ = letter;
    }
    if (quote)
        fail_file(source->path, NULL, "a quote is not closed");
    source->at += *source->at != 0;
    *end = 0;
    return word;
}

static bool ends_with(const char *word, const char *ending)
{
    const size_t length = strlen(word);
    const size_t own = strlen(ending);
    return length >= own && !strcmp(word + length - own, ending);
}

static void open_file(Expansion *expansion, const char *path)
{
    Arena *arena = expansion->arena;
    if (ends_with(path, ".toml"))
        fail_file(path,
                  "python3 -c 'import json, sys, tomllib; "
                  "print(json.dumps(tomllib.load(sys.stdin.buffer)))' "
                  "<LIST.toml >LIST.json",
                  "lists of models are JSON");
    if (expansion->depth == DEEPEST)
        fail_file(path, "does one of them name itself?",
                  "files of words lie too deep in each other");
    File *file = file_open(arena, path, LOAD_STREAM);
    const size_t length = (size_t)file->size;
    char *text = arena_alloc(arena, length + 1);
    file_read(file, 0, text, length);
    file_close(file);
    text[length] = 0;
    if (strlen(text) != length)
        fail_file(path, NULL, "is no text: it has a byte 0");
    expansion->open[expansion->depth++] = (Source){ path, text };
    VEC_PUSH(arena, &expansion->file, path);
}

static bool is_file(const Expansion *expansion, const char *word)
{
    if (*word != '@' || !word[1] || expansion->only_operands)
        return false;
    return !ends_with(word, ".json");
}

static void add(Expansion *expansion, char *word)
{
    if (is_file(expansion, word)) {
        open_file(expansion, word + 1);
        return;
    }
    expansion->only_operands |= !strcmp(word, "--");
    VEC_PUSH(expansion->arena, &expansion->word, word);
    if (expansion->word.n > LIMIT_LINE)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "more than %d words", LIMIT_LINE);
}

static void add_all(Expansion *expansion, char *word)
{
    add(expansion, word);
    while (expansion->depth) {
        char *next = next_word(&expansion->open[expansion->depth - 1]);
        if (next)
            add(expansion, next);
        else
            expansion->depth--;
    }
}

Words response_words(Arena *arena, int argc, char *const *argv)
{
    Expansion expansion = { .arena = arena };
    for (int i = 0; i < argc; i++)
        if (i)
            add_all(&expansion, argv[i]);
        else
            VEC_PUSH(arena, &expansion.word, argv[i]);
    if (expansion.word.n > INT_MAX / 2)
        fail_file(NULL, NULL, "too many words");
    const int n = (int)expansion.word.n;
    VEC_PUSH(arena, &expansion.word, NULL);
    VEC_PUSH(arena, &expansion.file, NULL);
    return (Words){ expansion.word.at, n, expansion.file.at };
}
