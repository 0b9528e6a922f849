/* SPDX-License-Identifier: Apache-2.0
 * What computes with floats in a model that computes with quantized integers elsewhere, and what it
 * costs: steps that float values hold together, between what makes floats of bytes and what makes
 * bytes of them. */
#ifndef INLAY_EMIT_ISLANDS_H
#define INLAY_EMIT_ISLANDS_H

#include "emit/text.h"
#include "ir/program.h"

typedef struct Island {
    VEC(const Step *)
    step; /* that read floats and make no bytes of them, in order */
    int64_t macs;
    int64_t elements; /* of their results */
    int64_t bytes; /* of all float values that it reads and makes, each once */
} Island;
typedef VEC(Island) Islands;

/* Those with the most bytes first; empty where nothing is quantized. In the program's arena. */
Islands islands_find(const Program *program);
/* The same as text, 80 columns, names escaped; at most `most` of them. */
Text islands_text(const Program *program, const Islands *islands, size_t most);

#endif
