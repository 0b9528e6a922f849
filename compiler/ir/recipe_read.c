/* SPDX-License-Identifier: Apache-2.0
 * The one place that reads payload bytes: elements of a source by number.
 *
 * Fixed-width elements are read where they lie. Varints are decoded from the
 * nearest checkpoint (at most 4096 of them, their distance doubles when the table
 * is full), so that even int32_data is addressable in bounded memory. Sub-byte
 * elements are handed out as one byte each. */
#include <assert.h>
#include <string.h>

#include "base/diag.h"
#include "base/size.h"
#include "ir/recipe_form.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "payloads are read as they are: little-endian");

enum {
    MARKS = 4096,
    FIRST_DISTANCE = 256,
    DECODE_WINDOW = 64 * 1024,
    LONGEST_VARINT = 10
};

/* While a source is in use: which span was read last, and for varints where decoding stands. */
typedef struct Reader {
    int span;
    uint64_t span_at; /* bytes of all spans before it */
    uint64_t length;  /* bytes of all spans */
    int64_t next;     /* varint at byte `at` */
    uint64_t at;
    int64_t distance; /* varints from one mark to the next */
    int marks, mark_room;
    uint64_t *mark;
    uint64_t window_at;
    size_t window_n, window_room;
    uint8_t *window;
} Reader;

size_t dtype_work(DType type)
{
    const int bits = dtype_bits(type);
    return bits < 8 ? 1 : (size_t)bits / 8;
}

/* Varints hold whole bytes of packed types. */
static int64_t varint_count(const Source *source)
{
    const int bits = dtype_bits(source->dtype);
    return bits < 8 ? dtype_bytes(source->dtype, source->count) : source->count;
}

static _Noreturn void fail_source(const Source *source, const char *what)
{
    Loc loc = LOC_NONE;
    loc.file = source->file ? source->file->path : NULL;
    if (source->file && source->spans)
        loc.byte = (int64_t)source->span[0].offset;
    fail_at(STATUS_MALFORMED, loc, NULL, "%s", what);
}

void source_open(Store *store, Source *source)
{
    if (!source->file || source->reader)
        return;
    source_make(store, source);
    Reader *r = NEW(store->arena, Reader);
    for (int i = 0; i < source->spans; i++)
        if (__builtin_add_overflow(r->length, source->span[i].length,
                                   &r->length))
            fail_overflow();
    source->reader = r;
    if (source->encoding == ENC_FIXED)
        return;
    const int64_t wanted = varint_count(source) / FIRST_DISTANCE + 1;
    r->mark_room =
        wanted < MARKS
            ? (int)wanted + 1
            : MARKS; /* MARKS is even: halving keeps every other one */
    r->mark = NEW_ARRAY(store->arena, uint64_t, r->mark_room);
    r->distance = FIRST_DISTANCE;
    r->marks = 1;
    r->window_room =
        r->length < DECODE_WINDOW ? (size_t)r->length : DECODE_WINDOW;
    r->window = arena_alloc(store->arena, r->window_room);
}

void source_close(Source *source)
{
    source->reader = NULL;
}

/* Makes the span that holds byte `at` the current one. */
static const Span *find_span(const Source *source, Reader *reader, uint64_t at)
{
    while (at < reader->span_at)
        reader->span_at -= source->span[--reader->span].length;
    while (at - reader->span_at >= source->span[reader->span].length)
        reader->span_at += source->span[reader->span++].length;
    return source->span + reader->span;
}

void source_bytes(Store *store, Source *source, uint64_t at, void *to, size_t n)
{
    if (!n)
        return;
    if (!source->file) {
        memcpy(to, (const uint8_t *)source->memory + at, n);
        return;
    }
    Reader *r = source->reader;
    if (at > r->length || n > r->length - at)
        fail_source(source,
                    "the data of a tensor is shorter than its dimensions say");
    store->bytes_read += n;
    for (uint8_t *p = to; n;) {
        const Span *span = find_span(source, r, at);
        const uint64_t in = at - r->span_at;
        const size_t k =
            n < span->length - in ? n : (size_t)(span->length - in);
        file_read(source->file, span->offset + in, p, k);
        p += k;
        at += k;
        n -= k;
    }
}

