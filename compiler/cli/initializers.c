/* SPDX-License-Identifier: Apache-2.0
 * The list of constants, and the hash over the files that hold them. */
#include "cli/initializers.h"

#include <inttypes.h>
#include <string.h>

#include "base/digest.h"
#include "emit/text.h"

typedef void Visit(void *context, const char *name, const Recipe *r);

static void visit_graph(const Graph *graph, Visit *visit, void *context)
{
    for (size_t i = 0; i < graph->tensor.n; i++)
        if (graph->tensor.at[i]->value)
            visit(context, graph->tensor.at[i]->name, graph->tensor.at[i]->value);
    for (size_t i = 0; i < graph->node.n; i++) {
        const Node *n = graph->node.at[i];
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].tensor)
                visit(context, n->n_out && n->out[0] ? n->out[0]->name : n->name,
                      n->attr[k].tensor);
    }
}

static void visit_all(const Graph *root, Visit *visit, void *context)
{
    for (size_t k = 0; k < root->all.n; k++)
        visit_graph(root->all.at[k], visit, context);
}

/* --- dump --- */

typedef struct Printer {
    Arena *arena;
    const char *model;
    const File *spill;
    Pieces *results;
} Printer;

/* A column: what a terminal or a tab-separated table would take amiss becomes "?". */
static void put_column(Text *text, const char *s)
{
    for (; *s; s++)
        text_add(text, (unsigned char)*s >= ' ' && *s != 127 ? s : "?", 1);
}

static void print_one(void *context, const char *name, const Recipe *recipe)
{
    const Printer *printer = context;
    const Source *source = recipe_plain(recipe);
    const ArenaMark mark = arena_mark(printer->arena);
    const Shape shape = shape_of(recipe_rank(recipe), recipe_dims(recipe));
    Text text = text_new(printer->arena);
    put_column(&text, name);
    text_print(&text, "\t%s\t%s\t", dtype_name(recipe_dtype(recipe)),
               shape_text(printer->arena, &shape));
    if (source && source->file && source->file != printer->spill && source->spans) {
        uint64_t length = 0;
        for (int i = 0; i < source->spans; i++)
            length += source->span[i].length;
        text_print(&text, "%s\t", source->encoding == ENC_VARINT ? "varint" : "fixed");
        put_column(&text, source->file->path);
        text_print(&text, "\t%" PRIu64 "\t%" PRIu64, source->span->offset, length);
        if (source->spans > 1)
            text_print(&text, "\tin %d pieces", source->spans);
    } else {
        text_print(&text, "%s\t-\t-\t%" PRId64, source && source->file ? "gathered" : "memory",
                   recipe_bytes(recipe));
    }
    text_put(&text, "\n");
    pieces_put(printer->results, text.at, text.n);
    arena_release(printer->arena, mark);
}

void initializers_print(Compile *compile)
{
    Printer printer = { &compile->arena, compile->options->model, compile->store.spill,
                        &compile->results };
    pieces_print(printer.results, "name\ttype\tshape\tencoding\tfile\toffset\tlength\n");
    visit_all(compile->graph, print_one, &printer);
}

/* --- hash --- */

typedef struct Hasher {
    Compile *c;
    Sha256 hash;
    VEC(File *) seen;
} Hasher;

static void hash_file(void *context, const char *name, const Recipe *recipe)
{
    Hasher *hasher = context;
    const Source *source = recipe_plain(recipe);
    (void)name;
    if (!source || !source->file || source->file == hasher->c->store.spill ||
        !strcmp(source->file->path, hasher->c->options->model))
        return;
    for (size_t i = 0; i < hasher->seen.n; i++)
        if (hasher->seen.at[i] == source->file)
            return;
    VEC_PUSH(&hasher->c->arena, &hasher->seen, source->file);
    sha256_add_file(&hasher->hash, source->file, 0, source->file->size);
}

void model_hash(Compile *compile, char hex[65])
{
    Hasher hasher = { .c = compile };
    if (!strcmp(compile->options->model, "-"))
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--hash-model takes a model in a file");
    File *file = file_open(&compile->arena, compile->options->model, LOAD_STREAM);
    sha256_begin(&hasher.hash);
    store_work(&compile->store, "of the model hashed", file->size);
    store_hash(&compile->store, &hasher.hash, file, 0, file->size);
    file_close(file);
    visit_all(compile->graph, hash_file, &hasher);
    sha256_end(&hasher.hash, hex);
}
