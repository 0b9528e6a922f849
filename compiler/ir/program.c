/* SPDX-License-Identifier: Apache-2.0
 * Addresses of operands, and the program in the runtime's own form. */
#include "ir/program.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"

/* Steps of any model run here. */
#define INLAY_FETCH_OPERANDS INLAY_FETCH_MOST
#include "inlay_palette.h"

#include "inlay_coded.h"

Tensor *tensor_root(Tensor *tensor, int64_t *offset)
{
    *offset = 0;
    for (; tensor->view_of; tensor = tensor->view_of)
        *offset += tensor->view_offset;
    return tensor;
}

double plan_above(int64_t bytes, int64_t bound)
{
    return bound ? 100.0 * (double)(bytes - bound) / (double)bound : 0.0;
}

double curve_factor(const Plan *plan, const CurvePoint *c)
{
    return plan->macs_once ? (double)c->macs / (double)plan->macs_once : 1.0;
}

int64_t operand_pitch(const Operand *operand)
{
    return i64_mul(operand->pitch ? operand->pitch : operand->pixel,
                   dtype_bits(operand->tensor->dtype)) /
           8;
}

bool step_jumps(const Step *step)
{
    return step->control || step->loop_end >= 0;
}

StepRange steps_jumped(Step *const *step, int32_t steps)
{
    StepRange jumped = { 0, 0 };
    for (int32_t i = 0; i < steps; i++) {
        if (!step_jumps(step[i]))
            continue;
        if (!jumped.end)
            jumped.first = i;
        const int32_t ahead = step[i]->jumps_to;
        const int64_t end = i64_max(step[i]->loop_end + 1, ahead);
        jumped.end = (int32_t)i64_max(jumped.end, i64_max(i + 1, end));
    }
    return jumped;
}

bool program_jumps(const Program *program)
{
    return steps_jumped(program->step.at, (int32_t)program->step.n).end > 0;
}

Step *step_copy(Arena *arena, const Step *step)
{
    const size_t operands = (size_t)step->n_operand;
    const size_t bytes = operands * sizeof *step->operand;
    Step *copy = arena_copy(arena, step, sizeof *step);
    copy->operand = arena_copy(arena, step->operand, bytes);
    copy->room = step->n_operand;
    copy->params = arena_copy(arena, step->params, step->kernel->params_size);
    return copy;
}

int step_operands(const Step *step)
{
    return step->n_operand - (step->fetch != NULL);
}

Step step_piece(Arena *arena, const Step *step, bool last)
{
    Step piece = *step;
    const Fetch *fetch = step->fetch;
    const void *params = last ? fetch->end : fetch->params;
    piece.n_operand = step_operands(step);
    piece.params = arena_copy(arena, params, step->kernel->params_size);
    piece.fetch = NULL;
    if (fetch->units)
        piece.units = fetch->units;
    return piece;
}

Program program_with_steps(const Program *program, Step **step, size_t n)
{
    Program other = *program;
    other.step.at = step;
    other.step.n = other.step.room = n;
    return other;
}

Program program_with(Arena *arena, const Program *program, const Steps *steps)
{
    Program other = program_with_steps(program, steps->step.at, steps->step.n);
    if (!steps->weight.n)
        return other;
    other.weight.at = NULL;
    other.weight.n = other.weight.room = 0;
    for (size_t i = 0; i < program->weight.n; i++)
        VEC_PUSH(arena, &other.weight, program->weight.at[i]);
    for (size_t i = 0; i < steps->weight.n; i++)
        VEC_PUSH(arena, &other.weight, steps->weight.at[i]);
    return other;
}

void program_take_steps(Program *program, Step **step, size_t n)
{
    program->step.at = step;
    program->step.n = program->step.room = n;
    for (size_t i = 0; i < n; i++)
        step[i]->index = (int)i;
}

int program_regions(const Program *program)
{
    return program->plan.region.n ? (int)program->plan.region.n : 1;
}

int64_t program_region_size(const Program *program, int region)
{
    return program->plan.region.n ? program->plan.region.at[region].size
                                  : program->plan.arena_size;
}

int64_t program_region_start(const Program *program, int region)
{
    int64_t at = 0;
    for (int i = 0; i < region; i++)
        at += program_region_size(program, i);
    return at;
}

