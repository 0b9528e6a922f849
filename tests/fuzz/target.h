/* SPDX-License-Identifier: Apache-2.0
 * What the libFuzzer targets share: bytes as a file with a path, and the verdict on a compile. */
#ifndef INLAY_FUZZ_TARGET_H
#define INLAY_FUZZ_TARGET_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed);

/* A file in memory; its path is the same for all contents. */
typedef struct Held {
    int fd;
    char path[32];
} Held;

static inline void held_set(Held *h, const void *data, size_t size)
{
    if (!h->path[0]) {
        h->fd = memfd_create("held", 0);
        snprintf(h->path, sizeof h->path, "/proc/self/fd/%d", h->fd);
    }
    if (ftruncate(h->fd, 0) || pwrite(h->fd, data, size, 0) != (ssize_t)size)
        abort();
}

/* Messages go nowhere, but they are formatted. */
static inline FILE *nowhere(void)
{
    static FILE *f;
    if (!f)
        f = fopen("/dev/null", "w");
    return f;
}

/* Any documented status but that of our own faults. */
static inline void judge(Status s)
{
    switch (s) {
    case STATUS_OK:
    case STATUS_LIMIT:
    case STATUS_USAGE:
    case STATUS_MALFORMED:
    case STATUS_NO_INPUT:
    case STATUS_UNSUPPORTED:
    case STATUS_MEMORY:
    case STATUS_CONFIG:
        return;
    default:
        fprintf(stderr, "status %d\n", (int)s);
        abort();
    }
}

#endif
