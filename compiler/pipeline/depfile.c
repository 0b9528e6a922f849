/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/depfile.h"

#include <string.h>

#include "base/diag.h"
#include "base/map.h"
#include "emit/text.h"
#include "pipeline/model_name.h"

/* As Make reads it: blanks and # behind a backslash, backslashes before them doubled, $ twice. */
static void put_path(Text *text, const char *path)
{
    size_t slashes = 0;
    if (strpbrk(path, "\n\r"))
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--depfile: the name \"%s\" has a line break", path);
    for (; *path; path++) {
        const char one[] = { *path, 0 };
        if (*path == ' ' || *path == '\t' || *path == '#') {
            for (; slashes; slashes--)
                text_put(text, "\\");
            text_put(text, "\\");
        }
        slashes = *path == '\\' ? slashes + 1 : 0;
        text_put(text, *path == '$' ? "$$" : one);
    }
}

/* The folder as it was given, but for slashes at its end. */
static const char *usual_target(Compile *compile)
{
    const char *folder = compile->options->output;
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    return arena_printf(&compile->arena, "%s%s%s.json",
                        arena_text(&compile->arena, folder, length),
                        folder[length - 1] == '/' ? "" : "/",
                        model_name(compile));
}

/* Each file once: with --from a model is read twice. */
static void put_input(Text *text, Map *seen, const char *path)
{
    if (map_put(seen, path, text))
        return;
    text_put(text, " \\\n  ");
    put_path(text, path);
}

static void put_inputs(Text *text, Compile *compile)
{
    Map seen = map_new(&compile->arena);
    const char *const *response = compile->options->response;
    for (size_t i = 0; i < compile->store.input.n; i++)
        put_input(text, &seen, compile->store.input.at[i]);
    for (; *response; response++)
        put_input(text, &seen, *response);
}

void depfile_write(Compile *compile)
{
    const char *target = compile->options->depfile_target;
    Text text = text_new(&compile->arena);
    put_path(&text, target ? target : usual_target(compile));
    text_put(&text, ":");
    put_inputs(&text, compile);
    text_put(&text, "\n");
    File *file = file_create(&compile->arena, compile->options->depfile);
    file_write(file, 0, text.at, text.n);
    file_close(file);
}
