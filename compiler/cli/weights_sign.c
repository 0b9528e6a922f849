/* SPDX-License-Identifier: Apache-2.0
 * weights sign-request, attach-signature: signatures are made elsewhere, where the key is. What is
 * signed is a message of 64 bytes that stands for the blob (runtime/inlay_notes.h). */
#include <inttypes.h>
#include <string.h>

#include "base/digest.h"
#include "cli/weights_cmd.h"
#include "emit/blob_read.h"

enum {
    MOST = 128
}; /* bytes of a signature that devices take: runtime/inlay_signed.h */

/* The two digits of a byte. */
static uint8_t byte_of(const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    const ptrdiff_t high = strchr(digits, hex[0]) - digits;
    const ptrdiff_t low = strchr(digits, hex[1]) - digits;
    return (uint8_t)(high * 16 + low);
}

static uint32_t key_of(const Compile *compile)
{
    const char *key = compile->options->key;
    return key ? value_read_count(key) : 0;
}

static void message_of(const BlobFile *blob, uint32_t key,
                       inlay_sign_message *message, char hex[65])
{
    Sha256 sum;
    sha256_begin(&sum);
    sha256_add_file(&sum, blob->file, 0, blob->notes.signed_end);
    sha256_end(&sum, hex);
    *message = (inlay_sign_message){
        .magic = INLAY_SIGN_MAGIC,
        .layout = blob->layout,
        .key = key,
        .counter = blob->notes.counter.number,
        .length = blob->notes.signed_end,
    };
    for (size_t i = 0; i < sizeof message->digest; i++)
        message->digest[i] = byte_of(hex + 2 * i);
}

void weights_sign_request(Compile *compile)
{
    static const char form[] = "sign-request FILE.blob [--key N] -o MESSAGE";
    const char **file = compile->options->operand + 1;
    const char *path = compile->options->output;
    inlay_sign_message message;
    char hex[65];
    weights_files(compile, 1, 1, form);
    if (!path)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "inlay weights %s", form);
    const BlobFile blob = blob_open(&compile->arena, *file);
    const uint32_t key = key_of(compile);
    message_of(&blob, key, &message, hex);
    File *to = weights_new_file(compile, path, blob.file);
    file_write(to, 0, &message, sizeof message);
    file_close(to);
    pieces_print(&compile->results,
                 "%s: %zu bytes to be signed with key %" PRIu32 ", for %" PRIu64
                 " bytes of SHA-256 %s\n",
                 path, sizeof message, key, message.length, hex);
}

static File *open_signature(Arena *arena, const char *path)
{
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    File *file = file_open(arena, path, LOAD_STREAM);
    if (!file->size || file->size > MOST)
        fail_at(STATUS_MALFORMED, loc, NULL,
                "is no signature: it has %" PRIu64 " bytes, at most %d fit",
                file->size, MOST);
    return file;
}

void weights_attach(Compile *compile)
{
    static const char form[] =
        "attach-signature FILE.blob SIGNATURE [--key N] -o SIGNED.blob";
    Arena *arena = &compile->arena;
    const char **file = compile->options->operand + 1;
    const char *path = compile->options->output;
    weights_files(compile, 2, 2, form);
    if (!path)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "inlay weights %s", form);
    const BlobFile blob = blob_open(arena, file[0]);
    File *signature = open_signature(arena, file[1]);
    const uint64_t at = blob.notes.signed_end;
    const inlay_note_head head = {
        .tag = INLAY_NOTE_SIGNATURE,
        .number = key_of(compile),
    };
    File *to = weights_new_file(compile, path, blob.file);
    file_copy(arena, blob.file, 0, at, to, 0);
    blob_note_write(arena, to, at, head, signature);
    file_close(to);
    pieces_print(&compile->results,
                 "%s: signed with key %" PRIu32 ", %" PRIu64 " bytes\n", path,
                 head.number, signature->size);
}
