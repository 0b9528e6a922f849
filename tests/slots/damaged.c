/* SPDX-License-Identifier: Apache-2.0
 * Deltas that are damaged, cut off, made up, or for other weights: none is ever committed, and the
 * old weights stay in use. Each bit, each length, numbers that no writer makes. Reads beyond the
 * flash end the program (flash.c), others do under AddressSanitizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blobs.h"
#include "flash.h"
#include "inlay_blob.h"

typedef struct Device {
    const Geometry *geometry;
    const Blobs *blobs;
    Flash flash;
    inlay_slots slots;
    const uint8_t *own; /* the firmware's weights; NULL: none */
    uint64_t seed;
} Device;

static void device_make(Device *device, const Geometry *geometry,
                        const Blobs *blobs)
{
    const uint32_t sector = geometry->erase_unit;
    const uint32_t needed = blobs->size + INLAY_SLOTS_LOG;
    const uint32_t size = (needed + sector - 1) / sector * sector;
    *device = (Device){ .geometry = geometry, .blobs = blobs, .seed = 1 };
    flash_make(&device->flash, 2 * size, geometry->prog_unit, sector,
               geometry->erased_value);
    device->slots = (inlay_slots){
        .flash = &device->flash.calls,
        .at = { 0, size }, /* the active one, 1, ends where the flash does */
        .size = size,
        .weights = geometry->weights,
        .layout = blobs->layout,
    };
}

static void device_copy(Device *to, const Device *from)
{
    Flash flash = to->flash;
    flash_copy(&flash, &from->flash);
    *to = *from;
    to->flash = flash;
    to->flash.calls.context = &to->flash;
    to->slots.flash = &to->flash.calls;
}

/* Version 1 is there, and confirmed. */
static void settle(Device *device)
{
    inlay_slots *slots = &device->slots;
    const Blobs *blobs = device->blobs;
    if (inlay_slots_open(slots) || inlay_slots_begin(slots) ||
        inlay_slots_write(slots, blobs->bytes[3], blobs->size) ||
        inlay_slots_commit(slots) || inlay_slots_open(slots) ||
        inlay_slots_confirm(slots) || inlay_slots_begin(slots) ||
        inlay_slots_write(slots, blobs->bytes[1], blobs->size) ||
        inlay_slots_commit(slots) || inlay_slots_open(slots) ||
        inlay_slots_confirm(slots) || slots->active != 1)
        fail("the first weights do not come");
}

/* What a whole download of the delta ends with. */
static int apply(Device *device, const Delta *delta)
{
    inlay_delta way = { .slots = &device->slots, .own = device->own };
    int error = inlay_delta_begin(&way);
    while (!error && way.next < delta->size) {
        const uint32_t left = delta->size - way.next;
        const uint32_t most = 1 + (uint32_t)(random_next(&device->seed) % 300);
        const uint32_t n = left < most ? left : most;
        error = inlay_delta_write(&way, way.next, delta->bytes + way.next, n);
    }
    return error ? error : inlay_delta_commit(&way);
}

static bool uses(Device *device, int version)
{
    inlay_slots *slots = &device->slots;
    return !inlay_slots_open(slots) && slots->active != INLAY_SLOTS_NONE &&
           !memcmp(device->flash.now + slots->at[slots->active],
                   device->blobs->bytes[version], device->blobs->size);
}

/* A cut behind half of the delta: what the slot has is passed over, and the rest makes it. */
static void resumed(Device *device, const Delta *delta)
{
    inlay_delta way = { .slots = &device->slots, .resume = 1 };
    const uint32_t half = delta->size / 4 * 3;
    const uint32_t most = sizeof(inlay_delta_head) + sizeof(inlay_delta_record);
    if (inlay_delta_begin(&way) ||
        inlay_delta_write(&way, 0, delta->bytes, half) ||
        inlay_slots_open(&device->slots) || inlay_delta_begin(&way) ||
        inlay_delta_write(&way, 0, delta->bytes, most))
        fail("a delta does not go on");
    if (!way.had || way.next <= most)
        fail("a delta begins anew");
    if (inlay_delta_write(&way, way.next, delta->bytes + way.next,
                          delta->size - way.next) ||
        inlay_delta_commit(&way))
        fail("a delta that goes on does not end well");
}

