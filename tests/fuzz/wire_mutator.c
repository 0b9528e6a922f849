/* SPDX-License-Identifier: Apache-2.0 */
#include "wire_mutator.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

enum { MOST_FIELDS = 4096, ROOM = 1 << 16 };

/* A field: its key begins at `begin`, its content lies in [content, end). */
typedef struct Field {
    size_t begin, content, end;
    int parent; /* -1: the file */
    int wire;
} Field;

typedef struct Fields {
    const uint8_t *data;
    Field at[MOST_FIELDS];
    int n;
} Fields;

typedef struct Bytes {
    uint8_t at[ROOM];
    size_t n;
} Bytes;

static uint32_t step(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static bool read_varint(const uint8_t *data, size_t *at, size_t end,
                        uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        const uint8_t byte = data[(*at)++];
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* Where the content of a field of this wire type begins (moves *at) and ends. */
static bool read_content(const uint8_t *data, int wire, size_t *at, size_t end,
                         size_t *content_end)
{
    uint64_t value;
    *content_end = *at;
    if (wire == 0)
        return read_varint(data, content_end, end, &value);
    if (wire == 2 && !read_varint(data, at, end, &value))
        return false;
    const uint64_t length = wire == 2 ? value : wire == 1 ? 8 : 4;
    if (wire > 5 || wire == 3 || wire == 4 || length > end - *at)
        return false;
    *content_end = *at + length;
    return true;
}

/* Adds the fields of one message; false where it is none. */
static bool add_fields(Fields *f, int parent, size_t begin, size_t end)
{
    const int first = f->n;
    while (begin < end && f->n < MOST_FIELDS) {
        Field one = { .begin = begin, .parent = parent };
        uint64_t key;
        size_t at = begin;
        if (!read_varint(f->data, &at, end, &key) || !(key >> 3))
            break;
        one.wire = (int)(key & 7);
        if (!read_content(f->data, one.wire, &at, end, &one.end))
            break;
        one.content = at;
        f->at[f->n++] = one;
        begin = one.end;
    }
    if (begin == end)
        return true;
    if (parent >= 0)
        f->n = first;
    return false;
}

/* All that can be read as a message is taken for one. */
static void find_fields(Fields *f, size_t size)
{
    f->n = 0;
    add_fields(f, -1, 0, size);
    for (int i = 0; i < f->n; i++)
        if (f->at[i].wire == 2 && f->at[i].end > f->at[i].content)
            add_fields(f, i, f->at[i].content, f->at[i].end);
}

static void put(Bytes *b, const uint8_t *from, size_t n)
{
    if (n > ROOM - b->n)
        n = ROOM - b->n;
    memcpy(b->at + b->n, from, n);
    b->n += n;
}

static void put_varint(Bytes *b, uint64_t value)
{
    uint8_t out[10];
    size_t n = 0;
    for (; value > 127; value >>= 7)
        out[n++] = (uint8_t)(value | 128);
    out[n++] = (uint8_t)value;
    put(b, out, n);
}

/* A key, and the length where it needs one. */
static void put_key(Bytes *b, const Fields *f, const Field *field,
                    size_t length)
{
    uint64_t key;
    size_t at = field->begin;
    read_varint(f->data, &at, field->content, &key);
    put_varint(b, key);
    if (field->wire == 2)
        put_varint(b, length);
}

static void new_content(Bytes *b, const Fields *f, const Field *field,
                        uint64_t *state)
{
    static const uint64_t ends[] = { 0,         1,          2,
                                     3,         UINT64_MAX, 127,
                                     128,       255,        65536,
                                     INT32_MAX, 1u << 31,   UINT32_MAX,
                                     INT64_MAX, 1ull << 63, 7 };
    const size_t length = field->end - field->content;
    if (field->wire == 0) {
        size_t at = field->content;
        uint64_t value;
        read_varint(f->data, &at, field->end, &value);
        const uint32_t how = step(state) % 4;
        if (how < 2)
            value += how ? 1 : UINT64_MAX;
        else
            value = ends[step(state) % (sizeof ends / sizeof *ends)];
        put_varint(b, value);
        return;
    }
    uint8_t content[ROOM / 4];
    size_t n = length < sizeof content / 2 ? length : sizeof content / 2;
    memcpy(content, f->data + field->content, n);
    const size_t most = field->wire == 2 ? n + 64 : n;
    n = LLVMFuzzerMutate(content, n, most);
    put(b, content, field->wire == 2 ? n : length);
}

/* What stands for the field afterwards. */
static void replacement(Bytes *b, const Fields *f, const Field *field,
                        uint64_t *state)
{
    const uint32_t how = step(state) % 8;
    if (how == 0)
        return;
    if (how == 1)
        put(b, f->data + field->begin, field->end - field->begin);
    if (how <= 2) { /* another field, here too */
        const Field *other =
            how == 1 ? field : f->at + step(state) % (uint32_t)f->n;
        put(b, f->data + other->begin, other->end - other->begin);
        return;
    }
    if (how == 3) { /* the content of another field */
        const Field *other = f->at + step(state) % (uint32_t)f->n;
        if (other->wire == field->wire) {
            put_key(b, f, field, other->end - other->content);
            put(b, f->data + other->content, other->end - other->content);
            return;
        }
    }
    static Bytes content;
    content.n = 0;
    new_content(&content, f, field, state);
    put_key(b, f, field, content.n);
    put(b, content.at, content.n);
}

/* The message around [begin, end) of which `inner` is to take the place. */
static void wrap(Bytes *outer, const Fields *f, const Field *parent,
                 size_t begin, size_t end, const Bytes *inner)
{
    const size_t before = begin - parent->content, after = parent->end - end;
    put_key(outer, f, parent, before + inner->n + after);
    put(outer, f->data + parent->content, before);
    put(outer, inner->at, inner->n);
    put(outer, f->data + end, after);
}

size_t wire_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static Fields fields;
    static Bytes bytes[2];
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    fields.data = data;
    find_fields(&fields, size);
    if (!fields.n)
        return 0;
    const Field *field = fields.at + step(&state) % (uint32_t)fields.n;
    Bytes *now = bytes, *next = bytes + 1;
    now->n = 0;
    replacement(now, &fields, field, &state);
    size_t begin = field->begin, end = field->end;
    for (int i = field->parent; i >= 0; i = fields.at[i].parent) {
        next->n = 0;
        wrap(next, &fields, fields.at + i, begin, end, now);
        begin = fields.at[i].begin;
        end = fields.at[i].end;
        Bytes *const other = now;
        now = next;
        next = other;
    }
    const size_t after = size - end;
    if (begin + now->n + after > max_size)
        return 0;
    memmove(data + begin + now->n, data + end, after);
    memcpy(data + begin, now->at, now->n);
    return begin + now->n + after;
}
