/* SPDX-License-Identifier: 0BSD */
//@ about
#include "model.h"

#if !MODEL_GROUPED
#ifdef MODEL_ON_STEP
/* -DMODEL_ON_STEP=FUNCTION: it comes after each call of a step, which of a stream are many. */
void MODEL_ON_STEP(int32_t step);
#define INLAY_ON_STEP(step) MODEL_ON_STEP(step)
#endif
#endif
#if MODEL_LIVE
/* Behind each call of a step: MODEL_E_UPDATED, where it met weights that were being replaced. */
static int updated(void *const *base, int32_t step);
#ifdef MODEL_ON_STEP
#undef INLAY_ON_STEP
#define INLAY_ON_STEP(step)                                                                        \
    MODEL_ON_STEP(step);                                                                           \
    if (updated(base, step))                                                                       \
    return MODEL_E_UPDATED
#else
#define INLAY_ON_STEP(step)                                                                        \
    if (updated(base, step))                                                                       \
    return MODEL_E_UPDATED
#endif
#endif
//@ includes {
#include "inlay.h"
#include "inlay_update.h"
#include "inlay_weights.h"
#include "inlay_blob.h"
#include "inlay_fetch.h"
#include "inlay_slices.h"
#include "inlay_threads.h"
#include "inlay_lengths.h"
#include "kernels/pushed.h"
//@ }
#if MODEL_WEIGHTS_BYTES
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "these weights are little-endian; --weights=c has them for both orders"
#endif
#endif

/* Places in the array of base pointers: the weights, the arena, then what the caller gives. */
enum {
//@ bases {
    BASE_WEIGHTS = INLAY_WEIGHTS,
    BASE_FAST = INLAY_ARENA,
    BASE_IN0,
    BASE_OUT0,
    BASE_OUT0_DIMS,
//@ }
#if MODEL_LIVE
    BASE_LIVE, /* the inlay_live of the run, or NULL */
#endif
    BASES
};

#if MODEL_HAS_WEIGHTS
#if !MODEL_WEIGHTS_APART
/* MODEL_WEIGHTS_SIZE bytes. */
extern const uint64_t model_weights_data[];

#endif
/* How the weights end, before their CRC-32: magic number and form, hash of the layout, and how many
 * bytes come before. */
static const uint64_t seal[] = {
//@ seal {
    UINT64_C(0), UINT64_C(0), UINT64_C(32)
//@ }
};

#endif
#if MODEL_HAS_CONSTANTS
#include "model_constants.h"

#endif
/* Of each step its parameters and its operands, results first; what is not named is 0. Row r of an
 * operand begins at base + .off + (r % .cap) * .row, in bytes; .pix is the elements from one pixel
 * to the next. Equal tables are stored once. */

//@ tables {
static int example_kernel(void *const *base, const inlay_step *step, int32_t first, int32_t end)
{
    (void)base, (void)step, (void)first, (void)end;
    return 0;
}

/* Step 0: Relu "relu" */
static const int32_t params0 = 1;
static const inlay_ref operands0[] = {
    { .row = 12, .cap = 1, .pix = 3, .base = BASE_OUT0 }, /* result "y": float32 [1,3] */
    { .row = 12, .cap = 1, .pix = 3, .base = BASE_IN0 },  /* "x": float32 [1,3] */
};

//@ }
static const inlay_step steps[] = {
//@ steps {
    /* 0: Relu "relu", [1,3] to [1,3] */
    { .run = example_kernel, .params = &params0, .ref = operands0, .units = 1 },
//@ }
};

#if MODEL_HAS_SEGMENTS
/* Which steps run together. Without a list they run one after the other; a list names a step,
 * counted from .first, for each row that is made: a prologue, periods that repeat, an epilogue. */
//@ lists {
static const uint8_t list0[] = { 0 };
//@ }
static const inlay_segment segments[] = {
//@ segments {
    { .first = 0, .count = 1, .period = 1, .repeats = 1, .list = list0 },
//@ }
};

#endif
#if MODEL_SHARED
/* Steps that threads share, and where they have scratch, the operands of each thread but the first.
 */
static const inlay_split splits[] = {
//@ splits {
    { .step = 0 },
//@ }
};

#endif
#if MODEL_HAS_LENGTHS
/* Numbers of the steps that follow the lengths of a run: columns, each a table or the terms of a
 * polynomial; of each step what follows which; and of each combination of lengths its steps. */
