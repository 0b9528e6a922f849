/* SPDX-License-Identifier: Apache-2.0
 * Nothing is taken from the document unseen: each value is asked for by its kind and range. */
#include "prove/claim.h"

#include "inlay_threads.h"
#include "prove/claim_reader.h"

/* Offsets of a plan are whole multiples of 16 bytes, or more where the manifest says so. */
enum { LEAST_ALIGN = 16, MOST_ALIGN = 1 << 20 };

/* ---- operands ---- */

static const char *const access_names[] = { [CLAIM_READ] = "read",
                                            [CLAIM_WRITE] = "write",
                                            [CLAIM_UPDATE] = "update",
                                            [CLAIM_SCRATCH] = "scratch" };

static ClaimAccess access_of(const Reader *reader)
{
    const char *name = text(reader, "access");
    for (size_t i = 0; i < sizeof access_names / sizeof *access_names; i++)
        if (!strcmp(name, access_names[i]))
            return (ClaimAccess)i;
    malformed(reader, "access", "read, write, update or scratch");
}

/* The padding of a window; what lies beyond it is cut off where it is negative. */
static int32_t pad_of(const Reader *reader)
{
    return (int32_t)number(reader, "pad", INT32_MIN, INT32_MAX);
}

static RowRule table_of(const Reader *rule, size_t *entries)
{
    const char *want = "list of rows";
    const size_t numbers = length(rule, "table");
    if (numbers % 2)
        malformed(rule, "table", want);
    *entries = numbers / 2;
    Rows *table = NEW_ARRAY(rule->arena, Rows, *entries);
    for (size_t i = 0; i < *entries; i++) {
        table[i].lo = entry(rule, "table", 2 * i, INT32_MAX, want);
        table[i].hi = entry(rule, "table", 2 * i + 1, INT32_MAX, want);
    }
    return (RowRule){ .kind = ROWS_TABLE, .table = table };
}

static RowRule named_rule(const Reader *reader)
{
    const char *name = text(reader, "rule");
    if (!strcmp(name, "all"))
        return (RowRule){ .kind = ROWS_ALL };
    if (!strcmp(name, "same"))
        return (RowRule){ .kind = ROWS_SAME };
    if (!strcmp(name, "unit"))
        return (RowRule){ .kind = ROWS_UNIT };
    malformed(reader, "rule", "rule");
}

static RowRule rule_of(const Reader *reader, size_t *entries)
{
    if (!has(reader, "rule"))
        return (RowRule){ .kind = ROWS_ALL };
    if (json_typeof(value(reader, "rule")) != JSON_OBJECT)
        return named_rule(reader);
    const Reader rule = object(reader, "rule");
    if (has(&rule, "table"))
        return table_of(&rule, entries);
    return (RowRule){
        .kind = ROWS_WINDOW,
        .stride = count(&rule, "stride", 0),
        .pad = pad_of(&rule),
        .extent = count(&rule, "extent", 0),
    };
}

static PixelRule pixels_of(const Reader *reader)
{
    if (!has(reader, "pixels"))
        return (PixelRule){ 0 };
    const Reader rule = object(reader, "pixels");
    return (PixelRule){
        .stride = count(&rule, "stride", 0),
        .pad = pad_of(&rule),
        .extent = count(&rule, "extent", 0),
        .tile = count(&rule, "tile", 1),
    };
}

/* Where an operand's rows lie, and which of them a unit needs. */
static void read_rows(const Reader *reader, ClaimOperand *operand)
{
    operand->at = bytes(reader, "at");
    operand->rows = count(reader, "rows", 1);
    operand->row = bytes(reader, "row");
    operand->pixel = bytes(reader, "pixel");
    operand->part = optional(reader, "part", 1, MOST_BYTES, 0);
    operand->ring = optional_count(reader, "ring", 1, 0);
    operand->pitch = optional(reader, "pitch", 1, MOST_BYTES, 0);
    operand->rule = rule_of(reader, &operand->entries);
    operand->pixels = pixels_of(reader);
}

