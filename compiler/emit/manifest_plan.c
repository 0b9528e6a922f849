/* SPDX-License-Identifier: Apache-2.0
 * The plan in the manifest. Addresses: a tensor lies at "offset" of its storage, row r of an
 * operand at offset + at + (r % ring) * row, or at + rows[r] * unit where it has "slots"; its
 * pixels "pixel" elements apart. */
#include "emit/manifest.h"

#include "base/size.h"
#include "bounds/bounds.h"

/* A tensor with bytes of its own, in the order in which steps touch them. */
typedef struct Listed {
    const Tensor *tensor;
    const Operand *operand; /* the first that touches it */
    int32_t first, last;    /* steps */
} Listed;

struct ManifestPlan {
    const Program *p;
    Arena *arena;
    int32_t *of; /* by tensor id: place in `listed`, -1: none */
    VEC(Listed) listed;
};

static json_t *integer(int64_t v)
{
    return json_integer((json_int_t)v);
}

static const char *storage_name(const Tensor *tensor)
{
    switch (tensor->storage) {
    case STORE_ARENA:
        return "arena";
    case STORE_INPUT:
        return "input";
    case STORE_OUTPUT:
        return "output";
    default:
        return "weights";
    }
}

/* Which buffer the tensor lies in. */
static void put_storage(json_t *json, const ManifestPlan *l,
                        const Tensor *tensor)
{
    const bool in_arena = tensor->storage == STORE_ARENA;
    manifest_set(json, "storage", json_string(storage_name(tensor)));
    if (!in_arena)
        manifest_set(json, "slot", integer(tensor->slot));
    if (in_arena && l->p->plan.region.n)
        manifest_set(json, "region", integer(tensor->region));
}

/* Where the rows lie in the pool that begins where the tensor lies. */
static json_t *slots_of(const RowSlots *slots)
{
    json_t *json = manifest_made(json_object());
    json_t *rows = manifest_made(json_array());
    for (int32_t r = 0; r < slots->rows; r++)
        json_array_append_new(rows, manifest_made(integer(slots->slot[r])));
    manifest_set(json, "unit", integer(slots->unit));
    manifest_set(json, "rows", rows);
    return json;
}

static json_t *entry(const ManifestPlan *l, size_t i)
{
    const Listed *listed = l->listed.at + i;
    const Tensor *tensor = listed->tensor;
    json_t *json = manifest_made(json_object());
    manifest_set(json, "index", integer((int64_t)i));
    manifest_set(json, "name", manifest_name(l->arena, tensor->name));
    manifest_set(json, "dtype", json_string(dtype_name(tensor->dtype)));
    put_storage(json, l, tensor);
    manifest_set(json, "offset", integer(tensor->offset));
    manifest_set(json, "bytes", integer(tensor_bytes(tensor)));
    const int64_t extent = operand_extent(listed->operand, tensor);
    manifest_set(json, "extent", integer(extent));
    if (listed->operand->slots)
        manifest_set(json, "slots", slots_of(listed->operand->slots));
    if (listed->operand->scratch)
        manifest_set(json, "scratch", json_true());
    manifest_set(json, "first", integer(listed->first));
    manifest_set(json, "last", integer(listed->last));
    return json;
}

static json_t *table(const RowRule *rule, int32_t units)
{
    json_t *list = manifest_made(json_array());
    json_t *json = manifest_made(json_object());
    for (int32_t u = 0; u < units; u++) {
        json_array_append_new(list, manifest_made(integer(rule->table[u].lo)));
        json_array_append_new(list, manifest_made(integer(rule->table[u].hi)));
    }
    manifest_set(json, "table", list);
    return json;
}

static json_t *rule(const RowRule *r, int32_t units)
{
    switch (r->kind) {
    case ROWS_TABLE:
        return table(r, units);
    case ROWS_SAME:
        return json_string("same");
    case ROWS_UNIT:
        return json_string("unit");
    case ROWS_WINDOW:
        return json_pack("{s:i,s:i,s:i}", "stride", r->stride, "pad", r->pad,
                         "extent", r->extent);
    default:
        return json_string("all");
    }
}

static const char *access_name(const Operand *operand)
{
    if (operand->scratch)
        return "scratch";
    if (operand->write)
        return operand->read ? "update" : "write";
    return "read";
}

static json_t *pixel_rule(const PixelRule *rule)
{
    return json_pack("{s:i,s:i,s:i,s:i}", "stride", rule->stride, "pad",
                     rule->pad, "extent", rule->extent, "tile", rule->tile);
}

/* Where a constant lies in the blob. */
static void put_constant(json_t *json, const Operand *operand, int64_t offset)
{
    manifest_set(json, "weights", integer(offset));
    manifest_set(json, "bytes", integer(tensor_bytes(operand->tensor)));
}

/* Rows and pixels of what is no constant. */
static void put_rows(json_t *json, const Operand *operand, int32_t units)
{
    manifest_set(json, "rows", integer(operand->rows));
    manifest_set(json, "row", integer(operand->row_bytes));
    manifest_set(json, "pixel", integer(operand->pixel));
    if (operand->part)
        manifest_set(json, "part", integer(operand->part));
    if (operand->pitch)
        manifest_set(json, "pitch", integer(operand->pitch));
    if (operand->ring)
        manifest_set(json, "ring", integer(operand->ring));
    if (operand->read && !operand->scratch)
        manifest_set(json, "rule", rule(&operand->rule, units));
    if (operand->pixels.tile)
        manifest_set(json, "pixels", pixel_rule(&operand->pixels));
}

