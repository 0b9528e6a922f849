/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: two slots in flash for blobs of weights (inlay_blob.h), one in use, one for the
 * next download. Whenever the power goes, the device has the old weights or the new ones, whole.
 *
 * New weights are on trial from the next inlay_slots_open() on, until inlay_slots_confirm(); the
 * one after that goes back to the old ones. A slot holds a blob at its beginning and a log of 1 KiB
 * at its end: 32 records of 32 bytes, each written once. No heap; the state is the caller's. */
#ifndef INLAY_SLOTS_H
#define INLAY_SLOTS_H

#include <stdint.h>

#include "inlay_notes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions return. */
enum {
    INLAY_SLOTS_OK = 0,
    INLAY_SLOTS_E_ARG = 1,   /* the sizes that the caller gave do not fit */
    INLAY_SLOTS_E_FLASH = 2, /* a function of the flash failed */
    INLAY_SLOTS_E_BLOB = 3, /* it is of other code, cut off, damaged, refused */
    INLAY_SLOTS_E_ORDER = 4, /* not now: weights on trial are to be confirmed,
                                or no download has begun */
    INLAY_SLOTS_E_FULL = 5   /* no room in the slot, or in its log */
};

#define INLAY_SLOTS_NONE (-1)
#define INLAY_SLOTS_UNIT 32u   /* bytes of a record; most of a unit */
#define INLAY_SLOTS_PLACES 32u /* records of a log */
#define INLAY_SLOTS_LOG 1024u  /* bytes of them */

/* The flash, by functions that return 0. `at` is a byte's place in it. */
typedef struct inlay_flash {
    void *context;
    int (*read)(void *context, uint32_t at, void *to, uint32_t n);
    /* n and `at` are multiples of prog_unit; `from` has any alignment. All of
     * it was erased, and is written once. */
    int (*prog)(void *context, uint32_t at, const void *from, uint32_t n);
    /* The erase_unit bytes from `at` on. */
    int (*erase)(void *context, uint32_t at);
    /* What was written before is there after a cut of the power. */
    int (*sync)(void *context);
    uint32_t prog_unit;  /* 1, 2, 4, 8, 16 or 32 */
    uint32_t erase_unit; /* a multiple of 32 */
    uint8_t erased_value;
} inlay_flash;

typedef struct inlay_slots inlay_slots;

/* May the blob of `length` bytes in that slot be used? Asked when all its sums
 * are right: before it is committed, and each time before it is taken. */
typedef int inlay_slots_check(const inlay_slots *slots, int slot,
                              uint32_t length);

/* What the log of a slot says. */
typedef struct inlay_slots_log {
    uint32_t sequence; /* that of its last record */
    uint32_t length;   /* of the blob */
    uint8_t kind;      /* how far it came; 0: no record */
    uint8_t place;     /* the next one that is free */
} inlay_slots_log;

struct inlay_slots {
    /* What the caller says, before inlay_slots_open(). */
    const inlay_flash *flash;
    uint32_t at[2];           /* multiples of erase_unit */
    uint32_t size;            /* of each, a multiple of erase_unit */
    uint32_t weights;         /* NAME_WEIGHTS_SIZE */
    uint64_t layout;          /* NAME_LAYOUT_HASH */
    inlay_slots_check *check; /* NULL: none */
    void *context;            /* of the check */
    uint32_t counter; /* the least security counter that is taken; 0: any */
    /* What inlay_slots_open() found. */
    int active; /* 0, 1 or INLAY_SLOTS_NONE: the weights of the firmware itself */
    int trial; /* the active ones are on trial */
    inlay_slots_log log[2];
    /* The download. */
    int writing;                       /* a slot, or INLAY_SLOTS_NONE */
    uint32_t written;                  /* bytes that came */
    uint8_t pending[INLAY_SLOTS_UNIT]; /* of the last unit that has begun */
};

/* After each reset, or to take what was committed without one: which weights are to be used? The
 * blob of s->active begins at s->at[s->active] of the flash; NAME_weights_open() opens it there, or
 * a copy of it in RAM. Weights on trial: test them, then confirm them. */
int inlay_slots_open(inlay_slots *s);

/* The weights on trial are good: from now on they are the old ones. */
int inlay_slots_confirm(inlay_slots *s);

/* A download begins, into the slot that is not active; or it goes on after a cut of the power, from
 * byte *from of the same file on, which may be 0. Not while weights are on trial. */
int inlay_slots_begin(inlay_slots *s);
int inlay_slots_resume(inlay_slots *s, uint32_t *from);

/* The next n bytes of the file. Nothing is erased before the first 32 of them are seen to be those
 * of a blob for this code. */
int inlay_slots_write(inlay_slots *s, const void *bytes, uint32_t n);

/* That was all: is it whole? Then the next inlay_slots_open() takes it, on trial. After any error
 * begin again, or resume. */
int inlay_slots_commit(inlay_slots *s);

/* Bytes of a slot, from byte `at` of it on. */
int inlay_slots_read(const inlay_slots *s, int slot, uint32_t at, void *to,
                     uint32_t n);
/* Where the weights of a blob begin. */
uint32_t inlay_slots_weights_at(const inlay_slots *s);
/* The first note of that tag in a blob of `length` bytes: 1, its head, and where its bytes are in
 * the slot; or 0. */
int inlay_slots_note(const inlay_slots *s, int slot, uint32_t length,
                     uint32_t tag, inlay_note_head *head, uint32_t *at);
/* Are there only whole notes behind the weights? *counter gets the security counter, 0 where there
 * is none. */
int inlay_slots_notes(const inlay_slots *s, int slot, uint32_t length,
                      uint32_t *counter);
/* The security counter of the active weights. Keep it where nobody can lower it when they are
 * confirmed, and give it as s->counter: no older weights come back then. */
uint32_t inlay_slots_counter(const inlay_slots *s);

#ifdef __cplusplus
}
#endif
#endif
