/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/blob_notes.h"

#include "base/crc32.h"
#include "base/diag.h"

enum {
    WINDOW = 64 * 1024,
    WORDS = offsetof(inlay_note_head, sum), /* bytes that its sum is over */
};

static _Noreturn void damaged(const File *file, uint64_t at)
{
    const Loc loc = { .file = file->path, .byte = (int64_t)at, .node = -1 };
    fail_at(STATUS_MALFORMED, loc, "make or fetch it again",
            "damaged: what stands behind the weights is no note");
}

/* Goes on with n bytes of a file, which may be copied meanwhile. */
static void sum_bytes(Arena *arena, Crc32 *sum, File *file, uint64_t at,
                      uint64_t n, File *to, uint64_t to_at)
{
    const ArenaMark mark = arena_mark(arena);
    uint8_t *window = arena_buffer(arena, WINDOW);
    for (uint64_t done = 0; done < n; done += WINDOW) {
        const size_t k = n - done < WINDOW ? (size_t)(n - done) : WINDOW;
        file_read(file, at + done, window, k);
        crc32_add(sum, window, k);
        if (to)
            file_write(to, to_at + done, window, k);
    }
    arena_release(arena, mark);
}

void file_copy(Arena *arena, File *from, uint64_t at, uint64_t n, File *to,
               uint64_t to_at)
{
    Crc32 sum;
    crc32_begin(&sum);
    sum_bytes(arena, &sum, from, at, n, to, to_at);
}

/* The head of the note at `at`, which is whole. */
static inlay_note_head read_note(Arena *arena, File *file, uint64_t at)
{
    inlay_note_head head;
    Crc32 sum;
    if (file->size - at < sizeof head)
        damaged(file, at);
    file_read(file, at, &head, sizeof head);
    if (head.size > file->size - at - sizeof head)
        damaged(file, at);
    crc32_begin(&sum);
    sum_bytes(arena, &sum, file, at + sizeof head, head.size, NULL, 0);
    crc32_add(&sum, &head, WORDS);
    if (sum.value != head.sum || !head.tag || head.tag >= INLAY_NOTE_CRITICAL)
        damaged(file, at);
    return head;
}

/* The last one of each kind counts. */
static void take_note(BlobNotes *notes, const inlay_note_head *head,
                      uint64_t at)
{
    if (head->tag == INLAY_NOTE_COUNTER)
        notes->counter = *head;
    if (head->tag == INLAY_NOTE_GOLDEN) {
        notes->golden = *head;
        notes->golden_at = at + sizeof *head;
    }
    if (head->tag == INLAY_NOTE_SIGNATURE) {
        notes->signature = *head;
        notes->signature_at = at + sizeof *head;
        notes->signed_end = at;
    }
}

BlobNotes blob_notes_read(Arena *arena, File *file, uint64_t at)
{
    BlobNotes notes = { .signed_end = file->size };
    while (at < file->size) {
        const inlay_note_head head = read_note(arena, file, at);
        if (notes.signature.tag)
            damaged(file, at);
        take_note(&notes, &head, at);
        at += sizeof head + head.size;
    }
    return notes;
}

uint64_t blob_note_write(Arena *arena, File *file, uint64_t at,
                         inlay_note_head head, File *from)
{
    const uint64_t begin = at + sizeof head;
    Crc32 sum;
    if (from && from->size > UINT32_MAX / 2)
        fail_at(STATUS_MALFORMED,
                (Loc){ .file = from->path, .byte = -1, .node = -1 }, NULL,
                "is too long for a note");
    head.size = from ? (uint32_t)from->size : 0;
    crc32_begin(&sum);
    if (from)
        sum_bytes(arena, &sum, from, 0, head.size, file, begin);
    crc32_add(&sum, &head, WORDS);
    head.sum = sum.value;
    file_write(file, at, &head, sizeof head);
    return begin + head.size;
}