typedef struct Trials {
    Device fresh, device;
    Delta delta; /* a copy, to be damaged */
    long count;
} Trials;

/* `error` is what it ends with; 0: any. */
static void refused(Trials *trials, uint32_t size, int error, const char *what,
                    uint32_t at)
{
    const Delta delta = { trials->delta.bytes, size };
    device_copy(&trials->device, &trials->fresh);
    const int found = apply(&trials->device, &delta);
    trials->count++;
    if (!found || (error && found != error))
        fail("%s at byte %u: %d", what, at, found);
    if (!uses(&trials->device, 1))
        fail("%s at byte %u: other weights are in use", what, at);
}

static void every_bit(Trials *trials)
{
    for (uint32_t at = 0; at < trials->delta.size; at++) {
        uint8_t *byte = trials->delta.bytes + at;
        const uint8_t old = *byte;
        for (int bit = 0; bit < 8; bit++) {
            *byte = old ^ (uint8_t)(1 << bit);
            refused(trials, trials->delta.size, 0, "a bit", at);
        }
        *byte = (uint8_t)~old;
        refused(trials, trials->delta.size, 0, "a byte", at);
        *byte = old;
    }
}

static void every_length(Trials *trials)
{
    for (uint32_t size = 0; size < trials->delta.size; size++)
        refused(trials, size, INLAY_SLOTS_E_BLOB, "the end", size);
    for (uint32_t more = 1; more <= sizeof(inlay_delta_record); more++)
        refused(trials, trials->delta.size + more, INLAY_SLOTS_E_BLOB,
                "more bytes", trials->delta.size);
}

/* A record of any numbers, the first of the delta. */
static void made_up(Trials *trials)
{
    const uint32_t size = trials->fresh.blobs->size;
    const uint32_t number[] = { 0,          1,         size - 1,   size,
                                size + 1,   4096,      0x7fffffff, 0x80000000,
                                0xfffffff0, 0xffffffff };
    enum { COUNT = sizeof number / sizeof *number };
    uint8_t *at = trials->delta.bytes + sizeof(inlay_delta_head);
    inlay_delta_record own;
    memcpy(&own, at, sizeof own);
    for (int i = 0; i < COUNT * COUNT; i++) {
        const inlay_delta_record record = { number[i / COUNT],
                                            number[i % COUNT] };
        memcpy(at, &record, sizeof record);
        if (memcmp(&record, &own, sizeof own))
            refused(trials, trials->delta.size, 0, "a record", (uint32_t)i);
    }
    memcpy(at, &own, sizeof own);
}

static void put_sum(uint8_t *head)
{
    const uint32_t n = offsetof(inlay_delta_head, sum);
    const uint32_t sum = inlay_crc_small(0, head, n);
    memcpy(head + n, &sum, sizeof sum);
}

/* Heads with right sums: of other weights, other code, other lengths. */
static void other_heads(Trials *trials)
{
    uint8_t *head = trials->delta.bytes;
    uint8_t own[sizeof(inlay_delta_head)];
    memcpy(own, head, sizeof own);
    for (uint32_t at = 0; at < offsetof(inlay_delta_head, sum); at++) {
        const bool base = at >= offsetof(inlay_delta_head, base) &&
                          at < offsetof(inlay_delta_head, made);
        head[at] ^= 0x40;
        put_sum(head);
        const long before = trials->fresh.flash.operations;
        refused(trials, trials->delta.size, base ? INLAY_SLOTS_E_BASE : 0,
                "the head", at);
        if (base && trials->device.flash.operations != before)
            fail("the flash is written for a delta of other weights");
        memcpy(head, own, sizeof own);
    }
}

