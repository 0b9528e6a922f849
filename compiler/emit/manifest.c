/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/manifest.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/size.h"
#include "emit/peak.h"
#include "emit/seal.h"

/* jansson has memory (base/json_memory.h) and returns NULL for text that is not UTF-8 alone; every
 * value passes here. */
json_t *manifest_made(json_t *j)
{
    if (!j)
        fail_memory(0, "the report does not fit");
    return j;
}

void manifest_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, manifest_made(value)))
        fail_memory(0, "the report does not fit");
}

/* Names of files may hold bytes that are not UTF-8: those become '?'. */
json_t *manifest_name(Arena *a, const char *s)
{
    json_t *j = json_string(s);
    if (j)
        return j;
    char *ascii = arena_text(a, s, strlen(s));
    for (char *c = ascii; *c; c++)
        if ((unsigned char)*c >= 128)
            *c = '?';
    return json_string(ascii);
}

static json_t *dims(Shape s)
{
    json_t *list = manifest_made(json_array());
    for (int i = 0; i < s.rank; i++)
        json_array_append_new(list, manifest_made(json_integer(s.dim[i])));
    return list;
}

/* Where a value lies that the arena holds, and in which order of dimensions. */
static void inside_facts(json_t *o, const Program *p, const Tensor *t)
{
    json_t *perm = manifest_made(json_array());
    for (int i = 0; i < t->shape.rank; i++)
        json_array_append_new(perm, manifest_made(json_integer(t->perm ? t->perm[i] : i)));
    manifest_set(o, "offset", json_integer(t->offset));
    if (p->plan.region.n)
        manifest_set(o, "region", json_integer(t->region));
    manifest_set(o, "arena_dims", dims(t->shape));
    manifest_set(o, "arena_perm", perm);
}

static void rows_facts(json_t *o, const Program *p, const Step *s)
{
    const Operand *q = s->operand;
    manifest_set(o, "rows", json_integer(program_rows(p, s)));
    manifest_set(o, "row_bytes", json_integer(q->row_bytes));
    manifest_set(o, "rows_held", json_integer(q->ring ? q->ring : q->rows));
}

