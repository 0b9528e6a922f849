/* SPDX-License-Identifier: Apache-2.0
 * Numbers of bytes on the command line: 65536, 64K, 1M, 2G. */
#ifndef INLAY_CLI_BYTES_H
#define INLAY_CLI_BYTES_H

/* Returns what follows the number, or NULL where none below 2^50 begins here. */
const char *bytes_read(const char *text, long long *bytes);

#endif
