/* SPDX-License-Identifier: Apache-2.0
 * CRC-32 (IEEE 802.3) of data that come in pieces, at the speed of memory where the processor
 * multiplies without carry. What the generated code computes is runtime/inlay_weights.h's. */
#ifndef INLAY_BASE_CRC32_H
#define INLAY_BASE_CRC32_H

#include "inlay_weights.h"

typedef struct Crc32 {
    inlay_crc_tables tables;
    uint32_t value; /* of all so far */
} Crc32;

void crc32_begin(Crc32 *crc32);
void crc32_add(Crc32 *crc32, const void *data, size_t n);

#endif
