/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/per_step.h"

#include <inttypes.h>
#include <string.h>

#include "base/progress.h"
#include "base/size.h"
#include "cli/compare.h"
#include "cli/npz.h"
#include "cli/value_files.h"
#include "eval/eval.h"
#include "ops/nest.h"

/* A value that the archive has, and when it is complete. */
typedef struct Check {
    const Tensor *tensor; /* as the steps have it */
    /* as the model has it: the same, or what it was turned from */
    const Tensor *named;
    const NpzMember *member;
    int32_t writer; /* the step that writes it last */
    int32_t due;    /* the step before which it is compared */
} Check;

typedef struct PerStep {
    Compile *compile;
    const Npz *npz;
    VEC(Check) check; /* by `due` */
    size_t next;
    Tolerance tolerance;
    int64_t wrong;
    double worst; /* of those that are right */
} PerStep;

/* ---- what can be compared ---- */

/* The member of the tensor's name, or of what it was turned from. */
static const NpzMember *member_of(const Npz *npz, const Tensor *tensor,
                                  const Tensor **named)
{
    for (*named = tensor; *named; *named = (*named)->turned_of) {
        const NpzMember *member = npz_find(npz, (*named)->name);
        if (member)
            return member;
    }
    return NULL;
}

/* Of each root, by its number, the last step that writes it. */
static int32_t *last_writers(Arena *arena, const Program *program)
{
    int32_t *writer = NEW_ARRAY(arena, int32_t, program->graph->next_id);
    for (int i = 0; i < program->graph->next_id; i++)
        writer[i] = -1;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        for (int k = 0; k < step->n_operand; k++) {
            const Operand *operand = step->operand + k;
            int64_t at;
            if (operand->tensor && operand->write && !operand->scratch)
                writer[tensor_root(operand->tensor, &at)->id] = (int32_t)i;
        }
    }
    return writer;
}

/* The first step behind it and behind every loop that it is in. */
static int32_t due_after(const Program *program, int32_t writer)
{
    int32_t due = writer + 1;
    for (int32_t i = 0; i <= writer; i++)
        if (program->step.at[i]->loop_end >= writer)
            due = (int32_t)i64_max(due, program->step.at[i]->loop_end + 1);
    return due;
}

static bool is_plain(const Tensor *tensor)
{
    return !tensor->value && !tensor->sequence && !tensor->dynamic &&
           dtype_bits(tensor->dtype) >= 8 && shape_known(&tensor->shape);
}

/* The check of a tensor whose value the archive has and a step writes; member NULL: it has not. */
static Check check_of(const PerStep *all, Tensor *tensor, const int32_t *writer)
{
    Check check = { .tensor = tensor };
    int64_t at;
    check.writer = writer[tensor_root(tensor, &at)->id];
    if (check.writer < 0 || !is_plain(tensor))
        return check;
    check.member = member_of(all->npz, tensor, &check.named);
    check.due = due_after(all->compile->program, check.writer);
    return check;
}

/* Of a tensor and what it was turned into, the one that is made first. */
static void list_checks(PerStep *all)
{
    Arena *arena = &all->compile->arena;
    const Program *program = all->compile->program;
    const Graph *graph = program->graph;
    const int32_t *writer = last_writers(arena, program);
    Check *first = NEW_ARRAY(arena, Check, all->npz->members + 1);
    for (size_t i = 0; i < graph->tensor.n; i++) {
        const Check check = check_of(all, graph->tensor.at[i], writer);
        if (!check.member)
            continue;
        Check *known = first + (check.member - all->npz->member);
        if (!known->member || check.due < known->due)
            *known = check;
    }
    for (size_t i = 0; i < all->npz->members; i++)
        if (first[i].member)
            VEC_PUSH(arena, &all->check, first[i]);
}

/* By insertion: archives list values nearly in the order of the steps. */
static void sort_checks(PerStep *all)
{
    for (size_t i = 1; i < all->check.n; i++) {
        const Check moved = all->check.at[i];
        size_t k = i;
        for (; k && all->check.at[k - 1].due > moved.due; k--)
            all->check.at[k] = all->check.at[k - 1];
        all->check.at[k] = moved;
    }
}

/* ---- comparing ---- */

