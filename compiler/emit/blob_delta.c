/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/blob_delta.h"

#include "base/crc32.h"
#include "base/diag.h"
#include "emit/blob.h"

enum {
    WINDOW = 64 * 1024,
    /* Equal bytes between others that are worth a record of their own. */
    GAP = 2 * sizeof(inlay_delta_record),
    SUMMED = offsetof(inlay_delta_head, sum), /* bytes of the head */
};

static Loc in_file(const File *file, uint64_t at)
{
    return (Loc){ .file = file->path, .byte = (int64_t)at, .node = -1 };
}

/* The CRC-32 of what stands before the weights. */
static uint32_t head_sum(const BlobFile *blob)
{
    uint32_t sum;
    file_read(blob->file, blob->begin - INLAY_BLOB_CRC_SIZE, &sum, sizeof sum);
    return sum;
}

static uint32_t sum_of_head(const inlay_delta_head *head)
{
    Crc32 sum;
    crc32_begin(&sum);
    crc32_add(&sum, head, SUMMED);
    return sum.value;
}

/* ---- making one ---- */

typedef struct DeltaWriter {
    Arena *arena;
    const BlobFile *new;
    File *to;
    BlobDelta delta;
    uint64_t kept_from;  /* the record under way: where it begins, */
    uint64_t fresh_from; /* where its new bytes begin, */
    uint64_t fresh_end;  /* and end as far as is known; 0: there are none */
    uint64_t block_end;  /* of the last block that differs */
} DeltaWriter;

/* The record under way, with new bytes from `from` to `end`. */
static void put_record(DeltaWriter *writer, uint64_t from, uint64_t end)
{
    const inlay_delta_record record = {
        .kept = (uint32_t)(from - writer->kept_from),
        .fresh = (uint32_t)(end - from),
    };
    BlobDelta *delta = &writer->delta;
    file_write(writer->to, delta->bytes, &record, sizeof record);
    file_copy(writer->arena, writer->new->file, from, record.fresh, writer->to,
              delta->bytes + sizeof record);
    delta->bytes += sizeof record + record.fresh;
    delta->fresh += record.fresh;
    delta->records++;
    writer->kept_from = end;
    writer->fresh_end = 0;
}

/* Byte `at` of the file differs. */
static void add_fresh(DeltaWriter *writer, uint64_t at)
{
    const uint64_t begin = writer->new->begin;
    if (writer->fresh_end && at - writer->fresh_end >= GAP)
        put_record(writer, writer->fresh_from, writer->fresh_end);
    if (!writer->fresh_end)
        writer->fresh_from = at;
    writer->fresh_end = at + 1;
    if (at < begin || at < writer->block_end)
        return;
    writer->delta.blocks++;
    writer->block_end = at - (at - begin) % INLAY_BLOB_BLOCK + INLAY_BLOB_BLOCK;
}

/* Head, sums and weights, which are at the same places in both. */
static void compare(DeltaWriter *writer, const BlobFile *old, uint64_t end)
{
    uint8_t *was = arena_buffer(writer->arena, WINDOW);
    uint8_t *is = arena_buffer(writer->arena, WINDOW);
    for (uint64_t at = 0; at < end; at += WINDOW) {
        const size_t n = end - at < WINDOW ? (size_t)(end - at) : WINDOW;
        file_read(old->file, at, was, n);
        file_read(writer->new->file, at, is, n);
        for (size_t i = 0; i < n; i++)
            if (was[i] != is[i])
                add_fresh(writer, at + i);
    }
}

static void check_pair(const BlobFile *old, const BlobFile *new)
{
    if (old->layout != new->layout || old->weights != new->weights ||
        old->begin != new->begin)
        fail_at(STATUS_CONFIG, in_file(old->file, 0), NULL,
                "is a blob for other code than the new one");
    if (new->file->size > UINT32_MAX)
        fail_at(STATUS_UNSUPPORTED, in_file(new->file, 0),
                "slots count bytes by 32 bits", "is too long for a delta");
}

