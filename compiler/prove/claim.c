/* SPDX-License-Identifier: Apache-2.0
 * Nothing is taken from the document unseen: each value is asked for by its kind and range. */
#include "prove/claim.h"

#include <inttypes.h>

#include "base/diag.h"
#include "base/size.h"

/* Offsets of a plan are whole multiples of 16 bytes, or more where the manifest says so. */
enum { MOST_OPERANDS = 1 << 20, LEAST_ALIGN = 16, MOST_ALIGN = 1 << 20 };

/* No address or size of a plan comes near it, so sums of a few do not overflow. */
static const int64_t MOST_BYTES = (int64_t)1 << 40;

typedef struct Reader {
    Arena *arena;
    Loc loc;
    const char *place; /* "steps[3].operands[0]", for messages */
} Reader;

static _Noreturn void malformed(const Reader *r, const char *key, const char *want)
{
    fail_at(STATUS_MALFORMED, r->loc, "docs/GENERATED.md describes the manifest", "%s%s%s is no %s",
            r->place, *r->place ? "." : "", key, want);
}

static const json_t *value(const Reader *r, const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!v)
        fail_at(STATUS_MALFORMED, r->loc, "only manifests with a plan can be proved",
                "%s%s%s is missing", r->place, *r->place ? "." : "", key);
    return v;
}

static int64_t number(const Reader *r, const json_t *object, const char *key, int64_t least,
                      int64_t most)
{
    const json_t *v = value(r, object, key);
    if (!json_is_integer(v) || json_integer_value(v) < least || json_integer_value(v) > most)
        malformed(r, key,
                  arena_printf(r->arena, "integer from %" PRId64 " to %" PRId64, least, most));
    return json_integer_value(v);
}

static int32_t count(const Reader *r, const json_t *object, const char *key, int32_t least)
{
    return (int32_t)number(r, object, key, least, INT32_MAX);
}
static int64_t bytes(const Reader *r, const json_t *object, const char *key)
{
    return number(r, object, key, 0, MOST_BYTES);
}

/* Absent: `otherwise`. */
static int64_t optional(const Reader *r, const json_t *object, const char *key, int64_t least,
                        int64_t most, int64_t otherwise)
{
    return json_object_get(object, key) ? number(r, object, key, least, most) : otherwise;
}

static bool truth(const Reader *r, const json_t *object, const char *key)
{
    const json_t *v = value(r, object, key);
    if (!json_is_boolean(v))
        malformed(r, key, "boolean");
    return json_is_true(v);
}

static const char *text(const Reader *r, const json_t *object, const char *key)
{
    const json_t *v = value(r, object, key);
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
        malformed(r, key, "text");
    return arena_text(r->arena, json_string_value(v), json_string_length(v));
}

static const json_t *list(const Reader *r, const json_t *object, const char *key)
{
    const json_t *v = value(r, object, key);
    if (!json_is_array(v) || json_array_size(v) > MOST_OPERANDS)
        malformed(r, key, "list of a sensible length");
    return v;
}

static const json_t *object(const Reader *r, const json_t *parent, const char *key)
{
    const json_t *v = value(r, parent, key);
    if (!json_is_object(v))
        malformed(r, key, "object");
    return v;
}

/* A reader of element i of a list. */
static Reader inside(const Reader *r, const char *key, size_t i)
{
    return (
        Reader){ r->arena, r->loc,
                 arena_printf(r->arena, "%s%s%s[%zu]", r->place, *r->place ? "." : "", key, i) };
}

static const char **texts(const Reader *r, const json_t *parent, const char *key)
{
    const json_t *l = list(r, parent, key);
    const size_t n = json_array_size(l);
    const char **all = NEW_ARRAY(r->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(l, i);
        if (!json_is_string(v))
            malformed(r, key, "list of texts");
        all[i] = arena_text(r->arena, json_string_value(v), json_string_length(v));
    }
    return all;
}

static const char *const access_names[] = { [CLAIM_READ] = "read",
                                            [CLAIM_WRITE] = "write",
                                            [CLAIM_UPDATE] = "update",
                                            [CLAIM_SCRATCH] = "scratch" };

static ClaimAccess access_of(const Reader *r, const json_t *j)
{
    const char *name = text(r, j, "access");
    for (size_t i = 0; i < sizeof access_names / sizeof *access_names; i++)
        if (!strcmp(name, access_names[i]))
            return (ClaimAccess)i;
    malformed(r, "access", "read, write, update or scratch");
}