static ClaimOperand operand_of(const Reader *reader, const Claim *claim)
{
    if (json_typeof(reader->json) == JSON_NULL)
        return (ClaimOperand){ 0 };
    if (json_typeof(reader->json) != JSON_OBJECT)
        malformed(reader, "entry", "object");
    ClaimOperand operand = {
        .given = true,
        .access = access_of(reader),
        .reach = optional(reader, "reach", 0, MOST_BYTES, -1),
        .constant = has(reader, "weights"),
    };
    if (operand.constant)
        return operand;
    operand.tensor = count(reader, "tensor", 0);
    if ((size_t)operand.tensor >= claim->tensor.n)
        malformed(reader, "tensor", "place in tensors");
    read_rows(reader, &operand);
    return operand;
}

/* ---- tensors ---- */

/* 0 where there are none, or where it is not in the arena. */
static int region_of(const Reader *reader, const Claim *claim)
{
    const int64_t last = (int64_t)claim->region.n - 1;
    return last < 0 ? 0 : (int)optional(reader, "region", 0, last, 0);
}

/* Where rows lie in a pool, whose bytes are the tensor's extent. */
static const RowSlots *slots_of(const Reader *reader)
{
    const char *want = "list of slots";
    if (!has(reader, "slots"))
        return NULL;
    const Reader slots = object(reader, "slots");
    const size_t rows = length(&slots, "rows");
    uint16_t *slot = NEW_ARRAY(reader->arena, uint16_t, rows);
    for (size_t i = 0; i < rows; i++)
        slot[i] = (uint16_t)entry(&slots, "rows", i, UINT16_MAX, want);
    const RowSlots found = {
        .rows = i32_checked((int64_t)rows),
        .unit = count(&slots, "unit", 1),
        .pool = bytes(reader, "extent"),
        .slot = slot,
    };
    return arena_copy(reader->arena, &found, sizeof found);
}

static ClaimTensor tensor_of(const Reader *reader, const Claim *claim)
{
    return (ClaimTensor){
        .storage = text(reader, "storage"),
        .region = region_of(reader, claim),
        .slot = optional_count(reader, "slot", 0, -1),
        .offset = bytes(reader, "offset"),
        .bytes = bytes(reader, "bytes"),
        .extent = bytes(reader, "extent"),
        .slots = slots_of(reader),
        .scratch = has(reader, "scratch") && truth(reader, "scratch"),
    };
}

static void read_tensors(const Reader *reader, Claim *claim)
{
    for (size_t i = 0; i < length(reader, "tensors"); i++) {
        const Reader in = member(reader, "tensors", i);
        const ClaimTensor tensor = tensor_of(&in, claim);
        VEC_PUSH(reader->arena, &claim->tensor, tensor);
    }
}

/* ---- steps ---- */

static void read_columns(const Reader *reader, ClaimStep *step)
{
    const char *want = "list of a first column and an end";
    step->strip = optional_count(reader, "strip", 1, 0);
    if (!step->strip)
        return;
    const size_t columns = length(reader, "columns");
    step->first_column = entry(reader, "columns", 0, INT32_MAX, want);
    step->end_column = entry(reader, "columns", 1, INT32_MAX, want);
    if (columns != 2 || step->first_column >= step->end_column)
        malformed(reader, "columns", want);
}

/* The steps before the plan that this one does. */
static void read_lowered(const Reader *reader, const Claim *claim,
                         ClaimStep *step)
{
    const int32_t last = claim->lowered_steps - 1;
    const size_t n = length(reader, "lowered");
    if (!n)
        malformed(reader, "lowered", "list of at least one step");
    for (size_t i = 0; i < n; i++) {
        const int32_t k =
            entry(reader, "lowered", i, last, "list of steps before the plan");
        VEC_PUSH(reader->arena, &step->lowered, k);
    }
}

static void read_operands(const Reader *reader, const Claim *claim,
                          ClaimStep *step)
{
    for (size_t i = 0; i < length(reader, "operands"); i++) {
        const Reader in = element(reader, "operands", i);
        const ClaimOperand operand = operand_of(&in, claim);
        VEC_PUSH(reader->arena, &step->operand, operand);
    }
}

