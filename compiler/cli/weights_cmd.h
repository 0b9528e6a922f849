/* SPDX-License-Identifier: Apache-2.0
 * What the verbs of `inlay weights` share: the manifest of the code that a blob is for. */
#ifndef INLAY_CLI_WEIGHTS_CMD_H
#define INLAY_CLI_WEIGHTS_CMD_H

#include <jansson.h>

#include "cli/options.h"
#include "emit/blob_delta.h"

/* The code that is in the field. */
typedef struct FieldCode {
    Loc loc;
    json_t *manifest;
    const json_t *weights;
    const json_t *constants;
    uint64_t layout;
} FieldCode;

/* Of --for; 64 where it is not given, 65 where it is of no code that opens blobs. */
FieldCode field_code(Compile *compile);

/* Text and number of an object; "" and 0 where they are none. */
const char *text_at(const json_t *object, const char *key);
uint64_t size_at(const json_t *object, const char *key);
/* "conv1", weights: float32 [8,1,3,3] */
const char *constant_text(Arena *arena, const json_t *constant);

/* So many file operands, or up to `most`; 64 and the form of the verb else. */
int weights_files(Compile *compile, int least, int most, const char *form);
/* The output must not be the file that is read: 64. */
void weights_check_new(Compile *compile, const char *path, const File *from);
/* A file for the output, which is checked so. */
File *weights_new_file(Compile *compile, const char *path, const File *from);

/* A blob for the code, where --for names one: 78 where it is not. */
void weights_check_layout(Compile *compile, uint64_t layout, const char *path);

/* Writes to --output what changed since the blob of --against, and says so. */
void weights_write_delta(Compile *compile, const Options *given,
                         const BlobFile *blob);
/* verify and info of a file that is a delta. */
void weights_verify_delta(Compile *compile, File *file);
void weights_info_delta(Compile *compile, File *file);

/* Verbs. */
void weights_pack(Compile *compile);
void weights_delta(Compile *compile);
void weights_sign_request(Compile *compile);
void weights_attach(Compile *compile);

#endif