static RowRule table_of(const Reader *r, const json_t *rule, size_t *entries)
{
    const json_t *l = list(r, rule, "table");
    *entries = json_array_size(l) / 2;
    Rows *table = NEW_ARRAY(r->arena, Rows, *entries + 1);
    for (size_t i = 0; i < 2 * *entries; i++) {
        const json_t *v = json_array_get(l, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > INT32_MAX)
            malformed(r, "table", "list of rows");
        *(i % 2 ? &table[i / 2].hi : &table[i / 2].lo) = (int32_t)json_integer_value(v);
    }
    return (RowRule){ .kind = ROWS_TABLE, .table = table };
}

static RowRule rule_of(const Reader *r, const json_t *j, size_t *entries)
{
    const json_t *v = json_object_get(j, "rule");
    if (!v)
        return (RowRule){ .kind = ROWS_ALL };
    if (json_object_get(v, "table"))
        return table_of(r, v, entries);
    if (json_is_object(v))
        return (RowRule){ .kind = ROWS_WINDOW,
                          .stride = count(r, v, "stride", 0),
                          .pad = (int32_t)number(r, v, "pad", INT32_MIN, INT32_MAX),
                          .extent = count(r, v, "extent", 0) };
    const char *name = text(r, j, "rule");
    if (!strcmp(name, "all"))
        return (RowRule){ .kind = ROWS_ALL };
    if (!strcmp(name, "same"))
        return (RowRule){ .kind = ROWS_SAME };
    if (!strcmp(name, "unit"))
        return (RowRule){ .kind = ROWS_UNIT };
    malformed(r, "rule", "rule");
}

static PixelRule pixels_of(const Reader *r, const json_t *j)
{
    const json_t *v = json_object_get(j, "pixels");
    if (!v)
        return (PixelRule){ 0 };
    if (!json_is_object(v))
        malformed(r, "pixels", "object");
    return (PixelRule){ .stride = count(r, v, "stride", 0),
                        .pad = (int32_t)number(r, v, "pad", INT32_MIN, INT32_MAX),
                        .extent = count(r, v, "extent", 0),
                        .tile = count(r, v, "tile", 1) };
}

static ClaimOperand operand_of(const Reader *r, const Claim *c, const json_t *j)
{
    if (json_is_null(j))
        return (ClaimOperand){ 0 };
    if (!json_is_object(j))
        malformed(r, "entry", "object");
    ClaimOperand o = { .given = true,
                       .access = access_of(r, j),
                       .reach = optional(r, j, "reach", 0, MOST_BYTES, -1),
                       .constant = json_object_get(j, "weights") != NULL };
    if (o.constant)
        return o;
    o.tensor = count(r, j, "tensor", 0);
    if ((size_t)o.tensor >= c->tensor.n)
        malformed(r, "tensor", "place in tensors");
    o.at = bytes(r, j, "at");
    o.rows = count(r, j, "rows", 1);
    o.row = bytes(r, j, "row");
    o.pixel = bytes(r, j, "pixel");
    o.part = optional(r, j, "part", 1, MOST_BYTES, 0);
    o.ring = (int32_t)optional(r, j, "ring", 1, INT32_MAX, 0);
    o.pitch = optional(r, j, "pitch", 1, MOST_BYTES, 0);
    o.rule = rule_of(r, j, &o.entries);
    o.pixels = pixels_of(r, j);
    return o;
}

/* 0 where there are none, or where it is not in the arena. */
static int region_of(const Reader *r, const Claim *c, const json_t *j)
{
    return c->region.n ? (int)optional(r, j, "region", 0, (int64_t)c->region.n - 1, 0) : 0;
}

static void read_tensors(const Reader *r, Claim *c, const json_t *document)
{
    const json_t *l = list(r, document, "tensors");
    for (size_t i = 0; i < json_array_size(l); i++) {
        const json_t *j = json_array_get(l, i);
        const Reader in = inside(r, "tensors", i);
        if (!json_is_object(j))
            malformed(&in, "entry", "object");
        ClaimTensor t = { .storage = text(&in, j, "storage"),
                          .region = region_of(&in, c, j),
                          .slot = (int32_t)optional(&in, j, "slot", 0, INT32_MAX, -1),
                          .offset = bytes(&in, j, "offset"),
                          .bytes = bytes(&in, j, "bytes"),
                          .extent = bytes(&in, j, "extent"),
                          .scratch = json_object_get(j, "scratch") && truth(&in, j, "scratch") };
        VEC_PUSH(r->arena, &c->tensor, t);
    }
}

