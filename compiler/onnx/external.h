/* SPDX-License-Identifier: Apache-2.0
 * External data: ranges of files beneath the model's folder. The one function
 * that opens them serves every tensor, wherever in the model it stands. A model
 * is not trusted: no path leads out of the folder, through a link, or to
 * anything but a regular file with a single name. */
#ifndef INLAY_ONNX_EXTERNAL_H
#define INLAY_ONNX_EXTERNAL_H

#include "base/diag.h"
#include "base/map.h"
#include "ir/recipe.h"

/* The entries of one tensor; NULL: absent. */
typedef struct ExternalRef {
    const char *location, *offset, *length, *checksum;
} ExternalRef;

/* What a tensor takes of a file. */
typedef struct ExternalRange {
    const File *file;
    uint64_t offset, length;
    Loc loc;
} ExternalRange;

typedef struct External {
    Arena *arena;
    LoadMode mode;
    const char *folder; /* NULL: none */
    bool refused;       /* by option */
    bool warned;
    Store *store;             /* which notes the files */
    bool by_components;       /* as if the system had no openat2(); for tests */
    Map files;                /* by location */
    VEC(ExternalRange) range; /* of all tensors so far */
} External;

/* In the folder of the model; NULL: it came through a pipe. */
External external_new(Arena *arena, Store *store, const char *model);
/* Notes an entry; one that is given twice fails with 65, unknown ones are ignored with a warning.
 */
void external_set(External *x, ExternalRef *ref, Loc loc, const char *key,
                  const char *value);
/* The file and the range of it that holds `bytes` bytes. Status 65, where there is no such file 66.
 */
File *external_find(External *x, Loc loc, const ExternalRef *ref,
                    uint64_t bytes, Span *span);
/* Tensors may share a range, but not parts of one: that fails with 65. Once all are found. */
void external_finish(External *x);
/* Why a location is not acceptable, or NULL. */
const char *external_location_fault(const char *location);
/* A decimal number; false: it is none, or does not fit. */
bool external_number(const char *text, uint64_t *value);

#endif
