/* SPDX-License-Identifier: Apache-2.0
 * Lengths that runs are given: of the values what follows them, and each variant of the steps as a
 * manifest of its own. */
#include <string.h>

#include "emit/manifest.h"
#include "emit/text.h"
#include "ir/lengths.h"

/* ---- values ---- */

bool manifest_follows(const Program *program, const Tensor *tensor,
                      size_t index)
{
    const Graph *graph = program->graph;
    return program->lengths && index < graph_results(graph) &&
           graph->output.at[index] == tensor &&
           lengths_of_result(program->lengths, index);
}

static int length_of(const Lengths *lengths, const char *symbol)
{
    for (int i = 0; symbol && i < lengths->n; i++)
        if (!strcmp(lengths->of[i].symbol, symbol))
            return i;
    return -1;
}

void manifest_symbols(json_t *object, const Program *program,
                      const Tensor *tensor)
{
    const Lengths *lengths = program->lengths;
    bool any = false;
    if (!lengths || !tensor->symbol)
        return;
    json_t *list = manifest_made(json_array());
    for (int k = 0; k < tensor->shape.rank; k++) {
        const int i = length_of(lengths, tensor->symbol[k]);
        any = any || i >= 0;
        json_array_append_new(
            list, manifest_made(i < 0 ? json_null()
                                      : manifest_name(program->graph->arena,
                                                      lengths->of[i].symbol)));
    }
    if (any)
        manifest_set(object, "symbols", list);
}

/* ---- lengths that runs are given ---- */

static void put_lengths(ManifestText *manifest, const Program *program)
{
    const Lengths *lengths = program->lengths;
    Arena *arena = program->graph->arena;
    json_t *dims = manifest_made(json_array());
    json_t *variant_of = manifest_made(json_array());
    for (int i = 0; i < lengths->n; i++) {
        const Length *length = lengths->of + i;
        json_t *object = manifest_made(json_object());
        manifest_set(object, "symbol", manifest_name(arena, length->symbol));
        manifest_set(object, "field",
                     json_string(arena_printf(arena, "dim%d", i)));
        manifest_set(object, "least", json_integer(length->least));
        manifest_set(object, "most", json_integer(length->most));
        json_array_append_new(dims, object);
    }
    for (int64_t i = 0; i < lengths_combinations(lengths); i++)
        json_array_append_new(
            variant_of, manifest_made(json_integer(lengths->variant_of[i])));
    manifest_key(
        manifest, "lengths",
        json_pack("{s:o,s:o}", "dims", dims, "variant_of", variant_of));
}

static void add_text(void *to, const char *text, size_t n)
{
    text_add(to, text, n);
}

/* Each as a manifest of its own. */
static void put_variants(ManifestText *manifest, const Program *program,
                         const ManifestFacts *facts)
{
    const Lengths *lengths = program->lengths;
    manifest_list(manifest, "variants");
    for (size_t v = 1; v < lengths->variant.n; v++) {
        Text text = text_new(program->graph->arena);
        ManifestFacts own = *facts;
        own.files = NULL;
        own.dim = facts->variant_dim[v];
        own.variant_dim = NULL;
        manifest_write(lengths->variant.at[v]->program, &own, NULL,
                       (Sink){ add_text, &text });
        manifest_element(manifest, json_loadb(text.at, text.n, 0, NULL));
    }
    manifest_list_end(manifest);
}

void manifest_lengths(ManifestText *manifest, const Program *program,
                      const ManifestFacts *facts)
{
    if (!program->lengths || !facts->variant_dim)
        return;
    put_lengths(manifest, program);
    put_variants(manifest, program, facts);
}
