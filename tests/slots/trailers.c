/* SPDX-License-Identifier: Apache-2.0 */
#include "trailers.h"

#include <string.h>

enum { RECORD = 32, PLACES = 32, LOG = RECORD * PLACES };
enum { NONE, COMMITTED, TRIED, REFUSED, CONFIRMED, SEALED, KINDS };

/* What a log says, by the records that read the same each time. */
typedef struct Trailer {
    bool has[KINDS];
    int last;    /* the kind of the last record */
    bool unsure; /* it is full, or a place of it may read as anything */
    const char *fault;
} Trailer;

static uint32_t word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Bit by bit. */
static uint32_t crc32_of(const uint8_t *bytes, uint32_t n)
{
    uint32_t crc = UINT32_MAX;
    for (uint32_t i = 0; i < n * 8; i++) {
        const uint32_t byte = bytes[i / 8];
        const uint32_t bit = (byte >> i % 8 ^ crc) & 1;
        crc = crc >> 1 ^ (bit ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

static bool is_record(const uint8_t *bytes)
{
    return !memcmp(bytes, "SLOT", 4) && word(bytes + 28) == crc32_of(bytes, 28);
}

/* May a record of this kind follow those that are there? */
static bool may_follow(const Trailer *trailer, int kind)
{
    switch (kind) {
    case COMMITTED:
        return trailer->last == NONE;
    case TRIED:
        return !trailer->has[REFUSED] && !trailer->has[CONFIRMED];
    case REFUSED:
        return !trailer->has[CONFIRMED];
    case CONFIRMED:
        return !trailer->has[REFUSED];
    default:
        return trailer->has[CONFIRMED] && !trailer->has[REFUSED];
    }
}

static void take_record(Trailer *trailer, const uint8_t *bytes, uint32_t length)
{
    const uint32_t kind = word(bytes + 4);
    if (kind < COMMITTED || kind > SEALED)
        trailer->fault = "a record of no kind";
    else if (word(bytes + 12) != length)
        trailer->fault = "a record of another length";
    else if (!may_follow(trailer, (int)kind))
        trailer->fault = "records out of order";
    else
        trailer->last = (int)kind;
    trailer->has[trailer->last] = true;
}

/* Erased all over. */
static bool is_blank(const Flash *flash, uint32_t at)
{
    for (uint32_t i = 0; i < RECORD; i++)
        if (flash->now[at + i] != flash->calls.erased_value)
            return false;
    return true;
}

static Trailer read_trailer(const Flash *flash, uint32_t at, uint32_t length)
{
    Trailer trailer = { .last = NONE };
    for (uint32_t i = 0; i < PLACES && !trailer.fault; i++) {
        const uint32_t place = at + i * RECORD;
        const bool torn = flash_torn(flash, place, RECORD);
        trailer.unsure |= torn || (i == PLACES - 1 && !is_blank(flash, place));
        if (!torn && is_record(flash->now + place))
            take_record(&trailer, flash->now + place, length);
    }
    return trailer;
}

/* A committed blob is there, whole and steady. */
static bool holds_blob(const Flash *flash, uint32_t at, const Blobs *blobs)
{
    if (flash_torn(flash, at, blobs->size))
        return false;
    for (int i = 1; i <= VERSIONS; i++)
        if (!memcmp(flash->now + at, blobs->bytes[i], blobs->size))
            return true;
    return false;
}

/* What was refused need not be there: where a slot is one sector, its erasing may have been cut off
 * before it was refused once more. */
static bool needs_blob(const Trailer *trailer)
{
    return trailer->last != NONE && trailer->last != REFUSED;
}

static const char *slot_fault(const Trailer *trailer, bool active, bool trial)
{
    if (trailer->unsure)
        return NULL;
    if (active && trial && trailer->last != TRIED)
        return "weights on trial without a record of it";
    if (active && !trial && !trailer->has[CONFIRMED])
        return "weights in use that nobody confirmed";
    if (!active && trailer->last == TRIED)
        return "weights that were tried are not refused";
    return NULL;
}

const char *trailers_fault(const Flash *flash, const inlay_slots *slots,
                           const Blobs *blobs)
{
    for (int i = 0; i < 2; i++) {
        const uint32_t at = slots->at[i];
        const Trailer trailer =
            read_trailer(flash, at + slots->size - LOG, blobs->size);
        const char *fault =
            slot_fault(&trailer, slots->active == i, slots->trial);
        if (trailer.fault)
            return trailer.fault;
        if (fault)
            return fault;
        if (needs_blob(&trailer) && !holds_blob(flash, at, blobs))
            return "a log with records behind a blob that is not whole";
    }
    return NULL;
}
