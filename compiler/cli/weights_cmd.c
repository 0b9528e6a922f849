/* SPDX-License-Identifier: Apache-2.0
 * weights: blobs as files. `pack` has a file of its own. */
#include "cli/weights_cmd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/state.h"
#include "cli/manifest_file.h"
#include "emit/blob_read.h"
#include "emit/text.h"
#include "inlay_blob.h"

enum { WINDOW = 64 * 1024 };

/* ---- the code in the field ---- */

const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

uint64_t size_at(const json_t *object, const char *key)
{
    const json_int_t n = json_integer_value(json_object_get(object, key));
    return n > 0 ? (uint64_t)n : 0;
}

FieldCode field_code(Compile *compile)
{
    const char *path = compile->options->code;
    FieldCode code = { .loc = { .file = path, .byte = -1, .node = -1 } };
    if (!path)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "name the manifest of the code: --for NAME.json");
    code.manifest = manifest_load(&compile->arena, path);
    code.weights = json_object_get(code.manifest, "weights");
    code.constants = json_object_get(code.manifest, "constants");
    code.layout = strtoull(text_at(code.weights, "layout"), NULL, 16);
    const char *form = text_at(code.weights, "form");
    if ((strcmp(form, "blob") != 0 && strcmp(form, "stream") != 0) ||
        !code.layout || !json_is_array(code.constants))
        fail_at(STATUS_MALFORMED, code.loc,
                "compile with --weights=blob: only such code opens blobs",
                "is the manifest of code that has no blob of weights");
    return code;
}

const char *constant_text(Arena *arena, const json_t *constant)
{
    const json_t *dims = json_object_get(constant, "dims");
    Text text = text_new(arena);
    text_print(&text, "\"%s\", %s: %s [", text_at(constant, "node"),
               text_at(constant, "role"), text_at(constant, "dtype"));
    for (size_t i = 0; i < json_array_size(dims); i++)
        text_print(&text, "%s%" JSON_INTEGER_FORMAT, i ? "," : "",
                   json_integer_value(json_array_get(dims, i)));
    text_put(&text, "]");
    return text.at;
}

/* ---- blobs ---- */

static BlobFile open_blob(Compile *compile, const char *path)
{
    return blob_open(&compile->arena, path);
}

void weights_check_layout(Compile *compile, uint64_t layout, const char *path)
{
    if (!compile->options->code)
        return;
    const FieldCode code = field_code(compile);
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    if (code.layout != layout)
        fail_at(STATUS_CONFIG, loc, NULL,
                "is for other code: its layout is %016" PRIx64
                ", that of the manifest %016" PRIx64,
                layout, code.layout);
}

int weights_files(Compile *compile, int least, int most, const char *form)
{
    const char **file = compile->options->operand + 1;
    int count = 0;
    while (file[count])
        count++;
    if (count < least || count > most)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "inlay weights %s", form);
    return count;
}

void weights_check_new(Compile *compile, const char *path, const File *from)
{
    File *old = file_try(&compile->arena, path);
    if (old) {
        const FileState there = file_state(old);
        const FileState own = file_state(from);
        file_close(old);
        if (there.device == own.device && there.node == own.node)
            fail_at(STATUS_USAGE, LOC_NONE, NULL,
                    "-o: %s is the file that is read", path);
    }
}

File *weights_new_file(Compile *compile, const char *path, const File *from)
{
    weights_check_new(compile, path, from);
    return file_create(&compile->arena, path);
}

/* What stands behind the weights. */
static void print_notes(Compile *compile, const BlobFile *blob)
{
    const BlobNotes *notes = &blob->notes;
    Pieces *to = &compile->results;
    if (notes->counter.tag)
        pieces_print(to, "counter  %" PRIu32 "\n", notes->counter.number);
    if (notes->golden.tag)
        pieces_print(to, "golden   %" PRIu32 " bytes\n", notes->golden.size);
    if (notes->signature.tag)
        pieces_print(to,
                     "signed   with key %" PRIu32 ", %" PRIu32
                     " bytes, not compared with any key\n",
                     notes->signature.number, notes->signature.size);
}

