/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/sums.h"

#include <math.h>
#include <string.h>

#include "eval/counted.h"

/* ---- what is summed up ---- */

/* Floats and what was computed from floats of other steps: by the root's number. */
typedef struct Nearness {
    const Program *program;
    bool *near;
} Nearness;

static bool *near_of(const Nearness *nearness, const Operand *operand)
{
    int64_t at;
    return nearness->near + tensor_root(operand->tensor, &at)->id;
}

static bool makes_near(const Nearness *nearness, const Step *step)
{
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || operand->scratch)
            continue;
        if (operand->write && dtype_is_float(operand->tensor->dtype))
            return true;
        if (*near_of(nearness, operand))
            return true;
    }
    return false;
}

/* Marks what the step writes; is any of it new? */
static bool mark(const Nearness *nearness, const Step *step)
{
    bool changed = false;
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || !operand->write || operand->scratch)
            continue;
        bool *near = near_of(nearness, operand);
        changed |= !*near;
        *near = true;
    }
    return changed;
}

/* Until nothing changes: loops hand values back to steps before. */
static Nearness find_near(Arena *arena, const Program *program)
{
    const int ids = graph_root(program->graph)->next_id;
    const Nearness nearness = { program, NEW_ARRAY(arena, bool, ids + 1) };
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < program->step.n; i++)
            if (makes_near(&nearness, program->step.at[i]))
                changed |= mark(&nearness, program->step.at[i]);
    }
    return nearness;
}

/* As what elements of the type are read; INLAY_SUM_BYTES: not as numbers. */
static int32_t kind_of(DType dtype)
{
    static const int32_t kinds[DT_COUNT] = {
        [DT_I8] = INLAY_SUM_I8,   [DT_U8] = INLAY_SUM_U8,
        [DT_BOOL] = INLAY_SUM_U8, [DT_I16] = INLAY_SUM_I16,
        [DT_U16] = INLAY_SUM_U16, [DT_I32] = INLAY_SUM_I32,
        [DT_U32] = INLAY_SUM_U32, [DT_I64] = INLAY_SUM_I64,
        [DT_U64] = INLAY_SUM_U64, [DT_F16] = INLAY_SUM_F16,
        [DT_F32] = INLAY_SUM_F32, [DT_BF16] = INLAY_SUM_BF16,
        [DT_F64] = INLAY_SUM_F64, [DT_STRING] = INLAY_SUM_I64,
        [DT_C64] = INLAY_SUM_F32, [DT_C128] = INLAY_SUM_F64,
    };
    return kinds[dtype];
}

static bool is_by_row(const Step *step, const Operand *operand)
{
    return operand->rows == step->units && !step->accumulates;
}

static inlay_sum sum_of(const Step *step, int k, bool near)
{
    const Operand *operand = step->operand + k;
    const DType dtype = operand->tensor->dtype;
    return (inlay_sum){
        .operand = k,
        .kind = near ? kind_of(dtype) : INLAY_SUM_BYTES,
        .size = dtype_element(dtype),
        .rows = operand->rows,
        .by_row = is_by_row(step, operand),
        .row = (size_t)operand->row_bytes,
        .pitch = (size_t)operand_pitch(operand),
        .part = (size_t)(operand->part * dtype_bits(dtype) / 8),
    };
}

/* Has the result as many elements in every run, and elements that can be read so? */
static bool is_summed(const Operand *operand, bool near)
{
    const Tensor *tensor = operand->tensor;
    if (tensor->dynamic || tensor->sequence)
        return false;
    return !near || kind_of(tensor->dtype) != INLAY_SUM_BYTES;
}

static SumTable table_of(Arena *arena, const Nearness *nearness,
                         const Step *step)
{
    SumTable table = {
        .sum = NEW_ARRAY(arena, inlay_sum, step->n_operand + 1),
        .near = makes_near(nearness, step),
    };
    for (int k = 0; k < step->n_operand; k++) {
        const Operand *operand = step->operand + k;
        if (!operand->tensor || !operand->write || operand->scratch)
            continue;
        if (!is_summed(operand, table.near))
            return (SumTable){ .sum = table.sum, .near = table.near };
        table.sum[table.sums++] = sum_of(step, k, table.near);
    }
    return table;
}

SumTable *sums_tables(Arena *arena, const Program *program)
{
    const Nearness nearness = find_near(arena, program);
    SumTable *table = NEW_ARRAY(arena, SumTable, program->step.n + 1);
    for (size_t i = 0; i < program->step.n; i++)
        table[i] = table_of(arena, &nearness, program->step.at[i]);
    return table;
}

/* ---- the run ---- */

/* A step that is summed up, and here besides the squares of the elements: the length of the vector
 * that they are, by which words are near one another. */
typedef struct Measured {
    inlay_summed summed;
    double square;
} Measured;