static json_t *operand_facts(const ManifestPlan *l, const Operand *operand,
                             const Reach *reach, int32_t units)
{
    if (!operand->tensor)
        return json_null();
    json_t *json = manifest_made(json_object());
    int64_t at;
    const Tensor *root = tensor_root(operand->tensor, &at);
    at += operand->offset;
    manifest_set(json, "access", json_string(access_name(operand)));
    manifest_set(json, "reach", integer(bounds_bytes(operand, reach)));
    if (root->storage == STORE_WEIGHTS) {
        put_constant(json, operand, root->offset + at);
        if (root->region)
            manifest_set(json, "place",
                         json_string(program_lender(l->p, root)));
        return json;
    }
    manifest_set(json, "tensor", integer(l->of[root->id]));
    manifest_set(json, "at", integer(at));
    put_rows(json, operand, units);
    return json;
}

static json_t *segment(const Segment *g)
{
    json_t *json = manifest_made(json_object());
    manifest_set(json, "first", integer(g->first));
    manifest_set(json, "steps", integer(g->count));
    if (!g->list)
        return json;
    json_t *list = manifest_made(json_array());
    for (int32_t i = 0; i < g->prologue + g->period + g->epilogue; i++)
        json_array_append_new(list, manifest_made(integer(g->list[i])));
    manifest_set(json, "prologue", integer(g->prologue));
    manifest_set(json, "period", integer(g->period));
    manifest_set(json, "repeats", integer(g->repeats));
    manifest_set(json, "epilogue", integer(g->epilogue));
    manifest_set(json, "list", list);
    return json;
}

void manifest_schedule(ManifestText *manifest, const Program *program)
{
    manifest_list(manifest, "schedule");
    for (size_t i = 0; i < program->plan.segment.n; i++)
        manifest_element(manifest, segment(program->plan.segment.at + i));
    if (!program->plan.segment.n)
        manifest_element(
            manifest, segment(&(Segment){ .count = (int32_t)program->step.n }));
    manifest_list_end(manifest);
}

/* The columns that a step of a strip makes. */
static void put_strip(json_t *json, const Step *step)
{
    if (!step->strip)
        return;
    manifest_set(json, "strip", integer(step->strip));
    manifest_set(json, "columns",
                 json_pack("[i,i]", step->first_column, step->end_column));
}

static json_t *lowered_steps(const Step *step)
{
    json_t *list = manifest_made(json_array());
    for (int32_t i = 0; i < step->n_lowered; i++)
        json_array_append_new(list, manifest_made(integer(step->lowered[i])));
    return list;
}

static json_t *operand_list(const ManifestPlan *l, const Step *step)
{
    const Program *program = l->p;
    Arena *scratch = &program->graph->store->scratch;
    json_t *list = manifest_made(json_array());
    Reach *reach = NEW_ARRAY(scratch, Reach, step->n_operand + 1);
    bounds_of(program, step, reach);
    for (int k = 0; k < step->n_operand; k++) {
        json_t *one =
            operand_facts(l, step->operand + k, reach + k, step->units);
        json_array_append_new(list, manifest_made(one));
    }
    return list;
}

void manifest_operands(const ManifestPlan *l, json_t *json, const Step *step)
{
    json_t *operands = operand_list(l, step);
    if (step->node)
        manifest_set(json, "node_index", integer(step->node->index));
    manifest_set(json, "lowered", lowered_steps(step));
    put_strip(json, step);
    if (step->piece)
        manifest_set(json, "piece", integer(step->piece));
    manifest_set(json, "units", integer(step->units));
    manifest_set(json, "backward", json_boolean(step->backward));
    if (step->split)
        manifest_set(json, "split", json_true());
    manifest_set(json, "operands", operands);
}

void manifest_tensors(ManifestText *manifest, const ManifestPlan *l)
{
    manifest_list(manifest, "tensors");
    for (size_t i = 0; i < l->listed.n; i++)
        manifest_element(manifest, entry(l, i));
    manifest_list_end(manifest);
}

static void list_tensor(ManifestPlan *l, const Operand *operand, int32_t step)
{
    if (!operand->tensor)
        return;
    int64_t at;
    const Tensor *t = tensor_root(operand->tensor, &at);
    if (t->storage == STORE_WEIGHTS)
        return;
    if (l->of[t->id] < 0) {
        l->of[t->id] = (int32_t)l->listed.n;
        VEC_PUSH(l->arena, &l->listed, ((Listed){ t, operand, step, step }));
    }
    l->listed.at[l->of[t->id]].last = step;
}

ManifestPlan *manifest_plan(const Program *program)
{
    Arena *a = program->graph->arena;
    const int ids = graph_root(program->graph)->next_id;
    ManifestPlan *l = NEW_ARRAY(a, ManifestPlan, 1);
    *l = (ManifestPlan){ .p = program,
                         .arena = a,
                         .of = NEW_ARRAY(a, int32_t, ids + 1) };
    for (int i = 0; i < ids; i++)
        l->of[i] = -1;
    for (size_t i = 0; i < program->step.n; i++)
        for (int k = 0; k < program->step.at[i]->n_operand; k++)
            list_tensor(l, program->step.at[i]->operand + k, (int32_t)i);
    return l;
}
