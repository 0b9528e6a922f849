/* SPDX-License-Identifier: Apache-2.0
 * The values of a manifest's objects, each asked for by its key, kind and range; one that is not so
 * fails with 65, named by its place. */
#ifndef INLAY_PROVE_CLAIM_READER_H
#define INLAY_PROVE_CLAIM_READER_H

#include <inttypes.h>
#include <jansson.h>

#include "base/diag.h"
#include "base/size.h"

enum { MOST_OPERANDS = 1 << 20 };

/* No address or size of a plan comes near it, so sums of a few do not overflow. */
static const int64_t MOST_BYTES = (int64_t)1 << 40;

/* Reads the values of one object by their keys. */
typedef struct Reader {
    Arena *arena;
    Loc loc;
    const json_t *json;
    const char *place; /* "steps[3].operands[0]", for messages */
} Reader;

/* Between an object's place and a key. */
static inline const char *dot(const Reader *reader)
{
    return *reader->place ? "." : "";
}

static inline _Noreturn void malformed(const Reader *reader, const char *key,
                                       const char *want)
{
    fail_at(STATUS_MALFORMED, reader->loc,
            "docs/GENERATED.md describes the manifest", "%s%s%s is no %s",
            reader->place, dot(reader), key, want);
}

static inline bool has(const Reader *reader, const char *key)
{
    return json_object_get(reader->json, key) != NULL;
}

static inline const json_t *value(const Reader *reader, const char *key)
{
    const json_t *v = json_object_get(reader->json, key);
    if (!v)
        fail_at(STATUS_MALFORMED, reader->loc,
                "only manifests with a plan can be proved", "%s%s%s is missing",
                reader->place, dot(reader), key);
    return v;
}

static inline bool in_range(const json_t *v, int64_t least, int64_t most)
{
    return json_is_integer(v) && json_integer_value(v) >= least &&
           json_integer_value(v) <= most;
}

static inline int64_t number(const Reader *reader, const char *key,
                             int64_t least, int64_t most)
{
    static const char want[] = "integer from %" PRId64 " to %" PRId64;
    const json_t *v = value(reader, key);
    if (!in_range(v, least, most))
        malformed(reader, key, arena_printf(reader->arena, want, least, most));
    return json_integer_value(v);
}

static inline int32_t count(const Reader *reader, const char *key,
                            int32_t least)
{
    return (int32_t)number(reader, key, least, INT32_MAX);
}

static inline int64_t bytes(const Reader *reader, const char *key)
{
    return number(reader, key, 0, MOST_BYTES);
}

/* Absent: `otherwise`. */
static inline int64_t optional(const Reader *reader, const char *key,
                               int64_t least, int64_t most, int64_t otherwise)
{
    return has(reader, key) ? number(reader, key, least, most) : otherwise;
}

static inline int32_t optional_count(const Reader *reader, const char *key,
                                     int32_t least, int32_t otherwise)
{
    return (int32_t)optional(reader, key, least, INT32_MAX, otherwise);
}

static inline bool truth(const Reader *reader, const char *key)
{
    const json_type type = json_typeof(value(reader, key));
    if (type != JSON_TRUE && type != JSON_FALSE)
        malformed(reader, key, "boolean");
    return type == JSON_TRUE;
}

/* A copy of a string. */
static inline const char *copy_text(const Reader *reader, const json_t *v)
{
    const size_t length = json_string_length(v);
    return arena_text(reader->arena, json_string_value(v), length);
}

static inline const char *text(const Reader *reader, const char *key)
{
    const json_t *v = value(reader, key);
    if (json_typeof(v) != JSON_STRING ||
        strlen(json_string_value(v)) != json_string_length(v))
        malformed(reader, key, "text");
    return copy_text(reader, v);
}

static inline const json_t *list(const Reader *reader, const char *key)
{
    const json_t *v = value(reader, key);
    if (json_typeof(v) != JSON_ARRAY || json_array_size(v) > MOST_OPERANDS)
        malformed(reader, key, "list of a sensible length");
    return v;
}

static inline size_t length(const Reader *reader, const char *key)
{
    return json_array_size(list(reader, key));
}

/* Integer i of a list, from 0 to `most`; `want` says what the list should be. */
static inline int32_t entry(const Reader *reader, const char *key, size_t i,
                            int32_t most, const char *want)
{
    const json_t *v = json_array_get(json_object_get(reader->json, key), i);
    if (!in_range(v, 0, most))
        malformed(reader, key, want);
    return (int32_t)json_integer_value(v);
}

/* A reader of the object under a key. */
static inline Reader object(const Reader *reader, const char *key)
{
    Reader in = *reader;
    in.json = value(reader, key);
    in.place =
        arena_printf(reader->arena, "%s%s%s", reader->place, dot(reader), key);
    if (json_typeof(in.json) != JSON_OBJECT)
        malformed(reader, key, "object");
    return in;
}

/* A reader of element i of a list, which may be anything. */
static inline Reader element(const Reader *reader, const char *key, size_t i)
{
    Reader in = *reader;
    in.json = json_array_get(list(reader, key), i);
    in.place = arena_printf(reader->arena, "%s%s%s[%zu]", reader->place,
                            dot(reader), key, i);
    return in;
}

/* One of a list of objects. */
static inline Reader member(const Reader *reader, const char *key, size_t i)
{
    const Reader in = element(reader, key, i);
    if (json_typeof(in.json) != JSON_OBJECT)
        malformed(&in, "entry", "object");
    return in;
}

static inline const char **texts(const Reader *reader, const char *key)
{
    const json_t *l = list(reader, key);
    const size_t n = json_array_size(l);
    const char **all = NEW_ARRAY(reader->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(l, i);
        if (json_typeof(v) != JSON_STRING)
            malformed(reader, key, "list of texts");
        all[i] = copy_text(reader, v);
    }
    return all;
}

#endif
