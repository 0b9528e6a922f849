/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/eval.h"

#include <string.h>

#include "base/size.h"
#include "inlay_slices.h"
#include "inlay_threads.h"
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
    return i64_add(
        at, (int64_t)size_align((size_t)tensor_bytes(root) + ALIGN, ALIGN));
}

int64_t eval_place_apart(Program *program)
{
    int64_t at = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++)
            if (step->operand[k].tensor)
                at = place_root(step->operand[k].tensor, at);
    }
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

static void put_constant(Arena *arena, const Program *program,
                         const WeightSlot *w, unsigned char *all)
{
    if (w->coded) {
        file_read(program->coded, w->coded->at, all + w->offset,
                  (size_t)w->coded->bytes);
        return;
    }
    const ArenaMark mark = arena_mark(arena);
    const void *v =
        recipe_values(program->graph->store, arena, w->tensor->value);
    if (w->bytes)
        memcpy(all + w->offset, v, w->bytes);
    arena_release(arena, mark);
}

/* Arrays of constants that are not in the blob: in the code, or each lender's. */
static size_t other_arrays(const Program *program)
{
    return (program->code_bytes != 0) + program->lender.n;
}

unsigned char *eval_weights(Arena *arena, Program *program)
{
    const size_t others = other_arrays(program);
    if (!program->weight_bytes && !others)
        lay_out(program);
    unsigned char *all = arena_alloc(arena, program->weight_bytes + ALIGN);
    for (size_t i = 0; i < program->weight.n; i++)
        if (!others || !program->weight.at[i].tensor->region)
            put_constant(arena, program, program->weight.at + i, all);
    return all;
}

/* What the program takes of the array of that region. */
static unsigned char *other_weights(Arena *arena, const Program *program,
                                    int region)
{
    uint64_t end = 0;
    for (size_t i = 0; i < program->weight.n; i++) {
        const WeightSlot *w = program->weight.at + i;
        if (w->tensor->region == region && w->offset + w->bytes > end)
            end = w->offset + w->bytes;
    }
    unsigned char *all = arena_alloc(arena, end + ALIGN);
    for (size_t i = 0; i < program->weight.n; i++)
        if (program->weight.at[i].tensor->region == region)
            put_constant(arena, program, program->weight.at + i, all);
    return all;
}

/* The caller's row-major values into the arena (in), or from it, in the order of the tensor's
 * layout. */
static void copy_value(void *inside, void *value, size_t bytes, bool in)
{
    if (in)
        memcpy(inside, value, bytes);
    else
        memcpy(value, inside, bytes);
}

static void move_value(const Tensor *tensor, unsigned char *inside,
                       unsigned char *value, bool in)
{
    const Shape model = tensor_model_shape(tensor);
    const size_t bytes = (size_t)dtype_bits(tensor->dtype) / 8;
    const int64_t count = tensor_count(tensor);
    int64_t stride[MAX_RANK];
    int64_t index[MAX_RANK] = { 0 };
    if (!tensor->perm) {
        copy_value(inside, value, (size_t)tensor_bytes(tensor), in);
        return;
    }
    shape_strides(&model, stride);
    for (int64_t k = 0; k < count; k++) {
        int64_t from = 0;
        for (int i = 0; i < tensor->shape.rank; i++)
            from += index[i] * stride[tensor->perm[i]];
        copy_value(inside + (size_t)k * bytes, value + (size_t)from * bytes,
                   bytes, in);
        shape_next(&tensor->shape, index);
    }
}

/* The run, its input handed in row by row. */
static int run_rows(const Program *program, const inlay_model *model,
                    void *const *base, void *const *in)
{
    const Step *pushed = program_pushed(program);
    const Operand *input = pushed->operand;
    const Tensor *tensor = input->tensor;
    const size_t place = (size_t)program->plan.place;
    const size_t bytes = (size_t)input->row_bytes;
    Arena *scratch = &program->graph->store->scratch;
    unsigned char *row = arena_alloc(scratch, (size_t)tensor_bytes(tensor));
    move_value(tensor, row, in[tensor->slot], true);
    int result = inlay_go_on(model, base, place, pushed->index, 0);
    for (; result == INLAY_MORE; row += bytes) {
        void *awaited = inlay_input_row(model, base, place, pushed->index);
        memcpy(awaited, row, bytes);
        result = inlay_go_on(model, base, place, pushed->index, 1);
    }
    return result;
}

/* The run, a unit a slice. */
static int run_slices(const Program *program, const inlay_model *model,
                      void *const *base)
{
    const size_t place = (size_t)program->plan.place;
    int result = INLAY_MORE;
    inlay_slices_begin(model, base, place);
    while (result == INLAY_MORE)
        result = inlay_slice(model, base, place, 1);
    return result;
}

/* Parts one after the other, the last first. */
static void run_parts(void *context, int n, void (*work)(void *job, int k),
                      void *job)
{
    (void)context;
    for (int k = n - 1; k >= 0; k--)
        work(job, k);
}

/* The run as threads make it, whose parts come in any order. */
static int run_shared(const Program *program, const inlay_model *model,
                      void *const *base)
{
    Arena *arena = program->graph->arena;
    VEC(inlay_split) split = { 0 };
    for (size_t i = 0; i < program->step.n; i++)
        if (program->step.at[i]->split)
            VEC_PUSH(arena, &split, program_split(arena, program, (int32_t)i));
    const inlay_team team = {
        .split = split.at,
        .splits = (int32_t)split.n,
        .threads = program->plan.threads,
        .parallel = run_parts,
    };
    return inlay_run_team(model, base, &team);
}

