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

static _Noreturn void malformed(const Reader *reader, const char *key,
                                const char *want)
{
    fail_at(STATUS_MALFORMED, reader->loc,
            "docs/GENERATED.md describes the manifest", "%s%s%s is no %s",
            reader->place, *reader->place ? "." : "", key, want);
}

static const json_t *value(const Reader *reader, const json_t *object,
                           const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!v)
        fail_at(STATUS_MALFORMED, reader->loc,
                "only manifests with a plan can be proved", "%s%s%s is missing",
                reader->place, *reader->place ? "." : "", key);
    return v;
}

static int64_t number(const Reader *reader, const json_t *object,
                      const char *key, int64_t least, int64_t most)
{
    const json_t *v = value(reader, object, key);
    if (!json_is_integer(v) || json_integer_value(v) < least ||
        json_integer_value(v) > most)
        malformed(reader, key,
                  arena_printf(reader->arena,
                               "integer from %" PRId64 " to %" PRId64, least,
                               most));
    return json_integer_value(v);
}

static int32_t count(const Reader *reader, const json_t *object,
                     const char *key, int32_t least)
{
    return (int32_t)number(reader, object, key, least, INT32_MAX);
}
static int64_t bytes(const Reader *reader, const json_t *object,
                     const char *key)
{
    return number(reader, object, key, 0, MOST_BYTES);
}

/* Absent: `otherwise`. */
static int64_t optional(const Reader *reader, const json_t *object,
                        const char *key, int64_t least, int64_t most,
                        int64_t otherwise)
{
    return json_object_get(object, key)
               ? number(reader, object, key, least, most)
               : otherwise;
}

static bool truth(const Reader *reader, const json_t *object, const char *key)
{
    const json_t *v = value(reader, object, key);
    if (!json_is_boolean(v))
        malformed(reader, key, "boolean");
    return json_is_true(v);
}

static const char *text(const Reader *reader, const json_t *object,
                        const char *key)
{
    const json_t *v = value(reader, object, key);
    if (!json_is_string(v) ||
        strlen(json_string_value(v)) != json_string_length(v))
        malformed(reader, key, "text");
    return arena_text(reader->arena, json_string_value(v),
                      json_string_length(v));
}

static const json_t *list(const Reader *reader, const json_t *object,
                          const char *key)
{
    const json_t *v = value(reader, object, key);
    if (!json_is_array(v) || json_array_size(v) > MOST_OPERANDS)
        malformed(reader, key, "list of a sensible length");
    return v;
}

static const json_t *object(const Reader *reader, const json_t *parent,
                            const char *key)
{
    const json_t *v = value(reader, parent, key);
    if (!json_is_object(v))
        malformed(reader, key, "object");
    return v;
}

/* A reader of element i of a list. */
static Reader inside(const Reader *reader, const char *key, size_t i)
{
    return (Reader){ reader->arena, reader->loc,
                     arena_printf(reader->arena, "%s%s%s[%zu]", reader->place,
                                  *reader->place ? "." : "", key, i) };
}

static const char **texts(const Reader *reader, const json_t *parent,
                          const char *key)
{
    const json_t *l = list(reader, parent, key);
    const size_t n = json_array_size(l);
    const char **all = NEW_ARRAY(reader->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(l, i);
        if (!json_is_string(v))
            malformed(reader, key, "list of texts");
        all[i] = arena_text(reader->arena, json_string_value(v),
                            json_string_length(v));
    }
    return all;
}

static const char *const access_names[] = { [CLAIM_READ] = "read",
                                            [CLAIM_WRITE] = "write",
                                            [CLAIM_UPDATE] = "update",
                                            [CLAIM_SCRATCH] = "scratch" };

static ClaimAccess access_of(const Reader *reader, const json_t *json)
{
    const char *name = text(reader, json, "access");
    for (size_t i = 0; i < sizeof access_names / sizeof *access_names; i++)
        if (!strcmp(name, access_names[i]))
            return (ClaimAccess)i;
    malformed(reader, "access", "read, write, update or scratch");
}

static RowRule table_of(const Reader *reader, const json_t *rule,
                        size_t *entries)
{
    const json_t *l = list(reader, rule, "table");
    *entries = json_array_size(l) / 2;
    Rows *table = NEW_ARRAY(reader->arena, Rows, *entries + 1);
    for (size_t i = 0; i < 2 * *entries; i++) {
        const json_t *v = json_array_get(l, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            json_integer_value(v) > INT32_MAX)
            malformed(reader, "table", "list of rows");
        *(i % 2 ? &table[i / 2].hi : &table[i / 2].lo) =
            (int32_t)json_integer_value(v);
    }
    return (RowRule){ .kind = ROWS_TABLE, .table = table };
}

