/* SPDX-License-Identifier: Apache-2.0
 * The plan in the manifest. Addresses: a tensor lies at "offset" of its storage, row r of an
 * operand at offset + at + (r % ring) * row, its pixels "pixel" elements apart. */
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

static json_t *entry(const ManifestPlan *l, size_t i)
{
    const Listed *e = l->listed.at + i;
    const Tensor *t = e->tensor;
    const Operand *o = e->operand;
    json_t *json = manifest_made(json_object());
    manifest_set(json, "index", integer((int64_t)i));
    manifest_set(json, "name", manifest_name(l->arena, t->name));
    manifest_set(json, "dtype", json_string(dtype_name(t->dtype)));
    manifest_set(json, "storage", json_string(storage_name(t)));
    if (t->storage != STORE_ARENA)
        manifest_set(json, "slot", integer(t->slot));
    if (t->storage == STORE_ARENA && l->p->plan.region.n)
        manifest_set(json, "region", integer(t->region));
    manifest_set(json, "offset", integer(t->offset));
    manifest_set(json, "bytes", integer(tensor_bytes(t)));
    manifest_set(json, "extent",
                 integer(o->ring ? i64_mul(o->ring, o->row_bytes) : tensor_bytes(t)));
    if (o->scratch)
        manifest_set(json, "scratch", json_true());
    manifest_set(json, "first", integer(e->first));
    manifest_set(json, "last", integer(e->last));
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
        return json_pack("{s:i,s:i,s:i}", "stride", r->stride, "pad", r->pad, "extent", r->extent);
    default:
        return json_string("all");
    }
}

static const char *access_name(const Operand *operand)
{
    return operand->scratch                  ? "scratch"
           : operand->write && operand->read ? "update"
           : operand->write                  ? "write"
                                             : "read";
}

static json_t *operand(const ManifestPlan *l, const Operand *o, const Reach *reach, int32_t step)
{
    if (!o->tensor)
        return json_null();
    json_t *json = manifest_made(json_object());
    int64_t at;
    const Tensor *t = tensor_root(o->tensor, &at);
    at += o->offset;
    manifest_set(json, "access", json_string(access_name(o)));
    manifest_set(json, "reach", integer(bounds_bytes(o, reach)));
    if (t->storage == STORE_WEIGHTS) {
        manifest_set(json, "weights", integer(t->offset + at));
        manifest_set(json, "bytes", integer(tensor_bytes(o->tensor)));
        return json;
    }
    manifest_set(json, "tensor", integer(l->of[t->id]));
    manifest_set(json, "at", integer(at));
    manifest_set(json, "rows", integer(o->rows));
    manifest_set(json, "row", integer(o->row_bytes));
    manifest_set(json, "pixel", integer(o->pixel));
    if (o->part)
        manifest_set(json, "part", integer(o->part));
    if (o->pitch)
        manifest_set(json, "pitch", integer(o->pitch));
    if (o->ring)
        manifest_set(json, "ring", integer(o->ring));
    if (o->read && !o->scratch)
        manifest_set(json, "rule", rule(&o->rule, l->p->step.at[step]->units));
    if (o->pixels.tile)
        manifest_set(json, "pixels",
                     json_pack("{s:i,s:i,s:i,s:i}", "stride", o->pixels.stride, "pad",
                               o->pixels.pad, "extent", o->pixels.extent, "tile", o->pixels.tile));
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
        manifest_element(manifest, segment(&(Segment){ .count = (int32_t)program->step.n }));
    manifest_list_end(manifest);
}

void manifest_operands(const ManifestPlan *l, json_t *json, const Step *step)
{
    json_t *lowered = manifest_made(json_array());
    json_t *operands = manifest_made(json_array());
    Reach *reach = NEW_ARRAY(&l->p->graph->store->scratch, Reach, step->n_operand + 1);
    bounds_of(l->p, step, reach);
    for (int32_t i = 0; i < step->n_lowered; i++)
        json_array_append_new(lowered, manifest_made(integer(step->lowered[i])));
    for (int k = 0; k < step->n_operand; k++)
        json_array_append_new(operands,
                              manifest_made(operand(l, step->operand + k, reach + k, step->index)));
    if (step->node)
        manifest_set(json, "node_index", integer(step->node->index));
    manifest_set(json, "lowered", lowered);
    if (step->strip)
        manifest_set(json, "strip", integer(step->strip));
    if (step->strip)
        manifest_set(json, "columns", json_pack("[i,i]", step->first_column, step->end_column));
    if (step->piece)
        manifest_set(json, "piece", integer(step->piece));
    manifest_set(json, "units", integer(step->units));
    manifest_set(json, "backward", json_boolean(step->backward));
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
    *l = (ManifestPlan){ .p = program, .arena = a, .of = NEW_ARRAY(a, int32_t, ids + 1) };
    for (int i = 0; i < ids; i++)
        l->of[i] = -1;
    for (size_t i = 0; i < program->step.n; i++)
        for (int k = 0; k < program->step.at[i]->n_operand; k++)
            list_tensor(l, program->step.at[i]->operand + k, (int32_t)i);
    return l;
}
