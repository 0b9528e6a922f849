/* SPDX-License-Identifier: Apache-2.0
 * Values of options: what none is ends with 64, before any file is read. */
#ifndef INLAY_CLI_VALUES_H
#define INLAY_CLI_VALUES_H

#include "base/arena.h"

/* Refuses what is no value of the option, by fail_at(). */
typedef void OptionCheck(Arena *arena, const char *value);

OptionCheck value_pair, value_shape, value_dim, value_batch, value_top,
    value_count, value_pass, value_optional_pass, value_target, value_threads,
    value_effort, value_tolerance, value_preprocess, value_stream;

int64_t value_read_top(const char *text);
uint32_t value_read_count(const char *text);
double value_read_tolerance(const char *text);

#endif
