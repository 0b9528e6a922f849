/* SPDX-License-Identifier: Apache-2.0
 * Lowering of a whole graph. Requires: all passes done. Ensures: every operand of every step has a
 * storage. */
#include "ops/lower_graph.h"

#include <string.h>

#include "base/size.h"
#include "bounds/bounds.h"
#include "kernels/pushed.h"
#include "ops/control.h"
#include "ops/lower.h"

static void assign_storage(Graph *g)
{
    for (size_t i = 0; i < g->tensor.n; i++)
        if (!g->tensor.at[i]->value)
            g->tensor.at[i]->storage = STORE_ARENA;
    for (size_t i = 0; i < g->input.n; i++) {
        g->input.at[i]->storage = STORE_INPUT;
        g->input.at[i]->slot = (int)i;
    }
}

/* An output must be a tensor of its own, made by a step: inputs, constants and repeated outputs get
 * a copy. */
static Tensor *own_output(Graph *g, Tensor *t)
{
    if (t->producer && t->storage == STORE_ARENA)
        return t;
    Tensor *own = graph_add_tensor(g, NULL, t->dtype, t->shape);
    own->name = t->name;
    own->dynamic = t->dynamic;
    own->perm = t->perm;
    return own;
}

/* The first operand that sees an input's rows; NULL: none does. */
static const Operand *rows_reader(const Program *p, const Tensor *input)
{
    for (size_t i = 0; i < p->step.n; i++)
        for (int k = 0; k < p->step.at[i]->n_operand; k++) {
            const Operand *o = p->step.at[i]->operand + k;
            int64_t at;
            if (o->tensor && tensor_root(o->tensor, &at) == input && !at && !o->offset &&
                !o->part && o->rows > 1 && tensor_bytes(input) % o->row_bytes == 0)
                return o;
        }
    return NULL;
}

/* Rows that are handed in are made like those of any step, and before all others. */
static void push_rows(Lower *l, Tensor *t)
{
    Program *p = l->program;
    const Operand *reader = rows_reader(p, t);
    const Loc loc = { .file = p->graph->file, .byte = -1, .node = -1, .name = t->name };
    if (!reader)
        fail_at(STATUS_UNSUPPORTED, loc, "--io=arena takes it whole, where the header says",
                "the model cannot take this input row by row: its first step reads it as a whole");
    const inlay_input_params params = { .bytes = reader->row_bytes };
    Step *s = lower_step(l, NULL, "input", &params);
    Operand *o = step_out(s, t);
    o->rows = s->units = i32_checked(tensor_bytes(t) / reader->row_bytes);
    o->row_bytes = reader->row_bytes;
    o->pixel = reader->pixel;
    s->pushed = true;
    memmove(p->step.at + 1, p->step.at, (p->step.n - 1) * sizeof *p->step.at);
    p->step.at[0] = s;
    for (size_t i = 0; i < p->step.n; i++) {
        p->step.at[i]->index = (int)i;
        if (i)
            control_move(p->step.at[i]);
    }
}

/* Lowering treats all inputs and outputs as the caller's; those in the arena join the rest of it
 * now. */
static void move_in(Lower *l, Graph *g)
{
    int64_t at;
    for (size_t i = 0; i < g->input.n; i++)
        if (graph_in_form(g, i) == IO_ROWS)
            push_rows(l, g->input.at[i]);
    for (size_t i = 0; i < g->input.n; i++)
        if (graph_in_form(g, i) != IO_CALLER)
            g->input.at[i]->storage = STORE_ARENA;
    for (size_t i = 0; i < graph_results(g); i++)
        if (graph_out_form(g, i) != IO_CALLER)
            g->output.at[i]->storage = STORE_ARENA;
    for (size_t k = 0; k < g->all.n; k++)
        for (size_t i = 0; i < g->all.at[k]->tensor.n; i++) {
            Tensor *t = g->all.at[k]->tensor.at[i];
            if (t->view_of)
                t->storage = tensor_root(t, &at)->storage;
        }
}

static void check_output(const Graph *g, const Tensor *t)
{
    const Loc loc = { .file = g->file, .byte = -1, .node = -1, .name = t->name };
    if (t->sequence || !shape_known(&t->shape))
        error_at(STATUS_UNSUPPORTED, loc, "name the tensors of the sequence as outputs",
                 "the output is no tensor of a known shape (a sequence?)");
}

static void check_graph(const Graph *g)
{
    for (size_t i = 0; i < g->node.n; i++)
        op_check_type(g->node.at[i]);
    for (size_t i = 0; i < g->output.n; i++)
        check_output(g, g->output.at[i]);
    fail_if_errors();
}

/* Every step is known by its number from here on, whatever the planner makes of it. */
static void number_steps(Program *p)
{
    int32_t *number = NEW_ARRAY(p->graph->arena, int32_t, p->step.n + 1);
    p->lowered = (int32_t)p->step.n;
    for (int32_t i = 0; i < p->lowered; i++) {
        number[i] = i;
        p->step.at[i]->lowered = number + i;
        p->step.at[i]->n_lowered = 1;
    }
}

Program *lower_graph(Graph *g, int pack_width)
{
    Program *p = NEW(g->arena, Program);
    *p = (Program){ .graph = g };
    Lower l = { .program = p, .graph = g, .arena = g->arena, .pack_width = pack_width };
    check_graph(g);
    assign_storage(g);
    Tensor **made = arena_copy(g->arena, g->output.at, g->output.n * sizeof *made);
    for (size_t i = 0; i < g->output.n; i++) {
        Tensor *o = g->output.at[i] = own_output(g, made[i]);
        o->storage = STORE_OUTPUT;
        o->slot = (int)i;
    }
    for (size_t i = 0; i < g->node.n; i++)
        lower_node(&l, g->node.at[i]);
    for (size_t i = 0; i < g->output.n; i++)
        if (g->output.at[i] != made[i])
            lower_copy(&l, NULL, g->output.at[i], made[i]);
    move_in(&l, g);
    number_steps(p);
    lower_empty(p);
    bounds_check(p);
    return p;
}
