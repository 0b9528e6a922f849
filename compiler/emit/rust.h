/* SPDX-License-Identifier: Apache-2.0
 * The interface of the generated code in Rust's terms: parts of rust/lib.rs. */
#ifndef INLAY_EMIT_RUST_H
#define INLAY_EMIT_RUST_H

#include "emit/emitter.h"

Text rust_sizes(const Emitter *emitter);
/* The attribute of the structure that the arena is. */
Text rust_align(const Emitter *emitter);
/* Members of the structures. */
Text rust_arenas(const Emitter *emitter);
Text rust_inputs(const Emitter *emitter);
Text rust_outputs(const Emitter *emitter);

#endif