static ClaimStep step_of(const Reader *reader, const Claim *claim)
{
    ClaimStep step = {
        .kernel = text(reader, "kernel"),
        .units = count(reader, "units", 0),
        .backward = truth(reader, "backward"),
        .split = has(reader, "split") && truth(reader, "split"),
        .piece = optional_count(reader, "piece", 1, 0),
    };
    read_lowered(reader, claim, &step);
    read_columns(reader, &step);
    read_operands(reader, claim, &step);
    return step;
}

static void read_steps(const Reader *reader, Claim *claim)
{
    for (size_t i = 0; i < length(reader, "steps"); i++) {
        const Reader in = member(reader, "steps", i);
        const ClaimStep step = step_of(&in, claim);
        VEC_PUSH(reader->arena, &claim->step, step);
    }
}

/* ---- the schedule ---- */

static int32_t entries(const Reader *reader, const char *key)
{
    return (int32_t)number(reader, key, 0, MOST_OPERANDS);
}

/* How often the parts of a segment's list run. */
static void read_periods(const Reader *reader, Segment *segment)
{
    segment->prologue = entries(reader, "prologue");
    segment->period = entries(reader, "period");
    segment->epilogue = entries(reader, "epilogue");
    const int32_t room = INT32_MAX - 2 * MOST_OPERANDS;
    const int32_t most = room / (segment->period + 1);
    segment->repeats = (int32_t)number(reader, "repeats", 0, most);
}

static Segment segment_of(const Reader *reader)
{
    Segment segment = {
        .first = count(reader, "first", 0),
        .count = count(reader, "steps", 0),
    };
    if (!has(reader, "list"))
        return segment;
    const size_t n = length(reader, "list");
    read_periods(reader, &segment);
    if (n != (size_t)(segment.prologue + segment.period + segment.epilogue))
        malformed(reader, "list",
                  "list of prologue + period + epilogue entries");
    uint8_t *step = NEW_ARRAY(reader->arena, uint8_t, n);
    for (size_t i = 0; i < n; i++)
        step[i] = (uint8_t)entry(reader, "list", i, UINT8_MAX,
                                 "list of numbers from 0 to 255");
    segment.list = step;
    return segment;
}

static void read_schedule(const Reader *reader, Claim *claim)
{
    for (size_t i = 0; i < length(reader, "schedule"); i++) {
        const Reader in = member(reader, "schedule", i);
        const Segment segment = segment_of(&in);
        VEC_PUSH(reader->arena, &claim->segment, segment);
    }
}

/* ---- the arena ---- */

static void read_size(const Reader *arena, Claim *claim)
{
    claim->size = bytes(arena, "size");
    claim->align = number(arena, "align", LEAST_ALIGN, MOST_ALIGN);
    if (claim->align & (claim->align - 1))
        malformed(arena, "align", "power of two");
    if (claim->size % claim->align)
        malformed(arena, "size", "multiple of the alignment");
}

static void read_bounds(const Reader *arena, Claim *claim)
{
    claim->lower_bound = bytes(arena, "lower_bound");
    claim->optimal = truth(arena, "optimal");
    if (has(arena, "bound_schedules"))
        claim->bound_schedules = bytes(arena, "bound_schedules");
}

/* Where a run that is under way keeps its place; absent where the model is run as a whole. */
static void read_run_state(const Reader *arena, Claim *claim)
{
    claim->run_state = -1;
    if (!has(arena, "run_state"))
        return;
    const Reader state = object(arena, "run_state");
    claim->run_state = bytes(&state, "offset");
    claim->run_state_bytes = bytes(&state, "bytes");
    if ((claim->run_state_bytes != PLACE_BYTES &&
         claim->run_state_bytes != SLICE_BYTES) ||
        claim->run_state % 4)
        malformed(&state, "bytes", "8 or 12, aligned to 4");
}

static void read_counters(const Reader *arena, Claim *claim)
{
    if (!has(arena, "counters"))
        return;
    const Reader counters = object(arena, "counters");
    claim->counters = bytes(&counters, "offset");
    claim->counters_bytes = bytes(&counters, "bytes");
}

