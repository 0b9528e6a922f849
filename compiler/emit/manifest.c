/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "emit/peak.h"

/* jansson returns NULL when memory runs out; every value passes here. */
static json_t *made(json_t *j)
{
    if (!j) fail_memory(0, "the report does not fit");
    return j;
}

static void set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, made(value))) fail_memory(0, "the report does not fit");
}

/* Names of files may hold bytes that are not UTF-8: those become '?'. */
static json_t *text(Arena *a, const char *s)
{
    json_t *j = json_string(s);
    if (j) return j;
    char *ascii = arena_text(a, s, strlen(s));
    for (char *c = ascii; *c; c++)
        if ((unsigned char)*c >= 128) *c = '?';
    return json_string(ascii);
}

static json_t *dims(const Tensor *t)
{
    json_t *list = made(json_array());
    for (int i = 0; i < t->shape.rank; i++) json_array_append_new(list, made(json_integer(t->shape.dim[i])));
    return list;
}

static json_t *values(Arena *a, Tensor *const *t, size_t n)
{
    json_t *list = made(json_array());
    for (size_t i = 0; i < n; i++) {
        json_t *o = made(json_object());
        set(o, "index", json_integer((json_int_t)i));
        set(o, "name", text(a, t[i]->name));
        set(o, "dtype", json_string(dtype_name(t[i]->dtype)));
        set(o, "dims", dims(t[i]));
        set(o, "bytes", json_integer(tensor_bytes(t[i])));
        if (t[i]->dynamic) set(o, "dynamic", json_true());
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *step(Arena *a, const Program *p, const Step *s)
{
    json_t *o = made(json_object());
    set(o, "index", json_integer(s->index));
    set(o, "op", text(a, s->node ? s->node->op_type : "Copy"));
    set(o, "node", text(a, s->node ? s->node->name : ""));
    set(o, "kernel", json_string(s->kernel->name));
    set(o, "macs", json_integer(s->macs));
    set(o, "live_bytes", json_integer(p->plan.live ? p->plan.live[s->index] : 0));
    return o;
}

static json_t *arena_facts(const Plan *plan)
{
    json_t *o = made(json_object());
    set(o, "size", json_integer(plan->arena_size));
    set(o, "align", json_integer(plan->arena_align));
    set(o, "lower_bound", json_integer(plan->lower_bound));
    set(o, "optimal", json_boolean(plan->optimal));
    return o;
}

static json_t *peak_facts(const Program *p)
{
    const Peak peak = peak_find(p);
    json_t *o = made(json_object()), *blocks = made(json_array()), *advice = made(json_array());
    for (size_t i = 0; i < peak.block.n; i++) {
        const PeakBlock *b = peak.block.at + i;
        json_t *j = made(json_object());
        set(j, "name", text(p->graph->arena, b->name));
        set(j, "bytes", json_integer(b->block->bytes));
        set(j, "role", json_string(peak_role_name(b->role)));
        if (b->block->ring) set(j, "rows", json_integer(b->block->ring));
        json_array_append_new(blocks, j);
    }
    for (size_t i = 0; i < peak.advice.n; i++) json_array_append_new(advice, made(text(p->graph->arena, peak.advice.at[i])));
    set(o, "first_step", json_integer(peak.first));
    set(o, "end_step", json_integer(peak.end));
    set(o, "bytes", json_integer(peak.bytes));
    set(o, "tensors", blocks);
    set(o, "advice", advice);
    return o;
}

static json_t *weight_facts(const Program *p, const ManifestFacts *f)
{
    json_t *o = made(json_object());
    set(o, "size", json_integer((json_int_t)p->weight_bytes));
    set(o, "align", json_integer(16));
    set(o, "form", json_string(f->weights_form));
    if (f->weights_sha256) set(o, "sha256", json_string(f->weights_sha256));
    return o;
}

json_t *manifest_build(const Program *p, const ManifestFacts *f)
{
    const Graph *g = p->graph;
    Arena *a = g->arena;
    json_t *m = made(json_object()), *steps = made(json_array()), *totals = made(json_object());
    int64_t macs = 0;
    for (size_t i = 0; i < p->step.n; i++) {
        json_array_append_new(steps, step(a, p, p->step.at[i]));
        macs = i64_add(macs, p->step.at[i]->macs);
    }
    set(totals, "macs", json_integer(macs));
    set(totals, "steps", json_integer((json_int_t)p->step.n));
    set(m, "schema_version", json_integer(1));
    set(m, "inlay", json_string(INLAY_VERSION));
    set(m, "name", json_string(f->name));
    if (f->model_sha256) set(m, "model_sha256", json_string(f->model_sha256));
    set(m, "opset", json_integer(graph_opset(g, "")));
    set(m, "arena", arena_facts(&p->plan));
    set(m, "peak", peak_facts(p));
    set(m, "weights", weight_facts(p, f));
    set(m, "inputs", values(a, g->input.at, g->input.n));
    set(m, "outputs", values(a, g->output.at, graph_results(g)));
    set(m, "steps", steps);
    set(m, "totals", totals);
    return m;
}

const char *manifest_text(Arena *a, json_t *document)
{
    char *s = json_dumps(document, JSON_INDENT(2));
    if (!s) fail_memory(0, "the report does not fit");
    const char *copy = arena_printf(a, "%s\n", s);
    free(s);
    return copy;
}
