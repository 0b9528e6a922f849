/* SPDX-License-Identifier: Apache-2.0
 * Numbers on the command line: decimal digits and nothing else, no sign, no blank, no "0x". */
#ifndef INLAY_PIPELINE_NUMBERS_H
#define INLAY_PIPELINE_NUMBERS_H

#include <stdint.h>

/* Both return what follows the number, or NULL where none begins here or it is too large. */
const char *number_read(const char *text, int64_t most, int64_t *number);
/* Bytes, below 2^50: 65536, 64K, 1M, 2G. */
const char *bytes_read(const char *text, long long *bytes);

#endif
