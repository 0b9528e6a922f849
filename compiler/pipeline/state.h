/* SPDX-License-Identifier: Apache-2.0
 * A compile under way: what its stages hand on. */
#ifndef INLAY_PIPELINE_STATE_H
#define INLAY_PIPELINE_STATE_H

#include "base/pieces.h"
#include "ir/program.h"
#include "pipeline/options.h"
#include "schedule/options.h"

/* In the order in which they run; compile.c says what each does. */
typedef enum Stage {
    STAGE_READ,
    STAGE_PASSES,
    STAGE_LOWER,
    STAGE_PLAN,
    STAGE_CHECK,
    STAGE_ADVICE,
    STAGE_LAYOUT,
    STAGE_LIMITS,
    STAGE_WRITE,
    STAGE_REPORT,
    STAGES
} Stage;

/* Seconds, for --stats. */
typedef struct StageClock {
    Stage running; /* STAGES: none */
    double wall_began;
    double cpu_began;
    double wall[STAGES];
    double cpu[STAGES];
} StageClock;

typedef struct Group Group;
typedef struct Lengths Lengths;

typedef struct Compile Compile;

/* The shape of what a file holds for an input. */
typedef struct GivenShape {
    Shape shape;
    bool said;
} GivenShape;

/* The calls of pipeline/compile.h, for a stage that compiles the model again. */
typedef struct CompileCalls {
    void (*open)(Compile *compile, const Options *options);
    void (*to)(Compile *compile, Stage last);
    void (*close)(Compile *compile);
} CompileCalls;

/* A compile under way: everything it owns. */
struct Compile {
    const CompileCalls *call;
    const Options *options;
    /* of several models of one folder; NULL: it is the only one */
    Group *group;
    Arena arena;
    Store store;
    Stage next;   /* the stages before this one are done */
    Graph *graph; /* from STAGE_READ on */
    /* --from: the model before it was cut; NULL: its shapes are not known */
    const Graph *whole;
    /* --shape, and what was settled besides; NULL: nothing was */
    const char **shape;
    const GivenShape
        *given;       /* of each input, for what it leaves open, or NULL */
    Program *program; /* from STAGE_LOWER on */
    /* --dim T=1..64: lengths that runs are given, and the options with their bounds; else NULL */
    Lengths *lengths;
    const Options *bounded;
    /* it is one of many for those lengths; and each of its results has a place of its own */
    bool apart, each_apart;
    /* --palette, and the weights that stay as they are; NULL: it is not settled which */
    const PaletteAsk *palette;
    const Banks *banks;      /* of the graph; NULL: they are not chosen yet */
    const PlanKnown *known;  /* of plans with other banks; NULL: nothing is */
    CurvePoints whole_curve; /* --curve without banks; empty: there are none */
    bool recompute_chosen;
    int64_t recompute;           /* as Graph.recompute, once it is chosen */
    CurvePoints recompute_curve; /* --curve of plans with others */
    /* names of results that are not folded: they would be constants of each length; NULL: not
     * looked for */
    const Map *kept;
    Output *out;    /* from STAGE_WRITE on; the group's where there is one */
    Pieces results; /* for standard output, once the command has succeeded */
    bool progress;  /* is shown: not of a compile beside another one */
    bool estimate;  /* payloads are not read to tell equal ones */
    StageClock clock;
    char model_sha256[65]; /* "": not asked for */
    char weights_sha256[65];
    IoCount io_before; /* what other compiles of this thread read and wrote */
};

#endif