//@ lengths {
static const inlay_column columns[] = { { .table = NULL } };
static const inlay_following following0[] = { { INLAY_TO_UNITS, 0, 0 } };
static const inlay_follower follower0[] = { { 0, 0, 0 }, { 0, 0, 0 } };
static const inlay_variant variants[] = {
    { .step = steps, .follower = follower0, .following = following0, .steps = 1 },
};
static const inlay_length bounds[] = { { 1, 64 } };
static const inlay_lengths model_lengths = {
    .length = bounds,
    .column = columns,
    .variant = variants,
    .lengths = 1,
};
//@ }

#endif
/* What can be known of the plan when this is compiled. */
INLAY_ASSERT(model_types, sizeof(float) == 4 && sizeof(int64_t) == 8);
#if MODEL_HAS_DOUBLES
INLAY_ASSERT(model_doubles, sizeof(double) == 8);
#endif
//@ asserts {
INLAY_ASSERT(model_align, MODEL_ARENA_ALIGN == 16u);
//@ }

/* A tensor lies aligned, and within its memory. */
#define PLACED(tensor, offset, bytes, memory) \
    INLAY_ASSERT(model_tensor_##tensor, \
                 (offset) % MODEL_ARENA_ALIGN == 0 && (offset) + (bytes) <= (memory))
//@ places {
PLACED(1, 0u, 12u, MODEL_ARENA_SIZE);
//@ }

#ifdef INLAY_CHECK
#include "model_plan_check.h" /* `inlay compile --checks` writes it */
#endif

#if !MODEL_HAS_LENGTHS
static const inlay_model model_steps = {
    .step = steps,
#if MODEL_HAS_SEGMENTS
    .segment = segments,
#endif
//@ counts {
    .steps = 1,
#if MODEL_HAS_SEGMENTS
    .segments = 1,
    .state = 240u, /* the row counters' place in the arena */
#endif
//@ }
#ifdef INLAY_CHECK
    .rule = check_rule,
    .rules = check_rules,
    .life = check_life,
    .lives = (int32_t)(sizeof check_life / sizeof *check_life),
    .areas = (int32_t)(sizeof check_area / sizeof *check_area) - 1,
    .area = check_area,
    .tags = check_tags,
#endif
};
#endif

#if MODEL_LIVE
/* Of each constant its place in the weights and the steps that use it, the last one excluded; of
 * each step those that may be called before it is done. */
//@ updates {
static const inlay_tensor tensors[] = { { 0, 12, 0, 1 } };
static const inlay_span spans[] = { { 0, 1, 1 } };
//@ }
static const inlay_updates updates = {
    .tensor = tensors,
    .span = spans,
    .tensors = MODEL_TENSORS,
    .steps = (int32_t)(sizeof spans / sizeof *spans),
};

static int updated(void *const *base, int32_t step)
{
    model_live *live = (model_live *)base[BASE_LIVE];
#if MODEL_FENCE
    return live && inlay_fence_step(&updates, &live->state, step);
#else
    return live && inlay_tags_changed(&updates, &live->state, live->tag, step);
#endif
}

void model_weights_begin(model_live *live)
{
    inlay_update_begin(&live->state);
}

int model_weights_put(model_live *live, int tensor, const void *bytes, size_t size)
{
#if MODEL_FENCE
    return inlay_fence_put(&updates, &live->state, tensor, bytes, size);
#else
    return inlay_tags_put(&updates, &live->state, live->tag, tensor, bytes, size);
#endif
}

void model_weights_commit(model_live *live)
{
    inlay_update_commit(&live->state);
}

#endif
/* What a run keeps on the stack. */
typedef struct {
    void *base[BASES];
#if MODEL_WEIGHTS_STREAM
    inlay_stream stream;
#endif
//@ dims {
    int64_t out0_dims[2]; /* for a caller who gives no room for them */
    int32_t dim[1];
//@ }
} model_frame;

