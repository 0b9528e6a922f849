/* SPDX-License-Identifier: 0BSD
 * Signatures of blobs in slots. All that stands before the signature's note is read once, through a
 * window that is a block of SHA-256 (FIPS 180-4), and summed up in the message that was signed. */
#include "inlay_signed.h"

#include <stddef.h>
#include <string.h>

enum { BLOCK = 64, WORDS = 16, ROUNDS = 64 };

/* ---- SHA-256 ---- */

typedef struct sha256 {
    uint32_t state[8];
    uint8_t block[BLOCK];
} sha256;

static uint32_t turned(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t word_of(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static void put_word(uint8_t *p, uint32_t word)
{
    p[0] = (uint8_t)(word >> 24);
    p[1] = (uint8_t)(word >> 16);
    p[2] = (uint8_t)(word >> 8);
    p[3] = (uint8_t)word;
}

/* Word i of the schedule, of which the block keeps the last sixteen. */
static uint32_t scheduled(uint8_t *block, unsigned i)
{
    uint8_t *own = block + i % WORDS * 4;
    const uint32_t early = word_of(block + (i + 1) % WORDS * 4);
    const uint32_t late = word_of(block + (i + 14) % WORDS * 4);
    const uint32_t low = turned(early, 7) ^ turned(early, 18) ^ early >> 3;
    const uint32_t high = turned(late, 17) ^ turned(late, 19) ^ late >> 10;
    if (i >= WORDS)
        put_word(own, word_of(own) + low +
                          word_of(block + (i + 9) % WORDS * 4) + high);
    return word_of(own);
}

/* One round of the eight words a to h. */
static void sha_round(uint32_t *v, uint32_t added)
{
    const uint32_t e = v[4], a = v[0];
    const uint32_t choice = (e & v[5]) ^ (~e & v[6]);
    const uint32_t most = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
    const uint32_t first =
        v[7] + added + choice + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25));
    const uint32_t second =
        most + (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += first;
    v[0] = first + second;
}

/* Of its rounds. */
static const uint32_t constant[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, /* 0 */
    0xe9b5dba5, 0x3956c25b, 0x59f111f1, /* 3 */
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, /* 6 */
    0x12835b01, 0x243185be, 0x550c7dc3, /* 9 */
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, /* 12 */
    0xc19bf174, 0xe49b69c1, 0xefbe4786, /* 15 */
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, /* 18 */
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, /* 21 */
    0x983e5152, 0xa831c66d, 0xb00327c8, /* 24 */
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, /* 27 */
    0x06ca6351, 0x14292967, 0x27b70a85, /* 30 */
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, /* 33 */
    0x650a7354, 0x766a0abb, 0x81c2c92e, /* 36 */
    0x92722c85, 0xa2bfe8a1, 0xa81a664b, /* 39 */
    0xc24b8b70, 0xc76c51a3, 0xd192e819, /* 42 */
    0xd6990624, 0xf40e3585, 0x106aa070, /* 45 */
    0x19a4c116, 0x1e376c08, 0x2748774c, /* 48 */
    0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, /* 51 */
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, /* 54 */
    0x78a5636f, 0x84c87814, 0x8cc70208, /* 57 */
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, /* 60 */
    0xc67178f2,                         /* 63 */
};

static void sha_block(sha256 *h)
{
    uint32_t v[8];
    unsigned i;
    memcpy(v, h->state, sizeof v);
    for (i = 0; i < ROUNDS; i++)
        sha_round(v, constant[i] + scheduled(h->block, i));
    for (i = 0; i < 8; i++)
        h->state[i] += v[i];
}

/* The last n bytes, fewer than a block, are in it; `length` of all were there. */
static void sha_end(sha256 *h, uint32_t n, uint32_t length, uint8_t *digest)
{
    unsigned i;
    h->block[n] = 0x80;
    memset(h->block + n + 1, 0, BLOCK - n - 1);
    if (n + 9 > BLOCK) {
        sha_block(h);
        memset(h->block, 0, BLOCK);
    }
    put_word(h->block + BLOCK - 8, length >> 29);
    put_word(h->block + BLOCK - 4, length << 3);
    sha_block(h);
    for (i = 0; i < 8; i++)
        put_word(digest + 4 * i, h->state[i]);
}

/* Of the first `length` bytes of a slot; 0: they cannot be read. */
static int digest_of(const inlay_slots *s, int slot, uint32_t length,
                     uint8_t *digest)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                       0xa54ff53a, 0x510e527f, 0x9b05688c,
                                       0x1f83d9ab, 0x5be0cd19 };
    sha256 h;
    uint32_t at, n;
    memcpy(h.state, first, sizeof first);
    for (at = 0;; at += n) {
        n = length - at < BLOCK ? length - at : BLOCK;
        if (n && inlay_slots_read(s, slot, at, h.block, n))
            return 0;
        if (n < BLOCK)
            break;
        sha_block(&h);
    }
    sha_end(&h, n, length, digest);
    return 1;
}

/* ---- the signature ---- */

static int says_yes(const inlay_slots *s, int slot, uint32_t at,
                    const inlay_note_head *head,
                    const inlay_sign_message *message)
{
    const inlay_signed *by = (const inlay_signed *)s->context;
    uint8_t signature[INLAY_SIGNED_MOST];
    return !inlay_slots_read(s, slot, at, signature, head->size) &&
           by->verify(by->context, head->number, message,
                      (uint32_t)sizeof *message, signature, head->size) == 1;
}

int inlay_signed_check(const inlay_slots *s, int slot, uint32_t length)
{
    inlay_sign_message message;
    inlay_note_head head;
    uint32_t at;
    if (!inlay_slots_notes(s, slot, length, &message.counter) ||
        !inlay_slots_note(s, slot, length, INLAY_NOTE_SIGNATURE, &head, &at) ||
        head.size != length - at || head.size > INLAY_SIGNED_MOST)
        return 0;
    message.magic = INLAY_SIGN_MAGIC;
    message.layout = s->layout;
    message.key = head.number;
    message.length = at - (uint32_t)sizeof head;
    return digest_of(s, slot, at - (uint32_t)sizeof head, message.digest) &&
           says_yes(s, slot, at, &head, &message);
}
