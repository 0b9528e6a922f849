/* SPDX-License-Identifier: Apache-2.0
 * The directory at an archive's end, and its members by zlib, whose memory is the arena's. */
#include "cli/npz.h"

#include <string.h>
#include <zlib.h>

enum {
    END_BYTES = 22, /* of the record that ends an archive */
    ENTRY_BYTES = 46,
    HEAD_BYTES = 30,
    LONGEST_COMMENT = 65535,
    DENSEST = 1032, /* bytes that deflate makes of one at most */
};

static const char ENDING[] = ".npy";

static uint32_t little(const char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | (unsigned char)at[i];
    return value;
}

bool npz_is(Arena *arena, const char *path)
{
    char head[4] = "";
    File *file = file_open(arena, path, LOAD_STREAM);
    if (file->size >= sizeof head)
        file_read(file, 0, head, sizeof head);
    file_close(file);
    return !memcmp(head, "PK\3\4", sizeof head);
}

/* ---- the directory ---- */

static const char *find_end(const Npz *npz)
{
    for (uint64_t back = END_BYTES;
         back <= npz->end && back <= END_BYTES + LONGEST_COMMENT; back++)
        if (!memcmp(npz->all + npz->end - back, "PK\5\6", 4))
            return npz->all + npz->end - back;
    value_fail(npz->path, "is an archive that is cut off");
}

static const char *name_of(Arena *arena, const char *at, size_t length)
{
    const size_t ending = sizeof ENDING - 1;
    const bool is_npy =
        length > ending && !memcmp(at + length - ending, ENDING, ending);
    return arena_text(arena, at, is_npy ? length - ending : length);
}

static NpzMember read_entry(Arena *arena, const Npz *npz, const char *at)
{
    const uint32_t method = little(at + 10, 2);
    const NpzMember member = {
        .name = name_of(arena, at + ENTRY_BYTES, little(at + 28, 2)),
        .deflated = method == 8,
        .sum = little(at + 16, 4),
        .packed = little(at + 20, 4),
        .size = little(at + 24, 4),
        .offset = little(at + 42, 4),
    };
    const bool is_long = member.packed == UINT32_MAX ||
                         member.size == UINT32_MAX ||
                         member.offset == UINT32_MAX;
    if ((method && method != 8) || little(at + 8, 2) & 1 || is_long)
        fail_at(STATUS_UNSUPPORTED, value_place(npz->path),
                "write it with numpy.savez",
                "\"%s\" is encrypted, larger than 4 GiB or packed in a way "
                "that is not read",
                member.name);
    return member;
}

/* Where the directory's entry at `at` ends. */
static uint64_t end_of_entry(const Npz *npz, uint64_t at)
{
    const char *entry = npz->all + at;
    uint64_t end = at + ENTRY_BYTES;
    if (end > npz->end || memcmp(entry, "PK\1\2", 4))
        value_fail(npz->path, "has a damaged directory");
    for (int field = 28; field <= 32; field += 2)
        end += little(entry + field, 2); /* name, extra, comment */
    if (end > npz->end)
        value_fail(npz->path, "has a damaged directory");
    return end;
}

Npz *npz_open(Arena *arena, const char *path)
{
    File *file = file_open(arena, path, LOAD_STREAM);
    Npz *npz = NEW(arena, Npz);
    npz->path = path;
    npz->end = file->size;
    npz->all = value_text(arena, file);
    file_close(file);
    const char *end = find_end(npz);
    const size_t count = little(end + 10, 2);
    uint64_t at = little(end + 16, 4);
    npz->member = NEW_ARRAY(arena, NpzMember, count + 1);
    for (; npz->members < count; npz->members++) {
        const uint64_t next = end_of_entry(npz, at);
        npz->member[npz->members] = read_entry(arena, npz, npz->all + at);
        at = next;
    }
    return npz;
}

const NpzMember *npz_find(const Npz *npz, const char *name)
{
    for (size_t i = 0; i < npz->members; i++)
        if (!strcmp(npz->member[i].name, name))
            return npz->member + i;
    return NULL;
}

/* ---- a member ---- */

/* Its bytes in the archive. */
static const char *packed_bytes(const Npz *npz, const NpzMember *member)
{
    const char *head = npz->all + member->offset;
    if (member->offset + HEAD_BYTES > npz->end || memcmp(head, "PK\3\4", 4))
        value_fail(npz->path, "has a damaged member");
    const uint64_t begin = member->offset + HEAD_BYTES + little(head + 26, 2) +
                           little(head + 28, 2);
    if (begin + member->packed > npz->end)
        value_fail(npz->path, "has a damaged member");
    return npz->all + begin;
}

static void *take(void *arena, unsigned items, unsigned size)
{
    return arena_array(arena, items, size);
}

static void give(void *arena, void *at)
{
    (void)arena;
    (void)at;
}

static bool inflate_to(Arena *arena, const char *from, const NpzMember *member,
                       char *to)
{
    z_stream stream = { .zalloc = take, .zfree = give, .opaque = arena };
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    stream.next_in = (z_const Bytef *)from;
    stream.avail_in = (uInt)member->packed;
    stream.next_out = (Bytef *)to;
    stream.avail_out = (uInt)member->size;
    const int status = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    return status == Z_STREAM_END && !stream.avail_out;
}

/* The content with a NUL behind it. */
static char *content_of(Arena *arena, const Npz *npz, const NpzMember *member)
{
    const char *from = packed_bytes(npz, member);
    const uint64_t most = DENSEST * (member->packed + 1);
    bool good = member->deflated ? member->size <= most
                                 : member->size == member->packed;
    if (!good)
        value_fail(npz->path, "has a damaged member");
    char *to = arena_alloc(arena, (size_t)member->size + 1);
    if (member->deflated)
        good = inflate_to(arena, from, member, to);
    else
        memcpy(to, from, (size_t)member->size);
    const uLong sum = crc32(0, (const Bytef *)to, (uInt)member->size);
    if (!good || sum != member->sum)
        value_fail(npz->path, "has a damaged member");
    return to;
}

FileValues npz_read(Arena *arena, Store *store, const Npz *npz,
                    const NpzMember *member, uint64_t most, const char **place)
{
    *place = arena_printf(arena, "%s(%s)", npz->path, member->name);
    if (member->size > most)
        value_fail(*place, "is larger than the values that are needed");
    const char *all = content_of(arena, npz, member);
    return npy_values(arena, store, *place, all, member->size);
}