int program_base(const Program *program, const Tensor *root)
{
    const int first = INLAY_ARENA + program_regions(program);
    const int inputs = (int)program->graph->input.n;
    const int outputs = (int)program->graph->output.n;
    switch (root->storage) {
    case STORE_WEIGHTS:
        return root->region ? first + inputs + outputs + root->region - 1
                            : INLAY_WEIGHTS;
    case STORE_ARENA:
        return INLAY_ARENA + root->region;
    case STORE_INPUT:
        return first + root->slot;
    case STORE_OUTPUT:
        return first + inputs + root->slot;
    default:
        assert(0 && "a tensor without storage");
        return INLAY_NONE;
    }
}

int program_bases(const Program *program)
{
    return INLAY_ARENA + program_regions(program) +
           (int)program->graph->input.n + (int)program->graph->output.n +
           (program->code_bytes != 0) + (int)program->lender.n;
}

const char *program_lender(const Program *program, const Tensor *root)
{
    return program->blob ? "code" : program->lender.at[root->region - 1];
}

const Step *program_pushed(const Program *program)
{
    for (size_t i = 0; i < program->step.n; i++)
        if (program->step.at[i]->pushed)
            return program->step.at[i];
    return NULL;
}

bool program_sliced(const Program *program)
{
    return program->plan.place_bytes == SLICE_BYTES;
}

int64_t program_macs(const Program *program)
{
    int64_t macs = 0;
    for (size_t i = 0; i < program->step.n; i++)
        macs = i64_add(macs, program->step.at[i]->macs);
    return macs;
}

int64_t program_units(const Program *program)
{
    int64_t units = 0;
    for (size_t i = 0; i < program->step.n; i++)
        units += program->step.at[i]->units;
    return units;
}

int64_t program_unit_macs(const Program *program)
{
    int64_t most = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        if (step->units)
            most = i64_max(most, i64_ceil_div(step->macs, step->units));
    }
    return most;
}

/* In multiplications: what a value takes to be made that has none. */
enum { WORK_OF_ELEMENT = 4 };

static int64_t work_of(const Step *step)
{
    int64_t elements = 0;
    for (int k = 0; k < step->n_out; k++)
        if (step->operand[k].tensor)
            elements += shape_count(&step->operand[k].tensor->shape);
    return step->macs + WORK_OF_ELEMENT * elements;
}

bool step_may_split(const Step *step, int64_t least_work)
{
    if (step->units < 2 || step->accumulates || step_jumps(step) ||
        step->pushed || step->fetch || work_of(step) < least_work)
        return false;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        const int32_t rows = operand->scratch ? 1 : step->units;
        if (operand->tensor && operand->write && operand->rows != rows)
            return false;
    }
    return true;
}

int program_splits(const Program *program)
{
    int splits = 0;
    for (size_t i = 0; i < program->step.n; i++)
        splits += program->step.at[i]->split;
    return splits;
}

/* The place of an operand for a thread. */
static inlay_ref own_ref(const Program *program, const Operand *operand,
                         int32_t thread)
{
    inlay_ref ref = operand->ref;
    if (operand->copied) {
        const int64_t all = operand_extent(operand, operand->tensor);
        ref.off += (size_t)(all / program->plan.threads * thread);
    }
    return ref;
}

static bool has_copies(const Step *step)
{
    for (int k = 0; k < step->n_operand; k++)
        if (step->operand[k].copied)
            return true;
    return false;
}

inlay_split program_split(Arena *arena, const Program *program, int32_t step)
{
    const Step *s = program->step.at[step];
    const int32_t threads = program->plan.threads;
    if (!has_copies(s))
        return (inlay_split){ .step = step };
    VEC(inlay_ref) own = { 0 };
    for (int32_t thread = 1; thread < threads; thread++)
        for (int k = 0; k < s->n_operand; k++)
            VEC_PUSH(arena, &own, own_ref(program, s->operand + k, thread));
    return (inlay_split){ step, s->n_operand, own.at };
}

bool operand_same_width(const Operand *a, const Operand *b)
{
    return i64_mul(a->row_bytes, b->pixel) == i64_mul(b->row_bytes, a->pixel);
}

int64_t operand_extent(const Operand *operand, const Tensor *root)
{
    if (operand->slots)
        return operand->slots->pool;
    if (operand->ring)
        return i64_mul(operand->ring, operand->row_bytes);
    return i64_add(tensor_bytes(root), operand->copied);
}

static int32_t count_entries(const uint8_t *list, int32_t n, int32_t k)
{
    int32_t found = 0;
    for (int32_t i = 0; i < n; i++)
        found += list[i] == k;
    return found;
}

