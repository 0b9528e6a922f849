/* SPDX-License-Identifier: Apache-2.0 */
#include "flash.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ERASED, WRITTEN, TORN };

uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed * UINT64_C(0x2545f4914f6cdd1d) >> 11;
}

void fail(const char *format, ...)
{
    va_list list;
    printf("not ok - ");
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n1..1\n");
    exit(1);
}

/* ---- how units read ---- */

static uint8_t mixed(const Flash *flash, uint32_t at, uint64_t chance)
{
    const uint8_t differ = flash->now[at] ^ flash->was[at];
    return (uint8_t)(flash->was[at] ^ (differ & (uint8_t)chance));
}

/* The same each time until the next reset. */
static uint64_t chance_of(const Flash *flash, uint32_t at)
{
    uint64_t seed = flash->mixture + (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
    seed |= 1;
    random_next(&seed);
    return random_next(&seed) >> 8;
}

static uint8_t byte_of(Flash *flash, uint32_t at)
{
    if (flash->state[at / flash->calls.prog_unit] != TORN)
        return flash->now[at];
    switch (flash->mood) {
    case AS_BEFORE:
        return flash->was[at];
    case AS_AFTER:
        return flash->now[at];
    case PATCHY:
        return chance_of(flash, at / INLAY_SLOTS_UNIT) & 1 ? flash->now[at]
                                                           : flash->was[at];
    case MIXED:
        return mixed(flash, at, chance_of(flash, at));
    default:
        return mixed(flash, at, random_next(&flash->seed));
    }
}

static int read_bytes(void *context, uint32_t at, void *to, uint32_t n)
{
    Flash *flash = context;
    uint8_t *bytes = to;
    if (at > flash->size || n > flash->size - at)
        fail("%u bytes are read at byte %u", n, at);
    if (!flash->torn) {
        memcpy(to, flash->now + at, n);
        return 0;
    }
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = byte_of(flash, at + i);
    return 0;
}

/* ---- what changes them ---- */

static void set_state(Flash *flash, uint32_t unit, int state)
{
    flash->torn -= flash->state[unit] == TORN;
    flash->state[unit] = (uint8_t)state;
    flash->torn += state == TORN;
}

/* A unit that was cut off before is left as it reads now. */
static void settle_bytes(Flash *flash, uint32_t at, uint32_t n)
{
    for (uint32_t i = at; i < at + n; i++)
        flash->now[i] = byte_of(flash, i);
}

/* Does the operation take place as usual? */
static Cut begun(Flash *flash)
{
    return flash->operations++ == flash->cut_at ? flash->cut : CUTS;
}

static _Noreturn void power_off(Flash *flash)
{
    longjmp(*flash->power, 1);
}

static bool same_again(const Flash *flash, uint32_t at, const uint8_t *bytes)
{
    return !memcmp(flash->now + at, bytes, flash->calls.prog_unit);
}

/* Bits that are written over others. */
static void write_over(Flash *flash, uint32_t at, const uint8_t *bytes)
{
    for (uint32_t i = 0; i < flash->calls.prog_unit; i++) {
        const uint8_t old = flash->now[at + i];
        flash->was[at + i] = old;
        flash->now[at + i] =
            flash->calls.erased_value ? old & bytes[i] : old | bytes[i];
    }
}

/* false: the flash refuses it. */
static bool write_unit(Flash *flash, uint32_t at, const uint8_t *bytes,
                       bool amid)
{
    const uint32_t n = flash->calls.prog_unit;
    const uint32_t unit = at / n;
    if (flash->state[unit] == WRITTEN)
        fail("the unit at byte %u is written twice", at);
    if (flash->state[unit] == TORN) {
        if (random_next(&flash->seed) % 2)
            return false;
        if (!amid && same_again(flash, at, bytes)) {
            set_state(flash, unit, WRITTEN);
            return true;
        }
        settle_bytes(flash, at, n);
        write_over(flash, at, bytes);
        return true;
    }
    memcpy(flash->was + at, flash->now + at, n);
    memcpy(flash->now + at, bytes, n);
    set_state(flash, unit, amid ? TORN : WRITTEN);
    return true;
}

static int prog_bytes(void *context, uint32_t at, const void *from, uint32_t n)
{
    Flash *flash = context;
    const uint8_t *bytes = from;
    const uint32_t unit = flash->calls.prog_unit;
    const Cut cut = begun(flash);
    uint32_t last = n / unit;
    if (at % unit || n % unit || at > flash->size || n > flash->size - at)
        fail("%u bytes are written at byte %u", n, at);
    if (cut == CUT_FAILS)
        return -1;
    if (cut == CUT_BEFORE)
        power_off(flash);
    if (cut == CUT_AMID)
        last = (uint32_t)(random_next(&flash->seed) % last);
    for (uint32_t i = 0; i < last; i++)
        if (!write_unit(flash, at + i * unit, bytes + i * unit, false))
            return -1;
    if (cut == CUT_AMID)
        (void)write_unit(flash, at + last * unit, bytes + last * unit, true);
    if (cut != CUTS)
        power_off(flash);
    return 0;
}

static void erase_unit(Flash *flash, uint32_t at, bool amid)
{
    const uint32_t n = flash->calls.prog_unit;
    const uint32_t unit = at / n;
    if (amid && flash->state[unit] == ERASED)
        return;
    if (amid) {
        settle_bytes(flash, at, n);
        memcpy(flash->was + at, flash->now + at, n);
    }
    memset(flash->now + at, flash->calls.erased_value, n);
    set_state(flash, unit, amid ? TORN : ERASED);
}

static int erase_sector(void *context, uint32_t at)
{
    Flash *flash = context;
    const Cut cut = begun(flash);
    const uint32_t n = flash->calls.erase_unit;
    if (at % n || at >= flash->size)
        fail("the sector at byte %u is erased", at);
    if (cut == CUT_FAILS)
        return -1;
    if (cut == CUT_BEFORE)
        power_off(flash);
    for (uint32_t i = 0; i < n; i += flash->calls.prog_unit)
        erase_unit(flash, at + i, cut == CUT_AMID);
    if (cut != CUTS)
        power_off(flash);
    return 0;
}

static int sync_all(void *context)
{
    (void)context;
    return 0;
}

bool flash_torn(const Flash *flash, uint32_t at, uint32_t n)
{
    const uint32_t unit = flash->calls.prog_unit;
    for (uint32_t i = at / unit; flash->torn && i * unit < at + n; i++)
        if (flash->state[i] == TORN)
            return true;
    return false;
}

/* ---- the whole ---- */

void flash_make(Flash *flash, uint32_t size, uint32_t prog_unit,
                uint32_t erase_unit, uint8_t erased_value)
{
    *flash = (Flash){
        .calls = { NULL, read_bytes, prog_bytes, erase_sector, sync_all,
                   prog_unit, erase_unit, erased_value },
        .size = size,
        .now = malloc(size),
        .was = malloc(size),
        .state = calloc(1, size / prog_unit),
        .seed = 1,
        .cut_at = -1,
    };
    if (!flash->now || !flash->was || !flash->state)
        fail("no memory");
    memset(flash->now, erased_value, size);
    memset(flash->was, erased_value, size);
    flash->calls.context = flash;
}

void flash_free(Flash *flash)
{
    free(flash->now);
    free(flash->was);
    free(flash->state);
}

void flash_copy(Flash *to, const Flash *from)
{
    Flash old = *to;
    *to = *from;
    to->calls.context = to;
    to->now = memcpy(old.now, from->now, from->size);
    to->was = memcpy(old.was, from->was, from->size);
    to->state =
        memcpy(old.state, from->state, from->size / from->calls.prog_unit);
}

void flash_reset(Flash *flash)
{
    flash->mood = (Mood)(random_next(&flash->seed) % MOODS);
    flash->mixture = random_next(&flash->seed);
}