#if MODEL_HAS_WEIGHTS
static int take_weights(model_frame *frame, const model_source *weights)
{
    if (!weights)
        return MODEL_E_ARG;
#if MODEL_WEIGHTS_STREAM
    if (!weights->read || !weights->start != !weights->wait)
        return MODEL_E_ARG;
    frame->stream.source = weights;
    frame->stream.begin = MODEL_BLOB_SIZE - MODEL_WEIGHTS_SIZE;
    if (!inlay_source_sealed(weights, frame->stream.begin, seal))
        return MODEL_E_WEIGHTS;
    frame->base[BASE_WEIGHTS] = &frame->stream;
    return MODEL_OK;
#else
    if ((uintptr_t)weights % MODEL_WEIGHTS_ALIGN)
        return MODEL_E_ALIGN;
    if (!inlay_sealed(weights, MODEL_WEIGHTS_SIZE, seal))
        return MODEL_E_WEIGHTS;
    frame->base[BASE_WEIGHTS] = (void *)(uintptr_t)weights;
#if MODEL_LIVE
    frame->base[BASE_LIVE] = NULL;
#endif
    return MODEL_OK;
#endif
}

#endif
/* The arena, or one of its regions. */
static int take_memory(model_frame *frame, int place, void *memory, size_t size)
{
    if (!memory && size)
        return MODEL_E_ARG;
    if ((uintptr_t)memory % MODEL_ARENA_ALIGN)
        return MODEL_E_ALIGN;
    frame->base[place] = memory;
    return MODEL_OK;
}

static int take_arena(model_frame *frame, model_memory *arena)
{
#if MODEL_HAS_REGIONS
    int error = arena ? MODEL_OK : MODEL_E_ARG;
//@ regions {
    if (!error)
        error = take_memory(frame, BASE_FAST, arena->arena_fast, MODEL_ARENA_FAST_SIZE);
//@ }
    return error;
#else
    return take_memory(frame, INLAY_ARENA, arena, MODEL_ARENA_SIZE);
#endif
}

#if MODEL_HAS_BUFFERS
/* Is a buffer of the caller missing? */
static int missing(model_frame *frame, int place, const void *buffer)
{
    frame->base[place] = (void *)(uintptr_t)buffer;
    return buffer == NULL;
}

#endif
/* Inputs and outputs: each is there, or NULL where it lies in the arena. */
static int take_values(model_frame *frame, const model_inputs *in, const model_outputs *out)
{
    int wrong = 0;
#if MODEL_HAS_CONSTANTS
    frame->base[BASE_CODE] = (void *)(uintptr_t)code_constants;
#endif
#if MODEL_BORROWS
    /* What other models of this program have in their weights, too. */
//@ lenders {
    frame->base[BASE_WEIGHTS] = (void *)(uintptr_t)model_weights_data;
//@ }
#endif
//@ values {
    if (!in || !out)
        return MODEL_E_ARG;
#if MODEL_HAS_BUFFERS
    wrong |= missing(frame, BASE_IN0, in->in0);
    wrong |= missing(frame, BASE_OUT0, out->out0);
#endif
    frame->base[BASE_OUT0_DIMS] = out->out0_dims ? out->out0_dims : frame->out0_dims;
    frame->dim[0] = 1;
//@ }
    return wrong ? MODEL_E_ARG : MODEL_OK;
}

#if MODEL_WAITS
/* Of the arena: where the run stands that waits. */
//@ run_state {
enum { RUN_STATE = 240, ROW_STEP = 0 };
//@ }

#endif
#if MODEL_BY_ROWS
/* Begins a run, or, with a row, goes on with it: the awaited row is there. */
static int go_on(model_frame *frame, model_memory *arena, const model_inputs *in,
        const model_outputs *out, int row)
{
    int error = take_arena(frame, arena);
    if (!error)
        error = take_values(frame, in, out);
    return error ? error : inlay_go_on(&model_steps, frame->base, RUN_STATE, ROW_STEP, row);
}

void *model_input_row(model_memory *arena)
{
    model_frame frame;
    if (!arena || take_arena(&frame, arena))
        return NULL;
    return inlay_input_row(&model_steps, frame.base, RUN_STATE, ROW_STEP);
}

#if MODEL_HAS_WEIGHTS
int model_start_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out)
{
    model_frame frame;
    const int error = take_weights(&frame, weights);
    return error ? error : go_on(&frame, arena, in, out, 0);
}

int model_push_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out)
{
    model_frame frame;
    const int error = take_weights(&frame, weights);
    return error ? error : go_on(&frame, arena, in, out, 1);
}
#if !MODEL_WEIGHTS_APART

