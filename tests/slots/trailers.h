/* SPDX-License-Identifier: Apache-2.0
 * The logs at the ends of the slots, read by themselves from the bytes of the flash, as
 * docs/UPDATES.md describes them: do they say what is in the slots, and what is in use? */
#ifndef INLAY_TESTS_SLOTS_TRAILERS_H
#define INLAY_TESTS_SLOTS_TRAILERS_H

#include "blobs.h"
#include "flash.h"

/* Right after inlay_slots_open(): NULL, or what is wrong. */
const char *trailers_fault(const Flash *flash, const inlay_slots *slots,
                           const Blobs *blobs);

#endif
