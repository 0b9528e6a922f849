/* SPDX-License-Identifier: Apache-2.0
 * SHA-1, which ONNX prescribes for the checksums of external files. It finds
 * damage, it proves nothing against an adversary. */
#ifndef INLAY_ONNX_SHA1_H
#define INLAY_ONNX_SHA1_H

#include <stddef.h>
#include <stdint.h>

typedef struct Sha1 {
    uint32_t state[5];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
} Sha1;

void sha1_begin(Sha1 *s);
void sha1_add(Sha1 *s, const uint8_t *p, size_t n);
/* 40 hexadecimal digits and NUL. */
void sha1_end(Sha1 *s, char hex[41]);

#endif
