/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nearest.h"

#include "base/diag.h"
#include "emit/text.h"

static const char *listed(Arena *a, const char *const *names)
{
    Text t = text_new(a);
    text_put(&t, "one of: ");
    for (const char *const *name = names; *name; name++)
        text_print(&t, "%s%s", name == names ? "" : ", ", *name);
    return t.at;
}

void fail_unknown(Arena *a, const char *message, const char *text, const char *const *names)
{
    const char *near = nearest(text, names);
    fail_at(STATUS_USAGE, LOC_NONE,
            near ? arena_printf(a, "did you mean %s?", near) : listed(a, names), "%s \"%s\"",
            message, text);
}
