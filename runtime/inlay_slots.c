/* SPDX-License-Identifier: 0BSD
 * Slots of weights. The rules that hold whenever the power goes:
 *
 * - The active slot's blob is never touched. The other one is erased from its end to its beginning,
 *   log first, then written from its beginning, then read back, then committed.
 * - A unit whose writing or erasing was cut off may read differently each time. So a record stands
 *   for what came before it: SEALED, which is begun when CONFIRMED is complete, says that it stays;
 *   before SEALED is there, nothing that the old weights need is erased.
 * - Only the slot with the highest sequence number may be on trial. Before a slot is erased, the
 *   other one gets a higher number than any of its records, seen or not: what is left of a log
 *   then cannot bring it back.
 */
#include "inlay_slots.h"

#include "inlay_blob.h"

/* How far a slot came. */
enum { NOTHING, COMMITTED, TRIED, REFUSED, CONFIRMED, SEALED };

#define WINDOW 32u /* bytes read at a time: they lie on the stack */

#define MAGIC UINT32_C(0x544f4c53)
/* Numbers from one commit to the next: more than a log has records between. */
#define STEP 64u

/* INLAY_SLOTS_UNIT bytes. */
typedef struct record {
    uint32_t magic, kind;
    uint32_t sequence;
    uint32_t length;
    uint32_t zero[3];
    uint32_t sum; /* of all before it */
} record;

/* ---- the flash ---- */

int inlay_slots_read(const inlay_slots *s, int slot, uint32_t at, void *to,
                     uint32_t n)
{
    const inlay_flash *flash = s->flash;
    return flash->read(flash->context, s->at[slot] + at, to, n)
               ? INLAY_SLOTS_E_FLASH
               : INLAY_SLOTS_OK;
}

static int prog(const inlay_slots *s, int slot, uint32_t at, const void *from,
                uint32_t n)
{
    const inlay_flash *flash = s->flash;
    return flash->prog(flash->context, s->at[slot] + at, from, n)
               ? INLAY_SLOTS_E_FLASH
               : INLAY_SLOTS_OK;
}

static int sync(const inlay_slots *s)
{
    return s->flash->sync(s->flash->context) ? INLAY_SLOTS_E_FLASH
                                             : INLAY_SLOTS_OK;
}

/* Its sectors from the last one down to that of byte `from`. */
static int erase_down(const inlay_slots *s, int slot, uint32_t from)
{
    const inlay_flash *flash = s->flash;
    uint32_t at = s->size;
    while (at > from) {
        at -= flash->erase_unit;
        if (flash->erase(flash->context, s->at[slot] + at))
            return INLAY_SLOTS_E_FLASH;
    }
    return sync(s);
}

/* ---- what lies in a slot ---- */

uint32_t inlay_slots_weights_at(const inlay_slots *s)
{
    const uint32_t blocks = (s->weights - 1) / INLAY_BLOB_BLOCK + 1;
    const uint32_t head = (uint32_t)(INLAY_BLOB_WORDS * sizeof(uint64_t));
    const uint32_t sums = (blocks + 1) * INLAY_BLOB_CRC_SIZE;
    return (head + sums + INLAY_BLOB_ALIGN - 1) / INLAY_BLOB_ALIGN *
           INLAY_BLOB_ALIGN;
}

/* Where the log begins: the room for a blob. */
static uint32_t room(const inlay_slots *s)
{
    return s->size - INLAY_SLOTS_LOG;
}

static int fits(const inlay_slots *s)
{
    const inlay_flash *flash = s->flash;
    const uint32_t unit = flash->prog_unit;
    const uint32_t sector = flash->erase_unit;
    if (!unit || INLAY_SLOTS_UNIT % unit || !sector ||
        sector % INLAY_SLOTS_UNIT)
        return 0;
    if (s->at[0] % sector || s->at[1] % sector || s->size % sector)
        return 0;
    if (s->size < INLAY_SLOTS_LOG || s->weights < INLAY_SEAL_SIZE ||
        s->weights > room(s))
        return 0;
    return inlay_slots_weights_at(s) <= room(s) - s->weights;
}

/* What was seen of some bytes. */
typedef struct look {
    uint32_t sum;
    int blank; /* all as if erased */
} look;

