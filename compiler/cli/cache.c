/* SPDX-License-Identifier: Apache-2.0
 * Two files for each command line: KEY.data holds what it wrote, one piece behind the other, and
 * KEY.record the digest of each piece and of each file that was read. */
#include "cli/cache.h"

#include <jansson.h>
#include <string.h>

#include "base/diag.h"
#include "base/digest.h"
#include "base/process.h"
#include "base/map.h"
#include "base/state.h"
#include "base/vec.h"
#include "emit/manifest.h"

enum { PART = 256 * 1024, LONGEST_RECORD = 64 << 20 };
enum { SUM = 64 }; /* digits of a digest */
/* No files of the output folder. */
static const char STDOUT[] = ">", DEPFILE[] = "#";

typedef struct Piece {
    const char *name;
    uint64_t at, bytes; /* in KEY.data */
    char sum[SUM + 1];
    FileState state; /* before the output folder took its place */
} Piece;

struct Cache {
    Compile *compile;
    char *record, *data, *part; /* paths; `part` becomes one of the others */
    int64_t began;
    json_t *known; /* the record that was found */
    File *old;     /* its data */
    VEC(Piece) piece;
    bool found, taken, changed;
};

/* ---- the key ---- */

enum { MOST_PATH = 4096 };

static bool add_program(Sha256 *digest, Arena *arena)
{
    char path[MOST_PATH];
    File *file = process_path(path, sizeof path) ? file_try(arena, path) : NULL;
    if (!file)
        return false;
    sha256_add_file(digest, file, 0, file->size);
    file_close(file);
    return true;
}

/* Of the program itself and of all words of the command line; those of files are written out. */
static bool make_key(const Compile *compile, Arena *arena, char key[65])
{
    static const char form[] = "inlay cache 1";
    const Options *options = compile->options;
    Sha256 digest;
    sha256_begin(&digest);
    sha256_add(&digest, form, sizeof form);
    for (char *const *word = options->all_words; *word; word++)
        sha256_add(&digest, *word, strlen(*word) + 1);
    const bool known = add_program(&digest, arena);
    sha256_end(&digest, key);
    return known;
}

Cache *cache_open(Compile *compile)
{
    Arena *arena = &compile->arena;
    const char *folder = compile->options->cache;
    char key[65];
    if (!folder)
        return NULL;
    folder_make(arena, folder);
    if (!make_key(compile, arena, key))
        return NULL;
    Cache *cache = NEW(arena, Cache);
    *cache = (Cache){
        .compile = compile,
        .record = arena_printf(arena, "%s/%s.record", folder, key),
        .data = arena_printf(arena, "%s/%s.data", folder, key),
        .part = arena_printf(arena, "%s/%s.part", folder, key),
        .began = state_now(),
    };
    return cache;
}

/* ---- copies ---- */

/* Bytes of a file, to another and into a digest; either may be NULL. */
static void copy(Arena *arena, File *from, uint64_t at, uint64_t bytes,
                 File *to, uint64_t to_at, Sha256 *digest)
{
    const ArenaMark mark = arena_mark(arena);
    unsigned char *part = arena_buffer(arena, PART);
    while (bytes) {
        const size_t n = bytes < PART ? (size_t)bytes : PART;
        file_read(from, at, part, n);
        sha256_add(digest, part, n);
        if (to)
            file_write(to, to_at, part, n);
        at += n;
        to_at += n;
        bytes -= n;
    }
    arena_release(arena, mark);
}

static void sum_of(Arena *arena, File *file, char sum[SUM + 1])
{
    Sha256 digest;
    sha256_begin(&digest);
    copy(arena, file, 0, file->size, NULL, 0, &digest);
    sha256_end(&digest, sum);
}

