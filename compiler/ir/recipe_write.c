/* SPDX-License-Identifier: Apache-2.0
 * Results of recipes: in memory, in a file, in the spill file. What is not changed is copied. */
#include <string.h>

#include "base/progress.h"
#include "base/size.h"
#include "ir/recipe_form.h"

/* --- how far the work is --- */

void store_work(Store *store, const char *doing, uint64_t all)
{
    store->work = (Work){ .doing = doing, .all = all };
    progress_bytes(doing, 0, all);
}

void store_worked(Store *store, uint64_t bytes)
{
    store->work.done += bytes;
    if (store->work.all)
        progress_bytes(store->work.doing, store->work.done, store->work.all);
}

void recipe_wrote(Store *store, uint64_t bytes)
{
    store->bytes_written += bytes;
    store_worked(store, bytes);
}

/* --- plain recipes: bytes are copied as they are --- */

static bool copies_bytes(const Recipe *recipe)
{
    const Source *plain = recipe_plain(recipe);
    return plain && (!plain->file || plain->encoding == ENC_FIXED);
}

static void copy_out(Store *store, const Recipe *recipe, File *out, uint64_t at)
{
    const uint64_t bytes = (uint64_t)recipe_bytes(recipe);
    Source *source = recipe->source;
    if (!source->file) {
        file_write(out, at, source->memory, (size_t)bytes);
        store->bytes_written += bytes;
        return;
    }
    const ArenaMark mark = arena_mark(store->arena);
    const size_t most = recipe_room(store);
    const size_t room = bytes < most ? (size_t)bytes : most;
    source_open(store, source);
    uint8_t *buffer = arena_buffer(store->arena, room);
    for (uint64_t done = 0; done < bytes;) {
        const size_t n = bytes - done < room ? (size_t)(bytes - done) : room;
        source_bytes(store, source, done, buffer, n);
        file_write(out, at + done, buffer, n);
        done += n;
        recipe_wrote(store, n);
    }
    source_close(source);
    arena_release(store->arena, mark);
}

void store_hash(Store *store, Sha256 *h, File *file, uint64_t at, uint64_t n)
{
    enum { HASHED = 4096 * 1024 };
    for (uint64_t done = 0, k; done < n; done += k) {
        k = n - done < HASHED ? n - done : HASHED;
        sha256_add_file(h, file, at + done, k);
        store_worked(store, k);
    }
}

/* --- results --- */

uint64_t spill_room(Store *store, uint64_t bytes)
{
    if (!store->spill)
        store->spill = file_temporary(store->arena);
    const uint64_t at = (store->spill_size + 63) / 64 * 64;
    store->spill_size = at + bytes;
    store->bytes_spilled += bytes;
    return at;
}

/* Sub-byte elements are made one to a byte in memory. */
static void packed_values(Store *store, const Recipe *recipe, uint8_t *to)
{
    const ArenaMark mark = arena_mark(store->arena);
    uint8_t *each = arena_alloc(store->arena, (size_t)recipe_count(recipe));
    recipe_run(store, recipe, NULL, 0, each);
    bits_pack(recipe_dtype(recipe), to, each, recipe_count(recipe));
    arena_release(store->arena, mark);
}

void *recipe_values(Store *store, Arena *a, const Recipe *recipe)
{
    const int64_t bytes = recipe_bytes(recipe);
    uint8_t *to = arena_alloc(a, (size_t)bytes);
    if (!bytes)
        return to;
    if (copies_bytes(recipe)) {
        const ArenaMark mark = arena_mark(store->arena);
        source_open(store, recipe->source);
        source_bytes(store, recipe->source, 0, to, (size_t)bytes);
        source_close(recipe->source);
        arena_release(store->arena, mark);
    } else if (dtype_bits(recipe_dtype(recipe)) < 8) {
        packed_values(store, recipe, to);
    } else {
        recipe_run(store, recipe, NULL, 0, to);
    }
    return to;
}

/* Sub-byte elements of a large result: one to a byte in the spill file first, as tiles end inside
 * bytes. */
static void write_packed(Store *store, const Recipe *recipe, File *out,
                         uint64_t at)
{
    enum { CHUNK = 64 * 1024 };
    const int64_t n = recipe_count(recipe);
    const int64_t per = 8 / dtype_bits(recipe_dtype(recipe));
    const uint64_t from = spill_room(store, (uint64_t)n);
    recipe_run(store, recipe, store->spill, from, NULL);
    const ArenaMark mark = arena_mark(store->arena);
    uint8_t *each = arena_alloc(store->arena, CHUNK);
    uint8_t *packed = arena_alloc(store->arena, CHUNK);
    for (int64_t i = 0; i < n; i += CHUNK) {
        const int64_t k = i64_min(CHUNK, n - i);
        file_read(store->spill, from + (uint64_t)i, each, (size_t)k);
        bits_pack(recipe_dtype(recipe), packed, each, k);
        file_write(out, at + (uint64_t)(i / per), packed,
                   (size_t)i64_ceil_div(k, per));
    }
    arena_release(store->arena, mark);
    store->bytes_written += (uint64_t)recipe_bytes(recipe);
    store->spill_size = from;
}

void recipe_write(Store *store, const Recipe *recipe, File *out, uint64_t at)
{
    const int64_t bytes = recipe_bytes(recipe);
    if (!bytes)
        return;
    if (copies_bytes(recipe)) {
        copy_out(store, recipe, out, at);
    } else if (dtype_bits(recipe_dtype(recipe)) >= 8) {
        recipe_run(store, recipe, out, at, NULL);
    } else if (recipe_count(recipe) > SMALL_BYTES) {
        write_packed(store, recipe, out, at);
    } else {
        const ArenaMark mark = arena_mark(store->arena);
        file_write(out, at, recipe_values(store, store->arena, recipe),
                   (size_t)bytes);
        store->bytes_written += (uint64_t)bytes;
        arena_release(store->arena, mark);
    }
}

Recipe *recipe_spill(Store *store, const Recipe *recipe)
{
    const int64_t bytes = recipe_bytes(recipe);
    Source source = { .dtype = recipe_dtype(recipe),
                      .count = recipe_count(recipe) };
    Span span = { 0, (uint64_t)bytes };
    if (bytes <= SMALL_BYTES) {
        source.memory = recipe_values(store, store->arena, recipe);
    } else {
        span.offset = spill_room(store, (uint64_t)bytes);
        recipe_write(store, recipe, store->spill, span.offset);
        source.file = store->spill;
        source.span = &span;
        source.spans = 1;
    }
    return recipe_source(store, &source, recipe_rank(recipe),
                         recipe_dims(recipe));
}
