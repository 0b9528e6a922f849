/* SPDX-License-Identifier: Apache-2.0
 * What stands behind the weights of a blob: the security counter, bytes for the trial, a signature
 * (runtime/inlay_notes.h). It is read and written a window at a time. */
#ifndef INLAY_EMIT_BLOB_NOTES_H
#define INLAY_EMIT_BLOB_NOTES_H

#include "base/io.h"
#include "inlay_notes.h"

/* The notes of a file; a head with tag 0: it has no such note. */
typedef struct BlobNotes {
    inlay_note_head counter, golden, signature;
    uint64_t golden_at;    /* where their bytes begin */
    uint64_t signature_at; /* the same of the signature; 0: none */
    uint64_t signed_end;   /* where the signature's note begins, or the end */
} BlobNotes;

/* Those from byte `at` of the file on; 65 where they are damaged. */
BlobNotes blob_notes_read(Arena *arena, File *file, uint64_t at);

/* Writes a note with the bytes of `from` (NULL: none) at byte `at`: where it ends. */
uint64_t blob_note_write(Arena *arena, File *file, uint64_t at,
                         inlay_note_head head, File *from);

/* n bytes of a file at another place of another one. */
void file_copy(Arena *arena, File *from, uint64_t at, uint64_t n, File *to,
               uint64_t to_at);

#endif
