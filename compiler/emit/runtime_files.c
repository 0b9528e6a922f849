/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/runtime_files.h"

#include <string.h>

#include "emit/embedded.h"

typedef VEC(const char *) Names;

static const char FOLDER[] = "kernels/";

static const char *without_folder(const char *name)
{
    const size_t length = sizeof FOLDER - 1;
    return strncmp(name, FOLDER, length) ? name : name + length;
}

/* What a runtime file is called in the output, where all lie side by side: with a prefix that no
 * model's name has (emit/names.h). */
static const char *output_name(Arena *arena, const char *name)
{
    const char *leaf = without_folder(name);
    if (!strncmp(leaf, "inlay", 5))
        return leaf;
    return arena_printf(arena, "inlay_%s", leaf);
}

/* The files that NAME.c includes. */
static Names files_used(const Emitter *emitter)
{
    const Program *program = emitter->program;
    Map seen = map_new(emitter->arena);
    Names names = { 0 };
    VEC_PUSH(emitter->arena, &names, "inlay.h");
    if (has_weights(emitter))
        VEC_PUSH(emitter->arena, &names, "inlay_weights.h");
    for (size_t i = 0; i < program->step.n; i++) {
        const char *file = program->step.at[i]->kernel->file;
        if (!map_put(&seen, file, emitter->arena))
            VEC_PUSH(emitter->arena, &names, file);
    }
    return names;
}

Text runtime_includes(const Emitter *emitter)
{
    const Names names = files_used(emitter);
    Text text = text_new(emitter->arena);
    text_put(&text, "#include <math.h>\n\n");
    for (size_t i = 0; i < names.n; i++)
        text_print(&text, "#include \"%s\"\n",
                   output_name(emitter->arena, names.at[i]));
    return text;
}

static const EmbeddedFile *find_file(const char *name)
{
    const char *leaf = without_folder(name);
    for (const EmbeddedFile *file = runtime_files; file->name; file++)
        if (!strcmp(file->name, leaf))
            return file;
    return NULL;
}

/* What stands before the name of another file; the second, of one included for each type. */
static const char INCLUDE[] = "#include \"";
static const char FAMILY[] = "#define INLAY_FAMILY \"";

/* The next name of another file in the text, NULL: none. */
static const char *next_name(const char *text)
{
    const char *plain = strstr(text, INCLUDE);
    const char *family = strstr(text, FAMILY);
    if (family && (!plain || family < plain))
        return family + sizeof FAMILY - 1;
    return plain ? plain + sizeof INCLUDE - 1 : NULL;
}

/* The file with the names of the output in its #includes; `found` gets those of the runtime. */
static Text renamed(Arena *arena, const EmbeddedFile *file, Names *found)
{
    Text text = text_new(arena);
    const char *from = file->text;
    const char *at = next_name(from);
    for (; at; at = next_name(from)) {
        const char *name = arena_text(arena, at, strcspn(at, "\""));
        text_add(&text, from, (size_t)(at - from));
        text_put(&text, output_name(arena, name));
        VEC_PUSH(arena, found, name);
        from = at + strlen(name);
    }
    text_put(&text, from);
    return text;
}

void runtime_copy(const Emitter *emitter, Output *output)
{
    Arena *arena = emitter->arena;
    Map seen = map_new(arena);
    Names todo = files_used(emitter);
    while (todo.n) {
        const EmbeddedFile *file = find_file(todo.at[--todo.n]);
        if (!file || map_put(&seen, file->name, arena))
            continue;
        const Text text = renamed(arena, file, &todo);
        const char *name = output_name(arena, file->name);
        output_text(output, arena_printf(arena, "src/%s", name), text.at,
                    text.n);
    }
}
