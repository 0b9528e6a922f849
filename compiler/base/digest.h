/* SPDX-License-Identifier: Apache-2.0
 * Digests of data that come in pieces: SHA-256 of weights, models and recipes; SHA-1, which ONNX
 * prescribes for the checksums of external files: it finds damage, it proves nothing against an
 * adversary. The arithmetic is libcrypto's, which uses the processor's instructions. Its functions
 * for one algorithm allocate nothing and cannot fail; those over all of them (EVP) do and can. */
#ifndef INLAY_BASE_DIGEST_H
#define INLAY_BASE_DIGEST_H

#include <openssl/sha.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"

typedef struct Sha256 {
    SHA256_CTX state;
} Sha256;

typedef struct Sha1 {
    SHA_CTX state;
} Sha1;

void sha256_begin(Sha256 *h);
void sha256_add(Sha256 *h, const void *data, size_t n);
/* 64 hexadecimal digits and NUL. */
void sha256_end(Sha256 *h, char hex[65]);
/* Adds n bytes of a file from `at` on. */
void sha256_add_file(Sha256 *h, File *file, uint64_t at, uint64_t n);

void sha1_begin(Sha1 *h);
/* 40 hexadecimal digits and NUL. */
void sha1_end(Sha1 *h, char hex[41]);
void sha1_add_file(Sha1 *h, File *file, uint64_t at, uint64_t n);

#endif
