/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 (FIPS 180-4) of data that comes in pieces: of the weights, of the model.
 * Uses the processor's instructions where it has them. */
#ifndef INLAY_BASE_SHA256_H
#define INLAY_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "base/io.h"

typedef struct Sha256 {
    uint32_t state[8];
    uint64_t length;   /* bytes so far */
    uint8_t block[64]; /* of them, those that do not fill a block */
} Sha256;

void sha256_begin(Sha256 *h);
void sha256_add(Sha256 *h, const void *data, size_t n);
/* 64 hexadecimal digits and NUL. */
void sha256_end(Sha256 *h, char hex[65]);
/* Adds n bytes of a file from `at` on. */
void sha256_add_file(Sha256 *h, File *f, uint64_t at, uint64_t n);

/* One of the forms of the block function, by name, for tests: "plain", "x86", "arm". NULL where
 * this machine has none. */
typedef void Sha256Blocks(uint32_t state[8], const uint8_t *data, size_t blocks);
Sha256Blocks *sha256_form(const char *name);

#endif