/* An unreadable byte is a wrong one. */
static int look_at(const inlay_slots *s, int slot, uint32_t at, uint32_t n,
                   look *seen)
{
    unsigned char window[WINDOW];
    seen->sum = 0;
    seen->blank = 1;
    while (n) {
        const uint32_t k = n < WINDOW ? n : WINDOW;
        uint32_t i;
        if (inlay_slots_read(s, slot, at, window, k))
            return 0;
        for (i = 0; i < k; i++)
            seen->blank &= window[i] == s->flash->erased_value;
        seen->sum = inlay_crc_small(seen->sum, window, k);
        at += k;
        n -= k;
    }
    return 1;
}

/* Do these bytes have the sum that stands at `sum_at`? */
static int sound(const inlay_slots *s, int slot, uint32_t at, uint32_t n,
                 uint32_t sum_at, look *seen)
{
    uint32_t sum;
    return look_at(s, slot, at, n, seen) &&
           !inlay_slots_read(s, slot, sum_at, &sum, sizeof sum) &&
           sum == seen->sum;
}

/* Are these the first 32 bytes of such a blob? */
static int begins_well(const inlay_slots *s, const void *bytes)
{
    const uint64_t seal[3] = { INLAY_SEAL_MAGIC, s->layout,
                               s->weights - INLAY_SEAL_SIZE };
    uint64_t head[INLAY_BLOB_WORDS];
    inlay_blob_head(head, seal, inlay_slots_weights_at(s));
    return !memcmp(bytes, head, sizeof head);
}

static int begins_so(const inlay_slots *s, int slot)
{
    unsigned char bytes[INLAY_SLOTS_UNIT];
    return !inlay_slots_read(s, slot, 0, bytes, sizeof bytes) &&
           begins_well(s, bytes);
}

static int head_sound(const inlay_slots *s, int slot)
{
    const uint32_t end = inlay_slots_weights_at(s) - INLAY_BLOB_CRC_SIZE;
    look seen;
    return sound(s, slot, 0, end, end, &seen);
}

/* Block i of the weights is at *at, as it was made. One that could be erased flash is not taken for
 * it where `written` is asked for. */
static int block_sound(const inlay_slots *s, int slot, uint32_t i, int written)
{
    const uint32_t from = i * INLAY_BLOB_BLOCK;
    const uint32_t left = s->weights - from;
    const uint32_t n = left < INLAY_BLOB_BLOCK ? left : INLAY_BLOB_BLOCK;
    const uint32_t sum_at = (uint32_t)(INLAY_BLOB_WORDS * sizeof(uint64_t)) +
                            i * INLAY_BLOB_CRC_SIZE;
    look seen;
    if (!sound(s, slot, inlay_slots_weights_at(s) + from, n, sum_at, &seen))
        return 0;
    return !written || !seen.blank;
}

/* How many blocks from the first one on are as they were made. */
static uint32_t sound_blocks(const inlay_slots *s, int slot, int written)
{
    uint32_t i = 0;
    while (i * INLAY_BLOB_BLOCK < s->weights &&
           block_sound(s, slot, i, written))
        i++;
    return i;
}

/* 0: it cannot be read. */
static uint64_t word_at(const inlay_slots *s, int slot, uint32_t at)
{
    uint64_t word;
    return inlay_slots_read(s, slot, at, &word, sizeof word) ? 0 : word;
}

static int seal_right(const inlay_slots *s, int slot)
{
    const uint32_t at =
        inlay_slots_weights_at(s) + s->weights - INLAY_SEAL_SIZE;
    return word_at(s, slot, at) == INLAY_SEAL_MAGIC &&
           word_at(s, slot, at + 8) == s->layout &&
           word_at(s, slot, at + 16) == s->weights - INLAY_SEAL_SIZE;
}

/* ---- notes ---- */

/* From note to note: the head of one, and where its bytes are. */
typedef struct notes {
    uint32_t at, end;
    inlay_note_head head;
} notes;

/* Is there a whole note at `at` which may be passed over? */
static int note_begins(const inlay_slots *s, int slot, notes *note)
{
    const uint32_t words = (uint32_t)offsetof(inlay_note_head, sum);
    const inlay_note_head *head = &note->head;
    const uint32_t left = note->end - note->at;
    look seen;
    if (left < sizeof *head ||
        inlay_slots_read(s, slot, note->at, &note->head, sizeof *head))
        return 0;
    if (head->size > left - sizeof *head || head->tag >= INLAY_NOTE_CRITICAL)
        return 0;
    note->at += (uint32_t)sizeof *head;
    return look_at(s, slot, note->at, head->size, &seen) &&
           head->sum ==
               inlay_crc_small(seen.sum, (const unsigned char *)head, words);
}