static json_t *values(const Program *p, Tensor *const *t, size_t n)
{
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < n; i++) {
        json_t *o = manifest_made(json_object());
        manifest_set(o, "index", json_integer((json_int_t)i));
        manifest_set(o, "name", manifest_name(p->graph->arena, t[i]->name));
        manifest_set(o, "dtype", json_string(dtype_name(t[i]->dtype)));
        manifest_set(o, "dims", dims(tensor_model_shape(t[i])));
        manifest_set(o, "bytes", json_integer(tensor_bytes(t[i])));
        const Step *pushed = program_pushed(p);
        const bool rows = pushed && pushed->operand[0].tensor == t[i];
        manifest_set(o, "place",
                     json_string(rows                           ? "rows"
                                 : t[i]->storage == STORE_ARENA ? "arena"
                                                                : "caller"));
        if (t[i]->storage == STORE_ARENA)
            inside_facts(o, p, t[i]);
        if (rows)
            rows_facts(o, p, pushed);
        if (t[i]->dynamic)
            manifest_set(o, "dynamic", json_true());
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *step(Arena *a, const Program *p, const Step *s)
{
    json_t *o = manifest_made(json_object());
    manifest_set(o, "index", json_integer(s->index));
    manifest_set(o, "op", manifest_name(a, step_name(s)));
    manifest_set(o, "node", manifest_name(a, s->node ? s->node->name : ""));
    manifest_set(o, "kernel", json_string(s->kernel->name));
    manifest_set(o, "macs", json_integer(s->macs));
    manifest_set(o, "live_bytes", json_integer(p->plan.live ? p->plan.live[s->index] : 0));
    return o;
}

static json_t *arena_facts(const Plan *plan, bool pushed)
{
    json_t *o = manifest_made(json_object());
    manifest_set(o, "size", json_integer(plan->arena_size));
    manifest_set(o, "align", json_integer(plan->arena_align));
    manifest_set(o, "lower_bound", json_integer(plan->lower_bound));
    manifest_set(o, "optimal", json_boolean(plan->optimal));
    int64_t counters = 0;
    for (size_t i = 0; i < plan->segment.n; i++)
        if (plan->segment.at[i].list)
            counters = i64_max(counters, 2 * (int64_t)plan->segment.at[i].count);
    if (counters)
        manifest_set(o, "counters",
                     json_pack("{s:I,s:I}", "offset", (json_int_t)plan->state, "bytes",
                               (json_int_t)counters));
    if (pushed)
        manifest_set(
            o, "run_state",
            json_pack("{s:I,s:i}", "offset", (json_int_t)plan->place, "bytes", PLACE_BYTES));
    return o;
}

static json_t *curve_facts(const Plan *plan)
{
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < plan->curve.n; i++) {
        const CurvePoint *c = plan->curve.at + i;
        json_t *o = manifest_made(json_object());
        manifest_set(o, "arena", json_integer(c->arena));
        manifest_set(o, "macs", json_integer(c->macs));
        manifest_set(o, "mac_factor", json_real(curve_factor(plan, c)));
        manifest_set(o, "cost", json_integer(c->cost));
        manifest_set(o, "streamed_steps", json_integer(c->streamed));
        manifest_set(o, "strips", json_integer(c->strips));
        manifest_set(o, "steps", json_integer(c->steps));
        if (c->chosen)
            manifest_set(o, "chosen", json_true());
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *peak_facts(const Program *p)
{
    const Peak peak = peak_find(p);
    json_t *o = manifest_made(json_object()), *blocks = manifest_made(json_array()),
           *advice = manifest_made(json_array());
    for (size_t i = 0; i < peak.block.n; i++) {
        const PeakBlock *b = peak.block.at + i;
        json_t *j = manifest_made(json_object());
        manifest_set(j, "name", manifest_name(p->graph->arena, b->name));
        manifest_set(j, "bytes", json_integer(b->block->bytes));
        manifest_set(j, "role", json_string(peak_role_name(b->role)));
        if (b->block->ring)
            manifest_set(j, "rows", json_integer(b->block->ring));
        json_array_append_new(blocks, j);
    }
    for (size_t i = 0; i < peak.advice.n; i++)
        json_array_append_new(advice,
                              manifest_made(manifest_name(p->graph->arena, peak.advice.at[i])));
    manifest_set(o, "first_step", json_integer(peak.first));
    manifest_set(o, "end_step", json_integer(peak.end));
    manifest_set(o, "bytes", json_integer(peak.bytes));
    manifest_set(o, "tensors", blocks);
    manifest_set(o, "advice", advice);
    return o;
}

/* Memories instead of one arena. */
static json_t *region_facts(const Plan *plan)
{
    json_t *list = manifest_made(json_array());
    for (size_t i = 0; i < plan->region.n; i++) {
        const RegionUse *r = plan->region.at + i;
        json_t *o = manifest_made(json_object());
        manifest_set(o, "name", json_string(r->name));
        manifest_set(o, "capacity", json_integer(r->capacity));
        manifest_set(o, "cost", json_integer(r->cost));
        manifest_set(o, "size", json_integer(r->size));
        manifest_set(o, "lower_bound", json_integer(r->lower_bound));
        manifest_set(o, "traffic", json_integer(r->traffic));
        json_array_append_new(list, o);
    }
    return list;
}

static void put_regions(ManifestText *m, const Plan *plan)
{
    if (!plan->region.n)
        return;
    manifest_key(m, "regions", region_facts(plan));
    manifest_key(m, "regions_cost",
                 json_pack("{s:I,s:I,s:b}", "cost", (json_int_t)plan->region_cost, "lower_bound",
                           (json_int_t)plan->region_least, "optimal",
                           plan->region_cost == plan->region_least));
}

static json_t *weight_facts(const Program *p, const ManifestFacts *f)
{
    json_t *o = manifest_made(json_object());
    manifest_set(o, "size", json_integer((json_int_t)p->weight_bytes));
    if (p->weights_alike)
        manifest_set(o, "at_most", json_true());
    manifest_set(o, "align", json_integer(16));
    manifest_set(o, "form", json_string(f->weights_form));
    if (p->weight_bytes && !p->weights_alike)
        manifest_set(o, "layout",
                     json_string(arena_printf(p->graph->arena, "%016" PRIx64, seal_layout(p))));
    if (f->weights_sha256)
        manifest_set(o, "sha256", json_string(f->weights_sha256));
    return o;
}

static json_t *names(Arena *a, const char *const *list, bool until_equals)
{
    json_t *j = manifest_made(json_array());
    for (; list && *list; list++) {
        const char *eq = until_equals ? strrchr(*list, '=') : NULL;
        json_array_append_new(j, manifest_made(manifest_name(
                                     a, eq ? arena_text(a, *list, (size_t)(eq - *list)) : *list)));
    }
    return j;
}

/* What the steps depend on beside the model. Of a constant only the name: where its file lies is
 * the caller's. */
static json_t *options(Arena *a, const Program *p, const ManifestFacts *f)
{
    json_t *o = manifest_made(json_object());
    manifest_set(o, "shape", names(a, f->shape, false));
    manifest_set(o, "dim", names(a, f->dim, false));
    manifest_set(o, "const", names(a, f->constant, true));
    manifest_set(o, "without", names(a, f->without, false));
    manifest_set(o, "io", names(a, f->io, false));
    manifest_set(o, "preserve_input", json_boolean(p->plan.preserve_input));
    manifest_set(o, "pack", json_integer(f->pack_width));
    manifest_set(o, "lowered_steps", json_integer(p->lowered));
    return o;
}

/* ---- the text: one line a key, and one for each element of a list: short, and good to compare
 * ---- */

static void put(const ManifestText *m, const char *s)
{
    m->sink.put(m->sink.to, s, strlen(s));
}

/* Leaves the value's memory as it is. */
static void line(const ManifestText *m, json_t *j)
{
    char *s = json_dumps(manifest_made(j), JSON_ENCODE_ANY);
    if (!s)
        fail_memory(0, "the report does not fit");
    put(m, s);
}

static void release(const ManifestText *m)
{
    arena_release(json_memory(), m->free);
}

static void begin(ManifestText *m, const char *key)
{
    put(m, m->any_key ? ",\n  \"" : "{\n  \"");
    put(m, key);
    put(m, "\": ");
    m->any_key = true;
}

void manifest_list(ManifestText *m, const char *key)
{
    begin(m, key);
    m->any_element = false;
}

static void element(ManifestText *m, json_t *value)
{
    put(m, m->any_element ? ",\n    " : "[\n    ");
    line(m, value);
    m->any_element = true;
}

void manifest_element(ManifestText *m, json_t *value)
{
    element(m, value);
    release(m);
}

void manifest_list_end(ManifestText *m)
{
    put(m, m->any_element ? "\n  ]" : "[]");
}

void manifest_key(ManifestText *m, const char *key, json_t *value)
{
    const size_t n = json_array_size(value);
    if (n) {
        manifest_list(m, key);
        for (size_t i = 0; i < n; i++)
            element(m, json_array_get(value, i));
        manifest_list_end(m);
    } else {
        begin(m, key);
        line(m, value);
    }
    release(m);
}

/* ---- the document ---- */

static void heading(ManifestText *m, const Program *p, const ManifestFacts *f)
{
    const Graph *g = p->graph;
    manifest_key(m, "schema_version", json_integer(1));
    manifest_key(m, "inlay", json_string(INLAY_VERSION));
    manifest_key(m, "name", json_string(f->name));
    if (f->model_sha256)
        manifest_key(m, "model_sha256", json_string(f->model_sha256));
    if (f->target)
        manifest_key(m, "target", json_string(f->target));
    if (f->files) /* early: the next compile reads this far */
        manifest_key(m, "files", f->files);
    manifest_key(m, "options", options(g->arena, p, f));
    manifest_key(m, "opset", json_integer(graph_opset(g, "")));
    manifest_key(m, "arena", arena_facts(&p->plan, program_pushed(p) != NULL));
    put_regions(m, &p->plan);
    manifest_key(m, "peak", peak_facts(p));
    if (p->plan.curve.n)
        manifest_key(m, "curve", curve_facts(&p->plan));
    manifest_key(m, "weights", weight_facts(p, f));
    manifest_key(m, "inputs", values(p, g->input.at, g->input.n));
    manifest_key(m, "outputs", values(p, g->output.at, graph_results(g)));
}

static int64_t write_steps(ManifestText *m, const Program *p, const ManifestPlan *plan)
{
    int64_t macs = 0;
    manifest_list(m, "steps");
    for (size_t i = 0; i < p->step.n; i++) {
        json_t *j = step(p->graph->arena, p, p->step.at[i]);
        manifest_operands(plan, j, p->step.at[i]);
        manifest_element(m, j);
        macs = i64_add(macs, p->step.at[i]->macs);
    }
    manifest_list_end(m);
    return macs;
}

void manifest_write(const Program *p, const ManifestFacts *f, json_t *stats, Sink sink)
{
    ManifestText m = { .sink = sink, .free = arena_mark(json_memory()) };
    const ManifestPlan *plan = manifest_plan(p);
    heading(&m, p, f);
    manifest_tensors(&m, plan);
    manifest_schedule(&m, p);
    const int64_t macs = write_steps(&m, p, plan);
    manifest_key(&m, "totals",
                 json_pack("{s:I,s:I}", "macs", (json_int_t)macs, "steps", (json_int_t)p->step.n));
    if (stats)
        manifest_key(&m, "stats", stats);
    put(&m, "\n}\n");
}
