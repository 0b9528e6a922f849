/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nearest.h"

#include "base/diag.h"
#include "emit/text.h"

static const char *listed(Arena *arena, const char *const *names)
{
    Text text = text_new(arena);
    text_put(&text, "one of: ");
    for (const char *const *name = names; *name; name++)
        text_print(&text, "%s%s", name == names ? "" : ", ", *name);
    return text.at;
}

void fail_unknown(Arena *arena, const char *message, const char *text,
                  const char *const *names)
{
    const char *near = nearest(text, names);
    fail_at(STATUS_USAGE, LOC_NONE,
            near ? arena_printf(arena, "did you mean %s?", near)
                 : listed(arena, names),
            "%s \"%s\"", message, text);
}
