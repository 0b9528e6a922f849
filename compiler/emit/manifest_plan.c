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

static const char *storage_name(const Tensor *t)
{
    switch (t->storage) {
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
    json_t *j = manifest_made(json_object());
    manifest_set(j, "index", integer((int64_t)i));
    manifest_set(j, "name", manifest_name(l->arena, t->name));
    manifest_set(j, "dtype", json_string(dtype_name(t->dtype)));
    manifest_set(j, "storage", json_string(storage_name(t)));
    if (t->storage != STORE_ARENA)
        manifest_set(j, "slot", integer(t->slot));
    if (t->storage == STORE_ARENA && l->p->plan.region.n)
        manifest_set(j, "region", integer(t->region));
    manifest_set(j, "offset", integer(t->offset));
    manifest_set(j, "bytes", integer(tensor_bytes(t)));
    manifest_set(j, "extent", integer(o->ring ? i64_mul(o->ring, o->row_bytes) : tensor_bytes(t)));
    if (o->scratch)
        manifest_set(j, "scratch", json_true());
    manifest_set(j, "first", integer(e->first));
    manifest_set(j, "last", integer(e->last));
    return j;
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

static const char *access_name(const Operand *o)
{
    return o->scratch ? "scratch" : o->write && o->read ? "update" : o->write ? "write" : "read";
}

static json_t *operand(const ManifestPlan *l, const Operand *o, const Reach *reach, int32_t step)
{
    if (!o->tensor)
        return json_null();
    json_t *j = manifest_made(json_object());
    int64_t at;
    const Tensor *t = tensor_root(o->tensor, &at);
    at += o->offset;
    manifest_set(j, "access", json_string(access_name(o)));
    manifest_set(j, "reach", integer(bounds_bytes(o, reach)));
    if (t->storage == STORE_WEIGHTS) {
        manifest_set(j, "weights", integer(t->offset + at));
        manifest_set(j, "bytes", integer(tensor_bytes(o->tensor)));
        return j;
    }
    manifest_set(j, "tensor", integer(l->of[t->id]));
    manifest_set(j, "at", integer(at));
    manifest_set(j, "rows", integer(o->rows));
    manifest_set(j, "row", integer(o->row_bytes));
    manifest_set(j, "pixel", integer(o->pixel));
    if (o->part)
        manifest_set(j, "part", integer(o->part));
    if (o->pitch)
        manifest_set(j, "pitch", integer(o->pitch));
    if (o->ring)
        manifest_set(j, "ring", integer(o->ring));
    if (o->read && !o->scratch)
        manifest_set(j, "rule", rule(&o->rule, l->p->step.at[step]->units));
    if (o->pixels.tile)
        manifest_set(j, "pixels",
                     json_pack("{s:i,s:i,s:i,s:i}", "stride", o->pixels.stride, "pad",
                               o->pixels.pad, "extent", o->pixels.extent, "tile", o->pixels.tile));
    return j;
}

static json_t *segment(const Segment *g)
{
    json_t *j = manifest_made(json_object());
    manifest_set(j, "first", integer(g->first));
    manifest_set(j, "steps", integer(g->count));
    if (!g->list)
        return j;
    json_t *list = manifest_made(json_array());
    for (int32_t i = 0; i < g->prologue + g->period + g->epilogue; i++)
        json_array_append_new(list, manifest_made(integer(g->list[i])));
    manifest_set(j, "prologue", integer(g->prologue));
    manifest_set(j, "period", integer(g->period));
    manifest_set(j, "repeats", integer(g->repeats));
    manifest_set(j, "epilogue", integer(g->epilogue));
    manifest_set(j, "list", list);
    return j;
}

void manifest_schedule(ManifestText *m, const Program *p)
{
    manifest_list(m, "schedule");
    for (size_t i = 0; i < p->plan.segment.n; i++)
        manifest_element(m, segment(p->plan.segment.at + i));
    if (!p->plan.segment.n)
        manifest_element(m, segment(&(Segment){ .count = (int32_t)p->step.n }));
    manifest_list_end(m);
}

void manifest_operands(const ManifestPlan *l, json_t *j, const Step *s)
{
    json_t *lowered = manifest_made(json_array()), *operands = manifest_made(json_array());
    Reach *reach = NEW_ARRAY(&l->p->graph->store->scratch, Reach, s->n_operand + 1);
    bounds_of(l->p, s, reach);
    for (int32_t i = 0; i < s->n_lowered; i++)
        json_array_append_new(lowered, manifest_made(integer(s->lowered[i])));
    for (int k = 0; k < s->n_operand; k++)
        json_array_append_new(operands,
                              manifest_made(operand(l, s->operand + k, reach + k, s->index)));
    if (s->node)
        manifest_set(j, "node_index", integer(s->node->index));
    manifest_set(j, "lowered", lowered);
    if (s->strip)
        manifest_set(j, "strip", integer(s->strip));
    if (s->strip)
        manifest_set(j, "columns", json_pack("[i,i]", s->first_column, s->end_column));
    if (s->piece)
        manifest_set(j, "piece", integer(s->piece));
    manifest_set(j, "units", integer(s->units));
    manifest_set(j, "backward", json_boolean(s->backward));
    manifest_set(j, "operands", operands);
}

void manifest_tensors(ManifestText *m, const ManifestPlan *l)
{
    manifest_list(m, "tensors");
    for (size_t i = 0; i < l->listed.n; i++)
        manifest_element(m, entry(l, i));
    manifest_list_end(m);
}

static void list_tensor(ManifestPlan *l, const Operand *o, int32_t step)
{
    if (!o->tensor)
        return;
    int64_t at;
    const Tensor *t = tensor_root(o->tensor, &at);
    if (t->storage == STORE_WEIGHTS)
        return;
    if (l->of[t->id] < 0) {
        l->of[t->id] = (int32_t)l->listed.n;
        VEC_PUSH(l->arena, &l->listed, ((Listed){ t, o, step, step }));
    }
    l->listed.at[l->of[t->id]].last = step;
}

ManifestPlan *manifest_plan(const Program *p)
{
    Arena *a = p->graph->arena;
    const int ids = graph_root(p->graph)->next_id;
    ManifestPlan *l = NEW_ARRAY(a, ManifestPlan, 1);
    *l = (ManifestPlan){ .p = p, .arena = a, .of = NEW_ARRAY(a, int32_t, ids + 1) };
    for (int i = 0; i < ids; i++)
        l->of[i] = -1;
    for (size_t i = 0; i < p->step.n; i++)
        for (int k = 0; k < p->step.at[i]->n_operand; k++)
            list_tensor(l, p->step.at[i]->operand + k, (int32_t)i);
    return l;
}
