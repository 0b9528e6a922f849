/* SPDX-License-Identifier: Apache-2.0
 * weights delta, and what the other verbs say of deltas: what changed since the blob that devices
 * have, for the code of runtime/inlay_delta.c. */
#include <inttypes.h>

#include "cli/weights_cmd.h"
#include "emit/blob.h"

enum {
    SECTOR = 4096, /* of the flash that figures are given for */
    RECORDS = 4,   /* of the slot's log: committed, tried, confirmed, sealed */
};

static uint64_t rounded(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit;
}

/* What it costs a device, as any download of that blob does. */
static void print_wear(Compile *compile, const BlobDelta *delta)
{
    const uint64_t length = delta->head.length;
    const uint64_t units = rounded(length, INLAY_SLOTS_UNIT) + RECORDS;
    pieces_print(&compile->results,
                 "flash    %" PRIu64
                 " bytes are programmed; the slot is erased once, at least "
                 "%" PRIu64 " sectors of %d bytes\n",
                 units * INLAY_SLOTS_UNIT,
                 rounded(length + INLAY_SLOTS_LOG, SECTOR), SECTOR);
}

static void print_size(Compile *compile, const BlobDelta *delta)
{
    pieces_print(&compile->results,
                 "makes    a blob of %" PRIu32 " bytes, %" PRIu64
                 " of them new, by %" PRIu64 " records\n",
                 delta->head.length, delta->fresh, delta->records);
}

void weights_write_delta(Compile *compile, const Options *given,
                         const BlobFile *blob)
{
    const BlobFile old = blob_open(&compile->arena, given->against);
    weights_check_new(compile, given->output, blob->file);
    File *to = weights_new_file(compile, given->output, old.file);
    const BlobDelta delta = blob_delta_write(&compile->arena, &old, blob, to);
    file_close(to);
    pieces_print(&compile->results,
                 "%s: %" PRIu64 " bytes, for %s: %" PRIu64 " of %" PRIu64
                 " blocks of %u bytes differ\n",
                 given->output, delta.bytes, given->against, delta.blocks,
                 rounded(blob->weights, INLAY_BLOB_BLOCK), INLAY_BLOB_BLOCK);
    print_size(compile, &delta);
    print_wear(compile, &delta);
}

void weights_delta(Compile *compile)
{
    static const char form[] = "delta NEW.blob --against OLD.blob -o NEW.delta";
    const Options *options = compile->options;
    const char **file = options->operand + 1;
    weights_files(compile, 1, 1, form);
    if (!options->against || !options->output)
        fail_at(STATUS_USAGE, LOC_NONE, NULL, "inlay weights %s", form);
    const BlobFile blob = blob_open(&compile->arena, *file);
    weights_check_layout(compile, blob.layout, *file);
    weights_write_delta(compile, options, &blob);
}

/* ---- what is said of one ---- */

static BlobDelta open_delta(Compile *compile, File *file)
{
    const BlobDelta delta = blob_delta_open(file);
    weights_check_layout(compile, delta.head.layout, file->path);
    return delta;
}

void weights_verify_delta(Compile *compile, File *file)
{
    const char *against = compile->options->against;
    const BlobDelta delta = open_delta(compile, file);
    if (against) {
        const BlobFile old = blob_open(&compile->arena, against);
        if (!blob_delta_fits(&delta, &old))
            fail_at(STATUS_CONFIG,
                    (Loc){ .file = file->path, .byte = -1, .node = -1 }, NULL,
                    "is a delta for other weights than those of %s", against);
    }
    pieces_print(&compile->results,
                 "%s: a delta%s%s, its records are whole; devices check the "
                 "%" PRIu64 " new bytes by the blob that they make\n",
                 file->path, against ? " for " : "", against ? against : "",
                 delta.fresh);
}

void weights_info_delta(Compile *compile, File *file)
{
    const BlobDelta delta = open_delta(compile, file);
    const inlay_delta_head *head = &delta.head;
    pieces_print(&compile->results,
                 "delta    %" PRIu64 " bytes\n"
                 "layout   %016" PRIx64 "\n"
                 "for      weights of CRC-32 %08" PRIx32 "\n",
                 delta.bytes, head->layout, head->base[1]);
    print_size(compile, &delta);
    print_wear(compile, &delta);
}