int32_t program_rows(const Program *program, const Step *pushed)
{
    for (size_t i = 0; i < program->plan.segment.n; i++) {
        const Segment *g = program->plan.segment.at + i;
        const int32_t k = pushed->index - g->first;
        if (!g->list || k < 0 || k >= g->count)
            continue;
        return count_entries(g->list, g->prologue, k) +
               g->repeats * count_entries(g->list + g->prologue, g->period, k) +
               count_entries(g->list + g->prologue + g->period, g->epilogue, k);
    }
    return pushed->units;
}

bool step_reverses(const Step *s)
{
    for (int k = s->n_out; k < s->n_operand; k++)
        if (s->operand[k].tensor && reuse_reverses(s->operand[k].reuse))
            return true;
    return false;
}

int32_t step_backward(const Step *s)
{
    if (!s->backward)
        return 0;
    return step_reverses(s) ? INLAY_BACKWARD : INLAY_UNIT_BY_UNIT;
}

const char *step_name(const Step *s)
{
    if (s->node)
        return s->node->op_type;
    return s->pushed ? "Input" : "Copy";
}

Operand operand_of_scratch(Graph *graph, int64_t bytes)
{
    Tensor *tensor = graph_add_tensor(graph, NULL, DT_U8, shape_vector(bytes));
    tensor->storage = STORE_ARENA;
    tensor->slot = -1;
    return (Operand){
        .tensor = tensor,
        .write = true,
        .read = true,
        .scratch = true,
        .rows = 1,
        .pixel = 1,
        .row_bytes = bytes,
        .rule = { .kind = ROWS_ALL },
    };
}

void program_place_states(const Program *program)
{
    const Graph *graph = program->graph;
    for (size_t i = 0; i < graph->state.n; i++) {
        const Tensor *input = graph->input.at[graph->state.at[i].in];
        Tensor *result = graph->output.at[graph->state.at[i].out];
        result->offset = input->offset;
        result->region = input->region;
    }
}

static inlay_ref address(const Program *program, const Operand *operand)
{
    if (!operand->tensor)
        return (inlay_ref){ .cap = 1, .base = INLAY_NONE };
    int64_t at;
    const Tensor *root = tensor_root(operand->tensor, &at);
    return (inlay_ref){
        .off = (size_t)(root->offset + at + operand->offset),
        .row = (size_t)operand->row_bytes,
        .cap = operand->ring ? operand->ring : operand->rows,
        .pix = i32_checked(operand->pixel),
        .base = program_base(program, root),
        .unit = operand->slots ? (uint32_t)operand->slots->unit : 0,
        .slot = operand->slots ? operand->slots->slot : NULL,
    };
}

void program_link(Program *program)
{
    for (size_t i = 0; i < program->step.n; i++)
        for (int k = 0; k < program->step.at[i]->n_operand; k++)
            program->step.at[i]->operand[k].ref =
                address(program, program->step.at[i]->operand + k);
}

/* ---- steps that fetch ---- */

/* A read that was started, and is made when somebody waits for it: what looks at the bytes before
 * finds others there. */
typedef struct LateRead {
    const unsigned char *weights;
    size_t offset, n;
    void *to;
} LateRead;

static int read_now(void *context, size_t offset, size_t n, void *to)
{
    const LateRead *late = context;
    memcpy(to, late->weights + offset, n);
    return 0;
}

static int read_later(void *context, size_t offset, size_t n, void *to)
{
    LateRead *late = context;
    late->offset = offset;
    late->n = n;
    late->to = to;
    return 0;
}

static int read_late(void *context)
{
    const LateRead *late = context;
    return read_now(context, late->offset, late->n, late->to);
}

/* The kernel of a step that fetches, in this process: the weights are in memory. */
static int fetched_here(void *const *base, const inlay_step *step, int32_t r0,
                        int32_t r1)
{
    LateRead late = { .weights = base[INLAY_WEIGHTS] };
    const inlay_source source = { read_now, read_later, read_late, &late };
    const inlay_stream stream = { &source, 0 };
    return inlay_fetch_run(&stream, base, step, r0, r1);
}

static const uint32_t *advances_of(Arena *arena, const Step *step)
{
    const int operands = step_operands(step);
    uint32_t *advance = NEW_ARRAY(arena, uint32_t, operands + 1);
    for (int k = 0; k < operands; k++)
        advance[k] = (uint32_t)step->fetch->advance[k];
    return advance;
}

