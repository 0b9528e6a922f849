/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/values.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "inlay_threads.h"
#include "pipeline/numbers.h"

enum { MOST_EFFORT = 1000 };

/* A smaller step is done before threads have woken. */
enum { SPLIT_WORK = 1 << 17 };

const char *value_divide(Arena *arena, const char *text, char **name)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !equals[1])
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "\"%s\": expected NAME=VALUE",
                text);
    *name = arena_text(arena, text, (size_t)(equals - text));
    return equals + 1;
}

const char *value_shell_word(Arena *arena, const char *word)
{
    Text text = text_new(arena);
    bool plain = *word != 0;
    for (const char *letter = word; *letter; letter++)
        plain = plain &&
                (isalnum((unsigned char)*letter) || strchr("_-./=:,", *letter));
    if (plain)
        return word;
    text_put(&text, "'");
    for (const char *letter = word; *letter; letter++)
        text_add(&text, *letter == '\'' ? "'\\''" : letter,
                 *letter == '\'' ? 4 : 1);
    text_put(&text, "'");
    return text.at;
}

void value_put_word(Text *text, const char *word)
{
    text_put(text, " ");
    text_put(text, value_shell_word(text->arena, word));
}

void value_put_command(Text *text, const Options *options)
{
    text_put(text, "inlay");
    for (int i = 1; i < options->words; i++)
        value_put_word(text, options->word[i]);
}

/* Returns what follows it. */
static const char *read_dimension(const char *text, int64_t *dimension)
{
    const char *end = number_read(text, INT32_MAX, dimension);
    if (!end)
        fail_at(STATUS_USAGE, LOC_NONE, "a number from 0 to 2147483647",
                "\"%s\" is no dimension", text);
    return end;
}

int64_t value_read_dimension(const char *text)
{
    int64_t dimension;
    if (*read_dimension(text, &dimension))
        fail_at(STATUS_USAGE, LOC_NONE, "one number, like --dim T=40",
                "\"%s\" is no dimension", text);
    return dimension;
}

bool value_is_length(Arena *arena, const char *text, char **symbol,
                     LengthValue *value)
{
    int64_t least, most;
    const char *number = value_divide(arena, text, symbol);
    if (!strstr(number, ".."))
        return false;
    const char *end = number_read(number, INT32_MAX, &least);
    if (!end || strncmp(end, "..", 2))
        end = NULL;
    if (end)
        end = number_read(end + 2, INT32_MAX, &most);
    if (!end || *end || least > most)
        fail_at(STATUS_USAGE, LOC_NONE, "two numbers, like --dim T=1..64",
                "\"%s\" are no bounds of a length", number);
    *value = (LengthValue){ (int32_t)least, (int32_t)most };
    return true;
}

int64_t value_read_effort(const char *text)
{
    int64_t times = 1;
    const char *end = text ? number_read(text, MOST_EFFORT, &times) : "";
    if (!end || *end)
        fail_at(STATUS_USAGE, LOC_NONE, "a number from 0 to 1000",
                "\"%s\" is no effort", text);
    return times ? 10 * times : 1;
}

ThreadsValue value_read_threads(const char *text)
{
    int64_t threads;
    int64_t work = SPLIT_WORK;
    const char *end = number_read(text, INLAY_MOST_THREADS, &threads);
    if (end && *end == ':')
        end = number_read(end + 1, INT64_MAX, &work);
    if (!end || *end || threads < 2)
        fail_at(STATUS_USAGE, LOC_NONE,
                "a number from 2 to 64; behind a colon, how many "
                "multiplications a step has at least that is shared: 4:100000",
                "--threads: \"%s\" is no number of threads", text);
    return (ThreadsValue){ (int32_t)threads, work };
}

/* Capitals, behind the first one digits and _ as well; N is none. Returns what follows, with the
 * name, or the text. */
static const char *read_dimension_name(Arena *arena, const char *text,
                                       const char **name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t length =
        isupper((unsigned char)*text) ? strspn(text, letters) : 0;
    const bool any = length == 1 && *text == 'N';
    if (length && !any)
        *name = arena_text(arena, text, length);
    return text + length;
}

Shape value_read_shape(Arena *arena, const char *text,
                       const char *name[MAX_RANK])
{
    Shape shape = shape_scalar();
    if (!strcmp(text, "scalar"))
        return shape;
    for (const char *at = text;; at++) {
        if (shape.rank == MAX_RANK)
            fail_at(STATUS_UNSUPPORTED, LOC_NONE, NULL,
                    "--shape: more than %d dimensions", MAX_RANK);
        const int k = shape.rank++;
        const char *begin = at;
        shape.dim[k] = -1;
        name[k] = NULL;
        at = read_dimension_name(arena, begin, name + k);
        if (at == begin)
            at = read_dimension(begin, shape.dim + k);
        if (!*at)
            return shape;
        if (*at != 'x')
            fail_at(STATUS_USAGE, LOC_NONE,
                    "write it as 1x3x224x224; a capital calls a dimension so, "
                    "for --dim: 1xLx80 --dim L=1..64",
                    "cannot read shape \"%s\"", text);
    }
}

const char *value_shape_text(Arena *arena, const Shape *shape)
{
    Text text = text_new(arena);
    text_put(&text, shape->rank ? "" : "scalar");
    for (int k = 0; k < shape->rank; k++) {
        text_put(&text, k ? "x" : "");
        if (shape->dim[k] < 0)
            text_put(&text, "N");
        else
            text_print(&text, "%" PRId64, shape->dim[k]);
    }
    return text.at;
}