/* ---- the record ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static uint64_t number_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void set_state(json_t *object, const FileState *state, int64_t at)
{
    const int64_t all[] = { state->device,   state->node,    state->size,
                            state->modified, state->changed, at };
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_array_append_new(list, manifest_made(json_integer(all[i])));
    json_object_set_new(object, "state", list);
}

/* Is the file still in the state in which its content was known? */
static bool is_as_noted(const json_t *object, const FileState *now)
{
    const json_t *list = json_object_get(object, "state");
    int64_t all[6];
    if (json_array_size(list) != sizeof all / sizeof *all)
        return false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i] = json_integer_value(json_array_get(list, i));
    const FileState then = { all[0], all[1], all[2], all[3], all[4] };
    return state_is_equal(&then, now) && state_is_settled(&then, all[5]);
}

/* Has the file the content that the record states? What had to be read is noted. */
static bool is_same(Cache *cache, json_t *object, const char *path)
{
    Arena *arena = &cache->compile->arena;
    File *file = file_try(arena, path);
    if (!file)
        return false;
    const int64_t at = state_now();
    const FileState state = file_state(file);
    bool same = is_as_noted(object, &state);
    if (!same) {
        char sum[SUM + 1];
        sum_of(arena, file, sum);
        const FileState after = file_state(file);
        same = state_is_equal(&state, &after) &&
               !strcmp(sum, text_of(object, "sum"));
        set_state(object, &state, at);
        cache->changed = true;
    }
    file_close(file);
    return same;
}

/* A record stands behind its digest. */
static void sum_text(const char *text, size_t length, char sum[SUM + 1])
{
    Sha256 digest;
    sha256_begin(&digest);
    sha256_add(&digest, text, length);
    sha256_end(&digest, sum);
}

/* NULL: there is none, or it is damaged. */
static json_t *load(Arena *arena, const char *path)
{
    File *file = file_try(arena, path);
    if (!file || file->size > LONGEST_RECORD || file->size < SUM)
        return NULL;
    const size_t length = (size_t)file->size - SUM;
    char *text = arena_alloc(arena, (size_t)file->size);
    char sum[SUM + 1];
    file_read(file, 0, text, (size_t)file->size);
    file_close(file);
    sum_text(text + SUM, length, sum);
    if (memcmp(sum, text, SUM) != 0)
        return NULL;
    return json_loadb(text + SUM, length, 0, NULL);
}

static void store(const Cache *cache, const json_t *record)
{
    char sum[SUM + 1];
    const char *text = json_dumps(record, JSON_COMPACT);
    if (!text)
        fail_memory(0, "the record does not fit");
    const size_t length = strlen(text);
    sum_text(text, length, sum);
    File *file = file_create(&cache->compile->arena, cache->part);
    file_write(file, 0, sum, SUM);
    file_write(file, SUM, text, length);
    file_close(file);
    file_rename(cache->part, cache->record);
}

/* ---- what is found ---- */

static bool is_file(const json_t *piece)
{
    const char *name = text_of(piece, "name");
    return strcmp(name, STDOUT) && strcmp(name, DEPFILE);
}

static const char *place_of(Cache *cache, const char *name)
{
    return arena_printf(&cache->compile->arena, "%s/%s",
                        cache->compile->options->output, name);
}

static bool inputs_are_same(Cache *cache)
{
    const json_t *list = json_object_get(cache->known, "inputs");
    size_t same = 0;
    while (same < json_array_size(list)) {
        json_t *input = json_array_get(list, same);
        if (!is_same(cache, input, text_of(input, "name")))
            return false;
        same++;
    }
    return same > 0;
}

static bool outputs_are_same(Cache *cache)
{
    const json_t *list = json_object_get(cache->known, "pieces");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *piece = json_array_get(list, i);
        if (is_file(piece) &&
            !is_same(cache, piece, place_of(cache, text_of(piece, "name"))))
            return false;
    }
    return true;
}