static RowRule rule_of(const Reader *reader, const json_t *json,
                       size_t *entries)
{
    const json_t *v = json_object_get(json, "rule");
    if (!v)
        return (RowRule){ .kind = ROWS_ALL };
    if (json_object_get(v, "table"))
        return table_of(reader, v, entries);
    if (json_is_object(v))
        return (RowRule){ .kind = ROWS_WINDOW,
                          .stride = count(reader, v, "stride", 0),
                          .pad = (int32_t)number(reader, v, "pad", INT32_MIN,
                                                 INT32_MAX),
                          .extent = count(reader, v, "extent", 0) };
    const char *name = text(reader, json, "rule");
    if (!strcmp(name, "all"))
        return (RowRule){ .kind = ROWS_ALL };
    if (!strcmp(name, "same"))
        return (RowRule){ .kind = ROWS_SAME };
    if (!strcmp(name, "unit"))
        return (RowRule){ .kind = ROWS_UNIT };
    malformed(reader, "rule", "rule");
}

static PixelRule pixels_of(const Reader *reader, const json_t *json)
{
    const json_t *v = json_object_get(json, "pixels");
    if (!v)
        return (PixelRule){ 0 };
    if (!json_is_object(v))
        malformed(reader, "pixels", "object");
    return (PixelRule){ .stride = count(reader, v, "stride", 0),
                        .pad = (int32_t)number(reader, v, "pad", INT32_MIN,
                                               INT32_MAX),
                        .extent = count(reader, v, "extent", 0),
                        .tile = count(reader, v, "tile", 1) };
}

static ClaimOperand operand_of(const Reader *reader, const Claim *claim,
                               const json_t *json)
{
    if (json_is_null(json))
        return (ClaimOperand){ 0 };
    if (!json_is_object(json))
        malformed(reader, "entry", "object");
    ClaimOperand operand = {
        .given = true,
        .access = access_of(reader, json),
        .reach = optional(reader, json, "reach", 0, MOST_BYTES, -1),
        .constant = json_object_get(json, "weights") != NULL
    };
    if (operand.constant)
        return operand;
    operand.tensor = count(reader, json, "tensor", 0);
    if ((size_t)operand.tensor >= claim->tensor.n)
        malformed(reader, "tensor", "place in tensors");
    operand.at = bytes(reader, json, "at");
    operand.rows = count(reader, json, "rows", 1);
    operand.row = bytes(reader, json, "row");
    operand.pixel = bytes(reader, json, "pixel");
    operand.part = optional(reader, json, "part", 1, MOST_BYTES, 0);
    operand.ring = (int32_t)optional(reader, json, "ring", 1, INT32_MAX, 0);
    operand.pitch = optional(reader, json, "pitch", 1, MOST_BYTES, 0);
    operand.rule = rule_of(reader, json, &operand.entries);
    operand.pixels = pixels_of(reader, json);
    return operand;
}

/* 0 where there are none, or where it is not in the arena. */
static int region_of(const Reader *reader, const Claim *claim,
                     const json_t *json)
{
    return claim->region.n ? (int)optional(reader, json, "region", 0,
                                           (int64_t)claim->region.n - 1, 0)
                           : 0;
}

static void read_tensors(const Reader *reader, Claim *claim,
                         const json_t *document)
{
    const json_t *l = list(reader, document, "tensors");
    for (size_t i = 0; i < json_array_size(l); i++) {
        const json_t *json = json_array_get(l, i);
        const Reader in = inside(reader, "tensors", i);
        if (!json_is_object(json))
            malformed(&in, "entry", "object");
        ClaimTensor t = { .storage = text(&in, json, "storage"),
                          .region = region_of(&in, claim, json),
                          .slot = (int32_t)optional(&in, json, "slot", 0,
                                                    INT32_MAX, -1),
                          .offset = bytes(&in, json, "offset"),
                          .bytes = bytes(&in, json, "bytes"),
                          .extent = bytes(&in, json, "extent"),
                          .scratch = json_object_get(json, "scratch") &&
                                     truth(&in, json, "scratch") };
        VEC_PUSH(reader->arena, &claim->tensor, t);
    }
}

static void read_columns(const Reader *reader, const json_t *json,
                         ClaimStep *step)
{
    step->strip = (int32_t)optional(reader, json, "strip", 1, INT32_MAX, 0);
    if (!step->strip)
        return;
    const json_t *l = list(reader, json, "columns");
    const json_t *lo = json_array_get(l, 0);
    const json_t *hi = json_array_get(l, 1);
    if (json_array_size(l) != 2 || !json_is_integer(lo) ||
        !json_is_integer(hi) || json_integer_value(lo) < 0 ||
        json_integer_value(hi) > INT32_MAX ||
        json_integer_value(lo) >= json_integer_value(hi))
        malformed(reader, "columns", "list of a first column and an end");
    step->first_column = (int32_t)json_integer_value(lo);
    step->end_column = (int32_t)json_integer_value(hi);
}

