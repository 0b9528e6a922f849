/* SPDX-License-Identifier: Apache-2.0
 * Results of recipes: in memory, in a file, in the spill file. What is not changed is copied. */
#include <string.h>

#include "base/size.h"
#include "ir/recipe_form.h"

/* --- plain recipes: bytes are copied as they are --- */

static bool copies_bytes(const Recipe *r)
{
    const Source *plain = recipe_plain(r);
    return plain && (!plain->file || plain->encoding == ENC_FIXED);
}

static void copy_out(Store *s, const Recipe *r, File *out, uint64_t at)
{
    const uint64_t bytes = (uint64_t)recipe_bytes(r);
    Source *source = r->source;
    if (!source->file) {
        file_write(out, at, source->memory, (size_t)bytes);
        s->bytes_written += bytes;
        return;
    }
    const ArenaMark mark = arena_mark(s->arena);
    const size_t most = recipe_room(s), room = bytes < most ? (size_t)bytes : most;
    source_open(s, source);
    uint8_t *buffer = arena_buffer(s->arena, room);
    for (uint64_t done = 0; done < bytes;) {
        const size_t n = bytes - done < room ? (size_t)(bytes - done) : room;
        source_bytes(s, source, done, buffer, n);
        file_write(out, at + done, buffer, n);
        done += n;
        recipe_wrote(s, n);
    }
    source_close(source);
    arena_release(s->arena, mark);
}

void store_hash(Store *s, Sha256 *h, File *f, uint64_t at, uint64_t n)
{
    enum { HASHED = 4096 * 1024 };
    for (uint64_t done = 0, k; done < n; done += k) {
        k = n - done < HASHED ? n - done : HASHED;
        sha256_add_file(h, f, at + done, k);
        store_worked(s, k);
    }
}

/* --- results --- */

uint64_t spill_room(Store *s, uint64_t bytes)
{
    if (!s->spill)
        s->spill = file_temporary(s->arena);
    const uint64_t at = (s->spill_size + 63) / 64 * 64;
    s->spill_size = at + bytes;
    s->bytes_spilled += bytes;
    return at;
}

/* Sub-byte elements are made one to a byte in memory. */
static void packed_values(Store *s, const Recipe *r, uint8_t *to)
{
    const ArenaMark mark = arena_mark(s->arena);
    uint8_t *each = arena_alloc(s->arena, (size_t)recipe_count(r));
    recipe_run(s, r, NULL, 0, each);
    bits_pack(recipe_dtype(r), to, each, recipe_count(r));
    arena_release(s->arena, mark);
}

void *recipe_values(Store *s, Arena *a, const Recipe *r)
{
    const int64_t bytes = recipe_bytes(r);
    uint8_t *to = arena_alloc(a, (size_t)bytes);
    if (!bytes)
        return to;
    if (copies_bytes(r)) {
        const ArenaMark mark = arena_mark(s->arena);
        source_open(s, r->source);
        source_bytes(s, r->source, 0, to, (size_t)bytes);
        source_close(r->source);
        arena_release(s->arena, mark);
    } else if (dtype_bits(recipe_dtype(r)) < 8) {
        packed_values(s, r, to);
    } else {
        recipe_run(s, r, NULL, 0, to);
    }
    return to;
}

/* Sub-byte elements of a large result: one to a byte in the spill file first, as tiles end inside
 * bytes. */
static void write_packed(Store *s, const Recipe *r, File *out, uint64_t at)
{
    enum { CHUNK = 64 * 1024 };
    const int64_t n = recipe_count(r), per = 8 / dtype_bits(recipe_dtype(r));
    const uint64_t from = spill_room(s, (uint64_t)n);
    recipe_run(s, r, s->spill, from, NULL);
    const ArenaMark mark = arena_mark(s->arena);
    uint8_t *each = arena_alloc(s->arena, CHUNK), *packed = arena_alloc(s->arena, CHUNK);
    for (int64_t i = 0; i < n; i += CHUNK) {
        const int64_t k = i64_min(CHUNK, n - i);
        file_read(s->spill, from + (uint64_t)i, each, (size_t)k);
        bits_pack(recipe_dtype(r), packed, each, k);
        file_write(out, at + (uint64_t)(i / per), packed, (size_t)i64_ceil_div(k, per));
    }
    arena_release(s->arena, mark);
    s->bytes_written += (uint64_t)recipe_bytes(r);
    s->spill_size = from;
}

void recipe_write(Store *s, const Recipe *r, File *out, uint64_t at)
{
    const int64_t bytes = recipe_bytes(r);
    if (!bytes)
        return;
    if (copies_bytes(r)) {
        copy_out(s, r, out, at);
    } else if (dtype_bits(recipe_dtype(r)) >= 8) {
        recipe_run(s, r, out, at, NULL);
    } else if (recipe_count(r) > SMALL_BYTES) {
        write_packed(s, r, out, at);
    } else {
        const ArenaMark mark = arena_mark(s->arena);
        file_write(out, at, recipe_values(s, s->arena, r), (size_t)bytes);
        s->bytes_written += (uint64_t)bytes;
        arena_release(s->arena, mark);
    }
}

Recipe *recipe_spill(Store *s, const Recipe *r)
{
    const int64_t bytes = recipe_bytes(r);
    Source source = { .dtype = recipe_dtype(r), .count = recipe_count(r) };
    Span span = { 0, (uint64_t)bytes };
    if (bytes <= SMALL_BYTES) {
        source.memory = recipe_values(s, s->arena, r);
    } else {
        span.offset = spill_room(s, (uint64_t)bytes);
        recipe_write(s, r, s->spill, span.offset);
        source.file = s->spill;
        source.span = &span;
        source.spans = 1;
    }
    return recipe_source(s, &source, recipe_rank(r), recipe_dims(r));
}
