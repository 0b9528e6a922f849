/* SPDX-License-Identifier: Apache-2.0
 * The plan in the manifest. Addresses: a tensor lies at "offset" of its storage, row r of an operand at
 * offset + at + (r % ring) * row, its pixels "pixel" elements apart. */
#include "emit/manifest.h"

#include "base/size.h"

typedef struct Lister {
    const Program *p;
    Arena *arena;
    int32_t *of;                /* by tensor id: place in "tensors", -1: not yet */
    json_t *tensors;
} Lister;

static json_t *integer(int64_t v) { return json_integer((json_int_t)v); }

static const char *storage_name(const Tensor *t)
{
    switch (t->storage) {
    case STORE_ARENA: return "arena";
    case STORE_INPUT: return "input";
    case STORE_OUTPUT: return "output";
    default: return "weights";
    }
}

/* The tensor's place in the list; a new one is alive from step `step` on. */
static int32_t place_of(Lister *l, const Tensor *t, int32_t step, const Operand *o)
{
    json_t *entry = l->of[t->id] < 0 ? NULL : json_array_get(l->tensors, (size_t)l->of[t->id]);
    if (!entry) {
        entry = manifest_made(json_object());
        l->of[t->id] = (int32_t)json_array_size(l->tensors);
        manifest_set(entry, "index", integer(l->of[t->id]));
        manifest_set(entry, "name", manifest_name(l->arena, t->name));
        manifest_set(entry, "dtype", json_string(dtype_name(t->dtype)));
        manifest_set(entry, "storage", json_string(storage_name(t)));
        if (t->storage != STORE_ARENA) manifest_set(entry, "slot", integer(t->slot));
        if (t->storage == STORE_ARENA && l->p->plan.region.n) manifest_set(entry, "region", integer(t->region));
        manifest_set(entry, "offset", integer(t->offset));
        manifest_set(entry, "bytes", integer(tensor_bytes(t)));
        manifest_set(entry, "extent", integer(o->ring ? i64_mul(o->ring, o->row_bytes) : tensor_bytes(t)));
        if (o->scratch) manifest_set(entry, "scratch", json_true());
        manifest_set(entry, "first", integer(step));
        json_array_append_new(l->tensors, entry);
    }
    manifest_set(entry, "last", integer(step));
    return l->of[t->id];
}

static json_t *table(const RowRule *r, int32_t units)
{
    json_t *list = manifest_made(json_array()), *j = manifest_made(json_object());
    for (int32_t u = 0; u < units; u++) {
        json_array_append_new(list, manifest_made(integer(r->table[u].lo)));
        json_array_append_new(list, manifest_made(integer(r->table[u].hi)));
    }
    manifest_set(j, "table", list);
    return j;
}

static json_t *rule(const RowRule *r, int32_t units)
{
    switch (r->kind) {
    case ROWS_TABLE: return table(r, units);
    case ROWS_SAME: return json_string("same");
    case ROWS_UNIT: return json_string("unit");
    case ROWS_WINDOW: return json_pack("{s:i,s:i,s:i}", "stride", r->stride, "pad", r->pad, "extent", r->extent);
    default: return json_string("all");
    }
}

static const char *access_name(const Operand *o)
{
    return o->scratch ? "scratch" : o->write && o->read ? "update" : o->write ? "write" : "read";
}

static json_t *operand(Lister *l, const Operand *o, int32_t step)
{
    if (!o->tensor) return json_null();
    json_t *j = manifest_made(json_object());
    int64_t at;
    const Tensor *t = tensor_root(o->tensor, &at);
    at += o->offset;
    manifest_set(j, "access", json_string(access_name(o)));
    if (t->storage == STORE_WEIGHTS) {
        manifest_set(j, "weights", integer(t->offset + at));
        manifest_set(j, "bytes", integer(tensor_bytes(o->tensor)));
        return j;
    }
    manifest_set(j, "tensor", integer(place_of(l, t, step, o)));
    manifest_set(j, "at", integer(at));
    manifest_set(j, "rows", integer(o->rows));
    manifest_set(j, "row", integer(o->row_bytes));
    manifest_set(j, "pixel", integer(o->pixel));
    if (o->part) manifest_set(j, "part", integer(o->part));
    if (o->pitch) manifest_set(j, "pitch", integer(o->pitch));
    if (o->ring) manifest_set(j, "ring", integer(o->ring));
    if (o->read && !o->scratch) manifest_set(j, "rule", rule(&o->rule, l->p->step.at[step]->units));
    if (o->pixels.tile)
        manifest_set(j, "pixels", json_pack("{s:i,s:i,s:i,s:i}", "stride", o->pixels.stride, "pad", o->pixels.pad, "extent", o->pixels.extent, "tile", o->pixels.tile));
    return j;
}

static json_t *segment(const Segment *g)
{
    json_t *j = manifest_made(json_object());
    manifest_set(j, "first", integer(g->first));
    manifest_set(j, "steps", integer(g->count));
    if (!g->list) return j;
    json_t *list = manifest_made(json_array());
    for (int32_t i = 0; i < g->prologue + g->period + g->epilogue; i++) json_array_append_new(list, manifest_made(integer(g->list[i])));
    manifest_set(j, "prologue", integer(g->prologue));
    manifest_set(j, "period", integer(g->period));
    manifest_set(j, "repeats", integer(g->repeats));
    manifest_set(j, "epilogue", integer(g->epilogue));
    manifest_set(j, "list", list);
    return j;
}

static json_t *schedule(const Program *p)
{
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < p->plan.segment.n; i++) json_array_append_new(list, segment(p->plan.segment.at + i));
    if (!p->plan.segment.n) json_array_append_new(list, segment(&(Segment){ .count = (int32_t)p->step.n }));
    return list;
}

static void describe_step(Lister *l, json_t *j, const Step *s)
{
    json_t *lowered = manifest_made(json_array()), *operands = manifest_made(json_array());
    for (int32_t i = 0; i < s->n_lowered; i++) json_array_append_new(lowered, manifest_made(integer(s->lowered[i])));
    for (int k = 0; k < s->n_operand; k++) json_array_append_new(operands, manifest_made(operand(l, s->operand + k, s->index)));
    if (s->node) manifest_set(j, "node_index", integer(s->node->index));
    manifest_set(j, "lowered", lowered);
    if (s->strip) manifest_set(j, "strip", integer(s->strip));
    if (s->strip) manifest_set(j, "columns", json_pack("[i,i]", s->first_column, s->end_column));
    if (s->piece) manifest_set(j, "piece", integer(s->piece));
    manifest_set(j, "units", integer(s->units));
    manifest_set(j, "backward", json_boolean(s->backward));
    manifest_set(j, "operands", operands);
}

void manifest_plan(json_t *document, json_t *steps, const Program *p)
{
    const int ids = graph_root(p->graph)->next_id;
    Lister l = { p, p->graph->arena, NEW_ARRAY(p->graph->arena, int32_t, ids + 1), manifest_made(json_array()) };
    for (int i = 0; i < ids; i++) l.of[i] = -1;
    for (size_t i = 0; i < p->step.n; i++) describe_step(&l, json_array_get(steps, i), p->step.at[i]);
    manifest_set(document, "tensors", l.tensors);
    manifest_set(document, "schedule", schedule(p));
}
