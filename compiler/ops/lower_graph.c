/* SPDX-License-Identifier: Apache-2.0
 * Lowering of a whole graph. Requires: all passes done. Ensures: every operand of every step has a
 * storage. */
#include "ops/lower_graph.h"

#include <string.h>

#include "base/size.h"
#include "bounds/bounds.h"
#include "ir/words.h"
#include "kernels/pushed.h"
#include "ops/control.h"
#include "ops/lower.h"
#include "ops/lower_state.h"
#include "ops/lower_unread.h"

static void assign_storage(Graph *graph)
{
    for (size_t i = 0; i < graph->tensor.n; i++)
        if (!graph->tensor.at[i]->value)
            graph->tensor.at[i]->storage = STORE_ARENA;
    for (size_t i = 0; i < graph->input.n; i++) {
        graph->input.at[i]->storage = STORE_INPUT;
        graph->input.at[i]->slot = (int)i;
    }
}

/* An output must be a tensor of its own, made by a step: inputs, constants and repeated outputs get
 * a copy. */
static Tensor *own_output(Graph *graph, Tensor *tensor)
{
    if (tensor->producer && tensor->storage == STORE_ARENA)
        return tensor;
    Tensor *own = graph_add_tensor(graph, NULL, tensor->dtype, tensor->shape);
    own->name = tensor->name;
    own->dynamic = tensor->dynamic;
    own->words = tensor->words;
    own->perm = tensor->perm;
    return own;
}

/* The first operand that sees an input's rows; NULL: none does. */
static const Operand *rows_reader(const Program *program, const Tensor *input)
{
    for (size_t i = 0; i < program->step.n; i++)
        for (int k = 0; k < program->step.at[i]->n_operand; k++) {
            const Operand *o = program->step.at[i]->operand + k;
            int64_t at;
            if (o->tensor && tensor_root(o->tensor, &at) == input && !at &&
                !o->offset && !o->part && o->rows > 1 &&
                tensor_bytes(input) % o->row_bytes == 0)
                return o;
        }
    return NULL;
}

static Loc tensor_loc(const Graph *graph, const Tensor *tensor)
{
    return (Loc){
        .file = graph->file,
        .byte = -1,
        .node = -1,
        .name = tensor->name,
    };
}

/* The last step becomes the first one. */
static void put_first(Program *program)
{
    Step **all = program->step.at;
    const size_t n = program->step.n;
    Step *last = all[n - 1];
    memmove(all + 1, all, (n - 1) * sizeof *all);
    all[0] = last;
    for (size_t i = 0; i < n; i++) {
        all[i]->index = (int)i;
        if (i)
            control_move(all[i]);
    }
}

/* Rows that are handed in are made like those of any step, and before all others. */
static void push_rows(Lower *lower, Tensor *tensor)
{
    Program *p = lower->program;
    const Operand *reader = rows_reader(p, tensor);
    if (!reader)
        fail_at(STATUS_UNSUPPORTED, tensor_loc(p->graph, tensor),
                "--io=arena takes it whole, where the header says",
                "the model cannot take this input row by row: its first step "
                "reads it as a whole");
    const inlay_input_params params = { .bytes = reader->row_bytes };
    Step *s = lower_step(lower, "input", &params);
    Operand *operand = step_out(s, tensor);
    operand->rows = i32_checked(tensor_bytes(tensor) / reader->row_bytes);
    operand->row_bytes = reader->row_bytes;
    operand->pixel = reader->pixel;
    s->units = operand->rows;
    s->pushed = true;
    put_first(p);
}

/* Lowering treats all inputs and outputs as the caller's; those in the arena join the rest of it
 * now. */
