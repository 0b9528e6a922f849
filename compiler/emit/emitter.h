/* SPDX-License-Identifier: Apache-2.0
 * What the writers of the generated C share. */
#ifndef INLAY_EMIT_EMITTER_H
#define INLAY_EMIT_EMITTER_H

#include "emit/text.h"
#include "emit/weights.h"
#include "ir/program.h"

typedef struct Emitter {
    Arena *arena;
    const Program *program;
    const char *name;  /* the model's: prefix of identifiers and files */
    const char *upper; /* the same in capital letters */
    WeightsForm form;
    const char *model_sha256; /* "": not asked for */
    bool slots;               /* the runtime's slots are asked for */
    bool selftest;            /* so is a self-test */
    int updates;              /* UpdatePolicy */
    bool grouped; /* one of several models that share a source file */
    int first_step; /* what the code calls its first step: variants have steps in a row */
    const Step *pushed; /* takes an input row by row; or NULL */
    const Step **maker; /* by tensor: the first step that writes it, or NULL */
} Emitter;

Emitter emitter_new(const Program *program, const char *name, WeightsForm form);
/* Of a model for lengths of each run the same for one of its variants; false: there are no more.
 * Others have one, the model. */
bool emitter_of_variant(const Emitter *emitter, size_t v, Emitter *own);

static inline bool has_weights(const Emitter *emitter)
{
    return emitter->program->weight_bytes != 0;
}

/* Are they bytes of one order, and no text of C? */
static inline bool weights_bytes(const Emitter *emitter)
{
    return has_weights(emitter) && emitter->form != WEIGHTS_C;
}

/* Does the caller bring them, as they are not linked into the program? */
static inline bool weights_apart(const Emitter *emitter)
{
    return has_weights(emitter) &&
           (emitter->form == WEIGHTS_BIN || weights_form_blob(emitter->form));
}

/* Do they come as a blob that the code opens? */
static inline bool weights_blob(const Emitter *emitter)
{
    return has_weights(emitter) && weights_form_blob(emitter->form);
}

/* Is it read through windows? */
static inline bool weights_streamed(const Emitter *emitter)
{
    return has_weights(emitter) && emitter->form == WEIGHTS_STREAM;
}

/* Do slots in flash keep them? */
static inline bool has_slots(const Emitter *emitter)
{
    return weights_blob(emitter) && emitter->slots;
}

/* Are tensors of them replaced while runs use them? */
static inline bool has_updates(const Emitter *emitter)
{
    return weights_blob(emitter) && emitter->updates;
}

/* Do some constants stay in the code? */
static inline bool has_code_constants(const Emitter *emitter)
{
    return emitter->program->code_bytes != 0;
}

/* Are they an object file? */
static inline bool weights_object(const Emitter *emitter)
{
    return has_weights(emitter) && emitter->form == WEIGHTS_OBJ;
}

static inline bool has_regions(const Emitter *emitter)
{
    return emitter->program->plan.region.n != 0;
}

/* Does a step read or write float64 values? */
bool has_doubles(const Emitter *emitter);

/* The macro of the header with the bytes of the arena, or of that region of it. */
const char *memory_macro(const Emitter *emitter, int region);

/* For comments: what the tensor is called, its type and shape, as in "fc": float32 [1,10]. A tensor
 * that the model does not name is called by the step that makes it. */
void put_tensor(Text *text, const Emitter *emitter, const Tensor *tensor);
/* The same of a step's result: result "fc": float32 [1,10]. */
void put_result(Text *text, const Emitter *emitter, const Tensor *tensor);
/* Its type and shape in the model: "float32 [1,10]". */
void put_shape(Text *text, const Tensor *tensor);

#endif
