/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/manifest.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/size.h"
#include "emit/blob.h"
#include "emit/islands.h"
#include "emit/peak.h"
#include "emit/seal.h"
#include "ir/ram.h"
#include "ir/words.h"

/* jansson has memory (base/json_memory.h) and returns NULL for text that is not UTF-8 alone; every
 * value passes here. */
json_t *manifest_made(json_t *json)
{
    if (!json)
        fail_memory(0, "the report does not fit");
    return json;
}

void manifest_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, manifest_made(value)))
        fail_memory(0, "the report does not fit");
}

/* Names of files may hold bytes that are not UTF-8: those become '?'. */
json_t *manifest_name(Arena *arena, const char *s)
{
    json_t *json = json_string(s);
    if (json)
        return json;
    char *ascii = arena_text(arena, s, strlen(s));
    for (char *c = ascii; *c; c++)
        if ((unsigned char)*c >= 128)
            *c = '?';
    return json_string(ascii);
}

static json_t *dims(Shape shape)
{
    json_t *list = manifest_made(json_array());
    for (int i = 0; i < shape.rank; i++)
        json_array_append_new(list, manifest_made(json_integer(shape.dim[i])));
    return list;
}

/* Where a value lies that the arena holds, and in which order of dimensions. */
static void inside_facts(json_t *object, const Program *program,
                         const Tensor *tensor)
{
    json_t *perm = manifest_made(json_array());
    for (int i = 0; i < tensor->shape.rank; i++)
        json_array_append_new(perm, manifest_made(json_integer(
                                        tensor->perm ? tensor->perm[i] : i)));
    manifest_set(object, "offset", json_integer(tensor->offset));
    if (program->plan.region.n)
        manifest_set(object, "region", json_integer(tensor->region));
    manifest_set(object, "arena_dims", dims(tensor->shape));
    manifest_set(object, "arena_perm", perm);
}

static void rows_facts(json_t *object, const Program *program, const Step *step)
{
    const Operand *q = step->operand;
    manifest_set(object, "rows", json_integer(program_rows(program, step)));
    manifest_set(object, "row_bytes", json_integer(q->row_bytes));
    manifest_set(object, "rows_held",
                 json_integer(q->ring ? q->ring : q->rows));
}

static const char *place_name(const Tensor *tensor, bool by_rows)
{
    if (by_rows)
        return "rows";
    return tensor->storage == STORE_ARENA ? "arena" : "caller";
}

static json_t *labels(const Graph *graph)
{
    int64_t count;
    json_t *list = manifest_made(json_array());
    const char *const *word = words_all(graph->store, &count);
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(list, manifest_name(graph->arena, word[i]));
    return list;
}

/* What the integers of a value stand for. */
static void meaning_facts(json_t *object, const Graph *graph,
                          const Tensor *tensor, const IntegerScale *numbers)
{
    if (tensor->words)
        manifest_set(object, "labels", labels(graph));
    if (!numbers)
        return;
    manifest_set(object, "scale", json_real((double)numbers->scale));
    manifest_set(object, "zero_point", json_integer(numbers->zero));
}

static json_t *value_facts(const Program *program, const Step *pushed,
                           const Tensor *tensor, const IntegerScale *numbers,
                           size_t index)
{
    const bool by_rows = pushed && pushed->operand[0].tensor == tensor;
    json_t *object = manifest_made(json_object());
    manifest_set(object, "index", json_integer((json_int_t)index));
    manifest_set(object, "name",
                 manifest_name(program->graph->arena, tensor->name));
    manifest_set(object, "dtype", json_string(dtype_name(tensor->dtype)));
    manifest_set(object, "dims", dims(tensor_model_shape(tensor)));
    manifest_set(object, "bytes", json_integer(tensor_bytes(tensor)));
    manifest_set(object, "place", json_string(place_name(tensor, by_rows)));
    if (tensor->storage == STORE_ARENA)
        inside_facts(object, program, tensor);
    if (by_rows)
        rows_facts(object, program, pushed);
    if (tensor->dynamic || manifest_follows(program, tensor, index))
        manifest_set(object, "dynamic", json_true());
    manifest_symbols(object, program, tensor);
    meaning_facts(object, program->graph, tensor, numbers);
    return object;
}

/* The word of the step in the self-test; null: it is not the same in every run. */
static json_t *sum_facts(const StepSum *sum)
{
    if (!sum->known)
        return json_null();
    json_t *object = manifest_made(json_object());
    manifest_set(object, "word", json_integer((json_int_t)sum->word));
    if (sum->near)
        manifest_set(object, "allowed",
                     isfinite(sum->allowed) ? json_real(sum->allowed)
                                            : json_null());
    return object;
}

