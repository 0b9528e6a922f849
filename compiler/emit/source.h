/* SPDX-License-Identifier: Apache-2.0
 * NAME.h and NAME.c, and the runtime's headers they include. Knows no operator by name. */
#ifndef INLAY_EMIT_SOURCE_H
#define INLAY_EMIT_SOURCE_H

#include "base/io.h"
#include "emit/weights.h"
#include "ir/program.h"

typedef struct Group Group;

typedef struct SourceFacts {
    const char *name;
    WeightsForm form;         /* of the weights, not WEIGHTS_AUTO */
    const char *model_sha256; /* "": not asked for */
    bool checks;   /* with NAME_plan_check.h, which -DINLAY_CHECK needs */
    bool selftest; /* with NAME_selftest.h, which -DNAME_SELFTEST needs */
    bool slots;    /* with inlay_slots.c, where the weights are a blob */
    int updates;   /* UpdatePolicy (emit/updates.h) */
    /* of several models, whose source file includes NAME.inc.h; NULL: alone */
    Group *group;
} SourceFacts;

/* The program must be planned, its weights laid out, and linked. */
void emit_source(const Program *program, Output *output,
                 const SourceFacts *facts);

#endif
