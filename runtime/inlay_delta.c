/* SPDX-License-Identifier: 0BSD
 * Deltas. Nothing that a delta says is believed: bytes are copied from within the old blob alone,
 * and go where those of any download go. Which blob came of it is looked at before the commit. */
#include "inlay_delta.h"

#include "inlay_blob.h"

/* Bytes of the base, which lies in a slot or in memory. */
static int read_base(const inlay_delta *d, int base, uint32_t at, void *to,
                     uint32_t n)
{
    if (base != INLAY_SLOTS_NONE)
        return inlay_slots_read(d->slots, base, at, to, n);
    memcpy(to, (const uint8_t *)d->own + at, n);
    return INLAY_SLOTS_OK;
}

/* Where the CRC-32 of a blob's head is. */
static uint32_t head_sum_at(const inlay_delta *d)
{
    return inlay_slots_weights_at(d->slots) - INLAY_BLOB_CRC_SIZE;
}

/* Where the weights end. */
static uint32_t weights_end(const inlay_delta *d)
{
    return inlay_slots_weights_at(d->slots) + d->slots->weights;
}

/* Are these the weights that the delta is for? */
static int is_base(const inlay_delta *d, int base)
{
    const uint32_t seal_sum_at = weights_end(d) - INLAY_SEAL_CRC_SIZE;
    uint32_t found[2];
    if (base == INLAY_SLOTS_NONE && !d->own)
        return 0;
    return !read_base(d, base, head_sum_at(d), found, sizeof *found) &&
           !read_base(d, base, seal_sum_at, found + 1, sizeof *found) &&
           !memcmp(found, d->head.base, sizeof found);
}

/* Has the slot that is written the head of the new blob? */
static int made_so(const inlay_delta *d)
{
    uint32_t found;
    return !inlay_slots_read(d->slots, d->slots->writing, head_sum_at(d),
                             &found, sizeof found) &&
           found == d->head.made;
}

/* All of the head came. */
static int take_head(inlay_delta *d)
{
    const inlay_delta_head *head = &d->head;
    const uint32_t summed = (uint32_t)offsetof(inlay_delta_head, sum);
    if (head->magic != INLAY_DELTA_MAGIC ||
        head->sum != inlay_crc_small(0, (const unsigned char *)head, summed) ||
        head->layout != d->slots->layout ||
        head->weights != d->slots->weights || head->length < weights_end(d))
        return INLAY_SLOTS_E_BLOB;
    d->base = d->slots->active;
    if (!is_base(d, d->base))
        d->base = INLAY_SLOTS_NONE;
    if (!is_base(d, d->base))
        return INLAY_SLOTS_E_BASE;
    if (head->length > d->slots->size - INLAY_SLOTS_LOG)
        return INLAY_SLOTS_E_FULL;
    return d->resume && made_so(d) ? inlay_slots_resume(d->slots, &d->had)
                                   : INLAY_SLOTS_OK;
}

/* Passes over those of the next n bytes that the slot has: how many are left. */
static uint32_t pass_over(inlay_delta *d, uint32_t n)
{
    const uint32_t there = d->had > d->made ? d->had - d->made : 0;
    const uint32_t k = n < there ? n : there;
    d->made += k;
    return n - k;
}

/* The bytes that the record keeps. */
static int copy_kept(inlay_delta *d)
{
    int error = INLAY_SLOTS_OK;
    d->record.kept = pass_over(d, d->record.kept);
    while (d->record.kept && !error) {
        const uint32_t left = d->record.kept;
        const uint32_t k =
            left < INLAY_DELTA_WINDOW ? left : INLAY_DELTA_WINDOW;
        if (read_base(d, d->base, d->made, d->window, k))
            return INLAY_SLOTS_E_FLASH;
        d->made += k;
        d->record.kept -= k;
        error = inlay_slots_write(d->slots, d->window, k);
    }
    return error;
}

/* All of a record came. */
static int take_record(inlay_delta *d)
{
    const inlay_delta_record *record = &d->record;
    const uint32_t end = weights_end(d);
    const uint32_t kept_most = d->made < end ? end - d->made : 0;
    int error;
    if (record->kept > kept_most ||
        record->fresh > d->head.length - d->made - record->kept)
        return INLAY_SLOTS_E_BLOB;
    error = copy_kept(d);
    d->left = pass_over(d, record->fresh);
    d->next += record->fresh - d->left;
    d->held = (uint32_t)sizeof d->head;
    return error;
}

/* Some of n bytes of the head or of a record. */
static int hold(inlay_delta *d, const uint8_t *bytes, uint32_t n)
{
    const uint32_t head = (uint32_t)sizeof d->head;
    const int in_head = d->held < head;
    const uint32_t all = in_head ? head : head + (uint32_t)sizeof d->record;
    const uint32_t left = all - d->held;
    const uint32_t k = n < left ? n : left;
    uint8_t *to = in_head ? (uint8_t *)&d->head + d->held
                          : (uint8_t *)&d->record + (d->held - head);
    if (!in_head && d->made == d->head.length)
        return INLAY_SLOTS_E_BLOB; /* there is no more of it */
    d->held += k;
    d->next += k;
    memcpy(to, bytes, k);
    if (d->held < all)
        return INLAY_SLOTS_OK;
    return in_head ? take_head(d) : take_record(d);
}

/* Some of n new bytes of the blob. */
static int take_fresh(inlay_delta *d, const uint8_t *bytes, uint32_t n)
{
    const uint32_t k = n < d->left ? n : d->left;
    d->left -= k;
    d->made += k;
    d->next += k;
    return inlay_slots_write(d->slots, bytes, k);
}

int inlay_delta_begin(inlay_delta *d)
{
    d->next = 0;
    d->made = 0;
    d->had = 0;
    d->left = 0;
    d->held = 0;
    return inlay_slots_begin(d->slots);
}

int inlay_delta_write(inlay_delta *d, uint32_t at, const void *bytes,
                      uint32_t n)
{
    const uint8_t *first = (const uint8_t *)bytes;
    if (d->slots->writing == INLAY_SLOTS_NONE || at > d->next)
        return INLAY_SLOTS_E_ORDER;
    while (d->next - at < n) {
        const uint8_t *from = first + (d->next - at);
        const uint32_t left = n - (d->next - at);
        const int error =
            d->left ? take_fresh(d, from, left) : hold(d, from, left);
        if (error) {
            d->slots->writing = INLAY_SLOTS_NONE;
            return error;
        }
    }
    return INLAY_SLOTS_OK;
}

int inlay_delta_commit(inlay_delta *d)
{
    inlay_slots *s = d->slots;
    const int whole =
        d->held == sizeof d->head && !d->left && d->made == d->head.length;
    if (s->writing != INLAY_SLOTS_NONE && (!whole || !made_so(d))) {
        s->writing = INLAY_SLOTS_NONE;
        return INLAY_SLOTS_E_BLOB;
    }
    return inlay_slots_commit(s);
}