/* The same where the base is the firmware's own blob, behind which there is nothing. */
static void made_up_of_own(Trials *trials)
{
    Device *fresh = &trials->fresh;
    const Blobs *blobs = fresh->blobs;
    const Device settled = *fresh;
    uint8_t *own = malloc(blobs->size);
    if (!own)
        fail("no memory");
    memcpy(own, blobs->bytes[0], blobs->size);
    fresh->slots.active = INLAY_SLOTS_NONE;
    fresh->own = own;
    trials->delta = blobs->delta[0][2];
    made_up(trials);
    fresh->own = NULL;
    fresh->slots = settled.slots;
    trials->delta = blobs->delta[1][2];
    free(own);
}

/* What the device does where nothing is wrong. */
static void taken(Trials *trials)
{
    device_copy(&trials->device, &trials->fresh);
    if (apply(&trials->device, &trials->delta) || !uses(&trials->device, 2))
        fail("a good delta is not taken");
    if (inlay_delta_begin(&(inlay_delta){ .slots = &trials->device.slots }) !=
        INLAY_SLOTS_E_ORDER)
        fail("a delta begins while weights are on trial");
    if (inlay_slots_confirm(&trials->device.slots) ||
        apply(&trials->device, &trials->delta) != INLAY_SLOTS_E_BASE)
        fail("the same delta is taken again");
}

static void out_of_order(Trials *trials)
{
    device_copy(&trials->device, &trials->fresh);
    inlay_delta way = { .slots = &trials->device.slots };
    const uint8_t *bytes = trials->delta.bytes;
    if (inlay_delta_begin(&way) || inlay_delta_write(&way, 0, bytes, 50) ||
        inlay_delta_write(&way, 10, bytes + 10, 20) || way.next != 50)
        fail("bytes that came before are not passed over");
    if (inlay_delta_write(&way, 51, bytes + 51, 1) != INLAY_SLOTS_E_ORDER)
        fail("a byte is left out");
    if (inlay_delta_commit(&way) != INLAY_SLOTS_E_BLOB ||
        inlay_delta_write(&way, 50, bytes + 50, 1) != INLAY_SLOTS_E_ORDER)
        fail("what was ended goes on");
}

/* Of more than one block: sectors of the first one stay. */
static void try_resume(uint32_t unit)
{
    const Geometry geometry = { unit, 256, 0xff, 3 * INLAY_BLOB_BLOCK, 0, 0 };
    Device device;
    Blobs blobs;
    blobs_make(&blobs, &geometry);
    device_make(&device, &geometry, &blobs);
    settle(&device);
    resumed(&device, &blobs.delta[1][2]);
    if (!uses(&device, 2))
        fail("a delta that went on is not used");
    blobs_free(&blobs);
    flash_free(&device.flash);
}

static void try_geometry(const Geometry *geometry)
{
    Blobs blobs;
    Trials trials = { .count = 0 };
    blobs_make(&blobs, geometry);
    device_make(&trials.fresh, geometry, &blobs);
    device_make(&trials.device, geometry, &blobs);
    settle(&trials.fresh);
    trials.delta = blobs.delta[1][2];
    taken(&trials);
    out_of_order(&trials);
    every_bit(&trials);
    every_length(&trials);
    made_up(&trials);
    made_up_of_own(&trials);
    other_heads(&trials);
    printf("# units %u, erased %02x, delta of %u bytes: %ld refused\n",
           geometry->prog_unit, geometry->erased_value, trials.delta.size,
           trials.count);
    blobs_free(&blobs);
    flash_free(&trials.fresh.flash);
    flash_free(&trials.device.flash);
}

int main(void)
{
    for (uint32_t unit = 1; unit <= 32; unit *= 2) {
        const Geometry geometry = {
            .prog_unit = unit,
            .erase_unit = 256,
            .erased_value = unit % 3 == 1 ? 0xff : 0,
            .weights = unit % 3 == 1 ? 100 : 700,
        };
        try_geometry(&geometry);
        try_resume(unit);
    }
    printf("ok - no damaged delta is taken\n1..1\n");
    return 0;
}