static ClaimStep step_of(const Reader *reader, const Claim *claim,
                         const json_t *json)
{
    ClaimStep step = { .kernel = text(reader, json, "kernel"),
                       .units = count(reader, json, "units", 0),
                       .backward = truth(reader, json, "backward"),
                       .piece = (int32_t)optional(reader, json, "piece", 1,
                                                  INT32_MAX, 0) };
    const json_t *lowered = list(reader, json, "lowered");
    const json_t *operands = list(reader, json, "operands");
    for (size_t i = 0; i < json_array_size(lowered); i++) {
        const json_t *v = json_array_get(lowered, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            json_integer_value(v) >= claim->lowered_steps)
            malformed(reader, "lowered", "list of steps before the plan");
        VEC_PUSH(reader->arena, &step.lowered, (int32_t)json_integer_value(v));
    }
    read_columns(reader, json, &step);
    if (!step.lowered.n)
        malformed(reader, "lowered", "list of at least one step");
    for (size_t i = 0; i < json_array_size(operands); i++) {
        const Reader in = inside(reader, "operands", i);
        const ClaimOperand o =
            operand_of(&in, claim, json_array_get(operands, i));
        VEC_PUSH(reader->arena, &step.operand, o);
    }
    return step;
}

static void read_steps(const Reader *reader, Claim *claim,
                       const json_t *document)
{
    const json_t *l = list(reader, document, "steps");
    for (size_t i = 0; i < json_array_size(l); i++) {
        const Reader in = inside(reader, "steps", i);
        const json_t *json = json_array_get(l, i);
        if (!json_is_object(json))
            malformed(&in, "entry", "object");
        const ClaimStep s = step_of(&in, claim, json);
        VEC_PUSH(reader->arena, &claim->step, s);
    }
}

static Segment segment_of(const Reader *reader, const json_t *json)
{
    Segment segment = { .first = count(reader, json, "first", 0),
                        .count = count(reader, json, "steps", 0) };
    if (!json_object_get(json, "list"))
        return segment;
    const json_t *l = list(reader, json, "list");
    segment.prologue =
        (int32_t)number(reader, json, "prologue", 0, MOST_OPERANDS);
    segment.period = (int32_t)number(reader, json, "period", 0, MOST_OPERANDS);
    segment.epilogue =
        (int32_t)number(reader, json, "epilogue", 0, MOST_OPERANDS);
    segment.repeats =
        (int32_t)number(reader, json, "repeats", 0,
                        (INT32_MAX - 2 * MOST_OPERANDS) / (segment.period + 1));
    if (json_array_size(l) !=
        (size_t)(segment.prologue + segment.period + segment.epilogue))
        malformed(reader, "list",
                  "list of prologue + period + epilogue entries");
    uint8_t *entry = NEW_ARRAY(reader->arena, uint8_t, json_array_size(l) + 1);
    for (size_t i = 0; i < json_array_size(l); i++) {
        const json_t *v = json_array_get(l, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            json_integer_value(v) > UINT8_MAX)
            malformed(reader, "list", "list of numbers from 0 to 255");
        entry[i] = (uint8_t)json_integer_value(v);
    }
    segment.list = entry;
    return segment;
}

static void read_schedule(const Reader *reader, Claim *claim,
                          const json_t *document)
{
    const json_t *l = list(reader, document, "schedule");
    for (size_t i = 0; i < json_array_size(l); i++) {
        const Reader in = inside(reader, "schedule", i);
        const json_t *json = json_array_get(l, i);
        if (!json_is_object(json))
            malformed(&in, "entry", "object");
        const Segment g = segment_of(&in, json);
        VEC_PUSH(reader->arena, &claim->segment, g);
    }
}

