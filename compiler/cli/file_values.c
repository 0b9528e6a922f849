/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/file_values.h"

#include <string.h>

#include "onnx/reader.h"

enum { LARGEST_FILE = 1 << 30 };

Loc value_place(const char *path)
{
    return (Loc){ .file = path, .byte = -1, .node = -1 };
}

void value_fail(const char *path, const char *what)
{
    fail_at(STATUS_MALFORMED, value_place(path), NULL, "%s", what);
}

char *value_text(Arena *arena, File *file)
{
    if (file->size > LARGEST_FILE)
        value_fail(file->path, "is too large for a value");
    char *text = arena_alloc(arena, (size_t)file->size + 1);
    file_read(file, 0, text, (size_t)file->size);
    text[file->size] = 0;
    return text;
}

/* ---- formats ---- */

static FileValues proto_read(const ValueFile *from)
{
    Recipe *recipe =
        onnx_read_tensor(from->arena, from->store, from->path, NULL, NULL);
    return (FileValues){
        .dtype = recipe_dtype(recipe),
        .shape = shape_of(recipe_rank(recipe), recipe_dims(recipe)),
        .at = recipe_values(from->store, from->arena, recipe),
    };
}

static FileValues jpeg_refuse(const ValueFile *from)
{
    fail_at(STATUS_UNSUPPORTED, value_place(from->path), "save it as .png",
            "JPEG pictures are not read: each decoder gives other values");
}

typedef struct Format {
    const char *head; /* the file's first bytes */
    ValueReader *read;
    bool picture;
} Format;

static const Format formats[] = {
    { "\x93NUM", npy_read, false }, { "RIFF", wav_read, false },
    { "P5", netpbm_read, true },    { "P6", netpbm_read, true },
    { "\x89PNG", png_read, true },  { "\xff\xd8\xff", jpeg_refuse, true },
};

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path);
    const size_t k = strlen(ending);
    return n >= k && !strcmp(path + n - k, ending);
}

/* NULL: text has no first bytes that are always the same, nor has a TensorProto. */
static const Format *format_of(File *file)
{
    char head[4] = "";
    if (file->size >= sizeof head)
        file_read(file, 0, head, sizeof head);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!memcmp(head, formats[i].head, strlen(formats[i].head)))
            return formats + i;
    return NULL;
}

bool file_is_picture(File *file)
{
    const Format *format = format_of(file);
    return format && format->picture;
}

FileValues file_values(const ValueFile *from)
{
    const Format *format = format_of(from->file);
    if (format)
        return format->read(from);
    if (!ends_with(from->path, ".csv") && !ends_with(from->path, ".txt"))
        return proto_read(from);
    return from->wanted->words ? words_read(from) : text_read(from);
}
