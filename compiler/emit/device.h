/* SPDX-License-Identifier: Apache-2.0
 * Parts of NAME_device.h: the weights of a device in two slots of flash, in the examples that come
 * with --slots. */
#ifndef INLAY_EMIT_DEVICE_H
#define INLAY_EMIT_DEVICE_H

#include "emit/emitter.h"

/* Is there such a device: slots, and a model whose call is that of a plain function? */
bool device_fits(const Emitter *emitter);

/* Arrays for inputs and results; the statements that hand them to a run. */
Text device_buffers(const Emitter *emitter);
Text device_values(const Emitter *emitter);
/* Golden bytes: is their length right, take the inputs, compare the results. */
Text device_length(const Emitter *emitter);
Text device_inputs(const Emitter *emitter);
Text device_compare(const Emitter *emitter);
/* Statements that make each element of each input 1. */
Text device_ones(const Emitter *emitter);
/* The line of partitions.csv with room for two slots. */
Text device_partition(const Emitter *emitter);

#endif
