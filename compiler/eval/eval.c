/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/eval.h"

#include <string.h>

#include "base/size.h"
#include "kernels/pushed.h"
#include "ops/nest.h"

enum { ALIGN = 64 };

static int64_t place_root(Tensor *tensor, int64_t at)
{
    int64_t offset;
    Tensor *root = tensor_root(tensor, &offset);
    if (root->storage != STORE_ARENA || root->placed)
        return at;
    root->placed = true;
    root->offset = at;
    return i64_add(at, (int64_t)size_align((size_t)tensor_bytes(root) + ALIGN, ALIGN));
}

int64_t eval_place_apart(Program *program)
{
    int64_t at = 0;
    for (size_t i = 0; i < program->step.n; i++)
        for (int k = 0; k < program->step.at[i]->n_operand; k++)
            if (program->step.at[i]->operand[k].tensor)
                at = place_root(program->step.at[i]->operand[k].tensor, at);
    return at;
}

static void lay_out(Program *program)
{
    uint64_t at = 0;
    for (size_t i = 0; i < program->weight.n; i++) {
        WeightSlot *w = program->weight.at + i;
        w->bytes = (uint64_t)tensor_bytes(w->tensor);
        w->offset = at;
        w->tensor->offset = (int64_t)at;
        at = size_align(at + w->bytes, ALIGN);
    }
    program->weight_bytes = at;
}

unsigned char *eval_weights(Arena *arena, Program *program)
{
    if (!program->weight_bytes)
        lay_out(program);
    unsigned char *all = arena_alloc(arena, program->weight_bytes + ALIGN);
    for (size_t i = 0; i < program->weight.n; i++) {
        const WeightSlot *w = program->weight.at + i;
        const void *v = recipe_values(program->graph->store, arena, w->tensor->value);
        if (w->bytes)
            memcpy(all + w->offset, v, w->bytes);
    }
    return all;
}

/* The caller's row-major values into the arena (in), or from it, in the order of the tensor's
 * layout. */
static void move_value(const Tensor *tensor, unsigned char *inside, unsigned char *value, bool in)
{
    const Shape model = tensor_model_shape(tensor);
    const size_t bytes = (size_t)dtype_bits(tensor->dtype) / 8;
    int64_t stride[MAX_RANK];
    int64_t at[MAX_RANK] = { 0 };
    if (!tensor->perm) {
        memcpy(in ? inside : value, in ? value : inside, (size_t)tensor_bytes(tensor));
        return;
    }
    shape_strides(&model, stride);
    const int64_t n = tensor_count(tensor);
    for (int64_t k = 0; k < n; k++) {
        size_t from = 0;
        for (int i = 0; i < tensor->shape.rank; i++)
            from += (size_t)(at[i] * stride[tensor->perm[i]]);
        unsigned char *a = inside + (size_t)k * bytes;
        unsigned char *b = value + from * bytes;
        memcpy(in ? a : b, in ? b : a, bytes);
        for (int i = tensor->shape.rank; i-- > 0 && ++at[i] == tensor->shape.dim[i];)
            at[i] = 0;
    }
}

/* The run, its input handed in row by row. */
static int run_rows(const Program *program, const Step *pushed, const inlay_model *m,
                    void *const *base, void *const *in)
{
    const Tensor *t = pushed->operand[0].tensor;
    unsigned char *all = arena_alloc(&program->graph->store->scratch, (size_t)tensor_bytes(t));
    unsigned char *row = all;
    move_value(t, all, in[t->slot], true);
    int r = inlay_go_on(m, base, (size_t)program->plan.place, pushed->index, 0);
    for (; r == INLAY_MORE; row += pushed->operand[0].row_bytes) {
        memcpy(inlay_input_row(m, base, (size_t)program->plan.place, pushed->index), row,
               (size_t)pushed->operand[0].row_bytes);
        r = inlay_go_on(m, base, (size_t)program->plan.place, pushed->index, 1);
    }
    return r;
}

static unsigned char *inside(const Program *program, void *const *base, const Tensor *tensor)
{
    return (unsigned char *)base[program_base(program, tensor)] + tensor->offset;
}

static void move_values(const Program *program, void *const *base, void *const *in,
                        void *const *out, bool inwards)
{
    const Graph *g = program->graph;
    for (size_t i = 0; inwards && i < g->input.n; i++)
        if (g->input.at[i]->storage == STORE_ARENA && graph_in_form(g, i) == IO_ARENA)
            move_value(g->input.at[i], inside(program, base, g->input.at[i]), in[i], true);
    for (size_t i = 0; !inwards && i < graph_results(g); i++)
        if (g->output.at[i]->storage == STORE_ARENA)
            move_value(g->output.at[i], inside(program, base, g->output.at[i]), out[i], false);
}

int eval_run_in(Program *program, unsigned char *const *memory, void *const *in, void *const *out)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    void **base = NEW_ARRAY(arena, void *, program_bases(program));
    const size_t regions = (size_t)program_regions(program);
    const size_t first = INLAY_ARENA + regions;
    base[INLAY_WEIGHTS] = eval_weights(arena, program);
    for (size_t r = 0; r < regions; r++)
        base[INLAY_ARENA + r] = memory[r];
    for (size_t i = 0; i < program->graph->input.n; i++)
        base[first + i] = in[i];
    for (size_t i = 0; i < program->graph->output.n; i++)
        base[first + program->graph->input.n + i] = out[i];
    const inlay_model m = program_model(arena, program);
    move_values(program, base, in, out, true);
    const Step *pushed = program_pushed(program);
    const int error = pushed ? run_rows(program, pushed, &m, base, in) : inlay_run(&m, base);
    if (!error)
        move_values(program, base, in, out, false);
    arena_release(arena, mark);
    return error;
}

int eval_run(Program *program, void *const *in, void *const *out)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    unsigned char **memory = NEW_ARRAY(arena, unsigned char *, program_regions(program));
    for (int r = 0; r < program_regions(program); r++) {
        unsigned char *area =
            arena_alloc(arena, (size_t)program_region_size(program, r) + (size_t)ALIGN);
        memory[r] = area + (ALIGN - (uintptr_t)area % ALIGN) % ALIGN;
    }
    const int error = eval_run_in(program, memory, in, out);
    arena_release(arena, mark);
    return error;
}

const char *eval_error_text(int error)
{
    switch (error) {
    case INLAY_OK:
        return "done";
    case INLAY_E_ARG:
        return "an input or output is missing";
    case INLAY_E_ALIGN:
        return "the arena is not aligned";
    case INLAY_E_SHAPE:
        return "a value read at run time asks for another shape than was compiled";
    case INLAY_E_INDEX:
        return "an index read at run time lies outside its tensor";
    default:
        return "unknown error";
    }
}