static json_t *step(Arena *arena, const Program *program, const Step *s)
{
    json_t *object = manifest_made(json_object());
    manifest_set(object, "index", json_integer(s->index));
    manifest_set(object, "op", manifest_name(arena, step_name(s)));
    manifest_set(object, "node",
                 manifest_name(arena, s->node ? s->node->name : ""));
    manifest_set(object, "kernel", json_string(s->kernel->name));
    if (program->blob)
        manifest_set(object, "params", params_facts(program, s));
    manifest_set(object, "macs", json_integer(s->macs));
    if (program->sum)
        manifest_set(object, "sum", sum_facts(program->sum + s->index));
    manifest_set(
        object, "live_bytes",
        json_integer(program->plan.live ? program->plan.live[s->index] : 0));
    return object;
}

static json_t *arena_facts(const Plan *plan)
{
    json_t *object = manifest_made(json_object());
    manifest_set(object, "size", json_integer(plan->arena_size));
    manifest_set(object, "align", json_integer(plan->arena_align));
    manifest_set(object, "lower_bound", json_integer(plan->lower_bound));
    manifest_set(object, "bound_schedules",
                 json_integer(plan->bound_schedules));
    manifest_set(object, "optimal", json_boolean(plan->optimal));
    int64_t counters = 0;
    for (size_t i = 0; i < plan->segment.n; i++)
        if (plan->segment.at[i].list)
            counters =
                i64_max(counters, 2 * (int64_t)plan->segment.at[i].count);
    if (counters)
        manifest_set(object, "counters",
                     json_pack("{s:I,s:I}", "offset", (json_int_t)plan->state,
                               "bytes", (json_int_t)counters));
    if (plan->threads)
        manifest_set(object, "threads", json_integer(plan->threads));
    if (plan->place_bytes)
        manifest_set(object, "run_state",
                     json_pack("{s:I,s:I}", "offset", (json_int_t)plan->place,
                               "bytes", (json_int_t)plan->place_bytes));
    return object;
}

static json_t *curve_facts(const Plan *plan)
{
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *c = plan->curve.at + i;
        json_t *object = manifest_made(json_object());
        manifest_set(object, "arena", json_integer(c->arena));
        manifest_set(object, "macs", json_integer(c->macs));
        manifest_set(object, "mac_factor", json_real(curve_factor(plan, c)));
        manifest_set(object, "cost", json_integer(c->cost));
        manifest_set(object, "streamed_steps", json_integer(c->streamed));
        manifest_set(object, "strips", json_integer(c->strips));
        manifest_set(object, "steps", json_integer(c->steps));
        if (c->chosen)
            manifest_set(object, "chosen", json_true());
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *block_facts(Arena *arena, const PeakBlock *peak)
{
    const Block *block = peak->block;
    json_t *object = manifest_made(json_object());
    manifest_set(object, "name", manifest_name(arena, peak->name));
    manifest_set(object, "bytes", json_integer(block->bytes));
    manifest_set(object, "role", json_string(peak_role_name(peak->role)));
    if (block->ring)
        manifest_set(object, "rows", json_integer(block->ring));
    if (block->pool)
        manifest_set(object, "pool", json_true());
    return object;
}

static json_t *peak_facts(const Program *program)
{
    Arena *arena = program->graph->arena;
    const Peak peak = peak_find(program);
    json_t *object = manifest_made(json_object());
    json_t *blocks = manifest_made(json_array());
    for (size_t i = 0; i < peak.block.n; i++)
        json_array_append_new(blocks, block_facts(arena, peak.block.at + i));
    manifest_set(object, "first_step", json_integer(peak.first));
    manifest_set(object, "end_step", json_integer(peak.end));
    manifest_set(object, "bytes", json_integer(peak.bytes));
    manifest_set(object, "tensors", blocks);
    return object;
}

static json_t *advice_facts(Arena *arena, const Advice *advice)
{
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < advice->found.n; i++) {
        const Alternative *found = advice->found.at + i;
        json_t *object = manifest_made(json_object());
        manifest_set(object, "options", manifest_name(arena, found->options));
        manifest_set(object, "ram", json_integer(found->ram));
        manifest_set(object, "arena", json_integer(found->arena));
        manifest_set(object, "macs", json_integer(found->macs));
        json_array_append_new(list, object);
    }
    return list;
}

/* Memories instead of one arena. */
static json_t *region_facts(const Plan *plan)
{
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *r = plan->region.at + i;
        json_t *object = manifest_made(json_object());
        manifest_set(object, "name", json_string(r->name));
        manifest_set(object, "capacity", json_integer(r->capacity));
        manifest_set(object, "cost", json_integer(r->cost));
        manifest_set(object, "size", json_integer(r->size));
        manifest_set(object, "lower_bound", json_integer(r->lower_bound));
        manifest_set(object, "traffic", json_integer(r->traffic));
        json_array_append_new(list, object);
    }
    return list;
}

