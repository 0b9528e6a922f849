/* SPDX-License-Identifier: Apache-2.0
 * The constant blob: where each constant lies in it, and its forms in the output folder. */
#ifndef INLAY_EMIT_WEIGHTS_H
#define INLAY_EMIT_WEIGHTS_H

#include "base/io.h"
#include "ir/program.h"

typedef enum WeightsForm { WEIGHTS_AUTO, WEIGHTS_C, WEIGHTS_INCBIN, WEIGHTS_BIN, WEIGHTS_OBJ } WeightsForm;

/* "auto", "c", ...; NULL: auto. An unknown name fails with 64. */
WeightsForm weights_form_of(const char *name);
const char *weights_form_name(WeightsForm f);

/* Gives every constant its offset; equal recipes share one. */
void weights_layout(Program *p);
/* Writes the blob as `form` asks (auto: C text while small, else incbin); returns the form taken. The symbol is
 * NAME_weights_data. target: of the object file, may be NULL. sha256: gets 64 hex digits and NUL where hash is set. */
WeightsForm weights_emit(Program *p, Output *o, const char *name, WeightsForm form, const char *target, bool hash, char sha256[65]);

#endif
