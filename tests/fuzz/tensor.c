/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: the bytes of a TensorProto file, as --input and --const take them -> its values. */
#include "ir/recipe.h"
#include "onnx/reader.h"
#include "target.h"
#include "wire_mutator.h"

enum { MOST_BYTES = 1 << 20 };

typedef struct Trial {
    Arena arena;
    Store store;
    const char *path;
} Trial;

static void read_values(void *context)
{
    static const ReadOptions none = { .no_external = true };
    Trial *t = context;
    const char *name;
    const Recipe *r =
        onnx_read_tensor(&t->arena, &t->store, t->path, &none, &name);
    if (recipe_bytes(r) <= MOST_BYTES)
        recipe_values(&t->store, &t->arena, r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Held file;
    held_set(&file, data, size);
    Trial t = { .path = file.path, .arena = { .budget = 64 << 20 } };
    t.store = (Store){ .arena = &t.arena, .window = 1 << 16 };
    Diag d = { .out = nowhere() };
    protect(&d, read_values, &t);
    file_close_all(&t.arena);
    arena_free(&t.store.scratch);
    arena_free(&t.arena);
    judge(d.status);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    const size_t n = seed % 8 ? wire_mutate(data, size, max_size, seed) : 0;
    return n ? n : LLVMFuzzerMutate(data, size, max_size);
}