static void put_regions(ManifestText *manifest, const Plan *plan)
{
    if (!plan->region.n)
        return;
    manifest_key(manifest, "regions", region_facts(plan));
    manifest_key(manifest, "regions_cost",
                 json_pack("{s:I,s:I,s:b}", "cost",
                           (json_int_t)plan->region_cost, "lower_bound",
                           (json_int_t)plan->region_least, "optimal",
                           plan->region_cost == plan->region_least));
}

/* What `inlay weights` needs to make another blob for the same code. */
static void blob_facts(json_t *object, const Program *program,
                       const ManifestFacts *facts)
{
    Arena *arena = program->graph->arena;
    if (program->weight_bytes)
        manifest_set(object, "blob",
                     json_integer((json_int_t)blob_size(program)));
    manifest_set(object, "code", json_integer((json_int_t)program->code_bytes));
    manifest_set(object, "options",
                 manifest_names(arena, facts->shaping, false));
}

static json_t *weight_facts(const Program *program, const ManifestFacts *facts)
{
    json_t *object = manifest_made(json_object());
    manifest_set(object, "size",
                 json_integer((json_int_t)program->weight_bytes));
    if (program->weights_alike)
        manifest_set(object, "at_most", json_true());
    manifest_set(object, "align", json_integer(16));
    manifest_set(object, "form", json_string(facts->weights_form));
    if (program->weight_bytes && !program->weights_alike)
        manifest_set(
            object, "layout",
            json_string(arena_printf(program->graph->arena, "%016" PRIx64,
                                     seal_layout(program))));
    if (facts->weights_sha256)
        manifest_set(object, "sha256", json_string(facts->weights_sha256));
    if (program->blob)
        blob_facts(object, program, facts);
    if (program->stream.asked || program->stream.coded)
        manifest_set(object, "stream", stream_facts(program));
    return object;
}

/* ---- the text: one line a key, and one for each element of a list: short, and good to compare
 * ---- */

static void put(const ManifestText *manifest, const char *s)
{
    manifest->sink.put(manifest->sink.to, s, strlen(s));
}

/* Leaves the value's memory as it is. */
static void line(const ManifestText *manifest, json_t *json)
{
    char *s = json_dumps(manifest_made(json), JSON_ENCODE_ANY);
    if (!s)
        fail_memory(0, "the report does not fit");
    put(manifest, s);
}

static void release(const ManifestText *manifest)
{
    arena_release(json_memory(), manifest->free);
}

static void begin(ManifestText *manifest, const char *key)
{
    put(manifest, manifest->any_key ? ",\n  \"" : "{\n  \"");
    put(manifest, key);
    put(manifest, "\": ");
    manifest->any_key = true;
}

void manifest_list(ManifestText *manifest, const char *key)
{
    begin(manifest, key);
    manifest->any_element = false;
}

static void element(ManifestText *manifest, json_t *value)
{
    put(manifest, manifest->any_element ? ",\n    " : "[\n    ");
    line(manifest, value);
    manifest->any_element = true;
}

void manifest_element(ManifestText *manifest, json_t *value)
{
    element(manifest, value);
    release(manifest);
}

void manifest_list_end(ManifestText *manifest)
{
    put(manifest, manifest->any_element ? "\n  ]" : "[]");
}

void manifest_key(ManifestText *manifest, const char *key, json_t *value)
{
    const size_t n = json_array_size(value);
    if (n) {
        manifest_list(manifest, key);
        for (size_t i = 0; i < n; i++)
            element(manifest, json_array_get(value, i));
        manifest_list_end(manifest);
    } else {
        begin(manifest, key);
        line(manifest, value);
    }
    release(manifest);
}

void manifest_end(const ManifestText *manifest)
{
    put(manifest, "\n}\n");
}

/* ---- the document ---- */

static void put_origin(ManifestText *manifest, const Program *program,
                       const ManifestFacts *facts)
{
    const Graph *graph = program->graph;
    manifest_key(manifest, "schema_version", json_integer(1));
    manifest_key(manifest, "inlay", json_string(INLAY_VERSION));
    manifest_key(manifest, "name", json_string(facts->name));
    if (facts->model_sha256)
        manifest_key(manifest, "model_sha256",
                     json_string(facts->model_sha256));
    if (facts->target)
        manifest_key(manifest, "target", json_string(facts->target));
    if (facts->files) /* early: the next compile reads this far */
        manifest_key(manifest, "files", facts->files);
    manifest_key(manifest, "options", manifest_options(program, facts));
    manifest_key(manifest, "opset", json_integer(graph_opset(graph, "")));
}

