/* SPDX-License-Identifier: Apache-2.0
 * Flash as it is when the power goes: a unit whose writing or erasing was cut off reads as before,
 * as after, or as any mixture, and another one after the next reset or even at each read. What no
 * flash takes, such as a unit that is written twice, ends the program. */
#ifndef INLAY_TESTS_SLOTS_FLASH_H
#define INLAY_TESTS_SLOTS_FLASH_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

#include "inlay_slots.h"

/* What becomes of the operation at which the power goes; or it fails, and the power stays. */
typedef enum Cut { CUT_BEFORE, CUT_AMID, CUT_AFTER, CUT_FAILS, CUTS } Cut;

/* PATCHY: each 32 bytes as before or as after. */
typedef enum Mood { AS_BEFORE, AS_AFTER, PATCHY, MIXED, UNSTEADY, MOODS } Mood;

typedef struct Flash {
    inlay_flash calls;
    uint32_t size;
    uint8_t *now;   /* of a unit that was cut off: what it was to be */
    uint8_t *was;   /* and what it was */
    uint8_t *state; /* of each unit */
    uint32_t torn;  /* units that may be unsteady */
    uint64_t seed;
    uint64_t mixture; /* how units read until the next reset */
    Mood mood;
    long operations; /* since the beginning */
    long cut_at;     /* -1: never */
    Cut cut;
    jmp_buf *power;
} Flash;

void flash_make(Flash *flash, uint32_t size, uint32_t prog_unit,
                uint32_t erase_unit, uint8_t erased_value);
void flash_free(Flash *flash);
/* `to` was made with the same sizes. */
void flash_copy(Flash *to, const Flash *from);
/* The power comes back. */
void flash_reset(Flash *flash);
/* Is one of these bytes unsteady? */
bool flash_torn(const Flash *flash, uint32_t at, uint32_t n);

uint64_t random_next(uint64_t *seed);
_Noreturn void fail(const char *format, ...);

#endif
