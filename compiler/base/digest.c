/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

typedef void AddPiece(void *digest, const void *data, size_t n);

static void write_hex(const uint8_t *digest, size_t n, char *hex)
{
    static const char digit[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digit[digest[i] >> 4];
        hex[2 * i + 1] = digit[digest[i] & 15];
    }
    hex[2 * n] = 0;
}

static void add_file(void *digest, AddPiece *add, File *file, uint64_t at,
                     uint64_t n)
{
    uint8_t buffer[64 * 1024];
    while (n) {
        const size_t k = n < sizeof buffer ? (size_t)n : sizeof buffer;
        file_read(file, at, buffer, k);
        add(digest, buffer, k);
        at += k;
        n -= k;
    }
}

void sha256_begin(Sha256 *h)
{
    SHA256_Init(&h->state);
}

void sha256_add(Sha256 *h, const void *data, size_t n)
{
    SHA256_Update(&h->state, data, n);
}

static void add_sha256(void *digest, const void *data, size_t n)
{
    sha256_add(digest, data, n);
}

void sha256_end(Sha256 *h, char hex[65])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256_Final(digest, &h->state);
    write_hex(digest, sizeof digest, hex);
}

void sha256_add_file(Sha256 *h, File *file, uint64_t at, uint64_t n)
{
    add_file(h, add_sha256, file, at, n);
}

void sha1_begin(Sha1 *h)
{
    SHA1_Init(&h->state);
}

static void add_sha1(void *digest, const void *data, size_t n)
{
    Sha1 *h = digest;
    SHA1_Update(&h->state, data, n);
}

void sha1_end(Sha1 *h, char hex[41])
{
    uint8_t digest[SHA_DIGEST_LENGTH];
    SHA1_Final(digest, &h->state);
    write_hex(digest, sizeof digest, hex);
}

void sha1_add_file(Sha1 *h, File *file, uint64_t at, uint64_t n)
{
    add_file(h, add_sha1, file, at, n);
}