/* --- varints --- */

static void set_mark(Reader *reader)
{
    if (reader->next != reader->distance * reader->marks)
        return;
    if (reader->marks == reader->mark_room) {
        for (int i = 0; i < reader->marks / 2; i++)
            reader->mark[i] = reader->mark[2 * i];
        reader->marks /= 2;
        reader->distance *= 2;
    }
    if (reader->next == reader->distance * reader->marks)
        reader->mark[reader->marks++] = reader->at;
}

/* The decoder goes to the last mark before `first`, unless it stands nearer. */
static void seek(Reader *reader, int64_t first)
{
    int64_t m = first / reader->distance;
    if (m >= reader->marks)
        m = reader->marks - 1;
    if (reader->next <= first && m * reader->distance <= reader->next)
        return;
    reader->next = m * reader->distance;
    reader->at = reader->mark[m];
}

/* At least one whole varint, or all that is left, in sight at *p; returns the end. */
static const uint8_t *look(Store *store, Source *source, Reader *reader,
                           const uint8_t **p)
{
    uint64_t in = reader->at - reader->window_at;
    if (reader->at < reader->window_at ||
        in + LONGEST_VARINT > reader->window_n) {
        const uint64_t left = reader->length - reader->at;
        if (reader->at < reader->window_at ||
            reader->window_at + reader->window_n < reader->length) {
            reader->window_at = reader->at;
            reader->window_n =
                left < reader->window_room ? (size_t)left : reader->window_room;
            source_bytes(store, source, reader->at, reader->window,
                         reader->window_n);
            in = 0;
        }
        if (!left)
            fail_source(
                source,
                "the data of a tensor is shorter than its dimensions say");
    }
    *p = reader->window + in;
    return reader->window + reader->window_n;
}

static uint64_t decode(const Source *source, const uint8_t **p,
                       const uint8_t *end)
{
    uint64_t x = 0;
    for (int shift = 0; shift < 7 * LONGEST_VARINT; shift += 7) {
        if (*p == end)
            fail_source(source, "the data of a tensor ends inside a number");
        const uint8_t b = *(*p)++;
        x |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return x;
    }
    fail_source(source, "a number of more than ten bytes");
}

static void store_integer(void *to, int64_t i, size_t size, uint64_t v)
{
    switch (size) {
    case 1:
        ((uint8_t *)to)[i] = (uint8_t)v;
        break;
    case 2: {
        const uint16_t x = (uint16_t)v;
        memcpy((uint8_t *)to + 2 * i, &x, 2);
        break;
    }
    case 4: {
        const uint32_t x = (uint32_t)v;
        memcpy((uint8_t *)to + 4 * i, &x, 4);
        break;
    }
    default:
        memcpy((uint8_t *)to + 8 * i, &v, 8);
    }
}

/* Varints first .. first + n - 1; to NULL: only passes over them. */
static void read_varints(Store *store, Source *source, int64_t n, void *to)
{
    Reader *r = source->reader;
    const size_t size = dtype_work(source->dtype);
    for (int64_t i = 0; i < n;) {
        const uint8_t *p;
        const uint8_t *end = look(store, source, r, &p);
        const uint8_t *from = p;
        const bool last = r->window_at + r->window_n == r->length;
        do {
            set_mark(r);
            const uint64_t v = decode(source, &p, end);
            if (to)
                store_integer(to, i, size, v);
            r->at += (uint64_t)(p - from);
            from = p;
            r->next++;
            i++;
        } while (i < n && (end - p >= LONGEST_VARINT || (last && p < end)));
    }
}

