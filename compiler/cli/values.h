/* SPDX-License-Identifier: Apache-2.0
 * Values of options: what none is ends with 64, before any file is read. */
#ifndef INLAY_CLI_VALUES_H
#define INLAY_CLI_VALUES_H

#include "cli/options.h"

OptionCheck value_pair, value_shape, value_dim, value_pass, value_optional_pass, value_target;

/* "NAME=VALUE": the last '=' divides, as names may hold one. Returns the value. */
const char *value_divide(Arena *arena, const char *text, char **name);
/* 1x3x224x224, or "scalar". */
Shape value_read_shape(const char *text);
int64_t value_read_dimension(const char *text);

#endif