static void verify(Compile *compile)
{
    static const char form[] =
        "verify FILE.blob|FILE.delta [--for NAME.json] [--against OLD.blob]";
    const char **file = compile->options->operand + 1;
    weights_files(compile, 1, 1, form);
    File *from = file_open(&compile->arena, *file, LOAD_STREAM);
    if (blob_delta_is(from)) {
        weights_verify_delta(compile, from);
        return;
    }
    if (compile->options->against)
        fail_at(STATUS_USAGE, LOC_NONE, NULL,
                "--against: %s is a blob, and no delta", *file);
    const BlobFile blob = blob_read(&compile->arena, from);
    weights_check_layout(compile, blob.layout, *file);
    pieces_print(&compile->results, "%s: whole, %" PRIu64 " bytes of weights\n",
                 *file, blob.weights);
    print_notes(compile, &blob);
}

/* Those of the list that lie in the blob, or in the code. */
static void print_constants(Compile *compile, const FieldCode *code,
                            const char *place)
{
    const size_t n = json_array_size(code->constants);
    for (size_t i = 0; i < n; i++) {
        const json_t *constant = json_array_get(code->constants, i);
        if (strcmp(text_at(constant, "place"), place) != 0)
            continue;
        pieces_print(&compile->results,
                     "  %4zu  %10" PRIu64 "  %10" PRIu64 "  %s\n", i,
                     size_at(constant, "at"), size_at(constant, "bytes"),
                     constant_text(&compile->arena, constant));
    }
}

static void info(Compile *compile)
{
    const char **file = compile->options->operand + 1;
    Pieces *to = &compile->results;
    weights_files(compile, 1, 1, "info FILE.blob|FILE.delta [--for NAME.json]");
    File *from = file_open(&compile->arena, *file, LOAD_STREAM);
    if (blob_delta_is(from)) {
        weights_info_delta(compile, from);
        return;
    }
    const BlobFile blob = blob_read(&compile->arena, from);
    weights_check_layout(compile, blob.layout, *file);
    pieces_print(to,
                 "layout   %016" PRIx64 "\n"
                 "weights  %" PRIu64 " bytes from byte %" PRIu64
                 " on, CRC-32 %08" PRIx32 "\n"
                 "blocks   %" PRIu64 " of %u bytes\n",
                 blob.layout, blob.weights, blob.begin, blob.sum,
                 (blob.weights + INLAY_BLOB_BLOCK - 1) / INLAY_BLOB_BLOCK,
                 INLAY_BLOB_BLOCK);
    print_notes(compile, &blob);
    if (!compile->options->code)
        return;
    const FieldCode code = field_code(compile);
    pieces_print(to, "in the blob: number, place, bytes\n");
    print_constants(compile, &code, "blob");
    pieces_print(to, "in the code, and not in any blob:\n");
    print_constants(compile, &code, "code");
}

/* ---- diff ---- */

/* Two blobs of one layout, and windows of both. */
typedef struct Pair {
    BlobFile blob[2];
    uint8_t *window[2];
} Pair;

/* How many of n bytes from `at` of the weights on differ. */
static uint64_t count_changed(const Pair *pair, uint64_t at, uint64_t n)
{
    uint64_t changed = 0;
    for (uint64_t done = 0; done < n; done += WINDOW) {
        const size_t k = n - done < WINDOW ? (size_t)(n - done) : WINDOW;
        for (int i = 0; i < 2; i++)
            file_read(pair->blob[i].file, pair->blob[i].begin + at + done,
                      pair->window[i], k);
        for (size_t i = 0; i < k; i++)
            changed += pair->window[0][i] != pair->window[1][i];
    }
    return changed;
}

/* Does it lie within the weights? The manifest is only a file. */
static void check_place(const FieldCode *code, const BlobFile *blob,
                        const json_t *constant)
{
    const uint64_t at = size_at(constant, "at");
    const uint64_t bytes = size_at(constant, "bytes");
    if (at > blob->weights || bytes > blob->weights - at)
        fail_at(STATUS_MALFORMED, code->loc, NULL,
                "a constant lies outside of the blob");
}

static bool print_change(Compile *compile, const FieldCode *code,
                         const Pair *pair, const json_t *constant)
{
    if (strcmp(text_at(constant, "place"), "blob") != 0)
        return false;
    check_place(code, pair->blob, constant);
    const uint64_t bytes = size_at(constant, "bytes");
    const uint64_t changed =
        count_changed(pair, size_at(constant, "at"), bytes);
    if (changed)
        pieces_print(&compile->results,
                     "%10" PRIu64 " of %10" PRIu64 " bytes  %s\n", changed,
                     bytes, constant_text(&compile->arena, constant));
    return changed != 0;
}

