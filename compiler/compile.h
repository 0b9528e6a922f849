/* SPDX-License-Identifier: Apache-2.0
 * The pipeline, from a model file to an output folder. */
#ifndef INLAY_COMPILE_H
#define INLAY_COMPILE_H

#include <stdio.h>

#include "emit/manifest.h"
#include "emit/weights.h"
#include "ir/program.h"
#include "onnx/reader.h"
#include "plan/plan.h"

/* What the command line asks for. Lists end in NULL; a NULL list is empty. The rows of
 * cli/options.c fill it. */
typedef struct Options {
    const char *model;
    const char *manifest; /* prove: NAME.json */
    const char *topic;    /* help: a command; NULL: all */
    const char *output;   /* -o DIR */
    const char *name;     /* C identifier, lower case */
    const char **shape, **dim, **constant, **without, **input, **io, **region, **pin;
    const char *target, *dump_after, *external_dir;
    const long long *max_memory, *max_arena, *max_weights, *arena_limit,
        *capacity; /* bytes; NULL: none */
    int weights;   /* WeightsForm */
    int load;      /* LoadMode */
    int plan;      /* PlanLevel */
    int optimize;  /* PlanGoal */
    int curve, preserve_input, markdown, no_hash, hash_model, json, stats, initializers,
        no_external, csv, html;
} Options;

typedef enum Stage { STAGE_READ, STAGE_PASSES, STAGE_PLAN, STAGE_WRITE, STAGES } Stage;

/* Seconds, for --stats and the progress line. */
typedef struct StageClock {
    Stage running; /* STAGES: none */
    double wall_began, cpu_began, wall[STAGES], cpu[STAGES];
    double work_began, noted;
    bool noting;
} StageClock;

/* A compile under way: everything it owns. */
typedef struct Compile {
    const Options *options;
    Arena arena;
    Store store;
    Graph *graph;
    Program *program;
    Output *out;
    Pieces results; /* for standard output, once the command has succeeded */
    bool estimate;  /* payloads are not read to tell equal ones */
    StageClock clock;
    char model_sha256[65]; /* "": not asked for */
    IoCount io_before;     /* what other compiles of this thread read and wrote */
} Compile;

/* What the manifest says beside the program; nothing of the written weights yet. */
ManifestFacts compile_facts(Compile *compile);
void compile_open(Compile *compile, const Options *options);
void compile_close(Compile *compile);

/* The stages. Each leaves by fail_at(). */
void compile_read(Compile *c);    /* graph, with --shape, --dim and --const applied */
void compile_passes(Compile *c);  /* up to --dump-after, if that is given */
void compile_program(Compile *c); /* lowered, planned, checked, linked */
void compile_emit(Compile *c);    /* the output folder; in place after output_commit() */

/* Derived from --name, or from the model's file name. */
const char *compile_name(Compile *compile);

#endif