/* The values in the order of what the tensor was turned from. */
static const char *turn_back(Arena *arena, const Tensor *tensor,
                             const char *from)
{
    const Shape *shape = &tensor->shape;
    const size_t bytes = (size_t)dtype_bits(tensor->dtype) / 8;
    const int64_t count = tensor_count(tensor);
    int64_t stride[MAX_RANK];
    int64_t index[MAX_RANK] = { 0 };
    char *to = arena_alloc(arena, (size_t)tensor_bytes(tensor) + 1);
    shape_strides(&tensor->turned_of->shape, stride);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0;
        for (int k = 0; k < shape->rank; k++)
            at += index[k] * stride[tensor->turn[k]];
        memcpy(to + (size_t)at * bytes, from + (size_t)i * bytes, bytes);
        shape_next(shape, index);
    }
    return to;
}

static const char *model_values(Arena *arena, const Check *check,
                                const char *values)
{
    for (const Tensor *at = check->tensor; at != check->named;
         at = at->turned_of)
        values = turn_back(arena, at, values);
    return values;
}

static const char *values_of(const Program *program, const Tensor *tensor,
                             void *const *base)
{
    int64_t at;
    const Tensor *root = tensor_root((Tensor *)tensor, &at);
    return (const char *)base[program_base(program, root)] + root->offset + at;
}

static void print_step(Pieces *to, const Step *step, int32_t number)
{
    const Node *node = step->node;
    pieces_print(to, "step %" PRId32 ", %s", number, step_name(step));
    if (node && *node->name)
        pieces_print(to, " \"%s\"", node->name);
    pieces_print(to, ", is the first that differs\n  ");
}

static void compare_one(PerStep *all, const Check *check, void *const *base)
{
    Compile *compile = all->compile;
    Arena *arena = &compile->store.scratch;
    const Program *program = compile->program;
    const char *place;
    const FileValues found = npz_read(arena, &compile->store, all->npz,
                                      check->member, UINT64_MAX, &place);
    const void *want = value_fit(arena, place, &found, check->named);
    const char *got =
        model_values(arena, check, values_of(program, check->tensor, base));
    const Difference difference =
        compare_find(check->named, got, want, all->tolerance);
    if (!difference.count && difference.worst > all->worst)
        all->worst = difference.worst;
    if (difference.count && !all->wrong++) {
        print_step(&compile->results, program->step.at[check->writer],
                   check->writer);
        compare_print(&compile->results, check->named, &difference);
    }
}

static void compare_due(void *context, int32_t step, void *const *base)
{
    PerStep *all = context;
    Arena *arena = &all->compile->store.scratch;
    while (all->next < all->check.n && all->check.at[all->next].due <= step) {
        const ArenaMark mark = arena_mark(arena);
        compare_one(all, all->check.at + all->next++, base);
        arena_release(arena, mark);
    }
}

static void print_end(const PerStep *all)
{
    Pieces *to = &all->compile->results;
    const size_t left = all->npz->members - all->check.n;
    pieces_print(to, "%zu of %zu values compared", all->check.n,
                 all->npz->members);
    if (all->wrong)
        pieces_print(to, ", %" PRId64 " differ\n", all->wrong);
    else
        pieces_print(to, ", all right, at most %.3g off\n", all->worst);
    if (left)
        pieces_print(to,
                     "(the others are inputs, or no step has them: fused and "
                     "folded; --without=PASS keeps them)\n");
}

bool per_step_run(Compile *compile, const char *archive, void *const *in,
                  void *const *out)
{
    PerStep all = {
        .compile = compile,
        .npz = npz_open(&compile->arena, archive),
        .tolerance = tolerance_of(compile->options),
    };
    list_checks(&all);
    sort_checks(&all);
    if (!all.check.n)
        fail_at(STATUS_MALFORMED, value_place(archive),
                "numpy.savez(FILE, **{\"name\": values, ...}) with the names "
                "of the model's tensors",
                "holds no value of a step: no name is that of one");
    const EvalWatch watch = { compare_due, &all };
    progress_doing("running the model");
    const int error = eval_run_watched(compile->program, in, out, &watch);
    if (error)
        fail_at(STATUS_LIMIT, LOC_NONE, NULL, "the run ended with code %d: %s",
                error, eval_error_text(error));
    print_end(&all);
    return !all.wrong;
}
