/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: notes, which may stand behind the weights of a blob, one after the other up to the
 * end of the file. Each begins with four little-endian words; code that opens blobs does not look
 * at them, code that keeps slots does. */
#ifndef INLAY_NOTES_H
#define INLAY_NOTES_H

#include <stdint.h>

/* What a note is. A device refuses a tag of the upper half that it does not know. */
#define INLAY_NOTE_COUNTER 1u /* `number` is the security counter */
#define INLAY_NOTE_GOLDEN 2u  /* bytes for the trial, of the user's own form */
#define INLAY_NOTE_SIGNATURE 3u /* the last one; `number` is that of the key */
#define INLAY_NOTE_CRITICAL UINT32_C(0x80000000)

typedef struct inlay_note_head {
    uint32_t tag;
    uint32_t size; /* of the bytes that follow */
    uint32_t number;
    uint32_t sum; /* CRC-32 of these bytes, then of the words before */
} inlay_note_head;

/* What is signed: 64 bytes that stand for all of the file before its signature. */
#define INLAY_SIGN_MAGIC \
    UINT64_C(0x01475359414c4e49) /* "INLAYSG", then its form, 1 */
typedef struct inlay_sign_message {
    uint64_t magic;
    uint64_t layout;
    uint32_t key;
    uint32_t counter;
    uint64_t length;    /* of what is signed */
    uint8_t digest[32]; /* its SHA-256 */
} inlay_sign_message;

#endif
