/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/blob_read.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc32.h"
#include "base/diag.h"
#include "emit/blob.h"

enum {
    HEAD = INLAY_BLOB_WORDS * sizeof(uint64_t),
    BLOCKS = 64, /* that are read at a time */
    WINDOW = BLOCKS * INLAY_BLOB_BLOCK,
};

/* A check under way. */
typedef struct BlobCheck {
    const BlobFile *blob;
    Loc loc;
    uint8_t *window;
    Crc32 sum;
    Crc32 all; /* of the weights so far, up to the seal's own */
} BlobCheck;

static _Noreturn void damaged(const BlobCheck *check, const char *what,
                              uint64_t at)
{
    Loc loc = check->loc;
    loc.byte = (int64_t)at;
    fail_at(STATUS_MALFORMED, loc, "make or fetch it again", "damaged: %s",
            what);
}

static uint32_t sum_of(BlobCheck *check, const void *bytes, size_t n)
{
    check->sum.value = 0;
    crc32_add(&check->sum, bytes, n);
    return check->sum.value;
}

/* Table and zeros are read by windows, as they may be longer than one. */
static void check_head(BlobCheck *check)
{
    const BlobFile *blob = check->blob;
    const uint64_t end = blob->begin - INLAY_BLOB_CRC_SIZE;
    uint32_t stated;
    check->sum.value = 0;
    for (uint64_t at = 0; at < end; at += WINDOW) {
        const size_t n = end - at < WINDOW ? (size_t)(end - at) : WINDOW;
        file_read(blob->file, at, check->window, n);
        crc32_add(&check->sum, check->window, n);
    }
    file_read(blob->file, end, &stated, sizeof stated);
    if (stated != check->sum.value)
        damaged(check, "the sum of its head is another", end);
}

/* n bytes of weights from byte `at` of them on, some blocks. */
static void check_blocks(BlobCheck *check, uint64_t at, size_t n)
{
    const BlobFile *blob = check->blob;
    const size_t count = (n + INLAY_BLOB_BLOCK - 1) / INLAY_BLOB_BLOCK;
    uint32_t stated[BLOCKS];
    file_read(blob->file, HEAD + at / INLAY_BLOB_BLOCK * sizeof *stated, stated,
              count * sizeof *stated);
    file_read(blob->file, blob->begin + at, check->window, n);
    for (size_t i = 0; i < count; i++) {
        const size_t from = i * INLAY_BLOB_BLOCK;
        const size_t left = n - from;
        const size_t k = left < INLAY_BLOB_BLOCK ? left : INLAY_BLOB_BLOCK;
        if (sum_of(check, check->window + from, k) != stated[i])
            damaged(check, "the sum of a block is another",
                    blob->begin + at + from);
    }
    const uint64_t before_sum = blob->weights - INLAY_SEAL_CRC_SIZE;
    const uint64_t own = before_sum > at ? before_sum - at : 0;
    crc32_add(&check->all, check->window, own < n ? (size_t)own : n);
}

static void check_weights(BlobCheck *check)
{
    const BlobFile *blob = check->blob;
    const uint64_t all = blob->weights;
    for (uint64_t at = 0; at < all; at += WINDOW)
        check_blocks(check, at,
                     all - at < WINDOW ? (size_t)(all - at) : WINDOW);
}

static void check_seal(BlobCheck *check)
{
    const BlobFile *blob = check->blob;
    const uint64_t at = blob->begin + blob->weights - INLAY_SEAL_SIZE;
    uint64_t seal[3];
    file_read(blob->file, at, seal, sizeof seal);
    const bool fits = seal[0] == INLAY_SEAL_MAGIC && seal[1] == blob->layout &&
                      seal[2] == blob->weights - INLAY_SEAL_SIZE;
    if (!fits)
        damaged(check, "its seal is another's", at);
    if (blob->sum != check->all.value)
        damaged(check, "the sum of all weights is another", at);
}

/* The four words: is it a blob of that length? */
static BlobFile read_words(File *file, Loc loc)
{
    uint64_t word[INLAY_BLOB_WORDS];
    if (file->size < HEAD)
        fail_at(STATUS_MALFORMED, loc, NULL, "is no blob of weights");
    file_read(file, 0, word, sizeof word);
    const BlobFile blob = {
        .file = file,
        .layout = word[1],
        .begin = word[3] >> 32,
        .weights = word[2],
    };
    if (word[0] != INLAY_BLOB_MAGIC)
        fail_at(STATUS_MALFORMED, loc, NULL, "is no blob of weights");
    if (blob.weights > file->size || blob.begin > file->size - blob.weights)
        fail_at(STATUS_MALFORMED, loc, NULL,
                "is cut off: %" PRIu64 " bytes of weights are said to begin "
                "at byte %" PRIu64 ", it has %" PRIu64 " bytes",
                blob.weights, blob.begin, file->size);
    if ((uint32_t)word[3] != INLAY_BLOB_BLOCK ||
        blob.weights < INLAY_SEAL_SIZE ||
        blob.begin != blob_begin(blob.weights))
        fail_at(STATUS_MALFORMED, loc, NULL, "damaged: its sizes do not fit");
    return blob;
}

BlobFile blob_open(Arena *arena, const char *path)
{
    return blob_read(arena, file_open(arena, path, LOAD_STREAM));
}

BlobFile blob_read(Arena *arena, File *file)
{
    const Loc loc = { .file = file->path, .byte = -1, .node = -1 };
    BlobFile blob = read_words(file, loc);
    const ArenaMark mark = arena_mark(arena);
    BlobCheck check = { .blob = &blob, .loc = loc };
    check.window = arena_buffer(arena, WINDOW);
    crc32_begin(&check.sum);
    crc32_begin(&check.all);
    file_read(blob.file, blob.begin + blob.weights - sizeof blob.sum, &blob.sum,
              sizeof blob.sum);
    check_head(&check);
    check_weights(&check);
    check_seal(&check);
    arena_release(arena, mark);
    blob.notes = blob_notes_read(arena, blob.file, blob.begin + blob.weights);
    return blob;
}