static void diff(Compile *compile)
{
    const char **file = compile->options->operand + 1;
    size_t changes = 0;
    Pair pair;
    weights_files(compile, 2, 2, "diff OLD.blob NEW.blob --for NAME.json");
    const FieldCode code = field_code(compile);
    for (int i = 0; i < 2; i++) {
        pair.blob[i] = open_blob(compile, file[i]);
        weights_check_layout(compile, pair.blob[i].layout, file[i]);
        pair.window[i] = arena_buffer(&compile->arena, WINDOW);
    }
    const size_t n = json_array_size(code.constants);
    for (size_t i = 0; i < n; i++)
        changes += print_change(compile, &code, &pair,
                                json_array_get(code.constants, i));
    if (!changes)
        pieces_print(&compile->results, "no difference\n");
}

/* ---- extract ---- */

static void copy_bytes(Compile *compile, const BlobFile *blob, uint64_t from,
                       uint64_t n)
{
    File *to = weights_new_file(compile, compile->options->output, blob->file);
    file_copy(&compile->arena, blob->file, blob->begin + from, n, to, 0);
    file_close(to);
}

static const json_t *constant_numbered(const FieldCode *code, const char *text)
{
    char *end;
    const unsigned long long n = strtoull(text, &end, 10);
    const json_t *constant = json_array_get(code->constants, (size_t)n);
    if (*end || end == text || !constant ||
        strcmp(text_at(constant, "place"), "blob") != 0)
        fail_at(STATUS_USAGE, LOC_NONE,
                "`inlay weights info FILE.blob --for NAME.json` lists them",
                "\"%s\" is no constant of the blob", text);
    return constant;
}

static void extract(Compile *compile)
{
    static const char form[] =
        "extract FILE.blob [NUMBER --for NAME.json] -o FILE";
    const char **file = compile->options->operand + 1;
    const int files = weights_files(compile, 1, 2, form);
    if (!compile->options->output)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "inlay weights %s", form);
    const BlobFile blob = open_blob(compile, *file);
    weights_check_layout(compile, blob.layout, *file);
    if (files == 1) {
        copy_bytes(compile, &blob, 0, blob.weights);
        return;
    }
    const FieldCode code = field_code(compile);
    const json_t *constant = constant_numbered(&code, file[1]);
    check_place(&code, &blob, constant);
    copy_bytes(compile, &blob, size_at(constant, "at"),
               size_at(constant, "bytes"));
}

/* ---- the command ---- */

/* Options that only some verbs take. */
enum { PACKS = 1, SIGNS = 2, COMPARES = 4 };

typedef struct Verb {
    const char *name;
    void (*run)(Compile *compile);
    int takes;
} Verb;

static void check_option(const Verb *verb, int takes, const char *value,
                         const char *name)
{
    if (value && !(verb->takes & takes))
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "weights %s takes no --%s",
                verb->name, name);
}

static void check_options(const Options *options, const Verb *verb)
{
    check_option(verb, PACKS, options->counter, "counter");
    check_option(verb, PACKS, options->golden, "golden");
    check_option(verb, SIGNS, options->key, "key");
    check_option(verb, COMPARES, options->against, "against");
}

void cmd_weights(Compile *compile)
{
    static const Verb verbs[] = {
        { "pack", weights_pack, PACKS | COMPARES },
        { "delta", weights_delta, COMPARES },
        { "verify", verify, COMPARES },
        { "info", info, 0 },
        { "diff", diff, 0 },
        { "extract", extract, 0 },
        { "sign-request", weights_sign_request, SIGNS },
        { "attach-signature", weights_attach, SIGNS },
        { NULL, NULL, 0 },
    };
    static const char *const names[] = {
        "pack",    "delta",        "verify",           "info", "diff",
        "extract", "sign-request", "attach-signature", NULL
    };
    const char *asked = compile->options->operand[0];
    for (const Verb *verb = verbs; verb->name; verb++)
        if (!strcmp(verb->name, asked)) {
            check_options(compile->options, verb);
            verb->run(compile);
            return;
        }
    fail_unknown(&compile->arena, "weights: unknown verb", asked, names);
}
