/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/blob.h"

#include "base/crc32.h"
#include "base/size.h"
#include "emit/seal.h"

enum {
    HEAD = INLAY_BLOB_WORDS * sizeof(uint64_t),
    BLOCKS = 64, /* that are read at a time */
};

uint64_t blob_begin(uint64_t weights)
{
    const uint64_t blocks =
        weights / INLAY_BLOB_BLOCK + (weights % INLAY_BLOB_BLOCK != 0);
    const uint64_t sums = (blocks + 1) * INLAY_BLOB_CRC_SIZE;
    return size_align(HEAD + sums, INLAY_BLOB_ALIGN);
}

uint64_t blob_size(const Program *program)
{
    return size_add(blob_begin(program->weight_bytes), program->weight_bytes);
}

/* What stands before the weights, from its first byte to its last. */
typedef struct HeadWriter {
    File *file;
    uint64_t at;
    Crc32 all; /* of what was written */
} HeadWriter;

static void put(HeadWriter *head, const void *bytes, size_t n)
{
    file_write(head->file, head->at, bytes, n);
    crc32_add(&head->all, bytes, n);
    head->at += n;
}

/* The sums of n bytes of weights at `at` of the file, some blocks. */
static void put_sums(HeadWriter *head, uint64_t at, size_t n, uint8_t *window)
{
    uint32_t sum[BLOCKS];
    size_t count = 0;
    Crc32 *block = &(Crc32){ .value = 0 };
    block->tables = head->all.tables;
    file_read(head->file, at, window, n);
    for (size_t done = 0; done < n; done += INLAY_BLOB_BLOCK) {
        const size_t left = n - done;
        const size_t k = left < INLAY_BLOB_BLOCK ? left : INLAY_BLOB_BLOCK;
        block->value = 0;
        crc32_add(block, window + done, k);
        sum[count++] = block->value;
    }
    put(head, sum, count * sizeof *sum);
}

static void put_table(HeadWriter *head, const Program *program, uint64_t begin)
{
    enum { WINDOW = BLOCKS * INLAY_BLOB_BLOCK };
    Arena *arena = program->graph->arena;
    const ArenaMark mark = arena_mark(arena);
    uint8_t *window = arena_buffer(arena, WINDOW);
    const uint64_t all = program->weight_bytes;
    store_work(program->graph->store, "of weights summed", all);
    for (uint64_t at = 0; at < all; at += WINDOW) {
        const uint64_t left = all - at;
        const size_t n = left < WINDOW ? (size_t)left : WINDOW;
        put_sums(head, begin + at, n, window);
        store_worked(program->graph->store, n);
    }
    arena_release(arena, mark);
}

void blob_finish(const Program *program, File *file)
{
    static const uint8_t zeros[INLAY_BLOB_ALIGN];
    const uint64_t begin = blob_begin(program->weight_bytes);
    uint64_t seal[3];
    uint64_t words[INLAY_BLOB_WORDS];
    HeadWriter head = { .file = file };
    crc32_begin(&head.all);
    seal_words(program, seal);
    inlay_blob_head(words, seal, begin);
    put(&head, words, sizeof words);
    put_table(&head, program, begin);
    put(&head, zeros, (size_t)(begin - INLAY_BLOB_CRC_SIZE - head.at));
    const uint32_t sum = head.all.value;
    file_write(file, head.at, &sum, sizeof sum);
}
