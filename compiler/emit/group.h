/* SPDX-License-Identifier: Apache-2.0
 * Several models in one folder: one source file with the runtime and its kernels once, one arena,
 * a header that says where in it each model's begins. Each model has its own header, manifest and
 * report as if it were alone. */
#ifndef INLAY_EMIT_GROUP_H
#define INLAY_EMIT_GROUP_H

#include "emit/manifest.h"
#include "emit/runtime_files.h"

enum { GROUP_MOST = 64 }; /* models of a folder */

/* What is known of a model once it is compiled. */
typedef struct GroupModel {
    const char *name;
    int64_t arena_size, arena_align;
    int64_t kept,
        kept_end;   /* bytes of its arena that survive until its next run */
    int64_t offset; /* of its arena in that of the group */
    uint64_t weight_bytes;
    WeightsForm form;
    int64_t macs, steps;
    bool has_test; /* NAME_golden.h */
} GroupModel;

typedef struct Group {
    Arena *arena; /* outlives that of each compile */
    const char *name;
    VEC(GroupModel) model;
    VEC(uint64_t) together; /* models that are alive at once, as bits */
    int64_t arena_size, arena_align;
    /* of arena_size: no places of these arenas take less */
    int64_t lower_bound;
    RuntimeUse use;
    KnownWeights known;
} Group;

/* Adds a planned program, its weights laid out. */
void group_add(Group *group, const Emitter *emitter);
/* The model that was added last. */
GroupModel *group_last(const Group *group);

/* Gives each model's arena its offset. Arenas of models that are alive at once have no byte in
 * common; bytes that survive until a model's next run are no other model's. */
void group_place(Group *group);

/* src/GROUP.c and .h, and the files of the runtime, once all models are placed. */
void group_emit(const Group *group, Output *output);
/* GROUP.txt. */
Text group_report(const Group *group);
/* GROUP.json; files become the manifest's, NULL: none. */
void group_manifest(const Group *group, json_t *files, Sink sink);

/* Names of the models of a set, commas between. */
void group_names(Text *text, const Group *group, uint64_t set);
/* Sums over all models. */
uint64_t group_weights(const Group *group);
int64_t group_macs(const Group *group);

#endif