static void read_arena(const Reader *reader, Claim *claim)
{
    const Reader arena = object(reader, "arena");
    read_size(&arena, claim);
    read_bounds(&arena, claim);
    read_run_state(&arena, claim);
    if (has(&arena, "threads"))
        claim->threads =
            (int32_t)number(&arena, "threads", 2, INLAY_MOST_THREADS);
    read_counters(&arena, claim);
}

/* Where there are regions, each tensor in the arena names one. */
static void read_regions(const Reader *reader, Claim *claim)
{
    if (!has(reader, "regions"))
        return;
    int64_t sum = 0;
    for (size_t i = 0; i < length(reader, "regions"); i++) {
        const Reader in = member(reader, "regions", i);
        const int64_t size = bytes(&in, "size");
        if (size % claim->align)
            malformed(&in, "size", "multiple of the alignment");
        VEC_PUSH(reader->arena, &claim->region, size);
        sum = i64_add(sum, size);
    }
    if (sum != claim->size)
        malformed(reader, "regions",
                  "list of regions whose sizes are the arena's");
}

/* ---- options, inputs and results ---- */

/* Lists that are stated only where there is something in them. */
static void read_optional(const Reader *options, Claim *claim)
{
    if (has(options, "state"))
        claim->state = texts(options, "state");
    if (has(options, "preprocess"))
        claim->preprocess = texts(options, "preprocess");
    if (has(options, "kept"))
        claim->kept = texts(options, "kept");
    if (has(options, "stream"))
        claim->stream = texts(options, "stream");
}

static void read_banks(const Reader *reader, Claim *claim)
{
    if (!has(reader, "banks"))
        return;
    const size_t n = length(reader, "banks");
    for (size_t i = 0; i < n; i++) {
        const int64_t channels =
            entry(reader, "banks", i, INT32_MAX, "list of channels");
        VEC_PUSH(reader->arena, &claim->bank, (int32_t)channels);
    }
}

static void read_options(const Reader *reader, Claim *claim)
{
    const Reader in = object(reader, "options");
    claim->from = texts(&in, "from");
    claim->to = texts(&in, "to");
    claim->shape = texts(&in, "shape");
    claim->dim = texts(&in, "dim");
    claim->constant = texts(&in, "const");
    claim->without = texts(&in, "without");
    claim->io = texts(&in, "io");
    read_optional(&in, claim);
    claim->preserve_input = truth(&in, "preserve_input");
    claim->family = family_named(text(&in, "family"));
    if (!claim->family)
        malformed(&in, "family", "family of targets");
    claim->narrow = truth(&in, "narrow");
    claim->winograd = has(&in, "winograd") && truth(&in, "winograd");
    read_banks(&in, claim);
    claim->recompute = optional(&in, "recompute", 1, MOST_BYTES, 0);
    claim->lowered_steps = count(&in, "lowered_steps", 0);
}

/* The window of each step. */
static void read_rooms(const Reader *reader, Claim *claim)
{
    const size_t rooms = length(reader, "room");
    for (size_t i = 0; i < rooms; i++) {
        const int64_t room =
            entry(reader, "room", i, INT32_MAX, "list of bytes");
        VEC_PUSH(reader->arena, &claim->room, room);
    }
}

static void read_palette(const Reader *reader, Claim *claim)
{
    if (!has(reader, "palette"))
        return;
    const Reader in = object(reader, "palette");
    const size_t n = length(&in, "left");
    claim->palette = (int)number(&in, "values", 4, 16);
    for (size_t i = 0; i < n; i++) {
        const int64_t left =
            entry(&in, "left", i, INT32_MAX, "list of numbers");
        VEC_PUSH(reader->arena, &claim->left, (int32_t)left);
    }
}

/* Weights that come through windows. */
static void read_stream(const Reader *reader, Claim *claim)
{
    if (!has(reader, "weights"))
        return;
    const Reader weights = object(reader, "weights");
    if (!has(&weights, "stream"))
        return;
    const Reader in = object(&weights, "stream");
    claim->window = bytes(&in, "window");
    claim->resident = bytes(&in, "resident");
    claim->whole = truth(&in, "whole");
    claim->coded = has(&in, "coded") && truth(&in, "coded");
    if (claim->coded) {
        read_rooms(&in, claim);
        read_palette(&in, claim);
    }
}