/* How a constant is coded: its kind, and two more facts. */
static void set_kind(const Coded *coded, inlay_coded *to)
{
    if (coded->palette) {
        to->low = INLAY_CODE_PALETTE;
    } else if (coded->paired) {
        to->listed = (uint8_t)coded->pair.listed;
        to->turned = coded->pair.apart;
        to->low = (uint8_t)coded->pair.low;
    } else {
        to->listed = (uint8_t)coded->code.classes;
        to->turned = coded->turned;
    }
}

inlay_coded fetch_coded(const Step *step, const FetchPart *part)
{
    const Coded *coded = part->coded;
    int64_t at;
    const Tensor *root = tensor_root(step->operand[part->operand].tensor, &at);
    inlay_coded made = {
        .at = (size_t)root->offset,
        .values = (uint32_t)coded->values,
        .bits = (uint32_t)coded->bits,
        .first = (uint32_t)part->first,
        .begin = part->begin,
        .width = (uint8_t)coded->width,
    };
    set_kind(coded, &made);
    return made;
}

int program_fetch_operands(const Program *program)
{
    int most = 0;
    for (size_t i = 0; i < program->step.n; i++) {
        const Step *step = program->step.at[i];
        if (step->fetch && step->n_operand > most)
            most = step->n_operand;
    }
    return most;
}

static const inlay_pieces *pieces_of(Arena *arena, const Step *step)
{
    const Fetch *fetch = step->fetch;
    inlay_fetch *part = NEW_ARRAY(arena, inlay_fetch, fetch->parts + 1);
    inlay_pieces *pieces = NEW(arena, inlay_pieces);
    for (int i = 0; i < fetch->parts; i++)
        part[i] = (inlay_fetch){
            .operand = fetch->part[i].operand,
            .at = (size_t)fetch->part[i].at,
            .bytes = (size_t)fetch->part[i].bytes,
            .last = (size_t)fetch->part[i].last,
        };
    *pieces = (inlay_pieces){
        .run = step->kernel->run,
        .params = fetch->params,
        .end = fetch->end,
        .fetch = part,
        .fetches = fetch->parts,
        .pieces = fetch->pieces,
        .units = fetch->units,
        .operands = step_operands(step),
        .half = (size_t)fetch->half,
        .advance = fetch->pieces > 1 ? advances_of(arena, step) : NULL,
    };
    return pieces;
}

/* The codes of what a step decodes. */
static const inlay_decoding *decoding_of(Arena *arena, const Step *step)
{
    const Fetch *fetch = step->fetch;
    inlay_coded *coded = NEW_ARRAY(arena, inlay_coded, fetch->parts + 1);
    inlay_decoding *decoding = NEW(arena, inlay_decoding);
    for (int i = 0; i < fetch->parts; i++)
        coded[i] = fetch_coded(step, fetch->part + i);
    *decoding = (inlay_decoding){
        .pieces = pieces_of(arena, step),
        .coded = coded,
        .code = (size_t)fetch->code,
    };
    return decoding;
}

static inlay_step step_of(Arena *arena, const Program *program, const Step *s)
{
    inlay_ref *ref = NEW_ARRAY(arena, inlay_ref, s->n_operand + 1);
    for (int k = 0; k < s->n_operand; k++)
        ref[k] = s->operand[k].ref;
    if (s->fetch && program->stream.coded)
        return (inlay_step){ inlay_decoded, decoding_of(arena, s), ref,
                             s->units, step_backward(s) };
    if (s->fetch)
        return (inlay_step){ fetched_here, pieces_of(arena, s), ref, s->units,
                             step_backward(s) };
    return (inlay_step){ s->kernel->run, s->params, ref, s->units,
                         step_backward(s) };
}

inlay_model program_model(Arena *arena, const Program *program)
{
    inlay_step *step = NEW_ARRAY(arena, inlay_step, program->step.n + 1);
    for (size_t i = 0; i < program->step.n; i++)
        step[i] = step_of(arena, program, program->step.at[i]);
    inlay_segment *segment =
        NEW_ARRAY(arena, inlay_segment, program->plan.segment.n + 1);
    for (size_t i = 0; i < program->plan.segment.n; i++) {
        const Segment *g = program->plan.segment.at + i;
        segment[i] =
            (inlay_segment){ g->first,   g->count,    g->prologue, g->period,
                             g->repeats, g->epilogue, g->list };
    }
    return (inlay_model){
        .step = step,
        .steps = (int32_t)program->step.n,
        .segment = program->plan.segment.n ? segment : NULL,
        .segments = (int32_t)program->plan.segment.n,
        .state = (size_t)program->plan.state,
    };
}
