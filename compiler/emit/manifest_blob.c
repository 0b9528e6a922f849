/* SPDX-License-Identifier: Apache-2.0
 * Constants, what takes them first, and parameters of steps: of code that opens blobs. */
#include "emit/manifest.h"

#include <inttypes.h>

#include "base/crc32.h"
#include "bounds/bounds.h"
#include "emit/palettes.h"
#include "emit/tables.h"
#include "emit/updates.h"

static void note_uses(ConstantUse *of_tensor, const Step *step)
{
    for (int k = 0; k < step->n_operand; k++) {
        Tensor *tensor = step->operand[k].tensor;
        int64_t at;
        if (!tensor)
            continue;
        const Tensor *root = tensor_root(tensor, &at);
        ConstantUse *use = of_tensor + root->id;
        if (root->storage != STORE_WEIGHTS || use->step)
            continue;
        use->step = step;
        use->operand = k;
    }
}

ConstantUse *constant_uses(const Program *program)
{
    Arena *arena = program->graph->arena;
    const int ids = graph_root(program->graph)->next_id;
    ConstantUse *of_tensor = NEW_ARRAY(arena, ConstantUse, ids + 1);
    ConstantUse *uses = NEW_ARRAY(arena, ConstantUse, program->weight.n + 1);
    for (size_t i = 0; i < program->step.n; i++)
        note_uses(of_tensor, program->step.at[i]);
    for (size_t i = 0; i < program->weight.n; i++)
        uses[i] = of_tensor[program->weight.at[i].tensor->id];
    return uses;
}

/* What the kernel calls the operand. */
const char *constant_role(const Program *program, const ConstantUse *use)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    Reach *reach = NEW_ARRAY(arena, Reach, use->step->n_operand + 1);
    (void)bounds_of(program, use->step, reach);
    const char *name = reach[use->operand].name;
    arena_release(arena, mark);
    return name ? name : "operand";
}

static json_t *crc_of(const Program *program, const WeightSlot *slot)
{
    enum { WINDOW = 64 * 1024 };
    Arena *arena = program->graph->arena;
    const ArenaMark mark = arena_mark(arena);
    uint8_t *window = arena_buffer(arena, WINDOW);
    Crc32 crc;
    crc32_begin(&crc);
    for (uint64_t at = 0; at < slot->bytes; at += WINDOW) {
        const uint64_t left = slot->bytes - at;
        const size_t n = left < WINDOW ? (size_t)left : WINDOW;
        file_read(program->code, slot->offset + at, window, n);
        crc32_add(&crc, window, n);
    }
    json_t *json = json_string(arena_printf(arena, "%08" PRIx32, crc.value));
    arena_release(arena, mark);
    return json;
}

static json_t *sizes_of(const Shape *shape)
{
    json_t *list = manifest_made(json_array());
    for (int i = 0; i < shape->rank; i++) {
        json_t *size = json_integer(shape->dim[i]);
        json_array_append_new(list, manifest_made(size));
    }
    return list;
}

static void set_number(json_t *object, const char *key, uint64_t n)
{
    manifest_set(object, key, json_integer((json_int_t)n));
}

static void set_text(json_t *object, const char *key, const char *text)
{
    manifest_set(object, key, json_string(text));
}

/* Which operand of which step it is. */
static void put_use(json_t *object, const Program *program,
                    const ConstantUse *use)
{
    Arena *arena = program->graph->arena;
    const Step *step = use->step;
    const Node *node = step ? step->node : NULL;
    const char *name = node ? node->name : "";
    manifest_set(object, "node", manifest_name(arena, name));
    if (!step)
        return;
    set_number(object, "step", (uint64_t)step->index);
    set_text(object, "role", constant_role(program, use));
}

static const char *place_of(const Program *program, const WeightSlot *slot)
{
    if (slot->coded)
        return "coded";
    if (!program->blob)
        return "plain";
    return slot->tensor->region ? "code" : "blob";
}

/* How far a weight's numbers were moved. */
static json_t *error_facts(const Palette *palette)
{
    json_t *object = manifest_made(json_object());
    set_number(object, "values", (uint64_t)palette->values);
    manifest_set(object, "error", json_real(palette->error));
    manifest_set(object, "most", json_real(palette->most));
    return object;
}

