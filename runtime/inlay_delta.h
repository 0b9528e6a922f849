/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: new weights for a slot by what changed since the old ones.
 *
 * A delta (`inlay weights pack --against OLD.blob`) is a head and records. A record says how many
 * bytes of the new blob are those of the old one, at the same place, and how many new ones follow,
 * and has these. The new blob is made in the other slot by inlay_slots_write(): what holds of a
 * whole download whenever the power goes holds of this one. No heap; the state is the caller's. */
#ifndef INLAY_DELTA_H
#define INLAY_DELTA_H

#include "inlay_slots.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The delta is for other weights than those that the device has: send the whole blob. */
#define INLAY_SLOTS_E_BASE 6

#define INLAY_DELTA_MAGIC \
    UINT64_C(0x0100544c44444e49) /* "INDDLT", then 0 and its form, 1 */
#define INLAY_DELTA_WINDOW 64u   /* bytes that are copied at a time */

/* The beginning of the file, all of it little-endian. */
typedef struct inlay_delta_head {
    uint64_t magic;
    uint64_t layout;
    uint32_t base[2]; /* of the old blob: the CRC-32 of its head, which has that
                         of each block, and that of its weights, in the seal */
    uint32_t made;    /* of the new one: the CRC-32 of its head */
    uint32_t length;  /* bytes of the new blob */
    uint32_t weights; /* bytes of weights of both */
    uint32_t sum;     /* CRC-32 of all before it */
} inlay_delta_head;

typedef struct inlay_delta_record {
    uint32_t kept;  /* bytes of the old blob, none of its notes */
    uint32_t fresh; /* bytes that follow, to come behind them */
} inlay_delta_record;

typedef struct inlay_delta {
    /* What the caller says, before inlay_delta_begin(). */
    inlay_slots *slots; /* open */
    const void *own;    /* the blob that the firmware brings along, where it has
                        one: a base too; or NULL */
    int resume;         /* go on with this delta if it was cut off before */
    /* Which byte of the file is needed next. */
    uint32_t next;
    /* How far it came. */
    uint32_t made; /* bytes of the new blob */
    uint32_t had;  /* of these the slot's, from before the cut */
    uint32_t left; /* new ones of this record that are to come */
    uint32_t held; /* bytes of the head, or of a record, that came */
    int base;      /* a slot, or INLAY_SLOTS_NONE: d->own */
    inlay_delta_head head;
    inlay_delta_record record;
    uint8_t window[INLAY_DELTA_WINDOW];
} inlay_delta;

/* A delta begins, or goes on; INLAY_SLOTS_E_ORDER while weights are on trial. */
int inlay_delta_begin(inlay_delta *d);

/* n bytes of the file, from byte `at` of it on. Those before byte d->next are passed over; one that
 * is behind it is INLAY_SLOTS_E_ORDER. d->next may be far behind the end of these bytes where the
 * slot has what comes next: who can, goes on there. Nothing is erased before the head has come, and
 * fits code and base. */
int inlay_delta_write(inlay_delta *d, uint32_t at, const void *bytes,
                      uint32_t n);

/* That was all: as inlay_slots_commit(). */
int inlay_delta_commit(inlay_delta *d);

#ifdef __cplusplus
}
#endif
#endif
