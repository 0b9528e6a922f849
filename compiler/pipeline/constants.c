/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/constants.h"

#include <string.h>

#include "base/digest.h"

/* A constant of an attribute is called like the node's first result. */
static void visit_node(const Node *node, ConstantVisit *visit, void *context)
{
    const Tensor *result = node->n_out ? node->out[0] : NULL;
    const char *name = result ? result->name : node->name;
    for (int i = 0; i < node->n_attr; i++)
        if (node->attr[i].tensor)
            visit(context, name, node->attr[i].tensor);
}

static void visit_graph(const Graph *graph, ConstantVisit *visit, void *context)
{
    for (size_t i = 0; i < graph->tensor.n; i++) {
        const Tensor *tensor = graph->tensor.at[i];
        if (tensor->value)
            visit(context, tensor->name, tensor->value);
    }
    for (size_t i = 0; i < graph->node.n; i++)
        visit_node(graph->node.at[i], visit, context);
}

void constants_visit(const Graph *root, ConstantVisit *visit, void *context)
{
    for (size_t i = 0; i < root->all.n; i++)
        visit_graph(root->all.at[i], visit, context);
}

/* ---- hash ---- */

typedef struct Hasher {
    Arena *arena;
    const char *model;
    const File *spill; /* no file of the model */
    Sha256 hash;
    VEC(const File *) seen;
} Hasher;

static bool is_hashed_already(const Hasher *hasher, const File *file)
{
    if (file == hasher->spill || !strcmp(file->path, hasher->model))
        return true;
    for (size_t i = 0; i < hasher->seen.n; i++)
        if (hasher->seen.at[i] == file)
            return true;
    return false;
}

static void hash_file(void *context, const char *name, const Recipe *recipe)
{
    Hasher *hasher = context;
    const Source *source = recipe_plain(recipe);
    File *file = source ? source->file : NULL;
    (void)name;
    if (!file || is_hashed_already(hasher, file))
        return;
    VEC_PUSH(hasher->arena, &hasher->seen, file);
    sha256_add_file(&hasher->hash, file, 0, file->size);
}

void constants_hash(Compile *compile, char hex[65])
{
    const char *path = compile->options->model;
    Hasher hasher = {
        .arena = &compile->arena,
        .model = path,
        .spill = compile->store.spill,
    };
    if (!strcmp(path, "-"))
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--hash-model takes a model in a file");
    File *file = file_open(&compile->arena, path, LOAD_STREAM);
    sha256_begin(&hasher.hash);
    store_work(&compile->store, "of the model hashed", file->size);
    store_hash(&compile->store, &hasher.hash, file, 0, file->size);
    file_close(file);
    constants_visit(compile->graph, hash_file, &hasher);
    sha256_end(&hasher.hash, hex);
}
