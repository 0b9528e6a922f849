/* SPDX-License-Identifier: Apache-2.0
 * Steps that are made for nothing: what only nodes read whose results have no elements, for which
 * no step is made. Other steps whose results nobody reads stay: they may be checks. */
#include "ops/lower_unread.h"

#include "ops/lower.h"

typedef struct Unread {
    bool *spared; /* by tensor id: some reader is no step, or none any more */
    bool *read;   /* by tensor id: by a step that stays, or as a result */
} Unread;

static int root_id(const Operand *operand)
{
    int64_t at;
    return tensor_root(operand->tensor, &at)->id;
}

/* Returns whether there is such a tensor. */
static bool find_spared(const Unread *unread, const Graph *graph)
{
    bool any = false;
    for (size_t i = 0; i < graph->node.n; i++) {
        const Node *node = graph->node.at[i];
        for (int k = 0; lower_is_unwanted(node) && k < node->n_in; k++) {
            int64_t at;
            if (!node->in[k] || node->in[k]->value)
                continue;
            unread->spared[tensor_root(node->in[k], &at)->id] = true;
            any = true;
        }
    }
    return any;
}

static void find_results(const Unread *unread, const Graph *graph)
{
    for (size_t i = 0; i < graph->output.n; i++) {
        int64_t at;
        unread->read[tensor_root(graph->output.at[i], &at)->id] = true;
    }
}

/* Is all that it makes spared, and read by none? */
static bool is_spared(const Unread *unread, const Step *step)
{
    bool any = false;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || !operand->write || operand->scratch)
            continue;
        const int id = root_id(operand);
        if (!unread->spared[id] || unread->read[id])
            return false;
        any = true;
    }
    return any && !step->pushed;
}

static void note_operands(const Step *step, bool *to)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (operand->tensor && !operand->tensor->value &&
            (operand->read || !operand->write))
            to[root_id(operand)] = true;
    }
}

void lower_unread(Program *program)
{
    Graph *graph = program->graph;
    const int ids = graph_root(graph)->next_id;
    const Unread unread = {
        .spared = NEW_ARRAY(graph->arena, bool, ids + 1),
        .read = NEW_ARRAY(graph->arena, bool, ids + 1),
    };
    bool *stays = NEW_ARRAY(graph->arena, bool, program->step.n + 1);
    size_t n = 0;
    if (program_jumps(program) || !find_spared(&unread, graph))
        return;
    find_results(&unread, graph);
    for (size_t i = program->step.n; i-- > 0;) {
        const Step *step = program->step.at[i];
        stays[i] = !is_spared(&unread, step);
        note_operands(step, stays[i] ? unread.read : unread.spared);
    }
    for (size_t i = 0; i < program->step.n; i++)
        if (stays[i])
            program->step.at[n++] = program->step.at[i];
    program->step.n = n;
}
