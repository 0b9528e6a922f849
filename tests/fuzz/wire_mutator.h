/* SPDX-License-Identifier: Apache-2.0
 * Mutations that know the wire format of protobuf: a field of a message at any depth is changed,
 * removed, doubled or moved, and the lengths of all messages around it are written anew. */
#ifndef INLAY_FUZZ_WIRE_MUTATOR_H
#define INLAY_FUZZ_WIRE_MUTATOR_H

#include <stddef.h>
#include <stdint.h>

/* Changes the message in place; returns its new size, or 0 where nothing could be done. */
size_t wire_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#endif