int model_start(model_memory *arena, const model_inputs *in, const model_outputs *out)
{
    return model_start_with(model_weights_data, arena, in, out);
}

int model_push(model_memory *arena, const model_inputs *in, const model_outputs *out)
{
    return model_push_with(model_weights_data, arena, in, out);
}
#endif
#else
int model_start(model_memory *arena, const model_inputs *in, const model_outputs *out)
{
    model_frame frame;
    return go_on(&frame, arena, in, out, 0);
}

int model_push(model_memory *arena, const model_inputs *in, const model_outputs *out)
{
    model_frame frame;
    return go_on(&frame, arena, in, out, 1);
}
#endif
#else
#if MODEL_HAS_LENGTHS
static int run_lengths(model_frame *frame, const model_outputs *out)
{
//@ room {
    int64_t number[1];
    int64_t params[1];
    inlay_ref ref[1];
//@ }
    const inlay_lengths_room room = { number, params, ref };
    const int error = inlay_run_lengths(&model_lengths, frame->dim, &room, frame->base);
    const int variant = inlay_variant_at(&model_lengths, frame->dim);
    if (error)
        return error;
    (void)variant;
    (void)out;
//@ results {
//@ }
    return MODEL_OK;
}

#else
static int run_all(void *const *base)
{
#if MODEL_HAS_SEGMENTS
    return inlay_run(&model_steps, base);
#else
    return inlay_run_steps(&model_steps, base);
#endif
}
#endif

#if MODEL_HAS_WEIGHTS
int model_run_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out)
{
    model_frame frame;
    int error = take_weights(&frame, weights);
    if (!error)
        error = take_arena(&frame, arena);
    if (!error)
        error = take_values(&frame, in, out);
#if MODEL_HAS_LENGTHS
    return error ? error : run_lengths(&frame, out);
#else
    return error ? error : run_all(frame.base);
#endif
}
#if MODEL_LIVE

int model_run_live(model_live *live, model_memory *arena, const model_inputs *in,
        const model_outputs *out)
{
    model_frame frame;
    int error = live ? take_weights(&frame, live->state.weights) : MODEL_E_ARG;
    if (!error)
        error = take_arena(&frame, arena);
    if (!error)
        error = take_values(&frame, in, out);
    if (error)
        return error;
    frame.base[BASE_LIVE] = live;
#if MODEL_FENCE
    error = inlay_fence_begin(&updates, &live->state) ? MODEL_E_UPDATED : run_all(frame.base);
    inlay_fence_end(&live->state);
    return error;
#else
    live->state.from = live->state.committed;
    inlay_update_barrier();
    return run_all(frame.base);
#endif
}
#endif
#if !MODEL_WEIGHTS_APART

int model_run(model_memory *arena, const model_inputs *in, const model_outputs *out)
{
    return model_run_with(model_weights_data, arena, in, out);
}
#endif
#else
int model_run(model_memory *arena, const model_inputs *in, const model_outputs *out)
{
    model_frame frame;
    int error = take_arena(&frame, arena);
    if (!error)
        error = take_values(&frame, in, out);
#if MODEL_HAS_LENGTHS
    return error ? error : run_lengths(&frame, out);
#else
    return error ? error : run_all(frame.base);
#endif
}
#endif
#endif
#if MODEL_SHARED

static int run_shared(model_frame *frame, model_memory *arena, const model_inputs *in,
        const model_outputs *out, model_parallel *parallel, void *context)
{
    const inlay_team team = { splits, (int32_t)(sizeof splits / sizeof *splits), MODEL_THREADS,
                              parallel, context };
    int error = parallel ? take_arena(frame, arena) : MODEL_E_ARG;
    if (!error)
        error = take_values(frame, in, out);
    return error ? error : inlay_run_team(&model_steps, frame->base, &team);
}

#if MODEL_HAS_WEIGHTS
int model_run_mt_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out, model_parallel *parallel, void *context)
{
    model_frame frame;
    const int error = take_weights(&frame, weights);
    return error ? error : run_shared(&frame, arena, in, out, parallel, context);
}
#if !MODEL_WEIGHTS_APART

