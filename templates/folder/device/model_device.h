/* SPDX-License-Identifier: 0BSD */
//@ about
/* A device whose weights of model_name lie in two slots of flash: which of them to use after a
 * reset, their trial, a download. For one source file, which brings the flash (flash_file.h,
 * flash_area.h, flash_partition.h, or one of yours) and the bytes of a download. */
#ifndef MODEL_DEVICE_H
#define MODEL_DEVICE_H

#include <string.h>

#include "inlay_delta.h"
#include "model.h"

/* ---- the slots ---- */

/* Of each half of the flash a slot: what inlay_slots_open() asks for. After this a device may set
 * slots->check (inlay_signed.h) and slots->counter. */
static void model_device_slots(inlay_slots *slots, const inlay_flash *flash, uint32_t flash_size)
{
    memset(slots, 0, sizeof *slots);
    slots->flash = flash;
    slots->size = flash_size / 2 / flash->erase_unit * flash->erase_unit;
    slots->at[1] = slots->size;
    slots->weights = MODEL_WEIGHTS_SIZE;
    slots->layout = MODEL_LAYOUT_HASH;
}

#if MODEL_WEIGHTS_STREAM
/* What runs read the active slot by: weights->context points to the slots. */
static int model_device_read(void *context, size_t offset, size_t n, void *to)
{
    const inlay_slots *slots = (const inlay_slots *)context;
    return inlay_slots_read(slots, slots->active, (uint32_t)offset, to, (uint32_t)n);
}

/* The active weights: 0, and *weights is what runs take; or a code of model_weights_open(). */
static int model_device_weights(inlay_slots *slots, inlay_source *weights)
{
    memset(weights, 0, sizeof *weights);
    weights->read = model_device_read;
    weights->context = slots;
    return slots->active == INLAY_SLOTS_NONE ? MODEL_E_WEIGHTS : model_weights_open(weights);
}
#else
#ifdef MODEL_DEVICE_COPIES
/* No pointer reaches this flash: the weights are used from RAM. */
static const void *model_device_blob(const inlay_slots *slots, const void *memory)
{
    static uint64_t room[(MODEL_BLOB_SIZE + 64u) / sizeof(uint64_t) + 1];
    unsigned char *copy = (unsigned char *)room;
    (void)memory;
    copy += (64u - (uintptr_t)copy % 64u) % 64u;
    if (inlay_slots_read(slots, slots->active, 0, copy, MODEL_BLOB_SIZE))
        return NULL;
    return copy;
}
#else
/* `memory`: where the first byte of the flash is seen. */
static const void *model_device_blob(const inlay_slots *slots, const void *memory)
{
    return (const unsigned char *)memory + slots->at[slots->active];
}
#endif

/* The active weights: 0, and *weights is what runs take; or a code of model_weights_open(). With
 * MODEL_DEVICE_COPIES they are copied into RAM, and `memory` is of no account. */
static int model_device_weights(const inlay_slots *slots, const void *memory, const void **weights)
{
    *weights = NULL;
    if (slots->active == INLAY_SLOTS_NONE)
        return MODEL_E_WEIGHTS;
    return model_weights_open(model_device_blob(slots, memory), MODEL_BLOB_SIZE, weights);
}
#endif

/* ---- runs ---- */

#if MODEL_WEIGHTS_STREAM
typedef inlay_source model_device_taken;
#else
typedef void model_device_taken;
#endif

/* Where the examples keep inputs and results: bytes of each, in the order of the golden bytes. */
//@ buffers {
static float in0[MODEL_IN0_LENGTH];
static float out0[MODEL_OUT0_LENGTH];
//@ }

static int model_device_run(const model_device_taken *weights)
{
#if MODEL_HAS_REGIONS
//@ arenas {
    static unsigned char arena_fast[MODEL_ARENA_FAST_SIZE + MODEL_ARENA_ALIGN];
//@ }
    model_arenas arenas;
    const model_arenas *arena = &arenas;
#else
    static MODEL_ARENA_ATTR unsigned char room[MODEL_ARENA_SIZE + MODEL_ARENA_ALIGN];
    unsigned char *arena = room;
#endif
    model_inputs in;
    model_outputs out;
#if MODEL_HAS_REGIONS
//@ regions {
    arenas.arena_fast = arena_fast;
//@ }
#else
    while ((uintptr_t)arena % MODEL_ARENA_ALIGN != 0)
        arena++;
#endif
//@ values {
    in.in0 = in0;
    out.out0 = out0;
//@ }
    return model_run_with(weights, arena, &in, &out);
}