static inlay_delta_head head_of(const BlobFile *old, const BlobFile *new)
{
    inlay_delta_head head = {
        .magic = INLAY_DELTA_MAGIC,
        .layout = new->layout,
        .base = { head_sum(old), old->sum },
        .made = head_sum(new),
        .length = (uint32_t) new->file->size,
        .weights = (uint32_t) new->weights,
    };
    head.sum = sum_of_head(&head);
    return head;
}

BlobDelta blob_delta_write(Arena *arena, const BlobFile *old,
                           const BlobFile *new, File *to)
{
    const ArenaMark mark = arena_mark(arena);
    const uint64_t weights_end = new->begin + new->weights;
    const uint64_t end = new->file->size;
    DeltaWriter writer = { .arena = arena, .new = new, .to = to };
    check_pair(old, new);
    writer.delta.head = head_of(old, new);
    writer.delta.bytes = sizeof writer.delta.head;
    file_write(to, 0, &writer.delta.head, sizeof writer.delta.head);
    compare(&writer, old, weights_end);
    if (writer.fresh_end && end - writer.fresh_end >= GAP)
        put_record(&writer, writer.fresh_from, writer.fresh_end);
    if (!writer.fresh_end)
        writer.fresh_from = weights_end;
    if (writer.kept_from < end)
        put_record(&writer, writer.fresh_from, end);
    arena_release(arena, mark);
    return writer.delta;
}

/* ---- reading one ---- */

static _Noreturn void damaged(const File *file, uint64_t at, const char *what)
{
    fail_at(STATUS_MALFORMED, in_file(file, at), "make or fetch it again",
            "damaged: %s", what);
}

bool blob_delta_is(File *file)
{
    uint64_t magic;
    if (file->size < sizeof magic)
        return false;
    file_read(file, 0, &magic, sizeof magic);
    return magic == INLAY_DELTA_MAGIC;
}

/* How far the new blob comes by the record at *at, behind which *at gets to. */
static uint64_t read_record(File *file, BlobDelta *delta, uint64_t made)
{
    const inlay_delta_head *head = &delta->head;
    const uint64_t weights_end = blob_begin(head->weights) + head->weights;
    inlay_delta_record record;
    if (file->size - delta->bytes < sizeof record)
        damaged(file, delta->bytes, "it is cut off");
    file_read(file, delta->bytes, &record, sizeof record);
    if (record.kept && made + record.kept > weights_end)
        damaged(file, delta->bytes, "a record keeps bytes that are no weights");
    if (made + record.kept + record.fresh > head->length)
        damaged(file, delta->bytes, "a record goes beyond the blob");
    delta->bytes += sizeof record;
    if (record.fresh > file->size - delta->bytes)
        damaged(file, delta->bytes, "it is cut off");
    delta->bytes += record.fresh;
    delta->fresh += record.fresh;
    delta->records++;
    return made + record.kept + record.fresh;
}

BlobDelta blob_delta_open(File *file)
{
    BlobDelta delta = { .bytes = sizeof delta.head };
    uint64_t made = 0;
    if (file->size < sizeof delta.head)
        damaged(file, 0, "it is cut off");
    file_read(file, 0, &delta.head, sizeof delta.head);
    if (delta.head.sum != sum_of_head(&delta.head))
        damaged(file, SUMMED, "the sum of its head is another");
    if (delta.head.length < blob_begin(delta.head.weights) + delta.head.weights)
        damaged(file, 0, "its sizes do not fit");
    while (made < delta.head.length)
        made = read_record(file, &delta, made);
    if (file->size != delta.bytes)
        damaged(file, delta.bytes, "there is more than the blob needs");
    return delta;
}

bool blob_delta_fits(const BlobDelta *delta, const BlobFile *old)
{
    const inlay_delta_head *head = &delta->head;
    return head->layout == old->layout && head->weights == old->weights &&
           head->base[0] == head_sum(old) && head->base[1] == old->sum;
}
