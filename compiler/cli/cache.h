/* SPDX-License-Identifier: Apache-2.0
 * --cache DIR: what a compile wrote is kept, for the next one with the same words of the command
 * line by the same program on files of the same content. Nothing of it is needed: where anything
 * about it is not as it should be, the compile is done. */
#ifndef INLAY_CLI_CACHE_H
#define INLAY_CLI_CACHE_H

#include "pipeline/compile.h"

typedef struct Cache Cache;

/* NULL: there is no --cache. Status 73 where there can be no such folder. */
Cache *cache_open(Compile *compile);
/* Is all done, the output folder in place and the text for standard output there? */
bool cache_find(Cache *cache);
/* Keeps what was written: its bytes before the output folder moves to its place, and then what it
 * was made of. Never fails. */
void cache_take(Cache *cache);
void cache_keep(Cache *cache);

#endif