/* ---- the trial ---- */

/* Bytes of the slot, one piece after the other. */
typedef struct model_device_note {
    const inlay_slots *slots;
    uint32_t at;
    int failed;
} model_device_note;

static void model_device_take(model_device_note *note, void *to, uint32_t n)
{
    if (inlay_slots_read(note->slots, note->slots->active, note->at, to, n))
        note->failed = 1;
    note->at += n;
}

/* By more than `most` and that part of its size? Float arithmetic in another order differs. */
static int model_device_differs(double got, double want, double most, double part)
{
    const double distance = got < want ? want - got : got - want;
    const double size = want < 0 ? -want : want;
    return got != want && !(distance <= most + part * size);
}

/* Do the golden bytes of the active blob come out: inputs, then results, each as a run has them?
 * 1: they do; 0: they do not, there are none, or they are of another length. */
static int model_device_golden(const inlay_slots *slots, const model_device_taken *weights)
{
    const uint32_t length = slots->log[slots->active].length;
    model_device_note note;
    inlay_note_head head;
    uint32_t i;
    int wrong = 0;
    memset(&note, 0, sizeof note);
    note.slots = slots;
    if (!inlay_slots_note(slots, slots->active, length, INLAY_NOTE_GOLDEN, &head, &note.at))
        return 0;
//@ length {
    if (head.size != MODEL_IN0_SIZE + MODEL_OUT0_SIZE)
        return 0;
//@ }
//@ inputs {
    model_device_take(&note, in0, MODEL_IN0_SIZE);
//@ }
    if (note.failed || model_device_run(weights))
        return 0;
//@ compare {
    for (i = 0; i < MODEL_OUT0_LENGTH; i++) {
        float want;
        model_device_take(&note, &want, sizeof want);
        wrong |= model_device_differs((double)out0[i], (double)want, 1e-3, 1e-3);
    }
//@ }
    return !wrong && !note.failed;
}

/* ---- a download ---- */

/* The next n bytes of it; fewer where it ends; less than 0 where the connection broke. */
typedef int32_t model_device_source(void *context, void *to, uint32_t n);

typedef struct model_device_download {
    inlay_slots *slots;
    inlay_delta delta;
    int is_delta;
    uint32_t at;   /* byte of the file that comes next */
    uint32_t from; /* those before it are in the slot */
} model_device_download;

/* By its first bytes it is a delta, or all of a blob. */
static int model_device_begin(model_device_download *way, const unsigned char *piece, int32_t n,
        int resume)
{
    uint64_t magic = 0;
    if (n >= (int32_t)sizeof magic)
        memcpy(&magic, piece, sizeof magic);
    way->is_delta = magic == INLAY_DELTA_MAGIC;
    if (way->is_delta) {
        way->delta.slots = way->slots;
        way->delta.resume = resume;
        return inlay_delta_begin(&way->delta);
    }
    return resume ? inlay_slots_resume(way->slots, &way->from) : inlay_slots_begin(way->slots);
}

static int model_device_put(model_device_download *way, const unsigned char *piece, uint32_t n)
{
    const uint32_t at = way->at;
    uint32_t known = 0;
    way->at += n;
    if (way->is_delta)
        return inlay_delta_write(&way->delta, at, piece, n);
    if (at < way->from)
        known = way->from - at < n ? way->from - at : n;
    return inlay_slots_write(way->slots, piece + known, n - known);
}

/* All of a download: 0, and the next inlay_slots_open() takes it, on trial; or a code of the slots.
 * `resume`: it is the one that was cut off before. */
static int model_device_update(inlay_slots *slots, int resume, model_device_source *source,
        void *context)
{
    unsigned char piece[256];
    model_device_download way;
    int32_t n = source(context, piece, sizeof piece);
    int error;
    memset(&way, 0, sizeof way);
    way.slots = slots;
    error = model_device_begin(&way, piece, n, resume);
    while (!error && n > 0) {
        error = model_device_put(&way, piece, (uint32_t)n);
        n = error ? 0 : source(context, piece, sizeof piece);
    }
    if (!error && n < 0)
        error = INLAY_SLOTS_E_BLOB;
    if (error)
        return error;
    return way.is_delta ? inlay_delta_commit(&way.delta) : inlay_slots_commit(slots);
}

#endif
