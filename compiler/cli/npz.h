/* SPDX-License-Identifier: Apache-2.0
 * NumPy's .npz: an archive of .npy files, stored or deflated, one for each name. */
#ifndef INLAY_CLI_NPZ_H
#define INLAY_CLI_NPZ_H

#include "cli/file_values.h"

/* A file of the archive as its directory has it. */
typedef struct NpzMember {
    const char *name; /* without .npy */
    uint64_t offset;  /* of its own head */
    uint64_t packed;
    uint64_t size;
    uint32_t sum; /* CRC-32 of its content */
    bool deflated;
} NpzMember;

typedef struct Npz {
    const char *path;
    const char *all; /* the archive */
    uint64_t end;
    NpzMember *member;
    size_t members;
} Npz;

bool npz_is(Arena *arena, const char *path);
/* Reads the directory. Fails with 65 where it is damaged, with 69 where it is of a form that
 * numpy.savez does not write. */
Npz *npz_open(Arena *arena, const char *path);
/* The member of that name, or NULL. */
const NpzMember *npz_find(const Npz *npz, const char *name);
/* Its values, and what messages call it: ARCHIVE(NAME). A member of more than `most` bytes is not
 * unpacked: 65. */
FileValues npz_read(Arena *arena, Store *store, const Npz *npz,
                    const NpzMember *member, uint64_t most, const char **place);

#endif