static int64_t offset_of(const Reader *reader)
{
    const char *place = text(reader, "place");
    if (!strcmp(place, "arena"))
        return bytes(reader, "offset");
    return !strcmp(place, "rows") ? BY_ROWS : WITH_CALLER;
}

static void read_values(const Reader *reader, Claim *claim)
{
    for (size_t i = 0; i < length(reader, "inputs"); i++) {
        const Reader in = member(reader, "inputs", i);
        VEC_PUSH(in.arena, &claim->in_offset, offset_of(&in));
        VEC_PUSH(in.arena, &claim->in_region, region_of(&in, claim));
    }
    for (size_t i = 0; i < length(reader, "outputs"); i++) {
        const Reader in = member(reader, "outputs", i);
        VEC_PUSH(in.arena, &claim->out_offset, offset_of(&in));
        VEC_PUSH(in.arena, &claim->out_region, region_of(&in, claim));
    }
}

/* ---- lengths that runs are given ---- */

enum { MOST_VARIANTS = 255 };

static void read_lengths(const Reader *reader, Claim *claim)
{
    const Reader in = object(reader, "lengths");
    int64_t combinations = 1;
    for (size_t i = 0; i < length(&in, "dims"); i++) {
        const Reader dim = member(&in, "dims", i);
        const ClaimLength one = {
            .symbol = text(&dim, "symbol"),
            .least = count(&dim, "least", 0),
            .most = count(&dim, "most", 0),
        };
        if (one.least > one.most)
            malformed(&dim, "most", "number that is not below the least");
        VEC_PUSH(reader->arena, &claim->length, one);
        combinations = i64_mul(combinations, (int64_t)one.most - one.least + 1);
    }
    for (size_t i = 0; i < length(&in, "variant_of"); i++)
        VEC_PUSH(
            reader->arena, &claim->variant_of,
            entry(&in, "variant_of", i, MOST_VARIANTS, "list of variants"));
    if ((int64_t)claim->variant_of.n != combinations)
        malformed(&in, "variant_of", "list with each combination of lengths");
}

static Claim *read_plan(const Reader *reader);

static void read_variants(const Reader *reader, Claim *claim)
{
    VEC_PUSH(reader->arena, &claim->variant, claim);
    for (size_t i = 0; i < length(reader, "variants"); i++) {
        const Reader in = member(reader, "variants", i);
        VEC_PUSH(reader->arena, &claim->variant, read_plan(&in));
    }
    for (size_t i = 0; i < claim->variant_of.n; i++)
        if ((size_t)claim->variant_of.at[i] >= claim->variant.n)
            malformed(reader, "variants", "list of all variants");
}

/* What a manifest says of one plan. */
static Claim *read_plan(const Reader *reader)
{
    Claim *claim = NEW(reader->arena, Claim);
    if (has(reader, "model_sha256"))
        claim->model_sha256 = text(reader, "model_sha256");
    read_arena(reader, claim);
    read_options(reader, claim);
    read_stream(reader, claim);
    read_regions(reader, claim);
    read_tensors(reader, claim);
    read_steps(reader, claim);
    read_schedule(reader, claim);
    read_values(reader, claim);
    return claim;
}

Claim *claim_read(Arena *a, const char *path, const json_t *document)
{
    const Loc loc = { .file = path, .byte = -1, .node = -1 };
    const Reader reader = { a, loc, document, "" };
    if (json_typeof(document) != JSON_OBJECT)
        malformed(&reader, "the document", "object");
    if (number(&reader, "schema_version", 0, INT32_MAX) != 1)
        malformed(&reader, "schema_version", "1, the one known here");
    Claim *claim = read_plan(&reader);
    if (has(&reader, "lengths")) {
        read_lengths(&reader, claim);
        read_variants(&reader, claim);
    }
    return claim;
}