/* Copies a piece; is it what it was? */
static bool fetch(Cache *cache, const json_t *piece, File *to)
{
    Sha256 digest;
    char sum[SUM + 1];
    sha256_begin(&digest);
    copy(&cache->compile->arena, cache->old, number_of(piece, "at"),
         number_of(piece, "bytes"), to, 0, &digest);
    sha256_end(&digest, sum);
    return !strcmp(sum, text_of(piece, "sum"));
}

static bool fetch_text(Cache *cache, const json_t *piece)
{
    Compile *compile = cache->compile;
    const bool is_list = !strcmp(text_of(piece, "name"), DEPFILE);
    File *to = is_list ? file_create(&compile->arena, compile->options->depfile)
                       : file_temporary(&compile->arena);
    const bool same = fetch(cache, piece, to);
    if (is_list)
        file_close(to);
    else
        compile->results = (Pieces){ .arena = &compile->arena, .file = to };
    return same;
}

static bool fetch_file(Cache *cache, const json_t *piece)
{
    const char *name = text_of(piece, "name");
    if (!output_takes(name))
        return false;
    File *to = output_create(cache->compile->out, name);
    const bool same = fetch(cache, piece, to);
    file_close(to);
    return same;
}

/* The pieces, `files` or the others. */
static bool fetch_all(Cache *cache, bool files)
{
    const json_t *list = json_object_get(cache->known, "pieces");
    bool same = true;
    for (size_t i = 0; same && i < json_array_size(list); i++) {
        const json_t *piece = json_array_get(list, i);
        if (is_file(piece) != files)
            continue;
        same = files ? fetch_file(cache, piece) : fetch_text(cache, piece);
    }
    return same;
}

static void find(void *context)
{
    Cache *cache = context;
    Compile *compile = cache->compile;
    Arena *arena = &compile->arena;
    const char *folder = compile->options->output;
    cache->known = load(arena, cache->record);
    cache->old = cache->known ? file_try(arena, cache->data) : NULL;
    if (!cache->old || !inputs_are_same(cache))
        return;
    if (file_exists(folder)) {
        cache->found = outputs_are_same(cache) && fetch_all(cache, false);
        return;
    }
    compile->out = output_begin(arena, folder);
    if (!fetch_all(cache, true) || !fetch_all(cache, false))
        return;
    output_commit(compile->out);
    cache->found = true;
}

static void store_known(void *context)
{
    const Cache *cache = context;
    store(cache, cache->known);
}

/* What fails says nothing: then it is as if it were not there. */
static bool quietly(void (*body)(void *), Cache *cache)
{
    Diag diag = { .quiet = true, .out = diag_now->out };
    return protect(&diag, body, cache) == STATUS_OK;
}

bool cache_find(Cache *cache)
{
    Compile *compile = cache->compile;
    const bool found = quietly(find, cache) && cache->found;
    if (found && cache->changed)
        (void)quietly(store_known, cache);
    if (found)
        return true;
    output_abort(compile->out);
    compile->out = NULL;
    compile->results = (Pieces){ .arena = &compile->arena };
    return false;
}

/* ---- what is kept ---- */

typedef struct Writing {
    File *file;
    uint64_t at;
    Sha256 digest;
} Writing;

static void put(void *to, const char *text, size_t n)
{
    Writing *writing = to;
    file_write(writing->file, writing->at, text, n);
    sha256_add(&writing->digest, text, n);
    writing->at += n;
}

static void take_results(Cache *cache, File *data)
{
    Writing writing = { .file = data };
    Piece piece = { .name = STDOUT };
    sha256_begin(&writing.digest);
    pieces_pass(&cache->compile->results, (Sink){ put, &writing });
    sha256_end(&writing.digest, piece.sum);
    piece.bytes = writing.at;
    VEC_PUSH(&cache->compile->arena, &cache->piece, piece);
}

