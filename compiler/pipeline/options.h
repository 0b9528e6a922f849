/* SPDX-License-Identifier: Apache-2.0
 * What the command line asks for, as the commands and the pipeline see it. The rows of
 * cli/options.c fill it in. */
#ifndef INLAY_PIPELINE_OPTIONS_H
#define INLAY_PIPELINE_OPTIONS_H

/* --palette */
enum { PALETTES_NONE, PALETTES_OF_4, PALETTES_OF_16 };

/* Lists end in NULL; a NULL list is empty. A NULL number was not given. */
typedef struct Options {
    char *const *word; /* of the command line, the program's name first */
    int words;
    char *const *all_words;      /* those of files written out; ended by NULL */
    const char *const *response; /* files of words: @FILE */
    const char *model;
    const char *manifest; /* prove: NAME.json */
    const char **operand; /* check: models and lists of them */
    /* compile: what was said of each of several models, of its name and tensors; NULL: of one */
    const struct Options *each;
    int models;
    const char **concurrent; /* names of models, commas between */
    const char *baseline;    /* check: what it printed before */
    /* help: a command; explain: a status, a message; NULL: all */
    const char *topic;
    const char *output; /* -o DIR */
    const char *name;   /* C identifier, lower case */
    const char *cache;
    const char *depfile;
    const char *depfile_target;
    const char *target;
    const char *effort; /* a number */
    const char *batch;  /* a number */
    const char *rtol;   /* numbers: how far results may be off */
    const char *atol;
    int per_step;       /* run */
    const char *top;    /* run: a number */
    const char *labels; /* run: a file */
    const char *dump_after;
    const char *external_dir;
    const char **from; /* tensors that become inputs */
    const char **to;   /* tensors that become results */
    const char **shape;
    const char **dim;
    const char **constant;
    const char **without;
    const char **input;
    const char **expect;
    const char **io;
    const char **preprocess;
    const char **state;  /* OUT=IN */
    const char **stream; /* INPUT:AXIS:HOP */
    const char **region;
    const char **pin;
    const char **shaping; /* those given that decide what the code is */
    const char *code;     /* weights: the manifest of the code */
    const char *counter;  /* weights: numbers, checked */
    const char *key;
    const char *golden;          /* weights: a file */
    const char *against;         /* weights: an older blob */
    const long long *max_memory; /* bytes, as are the next ones */
    const long long *max_arena;
    const long long *max_weights;
    const long long *max_ram;
    const long long *max_stack;
    const long long *max_macs; /* a number */
    const long long *max_traffic;
    const long long *max_code;
    const char *cc; /* check: the user's C compiler, with its options */
    const long long *arena_limit;
    /* of weights that are streamed; NULL: they are not */
    const long long *window;
    const long long *resident;
    int code_weights;
    int palette; /* PALETTES_... */
    const long long *capacity;
    int emit;         /* bits of build_kinds; 0: not given */
    int weights;      /* WeightsForm */
    int weights_type; /* 0: of the file, 1: float32 */
    int load;         /* LoadMode */
    int plan;         /* PlanLevel */
    int optimize;     /* PlanGoal */
    int curve;        /* this and the next ones: 0 or 1 */
    int preserve_input;
    int slices;
    const char *threads; /* a number */
    int format;          /* of verdicts_print() */
    int markdown;
    int checks;
    int slots;
    int update; /* UpdatePolicy */
    int no_hash;
    int hash_model;
    int json;
    int stats;
    int quiet;
    int initializers;
    int no_external;
    int advice;
    int csv;
    int npy;
    int html;
} Options;

#endif
