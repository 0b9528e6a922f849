/* SPDX-License-Identifier: Apache-2.0
 * The runtime's headers that programs need, and their names in the output. */
#ifndef INLAY_EMIT_RUNTIME_FILES_H
#define INLAY_EMIT_RUNTIME_FILES_H

#include "base/io.h"
#include "emit/emitter.h"
#include "rules/tiles.h"

/* What one source file takes of the runtime, for one program or several. */
typedef struct RuntimeUse {
    Arena *arena;
    VEC(const char *) file; /* in the order of their #include lines */
    TileUse tiles;
    int operands;   /* of steps that fetch, at most */
    int palettes;   /* INLAY_PALETTES; 0: there are none */
    int32_t packed; /* INLAY_QUSE_...: what packed products have */
    bool math;      /* tables name constants of <math.h> */
    bool slots;     /* with the files of the slots */
    bool sums;      /* with what a self-test takes */
    bool dealt;     /* rows have slots of pools */
} RuntimeUse;

RuntimeUse runtime_use(Arena *arena);
/* Adds what this program takes. */
void runtime_add(RuntimeUse *use, const Emitter *emitter);
/* The #include lines, each file once, and before them what the headers are told. */
Text runtime_includes(const RuntimeUse *use);
/* Copies those files, and what they include, into src/. */
void runtime_copy(const RuntimeUse *use, Output *output);

#endif
