/* SPDX-License-Identifier: 0BSD */
//@ about
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include <stdint.h>

//@ {
#include "example.h"

//@ }
#ifdef __cplusplus
extern "C" {
#endif

//@ sizes {
#define MODEL_ARENA_SIZE 256u
#define MODEL_ARENA_FAST_SIZE 256u
#define MODEL_ARENA_ALIGN 16u
#define MODEL_FAMILY "portable"
#define MODEL_WEIGHTS_SIZE 64u
#define MODEL_WEIGHTS_ALIGN 8u
//@ }

/* For definitions of the arena: a section of your linker's script, where you define this before or
 * by -D. MODEL_WEIGHTS_ATTR is the same for the weights in model_weights.c. */
#ifndef MODEL_ARENA_ATTR
#define MODEL_ARENA_ATTR
#endif

/* The caller's values: length and shape and, of integers, what they stand for. */
//@ facts {
#define MODEL_IN0_SIZE 12u
#define MODEL_IN0_LENGTH 3u
#define MODEL_IN0_RANK 2
#define MODEL_IN0_DIM0 1
#define MODEL_IN0_DIM1 3
#define MODEL_OUT0_LENGTH 3u
//@ }
#if MODEL_HAS_LABELS

/* Strings of the model are numbers here: word LABELS[n] is n, a word that is not listed is -1. */
//@ labels {
#define MODEL_OUT0_LABELS_COUNT 2
static const char *const MODEL_OUT0_LABELS[] = {
    "no",
    "yes",
};
//@ }
#endif
#if MODEL_HAS_STATES

/* What survives from run to run: results that are inputs of the next one, where they lie in the
 * arena. Their bytes may be saved between runs, and put back there. */
//@ states {
#define MODEL_STATE0_OFFSET 64u
#define MODEL_STATE0_SIZE 12u
//@ }
#endif

/* What a run returns. */
enum {
    MODEL_OK = 0,
    MODEL_E_ARG = 1,    /* the arena, the weights, an input or an output is NULL */
    MODEL_E_ALIGN = 2,  /* arena or weights are not at MODEL_ARENA_ALIGN or MODEL_WEIGHTS_ALIGN */
    MODEL_E_SHAPE = 3,  /* a value read at run time asks for another shape than was compiled */
    MODEL_E_INDEX = 4,  /* an index read at run time lies outside its tensor */
#if MODEL_BY_ROWS
    MODEL_MORE = 5,     /* no error: the next row of the input is awaited */
#endif
#if MODEL_SLICED
    MODEL_MORE = 5,     /* no error: the run is not done, model_step() goes on */
#endif
    MODEL_E_CHECK = 6,  /* built with -DINLAY_CHECK: a row that a step needs is not in the arena */
    MODEL_E_WEIGHTS = 7, /* the weights are those of another model or layout, cut off or damaged */
#if MODEL_WEIGHTS_STREAM
    MODEL_E_SIZE = 8,   /* model_init(): the arena is too small */
    MODEL_E_READ = 9    /* the weights could not be read */
#else
#if MODEL_LIVE
    MODEL_E_SIZE = 8,   /* model_init(): the arena is too small */
    MODEL_E_UPDATED = 10, /* the run met weights that were being replaced: make it again */
    MODEL_E_BUSY = 11   /* model_weights_put(): the run uses that tensor now */
#else
    MODEL_E_SIZE = 8    /* model_init(): the arena is too small */
#endif
#endif
};

#if MODEL_WEIGHTS_STREAM
#ifndef INLAY_SOURCE
#define INLAY_SOURCE
/* Where the bytes of a blob are. What it returns is 0, or anything else where that failed. */
typedef struct inlay_source {
    /* n bytes, from byte `offset` of the blob on, to `to` */
    int (*read)(void *context, size_t offset, size_t n, void *to);
    /* The same in two halves, or both NULL: start() may come back before the bytes are there, and
     * wait() comes back when they are. One at a time, and no read() between them. */
    int (*start)(void *context, size_t offset, size_t n, void *to);
    int (*wait)(void *context);
    void *context;
} inlay_source;
#endif

#endif
#if MODEL_LIVE
#ifndef INLAY_LIVE
#define INLAY_LIVE
/* What writer and run know of each other. All 0 at first, but for what the caller sets. */
typedef struct inlay_live {
    void *weights; /* the caller's: what NAME_weights_open() gave, in RAM */
    volatile uint32_t begun, committed; /* generations */
    uint32_t from;                      /* that of the run */
    /* steps [first, end) that the run may be in; none: equal */
    volatile int32_t first, end;
    volatile int32_t writing; /* the tensor that is written, and 1; or 0 */
} inlay_live;
#endif

/* Weights that are replaced while runs use them: one writer, one run at a time. */
//@ tensors {
#define MODEL_TENSORS 1 /* constants, by their numbers in model.json and `inlay weights info` */
//@ }
typedef struct {
    inlay_live state;
#if !MODEL_FENCE
    volatile uint32_t tag[MODEL_TENSORS]; /* the generation of each */
#endif
} model_live;

#endif
#if MODEL_HAS_REGIONS
/* Everything that changes at run time, scratch included, lies in these, each aligned to
 * MODEL_ARENA_ALIGN. */
typedef struct {
//@ arenas {
    void *arena_fast; /* 256 bytes of 1024 */
//@ }
} model_arenas;

#endif
typedef struct {
//@ inputs {
    const float *in0; /* "x": float32 [1,3], 12 bytes */
//@ }
} model_inputs;

typedef struct {
//@ outputs {
    float *out0;        /* "y": float32 [1,3], 12 bytes */
    int64_t *out0_dims; /* gets the 2 real dimensions; may be NULL */
//@ }
} model_outputs;

#if MODEL_INPUTS_INSIDE
#if MODEL_INPUTS_STAY
/* Inputs in the arena are written there before each run, row-major in the dimensions given above.
 * The run leaves them as they are. */
#else
/* Inputs in the arena are written there before each run, row-major in the dimensions given above.
 * The run overwrites them. */
#endif

#endif
#if MODEL_OUTPUTS_INSIDE
/* Results in the arena are there after a run, until the arena is written again. */

#endif
#if !MODEL_HAS_REGIONS
/* Before the first run, where the arena's size is not the compiler's to check: is it there,
 * aligned, and of MODEL_ARENA_SIZE bytes at least? MODEL_OK, MODEL_E_ARG, MODEL_E_ALIGN or
 * MODEL_E_SIZE; it is not touched, and a run asks for no such call. */
int model_init(void *arena, size_t size);

#endif
#if MODEL_HAS_SELFTEST
#ifdef MODEL_SELFTEST
/* -DMODEL_SELFTEST, for all files: a run on made-up inputs. `sums` has MODEL_STEPS words and gets
 * one for what each step wrote: `inlay steps` reads them and names the first step that differs. 0;
 * a code of model_run(); or -1: results differ from those that the compiler got. Its buffers are
 * static: one at a time. */
int model_selftest(model_memory *arena, uint32_t *sums);
#endif

#endif
#if MODEL_HAS_STATES
/* Before the first run, and wherever a sequence begins anew: all states become zeros. Between runs
 * their bytes must not change, all others may; after a run that failed they are not known. */
int model_reset(model_memory *arena);

#endif
/* Computes the outputs from the inputs. All working memory is `arena`; what it holds before and
 * after does not matter, but for what lies in it that a caller knows of: inputs, results, states.
 * Buffers may not overlap. No heap, no mutable static data: calls in different arenas may run at
 * once. */
#if MODEL_BY_ROWS
/* One input comes row by row: model_start() begins a run. As long as it or model_push() returns
 * MODEL_MORE, write the next row to the address that model_input_row() gives, and call
 * model_push(). Any other code ends the run; after MODEL_OK the results are there. Until then the
 * arena is the run's, and the other buffers must not change. */
//@ rows {
#define MODEL_IN0_ROWS 3u     /* rows that a run takes */
#define MODEL_IN0_ROW_SIZE 4u /* bytes of each */
//@ }

/* NULL: no row is awaited. */
void *model_input_row(model_memory *arena);

#if !MODEL_WEIGHTS_APART
int model_start(model_memory *arena, const model_inputs *in, const model_outputs *out);
int model_push(model_memory *arena, const model_inputs *in, const model_outputs *out);

#endif
#else
#if !MODEL_WEIGHTS_APART
int model_run(model_memory *arena, const model_inputs *in, const model_outputs *out);

#endif
#endif
#if MODEL_SHARED
/* The same run on threads that the caller has: `parallel` gets a number of parts, n, and calls
 * work(job, k) for each k from 0 to n - 1, in any order, some at a time or none, and comes back
 * when all are done. `context` is handed to it. Results are those of model_run(), bit for bit. */
//@ threads {
#define MODEL_THREADS 2 /* parts at most */
//@ }
typedef void model_parallel(void *context, int n, void (*work)(void *job, int k), void *job);
#if !MODEL_WEIGHTS_APART
int model_run_mt(model_memory *arena, const model_inputs *in, const model_outputs *out,
        model_parallel *parallel, void *context);
#endif

#endif
#if MODEL_SLICED
/* The same run in slices, for a loop that has other work: model_begin() begins it (inputs in the
 * arena are written before), and each model_step() makes up to `units` of the units that it
 * consists of, most of them rows of results. MODEL_MORE: call it again, with the same buffers;
 * any other code ends the run; after MODEL_OK the results are there. Until then the arena is the
 * run's, and inputs must not change. To give it up, begin anew. */
//@ units {
#define MODEL_UNITS 3     /* of a run; where there are loops, of one that makes each round once */
#define MODEL_UNIT_MACS 4 /* multiplications of the largest unit */
//@ }
int model_begin(model_memory *arena);
#if !MODEL_WEIGHTS_APART
int model_step(model_memory *arena, const model_inputs *in, const model_outputs *out,
        int32_t units);
#endif

#endif
#if MODEL_WEIGHTS_OBJECT
/* The weights are in model_weights.o: link it like the object of any source file. */

#endif
#if MODEL_HAS_WEIGHTS
#if MODEL_WEIGHTS_BLOB
#if MODEL_WEIGHTS_STREAM
/* `weights`: reads model.blob, or another that model_weights_open() took: each byte once in a run,
 * those of a step before it is made. What it returns beyond 0 ends the run with MODEL_E_READ. */
#else
/* `weights`: what model_weights_open() gave. The blob must outlive the call. */
#endif
#else
#if MODEL_WEIGHTS_APART
/* `weights`: the content of model_weights.bin, MODEL_WEIGHTS_SIZE bytes aligned to
 * MODEL_WEIGHTS_ALIGN (64 is fastest), read only: a mapping of the file, flash, or memory that it
 * was read into. It must outlive the call. */
#else
/* The same with the weights at another place: MODEL_WEIGHTS_SIZE bytes, those of this model,
 * aligned to MODEL_WEIGHTS_ALIGN (64 is fastest), read only. */
#endif
#endif
#if MODEL_BY_ROWS
int model_start_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out);
int model_push_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out);
#else
int model_run_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out);
#if MODEL_LIVE
/* The same with weights that may be replaced meanwhile, live->state.weights. */
#if MODEL_FENCE
/* MODEL_E_UPDATED: it came to a tensor that was being written, and is to be made again. */
#else
/* MODEL_E_UPDATED: it may have used weights of two versions, and is to be made again. After any
 * other code it used exactly those that were committed when it began. */