static void read_columns(const Reader *r, const json_t *j, ClaimStep *s)
{
    s->strip = (int32_t)optional(r, j, "strip", 1, INT32_MAX, 0);
    if (!s->strip)
        return;
    const json_t *l = list(r, j, "columns"), *lo = json_array_get(l, 0), *hi = json_array_get(l, 1);
    if (json_array_size(l) != 2 || !json_is_integer(lo) || !json_is_integer(hi) ||
        json_integer_value(lo) < 0 || json_integer_value(hi) > INT32_MAX ||
        json_integer_value(lo) >= json_integer_value(hi))
        malformed(r, "columns", "list of a first column and an end");
    s->first_column = (int32_t)json_integer_value(lo);
    s->end_column = (int32_t)json_integer_value(hi);
}

static ClaimStep step_of(const Reader *r, const Claim *c, const json_t *j)
{
    ClaimStep s = { .kernel = text(r, j, "kernel"),
                    .units = count(r, j, "units", 0),
                    .backward = truth(r, j, "backward"),
                    .piece = (int32_t)optional(r, j, "piece", 1, INT32_MAX, 0) };
    const json_t *lowered = list(r, j, "lowered"), *operands = list(r, j, "operands");
    for (size_t i = 0; i < json_array_size(lowered); i++) {
        const json_t *v = json_array_get(lowered, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            json_integer_value(v) >= c->lowered_steps)
            malformed(r, "lowered", "list of steps before the plan");
        VEC_PUSH(r->arena, &s.lowered, (int32_t)json_integer_value(v));
    }
    read_columns(r, j, &s);
    if (!s.lowered.n)
        malformed(r, "lowered", "list of at least one step");
    for (size_t i = 0; i < json_array_size(operands); i++) {
        const Reader in = inside(r, "operands", i);
        const ClaimOperand o = operand_of(&in, c, json_array_get(operands, i));
        VEC_PUSH(r->arena, &s.operand, o);
    }
    return s;
}

static void read_steps(const Reader *r, Claim *c, const json_t *document)
{
    const json_t *l = list(r, document, "steps");
    for (size_t i = 0; i < json_array_size(l); i++) {
        const Reader in = inside(r, "steps", i);
        const json_t *j = json_array_get(l, i);
        if (!json_is_object(j))
            malformed(&in, "entry", "object");
        const ClaimStep s = step_of(&in, c, j);
        VEC_PUSH(r->arena, &c->step, s);
    }
}

static Segment segment_of(const Reader *r, const json_t *j)
{
    Segment g = { .first = count(r, j, "first", 0), .count = count(r, j, "steps", 0) };
    if (!json_object_get(j, "list"))
        return g;
    const json_t *l = list(r, j, "list");
    g.prologue = (int32_t)number(r, j, "prologue", 0, MOST_OPERANDS);
    g.period = (int32_t)number(r, j, "period", 0, MOST_OPERANDS);
    g.epilogue = (int32_t)number(r, j, "epilogue", 0, MOST_OPERANDS);
    g.repeats =
        (int32_t)number(r, j, "repeats", 0, (INT32_MAX - 2 * MOST_OPERANDS) / (g.period + 1));
    if (json_array_size(l) != (size_t)(g.prologue + g.period + g.epilogue))
        malformed(r, "list", "list of prologue + period + epilogue entries");
    uint8_t *entry = NEW_ARRAY(r->arena, uint8_t, json_array_size(l) + 1);
    for (size_t i = 0; i < json_array_size(l); i++) {
        const json_t *v = json_array_get(l, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > UINT8_MAX)
            malformed(r, "list", "list of numbers from 0 to 255");
        entry[i] = (uint8_t)json_integer_value(v);
    }
    g.list = entry;
    return g;
}

static void read_schedule(const Reader *r, Claim *c, const json_t *document)
{
    const json_t *l = list(r, document, "schedule");
    for (size_t i = 0; i < json_array_size(l); i++) {
        const Reader in = inside(r, "schedule", i);
        const json_t *j = json_array_get(l, i);
        if (!json_is_object(j))
            malformed(&in, "entry", "object");
        const Segment g = segment_of(&in, j);
        VEC_PUSH(r->arena, &c->segment, g);
    }
}