static uint32_t notes_at(const inlay_slots *s)
{
    return inlay_slots_weights_at(s) + s->weights;
}

int inlay_slots_note(const inlay_slots *s, int slot, uint32_t length,
                     uint32_t tag, inlay_note_head *head, uint32_t *at)
{
    notes note;
    note.at = notes_at(s);
    note.end = length;
    while (note.at < length && note_begins(s, slot, &note)) {
        *head = note.head;
        *at = note.at;
        if (head->tag == tag)
            return 1;
        note.at += head->size;
    }
    return 0;
}

int inlay_slots_notes(const inlay_slots *s, int slot, uint32_t length,
                      uint32_t *counter)
{
    notes note;
    note.at = notes_at(s);
    note.end = length;
    *counter = 0;
    while (note.at < length) {
        if (!note_begins(s, slot, &note))
            return 0;
        if (note.head.tag == INLAY_NOTE_COUNTER)
            *counter = note.head.number;
        note.at += note.head.size;
    }
    return 1;
}

uint32_t inlay_slots_counter(const inlay_slots *s)
{
    uint32_t counter = 0;
    if (s->active != INLAY_SLOTS_NONE)
        (void)inlay_slots_notes(s, s->active, s->log[s->active].length,
                                &counter);
    return counter;
}

/* Is it a blob of `length` bytes for this code, whole, and not refused? */
static int whole(const inlay_slots *s, int slot, uint32_t length)
{
    const uint32_t blocks = (s->weights - 1) / INLAY_BLOB_BLOCK + 1;
    uint32_t counter;
    if (length > room(s) || length < inlay_slots_weights_at(s) + s->weights)
        return 0;
    if (!begins_so(s, slot) || !head_sound(s, slot) || !seal_right(s, slot))
        return 0;
    if (sound_blocks(s, slot, 0) != blocks)
        return 0;
    if (!inlay_slots_notes(s, slot, length, &counter) || counter < s->counter)
        return 0;
    return !s->check || s->check(s, slot, length);
}

/* ---- the log ---- */

static uint32_t place_at(const inlay_slots *s, uint32_t place)
{
    return room(s) + place * INLAY_SLOTS_UNIT;
}

static uint32_t sum_of(const record *r)
{
    return inlay_crc_small(0, (const unsigned char *)r,
                           sizeof *r - sizeof r->sum);
}

/* Sequence numbers go round. */
static int later(uint32_t a, uint32_t b)
{
    const uint32_t ahead = a - b;
    return ahead - 1 < UINT32_C(0x7fffffff);
}

static int is_record(const record *r)
{
    return r->magic == MAGIC && r->kind >= COMMITTED && r->kind <= SEALED &&
           r->sum == sum_of(r);
}

/* The last record says it. */
static void note(inlay_slots_log *log, const record *r)
{
    log->kind = (uint8_t)r->kind;
    log->sequence = r->sequence;
    log->length = r->length;
}

static int is_blank(const inlay_slots *s, const record *r)
{
    const unsigned char *bytes = (const unsigned char *)r;
    unsigned i;
    for (i = 0; i < sizeof *r; i++)
        if (bytes[i] != s->flash->erased_value)
            return 0;
    return 1;
}

static void read_log(inlay_slots *s, int slot)
{
    inlay_slots_log *log = s->log + slot;
    uint8_t i;
    memset(log, 0, sizeof *log);
    for (i = 0; i < INLAY_SLOTS_PLACES; i++) {
        record r;
        if (inlay_slots_read(s, slot, place_at(s, i), &r, sizeof r)) {
            log->place = (uint8_t)(i + 1);
            continue;
        }
        if (is_record(&r))
            note(log, &r);
        if (!is_blank(s, &r))
            log->place = (uint8_t)(i + 1);
    }
}

