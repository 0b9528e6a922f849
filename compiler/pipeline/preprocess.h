/* SPDX-License-Identifier: Apache-2.0
 * --preprocess: an input of floats is taken as the sensor gives it, and what training did to it is
 * computed by the model's first steps: value = (raw - mean) * scale. */
#ifndef INLAY_PIPELINE_PREPROCESS_H
#define INLAY_PIPELINE_PREPROCESS_H

#include "pipeline/state.h"

typedef enum FrameLayout {
    FRAME_AS_MODEL, /* dimensions in the model's order */
    FRAME_LAST, /* "hwc": channels behind all others, in the model behind the batch */
} FrameLayout;

/* INPUT=TYPE[,hwc][,mean=A:B:C][,scale=A:B:C]. */
typedef struct Preprocess {
    const char *input; /* NULL: the only one */
    DType type;        /* of the elements that the caller gives */
    FrameLayout layout;
    int64_t means; /* of each channel, or one for all; 0: none is given */
    const float *mean;
    int64_t scales;
    const float *scale;
} Preprocess;

/* Fails with 64 where the text is none. */
Preprocess preprocess_read(Arena *arena, const char *text);
/* Puts nodes in front of the inputs that the command line names; their shapes are settled. */
void preprocess_inputs(Compile *compile);

#endif