static void read_arena(const Reader *r, Claim *c, const json_t *document)
{
    const json_t *arena = object(r, document, "arena"),
                 *counters = json_object_get(arena, "counters");
    const Reader in = { r->arena, r->loc, "arena" },
                 within = { r->arena, r->loc, "arena.counters" };
    c->size = bytes(&in, arena, "size");
    c->align = number(&in, arena, "align", LEAST_ALIGN, MOST_ALIGN);
    if (c->align & (c->align - 1))
        malformed(&in, "align", "power of two");
    if (c->size % c->align)
        malformed(&in, "size", "multiple of the alignment");
    c->lower_bound = bytes(&in, arena, "lower_bound");
    c->optimal = truth(&in, arena, "optimal");
    const json_t *run = json_object_get(arena, "run_state");
    const Reader running = { r->arena, r->loc, "arena.run_state" };
    c->run_state = run ? bytes(&running, run, "offset") : -1;
    if (run && (bytes(&running, run, "bytes") != PLACE_BYTES || c->run_state % 4))
        malformed(&running, "bytes", "8, aligned to 4");
    if (!counters)
        return;
    c->counters = bytes(&within, counters, "offset");
    c->counters_bytes = bytes(&within, counters, "bytes");
}

/* Where there are regions, each tensor in the arena names one. */
static void read_regions(const Reader *r, Claim *c, const json_t *document)
{
    if (!json_object_get(document, "regions"))
        return;
    const json_t *l = list(r, document, "regions");
    int64_t sum = 0;
    for (size_t i = 0; i < json_array_size(l); i++) {
        const Reader in = inside(r, "regions", i);
        const json_t *j = json_array_get(l, i);
        if (!json_is_object(j))
            malformed(&in, "entry", "object");
        VEC_PUSH(r->arena, &c->region, bytes(&in, j, "size"));
        if (c->region.at[i] % c->align)
            malformed(&in, "size", "multiple of the alignment");
        sum = i64_add(sum, c->region.at[i]);
    }
    if (sum != c->size || !c->region.n)
        malformed(r, "regions", "list of regions whose sizes are the arena's");
}

static void read_options(const Reader *r, Claim *c, const json_t *document)
{
    const json_t *o = object(r, document, "options");
    const Reader in = { r->arena, r->loc, "options" };
    c->shape = texts(&in, o, "shape");
    c->dim = texts(&in, o, "dim");
    c->constant = texts(&in, o, "const");
    c->without = texts(&in, o, "without");
    c->io = texts(&in, o, "io");
    c->preserve_input = truth(&in, o, "preserve_input");
    c->pack = (int32_t)number(&in, o, "pack", 1, 1024);
    c->lowered_steps = count(&in, o, "lowered_steps", 0);
}

static int64_t offset_of(const Reader *r, const char *key, size_t i, const json_t *j)
{
    const Reader in = inside(r, key, i);
    if (!json_is_object(j))
        malformed(&in, "entry", "object");
    const char *place = text(&in, j, "place");
    return !strcmp(place, "arena")  ? bytes(&in, j, "offset")
           : !strcmp(place, "rows") ? BY_ROWS
                                    : WITH_CALLER;
}

static void read_values(const Reader *r, Claim *c, const json_t *document)
{
    const json_t *in = list(r, document, "inputs"), *out = list(r, document, "outputs");
    for (size_t i = 0; i < json_array_size(in); i++) {
        VEC_PUSH(r->arena, &c->in_offset, offset_of(r, "inputs", i, json_array_get(in, i)));
        VEC_PUSH(r->arena, &c->in_region, region_of(r, c, json_array_get(in, i)));
    }
    for (size_t i = 0; i < json_array_size(out); i++) {
        VEC_PUSH(r->arena, &c->out_offset, offset_of(r, "outputs", i, json_array_get(out, i)));
        VEC_PUSH(r->arena, &c->out_region, region_of(r, c, json_array_get(out, i)));
    }
}

Claim *claim_read(Arena *a, const char *path, const json_t *document)
{
    Claim *c = NEW(a, Claim);
    *c = (Claim){ 0 };
    const Reader r = { a, { .file = path, .byte = -1, .node = -1 }, "" };
    if (!json_is_object(document))
        malformed(&r, "the document", "object");
    if (number(&r, document, "schema_version", 0, INT32_MAX) != 1)
        malformed(&r, "schema_version", "1, the one known here");
    if (json_object_get(document, "model_sha256"))
        c->model_sha256 = text(&r, document, "model_sha256");
    read_arena(&r, c, document);
    read_options(&r, c, document);
    read_regions(&r, c, document);
    read_tensors(&r, c, document);
    read_steps(&r, c, document);
    read_schedule(&r, c, document);
    read_values(&r, c, document);
    return c;
}
