/* SPDX-License-Identifier: Apache-2.0
 * What the files of output folders share: output.c makes the parts, output_swap.c puts them in
 * place all at once, output_place.c one by one. */
#ifndef INLAY_BASE_OUTPUT_PARTS_H
#define INLAY_BASE_OUTPUT_PARTS_H

#include "base/io.h"
#include "base/io_calls.h"
#include "base/vec.h"

typedef enum State {
    NEW_FILE, /* in the hidden folder */
    SAVED, /* and the file it replaces is in the hidden folder too, as `saved` */
    PLACED,    /* in the target; nothing was there before */
    REPLACED,  /* in the target, the former file is `saved` */
    UNCHANGED, /* the target has the same bytes */
} State;

typedef struct Entry {
    const char *name, *saved;
    File *file; /* NULL: a folder, or what goes */
    bool gone;  /* a file of an earlier compile */
    State state;
} Entry;

struct Output {
    Arena *arena;
    const char *dir; /* as the user wrote it, for messages */
    /* the target in folder `parent`: a name, behind folders to be made */
    const char *base;
    int parent, build, target; /* descriptors; target -1: it did not exist */
    int listed; /* a folder that is being listed: a failure meanwhile closes it; or -1 */
    char *hidden;  /* name of the build folder */
    int hidden_in; /* the folder it lies in: parent or target */
    VEC(Entry) entry;
    VEC(Written) former;   /* of earlier compiles */
    VEC(const char *) way; /* folders made on the way, the outer one first */
    VEC(const char *)
    kept; /* files of others that have a second link in the build folder */
    bool done;
};

Entry *output_find(Output *output, const char *name);
/* "DIR/name" as the user would write it. */
const char *output_shown(Output *output, const char *name);
_Noreturn void output_fail(const char *path, const char *help);

/* Does the target have a file of the same bytes? `old` is what is there. */
bool output_unchanged(Output *output, const char *name, const IoStat *old);
/* Is it in the target, as it was written, and is there nothing new of its name? */
bool output_goes(Output *output, const Written *former);

/* The build folder becomes the target, the target the hidden folder: at once. false: it cannot be
 * done here, and nothing has been. */
bool output_swap(Output *output);
/* One file after the other; fails with 73. */
void output_place(Output *output);
/* Undoes what output_place() did. */
void output_put_back(Output *output);

#endif
