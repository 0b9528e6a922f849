/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/initializers.h"

#include <inttypes.h>

#include "emit/text.h"
#include "pipeline/constants.h"

/* A column: what a terminal or a tab-separated table would misread becomes "?". */
static void put_column(Text *text, const char *words)
{
    for (; *words; words++) {
        const bool plain = (unsigned char)*words >= ' ' && *words != 127;
        text_add(text, plain ? words : "?", 1);
    }
}

static bool lies_in_file(const Compile *compile, const Source *source)
{
    return source && source->file && source->spans &&
           source->file != compile->store.spill;
}

static void put_place(Text *text, const Source *source)
{
    const bool varint = source->encoding == ENC_VARINT;
    uint64_t length = 0;
    for (int i = 0; i < source->spans; i++)
        length += source->span[i].length;
    text_print(text, "%s\t", varint ? "varint" : "fixed");
    put_column(text, source->file->path);
    text_print(text, "\t%" PRIu64 "\t%" PRIu64, source->span->offset, length);
    if (source->spans > 1)
        text_print(text, "\tin %d pieces", source->spans);
}

static void print_one(void *context, const char *name, const Recipe *recipe)
{
    Compile *compile = context;
    Arena *arena = &compile->arena;
    const ArenaMark mark = arena_mark(arena);
    const Source *source = recipe_plain(recipe);
    const Shape shape = shape_of(recipe_rank(recipe), recipe_dims(recipe));
    const bool gathered = source && source->file;
    Text text = text_new(arena);
    put_column(&text, name);
    text_print(&text, "\t%s\t%s\t", dtype_name(recipe_dtype(recipe)),
               shape_text(arena, &shape));
    if (lies_in_file(compile, source))
        put_place(&text, source);
    else
        text_print(&text, "%s\t-\t-\t%" PRId64,
                   gathered ? "gathered" : "memory", recipe_bytes(recipe));
    text_put(&text, "\n");
    pieces_put(&compile->results, text.at, text.n);
    arena_release(arena, mark);
}

void initializers_print(Compile *compile)
{
    pieces_print(&compile->results,
                 "name\ttype\tshape\tencoding\tfile\toffset\tlength\n");
    constants_visit(compile->graph, print_one, compile);
}
