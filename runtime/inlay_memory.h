/* SPDX-License-Identifier: 0BSD
 * memcpy() and its like: the C library's, or without one (-ffreestanding) those that the program
 * must have in any case, as gcc and clang call them on their own. */
#ifndef INLAY_MEMORY_H
#define INLAY_MEMORY_H

#if defined __STDC_HOSTED__ && !__STDC_HOSTED__
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);

#ifdef __cplusplus
}
#endif
#else
#include <string.h>
#endif
#endif
