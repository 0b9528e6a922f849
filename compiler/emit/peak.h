/* SPDX-License-Identifier: Apache-2.0
 * What fills the arena where it is fullest: for reports and a limit that does not hold. */
#ifndef INLAY_EMIT_PEAK_H
#define INLAY_EMIT_PEAK_H

#include "emit/text.h"
#include "ir/program.h"

/* What the peak's steps do with a block. */
typedef enum PeakRole {
    PEAK_MADE, /* written there (and perhaps read there, too: streams) */
    PEAK_READ, /* made before, read there */
    PEAK_KEPT, /* waits for a later step */
    PEAK_SCRATCH,
} PeakRole;

typedef struct PeakBlock {
    const Block *block;
    const char *name; /* of the tensor; text of the model, not escaped */
    PeakRole role;
} PeakBlock;

typedef struct Peak {
    int32_t first,
        end; /* steps [first, end): one, or those of a stream; the first place where most
                           bytes are in use */
    int64_t bytes; /* in use there, bytes that two blocks share counted once */
    VEC(PeakBlock)
    block; /* alive there, largest first; together more than `bytes` where they lie over each other
            */
} Peak;

/* Of a planned program. All of it lives in the program's arena. An arena of 0 bytes: no blocks. */
Peak peak_find(const Program *program);
/* The first step that writes the block, or NULL. */
const Step *block_maker(const Program *program, const Block *block);
/* The tensor's name in the model, or, of what passes made, which node's result it is; model text,
 * not escaped. */
const char *block_name(const Program *program, const Block *block);
/* "made", "read", "kept", "scratch" */
const char *peak_role_name(PeakRole role);
/* The same as text, 80 columns, names escaped; at most `most` blocks. */
Text peak_text(Arena *arena, const Peak *peak, size_t most);

#endif
