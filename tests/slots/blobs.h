/* SPDX-License-Identifier: Apache-2.0
 * Blobs of weights for tests of slots, and deltas from each to each, written here anew. */
#ifndef INLAY_TESTS_SLOTS_BLOBS_H
#define INLAY_TESTS_SLOTS_BLOBS_H

#include "inlay_delta.h"

enum { VERSIONS = 5 }; /* of the weights; 0: those of the firmware */

typedef struct Geometry {
    uint32_t prog_unit, erase_unit;
    uint8_t erased_value;
    uint32_t weights; /* bytes of them */
    uint32_t piece;   /* of a download, about */
    int deltas;       /* most downloads are deltas */
} Geometry;

typedef struct Delta {
    uint8_t *bytes;
    uint32_t size;
} Delta;

typedef struct Blobs {
    uint64_t layout;
    uint32_t begin, size;
    uint8_t *bytes[VERSIONS + 1];
    Delta delta[VERSIONS + 1][VERSIONS + 1]; /* from, to */
} Blobs;

void blobs_make(Blobs *blobs, const Geometry *geometry);
void blobs_free(Blobs *blobs);

#endif