static void varints_from(Store *store, Source *source, int64_t first, int64_t n,
                         void *to)
{
    Reader *r = source->reader;
    assert(dtype_work(source->dtype) <= 8);
    seek(r, first);
    read_varints(store, source, first - r->next, NULL);
    read_varints(store, source, n, to);
}

/* --- sub-byte types --- */

/* Whole bytes, the number of elements of each known where this is compiled. */
static inline void unpack_bytes(uint8_t *restrict to,
                                const uint8_t *restrict from, int64_t n,
                                int bits)
{
    const int per = 8 / bits;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < per; k++)
            to[i * per + k] =
                (uint8_t)(from[i] >> k * bits & ((1 << bits) - 1));
}

void bits_unpack(DType type, uint8_t *to, const uint8_t *from, int64_t first,
                 int64_t n)
{
    const int bits = dtype_bits(type);
    const int per = 8 / bits;
    const unsigned mask = (1u << bits) - 1;
    int64_t i = 0;
    int64_t whole;
    from += first / per;
    first %= per;
    for (; i < n && (first + i) % per; i++)
        to[i] = (uint8_t)((unsigned)*from >> (int)(first + i) * bits & mask);
    from += i > 0;
    whole = (n - i) / per;
    if (bits == 4)
        unpack_bytes(to + i, from, whole, 4);
    else
        unpack_bytes(to + i, from, whole, 2);
    from += whole;
    i += whole * per;
    for (int k = 0; i < n; i++, k++)
        to[i] = (uint8_t)((unsigned)*from >> k * bits & mask);
}

void bits_pack(DType type, uint8_t *to, const uint8_t *from, int64_t n)
{
    const int bits = dtype_bits(type);
    const int per = 8 / bits;
    const unsigned mask = (1u << bits) - 1;
    for (int64_t i = 0; i < n; i += per) {
        unsigned b = 0;
        for (int j = 0; j < per && i + j < n; j++)
            b |= (from[i + j] & mask) << (j * bits);
        *to++ = (uint8_t)b;
    }
}

static void read_packed(Store *store, Source *source, int64_t first, int64_t n,
                        uint8_t *to)
{
    const int per = 8 / dtype_bits(source->dtype);
    uint8_t bytes[4096];
    while (n) {
        const int64_t at = first / per;
        const int64_t skip = first % per;
        const int64_t k = i64_min(n, (int64_t)sizeof bytes * per - skip);
        const size_t whole = (size_t)i64_ceil_div(skip + k, per);
        if (source->encoding == ENC_VARINT)
            varints_from(store, source, at, (int64_t)whole, bytes);
        else
            source_bytes(store, source, (uint64_t)at, bytes, whole);
        bits_unpack(source->dtype, to, bytes, skip, k);
        to += k;
        first += k;
        n -= k;
    }
}

void source_read(Store *store, Source *source, int64_t first, int64_t n,
                 void *to)
{
    const size_t size = dtype_work(source->dtype);
    assert(first >= 0 && n >= 0 && first <= source->count - n);
    assert(!source->file || source->reader);
    if (dtype_bits(source->dtype) < 8)
        read_packed(store, source, first, n, to);
    else if (source->file && source->encoding == ENC_VARINT)
        varints_from(store, source, first, n, to);
    else
        source_bytes(store, source, (uint64_t)first * size, to,
                     (size_t)n * size);
}

bool source_same(const Source *a, const Source *b)
{
    if (a == b)
        return true;
    if (a->dtype != b->dtype || a->count != b->count ||
        a->encoding != b->encoding || a->file != b->file)
        return false;
    if (!a->file)
        return a->memory == b->memory;
    if (a->spans != b->spans)
        return false;
    for (int i = 0; i < a->spans; i++)
        if (a->span[i].offset != b->span[i].offset ||
            a->span[i].length != b->span[i].length)
            return false;
    return true;
}
