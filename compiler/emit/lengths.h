/* SPDX-License-Identifier: Apache-2.0
 * Of a model whose lengths each run is given (ir/lengths.h): its members of the interface and its
 * tables. All of it is empty where there are none. */
#ifndef INLAY_EMIT_LENGTHS_H
#define INLAY_EMIT_LENGTHS_H

#include "emit/emitter.h"

static inline bool has_lengths(const Emitter *emitter)
{
    return emitter->program->lengths != NULL;
}

/* Does a result hand its dimensions back without a step that writes them? */
bool lengths_give_dims(const Emitter *emitter, size_t i);
/* #define NAME_DIM0_LEAST and _MOST. */
void put_length_bounds(Text *text, const Emitter *emitter);
/* Members of the structure of inputs. */
void put_length_members(Text *text, const Emitter *emitter);
/* The same for Rust. */
void put_length_fields(Text *text, const Emitter *emitter);
/* Members of a variable of that structure get the most. */
void put_length_most(Text *text, const Emitter *emitter, const char *variable);
/* They are taken and compared with their bounds. */
void put_length_values(Text *text, const Emitter *emitter);
typedef struct LengthTables {
    Text tables;  /* columns, what follows them, and the variants */
    Text room;    /* of a run, as declarations */
    Text results; /* behind a run: real dimensions of results */
} LengthTables;
LengthTables table_lengths(const Emitter *emitter);

#endif