static double squares(const inlay_sum *q, const unsigned char *row)
{
    const size_t n = inlay_sum_together(q);
    double sum = 0;
    for (size_t k = 0; n && k + n <= q->row; k += inlay_sum_apart(q))
        for (size_t i = 0; i < n; i += (size_t)q->size) {
            const double number =
                (double)inlay_sum_number(q->kind, row + k + i);
            sum += number * number;
        }
    return sum;
}

static int run_measured(void *const *base, const inlay_step *step, int32_t r0,
                        int32_t r1)
{
    Measured *measured = (Measured *)(uintptr_t)step->params;
    const inlay_summed *summed = &measured->summed;
    inlay_step inner = *step;
    inner.params = summed;
    const int result = inlay_summed_run(base, &inner, r0, r1);
    for (int32_t i = 0; i < summed->sums && result >= 0; i++) {
        const inlay_sum *q = summed->sum + i;
        int32_t lo, hi;
        inlay_sum_rows(q, summed->step, r0, r1, &lo, &hi);
        for (int32_t r = lo; r < hi && q->kind != INLAY_SUM_BYTES; r++)
            measured->square +=
                squares(q, inlay_row(base, summed->step, q->operand, r));
    }
    return result;
}

/* What a run is summed up into. */
typedef struct Summing {
    const Program *program;
    const SumTable *table;
    Measured *measured;
    uint32_t *word;
    int64_t work; /* that a run may take */
} Summing;

/* The model's steps, each with its words, as long as there is work left. */
static void sum_up(void *context, Arena *arena, inlay_model *model,
                   int32_t words)
{
    const Summing *summing = context;
    EvalBudget *budget = NEW(arena, EvalBudget);
    const size_t steps = summing->program->step.n;
    inlay_step *step = NEW_ARRAY(arena, inlay_step, steps + 1);
    for (size_t i = 0; i < steps; i++) {
        summing->measured[i] = (Measured){
            .summed = {
                .step = model->step + i,
                .sum = summing->table[i].sum,
                .sums = summing->table[i].sums,
                .base = words,
                .word = (int32_t)i,
            },
        };
        step[i] = model->step[i];
        step[i].run = run_measured;
        step[i].params = summing->measured + i;
    }
    model->step = step;
    *budget = (EvalBudget){ summing->program, summing->work };
    eval_count_steps(budget, arena, model, words);
}

static unsigned char **memory_with(Arena *arena, const Program *program,
                                   int fill)
{
    enum { ALIGN = 64 };
    unsigned char **memory =
        NEW_ARRAY(arena, unsigned char *, program_regions(program));
    for (int r = 0; r < program_regions(program); r++) {
        const size_t size = (size_t)program_region_size(program, r);
        unsigned char *area = arena_alloc(arena, size + ALIGN);
        memory[r] = area + (ALIGN - (uintptr_t)area % ALIGN) % ALIGN;
        memset(memory[r], fill, size);
    }
    return memory;
}

static int run_once(const Summing *summing, Program *program, int fill,
                    void *const *in, void *const *out)
{
    Arena *arena = &program->graph->store->scratch;
    unsigned char **memory = memory_with(arena, program, fill);
    const EvalWrap wrap = {
        .wrap = sum_up,
        .context = (void *)(uintptr_t)summing,
        .base = summing->word,
    };
    return eval_run_wrapped(program, memory, in, out, &wrap);
}

/* How far another machine's word may be: a thousandth of the length of the vector; and of whole
 * numbers, which were rounded, two of them by one. */
static double allowed_for(const Program *program, size_t step, double square)
{
    const Step *one = program->step.at[step];
    const double length = sqrt(square) / 1000;
    const bool is_float = dtype_is_float(one->operand[0].tensor->dtype);
    return is_float ? length : length + 2;
}

static void take_words(const Summing *summing, StepSum *sum)
{
    for (size_t i = 0; i < summing->program->step.n; i++) {
        const SumTable *table = summing->table + i;
        sum[i] = (StepSum){
            .known = table->sums != 0,
            .near = table->near,
            .word = summing->word[i],
        };
        if (sum[i].known && sum[i].near)
            sum[i].allowed =
                allowed_for(summing->program, i, summing->measured[i].square);
    }
}

int sums_run(Program *program, SumTable *table, int64_t work, void *const *in,
             void *const *out, StepSum *sum)
{
    Arena *arena = &program->graph->store->scratch;
    const size_t steps = program->step.n;
    Summing summing = {
        .program = program,
        .table = table,
        .measured = NEW_ARRAY(arena, Measured, steps + 1),
        .word = NEW_ARRAY(arena, uint32_t, steps + 1),
        .work = work,
    };
    int error = run_once(&summing, program, 0xa5, in, out);
    const uint32_t *first = summing.word;
    summing.word = NEW_ARRAY(arena, uint32_t, steps + 1);
    if (!error)
        error = run_once(&summing, program, 0, in, out);
    for (size_t i = 0; i < steps; i++)
        if (first[i] != summing.word[i])
            table[i].sums = 0;
    take_words(&summing, sum);
    return error;
}
