/* SPDX-License-Identifier: Apache-2.0
 * The constant blob: where each constant lies in it, and its forms in the output folder. */
#ifndef INLAY_EMIT_WEIGHTS_H
#define INLAY_EMIT_WEIGHTS_H

#include "base/io.h"
#include "ir/program.h"

typedef enum WeightsForm {
    WEIGHTS_AUTO,
    WEIGHTS_C,
    WEIGHTS_INCBIN,
    WEIGHTS_BIN,
    WEIGHTS_OBJ,
    WEIGHTS_BLOB,
    WEIGHTS_STREAM
} WeightsForm;

/* Their names, ended by NULL. */
extern const char *const weights_forms[];

/* Are they a blob, which the code opens? */
bool weights_form_blob(WeightsForm form);

/* Can they be linked into a program? One section that code must reach is limited to 2 GiB. */
bool weights_linkable(const Program *program);

/* The form that `asked` means for this program: auto is C text up to 256 KiB, then incbin, and bin
 * where a program cannot hold them. */
WeightsForm weights_form_taken(const Program *program, WeightsForm asked);

/* Gives every constant its offset, aligned to 16 bytes, to 64 where it is large; constants of equal
 * values share one. To know them, up to `most` bytes are read of each that may have an equal; those
 * that are alike so far and go on get their own places (weights_alike). The blob ends with its seal
 * (emit/seal.h). */
enum { WEIGHTS_LITTLE = 64 * 1024 };
void weights_layout(Program *program, uint64_t most);
/* Constants of the models of a folder that were laid out before. */
typedef struct KnownWeight {
    const char *model;
    uint64_t offset, bytes;
} KnownWeight;

typedef struct KnownWeights {
    Arena *arena; /* outlives the programs */
    Map by_value;
    uint64_t shared; /* bytes that are not stored again */
} KnownWeights;

KnownWeights known_weights(Arena *arena);
/* The same as weights_layout() of all bytes for the model called so: constants of values that are
 * known stay where they are (Program.lender). Those that are linked in the form asked for become
 * known. */
void weights_layout_known(Program *program, KnownWeights *known,
                          const char *model, WeightsForm asked);
/* The same for a blob that others may replace: no value decides where a constant lies, so that only
 * those made of the same sources share a place; and what kernels believe of their constants stays
 * in the code (Program.code). */
void weights_layout_blob(Program *program);

/* Writes the blob (weight_bytes long) into src/ as `form` asks and returns the form taken. The
 * generated source refers to it as `extern const uint64_t NAME_weights_data[]`:
 *   c       NAME_weights.c, an array of words
 *   incbin  NAME_weights.bin, and NAME_weights.c that includes it by the assembler
 *   obj     NAME_weights.o, an ELF object for the family's machine that holds the symbol
 *   bin     NAME_weights.bin alone: no symbol, the caller hands the bytes to NAME_run_with()
 *   blob    NAME.blob beside src/ (emit/blob.h), and NAME_constants.h, what stays in the code
 *   stream  the same, read through windows (forms/fetch.h)
 * sha256 gets 64 hex digits of the blob and NUL where hash is set, else "". */
WeightsForm weights_emit(Program *program, Output *output, const char *name,
                         WeightsForm form, bool hash, char sha256[65]);
/* Writes the constants and their seal into a file, from byte `at` on. */
void weights_write(const Program *program, File *file, uint64_t at, bool hash,
                   char sha256[65]);
/* A whole blob, into an empty file. */
void weights_write_blob(const Program *program, File *file, bool hash,
                        char sha256[65]);

#endif
