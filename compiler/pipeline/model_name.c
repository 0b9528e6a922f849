/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/model_name.h"

#include <ctype.h>
#include <string.h>

#include "emit/names.h"

static bool is_identifier(const char *name)
{
    if (!islower((unsigned char)*name) || strlen(name) > NAME_LONGEST)
        return false;
    for (; *name; name++) {
        const unsigned char letter = (unsigned char)*name;
        if (!islower(letter) && !isdigit(letter) && letter != '_')
            return false;
    }
    return true;
}

static void check_given(const char *name)
{
    if (!is_identifier(name))
        fail_at(STATUS_USAGE, LOC_NONE,
                "take lower-case letters, digits and _, a letter first, at "
                "most 40",
                "--name \"%s\" is no usable C identifier", name);
    const char *fault = name_fault(name);
    if (fault)
        fail_at(STATUS_USAGE, LOC_NONE, "take another, like my_net",
                "the name \"%s\" %s", name, fault);
}

/* The last part of a path; slashes at its end are none. */
static const char *last_part(Arena *arena, const char *path)
{
    size_t end = strlen(path);
    while (end && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin && path[begin - 1] != '/')
        begin--;
    return arena_text(arena, path + begin, end - begin);
}

/* The file's name up to its first point, in letters that an identifier can have. */
static char *stem_of(Arena *arena, const char *path)
{
    const char *file = last_part(arena, path);
    char *name = arena_text(arena, file, strcspn(file, "."));
    if (strlen(name) > NAME_LONGEST)
        name[NAME_LONGEST] = 0;
    for (char *letter = name; *letter; letter++) {
        const int lower = tolower((unsigned char)*letter);
        *letter = isalnum(lower) ? (char)lower : '_';
    }
    return name;
}

const char *name_by_options(Arena *arena, const Options *options)
{
    const char *given = options->name;
    if (given) {
        check_given(given);
        return given;
    }
    const char *path = options->model ? options->model : options->output;
    const char *name = stem_of(arena, path);
    if (name_fault(name))
        name = arena_printf(arena, "model_%.32s", name);
    const bool usable = is_identifier(name) && !name_fault(name);
    return usable ? name : "model";
}

const char *model_name(Compile *compile)
{
    return name_by_options(&compile->arena, compile->options);
}
