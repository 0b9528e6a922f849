/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/eval.h"

#include <string.h>

#include "base/size.h"
#include "kernels/pushed.h"
#include "ops/nest.h"

enum { ALIGN = 64 };

static int64_t place_root(Tensor *t, int64_t at)
{
    int64_t offset;
    Tensor *root = tensor_root(t, &offset);
    if (root->storage != STORE_ARENA || root->placed)
        return at;
    root->placed = true;
    root->offset = at;
    return i64_add(at, (int64_t)size_align((size_t)tensor_bytes(root) + ALIGN, ALIGN));
}

int64_t eval_place_apart(Program *p)
{
    int64_t at = 0;
    for (size_t i = 0; i < p->step.n; i++)
        for (int k = 0; k < p->step.at[i]->n_operand; k++)
            if (p->step.at[i]->operand[k].tensor)
                at = place_root(p->step.at[i]->operand[k].tensor, at);
    return at;
}

static void lay_out(Program *p)
{
    uint64_t at = 0;
    for (size_t i = 0; i < p->weight.n; i++) {
        WeightSlot *w = p->weight.at + i;
        w->bytes = (uint64_t)tensor_bytes(w->tensor);
        w->offset = at;
        w->tensor->offset = (int64_t)at;
        at = size_align(at + w->bytes, ALIGN);
    }
    p->weight_bytes = at;
}

unsigned char *eval_weights(Arena *a, Program *p)
{
    if (!p->weight_bytes)
        lay_out(p);
    unsigned char *all = arena_alloc(a, p->weight_bytes + ALIGN);
    for (size_t i = 0; i < p->weight.n; i++) {
        const WeightSlot *w = p->weight.at + i;
        const void *v = recipe_values(p->graph->store, a, w->tensor->value);
        if (w->bytes)
            memcpy(all + w->offset, v, w->bytes);
    }
    return all;
}

/* The caller's row-major values into the arena (in), or from it, in the order of the tensor's
 * layout. */
static void move_value(const Tensor *t, unsigned char *inside, unsigned char *value, bool in)
{
    const Shape model = tensor_model_shape(t);
    const size_t bytes = (size_t)dtype_bits(t->dtype) / 8;
    int64_t stride[MAX_RANK], at[MAX_RANK] = { 0 };
    if (!t->perm) {
        memcpy(in ? inside : value, in ? value : inside, (size_t)tensor_bytes(t));
        return;
    }
    shape_strides(&model, stride);
    const int64_t n = tensor_count(t);
    for (int64_t k = 0; k < n; k++) {
        size_t from = 0;
        for (int i = 0; i < t->shape.rank; i++)
            from += (size_t)(at[i] * stride[t->perm[i]]);
        unsigned char *a = inside + (size_t)k * bytes, *b = value + from * bytes;
        memcpy(in ? a : b, in ? b : a, bytes);
        for (int i = t->shape.rank; i-- > 0 && ++at[i] == t->shape.dim[i];)
            at[i] = 0;
    }
}

/* The run, its input handed in row by row. */
static int run_rows(const Program *p, const Step *pushed, const inlay_model *m, void *const *base,
                    void *const *in)
{
    const Tensor *t = pushed->operand[0].tensor;
    unsigned char *all = arena_alloc(&p->graph->store->scratch, (size_t)tensor_bytes(t)),
                  *row = all;
    move_value(t, all, in[t->slot], true);
    int r = inlay_go_on(m, base, (size_t)p->plan.place, pushed->index, 0);
    for (; r == INLAY_MORE; row += pushed->operand[0].row_bytes) {
        memcpy(inlay_input_row(m, base, (size_t)p->plan.place, pushed->index), row,
               (size_t)pushed->operand[0].row_bytes);
        r = inlay_go_on(m, base, (size_t)p->plan.place, pushed->index, 1);
    }
    return r;
}

static unsigned char *inside(const Program *p, void *const *base, const Tensor *t)
{
    return (unsigned char *)base[program_base(p, t)] + t->offset;
}

static void move_values(const Program *p, void *const *base, void *const *in, void *const *out,
                        bool inwards)
{
    const Graph *g = p->graph;
    for (size_t i = 0; inwards && i < g->input.n; i++)
        if (g->input.at[i]->storage == STORE_ARENA && graph_in_form(g, i) == IO_ARENA)
            move_value(g->input.at[i], inside(p, base, g->input.at[i]), in[i], true);
    for (size_t i = 0; !inwards && i < graph_results(g); i++)
        if (g->output.at[i]->storage == STORE_ARENA)
            move_value(g->output.at[i], inside(p, base, g->output.at[i]), out[i], false);
}

int eval_run_in(Program *p, unsigned char *const *memory, void *const *in, void *const *out)
{
    Arena *a = &p->graph->store->scratch;
    const ArenaMark mark = arena_mark(a);
    void **base = NEW_ARRAY(a, void *, program_bases(p));
    const size_t regions = (size_t)program_regions(p), first = INLAY_ARENA + regions;
    base[INLAY_WEIGHTS] = eval_weights(a, p);
    for (size_t r = 0; r < regions; r++)
        base[INLAY_ARENA + r] = memory[r];
    for (size_t i = 0; i < p->graph->input.n; i++)
        base[first + i] = in[i];
    for (size_t i = 0; i < p->graph->output.n; i++)
        base[first + p->graph->input.n + i] = out[i];
    const inlay_model m = program_model(a, p);
    move_values(p, base, in, out, true);
    const Step *pushed = program_pushed(p);
    const int error = pushed ? run_rows(p, pushed, &m, base, in) : inlay_run(&m, base);
    if (!error)
        move_values(p, base, in, out, false);
    arena_release(a, mark);
    return error;
}

int eval_run(Program *p, void *const *in, void *const *out)
{
    Arena *a = &p->graph->store->scratch;
    const ArenaMark mark = arena_mark(a);
    unsigned char **memory = NEW_ARRAY(a, unsigned char *, program_regions(p));
    for (int r = 0; r < program_regions(p); r++) {
        unsigned char *area = arena_alloc(a, (size_t)program_region_size(p, r) + (size_t)ALIGN);
        memory[r] = area + (ALIGN - (uintptr_t)area % ALIGN) % ALIGN;
    }
    const int error = eval_run_in(p, memory, in, out);
    arena_release(a, mark);
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