/* Writes it where there is room: a place that does not take it is passed over. */
static int append(inlay_slots *s, int slot, const record *r)
{
    inlay_slots_log *log = s->log + slot;
    while (log->place < INLAY_SLOTS_PLACES) {
        const uint32_t at = place_at(s, log->place++);
        record found;
        if (prog(s, slot, at, r, sizeof *r) || sync(s) ||
            inlay_slots_read(s, slot, at, &found, sizeof found))
            continue;
        if (!memcmp(&found, r, sizeof found)) {
            note(log, r);
            return INLAY_SLOTS_OK;
        }
    }
    return INLAY_SLOTS_E_FULL;
}

static int log_it(inlay_slots *s, int slot, uint32_t kind, uint32_t sequence)
{
    record r;
    memset(&r, 0, sizeof r);
    r.magic = MAGIC;
    r.kind = kind;
    r.sequence = sequence;
    r.length = s->log[slot].length;
    r.sum = sum_of(&r);
    return append(s, slot, &r);
}

/* The slot with the later number; of equal ones that which came further, else the first. */
static int later_slot(const inlay_slots *s)
{
    const inlay_slots_log *log = s->log;
    if (!log[0].kind || !log[1].kind)
        return !log[0].kind;
    if (log[0].sequence == log[1].sequence)
        return log[1].kind > log[0].kind;
    return later(log[1].sequence, log[0].sequence);
}

/* The latest number that is seen. */
static uint32_t last_sequence(const inlay_slots *s)
{
    return s->log[later_slot(s)].sequence;
}

static int confirm(inlay_slots *s, int slot, uint32_t sequence)
{
    const int error = log_it(s, slot, CONFIRMED, sequence);
    return error ? error : log_it(s, slot, SEALED, sequence);
}

/* The active weights stay, whatever becomes of the other slot's log. */
static int outrank_other(inlay_slots *s)
{
    const inlay_slots_log *own = s->log + s->active;
    const inlay_slots_log *other = s->log + !s->active;
    if (!other->place)
        return INLAY_SLOTS_OK;
    if (other->kind && later(own->sequence, other->sequence))
        return INLAY_SLOTS_OK;
    return confirm(s, s->active, last_sequence(s) + STEP + 1);
}

/* ---- which weights ---- */

/* Is it the one to use? Weights on trial are marked first. */
static int take(inlay_slots *s, int slot, int may_try)
{
    const inlay_slots_log *log = s->log + slot;
    const int confirmed = log->kind >= CONFIRMED;
    if (!confirmed && !(may_try && log->kind == COMMITTED))
        return 0;
    if (!whole(s, slot, log->length))
        return 0;
    if (!confirmed && log_it(s, slot, TRIED, log->sequence))
        return 0;
    if (log->kind == CONFIRMED)
        (void)confirm(s, slot, log->sequence);
    s->active = slot;
    s->trial = !confirmed;
    return 1;
}

/* Weights that were on trial, and are not active, are out of the question. */
static void refuse(inlay_slots *s, int slot)
{
    if (s->log[slot].kind == TRIED && s->active != slot)
        (void)log_it(s, slot, REFUSED, s->log[slot].sequence);
}

int inlay_slots_open(inlay_slots *s)
{
    int first;
    s->active = INLAY_SLOTS_NONE;
    s->writing = INLAY_SLOTS_NONE;
    s->trial = 0;
    if (!fits(s))
        return INLAY_SLOTS_E_ARG;
    read_log(s, 0);
    read_log(s, 1);
    first = later_slot(s);
    if (!take(s, first, 1))
        (void)take(s, !first, 0);
    refuse(s, 0);
    refuse(s, 1);
    return INLAY_SLOTS_OK;
}

int inlay_slots_confirm(inlay_slots *s)
{
    int error;
    if (s->active == INLAY_SLOTS_NONE)
        return INLAY_SLOTS_E_ORDER;
    if (!s->trial)
        return INLAY_SLOTS_OK;
    error = confirm(s, s->active, s->log[s->active].sequence);
    s->trial = error != INLAY_SLOTS_OK;
    return error;
}

/* ---- the download ---- */

static int other_slot(const inlay_slots *s)
{
    return s->active == INLAY_SLOTS_NONE ? !later_slot(s) : !s->active;
}

/* Erases the slot that is written, from byte `from` on. */
static int clear(inlay_slots *s, uint32_t from)
{
    inlay_slots_log *log = s->log + s->writing;
    if (s->active != INLAY_SLOTS_NONE)
        (void)outrank_other(s);
    memset(log, 0, sizeof *log);
    return erase_down(s, s->writing, from);
}