static json_t *island_facts(Arena *arena, const Island *island)
{
    json_t *object = manifest_made(json_object());
    json_t *steps = manifest_made(json_array());
    json_t *nodes = manifest_made(json_array());
    for (size_t i = 0; i < island->step.n; i++) {
        const Step *step = island->step.at[i];
        const char *name = step->node ? step->node->name : "";
        json_array_append_new(steps, manifest_made(json_integer(step->index)));
        json_array_append_new(nodes, manifest_made(manifest_name(arena, name)));
    }
    manifest_set(object, "steps", steps);
    manifest_set(object, "nodes", nodes);
    manifest_set(object, "macs", json_integer(island->macs));
    manifest_set(object, "elements", json_integer(island->elements));
    manifest_set(object, "bytes", json_integer(island->bytes));
    return object;
}

/* Where a quantized model computes with floats; nothing where it does not. */
static void put_islands(ManifestText *manifest, const Program *program)
{
    const Islands islands = islands_find(program);
    if (!islands.n)
        return;
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < islands.n; i++) {
        const Island *island = islands.at + i;
        json_t *facts = island_facts(program->graph->arena, island);
        json_array_append_new(list, facts);
    }
    manifest_key(manifest, "float_islands", list);
}

/* Everything that a run takes of it. */
static json_t *ram_facts(const Program *program)
{
    const RamUse use = program_ram(program);
    json_t *object = manifest_made(json_object());
    manifest_set(object, "total", json_integer(use.total));
    manifest_set(object, "arena", json_integer(use.arena));
    manifest_set(object, "values", json_integer(use.values));
    if (use.stack >= 0) {
        manifest_set(object, "stack", json_integer(use.stack));
        manifest_set(object, "stack_of", json_string(use.how));
    }
    return object;
}

/* One by one: there may be thousands. */
static void put_values(ManifestText *manifest, const char *key,
                       const Program *program, Tensor *const *tensor,
                       const IntegerScale *const *numbers, size_t count)
{
    const Step *pushed = program_pushed(program);
    manifest_list(manifest, key);
    for (size_t i = 0; i < count; i++)
        manifest_element(
            manifest, value_facts(program, pushed, tensor[i], numbers[i], i));
    manifest_list_end(manifest);
}

static void put_sizes(ManifestText *manifest, const Program *program,
                      const ManifestFacts *facts)
{
    const Graph *graph = program->graph;
    const Plan *plan = &program->plan;
    manifest_key(manifest, "arena", arena_facts(plan));
    put_regions(manifest, plan);
    manifest_key(manifest, "ram", ram_facts(program));
    manifest_key(manifest, "peak", peak_facts(program));
    put_islands(manifest, program);
    if (program->advice)
        manifest_key(manifest, "advice",
                     advice_facts(graph->arena, program->advice));
    if (plan->curve.n)
        manifest_key(manifest, "curve", curve_facts(plan));
    manifest_key(manifest, "weights", weight_facts(program, facts));
    if (program->blob || program->stream.coded)
        manifest_constants(manifest, program, facts);
    put_values(manifest, "inputs", program, graph->input.at, graph->in_numbers,
               graph->input.n);
    put_values(manifest, "outputs", program, graph->output.at,
               graph->out_numbers, graph_results(graph));
    manifest_kept(manifest, program);
}

static int64_t write_steps(ManifestText *manifest, const Program *program,
                           const ManifestPlan *plan)
{
    int64_t macs = 0;
    manifest_list(manifest, "steps");
    for (size_t i = 0; i < program->step.n; i++) {
        json_t *json =
            step(program->graph->arena, program, program->step.at[i]);
        manifest_operands(plan, json, program->step.at[i]);
        manifest_element(manifest, json);
        macs = i64_add(macs, program->step.at[i]->macs);
    }
    manifest_list_end(manifest);
    return macs;
}

void manifest_write(const Program *program, const ManifestFacts *facts,
                    json_t *stats, Sink sink)
{
    ManifestText manifest = { .sink = sink, .free = arena_mark(json_memory()) };
    const ManifestPlan *plan = manifest_plan(program);
    put_origin(&manifest, program, facts);
    put_sizes(&manifest, program, facts);
    manifest_tensors(&manifest, plan);
    manifest_schedule(&manifest, program);
    const int64_t macs = write_steps(&manifest, program, plan);
    manifest_key(&manifest, "totals",
                 json_pack("{s:I,s:I}", "macs", (json_int_t)macs, "steps",
                           (json_int_t)program->step.n));
    manifest_lengths(&manifest, program, facts);
    if (stats)
        manifest_key(&manifest, "stats", stats);
    manifest_end(&manifest);
}