int model_run_mt(model_memory *arena, const model_inputs *in, const model_outputs *out,
        model_parallel *parallel, void *context)
{
    return model_run_mt_with(model_weights_data, arena, in, out, parallel, context);
}
#endif
#else
int model_run_mt(model_memory *arena, const model_inputs *in, const model_outputs *out,
        model_parallel *parallel, void *context)
{
    model_frame frame;
    return run_shared(&frame, arena, in, out, parallel, context);
}
#endif
#endif
#if MODEL_SLICED

int model_begin(model_memory *arena)
{
    model_frame frame;
    const int error = take_arena(&frame, arena);
    if (!error)
        inlay_slices_begin(&model_steps, frame.base, RUN_STATE);
    return error;
}

static int go_on_for(model_frame *frame, model_memory *arena, const model_inputs *in,
        const model_outputs *out, int32_t units)
{
    int error = take_arena(frame, arena);
    if (!error)
        error = take_values(frame, in, out);
    return error ? error : inlay_slice(&model_steps, frame->base, RUN_STATE, units);
}

#if MODEL_HAS_WEIGHTS
int model_step_with(const model_source *weights, model_memory *arena, const model_inputs *in,
        const model_outputs *out, int32_t units)
{
    model_frame frame;
    const int error = take_weights(&frame, weights);
    return error ? error : go_on_for(&frame, arena, in, out, units);
}
#if !MODEL_WEIGHTS_APART

int model_step(model_memory *arena, const model_inputs *in, const model_outputs *out,
        int32_t units)
{
    return model_step_with(model_weights_data, arena, in, out, units);
}
#endif
#else
int model_step(model_memory *arena, const model_inputs *in, const model_outputs *out,
        int32_t units)
{
    model_frame frame;
    return go_on_for(&frame, arena, in, out, units);
}
#endif
#endif
#if MODEL_HAS_STATES

int model_reset(model_memory *arena)
{
    model_frame frame;
    const int error = take_arena(&frame, arena);
    if (error)
        return error;
//@ reset {
    memset((unsigned char *)frame.base[INLAY_ARENA] + MODEL_STATE0_OFFSET, 0, MODEL_STATE0_SIZE);
//@ }
    return MODEL_OK;
}
#endif
#if !MODEL_HAS_REGIONS

int model_init(void *arena, size_t size)
{
    model_frame frame;
    const size_t needed = MODEL_ARENA_SIZE;
    const int error = take_arena(&frame, arena);
    return !error && size < needed ? MODEL_E_SIZE : error;
}
#endif
#if MODEL_WEIGHTS_BLOB
#if MODEL_WEIGHTS_STREAM

int model_weights_open(const inlay_source *blob)
{
    if (!blob || !blob->read)
        return MODEL_E_ARG;
    if (!inlay_source_check(blob, MODEL_BLOB_SIZE - MODEL_WEIGHTS_SIZE, seal))
        return MODEL_E_WEIGHTS;
    return MODEL_OK;
}
#else

int model_weights_open(const void *blob, size_t length, const void **weights)
{
    if (!weights)
        return MODEL_E_ARG;
    *weights = NULL;
    if (!blob)
        return MODEL_E_ARG;
    if ((uintptr_t)blob % MODEL_WEIGHTS_ALIGN)
        return MODEL_E_ALIGN;
    *weights = inlay_blob_open(blob, length, MODEL_BLOB_SIZE - MODEL_WEIGHTS_SIZE, seal);
    return *weights ? MODEL_OK : MODEL_E_WEIGHTS;
}
#endif
#else
#if MODEL_HAS_WEIGHTS

int model_weights_check(const void *weights, size_t length)
{
#if MODEL_WEIGHTS_APART
    if (!weights)
        return MODEL_E_ARG;
#else
    if (!weights) {
        weights = model_weights_data;
        length = MODEL_WEIGHTS_SIZE;
    }
#endif
    if ((uintptr_t)weights % MODEL_WEIGHTS_ALIGN)
        return MODEL_E_ALIGN;
    if (length < MODEL_WEIGHTS_SIZE || !inlay_sealed(weights, MODEL_WEIGHTS_SIZE, seal))
        return MODEL_E_WEIGHTS;
    return inlay_weights_whole(weights, MODEL_WEIGHTS_SIZE) ? MODEL_OK : MODEL_E_WEIGHTS;
}
#endif
#endif
#if MODEL_HAS_SELFTEST
#ifdef MODEL_SELFTEST

#include "model_selftest.h"
#endif
#endif
