/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ram.h"

#include <string.h>

#include "base/size.h"
#include "inlay_fetch.h"
#include "ir/lengths.h"

/* A column of the table: a family of targets. */
typedef struct StackFamily {
    const char *name;
    int pointer;     /* bytes of one */
    const char *how; /* compiler and levels */
} StackFamily;

enum {
#define STACK_FAMILY(name, ...) COLUMN_##name,
#define STACK(kernel, ...)
#include "ir/stack.def"
#undef STACK_FAMILY
#undef STACK
    COLUMNS
};

static const StackFamily columns[COLUMNS] = {
#define STACK_FAMILY(title, ...) { #title, __VA_ARGS__ },
#define STACK(kernel, ...)
#include "ir/stack.def"
#undef STACK_FAMILY
#undef STACK
};

typedef struct StackRow {
    const char *kernel;
    int32_t bytes[COLUMNS]; /* -1: not measured */
} StackRow;

static const StackRow rows[] = {
#define STACK_FAMILY(name, ...)
#define STACK(title, ...) { #title, { __VA_ARGS__ } },
#include "ir/stack.def"
#undef STACK_FAMILY
#undef STACK
};

/* In what is packed for no machine any of them may run. */
static bool is_meant(const StackFamily *column, const Family *family)
{
    return !family->machine || !strcmp(column->name, family->name);
}

static const StackRow *find_row(const char *kernel)
{
    size_t first = 0;
    size_t end = sizeof rows / sizeof *rows;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        const int order = strcmp(kernel, rows[middle].kernel);
        if (!order)
            return rows + middle;
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

int64_t kernel_stack(const char *kernel, const Family *family)
{
    const StackRow *row = find_row(kernel);
    int64_t most = -1;
    for (int i = 0; row && i < COLUMNS; i++) {
        if (!is_meant(columns + i, family))
            continue;
        if (row->bytes[i] < 0)
            return -1;
        most = i64_max(most, row->bytes[i]);
    }
    return most;
}

static int64_t outside_bytes(Tensor *const *tensor, size_t count)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (tensor[i]->storage != STORE_ARENA)
            bytes = i64_add(bytes, tensor_bytes(tensor[i]));
    return bytes;
}

/* Pointers that a run keeps besides whose weights may be replaced meanwhile. */
enum { UPDATE_POINTERS = 4 };

/* Pointers that references to operands take the room of, beside those that each step that fetches
 * has. */
static int more_references(const Program *program)
{
    enum { REFERENCE = 7 };
    const int more = program_fetch_operands(program) - INLAY_FETCH_USUAL;
    return more > 0 ? more * REFERENCE : 0;
}

/* What a generated function keeps for the steps: pointers, and dimensions that the caller may
 * leave out. */
static int64_t frame_bytes(const Program *program)
{
    const Graph *graph = program->graph;
    const int pointers = program_bases(program) + more_references(program) +
                         (program->updates ? UPDATE_POINTERS : 0);
    int64_t bytes = 0;
    for (int i = 0; i < COLUMNS; i++)
        if (is_meant(columns + i, program->family))
            bytes = i64_max(bytes, (int64_t)columns[i].pointer * pointers);
    for (size_t i = 0; i < graph_results(graph); i++)
        if (graph->output.at[i]->dynamic)
            bytes += 8 * graph->output.at[i]->shape.rank;
    return bytes;
}

static int64_t deepest_kernel(const Program *program)
{
    int64_t most = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        const int64_t own = kernel_stack(step->kernel->name, program->family);
        const char *caller = program->stream.coded ? "decode" : "fetch";
        const int64_t around =
            step->fetch ? kernel_stack(caller, program->family) : 0;
        if (own < 0 || around < 0)
            return -1;
        most = i64_max(most, i64_add(own, around));
    }
    return most;
}

/* A whole number of what every ABI aligns it to. */
enum { STACK_ALIGN = 16 };

static int64_t stack_bytes(const Program *program)
{
    const char *name = program->plan.segment.n ? "run_streams" : "run";
    const int64_t around = kernel_stack(name, program->family);
    const int64_t kernel =
        deepest_kernel(program->lengths ? program->lengths->all : program);
    if (around < 0 || kernel < 0)
        return -1;
    const int64_t lengths =
        program->lengths ? lengths_stack(program->lengths) : 0;
    const int64_t bytes = around + frame_bytes(program) + lengths + kernel;
    return i64_ceil_div(bytes, STACK_ALIGN) * STACK_ALIGN;
}

static const char *how_measured(const Family *family)
{
    for (int i = 0; i < COLUMNS; i++)
        if (!strcmp(columns[i].name, family->name))
            return columns[i].how;
    return "the most of all targets";
}

RamUse program_ram(const Program *program)
{
    const Graph *graph = program->graph;
    RamUse use = {
        .arena = program->plan.arena_size,
        .values =
            i64_add(outside_bytes(graph->input.at, graph->input.n),
                    outside_bytes(graph->output.at, graph_results(graph))),
        .stack = stack_bytes(program),
        .how = how_measured(program->family),
    };
    use.total = i64_add(i64_add(use.arena, use.values), i64_max(use.stack, 0));
    return use;
}