static void take_file(Cache *cache, const char *name, File *from, File *data)
{
    Arena *arena = &cache->compile->arena;
    Sha256 digest;
    Piece piece = {
        .name = name,
        .at = data->size,
        .bytes = from->size,
        .state = file_state(from),
    };
    sha256_begin(&digest);
    copy(arena, from, 0, from->size, data, data->size, &digest);
    sha256_end(&digest, piece.sum);
    file_close(from);
    VEC_PUSH(arena, &cache->piece, piece);
}

static void take(void *context)
{
    Cache *cache = context;
    Compile *compile = cache->compile;
    const char *depfile = compile->options->depfile;
    File *data = file_create(&compile->arena, cache->part);
    Written written;
    take_results(cache, data);
    if (depfile)
        take_file(cache, DEPFILE,
                  file_open(&compile->arena, depfile, LOAD_STREAM), data);
    for (size_t i = 0; output_written(compile->out, i, &written); i++)
        take_file(cache, written.name,
                  output_reopen(compile->out, written.name), data);
    file_close(data);
    file_rename(cache->part, cache->data);
    cache->taken = true;
}

void cache_take(Cache *cache)
{
    if (!diag_now->warnings) /* they are to be said each time */
        (void)quietly(take, cache);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    manifest_set(object, key, json_string(text));
}

/* An input that was changed while it was compiled is not known: NULL. */
static json_t *input_json(const Cache *cache, const char *path)
{
    Arena *arena = &cache->compile->arena;
    const int64_t at = state_now();
    File *file = file_try(arena, path);
    char sum[SUM + 1];
    if (!file)
        return NULL;
    const FileState before = file_state(file);
    sum_of(arena, file, sum);
    const FileState after = file_state(file);
    file_close(file);
    if (!state_is_equal(&before, &after) ||
        !state_is_settled(&before, cache->began))
        return NULL;
    json_t *object = manifest_made(json_object());
    set_text(object, "name", path);
    set_text(object, "sum", sum);
    set_state(object, &before, at);
    return object;
}

static json_t *inputs_json(const Cache *cache)
{
    const Compile *compile = cache->compile;
    Map seen = map_new(&cache->compile->arena);
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < compile->store.input.n; i++) {
        const char *path = compile->store.input.at[i];
        if (map_put(&seen, path, list))
            continue;
        json_t *input = input_json(cache, path);
        if (!input)
            return NULL;
        json_array_append_new(list, input);
    }
    return list;
}

/* The state of a file in its place, if it is the one that was written; else none. */
static void note_state(Cache *cache, const Piece *piece, json_t *object)
{
    const int64_t at = state_now();
    File *file = file_try(&cache->compile->arena, place_of(cache, piece->name));
    if (!file)
        return;
    const FileState now = file_state(file);
    FileState then = piece->state;
    then.changed = now.changed; /* by the move */
    if (state_is_equal(&then, &now))
        set_state(object, &now, at);
    file_close(file);
}

static json_t *piece_json(Cache *cache, const Piece *piece)
{
    json_t *object = manifest_made(json_object());
    set_text(object, "name", piece->name);
    set_text(object, "sum", piece->sum);
    manifest_set(object, "at", json_integer((json_int_t)piece->at));
    manifest_set(object, "bytes", json_integer((json_int_t)piece->bytes));
    if (is_file(object))
        note_state(cache, piece, object);
    return object;
}

static void keep(void *context)
{
    Cache *cache = context;
    json_t *inputs = inputs_json(cache);
    json_t *record = manifest_made(json_object());
    json_t *pieces = manifest_made(json_array());
    if (!inputs)
        return;
    for (size_t i = 0; i < cache->piece.n; i++)
        json_array_append_new(pieces, piece_json(cache, cache->piece.at + i));
    manifest_set(record, "inputs", inputs);
    manifest_set(record, "pieces", pieces);
    store(cache, record);
}

void cache_keep(Cache *cache)
{
    if (cache->taken)
        (void)quietly(keep, cache);
}