static void read_arena(const Reader *reader, Claim *claim,
                       const json_t *document)
{
    const json_t *arena = object(reader, document, "arena");
    const json_t *counters = json_object_get(arena, "counters");
    const Reader in = { reader->arena, reader->loc, "arena" };
    const Reader within = { reader->arena, reader->loc, "arena.counters" };
    claim->size = bytes(&in, arena, "size");
    claim->align = number(&in, arena, "align", LEAST_ALIGN, MOST_ALIGN);
    if (claim->align & (claim->align - 1))
        malformed(&in, "align", "power of two");
    if (claim->size % claim->align)
        malformed(&in, "size", "multiple of the alignment");
    claim->lower_bound = bytes(&in, arena, "lower_bound");
    claim->optimal = truth(&in, arena, "optimal");
    if (json_object_get(arena, "bound_schedules"))
        claim->bound_schedules = bytes(&in, arena, "bound_schedules");
    const json_t *run = json_object_get(arena, "run_state");
    const Reader running = { reader->arena, reader->loc, "arena.run_state" };
    claim->run_state = run ? bytes(&running, run, "offset") : -1;
    if (run &&
        (bytes(&running, run, "bytes") != PLACE_BYTES || claim->run_state % 4))
        malformed(&running, "bytes", "8, aligned to 4");
    if (!counters)
        return;
    claim->counters = bytes(&within, counters, "offset");
    claim->counters_bytes = bytes(&within, counters, "bytes");
}

/* Where there are regions, each tensor in the arena names one. */
static void read_regions(const Reader *reader, Claim *claim,
                         const json_t *document)
{
    if (!json_object_get(document, "regions"))
        return;
    const json_t *l = list(reader, document, "regions");
    int64_t sum = 0;
    for (size_t i = 0; i < json_array_size(l); i++) {
        const Reader in = inside(reader, "regions", i);
        const json_t *json = json_array_get(l, i);
        if (!json_is_object(json))
            malformed(&in, "entry", "object");
        VEC_PUSH(reader->arena, &claim->region, bytes(&in, json, "size"));
        if (claim->region.at[i] % claim->align)
            malformed(&in, "size", "multiple of the alignment");
        sum = i64_add(sum, claim->region.at[i]);
    }
    if (sum != claim->size || !claim->region.n)
        malformed(reader, "regions",
                  "list of regions whose sizes are the arena's");
}

static void read_options(const Reader *reader, Claim *claim,
                         const json_t *document)
{
    const json_t *o = object(reader, document, "options");
    const Reader in = { reader->arena, reader->loc, "options" };
    claim->shape = texts(&in, o, "shape");
    claim->dim = texts(&in, o, "dim");
    claim->constant = texts(&in, o, "const");
    claim->without = texts(&in, o, "without");
    claim->io = texts(&in, o, "io");
    claim->preserve_input = truth(&in, o, "preserve_input");
    claim->family = family_named(text(&in, o, "family"));
    if (!claim->family)
        malformed(&in, "family", "family of targets");
    claim->narrow = truth(&in, o, "narrow");
    claim->lowered_steps = count(&in, o, "lowered_steps", 0);
}

static int64_t offset_of(const Reader *reader, const char *key, size_t i,
                         const json_t *json)
{
    const Reader in = inside(reader, key, i);
    if (!json_is_object(json))
        malformed(&in, "entry", "object");
    const char *place = text(&in, json, "place");
    if (!strcmp(place, "arena"))
        return bytes(&in, json, "offset");
    return !strcmp(place, "rows") ? BY_ROWS : WITH_CALLER;
}

static void read_values(const Reader *reader, Claim *claim,
                        const json_t *document)
{
    const json_t *in = list(reader, document, "inputs");
    const json_t *out = list(reader, document, "outputs");
    for (size_t i = 0; i < json_array_size(in); i++) {
        VEC_PUSH(reader->arena, &claim->in_offset,
                 offset_of(reader, "inputs", i, json_array_get(in, i)));
        VEC_PUSH(reader->arena, &claim->in_region,
                 region_of(reader, claim, json_array_get(in, i)));
    }
    for (size_t i = 0; i < json_array_size(out); i++) {
        VEC_PUSH(reader->arena, &claim->out_offset,
                 offset_of(reader, "outputs", i, json_array_get(out, i)));
        VEC_PUSH(reader->arena, &claim->out_region,
                 region_of(reader, claim, json_array_get(out, i)));
    }
}

Claim *claim_read(Arena *a, const char *path, const json_t *document)
{
    Claim *claim = NEW(a, Claim);
    *claim = (Claim){ 0 };
    const Reader reader = { a, { .file = path, .byte = -1, .node = -1 }, "" };
    if (!json_is_object(document))
        malformed(&reader, "the document", "object");
    if (number(&reader, document, "schema_version", 0, INT32_MAX) != 1)
        malformed(&reader, "schema_version", "1, the one known here");
    if (json_object_get(document, "model_sha256"))
        claim->model_sha256 = text(&reader, document, "model_sha256");
    read_arena(&reader, claim, document);
    read_options(&reader, claim, document);
    read_regions(&reader, claim, document);
    read_tensors(&reader, claim, document);
    read_steps(&reader, claim, document);
    read_schedule(&reader, claim, document);
    read_values(&reader, claim, document);
    return claim;
}
