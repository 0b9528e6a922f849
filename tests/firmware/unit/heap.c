/* SPDX-License-Identifier: 0BSD
 * Memory for the C library's malloc in tests on bare cores; a test that needs more ends. */
#include <stddef.h>
#include <stdint.h>

#include "semihosting.h"

/* Newlib's name, and picolibc's. */
void *_sbrk(ptrdiff_t more);
void *sbrk(ptrdiff_t more);

static union {
    unsigned char bytes[3 << 19];
    double align;
} heap;

void *_sbrk(ptrdiff_t more)
{
    static size_t used;
    unsigned char *const at = heap.bytes + used;
    if (more > 0 && (size_t)more > sizeof heap.bytes - used) {
        semi_text("no memory\n");
        semi_exit(1);
    }
    used += (size_t)more;
    return at;
}

void *sbrk(ptrdiff_t more)
{
    return _sbrk(more);
}