static unsigned char *inside(const Program *program, void *const *base,
                             const Tensor *tensor)
{
    return (unsigned char *)base[program_base(program, tensor)] +
           tensor->offset;
}

static void take_inputs(const Program *program, void *const *base,
                        void *const *in)
{
    const Graph *graph = program->graph;
    for (size_t i = 0; i < graph->input.n; i++) {
        const Tensor *tensor = graph->input.at[i];
        const bool whole = graph_in_form(graph, i) != IO_ROWS;
        if (tensor->storage == STORE_ARENA && whole)
            move_value(tensor, inside(program, base, tensor), in[i], true);
    }
}

static void give_results(const Program *program, void *const *base,
                         void *const *out)
{
    const Graph *graph = program->graph;
    for (size_t i = 0; i < graph_results(graph); i++) {
        const Tensor *tensor = graph->output.at[i];
        if (tensor->storage == STORE_ARENA)
            move_value(tensor, inside(program, base, tensor), out[i], false);
    }
}

/* The array of base pointers: weights, memories, inputs, results. */
static void **bases_of(Program *program, unsigned char *const *memory,
                       void *const *in, void *const *out)
{
    const Graph *graph = program->graph;
    Arena *arena = &graph->store->scratch;
    void **base = NEW_ARRAY(arena, void *, program_bases(program) + 1);
    void **next = base + INLAY_ARENA;
    base[INLAY_WEIGHTS] = eval_weights(arena, program);
    for (int i = 0; i < program_regions(program); i++)
        *next++ = memory[i];
    for (size_t i = 0; i < graph->input.n; i++)
        *next++ = in[i];
    for (size_t i = 0; i < graph->output.n; i++)
        *next++ = out[i];
    for (size_t i = 0; i < other_arrays(program); i++)
        *next++ = other_weights(arena, program, (int)i + 1);
    return base;
}

/* Layer by layer, as a plan without streams runs. */
static int run_layers(const inlay_model *model, void *const *base,
                      const EvalWatch *watch)
{
    int32_t i = 0;
    while (i < model->steps) {
        const inlay_step *step = model->step + i;
        watch->before(watch->context, i, base);
        const int next = step->run(base, step, 0, step->units);
        if (next < 0)
            return -next;
        i = next ? next - 1 : i + 1;
    }
    watch->before(watch->context, i, base);
    return INLAY_OK;
}

/* The program's steps; where they are wrapped, the last base pointer is the wrapper's. */
static inlay_model wrapped_model(Arena *arena, const Program *program,
                                 void **base, const EvalWrap *wrap)
{
    const int32_t bases = (int32_t)program_bases(program);
    inlay_model model = program_model(arena, program);
    if (wrap) {
        base[bases] = wrap->base;
        wrap->wrap(wrap->context, arena, &model, bases);
    }
    return model;
}

static int run_in(Program *program, unsigned char *const *memory,
                  void *const *in, void *const *out, const EvalWatch *watch,
                  const EvalWrap *wrap)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    void **base = bases_of(program, memory, in, out);
    const inlay_model model = wrapped_model(arena, program, base, wrap);
    int error;
    take_inputs(program, base, in);
    if (program_pushed(program))
        error = run_rows(program, &model, base, in);
    else if (watch)
        error = run_layers(&model, base, watch);
    else if (program_sliced(program))
        error = run_slices(program, &model, base);
    else if (program->plan.threads)
        error = run_shared(program, &model, base);
    else
        error = inlay_run(&model, base);
    if (!error)
        give_results(program, base, out);
    arena_release(arena, mark);
    return error;
}

int eval_run_in(Program *program, unsigned char *const *memory, void *const *in,
                void *const *out)
{
    return run_in(program, memory, in, out, NULL, NULL);
}

int eval_run_wrapped(Program *program, unsigned char *const *memory,
                     void *const *in, void *const *out, const EvalWrap *wrap)
{
    return run_in(program, memory, in, out, NULL, wrap);
}

/* In memory of its own. */
static int run_apart(Program *program, void *const *in, void *const *out,
                     const EvalWatch *watch, const EvalWrap *wrap)
{
    Arena *arena = &program->graph->store->scratch;
    const ArenaMark mark = arena_mark(arena);
    unsigned char **memory =
        NEW_ARRAY(arena, unsigned char *, program_regions(program));
    for (int r = 0; r < program_regions(program); r++) {
        unsigned char *area = arena_alloc(
            arena, (size_t)program_region_size(program, r) + (size_t)ALIGN);
        memory[r] = area + (ALIGN - (uintptr_t)area % ALIGN) % ALIGN;
    }
    const int error = run_in(program, memory, in, out, watch, wrap);
    arena_release(arena, mark);
    return error;
}

int eval_run_watched(Program *program, void *const *in, void *const *out,
                     const EvalWatch *watch)
{
    return run_apart(program, in, out, watch, NULL);
}

int eval_run_alone(Program *program, void *const *in, void *const *out,
                   const EvalWrap *wrap)
{
    return run_apart(program, in, out, NULL, wrap);
}

int eval_run(Program *program, void *const *in, void *const *out)
{
    return run_apart(program, in, out, NULL, NULL);
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
        return "a value read at run time asks for another shape than was "
               "compiled";
    case INLAY_E_INDEX:
        return "an index read at run time lies outside its tensor";
    default:
        return "unknown error";
    }
}