int inlay_slots_begin(inlay_slots *s)
{
    if (s->trial)
        return INLAY_SLOTS_E_ORDER;
    s->writing = other_slot(s);
    s->written = 0;
    return INLAY_SLOTS_OK;
}

/* What was written last may only seem to be there: the last block that is right is made again, and
 * all behind it. */
int inlay_slots_resume(inlay_slots *s, uint32_t *from)
{
    const int error = inlay_slots_begin(s);
    uint32_t blocks, last;
    *from = 0;
    if (error || !begins_so(s, s->writing) || !head_sound(s, s->writing))
        return error;
    blocks = sound_blocks(s, s->writing, 1);
    if (!blocks)
        return INLAY_SLOTS_OK;
    last = inlay_slots_weights_at(s) + (blocks - 1) * INLAY_BLOB_BLOCK;
    last -= last % s->flash->erase_unit;
    if (!last)
        return INLAY_SLOTS_OK;
    *from = last;
    s->written = last;
    return clear(s, last);
}

/* Writes the unit that is pending, of which n bytes came. */
static int put_pending(inlay_slots *s, uint32_t n)
{
    const uint32_t unit = s->flash->prog_unit;
    const uint32_t all = (n + unit - 1) / unit * unit;
    memset(s->pending + n, s->flash->erased_value, INLAY_SLOTS_UNIT - n);
    return prog(s, s->writing, s->written - n, s->pending, all);
}

/* A whole unit is pending; the first one says what will come. */
static int take_pending(inlay_slots *s)
{
    int error = INLAY_SLOTS_OK;
    if (s->written == INLAY_SLOTS_UNIT)
        error = begins_well(s, s->pending) ? clear(s, 0) : INLAY_SLOTS_E_BLOB;
    return error ? error : put_pending(s, INLAY_SLOTS_UNIT);
}

/* Some of the next n bytes; *taken gets how many. */
static int write_some(inlay_slots *s, const uint8_t *bytes, uint32_t n,
                      uint32_t *taken)
{
    const uint32_t begun = s->written % INLAY_SLOTS_UNIT;
    const uint32_t left = INLAY_SLOTS_UNIT - begun;
    const uint32_t k = n < left ? n : left;
    if (s->written && !begun && n >= INLAY_SLOTS_UNIT) {
        *taken = n - n % INLAY_SLOTS_UNIT;
        s->written += *taken;
        return prog(s, s->writing, s->written - *taken, bytes, *taken);
    }
    memcpy(s->pending + begun, bytes, k);
    s->written += k;
    *taken = k;
    return k == left ? take_pending(s) : INLAY_SLOTS_OK;
}

/* After an error there is no download. */
static int ended(inlay_slots *s, int error)
{
    if (error)
        s->writing = INLAY_SLOTS_NONE;
    return error;
}

int inlay_slots_write(inlay_slots *s, const void *bytes, uint32_t n)
{
    const uint8_t *next = (const uint8_t *)bytes;
    if (s->writing == INLAY_SLOTS_NONE)
        return INLAY_SLOTS_E_ORDER;
    if (n > room(s) - s->written)
        return ended(s, INLAY_SLOTS_E_FULL);
    while (n) {
        uint32_t taken;
        const int error = write_some(s, next, n, &taken);
        if (error)
            return ended(s, error);
        next += taken;
        n -= taken;
    }
    return INLAY_SLOTS_OK;
}

static int finish(inlay_slots *s)
{
    const uint32_t begun = s->written % INLAY_SLOTS_UNIT;
    if (s->written < INLAY_SLOTS_UNIT)
        return INLAY_SLOTS_E_BLOB;
    if ((begun && put_pending(s, begun)) || sync(s))
        return INLAY_SLOTS_E_FLASH;
    if (!whole(s, s->writing, s->written))
        return INLAY_SLOTS_E_BLOB;
    s->log[s->writing].length = s->written;
    return log_it(s, s->writing, COMMITTED, last_sequence(s) + STEP);
}

int inlay_slots_commit(inlay_slots *s)
{
    const int error =
        s->writing == INLAY_SLOTS_NONE ? INLAY_SLOTS_E_ORDER : finish(s);
    s->writing = INLAY_SLOTS_NONE;
    return error;
}