static void move_in(Lower *lower, Graph *graph)
{
    int64_t at;
    for (size_t i = 0; i < graph->input.n; i++)
        if (graph_in_form(graph, i) == IO_ROWS)
            push_rows(lower, graph->input.at[i]);
    for (size_t i = 0; i < graph->input.n; i++)
        if (graph_in_form(graph, i) != IO_CALLER)
            graph->input.at[i]->storage = STORE_ARENA;
    for (size_t i = 0; i < graph_results(graph); i++)
        if (graph_out_form(graph, i) == IO_ARENA)
            graph->output.at[i]->storage = STORE_ARENA;
    lower_states(lower);
    for (size_t k = 0; k < graph->all.n; k++)
        for (size_t i = 0; i < graph->all.at[k]->tensor.n; i++) {
            Tensor *t = graph->all.at[k]->tensor.at[i];
            if (t->view_of)
                t->storage = tensor_root(t, &at)->storage;
        }
}

static void check_output(const Graph *graph, const Tensor *tensor)
{
    if (tensor->sequence || !shape_known(&tensor->shape))
        error_at(STATUS_UNSUPPORTED, tensor_loc(graph, tensor),
                 "name tensors as outputs",
                 "the output is no tensor of a known shape (a sequence whose "
                 "length only a run knows?)");
}

static void check_graph(const Graph *graph)
{
    for (size_t i = 0; i < graph->node.n; i++)
        op_check_type(graph->node.at[i]);
    for (size_t i = 0; i < graph->output.n; i++)
        check_output(graph, graph->output.at[i]);
    fail_if_errors();
}

/* From here on codes of words are integers. */
static void settle_words(Graph *graph)
{
    for (size_t k = 0; k < graph->all.n; k++)
        for (size_t i = 0; i < graph->all.at[k]->tensor.n; i++) {
            Tensor *tensor = graph->all.at[k]->tensor.at[i];
            if (tensor->dtype != DT_STRING)
                continue;
            tensor->words = true;
            tensor->dtype = DT_I64;
            tensor->value = words_integers(graph->store, tensor->value);
        }
}

/* Every step is known by its number from here on, whatever the planner makes of it. */
static void number_steps(Program *program)
{
    int32_t *number =
        NEW_ARRAY(program->graph->arena, int32_t, program->step.n + 1);
    program->lowered = (int32_t)program->step.n;
    for (int32_t i = 0; i < program->lowered; i++) {
        number[i] = i;
        program->step.at[i]->lowered = number + i;
        program->step.at[i]->n_lowered = 1;
    }
}

/* Gives each output a place of its own; returns the tensors that nodes make for them. */
static Tensor **place_outputs(Graph *g)
{
    Tensor **made =
        arena_copy(g->arena, g->output.at, g->output.n * sizeof *made);
    for (size_t i = 0; i < g->output.n; i++) {
        Tensor *o = g->output.at[i] = own_output(g, made[i]);
        o->storage = STORE_OUTPUT;
        o->slot = (int)i;
    }
    return made;
}

static Program *program_new(Graph *graph, const LowerOptions *options)
{
    Program *program = NEW(graph->arena, Program);
    *program = (Program){
        .graph = graph,
        .family = options->family,
        .narrow = options->narrow,
        .winograd = options->for_speed,
        .palette = options->palette,
    };
    return program;
}

static Lower lower_new(Program *program, const LowerOptions *options)
{
    Graph *graph = program->graph;
    return (Lower){
        .program = program,
        .graph = graph,
        .arena = graph->arena,
        .store = graph->store,
        .family = options->family,
        .pack_width = options->family->float_width,
        .narrow = options->narrow,
        .narrow_bytes = options->narrow && !options->for_speed,
        .for_speed = options->for_speed && options->family->float_vectors,
        .any_rows = options->any_rows,
        .window = options->window,
        .palette = options->palette,
    };
}

Program *lower_graph(Graph *g, const LowerOptions *options)
{
    Program *p = program_new(g, options);
    Lower lower = lower_new(p, options);
    check_graph(g);
    settle_words(g);
    assign_storage(g);
    Tensor **made = place_outputs(g);
    for (size_t i = 0; i < g->node.n; i++)
        lower_node(&lower, g->node.at[i]);
    for (size_t i = 0; i < g->output.n; i++)
        if (g->output.at[i] != made[i])
            lower_copy(&lower, g->output.at[i], made[i]);
    lower_unread(p);
    move_in(&lower, g);
    number_steps(p);
    lower_empty(p);
    bounds_check(p);
    return p;
}