#endif
int model_run_live(model_live *live, model_memory *arena, const model_inputs *in,
        const model_outputs *out);

/* The writer's, in an interrupt or another task; none of them waits. Between begin and commit
 * tensors are replaced, each as a whole: `size` bytes as `inlay weights extract` gives them.
 * MODEL_E_ARG: it has no such constant, or not of that size. */
#if MODEL_FENCE
/* MODEL_E_BUSY: a run is between its first and its last use of it; later, nothing was written. */
#endif
void model_weights_begin(model_live *live);
int model_weights_put(model_live *live, int tensor, const void *bytes, size_t size);
void model_weights_commit(model_live *live);
#endif
#if MODEL_SHARED
int model_run_mt_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out, model_parallel *parallel, void *context);
#endif
#if MODEL_SLICED
int model_step_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out, int32_t units);
#endif
#endif

#if MODEL_WEIGHTS_BLOB
#if MODEL_WEIGHTS_STREAM
/* Once, before they are used: is this model.blob, or another that was made for this code, whole
 * and undamaged? It is read from its first byte to its last. MODEL_OK, MODEL_E_ARG, or
 * MODEL_E_WEIGHTS: it is another, is damaged, or cannot be read. Whatever values it has, a run
 * ends and keeps to its memory. */
int model_weights_open(const inlay_source *blob);
#else
/* Once, before they are used: is this model.blob, or another that was made for this code, whole
 * and undamaged? `length` bytes of it, aligned to MODEL_WEIGHTS_ALIGN (64 is fastest), read only:
 * in flash, a mapping of the file, or memory that it was read into. MODEL_OK, and *weights is what
 * the runs take; or MODEL_E_ARG, MODEL_E_ALIGN, MODEL_E_WEIGHTS, and *weights is NULL. Whatever
 * values it has, a run ends and keeps to its memory. */
int model_weights_open(const void *blob, size_t length, const void **weights);
#endif
#else
#if MODEL_WEIGHTS_APART
/* Once, before they are used: are these `length` bytes the weights of this code, whole and
 * undamaged? MODEL_OK, or MODEL_E_WEIGHTS. A run finds another layout by itself, but not damaged
 * values. */
#else
/* Once, before weights from elsewhere are used: are these `length` bytes those of this code, whole
 * and undamaged? MODEL_OK, or MODEL_E_WEIGHTS. A run finds another layout by itself, but not
 * damaged values. NULL: those linked into the program. */
#endif
int model_weights_check(const void *weights, size_t length);
#endif

#endif
#ifdef __cplusplus
}
#endif
#endif
