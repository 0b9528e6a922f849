/* SPDX-License-Identifier: Apache-2.0
 * Model-local functions: a body whose operands are names, attributes that a
 * caller must give, and attributes with a default. Expanding them is a pass. */
#include <string.h>

#include "base/diag.h"
#include "onnx/read.h"

void function_enter(Reader *r, const WireEvent *e)
{
    (void)e;
    Frame *f = frame_push(r, graph_new(r->arena, r->store, r->file->path, NULL));
    f->function = NEW(r->arena, Function);
    *f->function = (Function){ .domain = "", .name = "", .overload = "", .body = f->graph };
    f->graph->name = f->graph->producer = "";
    f->names.n = f->defaults.n = 0;
}

static void add_operand(Reader *r, const WireEvent *e, Graph *g)
{
    Tensor *t = reader_tensor(r, g, e->at, e->length);
    const bool input = e->field == FUNCTION_INPUT;
    if (!t)
        wire_fail(&r->wire, e->at, "a function's %s without a name", input ? "input" : "output");
    if (!input) {
        t->uses++;
        VEC_PUSH(r->arena, &g->output, t);
        return;
    }
    if (t->producer || t->storage)
        fail_at(STATUS_MALFORMED, reader_loc(r, e->at, t->name), NULL,
                "a function's input is given twice");
    t->storage = MADE_BY_INPUT;
    VEC_PUSH(r->arena, &g->input, t);
}

void function_field(Reader *r, const WireEvent *e)
{
    Frame *f = reader_frame(r);
    switch (e->field) {
    case FUNCTION_NAME:
        f->function->name = f->graph->name = reader_text(r, e);
        break;
    case FUNCTION_DOMAIN:
        f->function->domain = reader_word(r, e);
        break;
    case FUNCTION_OVERLOAD:
        f->function->overload = reader_word(r, e);
        break;
    case FUNCTION_ATTRIBUTE:
        VEC_PUSH(r->arena, &f->names, reader_word(r, e));
        break;
    default:
        add_operand(r, e, f->graph);
    }
}

static void check_unique(Reader *r, const WireEvent *e, const Function *f)
{
    const char *key = arena_printf(r->arena, "%s\n%s\n%s", f->domain, f->name, f->overload);
    if (map_put(&r->functions, key, (char *)key))
        fail_at(STATUS_MALFORMED, reader_loc(r, e->at, f->name), NULL,
                "two functions have this name and domain");
}

void function_leave(Reader *r, const WireEvent *e)
{
    Frame *f = reader_frame(r);
    Function *fn = f->function;
    if (!*fn->name)
        wire_fail(&r->wire, e->at, "a function without a name");
    if (!strcmp(fn->domain, "ai.onnx"))
        fn->domain = "";
    check_unique(r, e, fn);
    fn->n_attr_names = (int)f->names.n;
    fn->attr_names = arena_copy(r->arena, f->names.at, f->names.n * sizeof *f->names.at);
    fn->n_attr_defaults = (int)f->defaults.n;
    fn->attr_defaults =
        arena_copy(r->arena, f->defaults.at, f->defaults.n * sizeof *f->defaults.at);
    graph_close(f->graph);
    VEC_PUSH(r->arena, &r->model->function, fn);
    r->depth--;
}
