/* SPDX-License-Identifier: Apache-2.0
 * The list of constants, and the hash over the files that hold them. */
#include "cli/initializers.h"

#include <inttypes.h>
#include <string.h>

#include "base/digest.h"
#include "emit/text.h"

typedef void Visit(void *context, const char *name, const Recipe *r);

static void visit_graph(const Graph *g, Visit *visit, void *context)
{
    for (size_t i = 0; i < g->tensor.n; i++)
        if (g->tensor.at[i]->value)
            visit(context, g->tensor.at[i]->name, g->tensor.at[i]->value);
    for (size_t i = 0; i < g->node.n; i++) {
        const Node *n = g->node.at[i];
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
static void put_column(Text *t, const char *s)
{
    for (; *s; s++)
        text_add(t, (unsigned char)*s >= ' ' && *s != 127 ? s : "?", 1);
}

static void print_one(void *context, const char *name, const Recipe *r)
{
    const Printer *p = context;
    const Source *s = recipe_plain(r);
    const ArenaMark mark = arena_mark(p->arena);
    const Shape shape = shape_of(recipe_rank(r), recipe_dims(r));
    Text t = text_new(p->arena);
    put_column(&t, name);
    text_print(&t, "\t%s\t%s\t", dtype_name(recipe_dtype(r)), shape_text(p->arena, &shape));
    if (s && s->file && s->file != p->spill && s->spans) {
        uint64_t length = 0;
        for (int i = 0; i < s->spans; i++)
            length += s->span[i].length;
        text_print(&t, "%s\t", s->encoding == ENC_VARINT ? "varint" : "fixed");
        put_column(&t, s->file->path);
        text_print(&t, "\t%" PRIu64 "\t%" PRIu64, s->span->offset, length);
        if (s->spans > 1)
            text_print(&t, "\tin %d pieces", s->spans);
    } else {
        text_print(&t, "%s\t-\t-\t%" PRId64, s && s->file ? "gathered" : "memory", recipe_bytes(r));
    }
    text_put(&t, "\n");
    pieces_put(p->results, t.at, t.n);
    arena_release(p->arena, mark);
}

void initializers_print(Compile *c)
{
    Printer p = { &c->arena, c->options->model, c->store.spill, &c->results };
    pieces_print(p.results, "name\ttype\tshape\tencoding\tfile\toffset\tlength\n");
    visit_all(c->graph, print_one, &p);
}

/* --- hash --- */

typedef struct Hasher {
    Compile *c;
    Sha256 hash;
    VEC(File *) seen;
} Hasher;

static void hash_file(void *context, const char *name, const Recipe *r)
{
    Hasher *h = context;
    const Source *s = recipe_plain(r);
    (void)name;
    if (!s || !s->file || s->file == h->c->store.spill ||
        !strcmp(s->file->path, h->c->options->model))
        return;
    for (size_t i = 0; i < h->seen.n; i++)
        if (h->seen.at[i] == s->file)
            return;
    VEC_PUSH(&h->c->arena, &h->seen, s->file);
    sha256_add_file(&h->hash, s->file, 0, s->file->size);
}

void model_hash(Compile *c, char hex[65])
{
    Hasher h = { .c = c };
    if (!strcmp(c->options->model, "-"))
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "--hash-model takes a model in a file");
    File *f = file_open(&c->arena, c->options->model, LOAD_STREAM);
    sha256_begin(&h.hash);
    store_work(&c->store, "of the model hashed", f->size);
    store_hash(&c->store, &h.hash, f, 0, f->size);
    file_close(f);
    visit_all(c->graph, hash_file, &h);
    sha256_end(&h.hash, hex);
}
