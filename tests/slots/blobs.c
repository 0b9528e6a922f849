/* SPDX-License-Identifier: Apache-2.0 */
#include "blobs.h"

#include <stdlib.h>
#include <string.h>

#include "flash.h"
#include "inlay_blob.h"

static const uint64_t layout = UINT64_C(0x1122334455667788);

static void put_sum(uint8_t *to, const uint8_t *from, size_t n)
{
    const uint32_t sum = inlay_crc_small(0, from, n);
    memcpy(to, &sum, sizeof sum);
}

/* Versions differ in some blocks; one block looks like erased flash, in part. */
static void fill(uint8_t *weights, uint32_t n, int version,
                 const Geometry *geometry)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t block = i / INLAY_BLOB_BLOCK;
        const uint64_t of = block % 2 ? 99 : (uint64_t)version;
        uint64_t seed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + of * 77777 + 1;
        weights[i] = (uint8_t)random_next(&seed);
        if (block == 1 && i % INLAY_BLOB_BLOCK > 1500)
            weights[i] = geometry->erased_value;
    }
}

static void *zeros(size_t n)
{
    void *bytes = calloc(1, n);
    if (!bytes)
        fail("no memory");
    return bytes;
}

static uint8_t *blob_of(const Blobs *blobs, const Geometry *geometry,
                        int version)
{
    const uint32_t n = geometry->weights;
    const uint64_t seal[3] = { INLAY_SEAL_MAGIC, layout, n - INLAY_SEAL_SIZE };
    uint8_t *blob = zeros(blobs->size);
    uint8_t *weights = blob + blobs->begin;
    fill(weights, n - INLAY_SEAL_SIZE, version, geometry);
    memcpy(weights + n - INLAY_SEAL_SIZE, seal, sizeof seal);
    put_sum(weights + n - INLAY_SEAL_CRC_SIZE, weights,
            n - INLAY_SEAL_CRC_SIZE);
    uint64_t head[INLAY_BLOB_WORDS];
    inlay_blob_head(head, seal, blobs->begin);
    memcpy(blob, head, sizeof head);
    for (uint32_t at = 0, i = 0; at < n; at += INLAY_BLOB_BLOCK, i++) {
        const uint32_t left = n - at;
        put_sum(blob + sizeof head + i * INLAY_BLOB_CRC_SIZE, weights + at,
                left < INLAY_BLOB_BLOCK ? left : INLAY_BLOB_BLOCK);
    }
    put_sum(weights - INLAY_BLOB_CRC_SIZE, blob,
            blobs->begin - INLAY_BLOB_CRC_SIZE);
    return blob;
}

/* ---- deltas ---- */

static inlay_delta_head head_of(const Blobs *blobs, const Geometry *geometry,
                                const uint8_t *old, const uint8_t *new)
{
    const uint32_t head_sum_at = blobs->begin - INLAY_BLOB_CRC_SIZE;
    inlay_delta_head head = {
        .magic = INLAY_DELTA_MAGIC,
        .layout = layout,
        .length = blobs->size,
        .weights = geometry->weights,
    };
    memcpy(head.base, old + head_sum_at, sizeof *head.base);
    memcpy(head.base + 1, old + blobs->size - INLAY_SEAL_CRC_SIZE,
           sizeof *head.base);
    memcpy(&head.made, new + head_sum_at, sizeof head.made);
    put_sum((uint8_t *)&head.sum, (const uint8_t *)&head,
            offsetof(inlay_delta_head, sum));
    return head;
}

/* How many bytes from `at` on are alike, or are not. */
static uint32_t run_of(const Blobs *blobs, const uint8_t *old,
                       const uint8_t *new, uint32_t at, bool alike)
{
    uint32_t n = 0;
    while (at + n < blobs->size && (old[at + n] == new[at + n]) == alike)
        n++;
    return n;
}

/* Each byte that differs, and no other: many records. */
static Delta delta_of(const Blobs *blobs, const Geometry *geometry, int from,
                      int to)
{
    const uint8_t *old = blobs->bytes[from];
    const uint8_t *new = blobs->bytes[to];
    const inlay_delta_head head = head_of(blobs, geometry, old, new);
    const size_t most = sizeof head + 6 * (size_t)blobs->size + 8;
    Delta delta = { .bytes = zeros(most), .size = sizeof head };
    memcpy(delta.bytes, &head, sizeof head);
    for (uint32_t at = 0; at < blobs->size;) {
        inlay_delta_record record;
        record.kept = run_of(blobs, old, new, at, true);
        at += record.kept;
        record.fresh = run_of(blobs, old, new, at, false);
        memcpy(delta.bytes + delta.size, &record, sizeof record);
        delta.size += (uint32_t)sizeof record;
        memcpy(delta.bytes + delta.size, new + at, record.fresh);
        delta.size += record.fresh;
        at += record.fresh;
    }
    return delta;
}

void blobs_make(Blobs *blobs, const Geometry *geometry)
{
    const inlay_slots sizes = { .weights = geometry->weights };
    *blobs = (Blobs){ .layout = layout };
    blobs->begin = inlay_slots_weights_at(&sizes);
    blobs->size = blobs->begin + geometry->weights;
    for (int i = 0; i <= VERSIONS; i++)
        blobs->bytes[i] = blob_of(blobs, geometry, i);
    for (int i = 0; i <= VERSIONS; i++)
        for (int k = 0; k <= VERSIONS; k++)
            blobs->delta[i][k] = delta_of(blobs, geometry, i, k);
}

void blobs_free(Blobs *blobs)
{
    for (int i = 0; i <= VERSIONS; i++) {
        free(blobs->bytes[i]);
        for (int k = 0; k <= VERSIONS; k++)
            free(blobs->delta[i][k].bytes);
    }
}