json_t *constant_facts(const Program *program, const ConstantUse *uses,
                       size_t i)
{
    const WeightSlot *slot = program->weight.at + i;
    const Tensor *tensor = slot->tensor;
    const bool in_code = tensor->region;
    json_t *object = manifest_made(json_object());
    put_use(object, program, uses + i);
    set_text(object, "dtype", dtype_name(tensor->dtype));
    manifest_set(object, "dims", sizes_of(&tensor->shape));
    set_text(object, "place", place_of(program, slot));
    set_number(object, "at", slot->offset);
    set_number(object, "bytes", slot->bytes);
    if (slot->coded) {
        set_number(object, "plain", slot->coded->plain);
        set_number(object, "bound", slot->coded->bound);
    }
    if (slot->coded && slot->palette)
        manifest_set(object, "palette", error_facts(slot->palette));
    if (in_code)
        manifest_set(object, "crc32", crc_of(program, slot));
    return object;
}

/* The window of each step. */
static json_t *room_facts(const Program *program)
{
    json_t *list = manifest_made(json_array());
    for (int32_t i = 0; program->stream.room && i < program->lowered; i++)
        json_array_append_new(list, json_integer(program->stream.room[i]));
    return list;
}

/* What was asked for of palettes, which weights stay as they are, and what that came to. */
static json_t *palette_facts(const Program *program)
{
    const PaletteAsk *ask = &program->palette;
    const PaletteSum sum = palette_sum(program);
    json_t *object = manifest_made(json_object());
    json_t *left = manifest_made(json_array());
    for (int i = 0; i < ask->left; i++)
        json_array_append_new(left,
                              manifest_made(json_integer(ask->number[i])));
    set_number(object, "values", (uint64_t)ask->values);
    manifest_set(object, "left", left);
    set_number(object, "weights", (uint64_t)sum.weights);
    set_number(object, "plain", sum.plain);
    set_number(object, "bytes", sum.coded);
    manifest_set(object, "error", json_real(sum.error));
    manifest_set(object, "most", json_real(sum.most));
    return object;
}

/* What was asked for of streamed weights, and what that came to. */
json_t *stream_facts(const Program *program)
{
    const StreamUse *use = &program->stream;
    json_t *object = manifest_made(json_object());
    set_number(object, "window", (uint64_t)use->asked);
    set_number(object, "resident", (uint64_t)use->resident);
    manifest_set(object, "whole", json_boolean(use->whole));
    if (use->coded) {
        manifest_set(object, "coded", json_true());
        manifest_set(object, "room", room_facts(program));
    }
    if (program->palette.values)
        manifest_set(object, "palette", palette_facts(program));
    set_number(object, "window_used", (uint64_t)use->window);
    set_number(object, "resident_used", (uint64_t)use->kept);
    set_number(object, "traffic", (uint64_t)use->traffic);
    set_number(object, "steps", (uint64_t)use->steps);
    set_number(object, "pieces", (uint64_t)use->pieces);
    return object;
}

json_t *params_facts(const Program *program, const Step *step)
{
    Arena *arena = program->graph->arena;
    const ArenaMark mark = arena_mark(arena);
    json_t *json = json_string(table_params(arena, step).at);
    arena_release(arena, mark);
    return json;
}

/* The first and the last step that it is in use in. */
static json_t *span_facts(StepSpan use)
{
    json_t *list = manifest_made(json_array());
    json_array_append_new(list, manifest_made(json_integer(use.first)));
    json_array_append_new(list, manifest_made(json_integer(use.end - 1)));
    return list;
}

void manifest_constants(ManifestText *manifest, const Program *program,
                        const ManifestFacts *facts)
{
    const ConstantUse *uses = constant_uses(program);
    const StepSpan *spans = update_uses(program);
    manifest_list(manifest, "constants");
    for (size_t i = 0; i < program->weight.n; i++) {
        json_t *constant = constant_facts(program, uses, i);
        if (facts->updates && spans[i].first < spans[i].end)
            manifest_set(constant, "steps", span_facts(spans[i]));
        manifest_element(manifest, constant);
    }
    manifest_list_end(manifest);
}
