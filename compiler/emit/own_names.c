/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/own_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* A name, or what names begin with: then digits and _ follow, or, behind a _, any word. */
typedef struct OwnName {
    const char *begin;
    enum { WHOLE, NUMBERED, ANY_END } end;
} OwnName;

static const OwnName own[] = {
    /* templates/model.c */
    { "BASE_", ANY_END },
    { "BASES", WHOLE },
    { "seal", WHOLE },
    { "steps", WHOLE },
    { "segments", WHOLE },
    { "splits", WHOLE },
    { "PLACED", WHOLE },
    { "RUN_STATE", WHOLE },
    { "ROW_STEP", WHOLE },
    { "take_weights", WHOLE },
    { "take_memory", WHOLE },
    { "take_arena", WHOLE },
    { "take_values", WHOLE },
    { "missing", WHOLE },
    { "go_on", WHOLE },
    { "go_on_for", WHOLE },
    { "run_all", WHOLE },
    { "run_shared", WHOLE },
    /* emit/tables.c */
    { "params", NUMBERED },
    { "operands", NUMBERED },
    { "list", NUMBERED },
    { "own", NUMBERED },
    { "slots", NUMBERED },
    /* templates/model_plan_check.h, emit/check_tables.c */
    { "check_rule", WHOLE },
    { "check_rules", WHOLE },
    { "check_life", WHOLE },
    { "check_area", WHOLE },
    { "check_tags", WHOLE },
    { "rules", NUMBERED },
    { "rows", NUMBERED },
};

static bool ends_as(const OwnName *name, const char *end, size_t length)
{
    if (name->end == WHOLE)
        return !length;
    if (name->end == NUMBERED)
        return length && strspn(end, "0123456789_") >= length;
    return length;
}

static bool is_own(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const size_t begin = strlen(own[i].begin);
        if (length >= begin && !strncmp(word, own[i].begin, begin) &&
            ends_as(own + i, word + begin, length - begin))
            return true;
    }
    return false;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* What is no name, from `at` on: a comment, a string, a member, a number, or one character. */
static size_t other_length(const char *at)
{
    size_t length = 1;
    if (!strncmp(at, "/*", 2)) {
        const char *end = strstr(at + 2, "*/");
        return end ? (size_t)(end + 2 - at) : strlen(at);
    }
    if (*at == '"') {
        while (at[length] && at[length] != '"')
            length += at[length] == '\\' && at[length + 1] ? 2 : 1;
        return length + (at[length] == '"');
    }
    if (*at == '.' || isdigit((unsigned char)*at))
        while (is_word_char(at[length]))
            length++;
    return length;
}

Text own_names(Arena *arena, const Text *text, const char *model)
{
    Text out = text_new(arena);
    const char *at = text->n ? text->at : "";
    while (*at) {
        size_t length = 0;
        if (!isdigit((unsigned char)*at))
            while (is_word_char(at[length]))
                length++;
        const bool found = is_own(at, length);
        if (!length)
            length = other_length(at);
        text_add(&out, at, length);
        if (found)
            text_print(&out, "_of_%s", model);
        at += length;
    }
    return out;
}
